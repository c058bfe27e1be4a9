//! Installs NVIDIA's compiler from its own Python wheels, with pip, into the grader's cache folder.
//!
//! `pip install --target` puts files into a folder and nowhere else: no Python of the user's is touched. Proxies, mirrors
//! and finished downloads are pip's job; the pinned hashes are in `wheels.txt`.

use super::env::{Env, is_program};
use crate::process::{Finished, Limits, Termination, run, run_with_tick};
use crate::spinner::Progress;
use diagnostic::{Failure, FailureKind};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const REQUIREMENTS: &str = include_str!("wheels.txt");

/// Folder in the cache; a new set of wheels gets a new name.
const FOLDER: &str = "nvcc-13.0.88";

/// Megabytes that pip downloads, and megabytes on disk afterwards (measured on x86-64 Linux).
const DOWNLOAD_MB: u64 = 104;
const INSTALLED_MB: u64 = 271;

/// A slow line may take long; a dead one is noticed by pip itself.
const INSTALL: Limits = Limits { timeout: Duration::from_secs(3600), output: 1 << 20 };
const QUESTION: Limits = Limits { timeout: Duration::from_secs(60), output: 1 << 16 };

/// The nvcc in the grader's cache folder, installed or not.
pub fn nvcc_in(cache: &Path) -> PathBuf {
    cache.join(FOLDER).join("nvidia/cu13/bin/nvcc")
}

/// What an installation takes, for people.
pub fn price() -> String {
    format!("{DOWNLOAD_MB} MB to download, {INSTALLED_MB} MB on disk")
}

/// The Python whose pip would install nvcc.
///
/// # Errors
/// An environment failure: no wheels for this platform, no Python or pip.
pub fn installer(env: &Env) -> Result<PathBuf, Failure> {
    check_platform(std::env::consts::OS, std::env::consts::ARCH)?;
    find_pip(env)
}

/// Installs nvcc into `cache`, unless another grader has done so meanwhile.
///
/// # Errors
/// An environment failure: no wheels for this platform, no Python or pip, no network, no space, no permission.
pub fn install(env: &Env, cache: &Path) -> Result<(), Failure> {
    let python = installer(env)?;
    fs::create_dir_all(cache).map_err(|e| cannot_write(cache, &e))?;
    // Held until this function returns; the system frees it if the grader is killed.
    let _lock = lock(&cache.join("install.lock"))?;
    if is_program(&nvcc_in(cache)) {
        return Ok(());
    }
    let staging = cache.join(format!("{FOLDER}.partial"));
    // What an interrupted run left is worth nothing: finished downloads are in pip's own cache.
    remove(&staging).map_err(|e| cannot_write(&staging, &e))?;
    let installed = pip(env, &python, &staging).and_then(|()| {
        let target = cache.join(FOLDER);
        remove(&target)
            .and_then(|()| fs::rename(staging.join("target"), &target))
            .map_err(|e| cannot_write(&target, &e))
    });
    // After a failure this frees the disk. If it cannot be removed now, the next run tries again.
    remove(&staging).ok();
    installed
}

fn check_platform(os: &str, arch: &str) -> Result<(), Failure> {
    if os == "linux" && matches!(arch, "x86_64" | "aarch64") {
        return Ok(());
    }
    Err(Failure::new(
        FailureKind::Environment,
        format!("no nvcc was found, and there is none to download for {os} on {arch}"),
        "use Linux on x86-64 or 64-bit Arm (WSL and containers work), or choose an nvcc with --nvcc",
    ))
}

fn lock(path: &Path) -> Result<File, Failure> {
    let open = || File::options().create(true).truncate(false).write(true).open(path);
    let file = open().map_err(|e| cannot_write(path, &e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let wait =
                Progress::spinner("another grader is installing the compiler: waiting for it");
            file.lock().map_err(|e| cannot_write(path, &e))?;
            wait.finish("the other grader has finished");
            Ok(file)
        }
        Err(TryLockError::Error(e)) => Err(cannot_write(path, &e)),
    }
}

