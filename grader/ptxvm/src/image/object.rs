//! What the handle of a texture or surface object stands for.

use super::layout::Image;
use super::sampler::Sampler;
use std::collections::BTreeMap;

/// A texture or surface object.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageObject {
    /// What it looks at.
    pub image: Image,
    /// How it is read; `None` for a surface.
    pub sampler: Option<Sampler>,
}

/// All objects, by handle. A handle is never given twice, so that one that was destroyed is recognised.
#[derive(Debug, Default)]
pub(crate) struct ObjectTable {
    objects: BTreeMap<u64, ImageObject>,
    last: u64,
}

impl ObjectTable {
    /// Adds an object and returns its handle, which is not zero.
    pub fn add(&mut self, object: ImageObject) -> u64 {
        self.last += 1;
        self.objects.insert(self.last, object);
        self.last
    }

    /// Removes an object; false if there is none.
    pub fn remove(&mut self, handle: u64) -> bool {
        self.objects.remove(&handle).is_some()
    }

    /// The object of a handle.
    pub fn get(&self, handle: u64) -> Option<&ImageObject> {
        self.objects.get(&handle)
    }

    /// Whether an object has had this handle.
    pub fn was_destroyed(&self, handle: u64) -> bool {
        (1..=self.last).contains(&handle) && !self.objects.contains_key(&handle)
    }
}
