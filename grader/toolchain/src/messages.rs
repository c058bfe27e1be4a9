//! Reads what nvcc prints: the messages of its front end (`x.cu(3): error: ...`, then the source line and a caret),
//! of the host compiler's preprocessor (`x.cu:1:10: fatal error: ...`) and of its tools (`nvcc fatal   : ...`).

use serde::{Deserialize, Serialize};

/// One message of the compiler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Whether the file compiles in spite of it.
    pub level: Level,
    /// As printed; empty if the message names no file.
    pub file: String,
    /// 1-based; 0 if unknown.
    pub line: u32,
    /// 1-based byte of the line; 0 if unknown. Only the preprocessor says.
    pub column: u32,
    /// Number of a warning or note, as in `#174-D`.
    pub number: Option<u32>,
    /// What it says, on one line.
    pub text: String,
    /// The source line as printed (macros expanded, comments and tabs replaced by a blank), and the caret's place in it.
    pub shown: Option<SourceExcerpt>,
    /// True if it stands in code that was instantiated or included from elsewhere.
    pub from_elsewhere: bool,
    /// Notes that belong to it.
    pub notes: Vec<Message>,
}

impl Message {
    /// Is it about something that is missing when the text ends? Such a message names no file.
    pub fn at_end_of_source(&self) -> bool {
        self.file.is_empty() && self.shown.is_none() && self.text.starts_with("expected")
    }
}

/// A printed source line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceExcerpt {
    /// Without the two blanks that the compiler puts in front.
    pub line: String,
    /// 0-based character of `line` under which the caret stands; may be its length.
    pub caret: usize,
}

/// The severity of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Level {
    /// The file does not compile.
    #[default]
    Error,
    /// The file compiles, but probably does something else than it should.
    Warning,
    /// More to know about the message before.
    Note,
}

/// All messages in the order in which they were printed; notes go to the message that they follow.
pub fn parse(stderr: &str) -> Vec<Message> {
    let lines: Vec<&str> = stderr.lines().map(str::trim_end).collect();
    let mut messages: Vec<Message> = Vec::new();
    let mut included_from = false;
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        let Some((mut message, style)) = headline(line) else {
            included_from |= line.starts_with("In file included from");
            continue;
        };
        let body = &lines[at..];
        let body = &body[..body
            .iter()
            .position(|l| l.is_empty() || headline(l).is_some())
            .unwrap_or(body.len())];
        match style {
            Style::FrontEnd => read_front_end(&mut message, body),
            Style::Preprocessor => message.from_elsewhere = std::mem::take(&mut included_from),
            Style::Tool => {}
        }
        at += body.len();
        match messages.last_mut() {
            Some(last) if message.level == Level::Note => last.notes.push(message),
            _ => messages.push(message),
        }
    }
    messages
}

#[derive(Clone, Copy)]
enum Style {
    FrontEnd,
    Preprocessor,
    Tool,
}

/// The first line of a message.
fn headline(line: &str) -> Option<(Message, Style)> {
    let words = [
        (": error: ", Level::Error),
        (": fatal error: ", Level::Error),
        (": catastrophic error: ", Level::Error),
        (": internal error: ", Level::Error),
        (": warning: ", Level::Warning),
        (": note: ", Level::Note),
        (": error #", Level::Error),
        (": catastrophic error #", Level::Error),
        (": warning #", Level::Warning),
        (": note #", Level::Note),
    ];
    if line.starts_with(' ') {
        return None; // a source line
    }
    for tool in ["nvcc", "ptxas", "cicc"] {
        if let Some(rest) = line.strip_prefix(tool) {
            let (word, text) = rest.split_once(':')?;
            let level = match word.trim() {
                "fatal" | "error" => Level::Error,
                "warning" => Level::Warning,
                _ => return None,
            };
            return Some((
                Message { level, text: text.trim().to_owned(), ..Message::default() },
                Style::Tool,
            ));
        }
    }
    let (at, word, level) = words
        .iter()
        .filter_map(|&(word, level)| Some((line.find(word)?, word, level)))
        .min_by_key(|m| m.0)?;
    let (place, mut text) = (&line[..at], &line[at + word.len()..]);
    let mut number = None;
    if word.ends_with('#') {
        let (digits, rest) = text.split_once(':')?;
        number = digits.trim_end_matches("-D").parse().ok();
        text = rest.trim_start();
    }
    let message = Message { level, number, text: text.trim().to_owned(), ..Message::default() };
    if place == "At end of source" {
        return Some((message, Style::FrontEnd));
    }
    // `x.cu(3)` of the front end.
    if let Some((file, rest)) = place.rsplit_once('(')
        && let Some(line) = rest.strip_suffix(')').and_then(|n| n.parse().ok())
    {
        return Some((Message { file: file.to_owned(), line, ..message }, Style::FrontEnd));
    }
    // `x.cu:3:10` or `x.cu:3` of the preprocessor; `<command-line>` has no line.
    let mut parts = place.rsplitn(3, ':');
    let (last, middle, first) = (parts.next()?, parts.next(), parts.next());
    let placed = match (first, middle.and_then(|m| m.parse().ok()), last.parse().ok()) {
        (Some(file), Some(line), Some(column)) => {
            Message { file: file.to_owned(), line, column, ..message }
        }
        (None, _, Some(line)) if middle.is_some() => {
            Message { file: middle.unwrap_or_default().to_owned(), line, ..message }
        }
        _ => message,
    };
    Some((placed, Style::Preprocessor))
}

