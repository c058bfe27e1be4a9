//! The products of an element, formula and kernel side by side.

use super::number::{list, number};
use super::style::{Style, Tone};
use cpptext::statements::statement;
use device::finding::SourceLoc;
use device::provenance::Factor;
use judge::expansion::{ElementTerms, MissingRange, Row, RowKind};
use puzzle::tensor::Tensor;

/// Products that are wrong, and then those that are correct, at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Most {
    pub wrong: usize,
    pub correct: usize,
}

/// Text of statements that add.
const ADDS: [&str; 6] = ["+=", "-=", " + ", "add", "Add", "fma"];

/// Lines of a statement that are shown.
const MAX_STATEMENT: usize = 4;
/// Characters of a line of a statement that are shown.
const LONGEST_LINE: usize = 400;

/// One line for each product.
pub(super) fn lines(terms: &ElementTerms, style: Style, most: Most) -> Vec<String> {
    let wrong = terms.rows.iter().filter(|row| row.kind != RowKind::Correct);
    let correct = terms.rows.iter().filter(|row| row.kind == RowKind::Correct);
    // Some of each kind: a product that is missing explains one that should not be there.
    let mut shown: Vec<&Row> = Vec::new();
    let kinds = [RowKind::Extra, RowKind::Missing, RowKind::Repeated, RowKind::Coefficient];
    let used = kinds.iter().filter(|&&kind| terms.rows.iter().any(|row| row.kind == kind)).count();
    for kind in kinds {
        let each = most.wrong.div_ceil(used.max(1));
        shown.extend(wrong.clone().filter(|row| row.kind == kind).take(each));
    }
    let shown_wrong = shown.len();
    shown.extend(correct.clone().take(most.correct));
    let labels: Vec<String> = shown.iter().map(|row| label(row)).collect();
    let products: Vec<String> = shown.iter().map(|row| product(row, style)).collect();
    let width = |texts: &[String]| texts.iter().map(|t| t.chars().count()).max().unwrap_or(0);
    let (label_width, product_width) = (width(&labels), width(&products));
    let mut lines = Vec::new();
    for ((row, label), product) in shown.iter().zip(&labels).zip(&products) {
        let tone = match row.kind {
            RowKind::Correct => Tone::Faint,
            RowKind::Extra | RowKind::Repeated | RowKind::Coefficient => Tone::Bad,
            RowKind::Missing => Tone::Warn,
        };
        let label = style.paint(tone, &format!("{label:<label_width$}"));
        let value = row.value.map(|v| format!(" = {}", number(v * coefficient(row))));
        let notes = style.paint(Tone::Faint, &notes(row));
        let line =
            format!("      {label} {product:<product_width$}{}{notes}", value.unwrap_or_default());
        lines.push(line.trim_end().to_owned());
    }
    let more_wrong = wrong.count() - shown_wrong;
    let more_correct = correct.count().saturating_sub(most.correct);
    let more = match (more_wrong, more_correct) {
        (0, 0) => None,
        (0, n) if most.correct == 0 => Some(format!("and {n} that {} correct", are(n))),
        (0, n) => Some(format!("and {n} more that {} correct", are(n))),
        (n, 0) => Some(format!("and {n} more that {} wrong", are(n))),
        (w, r) => Some(format!("and {w} more that {} wrong, {r} that {} correct", are(w), are(r))),
    };
    lines.extend(more.map(|text| style.paint(Tone::Faint, &format!("      {text}"))));
    lines
}

/// The line of the source to look at, where it is known.
pub(super) fn place(terms: &ElementTerms, source: &str, style: Style) -> Vec<String> {
    if terms.equal() {
        return Vec::new();
    }
    if let Some(line) = terms.certain_line() {
        return quote("look at", line, source, style);
    }
    // A line of which the compiler has moved the addition away adds nothing to read.
    let adds = |line: &&SourceLoc| {
        let lines = statement(source, line.line);
        let texts = source.lines().skip(*lines.start() as usize - 1).take(lines.count());
        texts
            .into_iter()
            .map(without_subscripts)
            .any(|text| ADDS.iter().any(|word| text.contains(word)))
    };
    let added = terms.added_line().filter(adds).into_iter();
    added.flat_map(|line| quote("these products are added at", line, source, style)).collect()
}

