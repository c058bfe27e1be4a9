//! What became of host code, in words.

use device::finding::HostFault;
use ptxvm::finding::Words;

/// What is said of host code that did not return.
pub(super) fn words(fault: &HostFault) -> Words {
    let (title, help): (String, &str) = match fault {
        HostFault::Crash { signal } => crash(*signal),
        HostFault::Exit { code } => (
            format!("the code ended the program with exit code {code} instead of returning"),
            "return from the function; the tests go on from there",
        ),
        HostFault::Exception { message } => {
            (format!("the function threw an exception: {message}"), "catch it, or fix its cause")
        }
        HostFault::OutOfMemory { limit } => (
            format!("the code asked for more memory than its limit of {} MiB", limit >> 20),
            "is a size wrong, or does a loop allocate memory that is never freed?",
        ),
        HostFault::TooLong { seconds } => (
            format!("the host code was still running after {seconds} s"),
            "does every loop end? does the code wait for something that never happens?",
        ),
        HostFault::NoTimeLeft { seconds } => (
            format!(
                "the tests before this one have used up the time of the whole file: {seconds} s of host code, or as much on the device"
            ),
            "does the code sleep, or do far more than it needs?",
        ),
        HostFault::Flood { limit } => (
            format!("the code printed more than {} KiB and was stopped", limit >> 10),
            "remove prints from loops",
        ),
        HostFault::OutOfDisk { limit } => (
            format!("the code's files took more than {} MiB, and it was stopped", limit >> 20),
            "does a loop write, or make files, without end?",
        ),
        HostFault::Forbidden => (
            "the code made a system call that is not allowed here, and was stopped".into(),
            "host code may not start processes or programs, open network connections, or touch other processes",
        ),
        HostFault::NotLoaded { message } => (
            format!("the compiled code cannot be loaded: {message}"),
            "does it call a function that is never defined?",
        ),
        HostFault::CudaError { name, message } => (
            format!("a CUDA call failed: {name} ({message})"),
            "check what every CUDA call returns, and cudaGetLastError() after a launch: it names the call",
        ),
        HostFault::TooManyThreads { kernel, threads } => (
            format!("{kernel} was launched with {threads} threads, and was stopped"),
            "that is far more than the number of elements: a grid is a number of blocks, not of threads",
        ),
        HostFault::Disconnected => (
            "the code broke the connection to the device".into(),
            "it closed or wrote to a file that it did not open",
        ),
    };
    Words::new(title).help(help)
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
            "an access to memory that does not exist",
            "is the index or the pointer wrong?",
        ),
        8 => ("SIGFPE", "an integer division by zero", "which size or count is 0?"),
        9 => ("SIGKILL", "the system killed it", "it may have used up the machine's memory"),
        11 => (
            "SIGSEGV",
            "an access to memory that the program does not own",
            "device memory cannot be read or written on the host: copy it with cudaMemcpy; \
             or an index is out of range, or a pointer was never set, or malloc found no more memory and gave a null pointer",
        ),
        25 => ("SIGXFSZ", "a file grew too large", "does a loop write without end?"),
        _ => ("", "a signal ended it", "the program ended early"),
    };
    let name = if name.is_empty() { format!("signal {signal}") } else { name.to_owned() };
    (format!("the host code crashed: {words} ({name})"), help)
}
