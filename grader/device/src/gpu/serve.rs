//! The child's end: the driver's device behind a socket, and a watch on whoever holds the other end.

use super::driver::GpuDevice;
use cudart::frame;
use cudart::server;
use diagnostic::EXIT_USAGE;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, getpid, kill_process};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Duration;

/// How long the process may take to end by itself once the grader is gone. It does not if it waits for a kernel that never
/// ends.
const LEAVE: Duration = Duration::from_millis(500);

/// The whole life of the child process: says which device it has, or why it has none, and does what comes over the socket in
/// the place of standard input.
pub fn child_main() -> ExitCode {
    // Whoever reads an exit code here is a person who typed the hidden command; the grader sees the socket close.
    serve().map_or_else(|_| ExitCode::from(EXIT_USAGE), |()| ExitCode::SUCCESS)
}

/// The socket in the place of a child's standard input. When its other end is closed, this process ends.
///
/// # Errors
/// Standard input cannot be used, or no thread can be started.
pub fn connected() -> io::Result<UnixStream> {
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let watched = OwnedFd::from(socket.try_clone()?);
    std::thread::Builder::new().spawn(move || end_with(&watched))?;
    Ok(socket)
}

fn serve() -> io::Result<()> {
    let mut socket = connected()?;
    match GpuDevice::open() {
        Ok(mut device) => {
            frame::write(&mut socket, &Ok::<_, ()>(device.info()))?;
            server::serve(socket, &mut device)
        }
        Err(error) => frame::write(&mut socket, &Err::<(), _>(error)),
    }
}

/// Ends this process when the other end of the socket is closed, whatever its main thread waits for.
fn end_with(socket: &OwnedFd) {
    while poll(&mut [PollFd::new(socket, PollFlags::RDHUP)], None) == Err(rustix::io::Errno::INTR) {
    }
    std::thread::sleep(LEAVE);
    kill_process(getpid(), Signal::KILL).ok();
}