/// A Python that has pip.
fn find_pip(env: &Env) -> Result<PathBuf, Failure> {
    let Some(python) = ["python3", "python"].iter().find_map(|name| env.find_program(name)) else {
        return Err(Failure::new(
            FailureKind::Environment,
            "no nvcc was found, and the grader cannot download it: it needs Python 3 with pip, and \
             there is no python3",
            "install both (Debian, Ubuntu: `sudo apt install python3-pip`; Fedora: `sudo dnf \
             install python3-pip`), or choose an nvcc with --nvcc",
        ));
    };
    let mut command = env.command(&python);
    command.args(["-m", "pip", "--version"]);
    match run(command, Vec::new(), &QUESTION) {
        Ok(finished) if finished.success() => Ok(python),
        _ => Err(Failure::new(
            FailureKind::Environment,
            format!(
                "no nvcc was found, and the grader cannot download it: it needs pip, which {} lacks",
                python.display()
            ),
            "install it (Debian, Ubuntu: `sudo apt install python3-pip`; Fedora: `sudo dnf install \
             python3-pip`; elsewhere: `python3 -m ensurepip`), or choose an nvcc with --nvcc",
        )),
    }
}

fn pip(env: &Env, python: &Path, staging: &Path) -> Result<(), Failure> {
    let (temporary, requirements) = (staging.join("tmp"), staging.join("requirements.txt"));
    fs::create_dir_all(&temporary)
        .and_then(|()| fs::write(&requirements, REQUIREMENTS))
        .map_err(|e| cannot_write(staging, &e))?;
    let mut command = env.command(python);
    command.args(["-m", "pip", "install", "--no-deps", "--only-binary=:all:", "--require-hashes"]);
    command.args([
        "--no-compile",
        "--no-input",
        "--disable-pip-version-check",
        "--progress-bar=off",
    ]);
    command.arg("--target").arg(staging.join("target")).arg("--requirement").arg(&requirements);
    // Settings of the user's that forbid --target. The temporary folder is ours, so that its growth can be shown.
    command.env("PIP_USER", "0").env("PIP_REQUIRE_VIRTUALENV", "0").env("TMPDIR", &temporary);
    let message = format!(
        "installing NVIDIA's CUDA compiler with pip, once: {DOWNLOAD_MB} MB to download, {INSTALLED_MB} MB in {}",
        staging.with_extension("").display()
    );
    let progress = Progress::bytes(&message, (DOWNLOAD_MB + INSTALLED_MB) << 20);
    let mut tick = |_: Duration| progress.position(folder_size(staging));
    let finished = run_with_tick(command, Vec::new(), &INSTALL, &mut tick).map_err(|e| {
        Failure::new(
            FailureKind::Environment,
            format!("cannot start {}: {e}", python.display()),
            RETRY,
        )
    })?;
    if !finished.success() {
        return Err(explain(&finished, staging));
    }
    progress.finish("installed NVIDIA's CUDA compiler; `grader clean` removes it again");
    Ok(())
}

const RETRY: &str =
    "run the command again: what was downloaded is kept; or choose an nvcc with --nvcc";

/// What pip's last words mean, with the help that fits.
fn explain(finished: &Finished, staging: &Path) -> Failure {
    let text = finished.stderr_text();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let title = |what: &str| format!("NVIDIA's CUDA compiler could not be installed: {what}");
    let fail = |what: &str, help: &str| Failure::new(FailureKind::Environment, title(what), help);
    if finished.ending == Termination::TimedOut {
        return fail("pip did not finish within an hour", RETRY);
    }
    if says(&["No space left", "Disk quota exceeded"]) {
        let what = format!("the disk is full at {}", staging.display());
        let help = format!(
            "free {} MB, or set GRADER_CACHE to a folder on another disk",
            DOWNLOAD_MB + INSTALLED_MB
        );
        return fail(&what, &help);
    }
    if says(&["Permission denied", "Read-only file system"]) {
        let what = format!("cannot write to {}", staging.display());
        return fail(&what, "set GRADER_CACHE to a folder that you can write");
    }
    if says(&["HASHES", "hashes"]) {
        return fail(
            "a downloaded file is not the one that the grader expects",
            "try again; if that does not help, a proxy or mirror between you and PyPI changes files: use another one",
        );
    }
    if says(&[
        "NewConnectionError",
        "ConnectionError",
        "ConnectTimeout",
        "ReadTimeout",
        "name resolution",
    ]) || says(&[
        "Network is unreachable",
        "Connection refused",
        "ProxyError",
        "SSLError",
        "timed out",
    ]) {
        return fail(
            "PyPI cannot be reached",
            "check the network (behind a proxy: set https_proxy) and run the command again: what \
             was downloaded is kept; or choose an nvcc with --nvcc",
        );
    }
    if says(&["No matching distribution", "Could not find a version"]) {
        return fail(
            "pip finds no such wheel",
            "pip also says this when there is no network: check the network first; then try a \
             newer pip: `python3 -m pip install --upgrade pip`",
        );
    }
    let last =
        text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("pip said nothing");
    fail(last.trim(), RETRY)
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::new(
        FailureKind::Environment,
        format!("cannot write {}: {error}", path.display()),
        "set GRADER_CACHE to a folder that you can write, on a disk with 400 MB of free space",
    )
}

