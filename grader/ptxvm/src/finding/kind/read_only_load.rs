//! A load through a cache that is not kept coherent, of a word that the kernel writes.

use crate::finding::check::{Check, Site, Words};
use crate::finding::place::{Place, same_object};
use crate::source_loc::SourceLoc;

/// A load by `ld.global.nc` of a word that the same launch writes, before or after. Its cache is not kept coherent, so the load
/// may find an old value (PTX ISA 9.7.9.9). Or a read by a texture or surface of a word that the same launch has written before (CUDA C++
/// Programming Guide, "Read/Write Coherency").
#[derive(Clone, Debug, PartialEq)]
pub struct ReadOnlyLoad<P> {
    /// Bytes of the access.
    pub size: u32,
    /// The place. A caller that names its own objects has none for a variable of the module.
    pub place: Option<P>,
    /// Whether the finding's line is the write, and not the load.
    pub written_here: bool,
    /// Whether a texture or surface reads it.
    pub by_image: bool,
    /// The line of the other of the two.
    pub other: Option<SourceLoc>,
}

impl<P> ReadOnlyLoad<P> {
    pub(super) fn map_place<Q>(self, name: impl FnOnce(P) -> Option<Q>) -> ReadOnlyLoad<Q> {
        let Self { size, place, written_here, by_image, other } = self;
        ReadOnlyLoad { size, place: place.and_then(name), written_here, by_image, other }
    }
}

impl<P: Place> Check for ReadOnlyLoad<P> {
    fn name(&self) -> &'static str {
        "read-only-load"
    }

    fn same(&self, other: &Self) -> bool {
        (self.written_here, &self.other) == (other.written_here, &other.other)
            && same_object(self.place.as_ref(), other.place.as_ref())
    }

    fn words(&self, _: &Site<'_>) -> Words {
        let of =
            self.place.as_ref().map_or_else(|| "a __device__ variable".to_owned(), Place::name);
        if self.by_image {
            return Words::new(format!("read of {of} by a texture or surface, after this kernel wrote it"))
                .label("read here")
                .other(self.other.as_ref(), "written here")
                .help("the caches of textures and surfaces do not see what the running kernel has written: the read may find an old value")
                .help("read it in the next launch, or through a pointer");
        }
        let (written, loaded) = ("written here", "loaded as read-only here");
        let (here, there) = if self.written_here { (written, loaded) } else { (loaded, written) };
        Words::new(format!("read-only load of {of}, which the kernel itself writes"))
            .label(here)
            .other(self.other.as_ref(), there)
            .help("__ldg and `const ... __restrict__` promise that nobody writes this memory while the kernel runs: the load may find an old value")
            .help("pass the pointer without `const` or without `__restrict__`, and load without __ldg")
    }
}
