//! `[[broken]]`: a kernel that the stub gives with a mistake, for the student to find.

use super::fault::{Checked, Fault};
use super::launch::Launch;
use specfile::RawBroken;

/// A kernel of the stub that runs, and does something wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The name of the kernel.
    pub kernel: String,
    /// The name of the finding that a test must report of it.
    pub finding: String,
}

impl Broken {
    pub(crate) fn read(raw: &RawBroken, launches: &[Launch]) -> Checked<Self> {
        let (kernel, finding) = (raw.kernel.get_ref(), raw.finding.get_ref());
        let known = || launches.iter().map(|launch| launch.kernel.as_str());
        if !known().any(|name| name == kernel) {
            let title = format!("no launch has a kernel `{}`", kernel.escape_debug());
            return Err(Fault::at(raw.kernel.span(), title).suggest(kernel, known(), "kernel"));
        }
        if finding.trim().is_empty() {
            return Err(Fault::at(raw.finding.span(), "the name of the finding is missing")
                .help("such as \"out-of-bounds\" or \"global-race\""));
        }
        Ok(Self { kernel: kernel.clone(), finding: finding.clone() })
    }
}
