//! Checks that workspaces are used, and that something judges what launches leave in them.

use super::fault::{Checked, Fault};
use super::launch::Launch;
use super::tensors::Tensors;
use std::ops::Range;

/// Checks that a launch takes each workspace, and that a launch which computes nothing else hands a workspace on to a later
/// one.
pub(crate) fn check(tensors: &Tensors, launches: &[Launch]) -> Checked<()> {
    let takes = |launch: &Launch, name: &str| launch.workspaces().any(|taken| taken == name);
    for name in tensors.workspaces.keys() {
        if !launches.iter().any(|launch| takes(launch, name)) {
            return Err(Fault::at(tensors.declared_at(name), format!("no launch takes `{name}`"))
                .help("add it to the args of the kernels that use it, or remove it"));
        }
    }
    for (i, launch) in launches.iter().enumerate() {
        let shared = |later: &Launch| launch.workspaces().any(|name| takes(later, name));
        if launch.gives(tensors).next().is_none() && !launches[i + 1..].iter().any(shared) {
            let title =
                format!("`{}` only writes a workspace that no later launch takes", launch.kernel);
            return Err(Fault::at(launch.place().clone(), title).label("nothing to check").help(
                "pass the workspace to the kernel that computes an output from it, in a later [[launch]]",
            ));
        }
    }
    Ok(())
}

/// Checks that the launches of a test, which has its name at `place`, compute something that is judged.
pub(crate) fn check_test<'a>(
    mut launches: impl Iterator<Item = &'a Launch>,
    tensors: &Tensors,
    place: &Range<usize>,
) -> Checked<()> {
    if launches.any(|launch| launch.gives(tensors).next().is_some()) {
        return Ok(());
    }
    Err(Fault::at(place.clone(), "this test compares nothing: its kernels only write workspaces")
        .help("name in `kernels` the one that computes an output from them, too"))
}

#[cfg(test)]
mod tests {
    use crate::Spec;
    use crate::errors::error_in;
    use crate::fixture::MEAN;
    use std::path::Path;

    #[test]
    fn a_launch_that_fills_a_workspace_alone_may_round_its_grid_up() {
        let rounded = MEAN.replace("grid = \"parts\"", "grid = \"ceil_div(n, 64)\"");
        let spec = Spec::parse(&rounded, Path::new("x.toml"));
        assert_eq!(spec.map(|spec| spec.launches.len()).map_err(|f| f.render(false)), Ok(2));
        let whole = rounded.replace("n = 200", "n = 192");
        let fault = Spec::parse(&whole, Path::new("x.toml")).unwrap_err().render(false);
        assert!(fault.contains("without remainder in every test"), "{fault}");
    }

    /// Each change of the spec, and the message for it.
    #[test]
    fn every_mistake_is_told_with_its_place() {
        let changes = [
            ("partial = \"f32[parts]\"", "partial = \"f32[part]\""),
            ("partial = \"f32[parts]\"", "partial = \"f32[]\""),
            ("partial = \"f32[parts]\"", "partial = \"float[parts]\""),
            ("partial = \"f32[parts]\"", "x = \"f32[parts]\""),
            ("partial = \"f32[parts]\"", "n = \"f32[parts]\""),
            ("partial = \"f32[parts]\"", "partial = \"f32[parts]\"\nmore = \"i32[1]\""),
            ("partial = \"f32[parts]\"", "partial = \"f32[parts - 4]\""),
            ("x[i] / n", "partial[i] / n"),
            ("\"x\", \"partial\", \"n\"", "\"x\", \"grad(partial)\", \"n\""),
            ("\"x\", \"partial\", \"n\"", "\"x\", \"given(partial)\", \"n\""),
            ("\"x\", \"partial\", \"n\"", "\"x\", \"partials\", \"n\""),
            ("args = [\"partial\", \"mean\", \"n\"]", "args = [\"mean\", \"n\"]"),
            ("\nrepeat = \"bit-equal\"", ""),
            ("data = \"normal\"", "data = \"normal\"\nkernels = [\"partial_sums\"]"),
            ("data = \"normal\"", "data = { partial = \"normal\" }"),
        ];
        let error = |(from, to): &(&str, &str)| error_in(MEAN, from, to) + "\n\n----\n\n";
        insta::assert_snapshot!(changes.iter().map(error).collect::<String>());
    }
}