/// What stands below the headline: more text, the source line, the caret, and how the place was reached.
fn read_front_end(message: &mut Message, body: &[&str]) {
    let Some(caret) = body.iter().position(|l| l.trim() == "^") else { return };
    let Some(source) = caret.checked_sub(1) else { return };
    // Candidates in headers are many, and not the student's.
    for more in body[..source]
        .iter()
        .filter(|more| !more.contains("declared at line") || !more.contains(" of "))
    {
        message.text.push_str("; ");
        message.text.push_str(more.trim());
    }
    message.text.truncate(message.text.trim_end_matches(':').len());
    let column = body[caret].chars().count() - 1;
    message.shown = Some(SourceExcerpt {
        line: body[source].strip_prefix("  ").unwrap_or(body[source]).to_owned(),
        caret: column.saturating_sub(2),
    });
    message.from_elsewhere =
        body[caret + 1..].iter().any(|l| l.contains("instantiation of") || l.contains("detected"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_the_front_end_has_its_line_and_caret() {
        let text = "a b.cu(4): error: identifier \"ix\" is undefined\n      x[ix] = 1;\n        ^\n\n\
                    1 error detected in the compilation of \"a b.cu\".\n";
        let messages = parse(text);
        assert_eq!(messages.len(), 1);
        assert_eq!((messages[0].file.as_str(), messages[0].line), ("a b.cu", 4));
        assert_eq!(messages[0].text, "identifier \"ix\" is undefined");
        assert_eq!(
            messages[0].shown,
            Some(SourceExcerpt { line: "    x[ix] = 1;".into(), caret: 6 })
        );
    }

    #[test]
    fn notes_and_further_lines_join_their_message() {
        let text = "k.cu(8): error: no instance of overloaded function \"f\" matches the argument list\n\
                    \x20           argument types are: (P, float *)\n      f(p, o);\n      ^\n\
                    k.cu(3): note #3326-D: function \"f(int)\" does not match\n  float f(int);\n        ^\n\n";
        let messages = parse(text);
        assert_eq!(messages.len(), 1);
        assert!(messages[0].text.ends_with("list; argument types are: (P, float *)"));
        assert_eq!((messages[0].notes.len(), messages[0].notes[0].number), (1, Some(3326)));
    }

    #[test]
    fn candidates_in_headers_are_left_out() {
        let text = "k.cu(5): error: more than one conversion function from \"__half\" to a built-in type applies:\n\
                    \x20           function \"__half::operator float() const\" (declared at line 138 of /a/cuda_fp16.hpp)\n\
                    \x20           function \"__half::operator short() const\" (declared at line 164 of /a/cuda_fp16.hpp)\n\
                    \x20   y[i] += a * b;\n              ^\n\n";
        let message = &parse(text)[0];
        assert!(message.text.ends_with("to a built-in type applies"), "{}", message.text);
        assert!(
            crate::rules::help(&message.text, "").is_some_and(|help| help.contains("__half2float"))
        );
    }

    #[test]
    fn preprocessor_and_tools_are_understood() {
        let text = "In file included from k.cu:2:\ninc/a.h:1:10: fatal error: b.h: No such file or directory\n\
                    \x20   1 | #include \"b.h\"\n      |          ^~~~~\ncompilation terminated.\n\
                    k.cu:2: error: unterminated #if\nnvcc fatal   : Could not open output file '/x'\n\
                    ptxas warning : Stack size\n";
        let found: Vec<_> = parse(text)
            .into_iter()
            .map(|m| (m.level, m.file, m.line, m.column, m.from_elsewhere))
            .collect();
        let message = |level, file: &str, line, column, elsewhere| {
            (level, file.to_owned(), line, column, elsewhere)
        };
        assert_eq!(
            found,
            [
                message(Level::Error, "inc/a.h", 1, 10, true),
                message(Level::Error, "k.cu", 2, 0, false),
                message(Level::Error, "", 0, 0, false),
                message(Level::Warning, "", 0, 0, false),
            ]
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "(x\\.cu|[ :()0-9a-z^#\"-]|: error: |: note #|-D: |\n| *\\^\n|nvcc fatal)*") {
            parse(&text);
        }
    }
}
