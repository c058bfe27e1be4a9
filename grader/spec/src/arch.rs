//! `arch`: the architecture that the kernels of a puzzle are compiled for.

use super::fault::{Checked, Fault};
use hardware::{MULTIPROCESSORS, Multiprocessor};
use toml::Spanned;

/// The compute capability that the puzzle names, if it names one.
pub(super) fn read(raw: Option<&Spanned<String>>) -> Checked<Option<Multiprocessor>> {
    let Some(raw) = raw else { return Ok(None) };
    let name = |known: &Multiprocessor| format!("sm_{}", known.sm());
    let found = MULTIPROCESSORS.into_iter().find(|known| name(known) == *raw.get_ref());
    found.map(Some).ok_or_else(|| {
        let names: Vec<String> = MULTIPROCESSORS.iter().map(name).collect();
        let title = format!("unknown architecture `{}`", raw.get_ref().escape_debug());
        Fault::at(raw.span(), title).help(format!("write one of {}", names.join(", ")))
    })
}
