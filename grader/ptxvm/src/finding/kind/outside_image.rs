//! An access outside a texture or surface, where the instruction does not say what becomes of it.

use crate::finding::access::AccessKind;
use crate::finding::check::{Check, Fault, Site, Words};
use crate::image::layout::Image;
use crate::isa::texture::Texel;

/// A fetch beyond the linear memory of a texture, or an access outside a surface whose mode is to trap.
#[derive(Clone, Debug, PartialEq)]
pub struct OutsideImage {
    /// Load, store or atomic.
    pub access: AccessKind,
    /// Whether it is a surface.
    pub surface: bool,
    /// The coordinates; the first one of a surface counts bytes.
    pub coordinates: Vec<i64>,
    /// The index of the layer, if there is one.
    pub layer: Option<u32>,
    /// Width, height, and depth or number of layers, in texels.
    pub extent: [u32; 3],
    /// The size of a texel in bytes.
    pub texel_bytes: u32,
}

impl OutsideImage {
    /// Of a fetch from linear memory.
    pub(crate) fn fetch(image: &Image, coordinates: [i32; 3]) -> Self {
        Self {
            access: AccessKind::Read,
            surface: false,
            coordinates: vec![coordinates[0].into()],
            layer: None,
            extent: image.level(0).extent,
            texel_bytes: image.format.texel_bytes(),
        }
    }

    /// Of an access of a surface.
    pub(crate) fn surface(
        image: &Image,
        access: AccessKind,
        at: &Texel,
        coordinates: [i32; 3],
        layer: Option<u32>,
    ) -> Self {
        let count = at.geometry.coordinates();
        Self {
            access,
            surface: true,
            coordinates: coordinates.into_iter().take(count).map(i64::from).collect(),
            layer,
            extent: image.level(0).extent,
            texel_bytes: image.format.texel_bytes(),
        }
    }
}

impl Check for OutsideImage {
    fn name(&self) -> &'static str {
        if self.surface { "outside-surface" } else { "outside-texture" }
    }

    fn same(&self, other: &Self) -> bool {
        (self.surface, self.access, self.extent) == (other.surface, other.access, other.extent)
    }

    fn fault(&self) -> Option<Fault> {
        self.surface.then_some(Fault::IllegalAddress)
    }

    fn words(&self, _: &Site<'_>) -> Words {
        let [width, height, depth] = self.extent;
        let texel = self.texel_bytes;
        if !self.surface {
            let index = self.coordinates[0];
            return Words::new(format!(
                "texture fetch of texel {index}, outside the linear memory"
            ))
            .help(format!("the texture has {width} texels of {texel} bytes; the fetch gives zero"))
            .help("is the index too large, or sizeInBytes of the resource too small?");
        }
        let mut at: Vec<String> = ["x", "y", "z"]
            .iter()
            .zip(&self.coordinates)
            .map(|(name, index)| format!("{name} = {index}"))
            .collect();
        at.extend(self.layer.map(|layer| format!("layer = {}", layer as i32)));
        let mut size = vec![format!("{} bytes in x ({width} texels of {texel})", width * texel)];
        if self.coordinates.len() > 1 {
            size.push(format!("{height} rows in y"));
        }
        if self.layer.is_some() {
            size.push(format!("{depth} layers"));
        } else if self.coordinates.len() > 2 {
            size.push(format!("{depth} slices in z"));
        }
        let noun = self.access.noun();
        Words::new(format!("surface {noun} outside the surface, at {}", at.join(", ")))
            .help(format!("the surface has {}; x counts bytes", size.join(", ")))
            .help("such an access stops the kernel; cudaBoundaryModeZero and cudaBoundaryModeClamp allow it")
    }
}
