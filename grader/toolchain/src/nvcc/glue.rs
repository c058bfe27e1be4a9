//! The compiled glue of host code, which stays the same while its source is edited.

use super::NvccFrontEnd;
use super::plan::{Plan, options};
use crate::cache::Key;
use crate::front_end::{FrontEnd, Glue};
use std::path::{Path, PathBuf};

/// The object file of a glue, and its place in the cache.
#[derive(Clone, Debug)]
pub struct GlueObject {
    path: PathBuf,
    /// `None`: not to be cached.
    key: Option<Key>,
}

impl GlueObject {
    /// That which the plan makes of this glue.
    pub fn new(nvcc: &NvccFrontEnd, plan: &Plan, glue: &Glue<'_>) -> Self {
        let folder = plan.glue_files.source.parent().unwrap_or(Path::new("/"));
        let key = glue.inputs.zip(nvcc.identity()).map(|(inputs, identity)| {
            let options = options(&plan.commands[plan.glue], folder);
            let parts = [identity.as_slice(), inputs.as_bytes()];
            Key::of("glue object", parts.into_iter().chain(options.map(str::as_bytes)))
        });
        Self { path: plan.glue_files.object.clone(), key }
    }

    /// Writes the object as it was made before; false if it was not, or cannot be written.
    pub fn restore(&self, nvcc: &NvccFrontEnd) -> bool {
        let object = self.key.and_then(|key| nvcc.cache.get(&key));
        object.is_some_and(|object| std::fs::write(&self.path, object).is_ok())
    }

    /// Keeps the object for the next time. A cache that cannot be written costs time only.
    pub fn keep(&self, nvcc: &NvccFrontEnd) {
        if let Some(key) = &self.key
            && let Ok(object) = std::fs::read(&self.path)
        {
            let _ = nvcc.cache.put(key, &object);
        }
    }
}
