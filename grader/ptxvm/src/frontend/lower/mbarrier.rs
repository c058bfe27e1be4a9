//! `mbarrier` and `cp.async.mbarrier.arrive` (PTX ISA 9.7.13.15).

use super::body::{Body, Result};
use super::mods::Mods;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::alu::{R2, RQ};
use crate::isa::ir::{Alu, Op, Uniform};
use crate::isa::mbarrier::{Arrival, MAX_COUNT, Mbarrier, Operation, Phase};
use crate::isa::names::{R, Slot};
use crate::isa::types::Type;
use crate::isa::window::Window;

/// How a bulk copy says that its bytes are there.
const BYTES_COME: &str = "mbarrier::complete_tx::bytes";

impl<'a> Body<'_, '_, '_, 'a> {
    /// True if the instruction was one of these.
    pub fn barrier_object(
        &mut self,
        mods: &mut Mods<'a>,
        operands: &[Operand<'a>],
    ) -> Result<bool> {
        match mods.base {
            "mbarrier" => {}
            // Objects are in memory as soon as they are made, and a cluster is one block.
            "fence" if mods.has("mbarrier_init") => {
                mods.drop_all(&["mbarrier_init", "release", "cluster"]);
                self.emit(Op::Nop);
                return Ok(true);
            }
            "cp" if mods.has("async") && mods.has("mbarrier") => {
                mods.drop_all(&["async", "mbarrier", "arrive"]);
                let adds_itself = !mods.take("noinc");
                let [address] = self.exactly(operands)?;
                self.on_object(mods, address, Operation::CopiesArrive { adds_itself })?;
                return Ok(true);
            }
            "cp" if mods.has("bulk") && mods.has(BYTES_COME) && !mods.has("tensor") => {
                self.bulk_copy(mods, operands)?;
                return Ok(true);
            }
            _ => return Ok(false),
        }
        let kinds = [
            "init",
            "inval",
            "expect_tx",
            "complete_tx",
            "arrive",
            "arrive_drop",
            "test_wait",
            "try_wait",
            "pending_count",
        ];
        // `.arrive.expect_tx` is an arrival.
        let arrives = ["arrive", "arrive_drop"].into_iter().find(|kind| mods.has(kind));
        let kind = match arrives {
            Some(kind) => mods.take_any(&[kind]),
            None => mods.take_any(&kinds),
        };
        match kind {
            Some("init") => {
                let [address, count] = self.exactly(operands)?;
                let count = self.value_r(count, Type::U32)?;
                self.on_object(mods, address, Operation::Init(count))?;
            }
            Some("inval") => {
                let [address] = self.exactly(operands)?;
                self.on_object(mods, address, Operation::Invalidate)?;
            }
            Some(kind @ ("expect_tx" | "complete_tx")) => {
                let [address, bytes] = self.exactly(operands)?;
                let bytes = self.value_r(bytes, Type::U32)?;
                let expects = kind == "expect_tx";
                let operation =
                    if expects { Operation::Expect(bytes) } else { Operation::Complete(bytes) };
                self.on_object(mods, address, operation)?;
            }
            Some(kind @ ("arrive" | "arrive_drop")) => {
                self.arrival(mods, operands, kind == "arrive_drop")?;
            }
            Some("test_wait" | "try_wait") => self.test_of_phase(mods, operands)?,
            Some("pending_count") => self.pending_count(mods, operands)?,
            _ => return Err(self.malformed("no such instruction of `mbarrier`")),
        }
        Ok(true)
    }

    /// Adds an operation with its address; takes the modifiers that all of them may have.
    fn on_object(
        &mut self,
        mods: &mut Mods<'a>,
        address: &Operand<'a>,
        operation: Operation,
    ) -> Result<()> {
        // All of a cluster is one block, so its scope is that of the block.
        mods.drop_all(&["acquire", "release", "relaxed", "cta", "cluster", "b64"]);
        let window = mods.take_any(&["shared", "shared::cta"]).map(|_| Window::Shared);
        let address = self.address(address, window, true)?;
        self.emit(Op::Mbarrier(Box::new(Mbarrier { address, operation })));
        Ok(())
    }

    /// `cp.async.bulk` from global memory to the own block's shared memory.
    fn bulk_copy(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        // The policy is the last operand.
        let operands = match operands {
            [rest @ .., _] if mods.take("L2::cache_hint") => rest,
            all => all,
        };
        let [to, from, bytes, object] = self.exactly(operands)?;
        // An address of a block's own shared memory is one of the cluster's.
        let to_shared = mods.take_any(&["shared::cluster", "shared::cta"]).is_some();
        if !(mods.take("async") && to_shared && mods.take("global")) {
            return Err(self.malformed("this copy goes from global to shared memory"));
        }
        mods.drop_all(&["bulk", BYTES_COME]);
        let bytes = self.value_r(bytes, Type::U32)?;
        let to = self.address(to, Some(Window::Shared), false)?;
        let from = self.address(from, Some(Window::Global), false)?;
        let address = self.address(object, Some(Window::Shared), true)?;
        let operation = Operation::Copy { to, from, bytes };
        self.emit(Op::Mbarrier(Box::new(Mbarrier { address, operation })));
        Ok(())
    }

    fn arrival(
        &mut self,
        mods: &mut Mods<'a>,
        operands: &[Operand<'a>],
        drops: bool,
    ) -> Result<()> {
        let completes = !mods.take("noComplete");
        let expects = mods.take("expect_tx");
        let releases = !mods.has("relaxed");
        let ([token, address], number) = match operands {
            [token, address] => ([token, address], None),
            [token, address, number] => ([token, address], Some(number)),
            _ => {
                return Err(
                    self.malformed("an arrival has a state, an address and perhaps a count")
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
        if matches!(token, Slot::R(_)) {
            return Err(self.malformed(format!("a state has 64 bits, not {bits}")));
        }
        let (count, expects) = if expects { (None, number) } else { (number, None) };
        let arrival = Arrival { token, count, expects, drops, completes, releases };
        self.on_object(mods, address, Operation::Arrive(arrival))
    }

    /// A thread that tries to wait may be held up for a while, or not: here it gives up its turn.
    fn test_of_phase(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        let parity = mods.take("parity");
        let acquires = !mods.has("relaxed");
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
        self.on_object(mods, address, Operation::Test { done, phase, acquires })
    }

    /// The arrivals that were missing where a state comes from.
    fn pending_count(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        mods.ty();
        let [d, state] = self.exactly(operands)?;
        let (state, (d, _)) = (self.value_q(state, Type::B64)?, self.dst_r(d)?);
        let low: R = self.builder.new_r();
        self.prepare(Alu::RQ(RQ::Low, low, state));
        let mask = self.builder.uniform_r(Uniform::Bits(MAX_COUNT.into()));
        self.alu(Alu::R2(R2::And, d, low, mask));
        Ok(())
    }
}
