//! Runs arithmetic: everything that touches registers alone.

use crate::ir::{Alu, Carry, Instr, Logic, Op, P, Q, R, alu};
use crate::opcodes::with_alu_table;
use crate::ops::cmp;
use crate::ops::float::{down, up, w32 as f32s, w64 as f64s, zero};
use crate::ops::half::{bf16, f16};
use crate::ops::int::{w32, w64};
use crate::ops::{approx, cvt, flush, half, int, narrow, video};
use crate::warp::{Registers, lanes};

/// What a run of arithmetic did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ran {
    /// Index of the first instruction that is no arithmetic.
    pub next: usize,
    /// Instructions of the warp.
    pub instructions: u64,
    /// Instructions, counted once for each active lane.
    pub lane_instructions: u64,
}

const fn bits() -> [u32; 32] {
    let mut bits = [0; 32];
    let mut lane = 0;
    while lane < 32 {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
}
/// `BIT[i]` tells lane `i` apart in a mask; as a table, because a shift by lane does not vectorise on SSE2.
const BIT: [u32; 32] = bits();

/// Runs instructions from `start` on up to the first that is no arithmetic, or the end.
#[inline(always)]
pub(crate) fn run_body(code: &[Instr], start: usize, registers: &mut Registers, mask: u32) -> Ran {
    let mut unguarded = 0;
    let mut ran = Ran { next: start, ..Ran::default() };
    for instr in &code[start..] {
        let Op::Alu(alu) = &instr.op else { break };
        let active = match instr.guard {
            None => {
                unguarded += u64::from(instr.counted);
                mask
            }
            Some(guard) => {
                let p = registers.p(guard.predicate);
                let active = mask & if guard.negated { !p } else { p };
                let counted = u64::from(instr.counted);
                ran.instructions += counted;
                ran.lane_instructions += counted * u64::from(active.count_ones());
                active
            }
        };
        if active != 0 {
            step(alu, registers, active);
        }
        ran.next += 1;
    }
    ran.instructions += unguarded;
    ran.lane_instructions += unguarded * u64::from(mask.count_ones());
    ran
}

/// Computes all lanes and keeps those of the mask.
macro_rules! fast {
    ($mask:ident, $dst:expr, |$lane:ident| $value:expr) => {
        if $mask == u32::MAX {
            for $lane in 0..32 {
                $dst[$lane] = $value;
            }
        } else {
            for $lane in 0..32 {
                let value = $value;
                $dst[$lane] = if $mask & BIT[$lane] == 0 { $dst[$lane] } else { value };
            }
        }
    };
}

/// Computes the lanes of the mask one by one.
macro_rules! slow {
    ($mask:ident, $dst:expr, |$lane:ident| $value:expr) => {
        for $lane in lanes($mask) {
            $dst[$lane] = $value;
        }
    };
}

/// One bit for each byte that is 1.
#[inline(always)]
fn gather_bits(flags: &[u8; 32]) -> u32 {
    let mut mask = 0;
    for (chunk, shift) in flags.chunks_exact(8).zip([0, 8, 16, 24]) {
        let bytes = chunk.iter().rev().fold(0u64, |all, &byte| all << 8 | u64::from(byte));
        // The product brings the low bit of byte i to bit 56 + i, and no carry disturbs it.
        mask |= ((bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32) << shift;
    }
    mask
}

/// One lane loop by destination file, speed and sources.
macro_rules! lane_loop {
    (P $speed:ident $registers:ident, $mask:ident, $d:ident, $path:path, $($a:ident),*) => {{
        let mut flags = [0u8; 32];
        for lane in 0..32 {
            flags[lane] = u8::from($path($($a[lane]),*));
        }
        let result = gather_bits(&flags);
        $registers.set_p($d, $mask, result);
    }};
    (R $speed:ident $registers:ident, $mask:ident, $d:ident, $path:path, $($a:ident),*) => {{
        let dst = $registers.r_mut($d);
        $speed!($mask, dst, |lane| $path($($a[lane]),*));
    }};
    (Q $speed:ident $registers:ident, $mask:ident, $d:ident, $path:path, $($a:ident),*) => {{
        let dst = $registers.q_mut($d);
        $speed!($mask, dst, |lane| $path($($a[lane]),*));
    }};
}

/// A copy of a source register: the destination may be the same one.
macro_rules! fetch {
    ($registers:ident, R, $a:ident) => {
        let $a: [u32; 32] = *$registers.r($a);
    };
    ($registers:ident, Q, $a:ident) => {
        let $a: [u64; 32] = *$registers.q($a);
    };
}

macro_rules! define_classes {
    ($($(#[$doc:meta])* $class:ident($method:ident: $dst:ident, $($file:ident),*) {
        $($op:ident $speed:ident $path:path;)*
    })*) => {
        $(define_class!{ $class $method $dst [$($file),*] $($op $speed $path;)* })*

        #[inline(always)]
        fn step(alu: &Alu, registers: &mut Registers, mask: u32) {
            define_dispatch!{ alu registers mask $($class $method [$($file),*])* }
        }
    };
}

/// One function for each class: a match over its operations.
macro_rules! define_class {
    ($class:ident $method:ident $dst:ident [$f1:ident] $($op:ident $speed:ident $path:path;)*) => {
        #[inline(always)]
        fn $method(registers: &mut Registers, mask: u32, op: alu::$class, d: $dst, a: $f1) {
            fetch!(registers, $f1, a);
            match op { $(alu::$class::$op => lane_loop!($dst $speed registers, mask, d, $path, a),)* }
        }
    };
    ($class:ident $method:ident $dst:ident [$f1:ident, $f2:ident] $($op:ident $speed:ident $path:path;)*) => {
        #[inline(always)]
        fn $method(registers: &mut Registers, mask: u32, op: alu::$class, d: $dst, a: $f1, b: $f2) {
            fetch!(registers, $f1, a);
            fetch!(registers, $f2, b);
            match op { $(alu::$class::$op => lane_loop!($dst $speed registers, mask, d, $path, a, b),)* }
        }
    };
    ($class:ident $method:ident $dst:ident [$f1:ident, $f2:ident, $f3:ident]
        $($op:ident $speed:ident $path:path;)*) => {
        #[inline(always)]
        fn $method(
            registers: &mut Registers, mask: u32, op: alu::$class, d: $dst, a: $f1, b: $f2, c: $f3,
        ) {
            fetch!(registers, $f1, a);
            fetch!(registers, $f2, b);
            fetch!(registers, $f3, c);
            match op {
                $(alu::$class::$op => lane_loop!($dst $speed registers, mask, d, $path, a, b, c),)*
            }
        }
    };
    ($class:ident $method:ident $dst:ident [$f1:ident, $f2:ident, $f3:ident, $f4:ident]
        $($op:ident $speed:ident $path:path;)*) => {
        #[inline(always)]
        #[expect(clippy::too_many_arguments, reason = "one for each operand of the instruction")]
        fn $method(
            registers: &mut Registers, mask: u32, op: alu::$class, d: $dst, a: $f1, b: $f2, c: $f3, e: $f4,
        ) {
            fetch!(registers, $f1, a);
            fetch!(registers, $f2, b);
            fetch!(registers, $f3, c);
            fetch!(registers, $f4, e);
            match op {
                $(alu::$class::$op => lane_loop!($dst $speed registers, mask, d, $path, a, b, c, e),)*
            }
        }
    };
}

macro_rules! define_dispatch {
    ($alu:ident $registers:ident $mask:ident $($class:ident $method:ident [$($file:ident),*])*) => {
        define_dispatch!{ @arms $alu $registers $mask [] $($class $method [$($file),*])* }
    };
    (@arms $alu:ident $registers:ident $mask:ident [$($arms:tt)*]) => {
        match *$alu {
            $($arms)*
            Alu::Logic(logic, d, a, b) => predicate_logic($registers, $mask, logic, d, a, b),
            Alu::SelectR(d, a, b, p) => {
                let (a, b, p) = (*$registers.r(a), *$registers.r(b), $registers.p(p));
                let dst = $registers.r_mut(d);
                fast!($mask, dst, |lane| if p & BIT[lane] == 0 { b[lane] } else { a[lane] });
            }
            Alu::SelectQ(d, a, b, p) => {
                let (a, b, p) = (*$registers.q(a), *$registers.q(b), $registers.p(p));
                let dst = $registers.q_mut(d);
                fast!($mask, dst, |lane| if p & BIT[lane] == 0 { b[lane] } else { a[lane] });
            }
            Alu::CarryR(carry, d, a, b) => carry_r($registers, $mask, carry, d, a, b),
            Alu::CarryQ(carry, d, a, b) => carry_q($registers, $mask, carry, d, a, b),
        }
    };
    (@arms $alu:ident $registers:ident $mask:ident [$($arms:tt)*] $class:ident $method:ident [$f1:ident] $($rest:tt)*) => {
        define_dispatch!{ @arms $alu $registers $mask [$($arms)*
            Alu::$class(op, d, a) => $method($registers, $mask, op, d, a),] $($rest)* }
    };
    (@arms $alu:ident $registers:ident $mask:ident [$($arms:tt)*] $class:ident $method:ident [$f1:ident, $f2:ident]
        $($rest:tt)*) => {
        define_dispatch!{ @arms $alu $registers $mask [$($arms)*
            Alu::$class(op, d, a, b) => $method($registers, $mask, op, d, a, b),] $($rest)* }
    };
    (@arms $alu:ident $registers:ident $mask:ident [$($arms:tt)*] $class:ident $method:ident
        [$f1:ident, $f2:ident, $f3:ident] $($rest:tt)*) => {
        define_dispatch!{ @arms $alu $registers $mask [$($arms)*
            Alu::$class(op, d, a, b, c) => $method($registers, $mask, op, d, a, b, c),] $($rest)* }
    };
    (@arms $alu:ident $registers:ident $mask:ident [$($arms:tt)*] $class:ident $method:ident
        [$f1:ident, $f2:ident, $f3:ident, $f4:ident] $($rest:tt)*) => {
        define_dispatch!{ @arms $alu $registers $mask [$($arms)*
            Alu::$class(op, d, a, b, c, e) => $method($registers, $mask, op, d, a, b, c, e),] $($rest)* }
    };
}

with_alu_table!(define_classes);

fn predicate_logic(registers: &mut Registers, mask: u32, logic: Logic, d: P, a: P, b: P) {
    let (a, b) = (registers.p(a), registers.p(b));
    let value = match logic {
        Logic::And => a & b,
        Logic::Or => a | b,
        Logic::Xor => a ^ b,
        Logic::Not => !a,
        Logic::Mov => a,
    };
    registers.set_p(d, mask, value);
}

macro_rules! carry {
    ($name:ident, $file:ident, $get:ident, $get_mut:ident, $width:ident) => {
        fn $name(registers: &mut Registers, mask: u32, carry: Carry, d: $file, a: $file, b: $file) {
            let (a, b) = (*registers.$get(a), *registers.$get(b));
            let before = if carry.reads { registers.carry } else { 0 };
            let mut after = registers.carry;
            let dst = registers.$get_mut(d);
            for lane in lanes(mask) {
                let flag = before & BIT[lane] != 0;
                let (value, out) = if carry.subtract {
                    $width::sub_borrow(a[lane], b[lane], flag)
                } else {
                    $width::add_carry(a[lane], b[lane], flag)
                };
                dst[lane] = value;
                after = if out { after | BIT[lane] } else { after & !BIT[lane] };
            }
            if carry.writes {
                registers.carry = after;
            }
        }
    };
}
carry!(carry_r, R, r, r_mut, w32);
carry!(carry_q, Q, q, q_mut, w64);
