//! `constants` of a launch: the `__constant__` variables that are filled before it.

use super::arg::{Arg, Purpose};
use super::fault::{Checked, Fault};
use super::sizes::Sizes;
use super::tensors::Tensors;
use hardware::CONSTANT_MEMORY;
use indexmath::Dims;
use specfile::RawLaunch;
use std::ops::Range;
use toml::Spanned;

/// A `__constant__` variable, and the tensor that is copied into it.
#[derive(Clone, Debug)]
pub struct Constant {
    /// The name of the variable in the source.
    pub symbol: String,
    /// The tensor: an input, or `given(X)`.
    pub arg: Arg,
    pub(super) place: Range<usize>,
}

/// Reads the constants of a launch.
pub(super) fn read_all(
    text: &str,
    raw: &RawLaunch,
    sizes: &Sizes,
    tensors: &Tensors,
) -> Checked<Vec<Constant>> {
    raw.constants.iter().map(|(key, value)| read(text, key, value, sizes, tensors)).collect()
}

fn read(
    text: &str,
    key: &Spanned<String>,
    value: &Spanned<String>,
    sizes: &Sizes,
    tensors: &Tensors,
) -> Checked<Constant> {
    let symbol = key.get_ref();
    let starts_well = symbol.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts_well || !symbol.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        let title = format!("`{}` is not the name of a variable", symbol.escape_debug());
        return Err(Fault::at(key.span(), title)
            .help("write the name that stands after __constant__ and the type"));
    }
    let arg = Arg::read(text, value, sizes, tensors)?;
    let (symbol, place) = (symbol.clone(), value.span());
    let help = match arg.buffer(tensors) {
        Some((_, Purpose::Input | Purpose::Given)) => return Ok(Constant { symbol, arg, place }),
        Some((name, Purpose::Output)) => {
            format!("for the formula's values, write \"given({name})\"")
        }
        Some(_) => "kernels cannot write to constants: pass it in `args`".to_owned(),
        None => "it is a number: pass it in `args`".to_owned(),
    };
    let title = format!("`{}` cannot be copied into a constant", value.get_ref().escape_debug());
    Err(Fault::at(place, title).help(help).help("a constant holds an input, or given(X)"))
}

impl Constant {
    /// Checks that the tensor fits into constant memory at the sizes that the file gives at `sizes_at`.
    pub(super) fn check_size(
        &self,
        (text, tensors): (&str, &Tensors),
        dims: &Dims,
        sizes_at: &Range<usize>,
    ) -> Checked<()> {
        let Some((name, _)) = self.arg.buffer(tensors) else { return Ok(()) };
        let bytes = tensors.at(text, name, dims)?.bytes();
        if bytes <= CONSTANT_MEMORY as usize {
            return Ok(());
        }
        let title = format!("the constant `{}` would have {bytes} bytes", self.symbol);
        Err(Fault::at(self.place.clone(), title)
            .also(sizes_at.clone(), "at these sizes")
            .help(format!("a GPU has {CONSTANT_MEMORY} bytes of constant memory")))
    }
}
