//! Text of strangers, made harmless for each format that it is written into. What nobody sees in it is shown by its number, so that
//! different names look different.

use diagnostic::visible;

/// For HTML: between tags, and in attributes with double quotes.
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// For a cell of a CSV file (RFC 4180). Spreadsheets take a cell that starts with one of `= + - @`, a tab or a line end for a
/// formula; a quote before it makes it text.
pub fn csv(text: &str) -> String {
    let text = visible(text);
    let formula = text
        .trim_start()
        .starts_with(['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'])
        || text.starts_with(['\t', '\n']);
    let text = if formula { format!("'{text}") } else { text };
    if text.contains([',', '"', '\n', ';', '\t', '\'']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// For a terminal: one line, without control sequences.
pub fn terminal(text: &str) -> String {
    visible(text).replace('\n', "\\u000a").replace('\t', "\\u0009")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_gets_harmless_text() {
        let name = "<img src=x onerror=alert(1)>\u{1b}[2J\u{202e}";
        assert_eq!(html(name), "&lt;img src=x onerror=alert(1)&gt;\\u001b[2J\\u202e");
        assert_eq!(csv("=cmd|' /C calc'!A0"), "\"'=cmd|' /C calc'!A0\"");
        assert_eq!(csv(" @SUM(A1)"), "\"' @SUM(A1)\"");
        assert_eq!(csv("\t=1"), "\"'\t=1\"");
        assert_eq!(csv("Ada, \"L\""), "\"Ada, \"\"L\"\"\"");
        assert_eq!(csv("ada"), "ada");
        assert_eq!(csv("\u{61c}=1\u{e0041}"), "\\u061c=1\\udb40\\udc41");
        assert_eq!(html("\u{61c}a\u{ad}da\u{e007f}"), "\\u061ca\\u00adda\\udb40\\udc7f");
        assert_eq!(terminal("a\u{1b}]0;x\u{7}\nb"), "a\\u001b]0;x\\u0007\\u000ab");
    }
}
