//! The grader's own process runs students' host code, which finds CUDA's functions in the grader itself.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic");
}
