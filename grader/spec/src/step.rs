//! The `ladder.toml` of a ladder: a spec, whose `[[step]]`s say which kernels compute it and how they are launched.

use super::fault::Fault;
use super::{Spec, TimeGate, all, parsed, read_raw, text_of, together};
use diagnostic::Failure;
use specfile::{RawLaunch, RawStep};
use std::path::Path;

/// A step of a ladder: a whole kernel for its spec.
#[derive(Clone, Debug)]
pub struct Step {
    /// The stem of its file, such as `01_atomic_scatter`.
    pub file: String,
    /// What changed, in a few words.
    pub about: String,
    /// The spec with the launches of this step.
    pub spec: Spec,
}

/// Reads the ladder at `path`, shown as `shown_as` in messages.
///
/// # Errors
/// The file cannot be read, has no steps, or see [`Spec::parse`].
pub fn ladder(path: &Path, shown_as: &Path) -> Result<Vec<Step>, Failure> {
    let text = text_of(path, shown_as, "every ladder needs a ladder.toml")?;
    read(&text, shown_as).map_err(|faults| together(faults, &text, shown_as))
}

fn read(text: &str, path: &Path) -> Result<Vec<Step>, Vec<Fault>> {
    let mut steps = Vec::new();
    let count = parsed(text).map_err(|fault| vec![fault])?.step.len();
    for index in 0..count {
        // The raw spec is used up by each step.
        let mut raw = parsed(text).map_err(|fault| vec![fault])?;
        let step = raw.step.swap_remove(index);
        all([check(&step)])?;
        if let Some(gate) = raw.gate.iter().find(|gate| TimeGate::is_meant(gate)) {
            let fault = Fault::at(gate.bound.span(), "a ladder has no bound on the time");
            return Err(vec![fault.help("its steps are timed side by side")]);
        }
        let RawStep { file, about, arch, launch } = step;
        if let (Some(shared), Some(_)) = (raw.launch.first(), launch.first()) {
            return Err(vec![
                Fault::at(shared.kernel.span(), "the launches belong to the steps")
                    .also(file.span(), "this step has its own")
                    .help("write each as [[step.launch]]"),
            ]);
        }
        raw.launch = launch;
        // A workspace that only other steps take is not this step's. One that no step takes is reported.
        let others: Vec<_> = raw.step.iter().flat_map(|step| &step.launch).collect();
        let takes =
            |launch: &RawLaunch, name: &str| launch.args.iter().any(|arg| arg.get_ref() == name);
        raw.workspace.retain(|name, _| {
            raw.launch.iter().any(|launch| takes(launch, name.get_ref()))
                || !others.iter().any(|launch| takes(launch, name.get_ref()))
        });
        raw.step.clear();
        let mut spec = read_raw(text, path, raw)?;
        spec.hopper = arch.is_some();
        steps.push(Step { file: file.into_inner(), about: about.into_inner(), spec });
    }
    if steps.is_empty() {
        return Err(vec![
            Fault::at(0..0, "this ladder has no step")
                .help("add a [[step]] with the stem of a .cu file beside it"),
        ]);
    }
    Ok(steps)
}

/// The only architecture that a step may have for itself: its instructions are no part of newer ones.
const HOPPER: &str = "sm_90a";

/// A step is a file beside the ladder's.
fn check(step: &RawStep) -> Result<(), Fault> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if let Some(arch) = step.arch.as_ref().filter(|arch| arch.get_ref() != HOPPER) {
        return Err(Fault::at(arch.span(), "a step has no architecture of its own but `sm_90a`")
            .help("write the `arch` of all steps at the top of the file"));
    }
    if step.file.get_ref().is_empty() || !step.file.get_ref().chars().all(is_name) {
        return Err(Fault::at(step.file.span(), "this is not the name of a step")
            .help("write the name of a .cu file beside the ladder.toml, without its extension"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LADDER: &str = r#"
title = "t"
[dims]
free = ["n"]
[tensors]
x = "f32[n]"
y = "f32[n]"
[math]
forward = "y[i] = 2 * x[i]"
[[test]]
name = "t"
dims = { n = 9 }
[draw]
fixed = "a ladder is timed at one size"
[[step]]
file  = "01_twice"
about = "a thread for each element"
[[step.launch]]
kernel = "twice"
args   = ["x", "y", "n"]
block  = 32
grid   = 1
"#;

    #[test]
    fn a_workspace_belongs_to_the_steps_that_take_it() {
        let work = "[workspace]\nparts = 'f32[n]'\nlost = 'f32[n]'\n[math]";
        let text = LADDER.replace("[math]", work);
        let two = |first: &str, args: &str| {
            let step = "\n[[step]]\nfile = '02'\nabout = 'a'\n[[step.launch]]\nkernel = 'twice'";
            let text = text.replace(r#""y", "n""#, first);
            let text = format!("{text}{step}\nargs = [{args}]\nblock = 32\ngrid = 1\n");
            read(&text, Path::new("ladder.toml"))
        };
        let faults = two(r#""y", "parts", "n""#, "'x', 'y', 'n'").unwrap_err();
        assert!(format!("{faults:?}").contains("no launch takes `lost`"), "{faults:?}");
        let steps = two(r#""y", "parts", "n""#, "'x', 'y', 'lost', 'n'").unwrap();
        assert_eq!(steps.len(), 2);
    }

    #[test]
    fn a_step_may_be_for_hopper_alone() {
        let steps = |arch: &str| {
            let text = LADDER.replace("[[step.launch]]", &format!("{arch}\n[[step.launch]]"));
            read(&text, Path::new("ladder.toml"))
        };
        assert!(!steps("").unwrap()[0].spec.hopper);
        assert!(steps("arch = 'sm_90a'").unwrap()[0].spec.hopper);
        assert!(steps("arch = 'sm_90'").is_err());
    }
}
