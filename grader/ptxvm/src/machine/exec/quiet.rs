//! Loads and stores that only move values. That a value is uninitialised moves along with it, and is told where it leaves the
//! thread's own memory or is used.

use super::memory::What;
use crate::finding::{AccessKind, FindingKind, Space};
use crate::isa::ir::QuietAccess;
use crate::isa::names::Pc;
use crate::isa::window::Window;
use crate::lanes::lanes;
use crate::machine::exec::state::Machine;
use crate::machine::monitor::Monitor;
use crate::machine::warp::moving::Moving;

impl<M: Monitor> Machine<'_, '_, M> {
    pub(super) fn quiet_load(&mut self, pc: Pc, mask: u32, load: &QuietAccess) {
        let QuietAccess { address, elements, copies } = load;
        let slot = elements.slots[0];
        for moving in &mut self.warp.moving {
            if moving.slot == slot {
                moving.mask &= !mask;
            }
        }
        self.warp.moving.retain(|moving| moving.mask != 0);
        self.each_window(mask, address, |machine, window, mask, addresses| {
            let mut faults = machine.load_from(mask, window, addresses, elements);
            let size = elements.size();
            if window == Window::Local {
                let undefined = std::mem::take(&mut faults.undefined);
                if *copies && undefined != 0 {
                    let offset = addresses[undefined.trailing_zeros() as usize] as i64;
                    machine.warp.moving.push(Moving { slot, mask: undefined, pc, size, offset });
                }
            }
            let what = What { strong: address.strong, ..What::plain(pc, AccessKind::Read, size) };
            machine.accessed(what, window, mask, addresses, faults);
        });
    }

    pub(super) fn quiet_store(&mut self, pc: Pc, mask: u32, store: &QuietAccess) {
        let QuietAccess { address, elements, .. } = store;
        self.store(pc, mask, address, elements);
        if self.warp.moving.is_empty() {
            return;
        }
        let bytes = elements.element.bytes;
        self.each_window(mask, address, |machine, window, mask, addresses| {
            for (slot, index) in elements.slots.iter().zip(0..u64::from(elements.count)) {
                let moved = |moving: &&Moving| moving.slot == *slot && moving.mask & mask != 0;
                let Some(moving) = machine.warp.moving.iter().find(moved).cloned() else {
                    continue;
                };
                let undefined = moving.mask & mask;
                if window == Window::Local {
                    for lane in lanes(undefined) {
                        let at = addresses[lane].wrapping_add(index * u64::from(bytes));
                        machine.warp.local.undefine(lane, at, bytes);
                    }
                    continue;
                }
                let (space, size, offset) = (Space::Local, moving.size, moving.offset);
                let kind = FindingKind::Uninitialised { space, size, buffer: None, offset };
                machine.record(kind, moving.pc, undefined);
            }
        });
    }
}
