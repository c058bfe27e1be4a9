//! Timing on a GPU, in a process of its own for each kernel.
//!
//! ```text
//! grader                         child (`grader __bench-child`)
//! ask ──► request ──socket──► child ──► driver (cudarc), cublas, nvml
//!      ◄── answer ────────────┘
//! ```
//!
//! No expected value is ever in the child, and no kernel can tell a run that is checked from others.

mod child;
mod cublas;
mod cudnn;
mod driver;
mod nvml;

pub use child::child_main;

use crate::job::{Ceilings, Job, Request, Timed};
use device::gpu::{Child, NoAnswer};
use device::own_program;
use diagnostic::{Failure, FailureKind};
use serde::de::DeserializeOwned;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Name of the sub-command that must call [`child_main`].
pub const CHILD_COMMAND: &str = "__bench-child";

/// The kernels of `assets/draw.cu`.
pub const DRAW_PTX: &str = include_str!("../../assets/draw.ptx");

/// How long a request may take. Sampling ends after some seconds by itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// Measures what the GPU reaches.
///
/// # Errors
/// The GPU cannot be used.
pub fn ceilings() -> Result<Ceilings, Failure> {
    ask(&Request::Ceilings)?.map_err(|why| {
        Failure::new(
            FailureKind::Environment,
            format!("the GPU cannot be measured: {why}"),
            "run with --backend vm for counters and a model",
        )
    })
}

/// Times a job. The inner error says why it could not run: it crashed, or it did not end.
///
/// # Errors
/// The process cannot be started.
pub fn time(job: Box<Job>) -> Result<Result<Timed, String>, Failure> {
    ask(&Request::Time(job))
}

fn ask<T: DeserializeOwned>(request: &Request) -> Result<Result<T, String>, Failure> {
    let mut command = Command::new(own_program::path()?);
    command.arg(CHILD_COMMAND).stdout(Stdio::from(std::io::stderr()));
    let mut child = Child::spawn(&mut command).map_err(|error| {
        let title = format!("the grader cannot start its own program again: {error}");
        Failure::new(FailureKind::Environment, title, "check that it may start processes")
    })?;
    let answer = child.ask(request, PATIENCE).and_then(|frame| {
        frame.value::<Result<T, String>>().map_err(|error| child.invalid(error.to_string()))
    });
    Ok(answer.unwrap_or_else(|why| {
        Err(match why {
            NoAnswer::Ended { status, log } if log.is_empty() => format!("it crashed: {status}"),
            NoAnswer::Ended { status, log } => format!("it crashed: {status}; {log}"),
            NoAnswer::TimedOut(time) => format!("it did not end within {} s", time.as_secs()),
            NoAnswer::Invalid(what) => format!("its answer is invalid: {what}"),
        })
    }))
}
