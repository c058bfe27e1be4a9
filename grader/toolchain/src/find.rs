//! Looks for an nvcc on this machine.

use super::cache::{Cache, Key};
use super::env::{Env, is_program};
use super::wheels;
use crate::process::{Limits, run};
use diagnostic::{Failure, FailureKind};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The oldest supported nvcc: the first with `-std=c++17` for device code.
pub const OLDEST: Version = Version { major: 11, minor: 0, patch: 0 };

/// A compiler's version, as in "V13.0.88".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The major version of CUDA: 13 of 13.0.88.
    pub major: u32,
    /// The minor version of CUDA: 0 of 13.0.88.
    pub minor: u32,
    /// The build number: 88 of 13.0.88.
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

/// Where the path of an nvcc came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The option `--nvcc` of the command line.
    Option,
    /// An environment variable: `NVCC`, `CUDA_HOME` or `CUDA_PATH`.
    Variable(&'static str),
    /// A folder in the variable `PATH`.
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

/// An nvcc that runs and whose version is supported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nvcc {
    /// The path of the executable.
    pub path: PathBuf,
    /// The version that `nvcc --version` prints.
    pub version: Version,
    /// Where its path came from.
    pub origin: Origin,
}

/// An nvcc that was found and cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusableNvcc {
    /// The path of the executable.
    pub path: PathBuf,
    /// Where its path came from.
    pub origin: Origin,
    /// What is wrong with it.
    pub reason: String,
}

/// The result of a search for nvcc.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// The first usable one in the order of the search.
    pub nvcc: Option<Nvcc>,
    /// Those before it that cannot be used.
    pub unusable: Vec<UnusableNvcc>,
}

