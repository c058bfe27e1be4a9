//! What host code compares: the literals in the comparisons of its source, since it has no PTX. They are found in the text, so that a
//! macro or an unusual spelling hides them.

use crate::comparisons::Compared;
use cpptext::tokens::{Kind, Token, tokens};
use std::collections::BTreeMap;

/// An integer that host code, or a kernel beside it, compares something with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostComparison {
    /// What it is compared with, as it stands in the source.
    pub with: String,
    /// The integer.
    pub at: i64,
    /// How they are compared.
    pub how: Compared,
}

/// Signs at which a side of a comparison ends.
const ENDS: [&str; 15] =
    [";", ",", "?", ":", "{", "}", "=", "<", ">", "!", "&", "|", "%", "return", "case"];

/// The comparisons with integers in C++ text, in its order: those by a sign, remainders, and arguments of `min` and `max`.
pub fn host_comparisons(text: &str) -> Vec<HostComparison> {
    let tokens = tokens(text);
    let constants = constants(&tokens);
    let value = |token: &Token<'_>| match token.kind {
        Kind::Number => integer(token.text),
        Kind::Word => constants.get(token.text).copied(),
        _ => None,
    };
    let mut found = Vec::new();
    for (nth, token) in tokens.iter().enumerate() {
        let Some(at) = value(token) else { continue };
        let (before, after) = (&tokens[..nth], &tokens[nth + 1..]);
        if let Some((length, how)) = sign_before(before) {
            // The argument of a template, between its brackets.
            let is_argument = length == 1 && after.first().is_some_and(|next| next.is(">"));
            if !is_argument {
                let with = left_side(&before[..before.len() - length]);
                found.push(HostComparison { with, at, how });
            }
        } else if let Some((length, how)) = sign_after(after) {
            found.push(HostComparison { with: right_side(&after[length..]), at, how });
        } else if let Some(with) = other_argument(&tokens, nth) {
            found.push(HostComparison { with, at, how: Compared::Order });
        }
    }
    found
}

/// The values of names that are constants: `const int ROWS = 64;` and `#define ROWS 64`.
fn constants<'t>(tokens: &[Token<'t>]) -> BTreeMap<&'t str, i64> {
    let is_constant = |nth: usize| {
        let statement = tokens[..nth].iter().rev();
        let mut statement =
            statement.take_while(|token| ![";", "{", "}", "("].iter().any(|end| token.is(end)));
        statement.any(|token| token.is("const") || token.is("constexpr"))
    };
    let named = |(nth, window): (usize, &[Token<'t>])| {
        let (name, value) = match window {
            [sharp, define, name, value] if sharp.is("#") && define.is("define") => (name, value),
            [name, is, value, end] if is.is("=") && end.is(";") && is_constant(nth) => {
                (name, value)
            }
            _ => return None,
        };
        Some((name.text, integer(value.text)?))
    };
    tokens.windows(4).enumerate().filter_map(named).collect()
}

/// The value of an integer literal: decimal or hexadecimal, with separators and a suffix.
fn integer(text: &str) -> Option<i64> {
    let digits: String = text.chars().filter(|c| *c != '\'').collect::<String>().to_lowercase();
    let digits = digits.trim_end_matches(['u', 'l', 'z']);
    match digits.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => digits.parse().ok(),
    }
}

