//! From the child's end to what is wrong with the student's code.

use super::job::{Line, lines};
use crate::finding::HostFault;
use crate::sandbox::Bounds;
use rustix::process::Signal;
use toolchain::process::{Finished, Termination};

/// How host code ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct End {
    /// Which call was running, or had run last.
    pub call: usize,
    /// What is wrong; the first is what ended the run.
    pub faults: Vec<HostFault>,
    /// What the sandbox could not take away.
    pub open: Vec<String>,
}

/// What it means that a signal ended confined code, which may compute for so many seconds.
pub fn fault_of_signal(signal: i32, seconds: u64) -> HostFault {
    let is = |one: Signal| one.as_raw() == signal;
    match signal {
        _ if is(Signal::SYS) => HostFault::Forbidden,
        _ if is(Signal::XCPU) => HostFault::TooLong { seconds },
        _ => HostFault::Crash { signal },
    }
}

/// What the end of the process and its own report say together. The process must have ended by itself, with code 0, and
/// said that every call returned; anything else is a fault.
pub fn end(finished: &Finished, report: &str, bounds: &Bounds, output: usize) -> End {
    let seconds = bounds.cpu_seconds;
    // Who ignores the first signal is killed a second later.
    let too_long = finished.time.as_secs() >= seconds;
    let mut end = End::default();
    let mut done = false;
    let mut said = Vec::new();
    for line in lines(report) {
        match line {
            Line::Open(hole) => end.open.push(hole),
            Line::NotLoaded(message) => said.push(HostFault::NotLoaded { message }),
            Line::Calling(call) => end.call = call,
            Line::Threw(message) if message.contains("bad_alloc") => {
                said.push(HostFault::OutOfMemory { limit: bounds.memory });
            }
            Line::Threw(message) => said.push(HostFault::Exception { message }),
            Line::CudaError(name, message) => said.push(HostFault::CudaError { name, message }),
            Line::Returned(_) => {}
            Line::Done => done = true,
        }
    }
    let ended = match finished.ending {
        _ if finished.truncated => Some(HostFault::Flood { limit: output }),
        Termination::TimedOut => Some(HostFault::TooLong { seconds }),
        Termination::Signal(n) if n == Signal::KILL.as_raw() && too_long => {
            Some(HostFault::TooLong { seconds })
        }
        Termination::Signal(signal) => Some(fault_of_signal(signal, seconds)),
        Termination::Code(0) if done || !said.is_empty() => None,
        Termination::Code(code) => Some(HostFault::Exit { code }),
    };
    end.faults = ended.into_iter().chain(said).collect();
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const BOUNDS: Bounds = Bounds { cpu_seconds: 7, memory: 64 << 20, file_size: 1, open_files: 1 };

    fn faults(ending: Termination, truncated: bool, report: &str) -> Vec<HostFault> {
        let finished = Finished {
            ending,
            stdout: Vec::new(),
            stderr: Vec::new(),
            truncated,
            time: Duration::ZERO,
        };
        end(&finished, report, &BOUNDS, 1000).faults
    }

    #[test]
    fn only_a_program_that_returned_and_ended_by_itself_is_without_fault() {
        let done = "{\"Calling\":0}\n{\"Returned\":0}\n\"Done\"\n";
        assert_eq!(faults(Termination::Code(0), false, done), []);
        assert_eq!(
            faults(Termination::Code(0), false, "{\"Calling\":0}\n"),
            [HostFault::Exit { code: 0 }]
        );
        assert_eq!(faults(Termination::Code(0), false, ""), [HostFault::Exit { code: 0 }]);
        assert_eq!(faults(Termination::Code(1), false, done), [HostFault::Exit { code: 1 }]);
        assert_eq!(faults(Termination::Signal(11), false, done), [HostFault::Crash { signal: 11 }]);
        assert_eq!(faults(Termination::Signal(31), false, done), [HostFault::Forbidden]);
        assert_eq!(
            faults(Termination::Signal(24), false, done),
            [HostFault::TooLong { seconds: 7 }]
        );
        assert_eq!(faults(Termination::TimedOut, false, done), [HostFault::TooLong { seconds: 7 }]);
        assert_eq!(faults(Termination::TimedOut, true, done), [HostFault::Flood { limit: 1000 }]);
        assert_eq!(faults(Termination::Code(0), true, done), [HostFault::Flood { limit: 1000 }]);
    }

    #[test]
    fn the_words_of_exceptions_are_kept() {
        let threw = |words: &str| {
            faults(Termination::Code(0), false, &format!("{{\"Threw\":{words:?}}}\n"))
        };
        assert_eq!(threw("oops"), [HostFault::Exception { message: "oops".into() }]);
        assert_eq!(threw("std::bad_alloc"), [HostFault::OutOfMemory { limit: 64 << 20 }]);
    }

    #[test]
    fn what_is_not_a_line_of_the_report_is_left_out() {
        let report = "hello\n{\"Calling\":0\n\u{0}\n{\"Returned\":0}\n\"Dome\"\n";
        assert_eq!(faults(Termination::Code(0), false, report), [HostFault::Exit { code: 0 }]);
    }
}
