//! What the first wrong element should be made of, beside what its thread read.

use super::expansion::{self, Most};
use super::number::{count, list, number, pair};
use super::style::{Style, Tone};
use device::provenance::ElementRead;
use indexmath::{ElementRef, Term};
use judge::verdict::{TermDiff, ThreadReads};
use puzzle::tensor::{Tensor, element_name};

/// Terms of the formula that are listed.
const MAX_TERMS: usize = 4;
/// Products that are listed where the kernel's are known.
const MOST: Most = Most { wrong: 4, correct: 1 };
/// Characters of a list of elements.
const MAX_LIST: usize = 56;
/// Words of a source that lets threads read for each other.
const SHARING: [&str; 3] = ["__shared__", "__shfl", "atomicAdd"];

/// Nothing if neither the formula nor the thread is known.
pub(super) fn lines(tensor: &Tensor, diff: &TermDiff, source: &str, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    let element = tensor.element_name(diff.mismatch.flat);
    if let Some(formula) = &diff.formula {
        let m = diff.mismatch;
        let (should, got) = match m.got.map(|got| pair(m.expected, got)) {
            Some((should, got)) => (should, format!("{} made it {got}", author(source))),
            None => (number(m.expected), format!("{} never wrote it", author(source))),
        };
        // A number that the formula names, or nothing at all: there is nothing to list.
        let plain = formula.iter().all(|term| term.factors.is_empty());
        let of = match formula.len() {
            // A flag or a count is no sum.
            0 if !tensor.dtype.is_float() => String::new(),
            // What the formula chooses by a comparison may have no terms to list.
            0 if m.expected != 0.0 => String::new(),
            0 => ", a sum without terms".into(),
            _ if plain => String::new(),
            n => {
                let product = |t: &Term| t.factors.len() > 1 || t.coefficient.abs() != 1.0;
                let product = formula.iter().all(product);
                let noun = if product { "product" } else { "term" };
                if n == 1 {
                    format!(", a single {noun}")
                } else {
                    format!(", the sum of {n} {noun}s")
                }
            }
        };
        let colon = if plain { "" } else { ":" };
        lines.push(format!("    {element} should be {should}{of}; {got}{colon}"));
        // What the kernel added says more than what it read.
        if let Some(compared) = &diff.compared {
            lines.extend(expansion::lines(compared, style, MOST));
            return lines;
        }
        if !plain {
            lines.extend(formula_lines(formula, diff.thread.as_ref(), style));
        }
    }
    if let Some(thread) = &diff.thread {
        lines.extend(thread_lines(&element, thread, diff.formula.is_some(), source, style));
    }
    lines
}

/// Who computed: host code may compute without any kernel of its own.
pub(super) fn author(source: &str) -> &'static str {
    if source.contains("__global__") { "the kernel" } else { "the code" }
}

/// The terms with elements that the thread did not read come first: they matter most.
fn formula_lines(formula: &[Term], thread: Option<&ThreadReads>, style: Style) -> Vec<String> {
    let missing = |term: &Term| {
        thread.is_some_and(|t| term.factors.iter().any(|factor| t.missing.contains(factor)))
    };
    let (first, then): (Vec<&Term>, Vec<&Term>) = formula.iter().partition(|&term| missing(term));
    let shown: Vec<&Term> = first.into_iter().chain(then).take(MAX_TERMS).collect();
    let products: Vec<String> = shown.iter().map(|term| product(term, style)).collect();
    let values: Vec<String> = shown.iter().map(|term| number(term.value)).collect();
    let width = |texts: &[String]| texts.iter().map(|t| t.chars().count()).max().unwrap_or(0);
    let (wide, value_width) = (width(&products), width(&values));
    let mut lines = Vec::new();
    for ((term, product), value) in shown.iter().zip(&products).zip(&values) {
        let indices: Vec<String> = term.indices.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let indices =
            if indices.is_empty() { String::new() } else { format!("   ({})", indices.join(", ")) };
        let line = format!("{product:<wide$} = {value:>value_width$}");
        lines.push(format!("      {line}{}", style.paint(Tone::Faint, &indices)));
    }
    if formula.len() > shown.len() {
        lines.push(
            style.paint(Tone::Faint, &format!("      and {} more", formula.len() - shown.len())),
        );
    }
    lines
}