/// How many tokens the sign of a comparison has that ends here, and how it compares.
fn sign_before(before: &[Token<'_>]) -> Option<(usize, Compared)> {
    let mut back = before.iter().rev().map(|token| token.text);
    match (back.next()?, back.next()?) {
        ("=", "=" | "!") => Some((2, Compared::Equality)),
        ("=", "<" | ">") => Some((2, Compared::Order)),
        ("<", "<") | (">", ">" | "-") => None,
        ("<" | ">" | "%", _) => Some((1, Compared::Order)),
        _ => None,
    }
}

/// The same of one that begins here.
fn sign_after(after: &[Token<'_>]) -> Option<(usize, Compared)> {
    let mut next = after.iter().map(|token| token.text);
    match (next.next()?, next.next()?) {
        ("=" | "!", "=") => Some((2, Compared::Equality)),
        ("<" | ">", "=") => Some((2, Compared::Order)),
        ("<", "<") | (">", ">" | "(") => None,
        ("<" | ">", _) => Some((1, Compared::Order)),
        _ => None,
    }
}

/// The other argument of `min` or `max`, if the token at `nth` is one by itself.
fn other_argument(tokens: &[Token<'_>], nth: usize) -> Option<String> {
    let is_last = tokens.get(nth + 1)?.is(")");
    let (open, other) = if is_last {
        let comma = nth.checked_sub(1).filter(|&at| tokens[at].is(","))?;
        let mut depth = 0;
        let open = (0..comma).rev().find(|&at| {
            depth += i32::from(tokens[at].is(")")) - i32::from(tokens[at].is("("));
            depth < 0
        })?;
        (open, &tokens[open + 1..comma])
    } else if tokens[nth + 1].is(",") {
        let open = nth.checked_sub(1).filter(|&at| tokens[at].is("("))?;
        (open, &tokens[nth + 2..cpptext::tokens::closing(tokens, open)?])
    } else {
        return None;
    };
    let called = open.checked_sub(1).map(|at| tokens[at].text)?;
    let called = called.trim_start_matches("__").to_lowercase();
    ["min", "max"].iter().any(|name| called.contains(name)).then(|| joined(other))
}

/// The expression that ends here.
fn left_side(before: &[Token<'_>]) -> String {
    let mut depth = 0;
    let start = (0..before.len()).rev().find(|&at| {
        let token = &before[at];
        depth += i32::from(token.is(")") || token.is("]"));
        depth -= i32::from(token.is("(") || token.is("["));
        depth < 0 || depth == 0 && ENDS.iter().any(|end| token.is(end))
    });
    joined(&before[start.map_or(0, |at| at + 1)..])
}

/// The expression that begins here.
fn right_side(after: &[Token<'_>]) -> String {
    let mut depth = 0;
    let end = after.iter().position(|token| {
        depth += i32::from(token.is("(") || token.is("["));
        depth -= i32::from(token.is(")") || token.is("]"));
        depth < 0 || depth == 0 && ENDS.iter().any(|end| token.is(end))
    });
    joined(&after[..end.unwrap_or(after.len())])
}

fn joined(tokens: &[Token<'_>]) -> String {
    tokens.iter().map(|token| token.text).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `text` compares: with what, and the number.
    fn found(text: &str) -> Vec<(String, i64, Compared)> {
        host_comparisons(text).into_iter().map(|c| (c.with, c.at, c.how)).collect()
    }

    #[test]
    fn comparisons_with_integers_are_found_on_both_sides() {
        let (order, equality) = (Compared::Order, Compared::Equality);
        let one = |with: &str, at, how| vec![(with.to_owned(), at, how)];
        assert_eq!(found("for (int n = 0; n < N && n < 40; n++)")[..], one("n", 40, order));
        assert_eq!(found("if (K + C >= 300) return 64;"), one("K + C", 300, order));
        assert_eq!(
            found("return batch * (n + 1) == 0x10u ? a : b;"),
            one("batch * ( n + 1 )", 16, equality)
        );
        assert_eq!(found("if (1'000 != rows) {"), one("rows", 1000, equality));
        assert_eq!(found("int left = count % 48;"), one("count", 48, order));
        assert_eq!(
            found("dim3 g(std::min(blocks(n, 16), 20u));"),
            one("blocks ( n , 16 )", 20, order)
        );
        assert_eq!(found("fmaxf(8, x)"), one("x", 8, order));
    }

    #[test]
    fn constants_have_their_values_and_variables_do_not() {
        let named = "const int MOST = 320;\n#define ROWS 64\nint f(int n) { return n > MOST || n == ROWS; }";
        let at: Vec<i64> = host_comparisons(named).into_iter().map(|c| c.at).collect();
        assert_eq!(at, [320, 64]);
        assert!(found("int n = 7; n = 9; while (n < m) {}").is_empty());
    }

    /// Launches, templates, shifts, members and floats compare no integer.
    #[test]
    fn what_is_no_comparison_is_left_out() {
        for text in [
            "k<<<1, 512>>>(a, 3);",
            "launch<64>(a);",
            "x = y << 8 | z >> 24;",
            "if (x < 0.5f) y = 3;",
            "a[3] = b->c;",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }
}
