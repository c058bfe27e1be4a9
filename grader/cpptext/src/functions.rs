//! Functions and parameters in C++ text, found by their look. Not a parser: macros and unusual declarations are missed,
//! so what is found here serves messages only.

use crate::tokens::{Kind, Token, closing, split_at_commas, tokens};
use std::ops::Range;

/// A function as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// Its name without namespaces.
    pub name: &'a str,
    /// Where the name stands.
    pub name_span: Range<usize>,
    /// The words before it: `__global__`, `void`, ...
    pub words: Vec<&'a str>,
    /// Begins with `template <...>`.
    pub is_template: bool,
    /// Is followed by `{ ... }` rather than by a semicolon.
    pub has_body: bool,
    /// Its parameters, in order.
    pub params: Vec<Parameter<'a>>,
}

impl Function<'_> {
    /// Does this word stand before the name?
    pub fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }
}

/// A parameter as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Its name, if it has one.
    pub name: Option<&'a str>,
    /// Its type and name as written.
    pub text: &'a str,
    /// The bytes of the text where it stands.
    pub span: Range<usize>,
}

/// The functions that a text declares outside other functions.
pub fn functions(text: &str) -> Vec<Function<'_>> {
    let all = tokens(text);
    let mut found = Vec::new();
    let mut start = 0; // of the declaration
    let mut at = 0;
    while at < all.len() {
        let token = &all[at];
        if token.is(";") || token.is("}") || token.is("{") {
            // The braces of namespaces and `extern "C"` are looked into; those of functions are jumped over below.
            start = at + 1;
        } else if token.is("(")
            && at > start
            && let Some(close) = closing(&all, at)
        {
            let after = all.get(close + 1);
            let named =
                all[at - 1].kind == Kind::Word && at - 1 > start && !is_attribute(all[at - 1].text);
            if named && after.is_some_and(|t| t.is("{") || t.is(";")) {
                let has_body = after.is_some_and(|t| t.is("{"));
                found.push(function(text, &all[start..at], &all[at + 1..close], has_body));
                at = close;
                if has_body {
                    at = closing(&all, close + 1).unwrap_or(all.len());
                    start = at + 1;
                }
            } else {
                at = close;
            }
        }
        at += 1;
    }
    found
}

/// Words that are followed by brackets in front of a function's name.
fn is_attribute(word: &str) -> bool {
    matches!(
        word,
        "__launch_bounds__" | "__attribute__" | "__cluster_dims__" | "alignas" | "__align__"
    )
}

fn function<'a>(
    text: &'a str,
    before: &[Token<'a>],
    inner: &[Token<'a>],
    has_body: bool,
) -> Function<'a> {
    let name = &before[before.len() - 1];
    let params = split_at_commas(inner).into_iter().filter_map(|p| parameter(text, p)).collect();
    Function {
        name: name.text,
        name_span: name.span.clone(),
        words: before[..before.len() - 1]
            .iter()
            .filter(|t| t.kind == Kind::Word)
            .map(|t| t.text)
            .collect(),
        is_template: before[0].is("template") && before.get(1).is_some_and(|t| t.is("<")),
        has_body,
        params,
    }
}

fn parameter<'a>(text: &'a str, tokens: &[Token<'a>]) -> Option<Parameter<'a>> {
    let end = tokens.iter().position(|t| t.is("=")).unwrap_or(tokens.len());
    let tokens = &tokens[..end];
    let span = tokens.first()?.span.start..tokens.last()?.span.end;
    let declarator = tokens.iter().position(|t| t.is("[")).unwrap_or(tokens.len());
    let name = tokens[..declarator]
        .last()
        .filter(|t| t.kind == Kind::Word && declarator > 1)
        .map(|t| t.text);
    let text = &text[span.clone()];
    (text != "void").then_some(Parameter { name, text, span })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_with_their_words_and_parameters() {
        let text = r#"
            #include <cstdio>
            __device__ float help(float);
            namespace net {
                template <typename T, int N> __global__ void __launch_bounds__(256) k(const T* x, T (&y)[3], int n = 3)
                { if (n) { help(1); } }
            }
            extern "C" { static __global__ void plain(void) {} }
            int main() { return k(1); }
        "#;
        let found = functions(text);
        let names: Vec<_> = found.iter().map(|f| (f.name, f.has_body, f.is_template)).collect();
        assert_eq!(
            names,
            [
                ("help", false, false),
                ("k", true, true),
                ("plain", true, false),
                ("main", true, false)
            ]
        );
        assert!(found[1].has("__global__") && !found[0].has("__global__"));
        assert_eq!(found[3].words, ["int"]);
        assert_eq!(found[1].params.len(), 3);
        assert_eq!((found[1].params[0].name, found[1].params[0].text), (Some("x"), "const T* x"));
        assert_eq!((found[1].params[2].name, found[1].params[2].text), (Some("n"), "int n"));
        assert!(found[2].params.is_empty());
        assert_eq!(found[0].params[0].name, None);
    }

    #[test]
    fn broken_text_is_no_trouble() {
        for text in ["", "(", "void f(", "void f() {", "}}}", "f(){", "a b(c)) {"] {
            functions(text);
        }
    }
}
