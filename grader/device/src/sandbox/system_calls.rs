//! The system calls that host code may make: those of computing, its own files, its threads and the connection to its device.

use seccompiler::SeccompCmpOp as Op;

/// What a rule says of a call: it matches if all conditions of one list hold; always if there is none.
pub type Rules = Vec<Vec<(u8, Op, u64)>>;

/// The calls that are allowed, and with which arguments.
pub fn allowed() -> Vec<(i64, Rules)> {
    let mut calls: Vec<(i64, Rules)> = CALLS.iter().map(|&call| (call, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    calls.extend(CALLS_X86.map(|call| (call, Vec::new())));
    let one_of = |arg: u8, values: &[u64]| -> Rules {
        values.iter().map(|&value| vec![(arg, Op::Eq, value)]).collect()
    };
    calls.push((libc::SYS_fcntl, one_of(1, &FCNTL)));
    calls.push((libc::SYS_ioctl, one_of(1, &IOCTL)));
    calls.push((libc::SYS_prctl, one_of(0, &PRCTL)));
    let own = u64::from(std::process::id());
    calls.push((libc::SYS_sched_setaffinity, one_of(0, &[0, own])));
    calls
}

/// Without those that ask for signals: `F_SETOWN`, `F_SETOWN_EX`, `F_SETSIG`, `F_SETLEASE`, `F_NOTIFY`.
const FCNTL: [u64; 13] = [
    libc::F_DUPFD as u64,
    libc::F_GETFD as u64,
    libc::F_SETFD as u64,
    libc::F_GETFL as u64,
    libc::F_SETFL as u64,
    libc::F_GETLK as u64,
    libc::F_SETLK as u64,
    libc::F_SETLKW as u64,
    libc::F_OFD_GETLK as u64,
    libc::F_OFD_SETLK as u64,
    libc::F_OFD_SETLKW as u64,
    libc::F_DUPFD_CLOEXEC as u64,
    libc::F_GETPIPE_SZ as u64,
];

/// Is it a terminal, and how much is there to read? Without `FIOASYNC` and `FIOSETOWN`, which ask for signals.
const IOCTL: [u64; 6] =
    [libc::TCGETS, libc::TIOCGWINSZ, libc::FIONREAD, libc::FIONBIO, libc::FIOCLEX, libc::FIONCLEX];

/// The names of threads, and of memory (which `malloc` gives).
const PRCTL: [u64; 3] =
    [libc::PR_SET_NAME as u64, libc::PR_GET_NAME as u64, libc::PR_SET_VMA as u64];

/// Calls of every processor. `kill`, `clone` and a few others have rules of their own (`forbidden` in the file beside this).
const CALLS: [i64; 126] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_lseek,
    libc::SYS_getdents64,
    libc::SYS_ftruncate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_flock,
    libc::SYS_fadvise64,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_umask,
    libc::SYS_copy_file_range,
    libc::SYS_sendfile,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_readlinkat,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_mincore,
    libc::SYS_msync,
    libc::SYS_brk,
    libc::SYS_membarrier,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
    libc::SYS_recvfrom,
    libc::SYS_sendto,
    libc::SYS_recvmsg,
    libc::SYS_sendmsg,
    libc::SYS_shutdown,
    libc::SYS_getsockopt,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_times,
    libc::SYS_getrusage,
    libc::SYS_getitimer,
    libc::SYS_setitimer,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_gettime,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_delete,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_rseq,
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_getpriority,
    libc::SYS_getcpu,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigsuspend,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_kill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getgroups,
    libc::SYS_getresuid,
    libc::SYS_getresgid,
    libc::SYS_getpgid,
    libc::SYS_getsid,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getrandom,
    libc::SYS_prlimit64,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Calls that other processors have never had.
#[cfg(target_arch = "x86_64")]
const CALLS_X86: [i64; 28] = [
    libc::SYS_open,
    libc::SYS_creat,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_eventfd,
    libc::SYS_pipe,
    libc::SYS_dup2,
    libc::SYS_rename,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_link,
    libc::SYS_unlink,
    libc::SYS_symlink,
    libc::SYS_readlink,
    libc::SYS_getdents,
    libc::SYS_getpgrp,
    libc::SYS_time,
    libc::SYS_alarm,
    libc::SYS_pause,
    libc::SYS_getrlimit,
    libc::SYS_arch_prctl,
    libc::SYS_signalfd4,
    libc::SYS_signalfd,
];
