//! Looks for an nvcc on this machine.

use super::cache::{Cache, Key};
use super::env::{Env, is_program};
use super::wheels;
use crate::failure::{Failure, FailureKind};
use crate::process::{Limits, run};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The oldest nvcc that does: the first with `-std=c++17` for device code.
pub const OLDEST: Version = Version { major: 11, minor: 0, patch: 0 };

/// A compiler's version, as in "V13.0.88".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// CUDA's major version.
    pub major: u32,
    /// CUDA's minor version.
    pub minor: u32,
    /// The build.
    pub patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl Version {
    /// Reads the output of `nvcc --version`: "Cuda compilation tools, release 13.0, V13.0.88".
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once(", release ")?;
        let (_, rest) = rest.split_once(", V")?;
        let mut numbers = rest.split_whitespace().next()?.split('.').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Self { major: next()?, minor: next()?, patch: next()? })
    }
}

/// Who named an nvcc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `--nvcc`.
    Option,
    /// An environment variable: `NVCC`, `CUDA_HOME` or `CUDA_PATH`.
    Variable(&'static str),
    /// `PATH`.
    Path,
    /// A folder where CUDA is usually installed.
    UsualFolder,
    /// The grader's own copy, installed with pip.
    Wheels,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option => f.write_str("--nvcc"),
            Self::Variable(name) => f.write_str(name),
            Self::Path => f.write_str("PATH"),
            Self::UsualFolder => f.write_str("usual install folder"),
            Self::Wheels => f.write_str("installed by the grader"),
        }
    }
}

impl Origin {
    /// Named for this very purpose, so that anything wrong with it is an error rather than a reason to look further.
    fn is_explicit(self) -> bool {
        matches!(self, Self::Option | Self::Variable("NVCC"))
    }
}

/// An nvcc that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nvcc {
    /// The program.
    pub path: PathBuf,
    /// What it says of itself.
    pub version: Version,
    /// Who named it.
    pub origin: Origin,
}

/// An nvcc that was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The program.
    pub path: PathBuf,
    /// Who named it.
    pub origin: Origin,
    /// What is wrong with it.
    pub reason: String,
}

/// What a search gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// The first one that will do.
    pub nvcc: Option<Nvcc>,
    /// Those before it that will not.
    pub rejected: Vec<Rejected>,
}

/// Where to look.
#[derive(Clone, Debug)]
pub struct Finder<'a> {
    /// Variables.
    pub env: &'a Env,
    /// The value of `--nvcc`.
    pub explicit: Option<&'a Path>,
    /// `/`, but for tests.
    pub root: &'a Path,
    /// Remembers versions, so that a warm run starts no process.
    pub cache: &'a Cache,
}

