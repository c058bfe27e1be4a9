//! What the program has made of arrays, textures and surfaces, so that it can ask for it.

use crate::images::{ArrayShape, TextureDesc};
use std::collections::BTreeMap;

/// The arrays and objects that exist.
#[derive(Debug, Default)]
pub(crate) struct Images {
    /// By handle, which is the device's number.
    pub arrays: BTreeMap<u64, ArrayRecord>,
    /// Texture and surface objects, by handle.
    pub objects: BTreeMap<u64, ObjectRecord>,
}

/// An array, or a level of a mipmapped one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrayRecord {
    /// What it was made from; of a level, what an array like it would be made from.
    pub shape: ArrayShape,
    /// The mipmapped array that it is a level of.
    pub parent: Option<u64>,
}

/// A texture or surface object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectRecord {
    /// The bytes of its `cudaResourceDesc`.
    pub resource: [u64; RESOURCE_WORDS],
    /// How a texture is read; `None` for a surface.
    pub texture: Option<TextureDesc>,
}

/// The size of `cudaResourceDesc` in words of 8 bytes.
pub(crate) const RESOURCE_WORDS: usize = 18;
