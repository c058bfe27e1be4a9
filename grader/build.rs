//! Programs with host code are loaded into a process of the grader's, and find the CUDA runtime in its executable.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        for pattern in ["cuda*", "__cuda*", "cu[A-Z]*"] {
            println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol={pattern}");
        }
    }
}
