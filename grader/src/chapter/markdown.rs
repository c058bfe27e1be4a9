//! Renders Markdown for a terminal: wrapped paragraphs, unchanged code, formulas as text.

use super::math;
use report::style::{Style, Tone};

/// The block that a line belongs to.
#[derive(PartialEq)]
enum Block {
    /// A paragraph, which is wrapped.
    Paragraph,
    /// A fenced block, which is not wrapped; `math` is true for formulas.
    Fence { math: bool },
    /// HTML up to this closing tag: a picture, which a terminal cannot show.
    Skipped(&'static str),
}

/// Renders `markdown` in lines of at most `width` characters, except for code and tables.
pub fn render(markdown: &str, style: Style, width: usize) -> String {
    let mut page = Page { style, width, ..Page::default() };
    let mut block = Block::Paragraph;
    let mut fenced = Vec::new();
    for line in markdown.lines() {
        let start = line.trim_start();
        match &block {
            Block::Fence { math } if start.starts_with("```") => {
                let formula = math.then(|| math::text(&fenced.join("\n"), style.unicode));
                let rows =
                    formula.as_ref().map_or_else(|| dedent(&fenced), |f| f.lines().collect());
                page.lines
                    .extend(rows.iter().map(|row| format!("    {row}").trim_end().to_owned()));
                fenced.clear();
                block = Block::Paragraph;
            }
            Block::Fence { .. } => fenced.push(line),
            Block::Skipped(end) => {
                if start.contains(end) {
                    block = Block::Paragraph;
                }
            }
            Block::Paragraph => {
                if let Some(language) = start.strip_prefix("```") {
                    page.flush();
                    block = Block::Fence { math: language.trim() == "math" };
                } else if start.starts_with("<figure") && !start.contains("</figure>") {
                    page.flush();
                    page.lines.push("    (a figure: see the chapter)".into());
                    block = Block::Skipped("</figure>");
                } else {
                    page.line(line);
                }
            }
        }
    }
    page.flush();
    let mut text = page.lines.join("\n");
    text.push('\n');
    text
}

/// The lines of code without their common indentation.
fn dedent<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let written = lines.iter().filter(|line| !line.trim().is_empty());
    let common = written.map(indent).min().unwrap_or(0);
    lines.iter().map(|line| line.get(common..).unwrap_or_default()).collect()
}

struct Page {
    style: Style,
    width: usize,
    lines: Vec<String>,
    /// The paragraph so far.
    text: String,
    /// The indentation of the paragraph's further lines.
    hang: usize,
    /// The rows of the table so far.
    table: Vec<Vec<String>>,
}

impl Default for Page {
    fn default() -> Self {
        let (lines, text, table) = (Vec::new(), String::new(), Vec::new());
        Self { style: Style::PLAIN, width: 0, lines, text, hang: 0, table }
    }
}

impl Page {
    fn line(&mut self, line: &str) {
        let start = line.trim_start();
        if start.is_empty() {
            self.flush();
            if self.lines.last().is_some_and(|line| !line.is_empty()) {
                self.lines.push(String::new());
            }
        } else if let Some(heading) = start.strip_prefix('#') {
            self.flush();
            let heading = heading.trim_start_matches('#').trim();
            self.lines.push(self.style.paint(Tone::Strong, heading));
        } else if let Some(row) = start.strip_prefix('|') {
            if !self.text.is_empty() {
                self.flush();
            }
            let row = row.trim_end().trim_end_matches('|');
            let cells = row.split('|').map(|cell| plain(cell.trim(), self.style.unicode));
            let cells = cells.map(|cell| cell.replace(NO_BREAK, " ").replace(STRONG, ""));
            self.table.push(cells.collect());
        } else if start.starts_with('<') && start.ends_with('>') {
            self.flush();
        } else {
            let marker = marker(start);
            if marker > 0 {
                self.flush();
                self.hang = line.len() - start.len() + marker;
                self.text = " ".repeat(line.len() - start.len());
            } else if !self.text.is_empty() {
                self.text.push(' ');
            }
            self.text.push_str(start);
        }
    }

    /// Ends the paragraph or the table.
    fn flush(&mut self) {
        self.flush_table();
        let text = std::mem::take(&mut self.text);
        let hang = std::mem::take(&mut self.hang);
        if text.trim().is_empty() {
            return;
        }
        let indent = text.len() - text.trim_start().len();
        let mut line = " ".repeat(indent);
        let mut length = indent;
        let mut first = true;
        for word in words(text.trim_start(), self.style) {
            if !first && length + 1 + word.length > self.width {
                self.lines.push(std::mem::replace(&mut line, " ".repeat(hang)));
                length = hang;
            } else if !first {
                line.push(' ');
                length += 1;
            }
            line.push_str(&word.shown);
            length += word.length;
            first = false;
        }
        self.lines.push(line);
    }
}

impl Page {
    fn flush_table(&mut self) {
        let mut rows = std::mem::take(&mut self.table);
        // The line below the header has only dashes and colons.
        rows.retain(|row| !row.iter().all(|cell| cell.chars().all(|c| "-: ".contains(c))));
        let length = |row: &Vec<String>, i: usize| row.get(i).map_or(0, |c| c.chars().count());
        for row in &rows {
            let cells = row.iter().enumerate().map(|(i, cell)| {
                let width = rows.iter().map(|row| length(row, i)).max().unwrap_or(0);
                format!("{cell:<width$}")
            });
            let line = cells.collect::<Vec<_>>().join("   ");
            self.lines.push(format!("    {line}").trim_end().to_owned());
        }
    }
}

