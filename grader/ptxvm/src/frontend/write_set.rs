//! Which of its pointers a kernel may write through: an abstract interpretation of its registers (Cousot and Cousot, 1977),
//! in which each register holds the set of pointers that its value may derive from.
//!
//! Buffers that a launch cannot write need no shadow memory: nothing races with their reads, and they need not be restored
//! where blocks have to run again in order. A pointer that is loaded from memory, or assembled from halves, may be any
//! pointer. An index that is too large stays in the slot of its buffer ([`crate::memory`]), so it needs no care here.

use std::collections::{BTreeSet, HashMap};

use crate::isa::ir::alu::{QQR, QRR};
use crate::isa::ir::{Alu, Op, System, Uniform};
use crate::isa::matrix_op::Matrix;
use crate::isa::names::{Address, Base, Elements, Slot};
use crate::isa::operands::operands;
use crate::isa::texture::{SurfaceAccess, SurfaceOp, Texture};
use crate::isa::window::Window;
use crate::program::code::{Program, UniformSlot};

/// Values that are told apart, each a bit; kernels have fewer pointers.
const SOURCES: usize = 62;
/// A register may hold a part of a pointer that lay in memory ...
const PART: u64 = 1 << SOURCES;
/// ... or any pointer.
const ANY: u64 = 1 << (SOURCES + 1);
/// Indices are shifted by the size of an element, halves of pointers by 32.
const FURTHEST_SHIFT: u64 = 16;

/// What the pointers that a program writes through start from; None: anything.
pub(crate) fn written(program: &Program) -> Option<BTreeSet<usize>> {
    if program.code.iter().any(|instr| writes_surface(&instr.op)) {
        return None;
    }
    let mut registers = HashMap::new();
    let mut amounts = HashMap::new();
    for (index, &(uniform, slot)) in program.uniforms.iter().enumerate() {
        let slot = match slot {
            UniformSlot::Reg32(register) => Slot::Reg32(register),
            UniformSlot::Reg64(register) => Slot::Reg64(register),
        };
        let from = match uniform {
            Uniform::Param { bytes: 8, .. } | Uniform::Global(..) if index < SOURCES => 1 << index,
            Uniform::Param { bytes: 8, .. } | Uniform::Global(..) => ANY,
            Uniform::Param { .. } => PART,
            Uniform::Bits(bits) => {
                amounts.insert(slot, bits);
                0
            }
            Uniform::DynamicShared(_) | Uniform::Special(_) => 0,
        };
        registers.insert(slot, from);
    }
    let mut flow = PointerFlow { registers, amounts, changed: true };
    while flow.changed {
        flow.changed = false;
        for instr in &program.code {
            flow.follow(&instr.op)?;
        }
    }
    let targets = program.code.iter().map(|instr| match &instr.op {
        Op::Store(address, _) => flow.target(address),
        Op::PoisonPropagatingStore(store) => flow.target(&store.address),
        Op::Atom(atom) => flow.target(&atom.address),
        Op::WideAtom(atom) => flow.target(&atom.address),
        Op::Matrix(matrix) => match &**matrix {
            Matrix::Store(tile) => flow.target(&tile.address),
            Matrix::Rows(rows) if rows.stores => flow.target(&rows.address),
            _ => 0,
        },
        _ => 0,
    });
    let targets = targets.fold(0, |all, target| all | target);
    (targets & ANY == 0).then(|| (0..SOURCES).filter(|index| targets >> index & 1 == 1).collect())
}

/// Whether an operation writes to the memory of a surface, which no pointer tells.
fn writes_surface(op: &Op) -> bool {
    let Op::Texture(texture) = op else { return false };
    matches!(&**texture, Texture::Surface(access) if !matches!(access.op, SurfaceOp::Load(_)))
}

/// What every register may come from. Registers that nothing is known of hold no pointer.
struct PointerFlow {
    registers: HashMap<Slot, u64>,
    /// Values that are the same in every launch.
    amounts: HashMap<Slot, u64>,
    changed: bool,
}

impl PointerFlow {
    fn get(&self, slot: Slot) -> u64 {
        self.registers.get(&slot).copied().unwrap_or(0)
    }

    fn add(&mut self, slot: Slot, from: u64) {
        let all = self.registers.entry(slot).or_default();
        self.changed |= *all | from != *all;
        *all |= from;
    }

