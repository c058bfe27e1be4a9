//! The C++ code of a `[[call]]`: finds the tensors that it names.

use cpptext::tokens::{Kind, tokens};
use std::ops::Range;

/// The words that can wrap the name of a tensor, as in `grad(x)`.
const WRAPPERS: [&str; 5] = ["grad", "given", "inplace", "result", "host"];

/// A word in the code that may be a tensor.
#[derive(Debug, PartialEq)]
pub(crate) struct Reference<'a> {
    /// Its place in the code, including the wrappers.
    pub(crate) span: Range<usize>,
    /// The words around the name, outermost first.
    pub(crate) wrappers: Vec<&'a str>,
    /// The name inside the wrappers.
    pub(crate) tensor: &'a str,
}

/// Whether the code uses a gradient.
pub(crate) fn uses_gradients(code: &str) -> bool {
    references(code).iter().any(|m| m.wrappers.contains(&"grad"))
}

/// Whether the code names this tensor.
pub(crate) fn names_tensor(code: &str, tensor: &str) -> bool {
    references(code).iter().any(|m| m.tensor == tensor)
}

/// All identifiers of the code except members (`p.x`, `p->x` and `n::x`), each with the words that wrap it.
pub(crate) fn references(code: &str) -> Vec<Reference<'_>> {
    let mut tokens = tokens(code);
    tokens.retain(|token| token.kind != Kind::Text);
    let is = |i: usize, text: &str| tokens.get(i).is_some_and(|token| token.is(text));
    let is_word = |i: usize| tokens.get(i).is_some_and(|token| token.kind == Kind::Word);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let member = at > 0
            && (is(at - 1, ".")
                || at > 1 && is(at - 2, "-") && is(at - 1, ">")
                || is(at - 1, "::"));
        if !is_word(at) || member {
            at += 1;
            continue;
        }
        let mut wrappers = Vec::new();
        let mut inner = at;
        while WRAPPERS.contains(&tokens[inner].text) && is(inner + 1, "(") && is_word(inner + 2) {
            wrappers.push(tokens[inner].text);
            inner += 2;
        }
        let closed = (1..=wrappers.len()).all(|i| is(inner + i, ")"));
        if !closed {
            // Not a wrapper of the spec: perhaps a C++ function with this name.
            at += 1;
            continue;
        }
        let last = inner + wrappers.len();
        let span = tokens[at].span.start..tokens[last].span.end;
        found.push(Reference { span, wrappers, tensor: tokens[inner].text });
        at = last + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(code: &str) -> Vec<(String, &str)> {
        let found = references(code);
        found.iter().map(|m| (m.wrappers.join(" "), m.tensor)).collect()
    }

    #[test]
    fn words_of_the_code_are_found_with_what_is_around_them() {
        let code = "f(x, host( given (y) ), a.z, b->z, n::z, \"x\", /* x */ grad(w)); // x";
        let found = words(code);
        let expected = [("", "f"), ("", "x"), ("host given", "y"), ("", "a"), ("", "b"), ("", "n")];
        assert_eq!(found[..6], expected.map(|(w, t)| (w.to_owned(), t)));
        assert_eq!(found[6..], [("grad".to_owned(), "w")]);
        assert!(uses_gradients(code) && !uses_gradients("gradient(x); // grad(x)"));
    }

    #[test]
    fn what_only_looks_like_a_wrapper_is_left_alone() {
        assert_eq!(words("grad(x + 1)"), [(String::new(), "x")]);
        assert_eq!(words("grad()"), [(String::new(), "grad")]);
        assert_eq!(words("host(given(x)"), words("given(x)"));
        assert_eq!(words("'"), []);
        assert_eq!(words("\"\\"), []);
    }
}
