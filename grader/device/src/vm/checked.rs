//! The virtual machine as a device that holds the tensors of a case.

use super::findings::{in_allocation, in_tensors, race};
use super::refusals::cannot_launch;
use crate::backend::RunTensor;
use crate::checked::{CheckedDevice, Contents, Explanation, Placed, Step};
use crate::finding::Finding;
use cudart::device::Answer;
use cudart::error::CudaError;
use cudart::vm::VmDevice;
use diagnostic::{Failure, FailureKind};
use ptxvm::{Access, Init};
use puzzle::case::{CaseTensor, Role};
use puzzle::tensor::{decode, encode, size_of};

/// An error that no kernel causes.
pub fn cannot_run(error: CudaError) -> Failure {
    Failure::new(
        FailureKind::Environment,
        format!("the virtual machine cannot run the test: {error}"),
        "this is a bug in the grader, not in your kernel",
    )
}

impl CheckedDevice for VmDevice {
    /// Inputs can only be read; what is computed counts as unwritten.
    fn place(&mut self, CaseTensor { tensor, role }: &CaseTensor) -> Answer<u64> {
        let (init, access) = match role {
            Role::Input(values) => (Init::Bytes(encode(tensor.dtype, values)), Access::ReadOnly),
            Role::Output(_) | Role::Result | Role::Workspace => {
                (Init::Undefined { len: tensor.bytes() }, Access::ReadWrite)
            }
            Role::InPlace { start, .. } => {
                (Init::Bytes(encode(tensor.dtype, start)), Access::ReadWrite)
            }
        };
        let buffer = self.memory_mut().alloc(init, access);
        Ok(self.memory().address(buffer))
    }

    fn contents(
        &mut self,
        CaseTensor { tensor, .. }: &CaseTensor,
        address: u64,
    ) -> Answer<Contents> {
        let memory = self.memory();
        let (buffer, _) = memory.locate(address).ok_or(CudaError::INVALID_VALUE)?;
        let written = memory.defined_elements(buffer, size_of(tensor.dtype));
        let tensor = RunTensor { values: decode(tensor.dtype, &memory.bytes(buffer)), written };
        Ok(Contents { tensor, damage: Vec::new() })
    }

    fn findings(&mut self, placed: &Placed<'_>) -> Vec<Finding> {
        let memory = self.memory();
        let in_tensors = |found: &cudart::vm::LaunchFinding| {
            in_tensors(&found.kernel, &found.finding, |(buffer, offset)| {
                placed.element(memory.address(buffer), offset)
            })
        };
        let of_launches = self.launch_findings().map(in_tensors);
        let of_streams = self.races().iter().map(|found| {
            race(found, |(buffer, offset)| {
                let tensor = placed.element(memory.address(buffer), offset);
                let others = placed.count();
                tensor
                    .unwrap_or_else(|| in_allocation(memory, found.size, (buffer, offset), others))
            })
        });
        // What else goes wrong may follow from a missing order.
        of_streams.chain(of_launches).collect()
    }

    fn explain(&mut self, step: Step<'_>, error: CudaError) -> Explanation {
        Err(match (step, self.refused()) {
            (Step::Launch(launch), Some(refused)) => cannot_launch(launch, refused),
            _ => cannot_run(error),
        })
    }

    /// The machine says all in its findings.
    fn log(&mut self) -> String {
        String::new()
    }

    /// A new one is made in no time, and has no findings of earlier cases.
    fn clear(&mut self) -> bool {
        false
    }
}
