//! Takes from the process what the student's code has no business with, before that code is loaded.
//!
//! - Resource limits (setrlimit(2)): time of the processor, memory, size of files, open files, no core dump.
//! - Landlock (landlock(7)): files outside the system's libraries and the process's own folder cannot be opened; no
//!   TCP; no signals to others.
//! - Users (credentials(7)): what root started goes on as a user who owns nothing.
//! - Seccomp (seccomp(2)): the system calls of computing, files and threads alone. New processes, sockets and looks into
//!   other processes end it. A limit on processes would not do: it does not hold for root.
//!
//! What an older Landlock does not know, the list of system calls holds as well: `truncate` of files outside (before ABI 3),
//! connections (4), requests to devices (5), and signals to the grader (6), among them those that `F_SETOWN` asks for.

mod system_calls;

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, Ruleset, RulesetAttr, RulesetCreatedAttr,
    Scope, path_beneath_rules,
};
use rustix::io::Errno;
use rustix::process::{
    Gid, Resource, Rlimit, Signal, Uid, geteuid, set_parent_process_death_signal, setrlimit,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, set_capabilities, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use system_calls::Rules;
use toolchain::confinement;

/// Where shared libraries, and what the C++ library reads, lie. The process may read there.
const SYSTEM: [&str; 8] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/etc/ld.so.cache",
    "/dev/null",
    "/dev/urandom",
];

/// What a process may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Seconds of processor time.
    pub cpu_seconds: u64,
    /// Bytes of address space.
    pub memory: u64,
    /// Bytes of a file that it writes.
    pub file_size: u64,
    /// Files that may be open at a time.
    pub open_files: u64,
}

/// Shuts the process in. `libraries` can be read and loaded, `own` can be written.
///
/// Returns what could not be taken away, each as a clause that ends a sentence "on this machine, a program can ...".
pub fn enter(bounds: &Bounds, libraries: &[&Path], own: &Path) -> Vec<String> {
    let mut open = Vec::new();
    if let Err(e) = limit(bounds) {
        open.push(format!("use more time or memory than it should ({e})"));
    }
    match confine(libraries, own) {
        Ok(LandlockStatus::Available { effective_abi, .. }) => {
            open.extend(hole(effective_abi as i32));
        }
        Ok(LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) => open.extend(hole(0)),
        Err(e) => open.push(format!("read and write files outside its folder ({e})")),
    }
    if let Err(e) = drop_root(own) {
        open.push(format!("act as root (its user cannot be changed: {e})"));
    }
    // A change of the user would end it.
    if let Err(e) = set_parent_process_death_signal(Some(Signal::KILL)) {
        open.push(format!("outlive the grader ({e})"));
    }
    if let Err(e) = filter() {
        open.push(format!("start processes and open sockets ({e})"));
    }
    open
}

/// What is open to a program where the kernel's Landlock has this version.
fn hole(version: i32) -> Option<String> {
    let gap = confinement::gap(version)?;
    Some(match version {
        ..=0 => format!("read and write files outside its folder (of the kernel: {gap})"),
        _ => format!(
            "only be confined in part: its system calls are limited, but of the kernel, {gap}"
        ),
    })
}

fn limit(bounds: &Bounds) -> rustix::io::Result<()> {
    let both = |n: u64| Rlimit { current: Some(n), maximum: Some(n) };
    let seconds = bounds.cpu_seconds;
    // The first limit sends SIGXCPU, which tells more than the SIGKILL of the second.
    let cpu = Rlimit { current: Some(seconds), maximum: Some(seconds + 1) };
    setrlimit(Resource::Cpu, cpu)?;
    setrlimit(Resource::As, both(bounds.memory))?;
    setrlimit(Resource::Fsize, both(bounds.file_size))?;
    setrlimit(Resource::Nofile, both(bounds.open_files))?;
    setrlimit(Resource::Core, both(0))
}

fn confine(libraries: &[&Path], own: &Path) -> Result<LandlockStatus, landlock::RulesetError> {
    // Rights that an older kernel does not know are left out.
    let abi = ABI::V6;
    let read = AccessFs::from_read(abi);
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(abi))?
        .handle_access(AccessNet::from_all(abi))?
        .scope(Scope::from_all(abi))?
        .create()?
        .add_rules(path_beneath_rules(SYSTEM, read))?
        .add_rules(path_beneath_rules(libraries, read))?
        .add_rules(path_beneath_rules([own], AccessFs::from_all(abi)))?
        .restrict_self()?;
    Ok(status.landlock)
}

