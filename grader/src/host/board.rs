//! The device of a case: it holds the tensors, and does what the child's CUDA calls ask for.

use crate::backend::RunTensor;
use crate::case::CaseTensor;
use crate::failure::Failure;
use crate::finding::Finding;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long the device has worked so far.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<AtomicU64>);

impl Clock {
    /// The time in which host code could only wait.
    pub fn busy(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }
}

/// A device with the tensors of a case.
#[derive(Debug)]
pub struct Board {
    lens: Vec<usize>,
    clock: Clock,
}

impl Board {
    /// Takes memory for the tensors that are not on the host.
    pub fn new(tensors: &[CaseTensor], _on_host: &[bool]) -> Self {
        Self { lens: tensors.iter().map(|t| t.tensor.len()).collect(), clock: Clock::default() }
    }

    /// Its clock.
    pub fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// The device address of a tensor.
    pub fn address(&self, tensor: usize) -> u64 {
        0x1000_0000 + (tensor as u64) * 0x10_0000
    }

    /// Serves the child until it is gone.
    pub fn serve(&mut self, mut stream: UnixStream) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).ok();
        Ok(())
    }

    /// What is in a tensor now.
    pub fn contents(&self, tensor: usize) -> RunTensor {
        let len = self.lens[tensor];
        RunTensor { values: vec![0.0; len], written: vec![false; len] }
    }

    /// What is worth knowing of it.
    pub fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// What the checks of the device found.
    pub fn findings(&self, _folders: &(PathBuf, PathBuf)) -> Vec<Finding> {
        Vec::new()
    }
}
