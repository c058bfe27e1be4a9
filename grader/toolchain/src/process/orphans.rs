//! Kills the groups of children whose grader was killed by SIGKILL, which no program can catch: a shell, started once, reads from a pipe
//! which groups run, and the system closes that pipe with the grader. (`prctl(PR_SET_PDEATHSIG)` ends with the thread that started a
//! child, and does not reach what a compiler starts.)

use rustix::process::Pid;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Keeps the list of groups, and kills what is left of it at the end of its input.
const SCRIPT: &str = "
while read -r what group; do
    case $what in
        started) groups=\"$groups $group\" ;;
        ended) left=; for one in $groups; do [ \"$one\" = \"$group\" ] || left=\"$left $one\"; done; groups=$left ;;
    esac
done
for one in $groups; do kill -s KILL -- \"-$one\"; done";

/// Starts the shell, if it does not run yet. Not to be called from a thread that is confined: it could not kill anything.
pub(super) fn start() {
    shell();
}

/// A group runs from now on.
pub(super) fn started(group: Pid) {
    tell("started", group);
}

/// All of a group has been killed, or ended by itself.
pub(super) fn ended(group: Pid) {
    tell("ended", group);
}

fn tell(what: &str, group: Pid) {
    if let Some(shell) = shell() {
        let mut pipe = shell.lock().unwrap_or_else(PoisonError::into_inner);
        // Without the shell, what a killed grader leaves ends at its own limits.
        let _ = writeln!(pipe, "{what} {}", group.as_raw_nonzero());
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
