//! The frame of the pages. They are self-contained, run no scripts, and forbid them too: a name that slipped through the escaping
//! could do nothing.

use super::escape::html;

/// A page with a title and a body, which is HTML.
pub(super) fn page(title: &str, body: &str) -> String {
    let style = include_str!("page.css");
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>\n{style}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        html(title)
    )
}

/// A word in the colour of what it says.
pub(super) fn tag(status: &str) -> String {
    let class = match status {
        "passed" => "good",
        "failed" | "does not compile" | "time limit" => "bad",
        _ => "warn",
    };
    format!("<span class=\"tag {class}\">{}</span>", html(status))
}
