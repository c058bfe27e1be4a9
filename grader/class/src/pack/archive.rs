//! A zip file that appears whole or not at all.

use diagnostic::{Failure, FailureKind};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::{CompressionMethod, ZipArchiveWriter};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

pub(super) struct Archive {
    zip: ZipArchiveWriter<NamedTempFile>,
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
        Ok(Self { zip: ZipArchiveWriter::new(file), to: to.to_owned() })
    }

    /// Adds a file. Times are left out, so that equal contents make equal packages.
    pub(super) fn add(&mut self, name: &str, bytes: &[u8], program: bool) -> Result<(), Failure> {
        let mode = if program { 0o755 } else { 0o644 };
        self.compress(name, bytes, mode).map_err(|e| unwritable(&self.to, &e))
    }

    fn compress(&mut self, name: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
        let file = self.zip.new_file(name).compression_method(CompressionMethod::DEFLATE);
        let (mut entry, config) = file.unix_permissions(mode).start().map_err(io::Error::other)?;
        let mut data = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
        data.write_all(bytes)?;
        let (encoder, checksum) = data.finish().map_err(io::Error::other)?;
        encoder.finish()?;
        entry.finish(checksum).map(drop).map_err(io::Error::other)
    }

    pub(super) fn finish(self) -> Result<(), Failure> {
        let file = self.zip.finish().map_err(io::Error::other);
        let kept = file.and_then(|file| file.persist(&self.to).map_err(|e| e.error));
        kept.map(drop).map_err(|e| unwritable(&self.to, &e))
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let title = format!("cannot write {}: {error}", path.display());
    Failure::new(FailureKind::Environment, title, "name another file with --out")
}