/// Removes a folder; none is fine.
fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Bytes in a folder. Files come and go under pip's hands: those that have gone count nothing.
pub fn folder_size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size_of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => folder_size(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size_of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::thread;

    /// A machine whose python3 is a shell script: `pip --version` works, `pip install` runs `install` with the
    /// folder of `--target` in `$target`.
    fn machine(install: &str) -> (tempfile::TempDir, Env) {
        let dir = tempfile::tempdir().unwrap();
        let script = format!(
            "#!/bin/sh\nlog={}/calls\nfor a; do [ \"$last\" = --target ] && target=$a; last=$a; done\n\
             [ \"$3\" = --version ] && exit 0\necho install >> $log\n{install}\n",
            dir.path().display()
        );
        let python = dir.path().join("python3");
        fs::write(&python, script).unwrap();
        fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
        let path = format!("{}:/usr/bin:/bin", dir.path().display());
        (dir, Env::default().with("PATH", path))
    }

    const WORKS: &str = "mkdir -p $target/nvidia/cu13/bin; printf '#!/bin/sh\\n' > $target/nvidia/cu13/bin/nvcc; \
                         chmod +x $target/nvidia/cu13/bin/nvcc";

    fn title(install_script: &str) -> String {
        let (dir, env) = machine(install_script);
        let cache = dir.path().join("cache");
        let failure = install(&env, &cache).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Environment);
        assert!(!cache.join(format!("{FOLDER}.partial")).exists(), "the staging folder is left");
        assert!(!nvcc_in(&cache).exists());
        failure.diagnostics[0].title.clone()
    }

    #[test]
    fn pip_fills_a_folder_that_appears_whole() {
        let (dir, env) = machine(WORKS);
        let cache = dir.path().join("cache");
        install(&env, &cache).unwrap();
        assert!(is_program(&nvcc_in(&cache)));
        assert!(!cache.join(format!("{FOLDER}.partial")).exists());
    }

    #[test]
    fn two_graders_install_once() {
        let (dir, env) = machine(&format!("sleep 0.3; {WORKS}"));
        let cache = dir.path().join("cache");
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| install(&env, &cache).unwrap());
            }
        });
        assert_eq!(fs::read_to_string(dir.path().join("calls")).unwrap(), "install\n");
    }

    #[test]
    fn what_an_interrupted_run_left_is_removed() {
        let (dir, env) = machine(&format!("[ -e $target/old ] && exit 1; {WORKS}"));
        let cache = dir.path().join("cache");
        let target = cache.join(format!("{FOLDER}.partial/target"));
        fs::create_dir_all(&target).unwrap();
        fs::write(target.join("old"), "").unwrap();
        install(&env, &cache).unwrap();
        assert!(is_program(&nvcc_in(&cache)));
    }

    #[test]
    fn failures_say_what_is_wrong() {
        let say = |words: &str| title(&format!("echo 'ERROR: {words}' >&2; exit 1"));
        assert!(say("[Errno 28] No space left on device").contains("the disk is full"));
        assert!(
            say("NewConnectionError(...): Temporary failure in name resolution")
                .contains("cannot be reached")
        );
        assert!(say("THESE PACKAGES DO NOT MATCH THE HASHES").contains("not the one"));
        assert!(say("No matching distribution found for nvidia-nvvm").contains("no such wheel"));
        assert!(say("something new").ends_with("ERROR: something new"));
    }

    #[test]
    fn a_machine_without_python_or_pip_is_told_so() {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("cache");
        let bare = Env::default().with("PATH", dir.path());
        assert!(
            install(&bare, &cache).unwrap_err().diagnostics[0]
                .title
                .contains("there is no python3")
        );
        let python = dir.path().join("python3");
        fs::write(&python, "#!/bin/sh\nexit 1\n").unwrap();
        fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
        assert!(install(&bare, &cache).unwrap_err().diagnostics[0].title.contains("needs pip"));
    }

    #[test]
    fn other_platforms_are_told_so() {
        assert!(check_platform("linux", "x86_64").is_ok());
        assert!(check_platform("macos", "aarch64").is_err());
        assert!(check_platform("linux", "riscv64").is_err());
    }

    #[test]
    fn every_requirement_is_pinned_with_a_hash_for_each_architecture() {
        let pins = REQUIREMENTS.lines().filter(|line| line.contains("==")).count();
        assert_eq!((pins, REQUIREMENTS.matches("--hash=sha256:").count()), (5, 10));
    }
}
