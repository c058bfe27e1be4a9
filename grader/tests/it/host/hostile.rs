//! Programs that try to get a pass, or out, or to take the machine with them. Each is one test of a puzzle: the first
//! element of the input says what to do.

use diagnostic::{Failure, FailureKind};
use judge::grade::{self, Detail, Machine, Program};
use judge::verdict::TestVerdict;
use puzzle::oracle;
use puzzle::spec::{Spec, Test};
use puzzle::workbook::Workbook;
use std::fs;
use std::path::Path;
use toolchain::Toolchain;
use toolchain::env::Env;

/// What the program does, as C++, and what must come of it: "pass", "fail" (for whatever reason), or the first finding.
const PROGRAMS: &[(&str, &str, &str)] = &[
    ("is right", "right(x, y, n);", "pass"),
    ("uses threads", "std::thread([&] { right(x, y, n); }).join();", "pass"),
    ("leaves work for its end", "right(x, y, n); atexit(wreck);", "pass"),
    ("prints a little", "right(x, y, n); puts(\"hello\"); fflush(stdout);", "pass"),
    (
        "writes into its own folder",
        "FILE* f = fopen(\"note\", \"w\"); if (f) right(x, y, n);",
        "pass",
    ),
    ("tells where it is", "char d[256]; puts(getcwd(d, 256)); right(x, y, n);", "pass"),
    (
        "makes a file beside its own folder",
        "if (!fopen(\"../note\", \"w\")) throw std::runtime_error(\"shut\");",
        "exception",
    ),
    (
        "writes its own report",
        "if (!fopen(\"../report\", \"a\")) throw std::runtime_error(\"shut\");",
        "exception",
    ),
    (
        "moves a file out of its folder",
        "fclose(fopen(\"a\", \"w\")); if (rename(\"a\", \"../a\")) throw std::runtime_error(\"shut\");",
        "exception",
    ),
    ("returns without writing", "", "fail"),
    (
        "prints the answer",
        "for (int i = 0; i < n; i++) printf(\"%g \", 2 * x[i]); puts(\"\\\"Done\\\"\");",
        "fail",
    ),
    (
        "reads a password file",
        "if (!fopen(\"/etc/passwd\", \"r\")) throw std::runtime_error(\"shut\");",
        "exception",
    ),
    ("reads the spec", "if (!fopen(SPEC, \"r\")) throw std::runtime_error(\"shut\");", "exception"),
    (
        "writes a file outside",
        "if (!fopen(\"/tmp/gp_hostile\", \"w\")) throw std::runtime_error(\"shut\");",
        "exception",
    ),
    ("lists the root", "if (!opendir(\"/\")) throw std::runtime_error(\"shut\");", "exception"),
    (
        "looks into its parent",
        "char p[64]; sprintf(p, \"/proc/%d/mem\", getppid()); if (open(p, O_RDWR) < 0) throw std::runtime_error(\"shut\");",
        "exception",
    ),
    (
        "changes rights outside",
        "if (chmod(SPEC, 0) < 0) throw std::runtime_error(\"shut\");",
        "exception",
    ),
    ("forks without end", "for (;;) fork();", "forbidden-call"),
    ("forks the old way", "syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);", "forbidden-call"),
    ("runs a shell", "execl(\"/bin/sh\", \"sh\", \"-c\", \"true\", nullptr);", "forbidden-call"),
    ("runs a command", "if (system(\"true\")) return;", "forbidden-call"),
    ("opens a socket", "socket(AF_INET, SOCK_STREAM, 0);", "forbidden-call"),
    ("kills its parent", "kill(getppid(), SIGKILL);", "forbidden-call"),
    ("kills all", "kill(-1, SIGKILL);", "forbidden-call"),
    ("traces its parent", "ptrace(PTRACE_ATTACH, getppid(), 0, 0);", "forbidden-call"),
    ("leaves its group", "setsid();", "forbidden-call"),
    (
        "raises its limits",
        "rlimit all{RLIM_INFINITY, RLIM_INFINITY}; setrlimit(RLIMIT_CPU, &all);",
        "forbidden-call",
    ),
    ("allocates without end", "for (;;) memset(new char[1 << 24], 1, 1 << 12);", "out-of-memory"),
    (
        "writes a file without end",
        "FILE* f = fopen(\"big\", \"w\"); static char b[1 << 20]; for (;;) fwrite(b, 1, 1 << 20, f);",
        "crash",
    ),
    (
        "fills the disk with files",
        "static char b[1 << 20]; for (int i = 0;; i++) { int d = open(std::to_string(i / 90).c_str(), O_CREAT | O_APPEND | O_RDWR, 0600); if (write(d, b, 1 << 20) < 0) break; close(d); }",
        "out-of-disk",
    ),
    // A terabyte is reserved sooner than anybody looks.
    (
        "reserves the disk",
        "int d = open(\"f\", O_CREAT | O_RDWR, 0600); if (posix_fallocate(d, 0, 100 << 20)) throw std::runtime_error(\"shut\");",
        "exception",
    ),
    (
        "fills the disk with files that have no name",
        "static char b[1 << 20]; for (int i = 0, d = 0; i < 900; i++) { if (i % 90 == 0) { d = open(\"f\", O_CREAT | O_RDWR, 0600); unlink(\"f\"); } if (write(d, b, 1 << 20) < 0) break; } sleep(9);",
        "out-of-disk",
    ),
    ("exits well", "right(x, y, n); exit(0);", "exit"),
    ("exits at once", "right(x, y, n); _exit(0);", "exit"),
    ("exits with a code", "exit(42);", "exit"),
    ("throws", "throw std::runtime_error(\"oops\");", "exception"),
    ("throws a number", "throw 7;", "exception"),
    ("terminates", "std::terminate();", "crash"),
    ("aborts", "abort();", "crash"),
    ("follows a null pointer", "*(volatile int*)nullptr = 1;", "crash"),
    ("overflows its stack", "y[0] = deep(n);", "crash"),
    ("jumps nowhere", "jmp_buf b; memset(&b, 1, sizeof b); longjmp(b, 1);", "crash"),
    ("divides by zero", "volatile int zero = 0; y[0] = n / zero;", "crash"),
    ("floods its output", "for (;;) puts(\"all is well\");", "output-flood"),
    ("floods its error output", "for (;;) fputs(\"all is well\\n\", stderr);", "output-flood"),
    ("writes past the end", "right(x, y, n); y[n] = 1;", "out-of-bounds"),
    ("changes its input", "right(x, y, n); ((float*)x)[1] = 99;", "write-to-input"),
    ("closes all descriptors", "for (int d = 0; d < 64; d++) close(d);", "fail"),
    (
        "writes to what it inherited",
        "for (int d = 3; d < 64; d++) if (write(d, \"\\\"Done\\\"\\n\", 7) < 0) continue; _exit(0);",
        "fail",
    ),
    (
        "cuts what it inherited",
        "for (int d = 3; d < 64; d++) if (ftruncate(d, 0) < 0) continue;",
        "fail",
    ),
    (
        "reads what it should not",
        "char c; if (read(0, &c, 1) != 0) return; right(x, y, n);",
        "pass",
    ),
    ("breaks a rule of CUDA", "right(x, y, n); empty<<<1, 4096>>>();", "cuda-error"),
    (
        "minds that a launch failed",
        "empty<<<1, 4096>>>(); if (cudaGetLastError()) right(x, y, n);",
        "pass",
    ),
    ("frees what is not its own", "right(x, y, n); cudaFree((void*)x);", "cuda-error"),
    ("frees what was never there", "right(x, y, n); cudaFree((void*)0x123456);", "cuda-error"),
    ("leaks", "right(x, y, n); void* p; cudaMalloc(&p, 100);", "pass"),
    (
        "takes all device memory",
        "for (void* p;;) if (cudaMalloc(&p, 1 << 26)) throw std::runtime_error(\"none\");",
        "exception",
    ),
    (
        "has a kernel that never ends",
        "forever<<<1, 1>>>(); cudaDeviceSynchronize(); right(x, y, n);",
        "endless-loop",
    ),
    (
        "has a kernel that writes anywhere",
        "poke<<<1, 1>>>((int*)16); right(x, y, n);",
        "out-of-bounds",
    ),
    ("prints from a kernel", "hello<<<1, 1>>>(); right(x, y, n);", "pass"),
    (
        "sends the device a frame without end",
        "char f[1 << 16] = {1}; memset(f + 4, 255, 8); signal(SIGPIPE, SIG_IGN); \
         for (int d = 3; d < 16; d++) for (int i = 0; i < 99; i++) if (write(d, f, sizeof f) < 0) break;",
        "fail",
    ),
    (
        "asks for signals to its parent",
        "for (int d = 0; d < 16; d++) if (!fcntl(d, F_SETOWN, getppid()) || !fcntl(d, F_SETSIG, SIGKILL)) return; right(x, y, n);",
        "pass",
    ),
    (
        "asks a socket for signals to its parent",
        "int p = getppid(), on = 1; for (int d = 0; d < 16; d++) if (!ioctl(d, FIOSETOWN, &p) || !ioctl(d, FIOASYNC, &on)) return; right(x, y, n);",
        "pass",
    ),
    (
        "asks for what nobody needs",
        "cpu_set_t one; CPU_ZERO(&one); CPU_SET(0, &one); bool open = !sched_setaffinity(getppid(), sizeof one, &one) || !truncate(SPEC, 0);\
         for (long call : {SYS_shmat, SYS_syslog, SYS_fanotify_init, SYS_open_tree, SYS_vhangup, SYS_memfd_create, SYS_iopl, SYS_personality, SYS_mlockall, SYS_acct})\
             open |= syscall(call, 0L, 0L, 0L) >= 0 || errno != EPERM;\
         if (!open && geteuid() != 0 && syscall(0x40000000L | SYS_getpid) < 0) right(x, y, n);",
        "pass",
    ),
    (
        "launches far too much",
        "slow<<<1024, 1024>>>(); cudaDeviceSynchronize(); right(x, y, n);",
        "too-much-work",
    ),
    (
        "launches a chain of calls that doubles 64 times",
        "climb<<<1, 1>>>(); cudaDeviceSynchronize(); right(x, y, n);",
        "endless-loop",
    ),
    (
        "sleeps on the device",
        "doze<<<1, 1>>>(); cudaDeviceSynchronize(); right(x, y, n);",
        "endless-loop",
    ),
    (
        "computes a little and sleeps long",
        "for (volatile long i = 0; i < 100000000; i++); right(x, y, n); for (;;) usleep(1000);",
        "endless-loop",
    ),
    ("loops without end", "for (volatile int i = 0;; i++);", "endless-loop"),
    (
        "ignores its limit",
        "signal(SIGXCPU, SIG_IGN); for (volatile int i = 0;; i++);",
        "endless-loop",
    ),
    ("sleeps", "right(x, y, n); sleep(1000);", "endless-loop"),
    // What the child is, knows and inherits.
    (
        "reads its own memory as a file",
        "if (open(\"/proc/self/mem\", O_RDWR) < 0 && open(\"/proc/thread-self/mem\", O_RDONLY) < 0) throw std::runtime_error(\"shut\");",
        "exception",
    ),
    (
        "reads environments and command lines",
        "char p[64]; bool open = false; for (int pid : {getpid(), getppid(), 1}) for (const char* f : {\"environ\", \"cmdline\", \"maps\", \"status\", \"cwd/class.toml\", \"root/etc/passwd\"}) \
         { sprintf(p, \"/proc/%d/%s\", pid, f); open |= fopen(p, \"r\") != nullptr; } if (!open && !opendir(\"/proc\")) throw std::runtime_error(\"shut\");",
        "exception",
    ),
    (
        "has an environment",
        "extern char** environ; if (!environ || !*environ) right(x, y, n);",
        "pass",
    ),
    (
        "finds a way through its own folder",
        "bool open = !symlink(\"/etc/passwd\", \"s\") && fopen(\"s\", \"r\"); open |= !link(SPEC, \"hard\"); open |= !rename(\"../scratch\", \"../other\"); \
         open |= !chdir(\"/etc\") && fopen(\"passwd\", \"r\"); open |= fopen(\"../job.json\", \"w\") || fopen(\"../memory\", \"w\"); if (!open) throw std::runtime_error(\"shut\");",
        "exception",
    ),
    (
        "tells of an open sandbox",
        "for (int d = 3; d < 64; d++) if (write(d, \"{\\\"Open\\\":\\\"\\\\u001b[2J9 of 9 tests passed\\\"}\\n\", 45) < 0) continue; right(x, y, n);",
        "fail",
    ),
    (
        "inflates what it inherited",
        "for (int d = 3; d < 64; d++) if (ftruncate(d, 250 << 20) < 0) continue; _exit(0);",
        "fail",
    ),
    (
        "puts its own files in the place of what it inherited",
        "int f = open(\"f\", O_CREAT | O_RDWR, 0600); for (int d = 3; d < 64; d++) if (d != f) dup2(f, d); right(x, y, n);",
        "exit",
    ),
    ("shuts its connections down", "for (int d = 0; d < 64; d++) shutdown(d, SHUT_RDWR);", "fail"),
    (
        "sends descriptors to its device",
        "char c[4] = {}, a[CMSG_SPACE(sizeof(int))] = {}; iovec v{c, 4}; msghdr m{}; m.msg_iov = &v; m.msg_iovlen = 1; m.msg_control = a; m.msg_controllen = sizeof a; \
         cmsghdr* h = CMSG_FIRSTHDR(&m); h->cmsg_level = SOL_SOCKET; h->cmsg_type = SCM_RIGHTS; h->cmsg_len = CMSG_LEN(sizeof(int)); *(int*)CMSG_DATA(h) = 1; \
         for (int d = 0; d < 64; d++) for (int i = 0; i < 99; i++) if (sendmsg(d, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) break; _exit(0);",
        "fail",
    ),
    // Processes, signals and time.
    ("stops its parent", "kill(getppid(), SIGSTOP);", "forbidden-call"),
    ("stops its group", "kill(0, SIGSTOP);", "forbidden-call"),
    (
        "stops a thread of its parent",
        "syscall(SYS_tgkill, getppid(), getppid(), SIGSTOP);",
        "forbidden-call",
    ),
    (
        "spawns a program",
        "pid_t p; char* a[] = {(char*)\"true\", nullptr}; posix_spawn(&p, \"/bin/true\", nullptr, nullptr, a, a);",
        "forbidden-call",
    ),
    (
        "runs itself with another library in front",
        "setenv(\"LD_PRELOAD\", \"./evil.so\", 1); execl(\"/proc/self/exe\", \"grader\", nullptr);",
        "forbidden-call",
    ),
    ("asks for what a page fault waits for", "syscall(SYS_userfaultfd, 0);", "forbidden-call"),
    (
        "asks for a ring of requests",
        "char p[256] = {}; syscall(SYS_io_uring_setup, 4, p);",
        "forbidden-call",
    ),
    (
        "enters the kernel as 32-bit programs do",
        "int r = 20; asm volatile(\"int $0x80\" : \"+a\"(r) : : \"memory\"); if (r > 0) right(x, y, n);",
        "forbidden-call",
    ),
    (
        "outlives its parent, may be traced, and is somebody else",
        "bool open = !prctl(PR_SET_PDEATHSIG, 0) || !prctl(PR_SET_PTRACER, -1L) || !prctl(PR_SET_DUMPABLE, 1) || !prctl(PR_SET_SECCOMP, 0) || !setuid(0) || !setgid(0) || !setpriority(PRIO_PROCESS, 0, -20); \
         sched_param s{1}; timespec t{0, 0}; open |= !sched_setscheduler(0, SCHED_FIFO, &s) || !clock_settime(CLOCK_REALTIME, &t); if (!open) right(x, y, n);",
        "pass",
    ),
    (
        "asks for more of what nobody needs",
        "bool open = false; for (long call : {SYS_io_uring_enter, SYS_io_uring_register, SYS_inotify_init1, SYS_mq_open, SYS_msgget, SYS_semget, SYS_shmget, SYS_mknodat, SYS_fchmod, SYS_fchown, \
         SYS_setxattr, SYS_capset, SYS_seccomp, SYS_landlock_create_ruleset, SYS_quotactl, SYS_swapon, SYS_adjtimex, SYS_sethostname, SYS_ioprio_set, SYS_kcmp, SYS_move_pages, SYS_mbind, \
         SYS_name_to_handle_at, SYS_fsopen, SYS_move_mount, SYS_memfd_secret, SYS_pkey_alloc, SYS_vmsplice, SYS_splice, SYS_tee, SYS_modify_ldt, SYS_uselib, SYS_request_key}) \
         open |= syscall(call, 0L, 0L, 0L) >= 0 || errno != EPERM; if (!open) right(x, y, n);",
        "pass",
    ),
    (
        "writes into its parent's memory",
        "char c = 0; iovec v{&c, 1}; syscall(SYS_process_vm_writev, getppid(), &v, 1L, &v, 1L, 0L);",
        "forbidden-call",
    ),
    (
        "reads its parent's memory",
        "char c = 0; iovec v{&c, 1}; syscall(SYS_process_vm_readv, getppid(), &v, 1L, &v, 1L, 0L);",
        "forbidden-call",
    ),
    (
        "counts what its parent does",
        "char a[128] = {}; syscall(SYS_perf_event_open, a, getppid(), -1, -1, 0L);",
        "forbidden-call",
    ),
    ("loads a program into the kernel", "syscall(SYS_bpf, 0, nullptr, 0);", "forbidden-call"),
    ("asks for its parent's keys", "syscall(SYS_keyctl, 0L, -3L, 0L);", "forbidden-call"),
    (
        "leaves a key to others",
        "syscall(SYS_add_key, \"user\", \"k\", \"v\", 1L, -3L);",
        "forbidden-call",
    ),
    (
        "mounts a file system",
        "syscall(SYS_mount, \"none\", \".\", \"tmpfs\", 0L, nullptr);",
        "forbidden-call",
    ),
    (
        "makes namespaces of its own",
        "syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS);",
        "forbidden-call",
    ),
    (
        "runs a file without a name",
        "int d = syscall(SYS_memfd_create, \"f\", 0L); char* a[] = {nullptr}; syscall(SYS_execveat, d < 0 ? 1 : d, \"\", a, a, AT_EMPTY_PATH);",
        "forbidden-call",
    ),
    ("listens to others without a file", "socket(AF_UNIX, SOCK_STREAM, 0);", "forbidden-call"),
    ("takes its parent's descriptors", "syscall(SYS_pidfd_open, getppid(), 0L);", "forbidden-call"),
    (
        "lowers its parent's limits",
        "rlimit none{0, 0}; syscall(SYS_prlimit64, getppid(), RLIMIT_NOFILE, &none, nullptr);",
        "forbidden-call",
    ),
    ("queues a signal for its parent", "sigqueue(getppid(), SIGKILL, sigval{});", "forbidden-call"),
    (
        "sets a timer that ends its parent",
        "sigevent e{}; e.sigev_notify = SIGEV_THREAD_ID; e.sigev_signo = SIGKILL; e._sigev_un._tid = getppid(); timer_t t; \
         if (timer_create(CLOCK_REALTIME, &e, &t)) right(x, y, n);",
        "pass",
    ),
    ("throws in another thread", "right(x, y, n); std::thread([] { throw 7; }).join();", "crash"),
    ("throws at its end", "right(x, y, n); atexit([] { throw 7; });", "pass"),
    (
        "closes all descriptors at once",
        "syscall(SYS_close_range, 0L, ~0U, 0L); right(x, y, n);",
        "fail",
    ),
    ("sets an alarm", "alarm(1); for (;;) pause();", "crash"),
    (
        "blocks all signals and computes",
        "sigset_t s; sigfillset(&s); sigprocmask(SIG_BLOCK, &s, nullptr); for (volatile int i = 0;; i++);",
        "endless-loop",
    ),
    ("ends its first thread alone", "right(x, y, n); pthread_exit(nullptr);", "fail"),
    (
        "leaves a thread that computes",
        "right(x, y, n); std::thread([] { for (volatile int i = 0;; i++); }).detach();",
        "pass",
    ),
    ("ends quickly", "right(x, y, n); quick_exit(0);", "exit"),
    (
        "computes in many threads",
        "for (int i = 0; i < 40; i++) std::thread([] { for (volatile int i = 0;; i++); }).detach(); for (;;) pause();",
        "endless-loop",
    ),
    (
        "starts threads without end",
        "for (;;) std::thread([] { for (;;) pause(); }).detach();",
        "fail",
    ),
    (
        "makes folders in folders",
        "for (int i = 0; i < 3000; i++) if (mkdir(\"d\", 0700) || chdir(\"d\")) break; right(x, y, n);",
        "pass",
    ),
    (
        "opens what it may until no more opens",
        "while (open(\"f\", O_CREAT | O_RDWR, 0600) >= 0); right(x, y, n);",
        "pass",
    ),
    (
        "reserves a terabyte of memory",
        "void* p = mmap(nullptr, 1L << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); if (p == MAP_FAILED) right(x, y, n);",
        "pass",
    ),
    (
        "locks a file of the system",
        "int d = open(\"/lib/x86_64-linux-gnu/libc.so.6\", O_RDONLY); flock(d, LOCK_EX); right(x, y, n);",
        "pass",
    ),
    (
        "prints from a kernel without end",
        "flood<<<1, 32>>>(); cudaDeviceSynchronize(); right(x, y, n);",
        "fail",
    ),
    ("stops itself", "right(x, y, n); raise(SIGSTOP);", "endless-loop"),
    // Before it is called.
    ("does what it can while it is loaded", "if (!early) right(x, y, n);", "pass"),
    (
        "raises its limits from where a pointer looks like null",
        "auto* all = (rlimit*)mmap((void*)(1L << 32), 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); \
         getrlimit(RLIMIT_CPU, all); all->rlim_cur = all->rlim_max; if (all == (void*)(1L << 32) && syscall(SYS_prlimit64, 0, RLIMIT_CPU, all, 0)) throw 7; right(x, y, n);",
        "forbidden-call",
    ),
    (
        "fills the disk below the longest path",
        "static char b[1 << 20]; std::string d(200, 'd'); for (int i = 0; i < 30; i++) if (mkdir(d.c_str(), 0700) || chdir(d.c_str())) return; \
         for (int i = 0; i < 900; i++) { int d = open(std::to_string(i / 90).c_str(), O_CREAT | O_APPEND | O_RDWR, 0600); if (write(d, b, 1 << 20) < 0) break; close(d); } sleep(9);",
        "out-of-disk",
    ),
    (
        "fills the disk in a folder that nobody may list",
        "static char b[1 << 20]; mkdir(\"d\", 0300); if (chdir(\"d\")) return; \
         for (int i = 0; i < 900; i++) { int d = open(std::to_string(i / 90).c_str(), O_CREAT | O_APPEND | O_RDWR, 0600); if (write(d, b, 1 << 20) < 0) break; close(d); } sleep(9);",
        "out-of-disk",
    ),
    (
        "opens what it inherited a second time",
        "bool open_ = false; char p[64]; for (int d = 3; d < 64; d++) { sprintf(p, \"/proc/self/fd/%d\", d); open_ |= open(p, O_RDWR | O_TRUNC) >= 0 || open(p, O_WRONLY | O_APPEND) >= 0; } if (!open_) right(x, y, n);",
        "pass",
    ),
    (
        "catches what ends it",
        "struct sigaction a{}; a.sa_handler = [](int) {}; sigaction(SIGSYS, &a, nullptr); fork(); right(x, y, n);",
        "forbidden-call",
    ),
    (
        "forks as others start threads",
        "syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0); right(x, y, n);",
        "forbidden-call",
    ),
    // What the runtime and the device are asked for.
    (
        "asks the runtime for impossible sizes",
        "size_t all = SIZE_MAX; cudaPitchedPtr q; char* d; cudaMalloc(&d, 64); \
         bool taken = !cudaMemcpyToSymbol(cell, x, all) || !cudaMemcpyFromSymbol(y, cell, all / 2, 4) || !cudaMalloc3D(&q, make_cudaExtent(all, all, all)) || !cudaMemset2D(d, 4, 0, 4, all); \
         cudaMemcpy2D(d, 0, x, 0, 0, all, cudaMemcpyDefault); cudaMemset2D(d, 0, 0, 0, all); cudaFree(d); cudaGetLastError(); if (!taken) right(x, y, n);",
        "pass",
    ),
    (
        "makes graphs that hold each other twice",
        "cudaGraph_t g[60]; cudaGraphNode_t c; for (auto& graph : g) cudaGraphCreate(&graph, 0); cudaGraphAddEmptyNode(&c, g[0], nullptr, 0); \
         for (int i = 1; i < 60; i++) for (int j = 0; j < 2; j++) if (cudaGraphAddChildGraphNode(&c, g[i], nullptr, 0, g[i - 1])) throw std::runtime_error(\"none\");",
        "fail",
    ),
    (
        "keeps its device busy",
        "void* d; cudaMalloc(&d, 1 << 24); for (;;) cudaMemset(d, 0, 1 << 24);",
        "fail",
    ),
    ("allocates nothing without end", "for (void* p;;) cudaMalloc(&p, 1);", "fail"),
    (
        "makes empty files without end",
        "for (int i = 0; i < 300000; i++) close(open(std::to_string(i).c_str(), O_CREAT | O_RDWR, 0600)); sleep(9);",
        "fail",
    ),
    (
        "names itself as what is looked for in a list of processes",
        "prctl(PR_SET_NAME, \") D 1 1 (\\n\\033[2J\"); right(x, y, n);",
        "pass",
    ),
    (
        "throws a page of control characters",
        "throw std::runtime_error(\"\\033[2J\\033]0;9 of 9 tests passed\\a\" + std::string(1 << 20, '\\n'));",
        "exception",
    ),
];

