//! The `ladder.toml` of a ladder: a spec, whose `[[step]]`s say which kernels compute it and how they are launched.

use super::fault::Fault;
use super::{Spec, all, parsed, read_raw, text_of, together};
use diagnostic::Failure;
use specfile::RawStep;
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
        raw.step.clear();
        all([check(&step)])?;
        let RawStep { file, about, launch } = step;
        if let (Some(shared), Some(_)) = (raw.launch.first(), launch.first()) {
            return Err(vec![
                Fault::at(shared.kernel.span(), "the launches belong to the steps")
                    .also(file.span(), "this step has its own")
                    .help("write each as [[step.launch]]"),
            ]);
        }
        raw.launch = launch;
        let spec = read_raw(text, path, raw)?;
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

/// A step is a file beside the ladder's.
fn check(step: &RawStep) -> Result<(), Fault> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if step.file.get_ref().is_empty() || !step.file.get_ref().chars().all(is_name) {
        return Err(Fault::at(step.file.span(), "this is not the name of a step")
            .help("write the name of a .cu file beside the ladder.toml, without its extension"));
    }
    Ok(())
}
