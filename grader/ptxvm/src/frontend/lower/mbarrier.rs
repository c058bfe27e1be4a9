//! `mbarrier` and `cp.async.mbarrier.arrive` (PTX ISA 9.7.13.15).

use super::Body;
use super::body::Result;
use super::modifiers::Modifiers;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::{R2, RQ};
use crate::isa::ir::{Alu, Op, Uniform};
use crate::isa::mbarrier::{Arrival, MAX_COUNT, Mbarrier, Operation, Phase};
use crate::isa::names::{Marks, Reg32, Slot};
use crate::isa::types::Type;
use crate::isa::window::Window;

impl<'a> Body<'_, '_, '_, 'a> {
    pub(super) fn mbarrier_init(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        self.on_object_with(modifiers, operands, Operation::Init)
    }

    pub(super) fn mbarrier_invalidate(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let [address] = self.exactly(operands)?;
        self.on_object(modifiers, address, Operation::Invalidate)
    }

    pub(super) fn mbarrier_expect(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        self.on_object_with(modifiers, operands, Operation::Expect)
    }

    pub(super) fn mbarrier_complete(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        self.on_object_with(modifiers, operands, Operation::Complete)
    }

    /// The copies of a thread arrive when they are done; it expects their arrival unless `.noinc` says so.
    pub(super) fn mbarrier_copies_arrive(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let adds_itself = !modifiers.take("noinc");
        let [address] = self.exactly(operands)?;
        self.on_object(modifiers, address, Operation::CopiesArrive { adds_itself })
    }

    /// An operation of an object and a count, of arrivals or of bytes.
    fn on_object_with(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        operation: fn(Reg32) -> Operation,
    ) -> Result<()> {
        let [address, count] = self.exactly(operands)?;
        let count = self.value_r(count, Type::U32)?;
        self.on_object(modifiers, address, operation(count))
    }

    /// Adds an operation with its address; takes the modifiers that all of them may have.
    fn on_object(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        address: &Operand<'a>,
        operation: Operation,
    ) -> Result<()> {
        // The order that an arrival in another block's memory makes is taken to be as wide as can be.
        modifiers.drop_all(&["acquire", "release", "relaxed", "cta", "cluster", "b64"]);
        let address = if modifiers.take("shared::cluster") {
            self.cluster_address(address, Marks::STRONG)?
        } else {
            let window = modifiers.take_any(&["shared", "shared::cta"]).map(|_| Window::Shared);
            self.address(address, window, Marks::STRONG)?
        };
        self.emit(Op::Mbarrier(Box::new(Mbarrier { address, operation })));
        Ok(())
    }

    /// Lowers `mbarrier.arrive` and `mbarrier.arrive_drop`.
    pub(super) fn mbarrier_arrive(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        drops: bool,
    ) -> Result<()> {
        let completes = !modifiers.take("noComplete");
        let expects = modifiers.take("expect_tx");
        let releases = !modifiers.has("relaxed");
        let ([token, address], number) = match operands {
            [token, address] => ([token, address], None),
            [token, address, number] => ([token, address], Some(number)),
            _ => {
                return Err(
                    self.malformed("an arrival has a state, an address and an optional count")
                );
            }
        };
        if number.is_none() && (expects || !completes) {
            return Err(self.malformed("this arrival needs a count"));
        }
        let number = match number {
            Some(number) => Some(self.value_r(number, Type::U32)?),
            None => None,
        };
        let (token, bits) = self.slot_of(token)?;
        if matches!(token, Slot::Reg32(_)) {
            return Err(self.malformed(format!("a state has 64 bits, not {bits}")));
        }
        let (count, expects) = if expects { (None, number) } else { (number, None) };
        let arrival = Arrival { token, count, expects, drops, completes, releases };
        self.on_object(modifiers, address, Operation::Arrive(arrival))
    }

    /// A thread that tries to wait may be held up for a while, or not: here it gives up its turn.
    pub(super) fn mbarrier_test(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let parity = modifiers.take("parity");
        let acquires = !modifiers.has("relaxed");
        // The last operand says how long it may wait.
        let ([done, address, phase] | [done, address, phase, _]) = operands else {
            return Err(self.malformed("a test has a result, an address and a phase"));
        };
        let phase = if parity {
            Phase::Parity(self.value_r(phase, Type::U32)?)
        } else {
            Phase::Token(self.value_q(phase, Type::B64)?)
        };
        let done = self.dst_p(done)?;
        self.on_object(modifiers, address, Operation::Test { done, phase, acquires })
    }

    /// The arrivals that were missing where a state comes from.
    pub(super) fn mbarrier_pending_count(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let [d, state] = self.exactly(operands)?;
        let (state, (d, _)) = (self.value_q(state, Type::B64)?, self.dst_r(d)?);
        let low: Reg32 = self.builder.new_r();
        self.prepare(Alu::RQ(RQ::Low, low, state));
        let mask = self.builder.uniform_r(Uniform::Bits(MAX_COUNT.into()));
        self.alu(Alu::R2(R2::And, d, low, mask));
        Ok(())
    }
}
