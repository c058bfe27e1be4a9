//! Takes from the process what the student's code has no business with, before that code is loaded.
//!
//! - Resource limits (setrlimit(2)): time of the processor, memory, size of files, open files, no core dump.
//! - Landlock (landlock(7)): files outside the system's libraries and the process's own folder cannot be opened; no
//!   TCP; no signals to others.
//! - Seccomp (seccomp(2)): no new process, no other program, no socket, no look into other processes. A limit on
//!   processes would not do: it does not hold for root.

use super::super::job::Bounds;
use landlock::{
    ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    Scope, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule,
};
use std::collections::BTreeMap;
use std::path::Path;

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

/// Shuts the process in. `libraries` can be read and loaded, `own` can be written.
///
/// Returns what could not be taken away, each as a clause that ends a sentence "on this machine, a program can ...".
pub fn enter(bounds: &Bounds, libraries: &[&Path], own: &Path) -> Vec<String> {
    let mut open = Vec::new();
    if let Err(e) = limit(bounds) {
        open.push(format!("use more time or memory than it should ({e})"));
    }
    match confine(libraries, own) {
        Ok(RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced) => {}
        Ok(RulesetStatus::NotEnforced) => {
            open.push(
                "read and write files outside its folder (the kernel has no Landlock)".to_owned(),
            );
        }
        Err(e) => open.push(format!("read and write files outside its folder ({e})")),
    }
    if let Err(e) = filter() {
        open.push(format!("start processes and open sockets ({e})"));
    }
    open
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

fn confine(libraries: &[&Path], own: &Path) -> Result<RulesetStatus, landlock::RulesetError> {
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
    Ok(status.ruleset)
}

/// What a rule says of a call: it matches if all of these hold of its arguments.
type Rules = Vec<Vec<Condition>>;

/// An argument, how it is compared, and with what.
type Condition = (u8, Op, u64);

fn filter() -> Result<(), String> {
    // `clone3` hides its flags behind a pointer; without it, libc takes `clone`, whose flags can be looked at.
    let no_clone3 = [(libc::SYS_clone3, Vec::new())];
    install(&no_clone3, SeccompAction::Errno(libc::ENOSYS as u32))?;
    // A program that asks for these may go on without; they would reach outside, past Landlock.
    let mut refused: Vec<_> = REFUSED.iter().map(|&call| (call, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    refused.extend(REFUSED_X86.map(|call| (call, Vec::new())));
    install(&refused, SeccompAction::Errno(libc::EPERM as u32))?;
    install(&forbidden(), SeccompAction::KillProcess)
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
    #[cfg(target_arch = "x86_64")]
    {
        // The same kernel functions have other numbers in the x32 ABI (asm/unistd_x32.h).
        const X32: i64 = 0x4000_0000;
        let mut twins: Vec<_> =
            calls.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
        twins.extend((512..=547).map(|call| (call | X32, Vec::new())));
        calls.extend(twins);
    }
    calls
}

fn install(calls: &[(i64, Rules)], action: SeccompAction) -> Result<(), String> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for (call, alternatives) in calls {
        let list = rules.entry(*call).or_default();
        for conditions in alternatives {
            let condition = |(arg, op, value): &Condition| {
                let len = if matches!(op, Op::MaskedEq(_)) { Len::Qword } else { Len::Dword };
                SeccompCondition::new(*arg, len, op.clone(), *value)
            };
            let conditions: Result<Vec<_>, _> = conditions.iter().map(condition).collect();
            let conditions = conditions.map_err(|e| e.to_string())?;
            list.push(SeccompRule::new(conditions).map_err(|e| e.to_string())?);
        }
    }
    let arch = std::env::consts::ARCH.try_into().map_err(|_| "an unknown processor".to_owned())?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch);
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

/// Linux 6.6; the same number on every processor.
const FCHMODAT2: i64 = 452;

/// What other processors have never had.
#[cfg(target_arch = "x86_64")]
const REFUSED_X86: [i64; 7] = [
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_mknod,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];

/// Landlock does not see these.
const REFUSED: [i64; 28] = [
    FCHMODAT2,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_mknodat,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_setpriority,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setattr,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_shmget,
    libc::SYS_semget,
    libc::SYS_msgget,
];
