//! Kernels with all the usual intrinsics of CUDA, of which nvcc makes PTX that loads.

use ptxvm::Module;
use std::path::Path;
use std::process::Command;
use toolchain::Toolchain;
use toolchain::env::Env;

/// The sources in `ptxvm/tests/coverage`, options of nvcc, and how many kernels they have. For a debugger the same is written in other
/// forms, without calls of the long functions.
const COMPILED: [(&str, &[&str], usize); 7] = [
    ("functions.cu", &["-arch=sm_90"], 3),
    ("halves.cu", &["-arch=sm_90"], 7),
    ("integers.cu", &["-arch=sm_90"], 3),
    ("memory.cu", &["-arch=sm_90"], 5),
    ("memory.cu", &["-arch=sm_80", "-G"], 4),
    ("others.cu", &["-arch=sm_90"], 2),
    ("others.cu", &["-arch=sm_80", "-G"], 2),
];

#[test]
fn kernels_with_all_the_usual_intrinsics_load() {
    let toolchain = Toolchain::locate(&Env::current(), None);
    let toolchain = toolchain.unwrap_or_else(|failure| panic!("{}", failure.render(false)));
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("ptxvm/tests/coverage");
    for (source, options, count) in COMPILED {
        let mut nvcc = Command::new(&toolchain.nvcc().path);
        nvcc.arg("-ptx").args(options).args([source, "-o", "-"]).current_dir(&sources);
        let out = nvcc.output().unwrap();
        assert!(out.status.success(), "{source}: {}", String::from_utf8_lossy(&out.stderr));
        let ptx = String::from_utf8(out.stdout).unwrap();
        let module = Module::load(&ptx).unwrap_or_else(|error| panic!("{source}: {error}"));
        assert_eq!(module.kernels().count(), count, "{source} {options:?}");
        for kernel in module.kernels() {
            assert_eq!(kernel.refusal(), None, "{source} {options:?}: {}", kernel.name());
        }
    }
}