/// That a sum lacks all products of some tensors, though nothing else is wrong with it.
pub(super) fn absent(terms: &ElementTerms, style: Style) -> Option<String> {
    let (tensors, count) = terms.absent().filter(|(tensors, _)| !tensors.is_empty())?;
    let what = if tensors.len() == 1 { "elements" } else { "products" };
    let text = format!("none of the {count} {what} of {} is added", tensors.join(" and "));
    Some(format!("    {}", style.paint(Tone::Strong, &text)))
}

/// That a sum is that of another element, in full.
pub(super) fn belongs(
    terms: &ElementTerms,
    tensor: &Tensor,
    element: &str,
    style: Style,
) -> Option<String> {
    let other = terms.belongs_to.as_ref()?;
    let added = terms.rows.iter().filter(|row| row.kernel != 0.0).count();
    let other = format!("{}{}", tensor.name, list(other));
    let text = format!("{element} has the {added} terms of {other}");
    (added > 1).then(|| format!("    {}", style.paint(Tone::Strong, &text)))
}

/// Which values of an index all products lack that are missing, where nothing else is wrong.
pub(super) fn missing(terms: &ElementTerms, element: &str, style: Style) -> Option<String> {
    let text = match terms.missing_range()? {
        MissingRange::Values { index, first, last, added } => {
            let has = if added { "has only the" } else { "lacks all" };
            let last = if first == last { String::new() } else { format!(" to {last}") };
            format!("{element} {has} terms with {index}={first}{last}")
        }
        MissingRange::After { indices, added, all } => {
            let order = indices.join(", ");
            format!("{element} has only the first {added} of {all} terms, in the order of {order}")
        }
    };
    Some(format!("    {}", style.paint(Tone::Strong, &text)))
}

/// A line of code without what stands in square brackets.
fn without_subscripts(text: &str) -> String {
    let mut depth = 0;
    let outside = |c: &char| {
        depth += i32::from(*c == '[');
        let outside = depth == 0;
        depth -= i32::from(*c == ']');
        outside
    };
    text.chars().filter(outside).collect()
}

fn are(n: usize) -> &'static str {
    if n == 1 { "is" } else { "are" }
}

/// The coefficient that is shown: the kernel's, but for what it does not have.
fn coefficient(row: &Row) -> f64 {
    match row.kind {
        RowKind::Extra => row.kernel,
        _ => row.formula,
    }
}

fn label(row: &Row) -> String {
    match row.kind {
        RowKind::Extra => "extra".into(),
        RowKind::Missing => "missing".into(),
        RowKind::Repeated => format!("{} times", number((row.kernel / row.formula).round())),
        RowKind::Coefficient => format!("times {}", number(row.kernel / row.formula)),
        RowKind::Correct => "right".into(),
    }
}

fn product(row: &Row, style: Style) -> String {
    let mut factors: Vec<String> = row.factors.iter().map(factor).collect();
    let coefficient = coefficient(row);
    if coefficient == -1.0 && !factors.is_empty() {
        factors[0].insert(0, '-');
    } else if coefficient != 1.0 || factors.is_empty() {
        factors.insert(0, number(coefficient));
    }
    factors.join(style.either(" · ", " * "))
}

fn factor(factor: &Factor) -> String {
    match factor {
        Factor::Element(element) => format!("{}{}", element.tensor, list(&element.coords)),
        Factor::Outside(outside) => format!("{}[{}] (outside)", outside.tensor, outside.flat),
        Factor::Function(text) => text.clone(),
    }
}