    /// None for an operation that may bring a pointer anywhere.
    fn follow(&mut self, op: &Op) -> Option<()> {
        match op {
            Op::Alu(alu) => self.arithmetic(alu)?,
            Op::Load(_, elements) => self.load(elements),
            Op::PoisonPropagatingLoad(load) => self.load(&load.elements),
            Op::Atom(atom) => self.add(atom.dst, loaded(atom.dst)),
            Op::WideAtom(atom) => atom.dst.iter().for_each(|&dst| self.add(dst, loaded(dst))),
            Op::Matrix(matrix) => self.matrix(matrix),
            Op::Texture(texture) => self.texture(texture),
            &Op::Shfl { dst: Some(dst), a, .. } | &Op::Redux(_, dst, a) => {
                self.add(Slot::Reg32(dst), self.get(Slot::Reg32(a)));
            }
            // Masks and counts, or nothing at all.
            Op::Store(..)
            | Op::PoisonPropagatingStore(_)
            | Op::PoisonCheckingChoice(_)
            | Op::CopyLocal(..)
            | Op::Branch { .. }
            | Op::Join
            | Op::Call(_)
            | Op::Ret
            | Op::Exit
            | Op::Trap
            | Op::Bar(_)
            | Op::Members(_)
            | Op::Shfl { dst: None, .. }
            | Op::VoteP(..)
            | Op::Ballot(..)
            | Op::MatchAny(..)
            | Op::MatchAll(..)
            | Op::ActiveMask(_)
            | Op::System(System::Printf { .. } | System::AssertFail { .. })
            | Op::WarpSync
            // It writes shared memory only.
            | Op::CopyAsync(_)
            | Op::CommitCopies
            | Op::CommitStores
            | Op::WaitStores(_)
            | Op::WaitCopies(_)
            // A state is no pointer.
            | Op::Mbarrier(_)
            | Op::ArriveAtCluster { .. }
            | Op::WaitForCluster { .. }
            | Op::EndProducts
            | Op::WaitForProducts(_)
            | Op::Fence(_)
            | Op::Nop => {}
            // Clocks, which few kernels read, and what is still to come.
            _ => return None,
        }
        Some(())
    }

    /// Fragments may hold anything that memory does.
    fn matrix(&mut self, matrix: &Matrix) {
        let slots = match matrix {
            Matrix::Product(op) => &op.d.slots,
            Matrix::OfGroup(op) => &op.product.d.slots,
            Matrix::QuadPairs(op) => &op.d,
            Matrix::Load(tile) => &tile.fragment.slots,
            Matrix::Rows(rows) if !rows.stores => &rows.slots,
            &Matrix::Transpose(d, _) => return self.add(Slot::Reg32(d), PART),
            Matrix::Store(_) | Matrix::Rows(_) => return,
        };
        for &slot in slots {
            self.add(slot, loaded(slot));
        }
    }

    /// Texels may hold anything that memory does.
    fn texture(&mut self, texture: &Texture) {
        match texture {
            Texture::Fetch(fetch) => {
                for slot in fetch.dst {
                    self.add(slot, loaded(slot));
                }
            }
            Texture::Surface(SurfaceAccess { op: SurfaceOp::Load(elements), .. }) => {
                self.load(elements);
            }
            Texture::Surface(_) | Texture::Query(_) => {}
        }
    }

    fn load(&mut self, elements: &Elements) {
        for &slot in &elements.slots[..elements.count.into()] {
            self.add(slot, loaded(slot));
        }
    }

    fn arithmetic(&mut self, alu: &Alu) -> Option<()> {
        let (dst, mut from) = match *alu {
            Alu::SelectR(d, a, b, _) => {
                (Slot::Reg32(d), self.get(Slot::Reg32(a)) | self.get(Slot::Reg32(b)))
            }
            Alu::SelectQ(d, a, b, _) => {
                (Slot::Reg64(d), self.get(Slot::Reg64(a)) | self.get(Slot::Reg64(b)))
            }
            Alu::Logic(..) => return Some(()),
            _ => {
                let operands = operands(alu)?;
                let Some(dst) = operands.dst else { return Some(()) };
                (dst, operands.sources.iter().fold(0, |all, &source| all | self.get(source)))
            }
        };
        let joins = match *alu {
            Alu::QRR(QRR::Pack, ..) | Alu::QQQRR(..) => true,
            Alu::QQR(QQR::Shl, _, _, amount) => {
                self.amounts.get(&Slot::Reg32(amount)).is_none_or(|&amount| amount > FURTHEST_SHIFT)
            }
            _ => false,
        };
        if joins && from & PART != 0 {
            from |= ANY;
        }
        self.add(dst, from);
        Some(())
    }

