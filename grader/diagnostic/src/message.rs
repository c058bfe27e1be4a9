//! A message that points into a text file: a spec, a kernel. The only file that uses the renderer.

use crate::visible::visible;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::ops::Range;
use std::path::PathBuf;

/// A message with the place that it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// The severity, shown by the first word and its colour.
    pub severity: Severity,
    /// What is wrong: one line, without a full stop.
    pub title: String,
    /// The text that the message points into, if any.
    pub source: Option<Source>,
    /// How to fix it, or further facts; one line each.
    pub help: Vec<String>,
}

/// How serious a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The command fails.
    Error,
    /// The command continues.
    Warning,
}

/// A text and the places in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The path as it is shown; make it relative to the workbook.
    pub path: PathBuf,
    /// The complete text.
    pub text: String,
    /// The places; at least one, and the first is the primary one.
    pub marks: Vec<Mark>,
}

/// A place in a text, with a label.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The range of bytes of the text.
    pub span: Range<usize>,
    /// The text at the place; may be empty.
    pub label: String,
}

/// Quoted lines of code may be as long as this, in characters.
pub const CODE_WIDTH: usize = 140;

impl Diagnostic {
    /// The message in the style of rustc: several lines without a line break at the end. A span outside the text or
    /// inside a character is moved to the nearest valid place.
    pub fn render(&self, color: bool) -> String {
        self.render_within(color, CODE_WIDTH)
    }

    /// The message like [`Self::render`], with quoted lines of at most `columns` characters: of a longer one, the part around
    /// its mark is shown.
    pub fn render_within(&self, color: bool, columns: usize) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut group =
            annotate_snippets::Group::with_title(level.primary_title(visible(&self.title)));
        if let Some(source) = &self.source {
            let shown = |end: usize| visible(&source.text[..end].replace("\r\n", "\n"));
            let mut snippet = Snippet::source(shown(source.text.len()))
                .path(visible(&source.path.to_string_lossy()));
            for (i, mark) in source.marks.iter().enumerate() {
                let kind = if i == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
                let label = (!mark.label.is_empty()).then(|| visible(&mark.label));
                let Range { start, end } = clamp(&source.text, &mark.span);
                let span = shown(start).len()..shown(end).len();
                snippet = snippet.annotation(kind.span(span).label(label));
            }
            group = group.element(snippet);
        }
        let help = self.help.iter().filter(|line| !line.is_empty());
        group = group.elements(help.map(|line| Level::HELP.message(visible(line))));
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        renderer.term_width(columns).render(&[group])
    }
}

/// The nearest range of whole characters. The two bytes of a Windows line end count as one character.
fn clamp(text: &str, span: &Range<usize>) -> Range<usize> {
    let inside = |at: usize| {
        let before = &text.as_bytes()[..at];
        !text.is_char_boundary(at)
            || (before.ends_with(b"\r") && text.as_bytes().get(at) == Some(&b'\n'))
    };
    let mut start = span.start.min(text.len());
    while inside(start) {
        start -= 1;
    }
    let mut end = span.end.clamp(start, text.len());
    while inside(end) {
        end += 1;
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn diagnostic(text: &str, marks: &[(Range<usize>, &str)]) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            title: "no such tensor".into(),
            source: Some(Source {
                path: "puzzles/01_x.toml".into(),
                text: text.into(),
                marks: marks
                    .iter()
                    .map(|(span, label)| Mark { span: span.clone(), label: (*label).into() })
                    .collect(),
            }),
            help: vec!["the spec has `a`".into()],
        }
    }

    #[test]
    fn what_nobody_sees_is_shown_and_marked() {
        let mut found =
            diagnostic("a\u{200b}b = \u{202e}7\r\nc\u{200d} = 8\n", &[(4..5, "b"), (21..22, "8")]);
        found.title = "no `c\u{200d}`".into();
        insta::assert_snapshot!(found.render(false), @r"
        error: no `c\u200d`
         --> puzzles/01_x.toml:1:8
          |
        1 | a\u200bb = \u202e7
          |        ^ b
        2 | c\u200d = 8
          |           - 8
          |
          = help: the spec has `a`
        ");
    }

    #[test]
    fn looks_like_rustc() {
        let text = "first\nargs = [\"b\"]\nlast\n";
        insta::assert_snapshot!(diagnostic(text, &[(14..17, "not in [tensors]"), (0..5, "above")]).render(false), @r#"
        error: no such tensor
         --> puzzles/01_x.toml:2:9
          |
        1 | first
          | ----- above
        2 | args = ["b"]
          |         ^^^ not in [tensors]
          |
          = help: the spec has `a`
        "#);
    }

    #[test]
    fn colour_only_where_it_is_wanted() {
        let d = diagnostic("abc", &[(0..1, "")]);
        assert!(d.render(true).contains('\u{1b}'));
        assert!(!d.render(false).contains('\u{1b}'));
    }

    #[test]
    fn windows_line_ends_and_tabs_keep_the_caret_in_place() {
        let text = "one\r\n\ttwo = 3\r\n";
        insta::assert_snapshot!(diagnostic(text, &[(12..13, "")]).render(false), @r"
        error: no such tensor
         --> puzzles/01_x.toml:2:8
          |
        2 |     two = 3
          |           ^
          |
          = help: the spec has `a`
        ");
    }

    #[test]
    fn a_span_inside_a_character_covers_it() {
        assert_eq!(clamp("aéb", &(2..2)), 1..3);
        assert_eq!(clamp("aéb", &(1..2)), 1..3);
        assert_eq!(clamp("ab", &(7..9)), 2..2);
        assert_eq!(clamp("a\r\nb", &(2..2)), 1..3);
    }

    proptest! {
        #[test]
        fn any_span_of_any_text_renders(
            text in "(?s)[a-c\\t\\r\\né😀 ]{0,30}",
            marks in prop::collection::vec((0_usize..60, 0_usize..60), 0..4),
        ) {
            let marks: Vec<_> = marks.into_iter().map(|(a, b)| (a..b, "here")).collect();
            let shown = diagnostic(&text, &marks).render(false);
            prop_assert!(shown.starts_with("error: no such tensor"));
        }
    }
}
