//! The naive interpreter: one thread at a time, from the tree.
//!
//! A thread that has to wait for others is stopped, and run again from its start once they have come: by then it knows what
//! they did together. Nothing here is shared with the machine.

use super::tree::{
    ARRAY, Condition, Kernel, Mode, Operation, Source, Statement, THREADS, Test, Together,
    VARIABLES,
};
use std::collections::HashMap;

/// How a statement ends.
enum Flow {
    Next,
    Break,
    Continue,
    Return,
    /// The lane waits for others at an operation of the warp.
    Wait(Meeting),
}

/// What a thread brings to the others.
#[derive(Clone, Copy)]
struct Meeting {
    number: u32,
    /// None: the whole block.
    members: Option<u32>,
    value: u32,
    what: Together,
}

struct Thread<'a> {
    kernel: &'a Kernel,
    index: u32,
    variables: [u32; VARIABLES],
    array: [u32; ARRAY as usize],
    known: HashMap<u32, u32>,
    /// What past meetings gave.
    past: &'a [u32],
    met: usize,
}

/// On the low halves and on the high ones.
fn pairs(a: u32, b: u32, of: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(of(a as u16, b as u16)) | u32::from(of((a >> 16) as u16, (b >> 16) as u16)) << 16
}

impl Thread<'_> {
    fn get(&self, source: Source) -> u32 {
        match source {
            Source::Variable(index) => self.variables[index],
            Source::Immediate(value) => value,
            Source::Thread => self.index,
        }
    }

    fn holds(&self, condition: Condition) -> bool {
        let (a, b) = (self.get(condition.a), self.get(condition.b));
        match condition.test {
            Test::Equal => a == b,
            Test::LessSigned => (a as i32) < b as i32,
            Test::LessUnsigned => a < b,
        }
    }

    fn compute(operation: Operation, a: u32, b: u32) -> u32 {
        let float = |value: f32| if value.is_nan() { 0x7FFF_FFFF } else { value.to_bits() };
        match operation {
            Operation::Add => a.wrapping_add(b),
            Operation::Sub => a.wrapping_sub(b),
            Operation::Mul => a.wrapping_mul(b),
            Operation::And => a & b,
            Operation::Or => a | b,
            Operation::Xor => a ^ b,
            Operation::Shl => a.checked_shl(b).unwrap_or(0),
            Operation::Shr => a.checked_shr(b).unwrap_or(0),
            Operation::MinSigned => (a as i32).min(b as i32) as u32,
            Operation::MaxUnsigned => a.max(b),
            Operation::MulHigh => ((u64::from(a) * u64::from(b)) >> 32) as u32,
            Operation::AddFloat => float(f32::from_bits(a) + f32::from_bits(b)),
            Operation::MulFloat => float(f32::from_bits(a) * f32::from_bits(b)),
            Operation::AddPairs => pairs(a, b, u16::wrapping_add),
            Operation::MinPairsSigned => pairs(a, b, |x, y| (x as i16).min(y as i16) as u16),
            Operation::LessHalves => {
                let less = |x, y| half::f16::from_bits(x) < half::f16::from_bits(y);
                pairs(a, b, |x, y| if less(x, y) { u16::MAX } else { 0 })
            }
            Operation::AbsDiffBytes => {
                let bytes = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
                bytes.fold(b, |sum, (x, y)| sum.wrapping_add(x.abs_diff(y).into()))
            }
            Operation::ExtendSigned => match b % 32 {
                0 => 0,
                bits => ((a << (32 - bits)) as i32 >> (32 - bits)) as u32,
            },
            Operation::PackSaturated => {
                let narrow = |x: u32| (x as i32).clamp(-32_768, 32_767) as u32 & 0xFFFF;
                narrow(a) << 16 | narrow(b)
            }
        }
    }

    /// Meets the others, or waits for them.
    fn meet(&mut self, meeting: Meeting) -> Result<u32, Flow> {
        let result = self.past.get(self.met).copied().ok_or(Flow::Wait(meeting));
        self.met += 1;
        result
    }

    fn block(&mut self, statements: &[Statement]) -> Flow {
        for statement in statements {
            match self.statement(statement) {
                Ok(()) => {}
                Err(flow) => return flow,
            }
        }
        Flow::Next
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), Flow> {
        let done = |flow| match flow {
            Flow::Next => Ok(()),
            other => Err(other),
        };
        match statement {
            Statement::Set(d, operation, a, b) => {
                self.variables[*d] = Self::compute(*operation, self.get(*a), self.get(*b));
            }
            Statement::If(condition, then, other) => {
                let branch = if self.holds(*condition) { then } else { other };
                return done(self.block(branch));
            }
            Statement::IfKnown(number, condition, then) => {
                let holds = self.holds(*condition);
                let what = Together::Ballot(*condition);
                let value = u32::from(holds);
                let members =
                    self.meet(Meeting { number: *number, members: Some(u32::MAX), value, what })?;
                self.known.insert(*number, members);
                if holds {
                    return done(self.block(then));
                }
            }
            Statement::Loop(times, body) => {
                for _ in 0..*times {
                    match self.block(body) {
                        Flow::Next | Flow::Continue => {}
                        Flow::Break => break,
                        other => return Err(other),
                    }
                }
            }
            Statement::Break(condition) if self.holds(*condition) => return Err(Flow::Break),
            Statement::Continue(condition) if self.holds(*condition) => return Err(Flow::Continue),
            Statement::Return(condition) if self.holds(*condition) => return Err(Flow::Return),
            Statement::Break(_) | Statement::Continue(_) | Statement::Return(_) => {}
            Statement::Store(at, value) => {
                self.array[(self.get(*at) % ARRAY) as usize] = self.get(*value);
            }
            Statement::Load(d, at) => {
                self.variables[*d] = self.array[(self.get(*at) % ARRAY) as usize];
            }
            Statement::Call(d, a, b) => {
                let mut callee = Thread {
                    variables: [0; VARIABLES],
                    array: [0; ARRAY as usize],
                    known: HashMap::new(),
                    past: &[],
                    met: 0,
                    ..*self
                };
                callee.variables[0] = self.get(*a);
                callee.variables[1] = self.get(*b);
                callee.block(&self.kernel.function);
                self.variables[*d] = callee.variables[0];
            }
            Statement::Together(number, d, known, what) => {
                let members = match what {
                    Together::Exchange(..) | Together::Count(_) => None,
                    _ => Some(known.map_or(u32::MAX, |number| self.known[&number])),
                };
                let value = match *what {
                    Together::Ballot(c)
                    | Together::Any(c)
                    | Together::All(c)
                    | Together::Count(c) => u32::from(self.holds(c)),
                    Together::Match(a) | Together::Sum(a) | Together::Shuffle(_, a, ..) => {
                        self.get(a)
                    }
                    Together::Exchange(a, _) => self.get(a),
                };
                let meeting = Meeting { number: *number, members, value, what: *what };
                self.variables[*d] = self.meet(meeting)?;
            }
        }
        Ok(())
    }
}

