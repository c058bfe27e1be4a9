use super::*;
use crate::process::{Finished, Limits, run_until};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// Runs a script that may read `open` in a folder, and write into its folder `scratch`.
fn confined(folder: &Path, script: &str) -> Finished {
    let confinement = Confinement {
        read: vec![folder.join("open")],
        closed: Some(folder.join("closed")),
        files: vec![folder.join("closed/listed")],
        write: vec![folder.join("scratch")],
    };
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).current_dir(folder);
    let limits = Limits { timeout: Duration::from_secs(20), output: 1000 };
    run_until(command, &limits, Some(&confinement), 20, &|| false).unwrap()
}

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["scratch", "open", "closed", "open/a"] {
        fs::create_dir(dir.path().join(folder)).unwrap();
    }
    for file in ["open/file", "closed/listed", "closed/other"] {
        fs::write(dir.path().join(file), "open").unwrap();
    }
    fs::write(dir.path().join("secret"), "secret").unwrap();
    dir
}

#[test]
fn a_confined_program_reads_and_writes_what_it_is_given() {
    let dir = folder();
    let done = confined(
        dir.path(),
        "cat open/file closed/listed > scratch/copy && cat scratch/copy 2> /dev/null",
    );
    assert_eq!((done.stdout_text().as_str(), done.stderr_text().as_str()), ("openopen", ""));
}

#[test]
fn a_confined_program_reads_and_writes_nothing_else() {
    let dir = folder();
    for script in [
        "cat secret",
        "cat closed/other",
        "echo x > open/file",
        "echo x > new",
        "cat /etc/passwd",
        "ls .",
        "cat /proc/1/environ",
    ] {
        let done = confined(dir.path(), script);
        assert!(!done.success() && done.stdout.is_empty(), "{script}: {done:?}");
    }
    assert_eq!(fs::read_to_string(dir.path().join("open/file")).unwrap(), "open");
    // The thread that started it is as free as before.
    assert_eq!(fs::read_to_string(dir.path().join("secret")).unwrap(), "secret");
}

/// The attempts stand in this thread and not in a program, of which a machine may have none that connects.
#[test]
fn a_confined_program_has_no_network() {
    let dir = folder();
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (address, path) = (tcp.local_addr().unwrap(), dir.path().join("scratch/socket"));
    let _unix = UnixListener::bind(&path).unwrap();
    let attempts = || -> [io::Result<()>; 5] {
        [
            TcpStream::connect(address).map(drop),
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map(drop),
            UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map(drop),
            UnixStream::connect(&path).map(drop),
            UnixDatagram::unbound().map(drop),
        ]
    };
    assert!(attempts().iter().all(Result::is_ok));
    let confinement =
        Confinement { write: vec![dir.path().join("scratch")], ..Confinement::default() };
    let confined = || {
        confinement.enter().unwrap();
        attempts()
    };
    let refused = thread::scope(|scope| scope.spawn(confined).join().unwrap());
    for attempt in refused {
        assert_eq!(attempt.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}

#[test]
fn a_workbook_stays_closed_wherever_it_lies() {
    let dir = folder();
    let root = dir.path().canonicalize().unwrap();
    std::os::unix::fs::symlink(root.join("closed/other"), root.join("open/link")).unwrap();
    let mut around = without(root.clone(), &root.join("closed"));
    around.sort();
    assert_eq!(around, ["open", "scratch", "secret"].map(|name| root.join(name)));
    assert!(without(root.join("closed"), &root.join("closed")).is_empty());
    assert_eq!(without(root.join("open"), &root.join("closed")), [root.join("open")]);
    assert_eq!(without(root.join("open"), &root), [root.join("open")]);
}

#[test]
fn memory_and_files_have_an_end() {
    let dir = folder();
    let done = confined(dir.path(), "sleep 0.2; ulimit -v; ulimit -f");
    assert_eq!(done.stdout_text(), format!("{}\n{}\n", MEMORY / 1024, FILE_SIZE / 512));
}

#[test]
fn a_program_lies_in_the_folder_of_its_installation() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("cuda-13/bin")).unwrap();
    fs::write(root.join("cuda-13/bin/nvcc"), "").unwrap();
    std::os::unix::fs::symlink(root.join("cuda-13/bin/nvcc"), root.join("nvcc")).unwrap();
    assert_eq!(installation(&root.join("nvcc")), Some(root.join("cuda-13")));
    assert_eq!(installation(&root.join("nothing")), None);
}

#[test]
fn what_older_kernels_lack_is_said() {
    assert_eq!(gap(0).as_deref(), Some("it has no Landlock"));
    for version in 1..6 {
        assert!(gap(version).is_some_and(|gap| gap.contains(&format!("version {version} of 6"))));
    }
    assert_eq!([gap(6), gap(7)], [None, None]);
}

#[test]
fn what_a_program_has_started_before_is_limited_too() {
    let script = "(sleep 60; :) & wait";
    let mut shell = Command::new("/bin/sh").args(["-c", script]).process_group(0).spawn().unwrap();
    let process = Pid::from_child(&shell);
    let children = |of: i32| {
        let list = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
        list.split_whitespace().map(|n| n.parse().unwrap()).collect::<Vec<i32>>()
    };
    let grandchildren = || -> Vec<i32> {
        let own = children(process.as_raw_nonzero().get());
        own.iter().flat_map(|&child| children(child)).collect()
    };
    while grandchildren().is_empty() {
        thread::sleep(Duration::from_millis(5));
    }
    limit_time(process, 7);
    limit(process);
    let limits = fs::read_to_string(format!("/proc/{}/limits", grandchildren()[0])).unwrap();
    let has = |name: &str, soft: u64, hard: u64| {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        assert_eq!(numbers, [soft, hard], "{limits}");
    };
    has("Max cpu time", 7, 8);
    has("Max address space", MEMORY, MEMORY);
    has("Max file size", FILE_SIZE, FILE_SIZE);
    rustix::process::kill_process_group(process, rustix::process::Signal::KILL).unwrap();
    shell.wait().unwrap();
}
