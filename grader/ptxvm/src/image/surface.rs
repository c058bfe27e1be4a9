//! Where an access of a surface goes (CUDA C++ Programming Guide, "Surface Memory"; PTX ISA 9.7.11).

use super::layout::Image;
use crate::isa::texture::{Geometry, Outside};

/// The place of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// This address.
    At(u64),
    /// Nowhere: a load gives zero, and nothing is stored.
    Nowhere,
    /// Outside, where that is a mistake.
    Outside,
}

/// The place of an access of `bytes` bytes. The first coordinate counts bytes.
pub fn place(
    image: &Image,
    geometry: Geometry,
    coordinates: [i64; 3],
    layer: u32,
    bytes: u32,
    outside: Outside,
) -> Place {
    let level = image.level(0);
    let texel_bytes = image.format.texel_bytes();
    let [width, height, depth] = level.extent.map(i64::from);
    let ends = [(width * i64::from(texel_bytes) - i64::from(bytes)).max(0), height - 1, depth - 1];
    let mut at = [0; 3];
    at[..geometry.dimensions()].copy_from_slice(&coordinates[..geometry.dimensions()]);
    if geometry.is_layered() {
        at[2] = layer.into();
    }
    for (index, end) in at.iter_mut().zip(ends) {
        if (0..=end).contains(index) {
            continue;
        }
        match outside {
            Outside::Clamp => *index = (*index).clamp(0, end),
            Outside::Zero => return Place::Nowhere,
            Outside::Trap => return Place::Outside,
        }
    }
    let [x, y, z] = at.map(|index| index as u64);
    Place::At(level.address + z * level.slice_bytes + y * level.row_bytes + x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::format::{ChannelKind, Format};
    use crate::image::layout::Level;

    #[test]
    fn outside_is_what_the_mode_says() {
        let level = Level { address: 4096, extent: [5, 4, 1], row_bytes: 20, slice_bytes: 80 };
        let format = Format::new(ChannelKind::Float, 32, 1).unwrap();
        let image = Image {
            format,
            levels: vec![level],
            dimensions: 2,
            is_layered: false,
            is_cube: false,
            is_linear: false,
        };
        let of = |x, y, outside| place(&image, Geometry::D2, [x, y, 99], 0, 4, outside);
        assert_eq!(of(16, 3, Outside::Trap), Place::At(4096 + 76));
        assert_eq!(of(20, 3, Outside::Trap), Place::Outside);
        assert_eq!(of(-4, 3, Outside::Zero), Place::Nowhere);
        assert_eq!(of(99, -1, Outside::Clamp), Place::At(4096 + 16));
    }
}
