//! Bulk copies and tensor maps: `cp.async.bulk`, `cp.reduce.async.bulk`, `tensormap` (PTX ISA 9.7.9.25.4, 9.7.9.25.5, 9.7.9.27).

use super::Body;
use super::body::Result;
use super::modifiers::Modifiers;
use super::refuse;
use crate::frontend::syntax::ast::{AddressBase, Operand};
use crate::isa::atom_op::AtomOp;
use crate::isa::bulk::{BoxOperand, BulkLoad, BulkPlace, BulkSend, BulkStore};
use crate::isa::ir::alu::{Q2, QR, R2};
use crate::isa::ir::{Alu, Op, Special, Uniform};
use crate::isa::mbarrier::{Mbarrier, Operation};
use crate::isa::names::{Address, Base, Elements, Marks, Slot};
use crate::isa::tensor_map::{MAX_RANK, MapField, SPACE};
use crate::isa::types::Type;
use crate::isa::window::Window;

/// A box as the modifiers of an instruction describe it.
#[derive(Clone, Copy)]
struct BoxKind {
    rank: u8,
    /// A column of pixels (`.im2col`), whose loads have an operand for offsets, or a tile.
    im2col: bool,
}

/// How a bulk copy says that its bytes are there.
const BYTES_COME: &str = "mbarrier::complete_tx::bytes";

