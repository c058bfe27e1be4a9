//! Executes arithmetic: every instruction that touches registers alone.
//!
//! It is threaded code (Bell, "Threaded Code", 1973): each instruction holds the function that executes it, compiled for the
//! instruction set of this processor, so that nothing is left to decode.

use crate::isa::ir::{Alu, Instr, Logic, MAX_OPERANDS, Op};
use crate::isa::names::{Guard, Pred, Reg32, Reg64};
use crate::isa::opcodes::with_lane_operations;
use crate::isa::operands::registers;
use crate::isa::ops::int::{w32, w64};
use crate::lanes::{LaneArray, lanes};
use crate::machine::registers::Registers;
use crate::machine::simd::sets::for_each_set;

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

/// A mask of lanes, and the same with all ones or zero for each lane.
#[derive(Clone, Debug)]
pub(crate) struct SpreadMask {
    pub mask: u32,
    /// How many lanes it has.
    pub count: u32,
    pub spread: LaneArray<u32>,
}

impl SpreadMask {
    /// No lanes.
    pub const NONE: Self = Self { mask: 0, count: 0, spread: LaneArray([0; 32]) };
}

/// Indices of the registers of an instruction, the destination first.
type Operands = [u32; MAX_OPERANDS];

/// Executes one instruction.
type LaneFunction = fn(&mut Registers, &SpreadMask, &Operands);

/// An instruction of threaded code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadedInstr {
    /// Does nothing if it is no arithmetic.
    function: LaneFunction,
    operands: Operands,
    guard: Option<Guard>,
    /// Arithmetic without guards from here on, in instructions; 0 if this one has a guard, or is no arithmetic.
    unguarded: u16,
    /// How many of these count as instructions of the program.
    counted: u16,
    is_arithmetic: bool,
    /// Whether this one counts.
    counts: bool,
}

impl ThreadedInstr {
    /// The instruction in front of others.
    fn new(instr: &Instr, function: Option<LaneFunction>, next: Option<&Self>) -> Self {
        let operands = match &instr.op {
            Op::Alu(alu) => operands(alu),
            _ => Operands::default(),
        };
        let counts = instr.class.is_some();
        let (mut unguarded, mut counted) = (0, 0);
        if function.is_some() && instr.guard.is_none() {
            let fits = |next: &&Self| next.unguarded < u16::MAX;
            (unguarded, counted) =
                next.filter(fits).map_or((0, 0), |next| (next.unguarded, next.counted));
            unguarded += 1;
            counted += u16::from(counts);
        }
        Self {
            function: function.unwrap_or(|_, _, _| {}),
            operands,
            guard: instr.guard,
            unguarded,
            counted,
            is_arithmetic: function.is_some(),
            counts,
        }
    }

