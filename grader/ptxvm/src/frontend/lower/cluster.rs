//! Clusters of blocks, and the shared memory of their blocks: `mapa`, `getctarank`, `barrier.cluster`, `st.async`, `red.async`
//! (PTX ISA 9.7.9.23, 9.7.9.24, 9.7.13.4, 9.7.9.13).

use super::Body;
use super::body::Result;
use super::memory::Access;
use super::modifiers::Modifiers;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::{PRR, Q1, Q2, QR, R1, R2};
use crate::isa::ir::{Alu, Op, Special, Uniform};
use crate::isa::mbarrier::{Mbarrier, Operation};
use crate::isa::names::{Address, Base, Marks, Pred, Reg32, Reg64};
use crate::isa::types::Type;
use crate::isa::window::{RANK_SHIFT, Window};

/// More blocks than any cluster has, and few enough for the bits of an address.
const NO_RANK: u64 = 30;

impl<'a> Body<'_, '_, '_, 'a> {
    /// `mapa`: the same place in the memory of another block. That of the own block is the address itself.
    pub(super) fn map_address(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let generic = !modifiers.take("shared::cluster");
        // Its threads may order themselves by what lies there.
        self.builder.program.fenced = true;
        self.builder.program.cluster.maps = true;
        let wide = modifiers.ty().is_some_and(|ty| ty.bits() == 64);
        let [d, a, rank] = self.exactly(operands)?;
        let rank = self.value_r(rank, Type::U32)?;
        let a = if wide {
            let a = self.value_q(a, Type::U64)?;
            self.low(a)
        } else {
            self.value_r(a, Type::U32)?
        };
        let bits = self.bits(NO_RANK);
        let rank = self.step2(R2::MinU, rank, bits);
        let own = self.builder.uniform_r(Uniform::Special(Special::ClusterRank));
        let here = self.builder.new_p();
        self.prepare(Alu::PRR(PRR::Eq, here, rank, own));
        let (one, shift) = (self.bits(1), self.bits(RANK_SHIFT.into()));
        let number = self.step2(R2::AddI, rank, one);
        let mask = self.bits((1 << RANK_SHIFT) - 1);
        let place = self.step2(R2::And, a, mask);
        let number = self.step2(R2::Shl, number, shift);
        let there = self.step2(R2::Or, place, number);
        let address = self.builder.new_r();
        self.prepare(Alu::SelectR(address, place, there, here));
        if !wide {
            let (d, _) = self.dst_r(d)?;
            self.alu(Alu::R1(R1::Mov, d, address));
            return Ok(());
        }
        let d = self.dst_q(d)?;
        if generic {
            let address = self.generic(address);
            self.alu(Alu::Q1(Q1::Mov, d, address));
        } else {
            self.alu(Alu::QR(QR::Zext, d, address));
        }
        Ok(())
    }

    /// `getctarank`: the rank of the block that an address belongs to.
    pub(super) fn rank_of_address(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        modifiers.take("shared::cluster");
        let wide = modifiers.ty().is_some_and(|ty| ty.bits() == 64);
        let [d, a] = self.exactly(operands)?;
        let a = if wide {
            let a = self.value_q(a, Type::U64)?;
            self.low(a)
        } else {
            self.value_r(a, Type::U32)?
        };
        let (number, elsewhere) = self.number_of_block(a);
        let one = self.bits(1);
        let rank = self.step2(R2::SubI, number, one);
        let own = self.builder.uniform_r(Uniform::Special(Special::ClusterRank));
        let (d, _) = self.dst_r(d)?;
        self.alu(Alu::SelectR(d, rank, own, elsewhere));
        Ok(())
    }

    /// Lowers `barrier.cluster`. By default an arrival releases and a wait acquires (PTX ISA 9.7.13.4).
    pub(super) fn cluster_barrier(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        self.exactly::<0>(operands)?;
        modifiers.drop_all(&["aligned", "release", "acquire"]);
        // What the others did is ordered by it.
        self.builder.program.fenced = true;
        self.builder.program.cluster.waits = true;
        if modifiers.take("arrive") {
            let releases = !modifiers.take("relaxed");
            self.emit(Op::ArriveAtCluster { releases });
        } else if modifiers.take("wait") {
            self.emit(Op::WaitForCluster { acquires: true });
        } else {
            return Err(self.malformed("`barrier.cluster` needs `.arrive` or `.wait`"));
        }
        Ok(())
    }

    /// `st.async` and `red.async`: a store or an atomic in another block's memory, and its bytes for a barrier object there. Both
    /// happen at once here; who reads the value must wait for the object all the same.
    pub(super) fn async_access(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        access: Access,
    ) -> Result<()> {
        if !(modifiers.take("mbarrier::complete_tx::bytes") && modifiers.has("shared::cluster")) {
            return Err(self.unsupported(format!(
                "`{}.async` without `.shared::cluster` and `.mbarrier::complete_tx::bytes`, which needs sm_100",
                modifiers.base
            )));
        }
        let [place @ .., object] = operands else {
            return Err(self.malformed("a barrier object is the last operand"));
        };
        let count = match () {
            () if modifiers.has("v2") => 2,
            () if modifiers.has("v4") => 4,
            () => 1,
        };
        let bytes = modifiers.last_type().map_or(0, Type::bytes) * count;
        self.access(modifiers, place, access)?;
        let bytes = self.bits(bytes.into());
        let address = self.cluster_address(object, Marks::STRONG)?;
        let operation = Operation::Complete(bytes);
        self.prepare_op(Op::Mbarrier(Box::new(Mbarrier { address, operation })));
        Ok(())
    }

    /// An operand of `.shared::cluster`, as a generic address.
    pub(super) fn cluster_address(
        &mut self,
        operand: &Operand<'a>,
        marks: Marks,
    ) -> Result<Address> {
        let address = self.address(operand, None, marks)?;
        if address.window.is_some() {
            // A variable, which is in the own block's memory.
            return Ok(address);
        }
        let low = match address.base {
            Base::Reg32(low) => low,
            Base::Reg64(base) => self.low(base),
        };
        let offset = self.bits(u64::from(address.offset as u32));
        let low = self.step2(R2::AddI, low, offset);
        Ok(Address { base: Base::Reg64(self.generic(low)), offset: 0, ..address })
    }

    /// The generic address of a place in `.shared::cluster`.
    pub(super) fn generic(&mut self, address: Reg32) -> Reg64 {
        let (_, elsewhere) = self.number_of_block(address);
        let [own, other] = [Window::Shared, Window::Cluster]
            .map(|window| self.builder.uniform_q(Uniform::Bits(window.base())));
        let (base, low) = (self.builder.new_q(), self.builder.new_q());
        self.prepare(Alu::SelectQ(base, other, own, elsewhere));
        self.prepare(Alu::QR(QR::Zext, low, address));
        let generic = self.builder.new_q();
        self.prepare(Alu::Q2(Q2::AddI, generic, low, base));
        generic
    }

    /// What stands for the block in an address, and whether that is not the own one.
    fn number_of_block(&mut self, address: Reg32) -> (Reg32, Pred) {
        let (shift, zero) = (self.bits(RANK_SHIFT.into()), self.builder.zero());
        let number = self.step2(R2::ShrU, address, shift);
        let elsewhere = self.builder.new_p();
        self.prepare(Alu::PRR(PRR::Ne, elsewhere, number, zero));
        (number, elsewhere)
    }

    fn bits(&mut self, bits: u64) -> Reg32 {
        self.builder.uniform_r(Uniform::Bits(bits))
    }
}