/// Where nvcc is searched.
#[derive(Clone, Debug)]
pub struct Finder<'a> {
    /// The environment variables, which name compilers and folders.
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
        let mut unusable = Vec::new();
        for (path, origin) in self.candidates() {
            match self.inspect(&path) {
                Ok(version) => {
                    return Ok(Search { nvcc: Some(Nvcc { path, version, origin }), unusable });
                }
                Err(reason) if origin.is_explicit() => {
                    let title = format!("{origin} names {}, but {reason}", path.display());
                    let help = match origin {
                        Origin::Option => {
                            "give the path of nvcc itself, or omit --nvcc to let the grader search"
                        }
                        _ => {
                            "set NVCC to the path of nvcc itself, or unset it to let the grader search"
                        }
                    };
                    return Err(Failure::new(FailureKind::Environment, title, help));
                }
                Err(reason) => unusable.push(UnusableNvcc { path, origin, reason }),
            }
        }
        Ok(Search { nvcc: None, unusable })
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
            return Err("it is not an executable program".into());
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
                "it is version {version}; the oldest supported version is {}.{}",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{calls, nvcc, program};
    use std::fs;

    /// A machine in a folder: its root, its cache, and `PATH` with the system's shell only.
    struct Machine {
        dir: tempfile::TempDir,
        env: Env,
        cache: Cache,
    }

    impl Machine {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path();
            let path = std::env::join_paths([root.join("bin"), "/bin".into()]).unwrap();
            let env = Env::default().with("PATH", path).with("GRADER_CACHE", root.join("cache"));
            let cache = Cache::new(root.join("cache/compiled"));
            Self { dir, env, cache }
        }

        fn folder(&self, name: &str) -> PathBuf {
            let folder = self.dir.path().join(name);
            fs::create_dir_all(&folder).unwrap();
            folder
        }

        fn nvcc(&self, folder: &str, version: &str) -> PathBuf {
            nvcc(&self.folder(folder), version, "exit 1")
        }

        fn set(&mut self, name: &str, value: &Path) {
            self.env = self.env.clone().with(name, value);
        }

        fn search(&self, explicit: Option<&Path>) -> Result<Search, Failure> {
            let root = self.dir.path();
            Finder { env: &self.env, explicit, root, cache: &self.cache }.search()
        }

        fn found(&self) -> Option<(PathBuf, Origin)> {
            self.search(None).unwrap().nvcc.map(|nvcc| (nvcc.path, nvcc.origin))
        }
    }

    #[test]
    fn places_are_searched_in_their_order() {
        let mut machine = Machine::new();
        assert_eq!(machine.found(), None);
        let wheels = machine.nvcc("cache/nvcc-13.0.88/nvidia/cu13/bin", "13.0");
        assert_eq!(machine.found(), Some((wheels, Origin::Wheels)));
        let folder = machine.nvcc("opt/cuda/bin", "13.0");
        assert_eq!(machine.found(), Some((folder, Origin::UsualFolder)));
        let older = machine.nvcc("usr/local/cuda-12.4/bin", "12.4");
        assert_eq!(machine.found(), Some((older, Origin::UsualFolder)));
        let newer = machine.nvcc("usr/local/cuda-12.10/bin", "12.10");
        assert_eq!(machine.found(), Some((newer, Origin::UsualFolder)));
        let path = machine.nvcc("bin", "12.0");
        assert_eq!(machine.found(), Some((path, Origin::Path)));
        for name in ["CUDA_PATH", "CUDA_HOME", "NVCC"] {
            let program = machine.nvcc(&format!("{name}/bin"), "12.0");
            let value = if name == "NVCC" { program.clone() } else { machine.folder(name) };
            machine.set(name, &value);
            assert_eq!(machine.found(), Some((program, Origin::Variable(name))));
        }
        let explicit = machine.nvcc("explicit", "12.0");
        let nvcc = machine.search(Some(&explicit)).unwrap().nvcc.unwrap();
        assert_eq!((nvcc.path, nvcc.origin), (explicit, Origin::Option));
        assert_eq!(nvcc.version, Version { major: 12, minor: 0, patch: 88 });
    }

    #[test]
    fn nvcc_may_be_named_as_a_program_of_path() {
        let mut machine = Machine::new();
        let path = machine.nvcc("bin", "12.0");
        machine.set("NVCC", Path::new("nvcc"));
        assert_eq!(machine.found(), Some((path, Origin::Variable("NVCC"))));
    }

    #[test]
    fn what_is_named_explicitly_must_be_an_nvcc() {
        let mut machine = Machine::new();
        machine.nvcc("bin", "13.0"); // never fallen back to
        let other = program(&machine.dir.path().join("other"), "#!/bin/sh\necho gcc 12\n");
        let text = machine.dir.path().join("text");
        fs::write(&text, "no program").unwrap();
        let old = machine.nvcc("old", "10.2");
        for (path, says) in [
            (machine.dir.path().join("nothing"), "no such file"),
            (text, "not an executable"),
            (other, "does not answer"),
            (old, "10.2.88; the oldest supported version is 11.0"),
        ] {
            let failure = machine.search(Some(&path)).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Environment);
            let title = &failure.diagnostics[0].title;
            assert!(title.starts_with("--nvcc names") && title.contains(says), "{title}");
            machine.set("NVCC", &path);
            let title = &machine.search(None).unwrap_err().diagnostics[0].title;
            assert!(title.starts_with("NVCC names") && title.contains(says), "{title}");
        }
    }

    #[test]
    fn what_will_not_do_is_passed_over_with_its_reason() {
        let mut machine = Machine::new();
        let old = machine.nvcc("bin", "10.1");
        let home = machine.folder("runtime-only");
        machine.set("CUDA_HOME", &home); // without nvcc: nothing to reject
        let good = machine.nvcc("usr/local/cuda/bin", "12.4");
        let search = machine.search(None).unwrap();
        assert_eq!(search.nvcc.unwrap().path, good);
        assert_eq!(search.unusable.len(), 1);
        assert_eq!(search.unusable[0].path, old);
        assert!(search.unusable[0].reason.contains("version 10.1.88"));
    }

    #[test]
    fn a_version_is_asked_for_once_until_the_program_changes() {
        let machine = Machine::new();
        machine.nvcc("bin", "12.0");
        let bin = machine.folder("bin");
        for _ in 0..3 {
            assert!(machine.found().is_some());
        }
        assert_eq!(calls(&bin), ["version"]);
        machine.nvcc("bin", "12.66");
        let nvcc = machine.search(None).unwrap().nvcc.unwrap();
        assert_eq!(nvcc.version.minor, 66);
        assert_eq!(calls(&bin), ["version", "version"]);
    }

    #[test]
    fn versions_are_read_from_what_nvcc_prints() {
        let text = "nvcc: NVIDIA (R) Cuda compiler driver\nCopyright (c) 2005-2022 NVIDIA Corporation\n\
                    Built on Wed_Sep_21_10:33:58_PDT_2022\nCuda compilation tools, release 11.8, V11.8.89\n\
                    Build cuda_11.8.r11.8/compiler.31833905_0\n";
        let version = Version { major: 11, minor: 8, patch: 89 };
        assert_eq!(Version::parse(text), Some(version));
        assert_eq!(version.to_string(), "11.8.89");
        for bad in [
            "",
            "gcc (Debian) 12.2.0",
            ", release 13.0",
            ", release 13.0, V13",
            ", release a, Va.b.c",
        ] {
            assert_eq!(Version::parse(bad), None, "{bad}");
        }
    }
}