    /// Whether a run of arithmetic begins here.
    #[inline(always)]
    pub fn is_arithmetic(&self) -> bool {
        self.is_arithmetic
    }
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
fn write_r(registers: &mut Registers, active: &SpreadMask, d: Reg32, all: &[u32; 32]) {
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
fn write_q(registers: &mut Registers, active: &SpreadMask, d: Reg64, all: &[u64; 32]) {
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
    ($set:ident Pred $speed:ident $registers:ident, $active:ident, $d:ident, $path:path, $($a:ident),*) => {{
        let mut holds = LaneArray([0; 32]);
        for lane in 0..32 {
            holds.0[lane] = if $path($($a[lane]),*) { u32::MAX } else { 0 };
        }
        let result = movemask::$set(&holds);
        $registers.set_p(Pred($d), $active.mask, result);
    }};
    ($set:ident Reg32 $speed:ident $registers:ident, $active:ident, $d:ident, $path:path, $($a:ident),*) => {{
        let all = $speed!($active, $registers.r(Reg32($d)), |lane| $path($($a[lane]),*));
        write_r($registers, $active, Reg32($d), &all);
    }};
    ($set:ident Reg64 $speed:ident $registers:ident, $active:ident, $d:ident, $path:path, $($a:ident),*) => {{
        let all = $speed!($active, $registers.q(Reg64($d)), |lane| $path($($a[lane]),*));
        write_q($registers, $active, Reg64($d), &all);
    }};
}

macro_rules! fetch {
    ($registers:ident, Reg32, $a:ident) => {
        let $a = $registers.r(Reg32($a));
    };
    ($registers:ident, Reg64, $a:ident) => {
        let $a = $registers.q(Reg64($a));
    };
}

/// Runs instructions from `start` on up to the first that is no arithmetic, or the end. The mask has lanes.
#[inline(always)]
pub(crate) fn run(
    code: &[ThreadedInstr],
    start: usize,
    registers: &mut Registers,
    active: &SpreadMask,
    set_mask: fn(&mut SpreadMask, u32),
) -> ArithmeticRun {
    let mut unguarded = 0;
    let mut ran = ArithmeticRun { next: start, ..ArithmeticRun::default() };
    while let Some(instr) = code.get(ran.next) {
        if instr.unguarded != 0 {
            let rest = &code[ran.next..];
            // Where only a part of the code is given, the run is cut short.
            let (run, counted) = match rest.get(..instr.unguarded.into()) {
                Some(run) => (run, instr.counted),
                None => (&rest[..1], instr.counts.into()),
            };
            for instr in run {
                (instr.function)(registers, active, &instr.operands);
            }
            unguarded += u64::from(counted);
            ran.next += run.len();
            continue;
        }
        let Some(guard) = instr.guard.filter(|_| instr.is_arithmetic) else { break };
        ran.next += 1;
        let p = registers.p(guard.predicate);
        let mask = active.mask & if guard.negated { !p } else { p };
        if mask != 0 {
            let mut some = SpreadMask::NONE;
            set_mask(&mut some, mask);
            ran.lane_instructions += u64::from(instr.counts) * u64::from(some.count);
            (instr.function)(registers, &some, &instr.operands);
        }
        ran.instructions += u64::from(instr.counts);
    }
    ran.instructions += unguarded;
    ran.lane_instructions += unguarded * u64::from(active.count);
    ran
}

/// The arithmetic of one instruction set, in a module of its own.
macro_rules! define_set {
    ($set:ident $features:tt $($(#[$doc:meta])* $signature:ident($method:ident: $dst:ident, $($file:ident),*) {
        $($op:ident $class:ident $rule:ident $(($($argument:tt)*))? $speed:ident $path:path $(= $($ptx:literal),+)?;)*
    })*) => {
        pub(crate) mod $set {
            use super::{
                BIT, LaneFunction, Operands, SpreadMask, ThreadedInstr, carry_q, carry_r, predicate_logic, spread, write_q,
                write_r,
            };
            use crate::isa::ir::{Alu, Instr, Op, alu};
            use crate::isa::names::{Pred, Reg32, Reg64};
            #[allow(unused_imports, reason = "rare operations are those of the baseline")]
            use crate::isa::ops::float::{down, up, w32 as f32s, w64 as f64s, zero};
            use crate::isa::ops::half::{bf16, f16};
            use crate::isa::ops::int::{w32, w64};
            #[allow(unused_imports, reason = "rare operations are those of the baseline")]
            use crate::isa::ops::{approx, cmp, cvt, flush, half, int, narrow, sfu, video};
            use crate::lanes::{LaneArray, lanes};
            use crate::machine::registers::Registers;
            use crate::machine::simd::movemask;
            use crate::machine::simd::sets::with_features;

            with_features!{ $features
                /// Makes `active` the lanes of a mask.
                pub(crate) fn set_mask(active: &mut SpreadMask, mask: u32) {
                    *active = SpreadMask { mask, count: mask.count_ones(), spread: spread(mask) };
                }
            }

            with_features!{ $features
                /// The threaded code of a program.
                pub(crate) fn thread(code: &[Instr]) -> Vec<ThreadedInstr> {
                    let mut threaded: Vec<ThreadedInstr> = Vec::with_capacity(code.len());
                    for instr in code.iter().rev() {
                        let function = match &instr.op {
                            Op::Alu(alu) => Some(function(alu)),
                            _ => None,
                        };
                        threaded.push(ThreadedInstr::new(instr, function, threaded.last()));
                    }
                    threaded.reverse();
                    threaded
                }
            }

            with_features!{ $features
                fn function(alu: &Alu) -> LaneFunction {
                    match *alu {
                        $(Alu::$signature(op, ..) => $method(op),)*
                        Alu::Logic(logic, ..) => predicate_logic(logic),
                        Alu::SelectR(..) => select_r,
                        Alu::SelectQ(..) => select_q,
                        Alu::CarryR(carry, ..) => if carry.subtract { carry_r::<true> } else { carry_r::<false> },
                        Alu::CarryQ(carry, ..) => if carry.subtract { carry_q::<true> } else { carry_q::<false> },
                    }
                }
            }

            with_features!{ $features
                fn select_r(registers: &mut Registers, active: &SpreadMask, &[d, a, b, p, _]: &Operands) {
                    let (x, y, p) = (registers.r(Reg32(a)), registers.r(Reg32(b)), registers.p(Pred(p)));
                    let LaneArray(first) = spread(p);
                    let all = fast!(active, x, |lane| x[lane] & first[lane] | y[lane] & !first[lane]);
                    write_r(registers, active, Reg32(d), &all);
                }
            }

            with_features!{ $features
                fn select_q(registers: &mut Registers, active: &SpreadMask, &[d, a, b, p, _]: &Operands) {
                    let (x, y, p) = (registers.q(Reg64(a)), registers.q(Reg64(b)), registers.p(Pred(p)));
                    let all = fast!(active, x, |lane| if p & BIT[lane] == 0 { y[lane] } else { x[lane] });
                    write_q(registers, active, Reg64(d), &all);
                }
            }

            $(define_method!{ $set $features $signature $method $dst [$($file),*] $($op $speed $path;)* })*
        }
    };
}

/// Of one signature: the function of each operation.
macro_rules! define_method {
    ($set:ident $features:tt $signature:ident $method:ident $dst:ident [$f1:ident] $($ops:tt)*) => {
        define_method!{ @named $set $features $signature $method $dst [a: $f1] [_, _, _] registers active d $($ops)* }
    };
    ($set:ident $features:tt $signature:ident $method:ident $dst:ident [$f1:ident, $f2:ident] $($ops:tt)*) => {
        define_method!{ @named $set $features $signature $method $dst [a: $f1, b: $f2] [_, _] registers active d $($ops)* }
    };
    ($set:ident $features:tt $signature:ident $method:ident $dst:ident [$f1:ident, $f2:ident, $f3:ident] $($ops:tt)*) => {
        define_method!{ @named $set $features $signature $method $dst [a: $f1, b: $f2, c: $f3] [_] registers active d $($ops)* }
    };
    ($set:ident $features:tt $signature:ident $method:ident $dst:ident [$f1:ident, $f2:ident, $f3:ident, $f4:ident] $($ops:tt)*) => {
        define_method!{ @named $set $features $signature $method $dst [a: $f1, b: $f2, c: $f3, e: $f4] [] registers active d
            $($ops)* }
    };
    (@named $set:ident $features:tt $signature:ident $method:ident $dst:ident $sources:tt $unused:tt $registers:ident
        $active:ident $d:ident $($op:ident $speed:ident $path:path;)*) => {
        with_features!{ $features
            pub(super) fn $method(op: alu::$signature) -> LaneFunction {
                match op {
                    $(alu::$signature::$op => lane_function!(
                        $set $features $method op $dst $speed $path, $sources $unused $registers $active $d),)*
                }
            }
        }
    };
}

/// The function of an operation. A `rare` operation has one in the baseline alone, which the other sets take.
macro_rules! lane_function {
    ($set:ident [] $method:ident $op:ident $dst:ident rare $($rest:tt)*) => {
        lane_function!($set [] $method $op $dst slow $($rest)*)
    };
    ($set:ident $features:tt $method:ident $op:ident $dst:ident rare $path:path, $sources:tt $unused:tt $registers:ident
        $active:ident $d:ident) => {
        super::baseline::$method($op)
    };
    ($set:ident $features:tt $method:ident $op:ident $dst:ident $speed:ident $path:path, [$($a:ident: $file:ident),*]
        [$($unused:tt),*] $registers:ident $active:ident $d:ident) => {{
        with_features!{ $features
            fn run($registers: &mut Registers, $active: &SpreadMask, &[$d, $($a,)* $($unused),*]: &Operands) {
                $(fetch!($registers, $file, $a);)*
                lane_loop!($set $dst $speed $registers, $active, $d, $path, $($a),*);
            }
        }
        run
    }};
}

for_each_set!(with_lane_operations define_set);

/// The operands as the functions of this module take them.
fn operands(alu: &Alu) -> Operands {
    let mut operands = registers(alu).map(|register| register.map_or(0, |register| register.index));
    if let Alu::CarryR(carry, ..) | Alu::CarryQ(carry, ..) = alu {
        let [.., reads, writes] = &mut operands;
        (*reads, *writes) = (carry.reads.into(), carry.writes.into());
    }
    operands
}

/// The function of an operation on predicates, all lanes at once.
fn predicate_logic(logic: Logic) -> LaneFunction {
    macro_rules! function {
        (|$a:ident, $b:ident| $value:expr) => {
            |registers, active, &[d, a, b, ..]| {
                let ($a, $b) = (registers.p(Pred(a)), registers.p(Pred(b)));
                registers.set_p(Pred(d), active.mask, $value);
            }
        };
    }
    match logic {
        Logic::And => function!(|a, b| a & b),
        Logic::Or => function!(|a, b| a | b),
        Logic::Xor => function!(|a, b| a ^ b),
        Logic::Not => function!(|a, _b| !a),
        Logic::Mov => function!(|a, _b| a),
    }
}

macro_rules! carry {
    ($name:ident, $file:ident, $get:ident, $get_mut:ident, $width:ident) => {
        fn $name<const SUBTRACT: bool>(
            registers: &mut Registers,
            active: &SpreadMask,
            &[d, a, b, reads, writes]: &Operands,
        ) {
            let (a, b) = (*registers.$get($file(a)), *registers.$get($file(b)));
            // A difference that nothing was borrowed from before begins with a carry.
            let none = if SUBTRACT { u32::MAX } else { 0 };
            let before = if reads == 0 { none } else { registers.carry };
            let mut after = registers.carry;
            let dst = registers.$get_mut($file(d));
            for lane in lanes(active.mask) {
                let flag = before & BIT[lane] != 0;
                let (value, out) = if SUBTRACT {
                    $width::sub_carry(a[lane], b[lane], flag)
                } else {
                    $width::add_carry(a[lane], b[lane], flag)
                };
                dst[lane] = value;
                after = if out { after | BIT[lane] } else { after & !BIT[lane] };
            }
            if writes != 0 {
                registers.carry = after;
            }
        }
    };
}
carry!(carry_r, Reg32, r, r_mut, w32);
carry!(carry_q, Reg64, q, q_mut, w64);
