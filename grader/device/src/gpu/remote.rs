//! The GPU as a device of host code, seen from the grader: a process that drives it, and does what it is asked.

use super::library;
use super::runtime::Runtime;
use cudart::device::{Answer, Device};
use cudart::error::CudaError;
use cudart::protocol::{
    KernelInfo, Launch, Launched, Properties, Reply, Request, read_frame, write_frame,
};
use cudart::server;
use diagnostic::{Failure, FailureKind};
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Name of the sub-command that must call [`child_main`].
pub const CHILD_COMMAND: &str = "__gpu-device";

/// How long one request may take: a context at the first, a whole launch later.
pub const TIME_OUT: Duration = Duration::from_secs(30);

/// A process that drives the GPU. It is ended on drop.
#[derive(Debug)]
pub struct Remote {
    process: Option<Child>,
    line: Mutex<Line>,
    properties: Properties,
}

/// The connection, and how it broke.
#[derive(Debug)]
struct Line {
    stream: UnixStream,
    broken: Option<Broken>,
}

/// Why the device does not answer any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It had not answered in [`TIME_OUT`].
    TimedOut,
    /// Its process ended.
    Ended,
}

impl Remote {
    /// Starts `command` as the process, and asks which device it has.
    ///
    /// # Errors
    /// It cannot be started, or has no GPU.
    pub fn start(mut command: Command) -> Result<Self, Failure> {
        if !library::may_exist() {
            return Err(no_gpu("there is no libcuda.so.1 on this machine"));
        }
        let started = || {
            let (ours, theirs) = UnixStream::pair()?;
            // What kernels print is the driver's to print: on the grader's standard error, away from the report.
            let process = command
                .arg(CHILD_COMMAND)
                .stdin(Stdio::from(OwnedFd::from(theirs)))
                .stdout(Stdio::from(std::io::stderr()))
                .process_group(0)
                .spawn()?;
            drop(command);
            Ok((process, ours))
        };
        let started = started().map_err(|e: std::io::Error| no_gpu(&e.to_string()));
        let (process, stream) = started?;
        Self::connect(Some(process), stream)
    }

    /// The device at the other end of `stream`.
    fn connect(process: Option<Child>, stream: UnixStream) -> Result<Self, Failure> {
        stream.set_read_timeout(Some(TIME_OUT)).map_err(|e| no_gpu(&e.to_string()))?;
        let line = Mutex::new(Line { stream, broken: None });
        let mut remote = Self { process, line, properties: Properties::default() };
        match remote.ask(&Request::Properties, &[]) {
            Ok((Reply::Properties(properties), _)) => remote.properties = properties,
            other => return Err(no_gpu(&format!("it answers {other:?}"))),
        }
        Ok(remote)
    }

    /// Why it does not answer any more.
    pub fn broken(&self) -> Option<Broken> {
        self.lock().broken
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, request: &Request, body: &[u8]) -> Answer<(Reply, Vec<u8>)> {
        let mut line = self.lock();
        if line.broken.is_some() {
            return Err(CudaError::UNKNOWN);
        }
        let asked = write_frame(&mut line.stream, request, &[body])
            .and_then(|()| read_frame::<Answer<Reply>>(&mut line.stream));
        match asked {
            Ok((answer, body)) => answer.map(|reply| (reply, body)),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                line.broken = Some(Broken::TimedOut);
                Err(CudaError::LAUNCH_TIMEOUT)
            }
            Err(_) => {
                line.broken = Some(Broken::Ended);
                Err(CudaError::UNKNOWN)
            }
        }
    }

    fn number(&self, request: &Request, body: &[u8]) -> Answer<u64> {
        match self.ask(request, body)? {
            (Reply::Number(number), _) => Ok(number),
            _ => Err(CudaError::UNKNOWN),
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            process.kill().ok();
            process.wait().ok();
        }
    }
}

fn no_gpu(why: &str) -> Failure {
    let title = format!("the GPU cannot be used for host code: {why}");
    Failure::new(FailureKind::Environment, title, "run with --backend vm, which needs no GPU")
}

/// Passes every request on.
impl Device for Remote {
    fn properties(&self) -> Properties {
        self.properties.clone()
    }

    fn load(&mut self, fat_binary: &[u8]) -> Answer<u64> {
        self.number(&Request::Load, fat_binary)
    }

    fn alloc(&mut self, bytes: u64) -> Answer<u64> {
        self.number(&Request::Alloc { bytes }, &[])
    }

    fn alloc_shared(&mut self, bytes: u64) -> Answer<u64> {
        self.number(&Request::AllocShared { bytes }, &[])
    }