/// What a meeting gives to one of its members; `others` are members with their values, in order.
fn result(meeting: &Meeting, me: u32, others: &[(u32, u32)]) -> u32 {
    let lanes = |pick: &dyn Fn(u32) -> bool| -> u32 {
        others.iter().filter(|(_, value)| pick(*value)).map(|(thread, _)| 1 << (thread % 32)).sum()
    };
    let of = |thread: u32| others.iter().find(|(other, _)| *other == thread).expect("a member").1;
    match meeting.what {
        Together::Ballot(_) => lanes(&|value| value == 1),
        Together::Any(_) => u32::from(others.iter().any(|(_, value)| *value == 1)),
        Together::All(_) => u32::from(others.iter().all(|(_, value)| *value == 1)),
        Together::Match(_) => lanes(&|value| value == meeting.value),
        Together::Sum(_) => others.iter().fold(0, |sum, (_, value)| sum.wrapping_add(*value)),
        Together::Count(_) => others.iter().map(|(_, value)| value).sum(),
        Together::Exchange(_, by) => of((me + by) % THREADS),
        Together::Shuffle(mode, _, by, width) => {
            let (warp, lane) = (me / 32 * 32, me % 32);
            let (first, last) = (lane / width * width, lane / width * width + width - 1);
            let from = match mode {
                Mode::Index => Some(first + by % width),
                Mode::Up => lane.checked_sub(by).filter(|from| *from >= first),
                Mode::Down => Some(lane + by).filter(|from| *from <= last),
                Mode::Butterfly => Some(lane ^ by).filter(|from| *from <= last),
            };
            of(warp + from.unwrap_or(lane))
        }
    }
}

/// What the threads of a block end with.
pub fn run(kernel: &Kernel, input: &[u32]) -> Vec<[u32; VARIABLES]> {
    let mut past = vec![Vec::new(); THREADS as usize];
    loop {
        let mut ends = Vec::new();
        let mut waiting: Vec<(u32, Meeting)> = Vec::new();
        for index in 0..THREADS {
            let mut thread = Thread {
                kernel,
                index,
                variables: std::array::from_fn(|i| input[index as usize * VARIABLES + i]),
                array: [0; ARRAY as usize],
                known: HashMap::new(),
                past: &past[index as usize],
                met: 0,
            };
            if let Flow::Wait(meeting) = thread.block(&kernel.body) {
                waiting.push((index, meeting));
            }
            ends.push(thread.variables);
        }
        if waiting.is_empty() {
            return ends;
        }
        let mut met = false;
        for (me, meeting) in &waiting {
            let others: Vec<(u32, u32)> = waiting
                .iter()
                .filter(|(_, other)| other.number == meeting.number)
                .filter(|(other, _)| match meeting.members {
                    Some(mask) => other / 32 == me / 32 && mask >> (other % 32) & 1 == 1,
                    None => true,
                })
                .map(|(other, theirs)| (*other, theirs.value))
                .collect();
            if others.len() as u32 == meeting.members.map_or(THREADS, u32::count_ones) {
                past[*me as usize].push(result(meeting, *me, &others));
                met = true;
            }
        }
        assert!(met, "the threads wait for each other");
    }
}
