//! Colours and characters that the stream can show. The only file that knows `colored`.

use colored::{Colorize, control};
use std::io::IsTerminal;

/// What a stream can show, decided for each stream by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether colours are shown, by escape codes.
    pub colour: bool,
    /// Characters beyond ASCII may be used.
    pub unicode: bool,
}

/// What a piece of text is, not how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// What passed or is correct.
    Good,
    /// What failed or is wrong.
    Bad,
    /// Half-way: small errors, hints.
    Warn,
    /// What was never written or is NaN.
    Odd,
    /// Titles and the words that matter most.
    Strong,
    /// Words that matter less.
    Faint,
}

impl Style {
    /// Neither colours nor characters beyond ASCII.
    pub const PLAIN: Self = Self { colour: false, unicode: false };

    /// What `stream` can show, as the environment tells: `NO_COLOR`, `CLICOLOR_FORCE`, `CLICOLOR`, `TERM` and the locale.
    pub fn detect(stream: &impl IsTerminal) -> Self {
        Self::decide(stream.is_terminal(), |name| std::env::var(name).ok())
    }

    fn decide(terminal: bool, variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let dumb = set("TERM").as_deref() == Some("dumb");
        let forced = set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        let refused = set("NO_COLOR").is_some();
        let unwanted = dumb || set("CLICOLOR").as_deref() == Some("0");
        // POSIX: the first of these that is set decides the character type.
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
        let locale = locale.to_ascii_lowercase();
        Self {
            colour: !refused && (forced || (terminal && !unwanted)),
            unicode: !dumb && (locale.contains("utf-8") || locale.contains("utf8")),
        }
    }

    /// `text` in the colour of `tone`.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        // `colored` has one switch for the whole process, decided from stdout. This stream has decided for itself.
        control::set_override(true);
        let painted = match tone {
            Tone::Good => text.green(),
            Tone::Bad => text.red(),
            Tone::Warn => text.yellow(),
            Tone::Odd => text.magenta(),
            Tone::Strong => text.bold(),
            Tone::Faint => text.dimmed(),
        };
        painted.to_string()
    }

    /// `unicode` where it can be shown, else `ascii`.
    pub fn either<T>(self, unicode: T, ascii: T) -> T {
        if self.unicode { unicode } else { ascii }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(terminal: bool, variables: &[(&str, &str)]) -> Style {
        Style::decide(terminal, |name| {
            variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn colour_needs_a_terminal_or_force_and_no_refusal() {
        assert!(decide(true, &[]).colour);
        assert!(!decide(false, &[]).colour);
        assert!(decide(false, &[("CLICOLOR_FORCE", "1")]).colour);
        assert!(!decide(false, &[("CLICOLOR_FORCE", "0")]).colour);
        assert!(!decide(true, &[("NO_COLOR", "1")]).colour);
        assert!(decide(true, &[("NO_COLOR", "")]).colour);
        assert!(!decide(true, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]).colour);
        assert!(!decide(true, &[("CLICOLOR", "0")]).colour);
        assert!(!decide(true, &[("TERM", "dumb")]).colour);
    }

    #[test]
    fn unicode_needs_a_locale_that_has_it() {
        assert!(!decide(true, &[]).unicode);
        assert!(decide(false, &[("LANG", "en_GB.UTF-8")]).unicode);
        assert!(decide(true, &[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")]).unicode);
        assert!(!decide(true, &[("LC_ALL", "C"), ("LANG", "en_GB.UTF-8")]).unicode);
        assert!(!decide(true, &[("LANG", "C.UTF-8"), ("TERM", "dumb")]).unicode);
    }

    #[test]
    fn paints_only_in_colour() {
        let colour = Style { colour: true, unicode: false };
        assert_eq!(colour.paint(Tone::Bad, "no"), "\u{1b}[31mno\u{1b}[0m");
        assert_eq!(Style::PLAIN.paint(Tone::Bad, "no"), "no");
    }
}