    /// What an address that is written may come from.
    fn target(&self, address: &Address) -> u64 {
        match (address.window, address.base) {
            (Some(Window::Global) | None, Base::Reg64(base)) => self.get(Slot::Reg64(base)),
            (Some(Window::Global) | None, Base::Reg32(_)) => ANY,
            _ => 0,
        }
    }
}

/// What may come out of memory into a register.
fn loaded(slot: Slot) -> u64 {
    match slot {
        Slot::Reg32(_) => PART,
        Slot::Reg64(_) => ANY,
        Slot::Sink => 0,
    }
}

#[cfg(test)]
mod tests {
    use crate::Module;

    /// Which of the parameters p, q and n a kernel with this body writes through; None: unknown.
    fn parameters(body: &str) -> Option<Vec<u32>> {
        let text = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n)\n{{\n\
             .reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .pred %p<2>;\n.shared .align 8 .b8 s[64];\n\
             ld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\nld.param.u32 %r1, [n];\n{body}\nret;\n}}"
        );
        let module = Module::load(&text).unwrap();
        let program = &module.kernels().next().unwrap().program;
        let written = program.written.as_ref()?;
        let offset = |&index: &usize| match program.uniforms[index].0 {
            crate::isa::ir::Uniform::Param { offset, .. } => offset,
            ref other => panic!("{other:?}"),
        };
        let mut offsets: Vec<u32> = written.iter().map(offset).collect();
        offsets.sort_unstable();
        Some(offsets)
    }

    #[test]
    fn pointers_are_followed() {
        let index = "mul.wide.s32 %rd3, %r1, 4; add.s64 %rd4, %rd2, %rd3;";
        assert_eq!(parameters("ld.global.u32 %r2, [%rd1];"), Some(vec![]));
        assert_eq!(parameters(&format!("{index} st.global.u32 [%rd4], %r1;")), Some(vec![8]));
        assert_eq!(parameters(&format!("{index} red.global.add.u32 [%rd4], 1;")), Some(vec![8]));
        let select =
            "setp.eq.s32 %p1, %r1, 0; selp.b64 %rd4, %rd1, %rd2, %p1; st.global.u32 [%rd4], %r1;";
        assert_eq!(parameters(select), Some(vec![0, 8]));
        // Around a loop.
        let around = "L: st.global.u32 [%rd5], %r1; mov.u64 %rd5, %rd4; mov.u64 %rd4, %rd1; bra L;";
        assert_eq!(parameters(around), Some(vec![0]));
        assert_eq!(parameters("mov.u64 %rd3, s; st.shared.u32 [%rd3], %r1;"), Some(vec![]));
    }

    #[test]
    fn what_comes_out_of_memory_is_an_index_or_any_pointer() {
        let index =
            "ld.global.u32 %r2, [%rd1]; mul.wide.s32 %rd3, %r2, 4; add.s64 %rd4, %rd2, %rd3;";
        assert_eq!(parameters(&format!("{index} st.global.u32 [%rd4], %r1;")), Some(vec![8]));
        let index = "ld.global.u32 %r2, [%rd1]; cvt.u64.u32 %rd3, %r2; shl.b64 %rd3, %rd3, 2; add.s64 %rd4, %rd2, %rd3;";
        assert_eq!(parameters(&format!("{index} st.global.u32 [%rd4], %r1;")), Some(vec![8]));
        let pointer = "ld.global.u64 %rd4, [%rd1]; st.global.u32 [%rd4], %r1;";
        assert_eq!(parameters(pointer), None);
        let halves = "ld.global.v2.u32 {%r2, %r3}, [%rd1]; mov.b64 %rd4, {%r2, %r3}; st.global.u32 [%rd4], %r1;";
        assert_eq!(parameters(halves), None);
        let halves =
            "ld.global.v2.u32 {%r2, %r3}, [%rd1]; cvt.u64.u32 %rd3, %r3; shl.b64 %rd3, %rd3, 32;
            cvt.u64.u32 %rd4, %r2; or.b64 %rd4, %rd4, %rd3; st.global.u32 [%rd4], %r1;";
        assert_eq!(parameters(halves), None);
    }
}
