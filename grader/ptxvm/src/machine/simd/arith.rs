//! Executes arithmetic: every instruction that touches registers alone.

use crate::isa::ir::{Alu, Carry, Instr, Logic, Op, alu};
use crate::isa::names::{Pred, Reg32, Reg64};
use crate::isa::opcodes::with_lane_operations;
use crate::isa::ops::cmp;
use crate::isa::ops::float::{down, up, w32 as f32s, w64 as f64s, zero};
use crate::isa::ops::half::{bf16, f16};
use crate::isa::ops::int::{w32, w64};
use crate::isa::ops::{approx, cvt, flush, half, int, narrow, sfu, video};
use crate::lanes::{LaneArray, lanes};
use crate::machine::registers::Registers;
use crate::machine::simd::sets::{for_each_set, with_features};

/// What a run of arithmetic did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ArithmeticRun {
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
pub(crate) const BIT: [u32; 32] = bits();

/// The lanes of an instruction.
#[derive(Clone, Copy)]
struct ActiveLanes<'s> {
    mask: u32,
    /// All ones or zero for each lane.
    spread: &'s LaneArray<u32>,
}

/// Without closures, which would not be compiled for the caller's instruction set.
#[inline(always)]
pub(crate) fn spread(mask: u32) -> LaneArray<u32> {
    let mut row = LaneArray([0; 32]);
    let LaneArray(all) = &mut row;
    for lane in 0..32 {
        all[lane] = if mask & BIT[lane] == 0 { 0 } else { u32::MAX };
    }
    row
}

/// Computes all lanes: the mask comes in when they are written.
macro_rules! fast {
    ($active:ident, $old:expr, |$lane:ident| $value:expr) => {{
        let mut all = [0; 32];
        for $lane in 0..32 {
            all[$lane] = $value;
        }
        all
    }};
}

/// Computes the lanes of the mask one by one.
macro_rules! slow {
    ($active:ident, $old:expr, |$lane:ident| $value:expr) => {{
        let mut all = *$old;
        for $lane in lanes($active.mask) {
            all[$lane] = $value;
        }
        all
    }};
}

#[inline(always)]
fn write_r(registers: &mut Registers, active: ActiveLanes, d: Reg32, all: &[u32; 32]) {
    let dst = registers.r_mut(d);
    if active.mask == u32::MAX {
        *dst = *all;
    } else {
        for lane in 0..32 {
            dst[lane] = dst[lane] & !active.spread.0[lane] | all[lane] & active.spread.0[lane];
        }
    }
}

#[inline(always)]
fn write_q(registers: &mut Registers, active: ActiveLanes, d: Reg64, all: &[u64; 32]) {
    let dst = registers.q_mut(d);
    if active.mask == u32::MAX {
        *dst = *all;
    } else {
        for lane in 0..32 {
            let keep = i64::from(active.spread.0[lane] as i32) as u64;
            dst[lane] = dst[lane] & !keep | all[lane] & keep;
        }
    }
}

/// One lane loop by destination file, speed and sources.
macro_rules! lane_loop {
    (Pred $speed:ident $registers:ident, $active:ident, $d:ident, $path:path, $($a:ident),*) => {{
        let mut bits = LaneArray([0; 32]);
        for lane in 0..32 {
            bits.0[lane] = if $path($($a[lane]),*) { BIT[lane] } else { 0 };
        }
        let result = together(&bits);
        $registers.set_p($d, $active.mask, result);
    }};
    (Reg32 $speed:ident $registers:ident, $active:ident, $d:ident, $path:path, $($a:ident),*) => {{
        let all = $speed!($active, $registers.r($d), |lane| $path($($a[lane]),*));
        write_r($registers, $active, $d, &all);
    }};
    (Reg64 $speed:ident $registers:ident, $active:ident, $d:ident, $path:path, $($a:ident),*) => {{
        let all = $speed!($active, $registers.q($d), |lane| $path($($a[lane]),*));
        write_q($registers, $active, $d, &all);
    }};
}

macro_rules! fetch {
    ($registers:ident, Reg32, $a:ident) => {
        let $a = $registers.r($a);
    };
    ($registers:ident, Reg64, $a:ident) => {
        let $a = $registers.q($a);
    };
}

