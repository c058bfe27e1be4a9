//! The environment variables that the toolchain looks at, as a value, so that tests can make their own.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A set of environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Env {
    vars: BTreeMap<OsString, OsString>,
}

impl Env {
    /// The variables of this process.
    pub fn current() -> Self {
        Self { vars: std::env::vars_os().collect() }
    }

    /// A variable; an empty one counts as unset.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str).filter(|v| !v.is_empty())
    }

    /// The same set with one more variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.vars.insert(name.into(), value.into());
        self
    }

    /// A command that sees these variables and no others.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.vars);
        command
    }

    /// The folders that a variable such as `PATH` lists.
    pub fn folders(&self, name: &str) -> Vec<PathBuf> {
        self.get(name).map(|list| std::env::split_paths(list).collect()).unwrap_or_default()
    }

    /// The first executable of this name in `PATH`. A name with a slash is taken as a path.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            return is_program(Path::new(name)).then(|| name.into());
        }
        let folders = self.folders("PATH");
        folders.iter().filter(|f| f.is_absolute()).map(|f| f.join(name)).find(|p| is_program(p))
    }

    /// The C++ compiler that nvcc uses for host code.
    pub(crate) fn host_compiler(&self) -> Option<PathBuf> {
        self.find_program(self.get("NVCC_CCBIN").and_then(OsStr::to_str).unwrap_or("gcc"))
    }

    /// The folders that the host compiler searches for headers because of variables.
    pub(crate) fn host_include_folders(&self) -> Vec<PathBuf> {
        ["CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH"].map(|name| self.folders(name)).concat()
    }

    /// Where the grader keeps its compiler and its compiled kernels: `GRADER_CACHE`, else
    /// `XDG_CACHE_HOME/gradient-puzzles`, else `~/.cache/gradient-puzzles`. `None` without any of the three.
    pub fn cache_folder(&self) -> Option<PathBuf> {
        if let Some(folder) = self.get("GRADER_CACHE") {
            return std::path::absolute(folder).ok();
        }
        let absolute = |name| self.get(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let base = absolute("XDG_CACHE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
        Some(base.join("gradient-puzzles"))
    }
}

/// A file that may be executed.
pub fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_folder_follows_the_variables_in_order() {
        let home = Env::default().with("HOME", "/h");
        assert_eq!(home.cache_folder(), Some("/h/.cache/gradient-puzzles".into()));
        let xdg = home.with("XDG_CACHE_HOME", "/x");
        assert_eq!(xdg.cache_folder(), Some("/x/gradient-puzzles".into()));
        let relative = xdg.clone().with("XDG_CACHE_HOME", "x");
        assert_eq!(relative.cache_folder(), Some("/h/.cache/gradient-puzzles".into()));
        assert_eq!(xdg.with("GRADER_CACHE", "/g").cache_folder(), Some("/g".into()));
        assert_eq!(Env::default().with("HOME", "").cache_folder(), None);
    }

    #[test]
    fn programs_are_found_in_path_order_and_only_if_executable() {
        let dir = tempfile::tempdir().unwrap();
        let make = |folder: &str, mode| {
            let folder = dir.path().join(folder);
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("tool"), "").unwrap();
            std::fs::set_permissions(folder.join("tool"), PermissionsExt::from_mode(mode)).unwrap();
            folder
        };
        let folders = [make("a", 0o644), make("b", 0o755), make("c", 0o755)];
        let env = Env::default().with("PATH", std::env::join_paths(&folders).unwrap());
        assert_eq!(env.find_program("tool"), Some(folders[1].join("tool")));
        assert_eq!(env.find_program("other"), None);
    }
}