/// The user and group "nobody", who own nothing.
const NOBODY: u32 = 65_534;

/// Goes on as nobody, without privileges, if root started this process. The folder becomes nobody's.
fn drop_root(own: &Path) -> io::Result<()> {
    if !geteuid().is_root() {
        return Ok(());
    }
    let changed = || {
        let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
        rustix::fs::chown(own, Some(user), Some(group))?;
        set_thread_groups(&[])?;
        set_thread_res_gid(group, group, group)?;
        // The process has one thread so far. Its capabilities go with the user.
        set_thread_res_uid(user, user, user)
    };
    // In a container that has no other users, root without its capabilities is no more than the owner of its files.
    let none = CapabilitySet::empty();
    changed().or_else(|_: Errno| {
        let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
        set_capabilities(None, sets)
    })?;
    Ok(())
}

fn filter() -> Result<(), String> {
    // `clone3` hides its flags behind a pointer; without it, libc takes `clone`, whose flags can be looked at.
    let no_clone3 = [(libc::SYS_clone3, Vec::new())];
    install(&no_clone3, &SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS as u32))?;
    install(&forbidden(), &SeccompAction::Allow, SeccompAction::KillProcess)?;
    // A program that asks for anything that is not listed may go on without. The last filter: it allows no other.
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    install(&system_calls::allowed(), &refuse, SeccompAction::Allow)
}

/// What ends the process.
fn forbidden() -> Vec<(i64, Rules)> {
    let own = u64::from(std::process::id());
    let not_own = |arg: u8| vec![vec![(arg, Op::Ne, own)]];
    let mut calls: Vec<(i64, Rules)> = FORBIDDEN.iter().map(|&call| (call, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    calls.extend([libc::SYS_fork, libc::SYS_vfork].map(|call| (call, Vec::new())));
    let thread = libc::CLONE_THREAD as u64;
    calls.push((libc::SYS_clone, vec![vec![(0, Op::MaskedEq(thread), 0)]]));
    for call in
        [libc::SYS_kill, libc::SYS_tgkill, libc::SYS_rt_sigqueueinfo, libc::SYS_rt_tgsigqueueinfo]
    {
        calls.push((call, not_own(0)));
    }
    // Limits may be asked for, not set, and those of others not even asked for.
    calls.push((
        libc::SYS_prlimit64,
        vec![vec![(2, Op::Ne, 0)], vec![(0, Op::Ne, 0), (0, Op::Ne, own)]],
    ));
    calls
}

/// Adds a filter: `action` for these calls, `otherwise` for all others. Of several filters the strictest counts.
fn install(
    calls: &[(i64, Rules)],
    otherwise: &SeccompAction,
    action: SeccompAction,
) -> Result<(), String> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for (call, alternatives) in calls {
        let list = rules.entry(*call).or_default();
        for conditions in alternatives {
            let condition = |(arg, op, value): &(u8, Op, u64)| {
                // A pointer whose lower half is zero is not null, and flags fill a whole word; numbers may have anything in
                // their upper half.
                let whole =
                    matches!(op, Op::MaskedEq(_)) || (*call, *arg) == (libc::SYS_prlimit64, 2);
                let len = if whole { Len::Qword } else { Len::Dword };
                SeccompCondition::new(*arg, len, op.clone(), *value)
            };
            let conditions: Result<Vec<_>, _> = conditions.iter().map(condition).collect();
            let conditions = conditions.map_err(|e| e.to_string())?;
            list.push(SeccompRule::new(conditions).map_err(|e| e.to_string())?);
        }
    }
    let arch = std::env::consts::ARCH.try_into().map_err(|_| "an unknown processor".to_owned())?;
    let filter = SeccompFilter::new(rules, otherwise.clone(), action, arch);
    let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(|e| e.to_string())?;
    seccompiler::apply_filter(&program).map_err(|e| e.to_string())
}

/// New processes and programs, sockets, other processes' memory, the kernel itself, leaving the process group.
const FORBIDDEN: [i64; 38] = [
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_tkill,
    libc::SYS_setpgid,
    libc::SYS_setsid,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_setrlimit,
];

#[cfg(test)]
mod tests {
    use super::hole;

    #[test]
    fn every_older_landlock_leaves_a_hole() {
        assert!(hole(0).is_some_and(|hole| hole.starts_with("read and write files outside")));
        assert!((1..6).all(|v| hole(v).is_some_and(|hole| hole.starts_with("only be confined"))));
        assert_eq!(hole(6), None);
    }
}
