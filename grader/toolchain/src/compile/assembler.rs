//! What kernels need on a GPU, with the cache before the assembler that says it.

use crate::cache::{Cache, Key};
use crate::front_end::FrontEnd;
use crate::resources::Resources;
use diagnostic::Failure;
use std::sync::Arc;

/// The assembler of a compiler and the cache of what it said.
#[derive(Clone, Debug)]
pub struct Assembler {
    front_end: Arc<dyn FrontEnd>,
    cache: Cache,
}

impl Assembler {
    pub(super) fn new(front_end: Arc<dyn FrontEnd>, cache: Cache) -> Self {
        Self { front_end, cache }
    }

    /// What the kernels of some PTX need on `sm_NN`.
    ///
    /// # Errors
    /// The assembler does not take the PTX, or cannot work.
    pub fn resources(&self, ptx: &str, sm: u32) -> Result<Vec<Resources>, Failure> {
        let key = self.front_end.identity().map(|identity| {
            Key::of("resources", [identity.as_slice(), &sm.to_le_bytes(), ptx.as_bytes()])
        });
        let kept = key
            .and_then(|key| self.cache.get(&key))
            .and_then(|entry| serde_json::from_slice(&entry).ok());
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let resources = self.front_end.resources(ptx, sm)?;
        if let (Some(key), Ok(entry)) = (key, serde_json::to_vec(&resources)) {
            // A cache that cannot be written was reported with the PTX.
            let _ = self.cache.put(&key, &entry);
        }
        Ok(resources)
    }
}
