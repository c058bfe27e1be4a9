//! The folder in which a compiler works on one file. nvcc hands the names of files to a shell, so none that a user chose reaches a
//! command line: the source is a copy under a name of the grader's own, and folders are links.
//!
//! The copy holds the bytes that were hashed for the cache, whatever becomes of the file meanwhile. It begins with a `#line`, which
//! gives it a name for messages, line information and `__FILE__`.

use crate::file_names::{FileNames, INCLUDED, OWN, SOURCE};
use crate::front_end::Job;
use crate::messages::Message;
use crate::ptx::rename_files;
use crate::supplied_headers;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// The copy, in a folder of its own: what stands in quotes in an `#include` is looked for there first.
const PATH: &str = "source";

/// A compiler's folder with the copy of a source.
#[derive(Clone, Debug)]
pub struct Stage<'a> {
    folder: &'a Path,
    names: FileNames,
}

impl<'a> Stage<'a> {
    /// Puts the source of a job, and links to the folders that it may include from, into a folder.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn new(job: &Job<'_>, folder: &'a Path) -> io::Result<Self> {
        let names =
            FileNames::new(job.folder, job.file, job.include_dirs).of_program_in(job.program);
        let text = job.text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(job.text);
        let line = format!("#line 1 \"{}\"\n", names.alias());
        fs::create_dir(folder.join(PATH))?;
        fs::write(folder.join(PATH).join(SOURCE), [line.as_bytes(), text].concat())?;
        symlink(job.folder, folder.join(OWN))?;
        for (i, include) in job.include_dirs.iter().enumerate() {
            symlink(include, folder.join(format!("{INCLUDED}{i}")))?;
        }
        if job.supplied {
            supplied_headers::write(folder)?;
        }
        Ok(Self { folder, names })
    }

    /// The compiler's folder.
    pub fn folder(&self) -> &'a Path {
        self.folder
    }

    /// The name that the `#line` gives to the source.
    pub fn alias(&self) -> &str {
        self.names.alias()
    }

    /// The copy, as the compiler is told of it.
    pub fn source() -> OsString {
        format!("{PATH}/{SOURCE}").into()
    }

    /// The options with which the compiler finds headers beside the source, and in the include folders.
    pub fn options(&self) -> Vec<OsString> {
        let own = ["-iquote", OWN].map(|word| format!("-Xcompiler={word}").into());
        let included = 0..self.names.include_dirs().len();
        let included = included.flat_map(|i| ["-I".into(), format!("{INCLUDED}{i}").into()]);
        own.into_iter().chain(included).collect()
    }

    /// Names the files of messages as they are outside.
    pub fn restore(&self, mut messages: Vec<Message>) -> Vec<Message> {
        for message in &mut messages {
            if !message.file.is_empty() {
                message.file = self.names.restore(&message.file).to_string_lossy().into_owned();
            }
            message.notes = self.restore(std::mem::take(&mut message.notes));
        }
        messages
    }

    /// Names the files of PTX as they are outside; the source, beside itself, by its alias, which PTX can hold.
    pub fn restore_ptx(&self, ptx: &str) -> String {
        rename_files(ptx, |name| self.names.restore_to_alias(name).display().to_string())
    }
}
