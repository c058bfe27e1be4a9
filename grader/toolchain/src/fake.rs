//! A stand-in for nvcc: a shell script.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Writes `folder/nvcc`. It answers `--version` as nvcc `version` does, and else runs `body`, with the source in `$src`
/// and the file that `-o` names in `$out`. Every call leaves a line in `folder/calls`: `version` or the source's name.
pub fn nvcc(folder: &Path, version: &str, body: &str) -> PathBuf {
    let script = format!(
        "#!/bin/sh\n\
         for a; do\n  [ \"$last\" = -o ] && out=$a\n  case $a in *.cu|*.ptx) [ \"$last\" = -o ] || src=$a;; esac\n  last=$a\ndone\n\
         if [ \"$1\" = --version ]; then\n  echo version >> {calls}\n\
         echo 'Cuda compilation tools, release {version}, V{version}.88'\n  exit\nfi\n\
         echo \"$src\" >> {calls}\n{body}\n",
        calls = folder.join("calls").display()
    );
    program(&folder.join("nvcc"), &script)
}

/// Writes an executable file, and its folder.
pub fn program(path: &Path, text: &str) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    path.to_owned()
}

/// The calls so far.
pub fn calls(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("calls")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
