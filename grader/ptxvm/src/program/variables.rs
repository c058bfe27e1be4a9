//! The variables of a module: placing them in a memory, and what the host reads and writes of them between launches.

use super::module::Module;
use crate::memory::buffer::BufferId;
use crate::memory::global::Memory;

/// Brings the module's variables into memory, unless an earlier launch did.
pub(crate) fn place_variables(module: &Module, memory: &mut Memory) -> BufferId {
    if let Some(first) = memory.module_variables(module.id) {
        return first;
    }
    let first = memory.next_variable();
    let values = module.variables.iter().map(|variable| {
        let mut bytes = variable.bytes.clone();
        for &(place, other, addend) in &variable.addresses {
            let address = variable_address(first, other, addend);
            bytes[place..place + 8].copy_from_slice(&address.to_le_bytes());
        }
        (variable.name.clone(), bytes)
    });
    let values: Vec<_> = values.collect();
    memory.add_variables(module.id, values.into_iter());
    first
}

pub(crate) fn variable_address(first: BufferId, index: u32, addend: i64) -> u64 {
    BufferId(first.0 + index as usize).address().wrapping_add_signed(addend)
}

impl Memory {
    /// Address and size of a module's variable (`__device__`), by its name in the PTX. The variables come into being with
    /// the first launch, or here.
    pub fn variable(&mut self, module: &Module, name: &str) -> Option<(u64, usize)> {
        let index = module.variables.iter().position(|variable| variable.name == name)?;
        let id = BufferId(place_variables(module, self).0 + index);
        Some((self.address(id), self.size(id)))
    }
}

impl Module {
    /// Place and size in bytes of a `.const` variable, by its name in the PTX.
    pub fn constant(&self, name: &str) -> Option<(usize, usize)> {
        let found = self.constant_names.iter().find(|constant| constant.name == name)?;
        Some((found.start as usize, found.size))
    }

    /// The bytes of a `.const` variable from `offset` on; None where they are not inside it.
    pub fn read_constant(&self, name: &str, offset: usize, bytes: usize) -> Option<Vec<u8>> {
        let (start, size) = self.constant(name)?;
        offset.checked_add(bytes).filter(|&end| end <= size)?;
        Some(self.constants.read((start + offset) as u32, bytes))
    }

    /// Writes into a `.const` variable; false where it would not be inside it.
    pub fn write_constant(&mut self, name: &str, offset: usize, bytes: &[u8]) -> bool {
        let Some((start, size)) = self.constant(name) else { return false };
        let inside = offset.checked_add(bytes.len()).is_some_and(|end| end <= size);
        if inside {
            let (start, end) = ((start + offset) as u32, (start + offset + bytes.len()) as u32);
            self.constants.fill(start, bytes);
            // What was an address there is one no more.
            self.addresses.retain(|&(place, ..)| place + 8 <= start || end <= place);
        }
        inside
    }
}