macro_rules! run_with {
    ($code:ident, $start:ident, $registers:ident, $mask:ident) => {{
        let mut unguarded = 0;
        let mut ran = ArithmeticRun { next: $start, ..ArithmeticRun::default() };
        let all = spread($mask);
        let mut some;
        for instr in &$code[$start..] {
            let Op::Alu(alu) = &instr.op else { break };
            let active = match instr.guard {
                None => {
                    unguarded += u64::from(instr.class.is_some());
                    ActiveLanes { mask: $mask, spread: &all }
                }
                Some(guard) => {
                    let p = $registers.p(guard.predicate);
                    let active = $mask & if guard.negated { !p } else { p };
                    let counted = u64::from(instr.class.is_some());
                    ran.instructions += counted;
                    ran.lane_instructions += counted * u64::from(active.count_ones());
                    some = spread(active);
                    ActiveLanes { mask: active, spread: &some }
                }
            };
            if active.mask != 0 {
                step(alu, $registers, active);
            }
            ran.next += 1;
        }
        ran.instructions += unguarded;
        ran.lane_instructions += unguarded * u64::from($mask.count_ones());
        ran
    }};
}

/// The arithmetic of one instruction set, in a module of its own.
macro_rules! define_set {
    ($set:ident $features:tt $($(#[$doc:meta])* $signature:ident($method:ident: $dst:ident, $($file:ident),*) {
        $($op:ident $class:ident $rule:ident $(($($argument:tt)*))? $speed:ident $path:path $(= $($ptx:literal),+)?;)*
    })*) => {
        pub(crate) mod $set {
            use super::*;

            with_features!{ $features
                /// Runs instructions from `start` on up to the first that is no arithmetic, or the end.
                pub(crate) fn run(code: &[Instr], start: usize, registers: &mut Registers, mask: u32) -> ArithmeticRun {
                    run_with!(code, start, registers, mask)
                }
            }
            $(define_signature!{ $features $signature $method $dst [$($file),*] $($op $speed $path;)* })*

            with_features!{ $features
                /// Or of all lanes. Not inlined: merged with the comparison it becomes 32 conditional moves.
                #[inline(never)]
                pub(crate) fn together(LaneArray(bits): &LaneArray<u32>) -> u32 {
                    bits.iter().fold(0, |all, bit| all | bit)
                }
            }

            with_features!{ $features
                fn step(alu: &Alu, registers: &mut Registers, active: ActiveLanes) {
                    define_dispatch!{ alu registers active $($signature $method [$($file),*])* }
                }
            }
        }
    };
}

/// One function for each signature: a match over its operations.
macro_rules! define_signature {
    ($features:tt $signature:ident $method:ident $dst:ident [$f1:ident] $($ops:tt)*) => {
        define_signature!{ @named $features $signature $method $dst [a: $f1] registers active d $($ops)* }
    };
    ($features:tt $signature:ident $method:ident $dst:ident [$f1:ident, $f2:ident] $($ops:tt)*) => {
        define_signature!{ @named $features $signature $method $dst [a: $f1, b: $f2] registers active d $($ops)* }
    };
    ($features:tt $signature:ident $method:ident $dst:ident [$f1:ident, $f2:ident, $f3:ident] $($ops:tt)*) => {
        define_signature!{ @named $features $signature $method $dst [a: $f1, b: $f2, c: $f3] registers active d $($ops)* }
    };
    ($features:tt $signature:ident $method:ident $dst:ident [$f1:ident, $f2:ident, $f3:ident, $f4:ident] $($ops:tt)*) => {
        define_signature!{ @named $features $signature $method $dst [a: $f1, b: $f2, c: $f3, e: $f4] registers active d $($ops)* }
    };
    (@named $features:tt $signature:ident $method:ident $dst:ident $sources:tt $registers:ident $active:ident $d:ident
        $($op:ident $speed:ident $path:path;)*) => {
        define_method!{ $features $signature $method $dst $sources $registers $active $d op {
            $(alu::$signature::$op => lane_function!($features $method op $dst $speed $path, $sources $registers $active $d),)*
        } }
    };
}

macro_rules! define_method {
    ($features:tt $signature:ident $method:ident $dst:ident [$($a:ident: $file:ident),*] $registers:ident $active:ident
        $d:ident $op:ident $arms:tt) => {
        with_features!{ $features
            #[allow(clippy::too_many_arguments, reason = "one for each operand of the instruction")]
            pub(super) fn $method(
                $registers: &mut Registers, $active: ActiveLanes, $op: alu::$signature, $d: $dst, $($a: $file),*
            ) {
                match $op $arms
            }
        }
    };
}