fn notes(row: &Row) -> String {
    let mut notes: Vec<String> = row.indices.iter().map(|(n, v)| format!("{n}={v}")).collect();
    if let Some(line) = row.line.as_ref().filter(|_| !matches!(row.kind, RowKind::Missing)) {
        notes.push(format!("line {}", line.line));
    }
    if notes.is_empty() { String::new() } else { format!("   ({})", notes.join(", ")) }
}

/// The beginning of a line that is longer than anybody reads.
fn cut(line: &str) -> String {
    match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

/// A statement stands behind its title where both take so many characters, as many as a usual terminal shows.
const ONE_LINE: usize = 80;

/// The statement itself, as it stands in the file that was compiled.
pub(super) fn quote(what: &str, line: &SourceLoc, source: &str, style: Style) -> Vec<String> {
    let range = statement(source, line.line);
    let texts = source.lines().skip(*range.start() as usize - 1).take(range.clone().count());
    let texts: Vec<&str> = texts.take(MAX_STATEMENT).collect();
    if texts.is_empty() {
        return Vec::new();
    }
    let indent = |text: &str| text.len() - text.trim_start().len();
    let margin = texts.iter().map(|text| indent(text)).min().unwrap_or(0);
    let plain = match (range.start(), range.end()) {
        (first, last) if first == last => format!("{what} line {first}:"),
        (first, last) => format!("{what} lines {first} to {last}:"),
    };
    let title = format!("    {}", style.paint(Tone::Strong, &plain));
    // The margin of one line may end within a wide space of another, in a comment.
    let inner = |text: &&str| text.get(margin..).unwrap_or(text.trim_start()).trim_end().to_owned();
    let code = texts.iter().map(|text| format!("      {}", cut(&inner(text))));
    if let [text] = texts[..] {
        let whole = format!("    {plain} {}", text.trim());
        if whole.chars().count() <= ONE_LINE {
            return vec![format!("{title} {}", text.trim())];
        }
    }
    std::iter::once(title).chain(code).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::finding::ThreadId;
    use judge::expansion::Clue;
    use puzzle::tensor::DType;

    #[test]
    fn a_sum_that_is_that_of_another_element_is_told() {
        let row = |kernel: f64| Row {
            factors: Vec::new(),
            kind: if kernel == 0.0 { RowKind::Missing } else { RowKind::Extra },
            formula: 1.0 - kernel,
            kernel,
            value: None,
            indices: Vec::new(),
            line: None,
        };
        let said = |rows: &[f64]| {
            let terms = ElementTerms {
                rows: rows.iter().copied().map(row).collect(),
                line: None,
                clue: Clue::Added,
                between_threads: false,
                writer: ThreadId { block: [0; 3], thread: [0; 3] },
                general: true,
                belongs_to: Some(vec![1, 0]),
            };
            let tensor = Tensor { name: "y".into(), dtype: DType::F32, shape: vec![2, 2] };
            belongs(&terms, &tensor, "y[0, 1]", Style::PLAIN)
        };
        let both = said(&[1.0, 1.0, 0.0, 0.0]);
        assert_eq!(both.as_deref(), Some("    y[0, 1] has the 2 terms of y[1, 0]"));
        assert_eq!(said(&[1.0, 0.0]), None, "a single term may come from anywhere");
    }

    #[test]
    fn statements_are_quoted_whatever_their_spaces_and_lengths() {
        let quoted = |source: &str| {
            let line = SourceLoc { file: "k.cu".into(), line: 1, column: 1 };
            quote("y is stored at", &line, source, Style::PLAIN)
        };
        let wide = quoted(" y[i] = /*\n\u{3000}*/ 1;\n");
        assert_eq!(wide, ["    y is stored at lines 1 to 2:", "      y[i] = /*", "      */ 1;"]);
        let long = quoted(&format!("y[i] = {}1;\n", "é + ".repeat(1000)));
        assert!(long.len() == 2 && long[1].ends_with("...") && long[1].chars().count() < 450);
    }
}
