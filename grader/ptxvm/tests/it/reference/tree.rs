//! Random structured kernels: their tree, and the generator.

/// Variables of a kernel; the first two are the parameters of a function, the first its result.
pub const VARIABLES: usize = 6;
/// Words of the array in local memory.
pub const ARRAY: u32 = 8;
/// Threads of a block.
pub const THREADS: u32 = 64;

#[derive(Clone, Copy, Debug)]
pub enum Source {
    Variable(usize),
    Immediate(u32),
    Thread,
}

#[derive(Clone, Copy, Debug)]
pub enum Operation {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    MinSigned,
    MaxUnsigned,
    MulHigh,
    AddFloat,
    MulFloat,
    /// Adds the two 16-bit halves of a word separately.
    AddPairs,
    MinPairsSigned,
    /// All ones where a half float is less.
    LessHalves,
    /// Sum of the distances of bytes, on top of the second source.
    AbsDiffBytes,
    /// The low bits of the first, as many as the second says.
    ExtendSigned,
    /// Both as 16-bit integers, saturated.
    PackSaturated,
}

#[derive(Clone, Copy, Debug)]
pub enum Test {
    Equal,
    LessSigned,
    LessUnsigned,
}

#[derive(Clone, Copy, Debug)]
pub struct Condition {
    pub test: Test,
    pub a: Source,
    pub b: Source,
}

/// What the lanes of a warp, or the threads of a block, do together.
#[derive(Clone, Copy, Debug)]
pub enum Together {
    Ballot(Condition),
    Any(Condition),
    All(Condition),
    /// Lanes with the same value.
    Match(Source),
    Sum(Source),
    /// Mode (idx, up, down, bfly), operand, width of the segments.
    Shuffle(Mode, Source, u32, u32),
    /// Each thread reads what the thread so many further wrote to shared memory.
    Exchange(Source, u32),
    /// Threads of the block for which it holds.
    Count(Condition),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Index,
    Up,
    Down,
    Butterfly,
}

#[derive(Clone, Debug)]
pub enum Statement {
    Set(usize, Operation, Source, Source),
    If(Condition, Vec<Statement>, Vec<Statement>),
    /// As `If`, but the lanes that enter learn who they are, so that they can work together.
    IfKnown(u32, Condition, Vec<Statement>),
    Loop(u32, Vec<Statement>),
    Break(Condition),
    Continue(Condition),
    Return(Condition),
    Store(Source, Source),
    Load(usize, Source),
    Call(usize, Source, Source),
    /// Its number, destination, and the `IfKnown` around it: none if all lanes take part.
    Together(u32, usize, Option<u32>, Together),
}

#[derive(Debug)]
pub struct Kernel {
    pub body: Vec<Statement>,
    pub function: Vec<Statement>,
    /// Whether an early return jumps to the end instead of ending in its place.
    pub jumps: bool,
}

/// What may stand at a place.
#[derive(Clone, Copy)]
struct Place {
    depth: u32,
    in_loop: bool,
    /// All threads of the block come here together.
    together: bool,
    /// The lanes of this `IfKnown` come here together.
    known: Option<u32>,
    may_return: bool,
}

struct Generator {
    state: u64,
    /// How many numbers have been given out.
    numbers: u32,
    /// The function is made, and may be called.
    has_function: bool,
}

/// The kernel of a seed.
pub fn generate(seed: u64) -> Kernel {
    let mut generator =
        Generator { state: seed ^ 0x5851_F42D_4C95_7F2D, numbers: 0, has_function: false };
    let place = Place { depth: 0, in_loop: false, together: false, known: None, may_return: true };
    let function = generator.block(place, 4);
    // Whoever returns cannot take part later, so returns come last.
    generator.has_function = true;
    let calm = Place { together: true, may_return: false, ..place };
    let mut body = generator.block(calm, 8);
    body.extend(generator.block(Place { together: false, may_return: true, ..calm }, 5));
    Kernel { body, function, jumps: generator.below(2) == 0 }
}

