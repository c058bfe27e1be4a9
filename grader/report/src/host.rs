//! What became of host code, in words.

use device::finding::HostFault;

/// Title, label of the marked place (there is none), help.
pub(super) fn words(fault: &HostFault) -> (String, String, Vec<String>) {
    let (title, help): (String, &str) = match fault {
        HostFault::Crash { signal } => crash(*signal),
        HostFault::Exit { code } => (
            format!("the code ended the program with exit code {code} instead of returning"),
            "return from the function; the tests go on from there",
        ),
        HostFault::Exception { message } => (
            format!("the function threw an exception: {message}"),
            "catch it, or mend what it complains of",
        ),
        HostFault::OutOfMemory { limit } => (
            format!("the code asked for more memory than the {} MiB it may have", limit >> 20),
            "is a size wrong, or is memory taken in a loop and never given back?",
        ),
        HostFault::TooLong { seconds } => (
            format!("the host code was still running after {seconds} s"),
            "does a loop ever end? does it wait for something that never comes?",
        ),
        HostFault::Flood { limit } => (
            format!("the code printed more than {} KiB and was stopped", limit >> 10),
            "leave out prints in loops",
        ),
        HostFault::Forbidden => (
            "the code asked the system for something that is not allowed here, and was stopped"
                .into(),
            "it may not start processes or programs, open network connections, or touch other processes",
        ),
        HostFault::NotLoaded { message } => (
            format!("the compiled code cannot be loaded: {message}"),
            "does it call a function that is nowhere defined?",
        ),
        HostFault::CudaError { name, message } => (
            format!("a CUDA call failed: {name} ({message})"),
            "check what every CUDA call returns, and cudaGetLastError() after a launch: it names the call",
        ),
        HostFault::TooManyThreads { kernel, threads } => (
            format!("{kernel} was launched with {threads} threads, and was stopped"),
            "that is far more than there are elements: the grid has blocks, not threads",
        ),
        HostFault::Disconnected => (
            "the code broke the connection to the device".into(),
            "it closes or writes to files that it did not open",
        ),
    };
    (title, String::new(), vec![help.to_owned()])
}

/// Signals as signal(7) names them.
fn crash(signal: i32) -> (String, &'static str) {
    let (name, words, help) = match signal {
        4 => (
            "SIGILL",
            "an illegal instruction",
            "does a function that returns a value reach its end without `return`?",
        ),
        6 => (
            "SIGABRT",
            "it was aborted",
            "an assertion failed, memory was freed twice, or an exception was not caught",
        ),
        7 => (
            "SIGBUS",
            "an access to memory that is not there",
            "is the index or the pointer wrong?",
        ),
        8 => ("SIGFPE", "an integer division by zero", "which size or count is 0?"),
        9 => ("SIGKILL", "the system killed it", "it may have used up the machine's memory"),
        11 => (
            "SIGSEGV",
            "an access to memory that is not the program's",
            "device memory cannot be read or written on the host: copy it with cudaMemcpy; \
             or an index is out of range, or a pointer was never set",
        ),
        25 => ("SIGXFSZ", "a file grew too large", "does a loop write without end?"),
        _ => ("", "a signal ended it", "the program ended in the middle"),
    };
    let name = if name.is_empty() { format!("signal {signal}") } else { name.to_owned() };
    (format!("the host code crashed: {words} ({name})"), help)
}
