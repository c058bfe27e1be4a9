//! Text of strangers, made harmless for each format that it is written into.

/// For HTML: between tags, and in attributes with double quotes. Control characters, which could hide text, become a mark.
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if is_hidden(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// For a cell of a CSV file (RFC 4180). Spreadsheets take a cell that starts with one of `= + - @`, a tab or a line end for a
/// formula; a quote before it makes it text.
pub fn csv(text: &str) -> String {
    let text: String = text.chars().map(|c| if is_hidden(c) { ' ' } else { c }).collect();
    let formula = text
        .trim_start()
        .starts_with(['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'])
        || text.starts_with(['\t', '\r', '\n']);
    let text = if formula { format!("'{text}") } else { text };
    if text.contains([',', '"', '\n', '\r', ';', '\t', '\'']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// For a terminal: one line, without control sequences.
pub fn terminal(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) || c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Characters that are not seen, or that change the order in which others are shown.
fn is_hidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_gets_harmless_text() {
        let name = "<img src=x onerror=alert(1)>\u{1b}[2J\u{202e}";
        assert_eq!(html(name), "&lt;img src=x onerror=alert(1)&gt;\u{fffd}[2J\u{fffd}");
        assert_eq!(csv("=cmd|' /C calc'!A0"), "\"'=cmd|' /C calc'!A0\"");
        assert_eq!(csv(" @SUM(A1)"), "\"' @SUM(A1)\"");
        assert_eq!(csv("\t=1"), "\"'\t=1\"");
        assert_eq!(csv("Ada, \"L\""), "\"Ada, \"\"L\"\"\"");
        assert_eq!(csv("ada"), "ada");
        assert_eq!(csv("\u{61c}=1\u{e0041}"), "\"' =1 \"");
        assert_eq!(html("\u{61c}a\u{ad}da\u{e007f}"), "\u{fffd}a\u{fffd}da\u{fffd}");
        assert_eq!(terminal("a\u{1b}]0;x\u{7}\nb"), "a\u{fffd}]0;x\u{fffd}\u{fffd}b");
    }
}
