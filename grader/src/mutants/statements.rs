//! Operators that remove something: statements, conditions, terms.

use super::body::{Body, Edit};
use super::lexemes::{Lexeme, closing, opening};
use cpptext::tokens::Kind;
use std::ops::Range;

/// Removes assignments, calls of functions for their effects (barriers, stores, atomics), `break` and `continue`.
pub fn removals(body: &Body<'_, '_>) -> Vec<Edit> {
    let all = body.all;
    let mut edits = Vec::new();
    let mut start = body.inner.start;
    for (i, lexeme) in body.lexemes() {
        let ends_head = lexeme.is(")")
            && opening(all, i)
                .is_some_and(|open| open > 0 && all[open - 1].is_any(&["if", "for", "while"]));
        if ends_head || lexeme.is_any(&["{", "}", "else"]) {
            start = i + 1;
        } else if lexeme.is(";") {
            if start < i && is_removable(&all[start..i]) {
                edits.push((all[start].span.start..lexeme.span.start, String::new()));
            }
            start = i + 1;
        }
    }
    edits
}

fn is_removable(statement: &[Lexeme<'_>]) -> bool {
    let first = &statement[0];
    if first.is_any(&["break", "continue"]) {
        return true;
    }
    let declares = first.is_keyword()
        || statement.get(1).is_some_and(|l| l.kind == Kind::Word || l.is("*") || l.is("::"));
    let stores = statement.get(1).is_some_and(|l| l.is("*"))
        || statement.iter().any(|l| {
            l.is_any(&[
                "=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<=", ">>=", "++", "--",
            ])
        });
    let calls = statement.get(1).is_some_and(|l| l.is("(")) && first.is_name();
    !declares && (first.is_name() || first.is("*")) && (stores || calls) || first.is("*")
}

/// Replaces `if (c)` with `if (true)` and `if (false)`, and `c ? a : b` with `a` and `b`.
pub fn conditions(body: &Body<'_, '_>) -> Vec<Edit> {
    let all = body.all;
    let mut edits = Vec::new();
    for (i, lexeme) in body.lexemes() {
        if lexeme.is("if") && all.get(i + 1).is_some_and(|l| l.is("(")) {
            if let Some(close) = closing(all, i + 1) {
                let span = all[i + 1].span.end..all[close].span.start;
                edits.extend(["true", "false"].map(|value| (span.clone(), value.to_owned())));
            }
        } else if lexeme.is("?")
            && let Some(colon) = forward(body, i, &[":"])
            && let Some(end) = forward(body, colon, &[";", ",", ")", "]", "}"])
        {
            let start =
                backward(body, i, &["=", "+=", "-=", "*=", "(", "[", ",", "return", ";", "{", "}"]);
            let whole = all[start].span.start..all[end - 1].span.end;
            edits.push((whole.clone(), text(body, i + 1..colon)));
            edits.push((whole, text(body, colon + 1..end)));
        }
    }
    edits
}

/// Replaces `a + b` with `a` and `b`, likewise for `*`, `&&` and `||`; and `a - b`, `a / b` and `a % b` with `a`.
pub fn dropped_terms(body: &Body<'_, '_>) -> Vec<Edit> {
    let all = body.all;
    let mut edits = Vec::new();
    for (i, lexeme) in body.lexemes().filter(|(i, _)| body.before(*i).ends_operand()) {
        if lexeme.is_any(&["&&", "||"]) {
            let ends = ["&&", "||", ")", "]", "?", ":", ";", ","];
            if let Some(end) = forward(body, i, &ends) {
                edits.push((all[i - 1].span.end..all[end - 1].span.end, String::new()));
            }
            let start =
                backward(body, i, &["&&", "||", "(", "[", "=", "return", "?", ":", ",", ";", "{"]);
            let next = all.get(i + 1).map_or(lexeme.span.end, |l| l.span.start);
            edits.push((all[start].span.start..next, String::new()));
        } else if lexeme.is_any(&["+", "-"]) {
            let end = forward(body, i, &AROUND_A_TERM).unwrap_or(body.inner.end);
            edits.push((all[i - 1].span.end..all[end - 1].span.end, String::new()));
            if lexeme.is("+") && i + 1 < body.inner.end {
                let start = backward(body, i, &AROUND_A_TERM);
                edits.push((all[start].span.start..all[i + 1].span.start, String::new()));
            }
        } else if lexeme.is_any(&["*", "/", "%"]) {
            if let Some(end) = operand_after(body, i + 1) {
                edits.push((all[i - 1].span.end..all[end - 1].span.end, String::new()));
            }
            if lexeme.is("*") && i + 1 < body.inner.end {
                let start = operand_before(body, i);
                edits.push((all[start].span.start..all[i + 1].span.start, String::new()));
            }
        }
    }
    edits
}

/// Operators that bind less tightly than a product, or as tightly as a sum.
const AROUND_A_TERM: [&str; 29] = [
    "+", "-", "(", ")", "[", "]", "{", "}", ";", ",", "?", ":", "=", "+=", "-=", "*=", "/=", "<",
    "<=", ">", ">=", "==", "!=", "&&", "||", "<<", ">>", "&", "return",
];

/// The first of `signs` after `from` that is not inside a bracket opened after it.
fn forward(body: &Body<'_, '_>, from: usize, signs: &[&str]) -> Option<usize> {
    let mut i = from + 1;
    while i < body.inner.end {
        let lexeme = &body.all[i];
        if lexeme.is_any(&["(", "[", "{"]) {
            i = closing(body.all, i)? + 1;
        } else if lexeme.is_any(signs) {
            return Some(i);
        } else {
            i += 1;
        }
    }
    None
}

/// One past the last of `signs` before `from` that is not inside a bracket closed before it.
fn backward(body: &Body<'_, '_>, from: usize, signs: &[&str]) -> usize {
    let mut i = from;
    while i > body.inner.start {
        let lexeme = &body.all[i - 1];
        if lexeme.is_any(&[")", "]"]) {
            match opening(body.all, i - 1) {
                Some(open) if open >= body.inner.start => i = open,
                _ => return i,
            }
        } else if lexeme.is_any(signs) {
            return i;
        } else {
            i -= 1;
        }
    }
    i
}

/// One past the operand that begins at `start`: a name, a number or brackets, with the calls and subscripts after it.
fn operand_after(body: &Body<'_, '_>, start: usize) -> Option<usize> {
    let all = body.all;
    let mut i = start;
    while i < body.inner.end && all[i].is_any(&["-", "!", "~", "*", "&"]) {
        i += 1;
    }
    let first = all.get(i).filter(|_| i < body.inner.end)?;
    i = if first.is("(") {
        closing(all, i)? + 1
    } else if first.is_name() || first.kind == Kind::Number {
        i + 1
    } else {
        return None;
    };
    while i < body.inner.end {
        i = if all[i].is_any(&["(", "["]) {
            closing(all, i)? + 1
        } else if all[i].is_any(&[".", "->", "::"]) {
            i + 2
        } else {
            break;
        };
    }
    Some(i.min(body.inner.end))
}

/// The start of the operand that ends before `end`.
fn operand_before(body: &Body<'_, '_>, end: usize) -> usize {
    let all = body.all;
    let mut i = end;
    loop {
        let Some(last) = i.checked_sub(1).filter(|&last| last >= body.inner.start) else {
            return i;
        };
        i = if all[last].is_any(&[")", "]"]) {
            match opening(all, last) {
                Some(open) if open >= body.inner.start => open,
                _ => return last,
            }
        } else {
            last
        };
        let Some(before) = i.checked_sub(1).filter(|&b| b >= body.inner.start) else { return i };
        if all[before].is_any(&[".", "->", "::"]) {
            i = before;
        } else if !(all[i].is_any(&["(", "["])
            && (all[before].is_name() || all[before].is_any(&[")", "]"])))
        {
            return i;
        }
    }
}

/// The source between the lexemes of a range.
fn text(body: &Body<'_, '_>, range: Range<usize>) -> String {
    let mut text = String::new();
    let mut end = None;
    for lexeme in &body.all[range] {
        if end.is_some_and(|end| end < lexeme.span.start) {
            text.push(' ');
        }
        text.push_str(lexeme.text);
        end = Some(lexeme.span.end);
    }
    text
}
