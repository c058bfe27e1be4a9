//! The child's end: takes requests from the socket, has the device do them, answers.

use super::protocol::{Answer, DriverFailure, GpuInfo, Program, Request, read_frame, write_frame};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::time::Instant;

/// Something that runs programs: the GPU, or a stand-in for tests.
pub trait Device {
    /// Which one it is.
    fn info(&self) -> &GpuInfo;

    /// Fills the buffers with `body` (the image comes first), runs the launches in order, waiting for each, and returns
    /// the buffers' last contents. Calls `launching` before each launch.
    ///
    /// # Errors
    /// The driver refused a step.
    fn run(
        &mut self,
        program: &Program,
        body: &[u8],
        launching: &mut dyn FnMut(usize),
    ) -> Result<Vec<Vec<u8>>, DriverFailure>;
}

/// Serves until the grader closes the socket or the device fails.
///
/// A thread reads, so that the end of the grader is noticed even while a kernel runs forever: then `orphaned` is called
/// on that thread, to end the process.
///
/// # Errors
/// The socket broke, or a request is not understood.
pub fn serve<D: Device>(
    stream: UnixStream,
    open: impl FnOnce() -> Result<D, DriverFailure>,
    orphaned: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let mut from = io::BufReader::new(stream.try_clone()?);
    let mut to = stream;
    let (requests, next) = mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        while let Ok(request) = read_frame::<Request>(&mut from, u64::MAX) {
            if requests.send(request).is_err() {
                return;
            }
        }
        drop(requests);
        orphaned();
    })?;
    let Ok(mut request) = next.recv() else { return Ok(()) };
    let mut device = match open() {
        Ok(device) => device,
        Err(failure) => return write_frame(&mut to, &Answer::Failed(failure), &[]),
    };
    loop {
        match request {
            (Request::Probe, _) => {
                write_frame(&mut to, &Answer::Device(device.info().clone()), &[])?;
            }
            (Request::Run(program), body) => {
                let mut begin = None;
                let mut launching = |n| {
                    begin.get_or_insert_with(Instant::now);
                    // A grader that is gone is noticed at the last answer; the launch need not be disturbed.
                    write_frame(&mut to, &Answer::Launching(n), &[]).ok();
                };
                match device.run(&program, &body, &mut launching) {
                    Ok(buffers) => {
                        let nanoseconds = begin.map_or(0, |b| b.elapsed().as_nanos() as u64);
                        let parts: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
                        write_frame(&mut to, &Answer::Done { nanoseconds }, &parts)?;
                    }
                    Err(failure) => return write_frame(&mut to, &Answer::Failed(failure), &[]),
                }
            }
        }
        match next.recv() {
            Ok(another) => request = another,
            Err(mpsc::RecvError) => return Ok(()),
        }
    }
}