impl Generator {
    fn below(&mut self, end: u32) -> u32 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.state ^ self.state >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed >> 33) as u32 % end
    }

    fn number(&mut self) -> u32 {
        self.numbers += 1;
        self.numbers
    }

    fn variable(&mut self) -> usize {
        self.below(VARIABLES as u32) as usize
    }

    fn source(&mut self) -> Source {
        match self.below(8) {
            0 => Source::Immediate(self.below(40)),
            1 => Source::Immediate(
                [0, 1, 31, 32, u32::MAX, 1 << 31, 0x3F80_0000][self.below(7) as usize],
            ),
            2 | 3 => Source::Thread,
            _ => Source::Variable(self.variable()),
        }
    }

    fn condition(&mut self) -> Condition {
        let test = [Test::Equal, Test::LessSigned, Test::LessUnsigned, Test::LessUnsigned];
        Condition { test: test[self.below(4) as usize], a: self.source(), b: self.source() }
    }

    fn block(&mut self, place: Place, length: u32) -> Vec<Statement> {
        (0..=self.below(length)).map(|_| self.statement(place)).collect()
    }

    fn statement(&mut self, place: Place) -> Statement {
        let inner = Place { depth: place.depth + 1, together: false, known: None, ..place };
        let nested = place.depth < 3;
        match self.below(16) {
            0 | 1 if nested => {
                let condition = self.condition();
                Statement::If(condition, self.block(inner, 4), self.block(inner, 3))
            }
            2 if nested && place.together => {
                let number = self.number();
                let condition = self.condition();
                // Inside, nothing may keep a lane from the others.
                let known = Place { known: Some(number), in_loop: false, ..inner };
                Statement::IfKnown(number, condition, self.block(known, 4))
            }
            3 if nested => {
                let body = Place { in_loop: true, ..inner };
                Statement::Loop(1 + self.below(4), self.block(body, 5))
            }
            // All go round the loop equally often, so they stay together.
            4 if nested && place.together => {
                let body = Place { in_loop: false, together: true, ..inner };
                Statement::Loop(1 + self.below(3), self.block(body, 4))
            }
            5 if place.in_loop => Statement::Break(self.condition()),
            6 if place.in_loop => Statement::Continue(self.condition()),
            7 if place.may_return => Statement::Return(self.condition()),
            8 => Statement::Store(self.source(), self.source()),
            9 => Statement::Load(self.variable(), self.source()),
            10 if self.has_function => {
                Statement::Call(self.variable(), self.source(), self.source())
            }
            11..=13 if place.together || place.known.is_some() => self.together(place),
            _ => Statement::Set(self.variable(), self.operation(), self.source(), self.source()),
        }
    }

    fn operation(&mut self) -> Operation {
        use Operation::{
            AbsDiffBytes, Add, AddFloat, AddPairs, And, ExtendSigned, LessHalves, MaxUnsigned,
            MinPairsSigned, MinSigned, Mul, MulFloat, MulHigh, Or, PackSaturated, Shl, Shr, Sub,
            Xor,
        };
        let all = [
            Add,
            Sub,
            Mul,
            And,
            Or,
            Xor,
            Shl,
            Shr,
            MinSigned,
            MaxUnsigned,
            MulHigh,
            AddFloat,
            MulFloat,
            AddPairs,
            MinPairsSigned,
            LessHalves,
            AbsDiffBytes,
            ExtendSigned,
            PackSaturated,
        ];
        all[self.below(all.len() as u32) as usize]
    }

    fn together(&mut self, place: Place) -> Statement {
        let kinds = if place.known.is_some() { 5 } else { 9 };
        let what = match self.below(kinds) {
            0 => Together::Ballot(self.condition()),
            1 => Together::Any(self.condition()),
            2 => Together::All(self.condition()),
            3 => Together::Match(self.source()),
            4 => Together::Sum(self.source()),
            5 | 6 => {
                let mode = [Mode::Index, Mode::Up, Mode::Down, Mode::Butterfly];
                let width = 1 << (2 + self.below(4));
                Together::Shuffle(
                    mode[self.below(4) as usize],
                    self.source(),
                    self.below(32),
                    width,
                )
            }
            7 => Together::Exchange(self.source(), self.below(THREADS)),
            _ => Together::Count(self.condition()),
        };
        Statement::Together(self.number(), self.variable(), place.known, what)
    }
}
