//! The architecture that a puzzle's kernels are compiled for, and whether a GPU runs it.

use cudart::device::Properties;
use diagnostic::{Failure, FailureKind};
use puzzle::spec::Spec;
use toolchain::VirtualArch;

/// The architecture for which the kernels of a puzzle are compiled.
pub fn of(spec: &Spec) -> VirtualArch {
    if spec.hopper {
        return VirtualArch::HOPPER;
    }
    spec.arch.map_or_else(VirtualArch::default, |arch| VirtualArch(arch.sm()))
}

/// Checks that a GPU is new enough for the kernels of a puzzle.
///
/// # Errors
/// It is older: the machine lacks something, whatever the kernels are.
pub fn check(spec: &Spec, gpu: &Properties) -> Result<(), Failure> {
    let Some(needed) = spec.arch.map(|arch| arch.capability) else { return Ok(()) };
    if gpu.capability >= needed {
        return Ok(());
    }
    let title = format!(
        "this puzzle needs a GPU of compute capability {}.{} or newer, but {} has {}.{}",
        needed.0, needed.1, gpu.name, gpu.capability.0, gpu.capability.1
    );
    let help = "run with --backend vm: the virtual machine has the instructions that are missing";
    Err(Failure::new(FailureKind::Environment, title, help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const SPEC: &str = r#"
title = "t"
arch = "sm_80"
[dims]
free = ["n"]
[tensors]
x = "f32[n]"
y = "f32[n]"
[math]
forward = "y[i] = 2 * x[i]"
[[launch]]
kernel = "k"
args = ["x", "y", "n"]
block = 32
grid = 1
[[test]]
name = "t"
dims = { n = 9 }
"#;

    #[test]
    fn an_older_gpu_is_what_the_machine_lacks() {
        let spec = Spec::parse(SPEC, Path::new("x.toml")).unwrap();
        let gpu =
            |capability| Properties { name: "T4".into(), capability, ..Properties::default() };
        assert_eq!(of(&spec), VirtualArch(80));
        assert!(check(&spec, &gpu((8, 0))).is_ok() && check(&spec, &gpu((9, 0))).is_ok());
        let failure = check(&spec, &gpu((7, 5))).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Environment);
        let title = "this puzzle needs a GPU of compute capability 8.0 or newer, but T4 has 7.5";
        assert_eq!(failure.diagnostics[0].title, title);
        let any = Spec::parse(&SPEC.replace("arch = \"sm_80\"", ""), Path::new("x.toml")).unwrap();
        assert_eq!(of(&any), VirtualArch::default());
        assert!(check(&any, &gpu((7, 5))).is_ok());
        let wrong = Spec::parse(&SPEC.replace("sm_80", "80"), Path::new("x.toml")).unwrap_err();
        let wrong = &wrong.diagnostics[0];
        assert_eq!(wrong.title, "unknown architecture `80`");
        assert_eq!(wrong.help, ["write one of sm_75, sm_80, sm_86, sm_89, sm_90"]);
    }
}