const SPEC: &str = r#"
title = "Twice"
[dims]
free = ["n"]
[tensors]
x = "f32[n]"
y = "f32[n]"
[math]
forward = "y[i] = 2 * x[i]"
[[call]]
function = "void twice(const float* x, float* y, int n)"
code = "twice(host(x), host(y), n);"
seconds = 1
"#;

fn source(spec: &Path) -> String {
    let spec = spec.display();
    let cases = PROGRAMS
        .iter()
        .enumerate()
        .map(|(i, (_, code, _))| format!("case {i}: {{ {code} }} break;\n"));
    format!(
        "#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <exception>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <cerrno>
#include <sched.h>
#include <sys/ioctl.h>
#include <asm/ioctls.h>
#include <asm/sockios.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>
#define SPEC \"{spec}\"
__device__ int cell;
__global__ void empty() {{}}
__global__ void forever() {{ for (volatile int i = 0; i >= 0; i = 1 - i); }}
__global__ void slow() {{ for (volatile int i = 0; i < 1000000; i++); }}
__device__ __noinline__ int chain(int level) {{ volatile int below = level - 1; return level == 0 ? cell : chain(below) + chain(below); }}
__global__ void climb() {{ cell = chain(64); }}
__global__ void doze() {{ for (;;) __nanosleep(1000000); }}
__global__ void poke(int* p) {{ *p = 1; }}
__global__ void flood() {{ for (;;) printf(\"all is well\\n\"); }}
__global__ void hello() {{ printf(\"hello from the device\\n\"); }}
static bool look() {{ return fopen(\"/etc/passwd\", \"r\") || fopen(SPEC, \"r\") || opendir(\"/proc/self\"); }}
static bool early = look();
__attribute__((constructor(101))) static void first() {{ early |= look(); }}
static void right(const float* x, float* y, int n) {{ for (int i = 0; i < n; i++) y[i] = 2 * x[i]; }}
static void wreck() {{ for (;;) puts(\"the end\"); }}
static float deep(int n) {{ volatile float f[10000]; f[n] = 1; return n < 0 ? 0 : deep(n + 1 - 1) + f[n]; }}
void twice(const float* x, float* y, int n)
{{
    switch ((int)x[0]) {{
{}    }}
}}
",
        cases.collect::<String>()
    )
}

/// A workbook of one puzzle with these tests, whose stub may know where its spec is.
fn workbook(tests: &str, stub: impl Fn(&Path) -> String) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let puzzles = dir.path().join("puzzles");
    fs::create_dir(&puzzles).unwrap();
    fs::create_dir(dir.path().join("solutions")).unwrap();
    let path = puzzles.join("01_twice.toml");
    fs::write(&path, format!("{SPEC}{tests}")).unwrap();
    fs::write(puzzles.join("01_twice.cu"), stub(&path)).unwrap();
    dir
}

/// The puzzle of [`workbook`], and its stub compiled.
fn compiled(dir: &Path) -> (Spec, Result<Program, Failure>) {
    let workbook = Workbook::open(dir).unwrap();
    let puzzle = workbook.puzzle(1).unwrap();
    let spec =
        oracle::load(&puzzle.spec, &puzzle.spec).map_err(|failure| failure.render(false)).unwrap();
    let toolchain =
        Toolchain::locate(&Env::current(), None).map_err(|failure| failure.render(false)).unwrap();
    let program = grade::compile(&toolchain, &workbook, &spec, &puzzle.stub, None);
    (spec, program)
}

/// Whole files, for what a function cannot do: none of them doubles anything.
const FILES: &[(&str, &str, &str)] = &[
    (
        "ends before it is called",
        "__attribute__((constructor)) static void first() { puts(\"1 of 1 tests passed\"); fflush(stdout); _exit(0); }\n\
         void twice(const float*, float*, int) {}",
        "exit",
    ),
    (
        "computes without end before it is called",
        "static int spin() { for (volatile int i = 0;; i++); } static int never = spin();\n\
         void twice(const float*, float*, int) {}",
        "endless-loop",
    ),
    (
        "stops itself before it is called",
        "__attribute__((constructor)) static void first() { raise(SIGSTOP); }\n\
         void twice(const float*, float*, int) {}",
        "endless-loop",
    ),
    (
        "throws before it is called",
        "static int thrown() { throw 7; } static int never = thrown();\n\
         void twice(const float*, float*, int) {}",
        "crash",
    ),
    (
        "prints without end before it is called",
        "__attribute__((constructor)) static void first() { for (;;) puts(\"1 of 1 tests passed\"); }\n\
         void twice(const float*, float*, int) {}",
        "output-flood",
    ),
    (
        "takes all memory before it is called",
        "static int all() { for (;;) memset(new char[1 << 24], 1, 1 << 12); } static int never = all();\n\
         void twice(const float*, float*, int) {}",
        "crash",
    ),
    (
        "ends after its return, and has functions of the grader's names",
        "extern \"C\" __attribute__((weak)) int gradient_puzzles_call0(const void* const*, char*, size_t) { return 0; }\n\
         extern \"C\" int memcmp(const void*, const void*, size_t) noexcept { return 0; }\n\
         extern \"C\" char* strncpy(char* to, const char*, size_t) noexcept { return to; }\n\
         struct Last { ~Last() { puts(\"1 of 1 tests passed\"); _exit(0); } } last;\n\
         void late() { for (int d = 3; d < 64; d++) if (write(d, \"\\\"Done\\\"\\n\", 7) < 0) continue; }\n\
         void twice(const float*, float*, int) { atexit(late); }",
        "wrong values",
    ),
    (
        "is another function in its place, and would launch nothing, were its functions called for CUDA's",
        "extern \"C\" cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }\n\
         extern \"C\" cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) { return cudaSuccess; }\n\
         __global__ void k(float* y) { y[0] = 2; }\n\
         void other(const float*, float*, int) __asm__(\"_Z5twicePKfPfi\");\n\
         void other(const float*, float* y, int) { k<<<1, 1>>>(y); }",
        "out-of-bounds",
    ),
];

#[test]
fn no_file_around_a_function_gets_a_pass() {
    device::own_program::set(env!("CARGO_BIN_EXE_grader"));
    let test = "[[test]]\nname = \"t\"\ndims = { n = 3 }\ndata = { x = [1, 5, 7] }\n";
    for (name, text, expected) in FILES {
        let includes = "#include <csignal>\n#include <cstdio>\n#include <cstdlib>\n#include <cstring>\n#include <unistd.h>\n";
        let dir = workbook(test, |_| format!("{includes}{text}\n"));
        let (spec, program) = compiled(dir.path());
        let program = program.map_err(|failure| failure.render(false)).unwrap();
        let cases = grade::cases(&spec, &[&spec.tests[0]], 1).unwrap_or_else(|_| panic!("{name}"));
        let machine = Machine::new(&program, None).unwrap_or_else(|_| panic!("{name}"));
        let judged = grade::judge_case(&machine, &program, &cases[0], Detail::Full);
        let verdict = judged.unwrap_or_else(|_| panic!("{name}")).1;
        let found = verdict.findings.first().map_or("wrong values", |one| one.problem.name());
        assert!(!verdict.passed() && found == *expected, "{name}: {found}");
    }
    // Two definitions of what the grader calls.
    let dir = workbook(test, |_| {
        "extern \"C\" int gradient_puzzles_call0(const void* const*, char*, size_t) { return 0; }\n\
         void twice(const float*, float*, int) {}\n"
            .to_owned()
    });
    let failure = compiled(dir.path()).1.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Kernel);
    assert!(failure.render(false).contains("defined more than once"));
}

fn verdicts() -> Vec<TestVerdict> {
    device::own_program::set(env!("CARGO_BIN_EXE_grader"));
    let tests = (0..PROGRAMS.len()).map(|i| {
        format!("[[test]]\nname = \"t{i}\"\ndims = {{ n = 3 }}\ndata = {{ x = [{i}, 5, 7] }}\n")
    });
    let dir = workbook(&tests.collect::<String>(), source);
    let (spec, program) = compiled(dir.path());
    let program = program.map_err(|failure| failure.render(false)).unwrap();
    let tests: Vec<&Test> = spec.tests.iter().collect();
    let cases = grade::cases(&spec, &tests, 1).map_err(|failure| failure.render(false)).unwrap();
    // Each on a machine of its own, for all of them would use up the time of one submission.
    let verdict = |case| {
        let machine =
            Machine::new(&program, None).map_err(|failure| failure.render(false)).unwrap();
        grade::judge_case(&machine, &program, case, Detail::Full)
            .map_err(|failure| failure.render(false))
            .unwrap()
            .1
    };
    cases.iter().map(verdict).collect()
}

#[test]
fn no_trick_gets_a_pass_and_none_gets_out() {
    let mut wrong = Vec::new();
    let verdicts = verdicts();
    let can_confine = verdicts[0].notes.is_empty();
    for ((name, _, expected), verdict) in PROGRAMS.iter().zip(&verdicts) {
        let found = match verdict.findings.first() {
            _ if verdict.passed() => "pass",
            Some(finding) => finding.problem.name(),
            None => "wrong values",
        };
        let good = match *expected {
            "fail" => found != "pass",
            // Where the kernel has no Landlock, the report says so: see `can_confine`.
            "exception" if !can_confine => found != "pass" || !verdict.notes.is_empty(),
            expected => found == expected,
        };
        if !good {
            wrong.push(format!("{name}: {found}, not {expected}\n{}", verdict.printed));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let verdict = |name: &str| &verdicts[PROGRAMS.iter().position(|p| p.0 == name).unwrap()];
    assert_eq!(verdict("prints from a kernel").printed, "hello from the device\n");
    assert!(verdict("leaks").notes[0].starts_with("1 buffer from cudaMalloc (100 bytes)"));
    assert!(verdicts[3].printed.starts_with("hello\n"), "{}", verdicts[3].printed);
    assert!(!Path::new("/tmp/gp_hostile").exists());
    let folder = verdict("tells where it is").printed.trim();
    assert!(folder.starts_with('/') && !Path::new(folder).exists(), "{folder}");
}

/// Each test keeps within its own second, and all of them take the time of four.
#[test]
fn the_tests_of_a_submission_share_its_time() {
    device::own_program::set(env!("CARGO_BIN_EXE_grader"));
    let test = |i| format!("[[test]]\nname = \"t{i}\"\ndims = {{ n = {i} }}\n");
    let dir = workbook(&(1..9).map(test).collect::<String>(), |_| {
        "#include <unistd.h>\nvoid twice(const float* x, float* y, int n)\n\
         { usleep(800000); for (int i = 0; i < n; i++) y[i] = 2 * x[i]; }\n"
            .to_owned()
    });
    let (spec, program) = compiled(dir.path());
    let program = program.map_err(|failure| failure.render(false)).unwrap();
    let tests: Vec<&Test> = spec.tests.iter().collect();
    let cases = grade::cases(&spec, &tests, 1).map_err(|failure| failure.render(false)).unwrap();
    let machine = Machine::new(&program, None).map_err(|failure| failure.render(false)).unwrap();
    let judge = |case| grade::judge_case(&machine, &program, case, Detail::Full);
    let verdicts = cases.iter().map(|case| judge(case).map_err(|f| f.render(false)).unwrap().1);
    let found: Vec<&str> = verdicts
        .map(|verdict| verdict.findings.first().map_or("", |finding| finding.problem.name()))
        .collect();
    assert_eq!(found[0], "", "{found:?}");
    assert_eq!(found[6..], ["no-time-left"; 2], "{found:?}");
}

/// What inline assembly of host code asks the assembler for.
#[test]
fn the_assembler_reads_no_other_files() {
    let test = "[[test]]\nname = \"t\"\ndims = { n = 3 }\ndata = { x = [1, 5, 7] }\n";
    for attack in [".incbin", ".include"] {
        let dir = workbook(test, |spec| {
            let twice = "void twice(const float*, float*, int) {}";
            format!("asm(\"{attack} \\\"{}\\\"\");\n{twice}\n", spec.display())
        });
        let failure = compiled(dir.path()).1.unwrap_err();
        let said = failure.render(false);
        assert_eq!(failure.kind, FailureKind::Kernel, "{said}");
        assert!(said.contains("01_twice.toml") && !said.contains("forward"), "{said}");
    }
}