impl<'a> Body<'_, '_, '_, 'a> {
    /// `cp.async.bulk` and `cp.async.bulk.tensor`.
    pub(super) fn bulk_copy(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        // What the groups of a thread do has happened; until a wait, what they read must stay as it is.
        if modifiers.take("commit_group") {
            self.emit(Op::CommitStores);
            return Ok(());
        }
        if modifiers.take("wait_group") {
            modifiers.take("read");
            let [Operand::Int(groups)] = self.exactly(operands)? else {
                return Err(self.malformed("`cp.async.bulk.wait_group` takes a number"));
            };
            self.emit(Op::WaitStores(u32::try_from(*groups).unwrap_or(u32::MAX)));
            return Ok(());
        }
        // The policy is the last operand.
        let operands = match operands {
            [rest @ .., _] if modifiers.take("L2::cache_hint") => rest,
            all => all,
        };
        let kind = kind_of_box(modifiers);
        if modifiers.take("prefetch") {
            modifiers.drop_all(&["L2", "global"]);
            self.emit(Op::Nop);
            return Ok(());
        }
        if !modifiers.take(BYTES_COME) {
            return self.bulk_store(modifiers, operands, kind, None);
        }
        if kind.is_none() && modifiers.has("shared::cluster") && modifiers.take("shared::cta") {
            modifiers.take("shared::cluster");
            return self.bulk_send(operands);
        }
        // An address of a block's own shared memory is one of the cluster's.
        let to_shared = modifiers.take_any(&["shared::cluster", "shared::cta"]).is_some();
        if !(to_shared && modifiers.take("global")) {
            return Err(self.unsupported(refuse::reason("cp.async.bulk")));
        }
        let multicast = modifiers.take("multicast::cluster");
        let (to, from, object, rest) = match (kind, operands) {
            (Some(kind @ BoxKind { im2col: true, .. }), [to, from, object, offsets, rest @ ..]) => {
                (to, self.box_of_tensor(from, kind, Some(offsets))?, object, rest)
            }
            (Some(kind), [to, from, object, rest @ ..]) => {
                (to, self.box_of_tensor(from, kind, None)?, object, rest)
            }
            (None, [to, from, bytes, object, rest @ ..]) => {
                let address = self.address(from, Some(Window::Global), Marks::default())?;
                let bytes = self.value_r(bytes, Type::U32)?;
                (to, BulkPlace::Bytes { address, bytes }, object, rest)
            }
            _ => return Err(self.malformed("wrong number of operands")),
        };
        let blocks = match (multicast, rest) {
            (false, []) => None,
            (true, [blocks]) => Some(self.value_r(blocks, Type::B16)?),
            _ => return Err(self.malformed("wrong number of operands")),
        };
        let to = self.address(to, None, Marks::default())?;
        let address = self.cluster_address(object, Marks::STRONG)?;
        let operation = Operation::Copy(BulkLoad { to, from, blocks });
        self.emit(Op::Mbarrier(Box::new(Mbarrier { address, operation })));
        Ok(())
    }

    /// A copy to the shared memory of a block of the cluster.
    fn bulk_send(&mut self, operands: &[Operand<'a>]) -> Result<()> {
        let [to, from, bytes, object] = self.exactly(operands)?;
        let to = self.address(to, None, Marks::default())?;
        let from = self.address(from, Some(Window::Shared), Marks::default())?;
        let bytes = self.value_r(bytes, Type::U32)?;
        let address = self.cluster_address(object, Marks::STRONG)?;
        let operation = Operation::Send(BulkSend { to, from, bytes });
        self.emit(Op::Mbarrier(Box::new(Mbarrier { address, operation })));
        Ok(())
    }

    /// `cp.reduce.async.bulk`, to global memory.
    pub(super) fn bulk_reduction(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        modifiers.drop_all(&["bulk"]);
        let operands = match operands {
            [rest @ .., _] if modifiers.take("L2::cache_hint") => rest,
            all => all,
        };
        let kind = kind_of_box(modifiers);
        let op = match modifiers.take_any(&["add", "min", "max", "inc", "dec", "and", "or", "xor"])
        {
            Some("add") => AtomOp::Add,
            Some("min") => AtomOp::Min,
            Some("max") => AtomOp::Max,
            Some("inc") => AtomOp::Inc,
            Some("dec") => AtomOp::Dec,
            Some("and") => AtomOp::And,
            Some("or") => AtomOp::Or,
            Some("xor") => AtomOp::Xor,
            _ => return Err(self.malformed("a reduction needs an operation such as `.add`")),
        };
        modifiers.take("noftz");
        let ty = modifiers.ty().or_else(|| kind.map(|_| Type::U32));
        let Some(ty) = ty else {
            return Err(self.malformed("a reduction needs a type"));
        };
        self.bulk_store(modifiers, operands, kind, Some((op, ty)))
    }

    fn bulk_store(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        kind: Option<BoxKind>,
        reduction: Option<(AtomOp, Type)>,
    ) -> Result<()> {
        if !(modifiers.take("bulk_group")
            && modifiers.take("global")
            && modifiers.take("shared::cta"))
        {
            return Err(self.unsupported(refuse::reason("cp.async.bulk")));
        }
        let (to, from) = match (kind, operands) {
            (Some(kind), [to, from]) => (self.box_of_tensor(to, kind, None)?, from),
            (None, [to, from, bytes]) => {
                let address = self.address(to, Some(Window::Global), Marks::default())?;
                let bytes = self.value_r(bytes, Type::U32)?;
                (BulkPlace::Bytes { address, bytes }, from)
            }
            _ => return Err(self.malformed("wrong number of operands")),
        };
        let from = self.address(from, Some(Window::Shared), Marks::default())?;
        // Which block adds first may matter, and where the map lies is not known.
        self.builder.program.ordered |= reduction.is_some();
        self.emit(Op::BulkStore(Box::new(BulkStore { from, to, reduction })));
        Ok(())
    }

    /// `[map, {x, y}]`, and the offsets of a load of pixels. Stores of pixels have none, which is as if they were zero.
    fn box_of_tensor(
        &mut self,
        operand: &Operand<'a>,
        BoxKind { rank, im2col }: BoxKind,
        offsets: Option<&Operand<'a>>,
    ) -> Result<BulkPlace> {
        let Operand::Indexed { base, indices } = operand else {
            return Err(self.malformed("expected a tensor map and coordinates"));
        };
        let [Operand::Vector(parts)] = indices.as_slice() else {
            return Err(self.malformed("expected the coordinates in braces"));
        };
        if parts.len() != usize::from(rank) {
            return Err(self.malformed(format!("{} coordinates of {rank}", parts.len())));
        }
        let base = Operand::Address { base: AddressBase::Name(base), offset: 0 };
        let map = self.generic_address(&base)?;
        let mut coordinates = [self.builder.zero(); MAX_RANK];
        for (coordinate, part) in coordinates.iter_mut().zip(parts) {
            *coordinate = self.value_r(part, Type::S32)?;
        }
        let mut of_pixels = [self.builder.zero(); SPACE];
        if let Some(offsets) = offsets {
            let Operand::Vector(parts) = offsets else {
                return Err(self.malformed("expected the offsets of im2col in braces"));
            };
            if parts.len() + 2 != usize::from(rank) {
                return Err(
                    self.malformed(format!("{} offsets for {rank} dimensions", parts.len()))
                );
            }
            for (offset, part) in of_pixels.iter_mut().zip(parts) {
                *offset = self.value_r(part, Type::U16)?;
            }
        }
        let offsets = im2col.then_some(of_pixels);
        Ok(BulkPlace::Box(BoxOperand { map, coordinates, rank, offsets }))
    }

    /// An operand as a generic address, whatever it names.
    fn generic_address(&mut self, operand: &Operand<'a>) -> Result<Address> {
        let address = self.address(operand, None, Marks::default())?;
        let (Some(window), Base::Reg64(base)) = (address.window, address.base) else {
            return Ok(address);
        };
        let outer = self.builder.uniform_q(Uniform::Bits(window.base()));
        let generic = self.builder.new_q();
        self.prepare(Alu::Q2(Q2::AddI, generic, base, outer));
        Ok(Address { window: None, base: Base::Reg64(generic), ..address })
    }

    /// `tensormap.replace`: writes a field of a map.
    pub(super) fn replace_in_map(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        modifiers.drop_all(&["tile", "b1024"]);
        let field = match modifiers.take_any(&[
            "global_address",
            "rank",
            "box_dim",
            "global_dim",
            "global_stride",
            "element_stride",
            "elemtype",
            "interleave_layout",
            "swizzle_mode",
            "fill_mode",
        ]) {
            Some("global_address") => MapField::GlobalAddress,
            Some("rank") => MapField::Rank,
            Some("box_dim") => MapField::Box,
            Some("global_dim") => MapField::Size,
            Some("global_stride") => MapField::Stride,
            Some("element_stride") => MapField::ElementStride,
            Some("elemtype") => MapField::ElementType,
            Some("interleave_layout") => MapField::Interleave,
            Some("swizzle_mode") => MapField::Swizzle,
            Some("fill_mode") => MapField::Fill,
            _ => return Err(self.malformed("`tensormap.replace` needs a field")),
        };
        let window = modifiers.space();
        modifiers.ty();
        let (address, dimension, value) = match operands {
            [address, value] if field.count() == 1 => (address, 0, value),
            [address, Operand::Int(dimension), value] if (*dimension as usize) < field.count() => {
                (address, *dimension as usize, value)
            }
            _ => return Err(self.malformed("this field has another number of operands")),
        };
        let (start, bytes) = field.place(dimension);
        let ty = if bytes == 8 { Type::B64 } else { Type::B32 };
        let value = self.source_slot(value, ty)?;
        let address = self.address(address, window, Marks::default())?;
        let address = Address { offset: address.offset.wrapping_add(start.into()), ..address };
        let elements = Elements::one(value, bytes);
        self.emit(Op::Store(address, elements));
        Ok(())
    }

    /// `tensormap.cp_fenceproxy`: a warp copies a map, a word in each lane.
    pub(super) fn copy_map(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        modifiers.drop_all(&["tensormap::generic", "release", "cta", "cluster", "gpu", "sys"]);
        self.together(modifiers)?;
        if !(modifiers.take("global") && modifiers.take("shared::cta")) {
            return Err(self.malformed("a map is copied from `.shared::cta` to `.global`"));
        }
        let [to, from, Operand::Int(128)] = self.exactly(operands)? else {
            return Err(self.malformed("a map has 128 bytes"));
        };
        let to = self.address(to, Some(Window::Global), Marks::default())?;
        let from = self.address(from, Some(Window::Shared), Marks::default())?;
        let [to, from] = [to, from].map(|address| self.word_of_lane(address));
        let word_of_map = Slot::Reg32(self.builder.new_r());
        self.emit(Op::Load(from, Elements::one(word_of_map, 4)));
        self.prepare_op(Op::Store(to, Elements::one(word_of_map, 4)));
        // Every lane may go on with what all of them have copied.
        self.prepare_op(Op::WarpSync);
        Ok(())
    }

    /// Four bytes for each lane, one behind the other.
    fn word_of_lane(&mut self, address: Address) -> Address {
        let lane = self.builder.uniform_r(Uniform::Special(Special::LaneId));
        let shift = self.builder.uniform_r(Uniform::Bits(2));
        let offset = self.step2(R2::Shl, lane, shift);
        let base = match address.base {
            Base::Reg32(base) => Base::Reg32(self.step2(R2::AddI, base, offset)),
            Base::Reg64(base) => {
                let (wide, sum) = (self.builder.new_q(), self.builder.new_q());
                self.prepare(Alu::QR(QR::Zext, wide, offset));
                self.prepare(Alu::Q2(Q2::AddI, sum, base, wide));
                Base::Reg64(sum)
            }
        };
        Address { base, ..address }
    }
}

/// `.tensor.2d.tile` or `.tensor.4d.im2col`, if it is there.
fn kind_of_box(modifiers: &mut Modifiers) -> Option<BoxKind> {
    if !modifiers.take("tensor") {
        return None;
    }
    modifiers.take("tile");
    let im2col = modifiers.take_any(&["im2col", "im2col_no_offs"]).is_some();
    let ranks = ["1d", "2d", "3d", "4d", "5d"];
    let rank = modifiers.take_any(&ranks)?;
    Some(BoxKind { rank: rank.as_bytes()[0] - b'0', im2col })
}
