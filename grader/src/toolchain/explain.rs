//! The compiler's messages in the student's terms.

use super::compile::SourceFile;
use super::messages::{Level, Message};
use crate::diagnostic::{Diagnostic, Mark, Severity, Source};
use crate::failure::{Failure, FailureKind};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The texts that messages point into, read when needed.
pub struct Sources<'a> {
    folder: &'a Path,
    base: &'a Path,
    files: HashMap<PathBuf, SourceFile>,
}

impl<'a> Sources<'a> {
    /// Files are named relative to `folder` and shown relative to `base`.
    pub fn new(folder: &'a Path, base: &'a Path) -> Self {
        Self { folder, base, files: HashMap::new() }
    }

    /// Uses this text for a file instead of reading it.
    pub fn add(&mut self, file: &OsStr, source: &SourceFile) {
        self.files.insert(self.folder.join(file), source.clone());
    }
}

/// The failure of a file that does not compile.
pub fn failure(messages: &[Message], sources: &mut Sources<'_>) -> Failure {
    let diagnostics = messages
        .iter()
        .filter(|m| m.level == Level::Error)
        .map(|m| diagnostic(m, sources))
        .collect();
    Failure { kind: FailureKind::Kernel, diagnostics }
}

/// Warnings worth showing although the file compiles.
pub fn warnings(messages: &[Message], sources: &mut Sources<'_>) -> Vec<Diagnostic> {
    messages.iter().filter(|m| m.number == Some(174)).map(|m| diagnostic(m, sources)).collect()
}

fn diagnostic(message: &Message, sources: &mut Sources<'_>) -> Diagnostic {
    let source = sources.files.get(&sources.folder.join(&message.file)).map(|file| {
        let start = file
            .text
            .split_inclusive('\n')
            .take(message.line.saturating_sub(1) as usize)
            .map(str::len)
            .sum();
        Source {
            path: file.path.clone(),
            text: file.text.clone(),
            marks: vec![Mark { span: start..start, label: String::new() }],
        }
    });
    let severity = if message.level == Level::Error { Severity::Error } else { Severity::Warning };
    let _ = sources.base;
    Diagnostic { severity, title: message.text.clone(), source, help: Vec::new() }
}
