//! The source names of kernels and variables, from their mangled names in the PTX (Itanium C++ ABI, "Mangling").

use cpp_demangle::{DemangleOptions, Symbol};

/// The source name with namespaces and template arguments: `net::scale<float>` for `_ZN3net5scaleIfEEvPT_`. A name that
/// is not mangled is returned unchanged.
pub fn source_name(symbol: &str) -> String {
    demangled(symbol, DemangleOptions::new().no_return_type().no_params())
}

/// Like [`source_name`], with the types of the parameters: `net::scale<float>(float*)`.
pub fn signature(symbol: &str) -> String {
    demangled(symbol, DemangleOptions::new().no_return_type())
}

fn demangled(symbol: &str, options: DemangleOptions) -> String {
    // Any other text could be that of a type: `f` of `float`.
    let mangled = Some(symbol).filter(|symbol| symbol.starts_with("_Z"));
    let name = mangled.and_then(|s| Symbol::new(s).ok()?.demangle_with_options(&options).ok());
    name.unwrap_or_else(|| symbol.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        for (symbol, name, with_types) in [
            ("_Z4finePf", "fine", "fine(float*)"),
            ("_ZN3net5scaleIfLi3EEEvPT_", "net::scale<float, 3>", "net::scale<float, 3>(float*)"),
            ("plain", "plain", "plain"),
            ("f", "f", "f"),
            ("_Z", "_Z", "_Z"),
            ("_ZN3net6biasesE", "net::biases", "net::biases"),
        ] {
            assert_eq!((&*source_name(symbol), &*signature(symbol)), (name, with_types));
        }
    }
}