    fn free(&mut self, address: u64) -> Answer<()> {
        self.ask(&Request::Free { address }, &[]).map(drop)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Answer<()> {
        self.ask(&Request::Write { address }, bytes).map(drop)
    }

    fn read(&mut self, address: u64, bytes: u64) -> Answer<Vec<u8>> {
        self.ask(&Request::Read { address, bytes }, &[]).map(|(_, body)| body)
    }

    fn fill(&mut self, address: u64, bytes: u64, value: u8) -> Answer<()> {
        self.ask(&Request::Fill { address, bytes, value }, &[]).map(drop)
    }

    fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Answer<()> {
        self.ask(&Request::Copy { to, from, bytes }, &[]).map(drop)
    }

    fn symbol(&mut self, module: u64, name: &str) -> Answer<(Option<u64>, u64)> {
        match self.ask(&Request::Symbol { module, name: name.to_owned() }, &[])? {
            (Reply::Symbol { address, bytes }, _) => Ok((address, bytes)),
            _ => Err(CudaError::UNKNOWN),
        }
    }

    fn write_symbol(&mut self, module: u64, name: &str, offset: u64, bytes: &[u8]) -> Answer<()> {
        let name = name.to_owned();
        self.ask(&Request::WriteSymbol { module, name, offset }, bytes).map(drop)
    }

    fn read_symbol(&mut self, module: u64, name: &str, offset: u64, bytes: u64) -> Answer<Vec<u8>> {
        let name = name.to_owned();
        self.ask(&Request::ReadSymbol { module, name, offset, bytes }, &[]).map(|(_, body)| body)
    }

    fn kernel(&self, module: u64, name: &str) -> Answer<KernelInfo> {
        match self.ask(&Request::Kernel { module, name: name.to_owned() }, &[])? {
            (Reply::Kernel(info), _) => Ok(info),
            _ => Err(CudaError::UNKNOWN),
        }
    }

    fn launch(&mut self, launch: &Launch, params: &[u8]) -> Answer<(Launched, String)> {
        match self.ask(&Request::Launch(launch.clone()), params)? {
            (Reply::Launched(launched), printed) => {
                Ok((launched, String::from_utf8_lossy(&printed).into_owned()))
            }
            _ => Err(CudaError::UNKNOWN),
        }
    }

    fn resize_heap(&mut self, bytes: u64) -> Answer<()> {
        self.ask(&Request::HeapSize { bytes }, &[]).map(drop)
    }

    fn memory(&self) -> (u64, u64) {
        match self.ask(&Request::Memory, &[]) {
            Ok((Reply::Memory { free, total }, _)) => (free, total),
            _ => (0, 0),
        }
    }
}

/// The whole life of the process: does what comes over the socket in the place of standard input.
pub fn child_main() -> ExitCode {
    let Ok(socket) = std::io::stdin().as_fd().try_clone_to_owned() else {
        return ExitCode::FAILURE;
    };
    // Without a GPU there is nobody to serve: the grader sees the socket close.
    let Ok(mut runtime) = Runtime::open() else { return ExitCode::FAILURE };
    match server::serve(UnixStream::from(socket), &mut runtime) {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cudart::vm::VmDevice;

    #[test]
    fn a_device_elsewhere_does_the_same() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let served = std::thread::spawn(move || server::serve(theirs, &mut VmDevice::default()));
        let mut remote = Remote::connect(None, ours).unwrap();
        assert_eq!(remote.properties(), VmDevice::default().properties());
        let address = remote.alloc(8).unwrap();
        remote.write(address, &[1, 2, 3, 4]).unwrap();
        remote.copy(address + 4, address, 4).unwrap();
        remote.fill(address, 2, 9).unwrap();
        assert_eq!(remote.read(address, 8).unwrap(), [9, 9, 3, 4, 1, 2, 3, 4]);
        assert_eq!(remote.read(address, 9), Err(CudaError::INVALID_VALUE));
        assert_eq!(remote.load(b"nothing"), Err(CudaError::NO_KERNEL_IMAGE));
        remote.resize_heap(16 << 20).unwrap();
        assert_eq!(remote.resize_heap(1 << 50), Err(CudaError::MEMORY_ALLOCATION));
        remote.free(address).unwrap();
        assert!(remote.free(address).is_err() && remote.broken().is_none());
        drop(remote);
        served.join().unwrap().unwrap();
    }

    #[test]
    fn a_device_that_is_gone_is_noticed() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        assert!(Remote::connect(None, ours).is_err());
    }
}
