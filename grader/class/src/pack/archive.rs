//! A zip file that appears whole or not at all.

use diagnostic::{Failure, FailureKind};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

pub(super) struct Archive {
    zip: ZipWriter<NamedTempFile>,
    to: PathBuf,
}

impl Archive {
    pub(super) fn create(to: &Path) -> Result<Self, Failure> {
        let folder = to.parent().filter(|dir| !dir.as_os_str().is_empty());
        let file = tempfile::Builder::new()
            .prefix(".new-")
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
            .tempfile_in(folder.unwrap_or(Path::new(".")))
            .map_err(|e| unwritable(to, &e))?;
        Ok(Self { zip: ZipWriter::new(file), to: to.to_owned() })
    }

    /// Adds a file. Times are left out, so that equal contents make equal packages.
    pub(super) fn add(&mut self, name: &str, bytes: &[u8], program: bool) -> Result<(), Failure> {
        let mode = if program { 0o755 } else { 0o644 };
        let options = SimpleFileOptions::default().unix_permissions(mode);
        let start = self.zip.start_file(name, options).map_err(io::Error::from);
        start.and_then(|()| self.zip.write_all(bytes)).map_err(|e| unwritable(&self.to, &e))
    }

    pub(super) fn finish(self) -> Result<(), Failure> {
        let file = self.zip.finish().map_err(io::Error::from);
        let kept = file.and_then(|file| file.persist(&self.to).map_err(|e| e.error));
        kept.map(drop).map_err(|e| unwritable(&self.to, &e))
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let title = format!("cannot write {}: {error}", path.display());
    Failure::new(FailureKind::Environment, title, "name another file with --out")
}
