//! The page: one file, with its style, its script and its data.

use crate::document::Document;

const FRAME: &str = include_str!("../assets/page.html");
const STYLE: &str = include_str!("../assets/style.css");
/// In the order of what they use: the recording, then the views, then the controls.
const SCRIPTS: [&str; 4] = [
    include_str!("../assets/recording.js"),
    include_str!("../assets/format.js"),
    include_str!("../assets/views.js"),
    include_str!("../assets/player.js"),
];

/// A page that needs no other file and no network.
pub fn page(document: &Document, title: &str) -> String {
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    FRAME
        .replace("{{title}}", &title)
        .replace("{{style}}", STYLE)
        .replace("{{script}}", &SCRIPTS.join("\n"))
        .replace("{{document}}", document.json())
}