fn product(term: &Term, style: Style) -> String {
    let dot = style.either(" · ", " * ");
    let mut factors: Vec<String> = term.factors.iter().map(element_text).collect();
    if term.coefficient != 1.0 || factors.is_empty() {
        factors.insert(0, number(term.coefficient));
    }
    factors.join(dot)
}

fn thread_lines(
    element: &str,
    thread: &ThreadReads,
    has_formula: bool,
    source: &str,
    style: Style,
) -> Vec<String> {
    let stored = thread.line.as_ref().map(|l| format!(" at line {}", l.line)).unwrap_or_default();
    let who = format!("{}, which stored {element}{stored},", thread.id);
    if thread.total == 0 {
        return vec![format!("    {who} read no input at all")];
    }
    if thread.extra.is_empty() && thread.missing.is_empty() && thread.outside.is_empty() {
        let same =
            "read exactly the elements that the formula uses: look at what it does with them";
        return if has_formula {
            vec![format!("    {who}"), format!("      {same}")]
        } else {
            Vec::new()
        };
    }
    let mut lines = vec![format!("    {who}")];
    let mut kind = |tone: Tone, label: &str, items: &[String], note: &str| {
        if !items.is_empty() {
            let label = style.paint(tone, &format!("{label:<13}"));
            lines.push(format!("      {label} {}{note}", some(items)));
        }
    };
    let outside: Vec<String> = thread.outside.iter().map(read_text).collect();
    kind(Tone::Bad, "read outside:", &outside, &at_line(&thread.outside));
    let extra: Vec<String> = thread.extra.iter().map(read_text).collect();
    kind(Tone::Warn, "also read:", &extra, &at_line(&thread.extra));
    let missing: Vec<String> = thread.missing.iter().map(element_text).collect();
    let shared = SHARING.iter().any(|word| source.contains(word));
    let note = if shared { "; unless another thread read it for this one" } else { "" };
    kind(Tone::Warn, "never read:", &missing, note);
    lines
}

/// As many as fit on a line, at least one.
fn some(items: &[String]) -> String {
    let mut text = String::new();
    for (index, item) in items.iter().enumerate() {
        if index > 0 && text.chars().count() + 2 + item.chars().count() > MAX_LIST {
            return format!("{text} and {} more", items.len() - index);
        }
        let comma = if index > 0 { ", " } else { "" };
        text = format!("{text}{comma}{item}");
    }
    text
}

/// The line of all these reads, if it is one.
fn at_line(reads: &[ElementRead]) -> String {
    let mut lines = reads.iter().map(|read| &read.line);
    match lines.next() {
        Some(Some(line)) if lines.all(|other| other.as_ref() == Some(line)) => {
            format!(" (line {})", line.line)
        }
        _ => String::new(),
    }
}

fn element_text(element: &ElementRef) -> String {
    format!("{}{}", element.tensor, list(&element.coords))
}

/// The element; counted from the start of its tensor where it lies outside.
fn read_text(read: &ElementRead) -> String {
    let len = read.shape.iter().product();
    match usize::try_from(read.flat) {
        Ok(flat) if flat < len => element_name(&read.tensor, &read.shape, flat),
        _ => format!("{}[{}] of {}", read.tensor, read.flat, count(len, "element")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::verdict::Mismatch;
    use puzzle::tensor::DType;

    #[test]
    fn a_number_of_the_formula_has_no_terms_to_list() {
        let tensor = Tensor { name: "found".into(), dtype: DType::I32, shape: vec![3] };
        let term = Term { coefficient: 1.0, factors: Vec::new(), value: 1.0, indices: Vec::new() };
        let mismatch = Mismatch { flat: 2, expected: 1.0, got: Some(0.0), allowed: 0.0 };
        let diff = TermDiff { mismatch, formula: Some(vec![term]), thread: None, compared: None };
        let page = |source| lines(&tensor, &diff, source, Style::PLAIN);
        assert_eq!(page(""), ["    found[2] should be 1; the code made it 0"]);
        let nothing = TermDiff { formula: Some(Vec::new()), ..diff.clone() };
        let nothing = lines(&tensor, &nothing, "", Style::PLAIN);
        assert_eq!(nothing, ["    found[2] should be 1; the code made it 0"]);
        let of_kernel = page("__global__ void k() {}");
        assert_eq!(of_kernel, ["    found[2] should be 1; the kernel made it 0"]);
    }
}
