//! Examines everything that the grader needs on a machine.

use super::check::{Check, State};
use cudart::device::Properties;
use diagnostic::Failure;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;
use toolchain::cache::Cache;
use toolchain::confinement;
use toolchain::env::Env;
use toolchain::find::{Nvcc, UnusableNvcc};
use toolchain::process::{Limits, run};
use toolchain::wheels::{self, folder_size};
use toolchain::{Headers, Request, Toolchain, VirtualArch};

/// The lowest CUDA version of a driver that loads machine code of CUDA 13 (CUDA Compatibility guide: a driver loads
/// code of its own major version and of older ones), as [`Properties::driver_version`] counts.
const DRIVER_FOR_CUDA: u32 = 1000;

/// Examines the machine without installing anything. `gpu` is the GPU that the driver reports, or the reason why there
/// is none.
pub fn examine(
    env: &Env,
    explicit: Option<&Path>,
    gpu: Result<&Properties, &Failure>,
) -> Vec<Check> {
    let found = Toolchain::find(env, explicit);
    let nvcc = found.as_ref().ok().and_then(|(toolchain, _)| Some(toolchain.as_ref()?.nvcc()));
    let mut checks = vec![compiler(&found), pip(env, nvcc), host_compiler(env)];
    checks.extend(nvcc.map(|nvcc| trial(nvcc, env)));
    checks.push(self::gpu(gpu, nvcc));
    checks.push(cache(env));
    checks.push(isolation(confinement::landlock()));
    checks
}

/// Whether the grader can work.
pub fn healthy(checks: &[Check]) -> bool {
    checks.iter().all(|check| check.state != State::Missing)
}

fn good(name: &'static str, found: String) -> Check {
    Check { name, state: State::Good, found, help: String::new() }
}

fn missing(name: &'static str, failure: &Failure) -> Check {
    let first = failure.diagnostics.first();
    let found = first.map_or_else(|| "does not work".to_owned(), |d| d.title.clone());
    let help = first.map(|d| d.help.join("; ")).unwrap_or_default();
    Check { name, state: State::Missing, found, help }
}

fn compiler(found: &Result<(Option<Toolchain>, Vec<UnusableNvcc>), Failure>) -> Check {
    let name = "compiler";
    let (toolchain, rejected) = match found {
        Ok(found) => found,
        Err(failure) => return missing(name, failure),
    };
    let passed_over = |r: &UnusableNvcc| format!("skipped {}: {}", r.path.display(), r.reason);
    let help: Vec<String> = rejected.iter().map(passed_over).collect();
    let (state, found) = match toolchain {
        Some(toolchain) => {
            let nvcc = toolchain.nvcc();
            let found =
                format!("{}, {} ({})", toolchain.describe(), nvcc.path.display(), nvcc.origin);
            (State::Good, found)
        }
        None => {
            (State::Optional, format!("none yet; the first run installs one ({})", wheels::price()))
        }
    };
    Check { name, state, found, help: help.join("; ") }
}

/// Checks for pip, which installs the compiler if there is none.
fn pip(env: &Env, nvcc: Option<&Nvcc>) -> Check {
    let name = "pip";
    match wheels::installer(env) {
        Ok(python) => good(name, format!("{} -m pip", python.display())),
        Err(_) if nvcc.is_some() => Check {
            name,
            state: State::Optional,
            found: "none".into(),
            help: "not needed: there is a compiler".into(),
        },
        Err(failure) => missing(name, &failure),
    }
}

/// Checks for gcc, which nvcc calls to preprocess.
fn host_compiler(env: &Env) -> Check {
    let name = "host compiler";
    let named = env.get("NVCC_CCBIN").and_then(OsStr::to_str);
    let program = named.unwrap_or("gcc");
    let found = env.find_program(program);
    let Some(path) = found else {
        return Check {
            name,
            state: State::Missing,
            found: format!("there is no {program} in PATH"),
            help: "install one: `sudo apt install g++` (Debian, Ubuntu), `sudo dnf install gcc-c++` (Fedora)".into(),
        };
    };
    let mut command = env.command(&path);
    command.arg("--version").env("LC_ALL", "C");
    let limits = Limits { timeout: Duration::from_secs(10), output: 10_000 };
    let text = run(command, Vec::new(), &limits).map(|done| done.stdout_text()).unwrap_or_default();
    let version = text.lines().next().unwrap_or("it does not report its version").to_owned();
    good(name, format!("{version}, {}", path.display()))
}