/// The length of "- " or "12. " at the start of a list item; 0 for other text.
fn marker(line: &str) -> usize {
    if line.starts_with("- ") || line.starts_with("* ") {
        return 2;
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    if (1..=3).contains(&digits) && line[digits..].starts_with(". ") { digits + 2 } else { 0 }
}

/// A text that is never broken, with and without its colours.
struct Word {
    shown: String,
    length: usize,
}

/// The words of a paragraph without the markup for code, formulas, links and emphasis.
fn words(text: &str, style: Style) -> Vec<Word> {
    let mut words = Vec::new();
    let mut strong = false;
    for word in plain(text, style.unicode).split(' ').filter(|word| !word.is_empty()) {
        // Emphasis may begin and end inside a word, next to punctuation.
        let (mut shown, mut length) = (String::new(), 0);
        for (number, piece) in word.split(STRONG).enumerate() {
            if number > 0 {
                strong = !strong;
            }
            let piece = piece.replace(NO_BREAK, " ");
            length += piece.chars().count();
            shown.push_str(&if strong { style.paint(Tone::Strong, &piece) } else { piece });
        }
        words.push(Word { shown, length });
    }
    words
}

/// Marks a blank at which no line may be broken, while a paragraph is processed.
const NO_BREAK: char = '\u{1}';
/// Marks the start and the end of emphasis.
const STRONG: char = '\u{2}';

/// The paragraph as text, with [`NO_BREAK`] and [`STRONG`] in it.
fn plain(text: &str, unicode: bool) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some((formula, after)) = rest.strip_prefix("$`").and_then(|r| r.split_once("`$")) {
            out.push_str(&math::text(formula, unicode).replace(['\n', ' '], &NO_BREAK.to_string()));
            rest = after;
        } else if let Some((code, after)) = rest.strip_prefix('`').and_then(|r| r.split_once('`')) {
            out.extend(["`", &code.replace(' ', &NO_BREAK.to_string()), "`"]);
            rest = after;
        } else if let Some(after) = rest.strip_prefix("**") {
            out.push(STRONG);
            rest = after;
        } else if let Some((stressed, after)) = stressed(rest) {
            out.push_str(&plain(stressed, unicode));
            rest = after;
        } else if let Some((label, target, after)) = link(rest) {
            out.push_str(&plain(label, unicode));
            if target.contains("://") {
                out.extend([" (", target, ")"]);
            }
            rest = after;
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// The text in `*this*`, and the rest of the line.
fn stressed(text: &str) -> Option<(&str, &str)> {
    let (inner, after) = text.strip_prefix('*')?.split_once('*')?;
    let tight = !inner.is_empty() && !inner.starts_with(' ') && !inner.ends_with(' ');
    tight.then_some((inner, after))
}

/// The label and the target of `[label](target)`, and the rest of the line.
fn link(text: &str) -> Option<(&str, &str, &str)> {
    let (label, rest) = text.strip_prefix('[')?.split_once("](")?;
    let (target, after) = rest.split_once(')')?;
    // `x[i] = f(y)` is not a link, nor is anything with a bracket inside.
    (!label.contains(['[', ']'])).then_some((label, target, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNICODE: Style = Style { colour: false, unicode: true };

    #[test]
    fn paragraphs_lists_code_and_formulas() {
        let text = "\
Compute `oh = h - fh` and *leave out* the **term**,
see [puzzle 07](07.md) and [PTX](https://x.y/ptx); $`\\varepsilon`$ is 0.5.

- a first item that is long enough to be broken once
- second
  goes on

2. numbered

```cpp
  for (int k = 0; k < K; k++) {   // long code lines stay as they are, however long they may be

    x;
  }
```

```math
a \\cdot b \\\\
&\\quad c
```
<figure>
svg
</figure>
| element | offset |
|---|:-:|
| *x[i]* | `i * 2` |";
        insta::assert_snapshot!(render(text, UNICODE, 40), @r"
        Compute `oh = h - fh` and leave out the
        term, see puzzle 07 and PTX
        (https://x.y/ptx); ε is 0.5.

        - a first item that is long enough to be
          broken once
        - second goes on

        2. numbered

            for (int k = 0; k < K; k++) {   // long code lines stay as they are, however long they may be

              x;
            }

            a · b
              c
            (a figure: see the chapter)
            element   offset
            x[i]      `i * 2`
        ");
    }

    #[test]
    fn stress_is_painted_word_by_word() {
        let style = Style { colour: true, unicode: true };
        let bold = |word: &str| format!("\u{1b}[1m{word}\u{1b}[0m");
        let expected = format!("a {} {}, d\n", bold("b"), bold("c"));
        assert_eq!(render("a **b c**, d", style, 40), expected);
    }

    #[test]
    fn signs_that_mean_nothing_stay() {
        for text in ["a * b * c", "x[i] (y)", "2 ** ", "`open", "$`open", "[a](b", "5 < 6"] {
            let shown = render(text, Style::PLAIN, 40);
            assert_eq!(shown.trim_end(), text.replace("**", "").trim_end(), "{text}");
        }
    }
}
