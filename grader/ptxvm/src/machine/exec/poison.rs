//! Loads and stores that only move values. An uninitialised value carries its poison along, and is reported where it leaves
//! the thread's own memory or is used.

use super::memory::AccessInfo;
use crate::finding::{AccessKind, Space, Uninitialised};
use crate::isa::ir::{PoisonCheckingChoice, PoisonPropagatingAccess};
use crate::isa::names::Pc;
use crate::isa::window::Window;
use crate::lanes::lanes;
use crate::machine::exec::Machine;
use crate::machine::monitor::Monitor;
use crate::machine::warp::poison::PoisonedRegister;

impl<M: Monitor> Machine<'_, '_, M> {
    pub(super) fn poison_propagating_load(
        &mut self,
        pc: Pc,
        mask: u32,
        load: &PoisonPropagatingAccess,
    ) {
        let PoisonPropagatingAccess { address, elements, copies } = load;
        let slot = elements.slots[0];
        for poisoned in &mut self.warp.poisoned {
            if poisoned.slot == slot {
                poisoned.mask &= !mask;
            }
        }
        self.warp.poisoned.retain(|poisoned| poisoned.mask != 0);
        self.each_window(mask, address, |machine, window, mask, addresses| {
            let mut faults = machine.load_from(mask, window, addresses, elements);
            let size = elements.size();
            if window == Window::Local {
                let undefined = std::mem::take(&mut faults.undefined);
                if *copies && undefined != 0 {
                    let offset = addresses[undefined.trailing_zeros() as usize] as i64;
                    machine.warp.poisoned.push(PoisonedRegister {
                        slot,
                        mask: undefined,
                        pc,
                        size,
                        offset,
                    });
                }
            }
            let info = AccessInfo {
                strong: address.marks.strength.is_strong(),
                ..AccessInfo::plain(pc, AccessKind::Read, size)
            };
            machine.accessed(info, window, mask, addresses, faults);
        });
    }

    /// Reports the lanes that take an uninitialised value.
    pub(super) fn poison_checking_choice(&mut self, mask: u32, choice: &PoisonCheckingChoice) {
        if self.warp.poisoned.is_empty() {
            return;
        }
        let first = self.warp.registers.p(choice.condition);
        for (slot, takes) in choice.values.into_iter().zip([first, !first]) {
            let taken = |poisoned: &&PoisonedRegister| {
                poisoned.slot == slot && poisoned.mask & takes & mask != 0
            };
            let Some(poisoned) = self.warp.poisoned.iter().find(taken).cloned() else { continue };
            let (space, size, offset) = (Space::Local, poisoned.size, poisoned.offset);
            let kind = Uninitialised { space, size, place: None, offset, array: None };
            self.record(kind, poisoned.pc, poisoned.mask & takes & mask);
        }
    }

    pub(super) fn poison_propagating_store(
        &mut self,
        pc: Pc,
        mask: u32,
        store: &PoisonPropagatingAccess,
    ) {
        let PoisonPropagatingAccess { address, elements, .. } = store;
        self.store(pc, mask, address, elements);
        if self.warp.poisoned.is_empty() {
            return;
        }
        let bytes = elements.element.bytes;
        self.each_window(mask, address, |machine, window, mask, addresses| {
            for (slot, index) in elements.slots.iter().zip(0..u64::from(elements.count)) {
                let moved = |poisoned: &&PoisonedRegister| {
                    poisoned.slot == *slot && poisoned.mask & mask != 0
                };
                let Some(poisoned) = machine.warp.poisoned.iter().find(moved).cloned() else {
                    continue;
                };
                let undefined = poisoned.mask & mask;
                if window == Window::Local {
                    for lane in lanes(undefined) {
                        let at = addresses[lane].wrapping_add(index * u64::from(bytes));
                        machine.warp.local.undefine(lane, at, bytes);
                    }
                    continue;
                }
                let (space, size, offset) = (Space::Local, poisoned.size, poisoned.offset);
                let kind = Uninitialised { space, size, place: None, offset, array: None };
                machine.record(kind, poisoned.pc, undefined);
            }
        });
    }
}
