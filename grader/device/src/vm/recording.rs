//! Records what one block of a launch does.

use super::{Session, VmBackend};
use crate::backend::RunTensor;
use diagnostic::Failure;
use ptxvm::{BufferId, Kernel, Recording, RecordingRequest, Register};
use puzzle::case::Case;

/// What one block of a launch did, and what the tensors held before and after the launch.
#[derive(Debug)]
pub struct BlockRecording {
    /// The steps and accesses.
    pub recording: Recording,
    /// For each tensor of the case its buffer in the recording, and the address of its first element.
    pub buffers: Vec<Option<(BufferId, u64)>>,
    /// The contents of the tensors before the launch.
    pub before: Vec<RunTensor>,
    /// The contents of the tensors after the launch.
    pub after: Vec<RunTensor>,
}

impl VmBackend {
    /// Runs the launches of a case up to `launch`, and records `block` of that one, at most so many steps. `registers` chooses
    /// what is recorded of the registers.
    ///
    /// # Errors
    /// As [`Backend::run`](crate::backend::Backend::run).
    pub fn record(
        &self,
        case: &Case,
        launch: usize,
        block: [u32; 3],
        steps: usize,
        registers: impl FnOnce(&Kernel) -> Vec<Register>,
    ) -> Result<BlockRecording, Failure> {
        let mut session = Session::new(self, (&case.tensors, &case.launches))?;
        for earlier in &case.launches[..launch] {
            session.launch(earlier, ptxvm::launch)?;
        }
        let before = session.contents()?;
        let recording =
            session.launch(&case.launches[launch], |module, kernel, start, memory, options| {
                let request = RecordingRequest { block, registers: registers(kernel), steps };
                ptxvm::launch_recorded(module, kernel, start, memory, options, request)
            })?;
        let after = session.contents()?;
        let address =
            |tensor| session.buffer(tensor).map(|buffer| (buffer, session.placed.address(tensor)));
        let buffers = (0..case.tensors.len()).map(address).collect();
        Ok(BlockRecording { recording, buffers, before, after })
    }
}