/// Compiles a kernel, bypassing the cache, to find problems that appear only during compilation.
fn trial(nvcc: &Nvcc, env: &Env) -> Check {
    let compile = || -> Result<Duration, Failure> {
        let trouble = |e: std::io::Error| {
            let title = format!("cannot write a temporary file: {e}");
            Failure::new(
                diagnostic::FailureKind::Environment,
                title,
                "free some space, or set TMPDIR to another folder",
            )
        };
        let folder = tempfile::tempdir().map_err(trouble)?;
        let source = folder.path().join("trial.cu");
        std::fs::write(&source, "__global__ void trial(float* x) { x[threadIdx.x] = 1.0f; }\n")
            .map_err(trouble)?;
        let base = folder.path();
        let toolchain = Toolchain::new(nvcc.clone(), env, Cache::new(base.join("cache")));
        let request = Request {
            source: &source,
            include_dirs: &[],
            headers: Headers::Any,
            base,
            arch: VirtualArch::default(),
            asynchronous: false,
            debugger: false,
            gpu: None,
        };
        Ok(toolchain.compile(&request)?.time)
    };
    match compile() {
        Ok(time) => good("compiling", format!("a kernel compiles ({} ms)", time.as_millis())),
        Err(failure) => missing("compiling", &failure),
    }
}

/// Can files that others wrote be compiled and run without harm? Takes the kernel's version of Landlock.
fn isolation(version: i32) -> Check {
    let name = "isolation";
    let whole = confinement::LANDLOCK;
    let (found, help) = match version {
        0 => (
            "none: this kernel has no Landlock".to_owned(),
            "what is compiled or graded here can read your files: grade files of others only on Linux 5.13 or newer, best 6.12",
        ),
        version if version < whole => (
            format!("in part: Landlock has version {version} of {whole}"),
            "your files stay closed to what is graded here; Linux 6.12 adds a second lock where system calls are limited",
        ),
        version => return good(name, format!("Landlock, version {version}")),
    };
    Check { name, state: State::Optional, found, help: help.into() }
}

fn gpu(gpu: Result<&Properties, &Failure>, nvcc: Option<&Nvcc>) -> Check {
    let name = "GPU";
    let info = match gpu {
        Ok(info) => info,
        Err(failure) => {
            let why = failure.diagnostics.first().map(|d| d.title.clone()).unwrap_or_default();
            return Check {
                name,
                state: State::Optional,
                found: format!("none: {why}"),
                help: "not needed: kernels run on the virtual machine".into(),
            };
        }
    };
    let (major, minor) = info.capability;
    let driver =
        (info.driver_version / DRIVER_FOR_CUDA, info.driver_version % DRIVER_FOR_CUDA / 10);
    let found = format!(
        "{}, compute capability {major}.{minor}, driver for CUDA {}.{}",
        info.name, driver.0, driver.1
    );
    match nvcc {
        Some(nvcc) if driver.0 < nvcc.version.major => Check {
            name,
            state: State::Optional,
            help: format!(
                "this driver is older than the compiler (CUDA {}) and cannot load its output: \
                 update the driver (CUDA 13 needs 580 or newer), choose an older compiler with \
                 --nvcc, or use --backend vm",
                nvcc.version.major
            ),
            found,
        },
        _ => good(name, found),
    }
}

