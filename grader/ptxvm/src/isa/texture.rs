//! Instructions on textures and surfaces (PTX ISA 9.7.10 and 9.7.11).

use crate::isa::atom_op::AtomOp;
use crate::isa::names::{Elements, Pred, Reg32, Reg64, Slot};
use crate::isa::types::Type;

/// How an instruction looks at a texture or surface: the number of its dimensions, and what is indexed besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Geometry {
    D1,
    D2,
    D3,
    /// Layers of one dimension.
    Layered1D,
    /// Layers of two dimensions; the faces of a cube map as a surface are layers, too.
    Layered2D,
    /// The six faces of a cube, found by a direction.
    Cube,
    LayeredCube,
}

impl Geometry {
    /// From its name in PTX.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "1d" => Self::D1,
            "2d" => Self::D2,
            "3d" => Self::D3,
            "a1d" => Self::Layered1D,
            "a2d" => Self::Layered2D,
            "cube" => Self::Cube,
            "acube" => Self::LayeredCube,
            _ => return None,
        })
    }

    /// The number of coordinates, without the index of a layer: of a cube map, those of a direction.
    pub fn coordinates(self) -> usize {
        match self {
            Self::D1 | Self::Layered1D => 1,
            Self::D2 | Self::Layered2D => 2,
            Self::D3 | Self::Cube | Self::LayeredCube => 3,
        }
    }

    /// Whether the index of a layer stands before the coordinates.
    pub fn is_layered(self) -> bool {
        matches!(self, Self::Layered1D | Self::Layered2D | Self::LayeredCube)
    }

    /// Whether faces of cubes are read.
    pub fn is_cube(self) -> bool {
        matches!(self, Self::Cube | Self::LayeredCube)
    }

    /// The number of dimensions along which texels are filtered.
    pub fn dimensions(self) -> usize {
        if self.is_cube() { 2 } else { self.coordinates() }
    }
}

/// Where an instruction reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct Texel {
    /// The object.
    pub object: Reg64,
    pub geometry: Geometry,
    /// The coordinates, as many as the geometry has; floats or integers.
    pub coordinates: [Reg32; 3],
    pub layer: Option<Reg32>,
}

/// Which levels of a mipmapped texture are read.
#[derive(Clone, Copy, Debug)]
pub enum LevelOfDetail {
    /// The largest.
    Base,
    /// This one, a float.
    Level(Reg32),
    /// The one for these derivatives of the coordinates, floats.
    Gradients([Reg32; 3], [Reg32; 3]),
}

/// `tex` and `tld4`: a read with addressing and filtering.
#[derive(Clone, Copy, Debug)]
pub struct Fetch {
    pub at: Texel,
    /// Whether the coordinates are integers, and count texels.
    pub by_texel: bool,
    pub level: LevelOfDetail,
    /// `tld4`: this channel of the four texels that a bilinear filter would read.
    pub gathered: Option<u8>,
    pub dst: [Slot; 4],
    /// Whether the texels are in memory; only those of sparse arrays may not be.
    pub resident: Option<Pred>,
}

/// What becomes of a surface access outside the surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// It stops the kernel.
    Trap,
    /// It goes to the nearest place.
    Clamp,
    /// A load gives zero, and nothing is stored.
    Zero,
}

/// What is done to the place in a surface.
#[derive(Clone, Copy, Debug)]
pub enum SurfaceOp {
    /// `suld.b`; the horizontal coordinate counts bytes.
    Load(Elements),
    /// `sust.b`; the horizontal coordinate counts bytes.
    Store(Elements),
    /// `sust.p`: words become the surface's format; the horizontal coordinate counts texels.
    StoreFormatted([Slot; 4]),
    /// `sured.b`; the horizontal coordinate counts bytes.
    Reduce(AtomOp, Type, Slot),
}

/// An access of a surface.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceAccess {
    pub at: Texel,
    pub outside: Outside,
    pub op: SurfaceOp,
}

/// What `txq` and `suq` ask for. A GPU (driver 580) does not load a kernel that asks for anything else of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    Width,
    Height,
    Depth,
}

/// `txq` or `suq`: an attribute of an object, of the level of a texture that a register says, if any.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    pub object: Reg64,
    pub attribute: Attribute,
    pub level: Option<Reg32>,
    pub dst: Slot,
}

/// An instruction on textures or surfaces.
#[derive(Clone, Copy, Debug)]
pub enum Texture {
    Fetch(Fetch),
    Surface(SurfaceAccess),
    Query(Query),
}