/// A function of its own for each operation: in one large function the compiler finds too much to move about. A `rare`
/// operation has a function in the baseline alone, which the other sets call.
macro_rules! lane_function {
    ([] $method:ident $op:ident $dst:ident rare $($rest:tt)*) => {
        lane_function!([] $method $op $dst slow $($rest)*)
    };
    ($features:tt $method:ident $op:ident $dst:ident rare $path:path, [$($a:ident: $file:ident),*] $registers:ident
        $active:ident $d:ident) => {
        super::baseline::$method($registers, $active, $op, $d, $($a),*)
    };
    ($features:tt $method:ident $op:ident $dst:ident $speed:ident $path:path, [$($a:ident: $file:ident),*] $registers:ident
        $active:ident $d:ident) => {{
        with_features!{ $features
            #[inline(never)]
            fn run($registers: &mut Registers, $active: ActiveLanes, $d: $dst, $($a: $file),*) {
                $(fetch!($registers, $file, $a);)*
                lane_loop!($dst $speed $registers, $active, $d, $path, $($a),*);
            }
        }
        run($registers, $active, $d, $($a),*)
    }};
}

macro_rules! define_dispatch {
    ($alu:ident $registers:ident $active:ident $($signature:ident $method:ident [$($file:ident),*])*) => {
        define_dispatch!{ @arms $alu $registers $active [] $($signature $method [$($file),*])* }
    };
    (@arms $alu:ident $registers:ident $active:ident [$($arms:tt)*]) => {
        match *$alu {
            $($arms)*
            Alu::Logic(logic, d, a, b) => predicate_logic($registers, $active.mask, logic, d, a, b),
            Alu::SelectR(d, a, b, p) => {
                let (x, y, p) = ($registers.r(a), $registers.r(b), $registers.p(p));
                let all = fast!($active, x, |lane| if p & BIT[lane] == 0 { y[lane] } else { x[lane] });
                write_r($registers, $active, d, &all);
            }
            Alu::SelectQ(d, a, b, p) => {
                let (x, y, p) = ($registers.q(a), $registers.q(b), $registers.p(p));
                let all = fast!($active, x, |lane| if p & BIT[lane] == 0 { y[lane] } else { x[lane] });
                write_q($registers, $active, d, &all);
            }
            Alu::CarryR(carry, d, a, b) => carry_r($registers, $active.mask, carry, d, a, b),
            Alu::CarryQ(carry, d, a, b) => carry_q($registers, $active.mask, carry, d, a, b),
        }
    };
    (@arms $alu:ident $registers:ident $active:ident [$($arms:tt)*] $signature:ident $method:ident [$f1:ident] $($rest:tt)*) => {
        define_dispatch!{ @arms $alu $registers $active [$($arms)*
            Alu::$signature(op, d, a) => $method($registers, $active, op, d, a),] $($rest)* }
    };
    (@arms $alu:ident $registers:ident $active:ident [$($arms:tt)*] $signature:ident $method:ident [$f1:ident, $f2:ident]
        $($rest:tt)*) => {
        define_dispatch!{ @arms $alu $registers $active [$($arms)*
            Alu::$signature(op, d, a, b) => $method($registers, $active, op, d, a, b),] $($rest)* }
    };
    (@arms $alu:ident $registers:ident $active:ident [$($arms:tt)*] $signature:ident $method:ident
        [$f1:ident, $f2:ident, $f3:ident] $($rest:tt)*) => {
        define_dispatch!{ @arms $alu $registers $active [$($arms)*
            Alu::$signature(op, d, a, b, c) => $method($registers, $active, op, d, a, b, c),] $($rest)* }
    };
    (@arms $alu:ident $registers:ident $active:ident [$($arms:tt)*] $signature:ident $method:ident
        [$f1:ident, $f2:ident, $f3:ident, $f4:ident] $($rest:tt)*) => {
        define_dispatch!{ @arms $alu $registers $active [$($arms)*
            Alu::$signature(op, d, a, b, c, e) => $method($registers, $active, op, d, a, b, c, e),] $($rest)* }
    };
}

for_each_set!(with_lane_operations define_set);

fn predicate_logic(registers: &mut Registers, mask: u32, logic: Logic, d: Pred, a: Pred, b: Pred) {
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
carry!(carry_r, Reg32, r, r_mut, w32);
carry!(carry_q, Reg64, q, q_mut, w64);
