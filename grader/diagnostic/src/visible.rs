//! Characters that nobody sees, in texts from somewhere else.

use std::fmt::Write;

/// A text from somewhere else, with numbers in the place of the characters that a terminal would obey and of those that make
/// different texts look alike: `\u001b`, in UTF-16 as in JSON. Line breaks and tabs stay; Unicode's own line breaks, at which some
/// programs that read a report split it, do not.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unseen(c) && c != '\n' && c != '\t' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // A string takes all that is written to it.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Control characters; what Unicode lets a program not show (`Default_Ignorable_Code_Point` in `DerivedCoreProperties.txt`), which
/// includes marks that turn text around; line breaks, marks of annotations, and blanks that are not the space.
fn is_unseen(c: char) -> bool {
    let ignorable = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}');
    let blank = matches!(
        c,
        '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{202f}'
                | '\u{205f}'
                | '\u{2800}'
                | '\u{3000}'
    );
    let no_text = matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}');
    c.is_control() || ignorable || blank || no_text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown_by_its_number() {
        assert_eq!(visible("é\t\n\u{1b}[2J\r\u{7f}\u{9b}"), "é\t\n\\u001b[2J\\u000d\\u007f\\u009b");
        assert_eq!(visible("\u{2028}\u{2029}\u{202e}\u{2066}"), "\\u2028\\u2029\\u202e\\u2066");
    }

    #[test]
    fn no_two_texts_look_alike_by_what_is_not_seen() {
        let hidden = [
            "",
            "\u{200b}",
            "\u{200d}",
            "\u{ad}",
            "\u{fe0f}",
            "\u{3164}",
            "\u{e0041}",
            "\u{feff}",
            "\u{a0}",
            " ",
        ];
        let mut shown: Vec<String> = hidden.iter().map(|c| visible(&format!("a{c}b"))).collect();
        assert!(
            shown.contains(&"a\\u200bb".to_owned())
                && shown.contains(&"a\\udb40\\udc41b".to_owned())
        );
        assert!(shown.iter().all(|text| text.is_ascii()), "{shown:?}");
        shown.sort();
        shown.dedup();
        assert_eq!(shown.len(), hidden.len());
        assert_eq!(visible("Ærøskøbing, 漢字, ∂y/∂x ≤ 1 ✔ 😀"), "Ærøskøbing, 漢字, ∂y/∂x ≤ 1 ✔ 😀");
    }
}
