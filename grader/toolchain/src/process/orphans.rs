//! Kills the groups of children whose grader was killed by SIGKILL, which no program can catch, and removes its folders: a shell, started
//! once, reads from a pipe which groups run and which folders there are, and the system closes that pipe with the grader. (`prctl(PR_SET_PDEATHSIG)` ends with the thread that started a
//! child, and does not reach what a compiler starts.)

use rustix::process::Pid;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Keeps the list of groups, and that of folders as its own arguments; kills and removes what is left of them at the end of its input.
/// What was just killed may still write into a folder.
const SCRIPT: &str = "
while read -r what which; do
    case $what in
        started) groups=\"$groups $which\" ;;
        ended) left=; for one in $groups; do [ \"$one\" = \"$which\" ] || left=\"$left $one\"; done; groups=$left ;;
        made) set -- \"$@\" \"$which\" ;;
        removed) for one do shift; [ \"$one\" = \"$which\" ] || set -- \"$@\" \"$one\"; done ;;
    esac
done
for one in $groups; do kill -s KILL -- \"-$one\"; done
[ $# = 0 ] || rm -rf -- \"$@\" || { sleep 1; rm -rf -- \"$@\"; }";

/// Starts the shell, if it does not run yet. Not to be called from a thread that is confined: it could not kill anything.
pub(super) fn start() {
    shell();
}

/// A group runs from now on.
pub(super) fn started(group: Pid) {
    tell("started", group.as_raw_nonzero().to_string().as_bytes());
}

/// All of a group has been killed, or ended by itself.
pub(super) fn ended(group: Pid) {
    tell("ended", group.as_raw_nonzero().to_string().as_bytes());
}

/// A folder is the grader's from now on.
pub(crate) fn made(folder: &Path) {
    tell("made", folder.as_os_str().as_bytes());
}

/// A folder is gone.
pub(crate) fn removed(folder: &Path) {
    tell("removed", folder.as_os_str().as_bytes());
}

fn tell(what: &str, which: &[u8]) {
    // It would be two lines. The next grader removes such a folder.
    if which.contains(&b'\n') {
        return;
    }
    if let Some(shell) = shell() {
        let mut pipe = shell.lock().unwrap_or_else(PoisonError::into_inner);
        // Without the shell, what a killed grader leaves ends at its own limits.
        let _ = pipe.write_all(&[what.as_bytes(), b" ", which, b"\n"].concat());
    }
}

fn shell() -> Option<&'static Mutex<ChildStdin>> {
    static SHELL: OnceLock<Option<Mutex<ChildStdin>>> = OnceLock::new();
    SHELL
        .get_or_init(|| {
            let mut command = Command::new("/bin/sh");
            // In a group of its own, so that it outlives what is sent to the grader's.
            command.args(["-c", SCRIPT]).env_clear().current_dir("/").process_group(0);
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            Some(Mutex::new(command.spawn().ok()?.stdin.take()?))
        })
        .as_ref()
}
