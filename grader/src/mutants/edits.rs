//! Operators that replace one lexeme with another.

use super::body::{Body, Edit};
use super::lexemes::Lexeme;
use cpptext::tokens::Kind;
use std::collections::BTreeSet;

/// The operators that may replace an operator; binary ones only between operands.
fn alternatives(operator: &str) -> &'static [&'static str] {
    match operator {
        "+" => &["-", "*"],
        "-" => &["+"],
        "*" => &["+", "/"],
        "/" | "%" => &["*"],
        "+=" => &["-=", "="],
        "-=" => &["+=", "="],
        "*=" => &["/=", "="],
        "/=" | "%=" => &["*="],
        "<" => &["<=", ">"],
        "<=" => &["<", ">"],
        ">" => &[">=", "<"],
        ">=" => &[">", "<"],
        "==" => &["!="],
        "!=" => &["=="],
        "&&" => &["||"],
        "||" => &["&&"],
        "&" | "^" => &["|"],
        "|" => &["&"],
        "<<" => &[">>"],
        ">>" => &["<<"],
        "<<=" => &[">>="],
        ">>=" => &["<<="],
        _ => &[],
    }
}

pub fn operators(body: &Body<'_, '_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (i, lexeme) in body.lexemes().filter(|(_, l)| l.kind == Kind::Sign) {
        let span = || lexeme.span.clone();
        if body.before(i).ends_operand() {
            edits.extend(
                alternatives(lexeme.text).iter().map(|other| (span(), (*other).to_owned())),
            );
            match lexeme.text {
                "%" => edits.push((span(), "/".to_owned())),
                "++" => edits.push((span(), " += 2".to_owned())),
                "--" => edits.push((span(), " -= 2".to_owned())),
                _ => {}
            }
        } else if lexeme.is_any(&["-", "!", "~"]) {
            edits.push((span(), String::new()));
        }
    }
    edits
}

/// Replaces constants by those one larger and smaller, and by other sizes.
pub fn numbers(body: &Body<'_, '_>) -> Vec<Edit> {
    body.lexemes().flat_map(|(_, lexeme)| number(lexeme)).collect()
}

/// Replaces numbers in `#define TILE 16` and in constants outside functions.
pub fn constants_of_the_file(all: &[Lexeme<'_>]) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (i, window) in all.windows(3).enumerate() {
        let defined = window[0].is("define") && window[0].directive && i > 0 && all[i - 1].is("#");
        let constant = window[1].is("=")
            && all[..i].iter().rev().take(4).any(|l| l.is_any(&["constexpr", "const"]))
            && all.get(i + 3).is_some_and(|l| l.is(";"));
        if defined || constant {
            edits.extend(number(&window[2]));
        }
    }
    edits
}

fn number(lexeme: &Lexeme<'_>) -> Vec<Edit> {
    let edit = |text: String| (lexeme.span.clone(), text);
    if lexeme.kind != Kind::Number {
        return Vec::new();
    }
    let text = lexeme.text.replace('\'', "");
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hexadecimal) => (hexadecimal, 16),
        None => (text.as_str(), 10),
    };
    let whole = digits.trim_end_matches(['u', 'U', 'l', 'L']);
    if let Ok(value) = u64::from_str_radix(whole, radix) {
        let suffix = &digits[whole.len()..];
        let mut edits = Vec::new();
        if value < u64::from(u32::MAX) {
            edits.push(edit(format!("{}{suffix}", value + 1)));
        }
        if value > 0 {
            edits.push(edit(format!("{}{suffix}", value - 1)));
        }
        return edits;
    }
    match text.trim_end_matches(['f', 'F']).parse::<f64>() {
        Ok(0.0) => vec![edit("1.0f".to_owned())],
        Ok(_) => vec![edit("0.0f".to_owned()), edit(format!("(2 * {})", lexeme.text))],
        Err(_) => Vec::new(),
    }
}

const BUILT_IN: [&str; 4] = ["threadIdx", "blockIdx", "blockDim", "gridDim"];

/// Replaces a name with another: those of the same statement, the other sizes and arrays of the parameters, and the
/// other built-in variables and axes.
pub fn names(body: &Body<'_, '_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    let head = &body.all[body.head.clone()];
    let parameter = |i: usize| {
        head[i].is_name() && head.get(i + 1).is_none_or(|next| next.is_any(&[",", ")"])) && i > 0
    };
    let is_array =
        |i: usize| head[..i].iter().rev().take_while(|l| !l.is_any(&[",", "("])).any(|l| l.is("*"));
    let parameters: Vec<usize> = (0..head.len()).filter(|&i| parameter(i)).collect();
    let named = |arrays: bool| -> BTreeSet<&str> {
        parameters.iter().filter(|&&i| is_array(i) == arrays).map(|&i| head[i].text).collect()
    };
    let (sizes, arrays) = (named(false), named(true));
    for statement in statements(body) {
        let values: BTreeSet<&str> =
            statement.clone().filter(|&i| is_value(body, i)).map(|i| body.all[i].text).collect();
        for i in statement {
            let lexeme = &body.all[i];
            let mut others: BTreeSet<&str> = BTreeSet::new();
            if is_value(body, i) && !is_declared(body, i) {
                others.extend(&values);
                if sizes.contains(lexeme.text) {
                    others.extend(&sizes);
                }
            } else if arrays.contains(lexeme.text) {
                others.extend(&arrays);
            } else if lexeme.is_any(&BUILT_IN) {
                others.extend(BUILT_IN);
            } else if body.before(i).is(".") && lexeme.is_any(&["x", "y", "z"]) {
                others.extend(["x", "y"]);
            }
            others.remove(lexeme.text);
            edits.extend(others.iter().map(|&other| (lexeme.span.clone(), other.to_owned())));
        }
    }
    edits
}

/// The runs of lexemes between `;` and braces. The head of a `for` is split at its semicolons too.
fn statements(body: &Body<'_, '_>) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut start = body.inner.start;
    for (i, lexeme) in body.lexemes() {
        if lexeme.is_any(&[";", "{", "}"]) {
            found.push(start..i);
            start = i + 1;
        }
    }
    found.push(start..body.inner.end);
    found
}

/// Whether the lexeme is a variable, not an array, a function or a member.
fn is_value(body: &Body<'_, '_>, i: usize) -> bool {
    let next = body.all.get(i + 1);
    body.all[i].is_name()
        && !body.all[i].is_any(&BUILT_IN)
        && !body.before(i).is_any(&[".", "->", "::"])
        && next.is_some_and(|next| {
            !next.is_any(&["(", "[", ".", "->", "::"]) && next.kind != Kind::Word
        })
}

/// Whether the lexeme is the name of a new variable, that is, follows a type.
fn is_declared(body: &Body<'_, '_>, i: usize) -> bool {
    body.before(i).kind == Kind::Word && !body.before(i).is("return")
}
