//! The GPU from the grader's side: a device that a child process drives, with bounds on its time, and guards around the
//! tensors that it holds.

use super::child::{Broken, Child, NoAnswer};
use super::explain;
use crate::checked::{CheckedDevice, Contents, Explanation, Placed, Step, without_kernel};
use crate::finding::{Finding, Problem};
use crate::image::{self, Poison};
use cudart::device::{Answer, Caller, Device, ErrorText, Properties, Request};
use cudart::error::CudaError;
use cudart::frame::Bytes;
use diagnostic::Failure;
use puzzle::case::CaseTensor;
use serde::de::DeserializeOwned;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long the driver may take to tell which GPU it has.
const PROBE: Duration = Duration::from_secs(10);

/// How long a request that launches nothing may take: a context at the first, copies later.
const REQUEST: Duration = Duration::from_secs(30);

/// How long launches may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchTime {
    /// Each request has this long.
    Each(Duration),
    /// All of them, from when this was said on.
    Together(Duration),
}

/// A GPU in a process of its own. The process is ended on drop.
#[derive(Debug)]
pub struct RemoteGpu {
    child: Child,
    info: Properties,
    launch_time: LaunchTime,
    /// How long launches have taken.
    spent: Duration,
    /// Why it does not answer any more.
    broken: Option<Broken>,
    /// Where the images of the tensors begin.
    images: Vec<u64>,
    /// What they start from.
    poison: Poison,
}

impl RemoteGpu {
    /// Starts `command` as the process, and learns which device it has.
    ///
    /// # Errors
    /// It cannot be started, or its driver has no device.
    pub fn start(command: &mut Command) -> Result<Self, Failure> {
        let doing = "querying the GPU";
        let mut child = Child::spawn(command).map_err(|error| explain::not_started(&error))?;
        let hello = child.listen(PROBE).and_then(|frame| {
            let hello: Result<Properties, ErrorText> =
                frame.value().map_err(|error| child.invalid(error.to_string()))?;
            Ok(hello)
        });
        let broken = |why| Broken { why, in_launch: false };
        let hello = hello.map_err(|why| without_kernel(explain::broken(&broken(why), doing)))?;
        let info =
            hello.map_err(|error| without_kernel(explain::driver(Step::Open, &error, None, "")))?;
        Ok(Self {
            child,
            info,
            launch_time: LaunchTime::Each(REQUEST),
            spent: Duration::ZERO,
            broken: None,
            images: Vec::new(),
            poison: Poison::FIRST,
        })
    }

    /// Which device it is.
    pub fn info(&self) -> &Properties {
        &self.info
    }

    /// From now on launches may take so long.
    pub fn bound_launches(&mut self, time: LaunchTime) {
        self.launch_time = time;
        self.spent = Duration::ZERO;
    }

    /// From now on tensors are placed in this poison.
    pub fn set_poison(&mut self, poison: Poison) {
        self.poison = poison;
    }

    fn stop(&mut self, why: NoAnswer, in_launch: bool) -> CudaError {
        let error = match why {
            NoAnswer::TimedOut(_) => CudaError::LAUNCH_TIMEOUT,
            NoAnswer::Ended { .. } | NoAnswer::Invalid(_) => CudaError::UNKNOWN,
        };
        self.broken = Some(Broken { why, in_launch });
        error
    }
}

impl Caller for RemoteGpu {
    fn call<T: DeserializeOwned>(&mut self, request: &Request<'_>) -> Answer<T> {
        if self.broken.is_some() {
            return Err(CudaError::UNKNOWN);
        }
        let in_launch = matches!(request, Request::Launch { .. });
        let (all, within) = match self.launch_time {
            _ if !in_launch => (REQUEST, REQUEST),
            LaunchTime::Each(each) => (each, each),
            LaunchTime::Together(all) => (all, all.saturating_sub(self.spent)),
        };
        let begin = Instant::now();
        let answer = self.child.ask(request, within).and_then(|frame| {
            frame.value::<Answer<T>>().map_err(|error| self.child.invalid(error.to_string()))
        });
        if in_launch {
            self.spent += begin.elapsed();
        }
        answer.unwrap_or_else(|why| {
            let why = if let NoAnswer::TimedOut(_) = why { NoAnswer::TimedOut(all) } else { why };
            Err(self.stop(why, in_launch))
        })
    }
}

impl CheckedDevice for RemoteGpu {
    /// With guards around it, and poison in what is computed.
    fn place(&mut self, tensor: &CaseTensor) -> Answer<u64> {
        let image = image::before(tensor, self.poison);
        let start = self.alloc(image.len() as u64)?;
        self.images.push(start);
        self.write(start, Bytes(&image))?;
        Ok(start + image::Layout::of(&tensor.tensor).guard as u64)
    }

    fn contents(&mut self, tensor: &CaseTensor, address: u64) -> Answer<Contents> {
        let layout = image::Layout::of(&tensor.tensor);
        let image = self.read(address - layout.guard as u64, layout.total() as u64)?.0;
        image::after(tensor, &image, self.poison).ok_or_else(|| {
            let what = format!("{} bytes instead of {}", image.len(), layout.total());
            self.stop(NoAnswer::Invalid(what), false)
        })
    }

    /// A GPU finds nothing by itself; that it broke off is worth telling.
    fn findings(&mut self, _placed: &Placed<'_>) -> Vec<Finding> {
        let Some(broken) = &self.broken else { return Vec::new() };
        let kind = explain::broken(broken, "run").unwrap_or_else(|failure| Problem::Driver {
            code: "no answer".to_owned(),
            meaning: failure.diagnostics.first().map_or(String::new(), |d| d.title.clone()),
        });
        vec![Finding::of_kernel(kind, "")]
    }

    fn explain(&mut self, step: Step<'_>, error: CudaError) -> Explanation {
        if let Some(broken) = &self.broken {
            return explain::broken(broken, "loading the kernel and its data");
        }
        let text = self.error_text(error).unwrap_or_else(|_| error.into());
        // Its context may be spoilt, and its last words come with its end.
        let (status, log) = (self.child.leave(), self.child.log());
        let explanation = explain::driver(step, &text, Some(&self.info), &log);
        self.stop(NoAnswer::Ended { status, log }, false);
        explanation
    }

    fn log(&mut self) -> String {
        self.child.log()
    }

    /// Not if it has broken off, or has said something: later cases are not to say it again.
    fn clear(&mut self) -> bool {
        let images = std::mem::take(&mut self.images);
        images.into_iter().all(|image| self.free(image).is_ok())
            && self.broken.is_none()
            && self.log().is_empty()
    }
}