impl Finder<'_> {
    /// Looks in order: `--nvcc`, `NVCC`, `CUDA_HOME`, `CUDA_PATH`, `PATH`, the usual folders, the grader's own copy.
    ///
    /// # Errors
    /// What `--nvcc` or `NVCC` names will not do.
    pub fn search(&self) -> Result<Search, Failure> {
        let mut rejected = Vec::new();
        for (path, origin) in self.candidates() {
            match self.inspect(&path) {
                Ok(version) => {
                    return Ok(Search { nvcc: Some(Nvcc { path, version, origin }), rejected });
                }
                Err(reason) if origin.is_explicit() => {
                    let title = format!("{origin} names {}, but {reason}", path.display());
                    let help = match origin {
                        Origin::Option => {
                            "give the path of nvcc itself, or leave --nvcc out to let the grader look"
                        }
                        _ => {
                            "set NVCC to the path of nvcc itself, or unset it to let the grader look"
                        }
                    };
                    return Err(Failure::new(FailureKind::Environment, title, help));
                }
                Err(reason) => rejected.push(Rejected { path, origin, reason }),
            }
        }
        Ok(Search { nvcc: None, rejected })
    }

    /// What may be an nvcc; those that nobody named explicitly exist.
    fn candidates(&self) -> Vec<(PathBuf, Origin)> {
        if let Some(path) = self.explicit {
            return vec![(path.to_owned(), Origin::Option)];
        }
        if let Some(name) = self.env.get("NVCC") {
            let found = name.to_str().and_then(|name| self.env.find_program(name));
            return vec![(found.unwrap_or_else(|| name.into()), Origin::Variable("NVCC"))];
        }
        let mut found = Vec::new();
        for name in ["CUDA_HOME", "CUDA_PATH"] {
            found.extend(
                self.env
                    .get(name)
                    .map(|home| (Path::new(home).join("bin/nvcc"), Origin::Variable(name))),
            );
        }
        found.extend(self.env.find_program("nvcc").map(|path| (path, Origin::Path)));
        found.extend(
            self.usual_folders().into_iter().map(|bin| (bin.join("nvcc"), Origin::UsualFolder)),
        );
        found
            .extend(self.env.cache_folder().map(|cache| (wheels::nvcc_in(&cache), Origin::Wheels)));
        found.retain(|(path, _)| path.exists());
        found
    }

    /// The folders of the installers of NVIDIA and the distributions, newest version first.
    fn usual_folders(&self) -> Vec<PathBuf> {
        let local = self.root.join("usr/local");
        let mut versions: Vec<(Vec<u32>, PathBuf)> = Vec::new();
        for entry in std::fs::read_dir(&local).into_iter().flatten().flatten() {
            if let Some(version) = entry.file_name().to_str().and_then(|n| n.strip_prefix("cuda-"))
            {
                versions.push((
                    version.split('.').filter_map(|n| n.parse().ok()).collect(),
                    entry.path().join("bin"),
                ));
            }
        }
        versions.sort_by(|a, b| b.cmp(a));
        let mut folders = vec![local.join("cuda/bin")];
        folders.extend(versions.into_iter().map(|(_, bin)| bin));
        let others = ["opt/cuda/bin", "usr/lib/cuda/bin", "usr/lib/nvidia-cuda-toolkit/bin"];
        folders.extend(others.map(|f| self.root.join(f)));
        folders
    }

    /// The version of a program that may be an nvcc, or what is wrong with it.
    fn inspect(&self, path: &Path) -> Result<Version, String> {
        if !path.exists() {
            return Err("there is no such file".into());
        }
        if !is_program(path) {
            return Err("it is no program that can be run".into());
        }
        let key = Key::of("nvcc version", [identity(path).as_slice()]);
        let known =
            self.cache.get(&key).and_then(|text| Version::parse(&String::from_utf8_lossy(&text)));
        let version = match known {
            Some(version) => version,
            None => self.ask(path, &key)?,
        };
        if version < OLDEST {
            return Err(format!(
                "it is version {version}; the oldest that does is {}.{}",
                OLDEST.major, OLDEST.minor
            ));
        }
        Ok(version)
    }

    fn ask(&self, path: &Path, key: &Key) -> Result<Version, String> {
        let mut command = self.env.command(path);
        command.arg("--version").env("LC_ALL", "C");
        let limits = Limits { timeout: Duration::from_secs(20), output: 10_000 };
        let done =
            run(command, Vec::new(), &limits).map_err(|e| format!("it cannot be started: {e}"))?;
        let version = Version::parse(&done.stdout_text()).filter(|_| done.success());
        let version = version.ok_or("it does not answer `--version` as nvcc does")?;
        // Without the memory the next run asks again.
        let _ = self.cache.put(key, &done.stdout);
        Ok(version)
    }
}

/// What tells one program from another without running it: the path, and the size and time of the file it leads to.
pub fn identity(program: &Path) -> Vec<u8> {
    let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    let mut identity = program.as_os_str().as_bytes().to_vec();
    identity.push(0);
    identity.extend(real.as_os_str().as_bytes());
    if let Ok(meta) = real.metadata() {
        for number in [meta.len() as i64, meta.mtime(), meta.mtime_nsec()] {
            identity.extend(number.to_le_bytes());
        }
    }
    identity
}
