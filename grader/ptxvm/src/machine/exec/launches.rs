//! Launches from kernels, lane by lane in ascending order: the functions of the device runtime that `<<<...>>>` becomes there.

use crate::isa::ir::{LaunchRequest, System};
use crate::lanes::lanes;
use crate::machine::child_launch::{ChildLaunch, PreparedLaunch};
use crate::machine::exec::Machine;
use crate::machine::monitor::Monitor;

/// The handle of `cudaStreamTailLaunch`.
const TAIL: u64 = 3;
/// `cudaErrorInvalidValue`.
const INVALID_VALUE: u64 = 1;

impl<M: Monitor> Machine<'_, '_, M> {
    pub(super) fn launch_call(&mut self, mask: u32, call: &System) {
        for lane in lanes(mask) {
            match *call {
                System::PrepareLaunch { request, result } => {
                    let buffer = self.prepare_launch(lane, request).unwrap_or(0);
                    if let Some(result) = result {
                        self.set_argument(lane, result, 8, buffer);
                    }
                }
                System::LaunchPrepared { parameters, stream, result } => {
                    let found = self.launch_prepared(lane, parameters, stream);
                    if let Some(result) = result {
                        self.set_argument(lane, result, 4, found.map_or(INVALID_VALUE, |()| 0));
                    }
                }
                _ => {}
            }
        }
    }

    /// The address of the buffer for the parameters of a launch, laid out as the kernel has them; none if there is no room, or the launch
    /// cannot start.
    fn prepare_launch(&mut self, lane: usize, request: LaunchRequest) -> Option<u64> {
        let LaunchRequest { kernel, grid, block, shared } = request;
        let address = self.argument(lane, kernel, 8);
        let size = |place| [0, 4, 8].map(|axis| self.argument(lane, place + axis, 4) as u32);
        let (grid, block) = (size(grid), size(block));
        let kernels = self.env.kernels;
        let kernel = kernels.iter().position(|kernel| kernel.address == address)?;
        if !hardware::can_launch(grid, block) {
            return None;
        }
        let shared = self.argument(lane, shared, 4) as u32;
        // A kernel without parameters has a buffer too, for null stands for a failure.
        let bytes = kernels[kernel].parameter_bytes().max(1);
        let parameters = self.env.memory.malloc(bytes as u64)?;
        let prepared = PreparedLaunch { parameters, kernel, grid, block, shared };
        self.state.children.prepared.push(prepared);
        Some(parameters)
    }

    fn launch_prepared(&mut self, lane: usize, parameters: u32, stream: u32) -> Option<()> {
        let address = self.argument(lane, parameters, 8);
        let stream = self.argument(lane, stream, 8);
        let prepared = &mut self.state.children.prepared;
        let found = prepared.iter().position(|launch| launch.parameters == address)?;
        let PreparedLaunch { kernel, grid, block, shared, .. } = prepared.swap_remove(found);
        let kernel = &self.env.kernels[kernel];
        let heap = &self.env.memory.heap;
        let byte = |at: u64| heap.get(address + at, 1).0 as u8;
        let parameter =
            |(offset, bytes): (u32, usize)| (u64::from(offset)..).take(bytes).map(byte).collect();
        let params = kernel.placed_params().map(parameter).collect();
        heap.free(address).ok()?;
        self.state.children.launched.push(ChildLaunch {
            kernel: kernel.name.clone(),
            grid,
            block,
            shared,
            params,
            last: stream == TAIL,
        });
        Some(())
    }
}