fn cache(env: &Env) -> Check {
    let name = "cache folder";
    let Some(folder) = env.cache_folder() else {
        return Check {
            name,
            state: State::Missing,
            found: "there is no folder for it: HOME is not set".into(),
            help: "set GRADER_CACHE to a writable folder".into(),
        };
    };
    let writable = std::fs::create_dir_all(&folder).and_then(|()| tempfile::tempfile_in(&folder));
    match writable {
        Ok(_) => good(
            name,
            format!(
                "{}, {} MB; it can be removed at any time",
                folder.display(),
                folder_size(&folder) >> 20
            ),
        ),
        Err(e) => Check {
            name,
            state: State::Optional,
            found: format!("cannot write to {}: {e}", folder.display()),
            help: "set GRADER_CACHE to another folder; until then every run compiles again".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diagnostic::FailureKind;
    use std::os::unix::fs::PermissionsExt;
    use toolchain::find::{Origin, Version};

    fn nvcc(major: u32) -> Nvcc {
        Nvcc {
            path: "/n".into(),
            version: Version { major, minor: 0, patch: 0 },
            origin: Origin::Path,
        }
    }

    fn card(driver_version: u32) -> Properties {
        let (name, capability) = ("Card".into(), (8, 6));
        Properties { name, capability, driver_version, ..Properties::default() }
    }

    #[test]
    fn a_driver_older_than_the_compiler_is_named() {
        let old = gpu(Ok(&card(12040)), Some(&nvcc(13)));
        assert_eq!(old.state, State::Optional);
        assert_eq!(old.found, "Card, compute capability 8.6, driver for CUDA 12.4");
        assert!(old.help.contains("580 or newer"));
        assert_eq!(gpu(Ok(&card(13000)), Some(&nvcc(13))).state, State::Good);
        assert_eq!(gpu(Ok(&card(12040)), Some(&nvcc(12))).state, State::Good);
    }

    #[test]
    fn no_gpu_is_no_fault() {
        let failure = Failure::new(FailureKind::Environment, "no driver", "");
        let check = gpu(Err(&failure), None);
        assert_eq!((check.state, check.found.as_str()), (State::Optional, "none: no driver"));
        assert!(healthy(&[check]));
    }

    #[test]
    fn a_machine_without_a_host_compiler_is_told_what_to_install() {
        let empty = tempfile::tempdir().unwrap();
        let check = host_compiler(&Env::default().with("PATH", empty.path()));
        assert_eq!(check.state, State::Missing);
        assert!(check.help.contains("apt install g++"));
        assert!(!healthy(&[check]));
    }

    /// A machine with these programs in `PATH`, and nothing else.
    fn machine(programs: &[(&str, &str)]) -> (tempfile::TempDir, Env) {
        let dir = tempfile::tempdir().unwrap();
        for (name, body) in programs {
            let path = dir.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let cache = dir.path().join("cache");
        let env = Env::default().with("PATH", dir.path()).with("GRADER_CACHE", cache);
        (dir, env)
    }

    /// State and finding of each check, but for the GPU and the kernel.
    fn examined(env: &Env) -> Vec<(&'static str, State)> {
        let none = Failure::new(FailureKind::Environment, "no driver", "");
        let checks = examine(env, None, Err(&none));
        checks
            .into_iter()
            .filter(|c| !["GPU", "isolation"].contains(&c.name))
            .map(|c| (c.name, c.state))
            .collect()
    }

    #[test]
    fn a_bare_machine_lacks_pip_and_a_host_compiler() {
        let (dir, env) = machine(&[]);
        let (compiler, pip, host, cache) = ("compiler", "pip", "host compiler", "cache folder");
        let (good, optional, missing) = (State::Good, State::Optional, State::Missing);
        // Only where no usual folder of this machine holds an nvcc.
        if Toolchain::find(&env, None).unwrap().0.is_none() {
            assert_eq!(
                examined(&env),
                [(compiler, optional), (pip, missing), (host, missing), (cache, good)]
            );
        }
        assert!(!dir.path().join("cache/nvcc-13.0.88").exists(), "doctor installs nothing");
    }

    #[test]
    fn a_compiler_that_does_not_compile_is_missing() {
        let version = "[ $1 = --version ] && echo ', release 13.0, V13.0.88' && exit; exit 1";
        let (_dir, env) = machine(&[("nvcc", version), ("gcc", "echo gcc 12")]);
        let (good, optional, missing) = (State::Good, State::Optional, State::Missing);
        assert_eq!(
            examined(&env),
            [
                ("compiler", good),
                ("pip", optional),
                ("host compiler", good),
                ("compiling", missing),
                ("cache folder", good),
            ]
        );
    }

    #[test]
    fn the_cache_folder_is_measured() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("big"), vec![0; 3 << 20]).unwrap();
        let check = cache(&Env::default().with("GRADER_CACHE", folder.path()));
        assert!(check.found.contains(", 3 MB;"), "{}", check.found);
        assert_eq!(cache(&Env::default()).state, State::Missing);
    }
}
