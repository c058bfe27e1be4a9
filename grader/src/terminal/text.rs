//! Text in rows of a terminal: how wide it is, and how it is broken, cut and padded. Escape codes for colours
//! (`ESC [ ... m`) take no room, and each row that comes out sets and resets its own.

use diagnostic::visible;
use unicode_width::UnicodeWidthChar;

const ESCAPE: char = '\u{1b}';
const RESET: &str = "\u{1b}[0m";

/// The number of columns that a line takes.
pub fn width(line: &str) -> usize {
    pieces(line).map(Piece::width).sum()
}

/// A text without control characters, but for those that set colours (`ESC [ 1 ; 31 m`).
pub fn with_colours_alone(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        let (before, sequence) = rest.split_at(at);
        shown.push_str(&visible(before));
        let end = sequence[2..].find(|c: char| !c.is_ascii_digit() && c != ';').map(|end| end + 2);
        let end = end.filter(|&end| sequence[end..].starts_with('m')).map(|end| end + 1);
        let (colour, after) = sequence.split_at(end.unwrap_or(1));
        shown.push_str(&if end.is_some() { colour.to_owned() } else { visible(colour) });
        rest = after;
    }
    shown + &visible(rest)
}

/// Breaks each line of `text` between words into rows of at most `columns` columns. The second and further rows of a line
/// are indented. A word that is longer than a row is broken; a line of quoted source code, whose marks stand below it, is
/// cut instead.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let rows = text.lines().flat_map(|line| {
        if width(line) <= columns {
            vec![line.to_owned()]
        } else if is_quoted_code(line) {
            vec![cut(line, columns)]
        } else {
            break_line(line, columns)
        }
    });
    rows.collect()
}

/// The beginning of a line that takes at most `columns` columns; its end is marked if something is left out.
pub fn cut(line: &str, columns: usize) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    let (mut shown, _) = split(line, columns.saturating_sub(1));
    if columns > 0 {
        shown.push('…');
    }
    shown.push_str(RESET);
    if line.contains(ESCAPE) { shown } else { shown.trim_end_matches(RESET).to_owned() }
}

/// A line filled with blanks to `columns` columns.
pub fn pad(line: &str, columns: usize) -> String {
    format!("{line}{}", " ".repeat(columns.saturating_sub(width(line))))
}

/// Whether a line quotes source code as compilers do: `12 | code` or `   | ^^^^`.
fn is_quoted_code(line: &str) -> bool {
    let mut visible = pieces(line).filter_map(|piece| match piece {
        Piece::Char(c) => Some(c),
        Piece::Escape(_) => None,
    });
    visible.find(|c| !c.is_ascii_digit() && *c != ' ') == Some('|')
}

fn break_line(line: &str, columns: usize) -> Vec<String> {
    let (indent, text) = line.split_at(line.len() - line.trim_start_matches(' ').len());
    let hanging = if indent.len() + 4 > columns / 2 { "" } else { "    " };
    let indent = if hanging.is_empty() { "" } else { indent };
    let room = columns - indent.len() - hanging.len();
    let mut rows = Vec::new();
    let mut row = indent.to_owned();
    let mut empty = true;
    for word in text.split(' ') {
        let gap = usize::from(!empty);
        if !empty && width(&row) + gap + width(word) > columns {
            rows.push(std::mem::replace(&mut row, format!("{indent}{hanging}")));
            empty = true;
        }
        if !empty {
            row.push(' ');
        }
        let mut word = word.to_owned();
        while width(&word) > room {
            let (head, tail) = split(&word, columns - width(&row));
            row.push_str(&head);
            rows.push(std::mem::replace(&mut row, format!("{indent}{hanging}")));
            word = tail;
        }
        row.push_str(&word);
        empty = false;
    }
    rows.push(row);
    close_colours(rows)
}

/// The first `columns` columns of a line, and the rest.
fn split(line: &str, columns: usize) -> (String, String) {
    let mut left = columns;
    let mut head = String::new();
    let mut pieces = pieces(line).peekable();
    while let Some(piece) = pieces.next_if(|piece| piece.width() <= left) {
        left -= piece.width();
        piece.push_to(&mut head);
    }
    let mut tail = String::new();
    pieces.for_each(|piece| piece.push_to(&mut tail));
    (head, tail)
}

/// Ends the colours of each row at its end, and begins them again in the next.
fn close_colours(rows: Vec<String>) -> Vec<String> {
    let mut active = String::new();
    let close = |row: String| {
        let row = format!("{active}{row}");
        active.clear();
        for piece in pieces(&row) {
            match piece {
                Piece::Escape(RESET) => active.clear(),
                Piece::Escape(code) => active.push_str(code),
                Piece::Char(_) => {}
            }
        }
        if active.is_empty() { row } else { format!("{row}{RESET}") }
    };
    rows.into_iter().map(close).collect()
}

/// A character, or an escape code for colours.
#[derive(Clone, Copy)]
enum Piece<'a> {
    Char(char),
    Escape(&'a str),
}

impl Piece<'_> {
    fn width(self) -> usize {
        match self {
            Self::Char(c) => c.width().unwrap_or(0),
            Self::Escape(_) => 0,
        }
    }

    fn push_to(self, text: &mut String) {
        match self {
            Self::Char(c) => text.push(c),
            Self::Escape(code) => text.push_str(code),
        }
    }
}

fn pieces(line: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let code = rest.find('m').filter(|_| first == ESCAPE).map(|end| &rest[..=end]);
        rest = &rest[code.map_or(first.len_utf8(), str::len)..];
        Some(code.map_or(Piece::Char(first), Piece::Escape))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrap("one two three", 9), ["one two", "    three"]);
        assert_eq!(wrap("  one two three four", 14), ["  one two", "      three", "      four"]);
        assert_eq!(wrap("a  b", 4), ["a  b"], "blanks inside a row stay");
        assert_eq!(wrap("a\n\nb", 4), ["a", "", "b"]);
        assert_eq!(wrap("x", 0), ["x"]);
    }

    #[test]
    fn a_word_that_is_longer_than_a_row_is_broken() {
        assert_eq!(wrap("123456", 5), ["12345", "6"]);
        assert_eq!(wrap("ab 1234567890", 9), ["ab", "    12345", "    67890"]);
        let rows = wrap(&"x".repeat(1000), 60);
        assert!(rows.iter().all(|row| width(row) <= 60), "{rows:?}");
    }

    #[test]
    fn quoted_code_stays_above_its_marks() {
        let quoted = "12 | float a = b + c;\n   |           ^";
        assert_eq!(wrap(quoted, 12), ["12 | float …", "   |       …"]);
        assert_eq!(wrap("a | b c d", 7), ["a | b c", "d"]);
    }

    #[test]
    fn colours_take_no_room_and_each_row_has_its_own() {
        assert_eq!(width("\u{1b}[31mred\u{1b}[0m é"), 5);
        assert_eq!(wrap("\u{1b}[31mone\u{1b}[0m two", 7).len(), 1);
        let rows = ["\u{1b}[31mone two\u{1b}[0m", "\u{1b}[31m    three\u{1b}[0m", "    four"];
        assert_eq!(wrap("\u{1b}[31mone two three\u{1b}[0m four", 12), rows);
        assert_eq!(cut("\u{1b}[31mone two\u{1b}[0m", 4), "\u{1b}[31mone…\u{1b}[0m");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(width("数字"), 4);
        assert_eq!(cut("数字", 3), "数…");
        assert_eq!(pad("数", 3), "数 ");
        assert_eq!(cut("abc", 3), "abc");
    }
}
