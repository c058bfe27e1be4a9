//! A handle that is not a texture or surface object.

use crate::finding::check::{Check, Site, Words};

/// A texture or surface instruction on a handle that is not an object of its kind. Mostly a GPU does not notice: an H100 reads zeros or
/// what another object looks at, and stores nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct InvalidImage {
    /// The handle.
    pub handle: u64,
    /// Whether a surface is wanted.
    pub surface: bool,
    /// Whether it is an object of the other kind.
    pub is_other: bool,
    /// Whether it was an object that the host has destroyed.
    pub destroyed: bool,
}

impl Check for InvalidImage {
    fn name(&self) -> &'static str {
        "invalid-image"
    }

    fn same(&self, other: &Self) -> bool {
        self.handle == other.handle && self.surface == other.surface
    }

    fn words(&self, _: &Site<'_>) -> Words {
        let (wanted, other, create) = if self.surface {
            ("surface", "texture", "cudaCreateSurfaceObject")
        } else {
            ("texture", "surface", "cudaCreateTextureObject")
        };
        let words = Words::new(format!("{:#x} is not a {wanted} object", self.handle))
            .help("a GPU may read zeros or other data here without an error");
        if self.is_other {
            words.help(format!("it is a {other} object: make one of the same array with {create}"))
        } else if self.destroyed {
            words.help(format!("the host has destroyed this {wanted} object before the launch"))
        } else {
            words.help(format!(
                "pass the kernel what {create} has returned, and check that it returned cudaSuccess"
            ))
        }
    }
}
