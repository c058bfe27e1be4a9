//! `tex`, `tld4`, `txq`, `suld`, `sust`, `sured`, `suq` on objects (PTX ISA 9.7.10 and 9.7.11).

use super::Body;
use super::body::{Register, Result};
use super::modifiers::Modifiers;
use crate::frontend::syntax::ast::{AddressBase, Operand};
use crate::isa::atom_op::AtomOp;
use crate::isa::ir::Op;
use crate::isa::names::{Element, Elements, Reg32, Reg64, Slot};
use crate::isa::texture::{
    Attribute, Fetch, Geometry, LevelOfDetail, Outside, Query, SurfaceAccess, SurfaceOp, Texel,
    Texture,
};
use crate::isa::types::Type;

/// What an instruction does with a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SurfaceUse {
    Load,
    Store,
    StoreFormatted,
    Reduce,
}

impl<'a> Body<'_, '_, '_, 'a> {
    fn emit_texture(&mut self, texture: Texture) {
        self.emit(Op::Texture(Box::new(texture)));
    }

    /// Lowers `tex` and `tld4`.
    pub(super) fn fetch(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let gathers = modifiers.base == "tld4";
        let level = modifiers.take_any(&["level", "grad", "base"]);
        let channel = |name: &str| ["r", "g", "b", "a"].iter().position(|other| *other == name);
        let gathered = if gathers { modifiers.take_last(channel) } else { None };
        let geometry = self.geometry(modifiers)?;
        // The type of the coordinates is the last one.
        let (Some(coordinate), Some(ty), true) =
            (modifiers.ty(), modifiers.ty(), modifiers.take("v4"))
        else {
            return Err(self.malformed(format!(
                "`{}` needs `.v4`, the type of the result and the type of the coordinates",
                modifiers.base
            )));
        };
        if !matches!(ty, Type::F32 | Type::S32 | Type::U32)
            || !matches!(coordinate, Type::F32 | Type::S32)
            || gathers && (gathered.is_none() || coordinate != Type::F32)
        {
            return Err(self.unsupported("a texture fetch with these types"));
        }
        let ([dst, at] | [dst, at, ..]) = operands else {
            return Err(self.wrong_count(operands.len(), 2));
        };
        let further = &operands[2..];
        let (level, further) = match (level, further) {
            (None | Some("base"), rest) => (LevelOfDetail::Base, rest),
            (Some("level"), [level, rest @ ..]) => {
                let ty = if coordinate == Type::F32 { Type::F32 } else { Type::S32 };
                (LevelOfDetail::Level(self.value_r(level, ty)?), rest)
            }
            (Some("grad"), [x, y, rest @ ..]) => {
                let [x, y] = [self.gradient(geometry, x)?, self.gradient(geometry, y)?];
                (LevelOfDetail::Gradients(x, y), rest)
            }
            _ => return Err(self.malformed("the level or the derivatives are missing")),
        };
        if !further.is_empty() {
            return Err(self.unsupported(
                "offsets and comparisons with a depth; add the offset to the coordinates",
            ));
        }
        let at = self.texel(geometry, at, coordinate)?;
        let (dst, resident) = match dst {
            Operand::Pair(pair) => (&pair.0, Some(self.dst_p(&pair.1)?)),
            single => (single, None),
        };
        let parts = self.vector(dst, 4)?;
        let mut slots = [Slot::Sink; 4];
        for (slot, part) in slots.iter_mut().zip(parts) {
            *slot = self.word(part)?;
        }
        self.emit_texture(Texture::Fetch(Fetch {
            at,
            by_texel: coordinate == Type::S32,
            level,
            gathered: gathered.map(|channel| channel as u8),
            dst: slots,
            resident,
        }));
        Ok(())
    }

    /// Lowers `suld`, `sust` and `sured`.
    pub(super) fn surface(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        wanted: SurfaceUse,
    ) -> Result<()> {
        modifiers.drop_all(&["ca", "cg", "cs", "cv", "wb", "wt"]);
        let outside = match modifiers.take_any(&["trap", "clamp", "zero"]) {
            Some("clamp") => Outside::Clamp,
            Some("zero") => Outside::Zero,
            _ => Outside::Trap,
        };
        let geometry = self.geometry(modifiers)?;
        if geometry.is_cube() {
            return Err(self.malformed("a cube map as a surface is `.a2d`"));
        }
        let Some(ty) = modifiers.ty() else {
            return Err(self.malformed(format!("`{}` needs a type", modifiers.base)));
        };
        let count = match modifiers.take_any(&["v2", "v4"]) {
            Some("v2") => 2,
            Some(_) => 4,
            None => 1,
        };
        let [first, second] = self.exactly(operands)?;
        let (at, data) = if wanted == SurfaceUse::Load { (second, first) } else { (first, second) };
        let parts = self.vector(data, count)?;
        let mut elements = Elements {
            slots: [Slot::Sink; 4],
            count: count as u8,
            element: Element { bytes: ty.bytes(), signed: false, register_bits: 64 },
        };
        for (slot, part) in elements.slots.iter_mut().zip(parts) {
            let bits = if wanted == SurfaceUse::Load {
                let (found, bits) = self.slot_of(part)?;
                *slot = found;
                bits
            } else {
                *slot = self.source_slot(part, ty)?;
                if matches!(slot, Slot::Reg64(_)) { 64 } else { 32 }
            };
            let is_narrow = bits < ty.bits() || bits == 64 && ty.bits() < 64;
            if is_narrow && *slot != Slot::Sink {
                return Err(self.malformed("a register does not have the width of the type"));
            }
        }
        let op = match wanted {
            SurfaceUse::Load => SurfaceOp::Load(elements),
            SurfaceUse::Store => SurfaceOp::Store(elements),
            SurfaceUse::StoreFormatted if ty.bits() == 32 => {
                SurfaceOp::StoreFormatted(elements.slots)
            }
            SurfaceUse::StoreFormatted => {
                return Err(self.malformed("`sust.p` stores words of 32 bits"));
            }
            SurfaceUse::Reduce => {
                let op = match modifiers.take_any(&["add", "min", "max", "and", "or"]) {
                    Some("add") => AtomOp::Add,
                    Some("min") => AtomOp::Min,
                    Some("max") => AtomOp::Max,
                    Some("and") => AtomOp::And,
                    Some(_) => AtomOp::Or,
                    None => return Err(self.malformed("`sured` needs an operation")),
                };
                // A pair of words is not one atomic step on the host.
                self.builder.program.ordered |= ty.bits() == 64;
                SurfaceOp::Reduce(op, ty, elements.slots[0])
            }
        };
        let at = self.texel(geometry, at, Type::S32)?;
        self.emit_texture(Texture::Surface(SurfaceAccess { at, outside, op }));
        Ok(())
    }

    /// Lowers `txq` and `suq`.
    pub(super) fn query(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let has_level = modifiers.take("level");
        let attribute = modifiers.take_last(|name| {
            Some(match name {
                "width" => Attribute::Width,
                "height" => Attribute::Height,
                "depth" => Attribute::Depth,
                _ => return None,
            })
        });
        let (Some(attribute), true) = (attribute, modifiers.take("b32")) else {
            return Err(self.unsupported(format!("this attribute of `{}`", modifiers.base)));
        };
        let ([dst, object] | [dst, object, _]) = operands else {
            return Err(self.wrong_count(operands.len(), 2));
        };
        if operands.len() != 2 + usize::from(has_level) {
            return Err(self.wrong_count(operands.len(), 2 + usize::from(has_level)));
        }
        let Operand::Address { base: AddressBase::Name(name), offset: 0 } = object else {
            return Err(self.malformed("expected an object, such as `[%rd1]`"));
        };
        let object = self.object(name)?;
        let level = match operands {
            [_, _, level] => Some(self.value_r(level, Type::S32)?),
            _ => None,
        };
        let dst = self.word(dst)?;
        self.emit_texture(Texture::Query(Query { object, attribute, level, dst }));
        Ok(())
    }

    fn geometry(&self, modifiers: &mut Modifiers<'a>) -> Result<Geometry> {
        modifiers.take_last(Geometry::parse).ok_or_else(|| {
            self.unsupported(format!(
                "`{}` of this geometry; supported are .1d, .2d, .3d, .a1d, .a2d, .cube and .acube",
                modifiers.base
            ))
        })
    }

    /// `[object, {coordinates}]`: the index of a layer stands first; a vector of three coordinates is filled up to four.
    fn texel(
        &mut self,
        geometry: Geometry,
        operand: &Operand<'a>,
        coordinate: Type,
    ) -> Result<Texel> {
        let Operand::Indexed { base, indices } = operand else {
            return Err(
                self.malformed("expected an object and coordinates, such as `[%rd1, {%f1, %f2}]`")
            );
        };
        let [Operand::Vector(indices)] = indices.as_slice() else {
            return Err(self.unsupported("samplers apart from their textures"));
        };
        let layers = usize::from(geometry.is_layered());
        let count = geometry.coordinates() + layers;
        if indices.len() < count {
            return Err(
                self.malformed(format!("{} coordinates where {count} are expected", indices.len()))
            );
        }
        let object = self.object(base)?;
        let layer =
            if geometry.is_layered() { Some(self.value_r(&indices[0], Type::U32)?) } else { None };
        let mut coordinates = [self.builder.zero(); 3];
        for (register, index) in coordinates.iter_mut().zip(&indices[layers..count]) {
            *register = self.value_r(index, coordinate)?;
        }
        Ok(Texel { object, geometry, coordinates, layer })
    }

    /// The register of an object. The name of a `.texref` is none: CUDA 12 has removed texture references.
    fn object(&mut self, name: &'a str) -> Result<Reg64> {
        match self.read_register(name) {
            Some(Register::Reg64(object)) => Ok(object),
            _ => Err(self.unsupported(format!(
                "`{name}`, a texture or surface by name; pass a cudaTextureObject_t or cudaSurfaceObject_t to the kernel"
            ))),
        }
    }

    fn gradient(&mut self, geometry: Geometry, operand: &Operand<'a>) -> Result<[Reg32; 3]> {
        let parts = match operand {
            Operand::Vector(parts) => parts.as_slice(),
            single => std::slice::from_ref(single),
        };
        let mut all = [self.builder.zero(); 3];
        if parts.len() < geometry.coordinates() {
            return Err(self.malformed("a derivative has as many parts as there are coordinates"));
        }
        for (register, part) in all.iter_mut().zip(&parts[..geometry.coordinates()]) {
            *register = self.value_r(part, Type::F32)?;
        }
        Ok(all)
    }

    /// A destination of 32 bits.
    fn word(&mut self, operand: &Operand<'a>) -> Result<Slot> {
        match self.slot_of(operand)? {
            (Slot::Reg64(_), _) | (Slot::Reg32(_), ..32) => {
                Err(self.malformed("the destination does not have 32 bits"))
            }
            (slot, _) => Ok(slot),
        }
    }
}
