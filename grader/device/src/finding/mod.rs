//! What a case's kernels and host code did wrong, in the student's terms: tensor, index, line, thread.

mod host;
mod refusal;
mod stream_race;

pub use host::HostFault;
pub use ptxvm::SourceLoc;
pub use ptxvm::finding::{Check, FindingKind, Place, Site, ThreadId};
use puzzle::counter::Counter;
use puzzle::relation::Relation;
use puzzle::tensor::{Tensor, element_name};
pub use refusal::Refusal;
pub use stream_race::{StreamOperation, StreamRace};

/// The name of all problems of programs that do not end.
const ENDLESS: &str = "endless-loop";

/// Something wrong that a program did.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What is wrong, with the data of its kind.
    pub problem: Problem,
    /// The kernel's source name.
    pub kernel: String,
    /// The line that did it, if the backend knows.
    pub line: Option<SourceLoc>,
    /// The first thread that did it, if the backend knows.
    pub thread: Option<ThreadId>,
    /// How many threads did the same at this line, or how many elements are concerned.
    pub count: u64,
}

impl Finding {
    /// A finding of which no more is known than the kernel, if that.
    pub fn of_kernel(problem: Problem, kernel: &str) -> Self {
        Self { problem, kernel: kernel.to_owned(), line: None, thread: None, count: 1 }
    }

    /// Where it was made, for its words.
    pub fn site(&self) -> Site<'_> {
        Site { kernel: &self.kernel, thread: self.thread, loc: self.line.as_ref() }
    }
}

/// An element of a tensor, or a place before or behind the tensor counted in its elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// Name of the tensor.
    pub tensor: String,
    /// Shape of the tensor.
    pub shape: Vec<usize>,
    /// Offset from the tensor's start in row-major order; negative or not below its length where it lies outside.
    pub flat: i64,
}

impl Element {
    /// An element of a tensor.
    pub fn of(tensor: &Tensor, flat: i64) -> Self {
        Self { tensor: tensor.name.clone(), shape: tensor.shape.clone(), flat }
    }

    /// The number of elements of the tensor.
    fn len(&self) -> i64 {
        self.shape.iter().product::<usize>() as i64
    }

    /// `filters[0, 0, 2, 2]` of an element inside.
    fn name_of(&self, flat: i64) -> String {
        element_name(&self.tensor, &self.shape, flat as usize)
    }
}

impl Place for Element {
    fn same_object(&self, other: &Self) -> bool {
        self.tensor == other.tensor
    }

    /// `filters[0, 0, 2, 2]`, or counted from the start where that lies outside.
    fn name(&self) -> String {
        if (0..self.len()).contains(&self.flat) {
            self.name_of(self.flat)
        } else {
            format!("{}[{}]", self.tensor, self.flat)
        }
    }

    fn outside(&self) -> String {
        let Self { tensor, flat, .. } = self;
        if *flat < 0 {
            format!("{tensor}, {} before its first element", flat.unsigned_abs())
        } else {
            format!("{tensor}, {} past its last element", (flat - self.len() + 1).max(0))
        }
    }

    fn extent(&self) -> Vec<String> {
        let Self { tensor, shape, flat } = self;
        let (len, plural) = (self.len(), if self.len() == 1 { "" } else { "s" });
        let mut help = vec![format!("{tensor} has {len} element{plural}, shape {shape:?}")];
        if len > 0 {
            let (which, nearest) = if *flat < 0 { ("first", 0) } else { ("last", len - 1) };
            let name = self.name_of(nearest);
            help.push(format!("the {which} is number {nearest}, {name}; this is number {flat}"));
        }
        help
    }
}

/// What is wrong, by who notices it.
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// Something that a check of the virtual machine saw a thread do.
    Check(FindingKind<Element>),
    /// Host code did not end as it should.
    Host(HostFault),
    /// Work of the program's streams accesses the same memory in no order (virtual machine).
    StreamRace(StreamRace),
    /// No GPU could start the kernel with its block.
    Refused(Refusal),
    /// The guard zone around a tensor was overwritten (GPU).
    GuardOverwritten {
        /// The overwritten place nearest to the tensor.
        place: Element,
    },
    /// The contents of an input changed (GPU).
    InputChanged {
        /// The first changed element.
        place: Element,
    },
    /// The kernel was stopped after this many seconds (GPU).
    TimeOut {
        /// The seconds that it had.
        seconds: f64,
    },
    /// The driver of the GPU reported an error.
    Driver {
        /// The driver's name for it: `CUDA_ERROR_ILLEGAL_ADDRESS`.
        code: String,
        /// What it means for the student.
        meaning: String,
    },
    /// An output that must hold the same bits after every run held others.
    NotRepeatable {
        /// The first element that differs.
        place: Element,
        /// Its values after the first run, and after another one.
        values: [f64; 2],
    },
    /// Elements of a result were never written.
    Unwritten {
        /// The first of them.
        place: Element,
    },
    /// What the formula computes from a result does not meet a requirement of the spec.
    UnmetRequirement {
        /// The first element that does not.
        place: Element,
        /// The value of that element.
        value: f64,
        /// How the value must stand to the bound.
        relation: Relation,
        /// The bound that the spec sets.
        bound: f64,
        /// What the spec says about it.
        about: Option<String>,
        /// A part of a result from which it is computed, and the number that all its elements are.
        same: Option<(String, f64)>,
    },
    /// The formula cannot be computed from a result: an index lies outside its tensor.
    NotMeasurable {
        /// The tensor that was to be computed.
        tensor: String,
        /// Why it cannot be.
        message: String,
    },
    /// A launch cost more, less or other than a gate allows.
    OverGate {
        /// The counter that the gate bounds.
        counter: Counter,
        /// The name of the tensor in which it counts; `None` for all memory.
        tensor: Option<String>,
        /// How much of it the launch spent.
        spent: u64,
        /// How much the gate allows.
        bound: u64,
        /// The comparison that should hold between the two.
        relation: Relation,
        /// How much the most expensive line spent.
        of_line: u64,
        /// What the spec says about it.
        about: Option<String>,
    },
    /// The grader contradicts itself (a tensor of the wrong length, nothing to compare): its mistake, not the
    /// student's, but never a pass.
    Grader {
        /// What was expected and what was there.
        message: String,
    },
}

impl Problem {
    /// The stable name, which stands in reports for machines and in `caught_by` of a wrong solution.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Check(kind) => kind.name(),
            Self::Host(fault) => fault.name(),
            Self::StreamRace(_) => "stream-race",
            Self::Refused(refusal) => refusal.name(),
            Self::GuardOverwritten { .. } => "out-of-bounds",
            Self::InputChanged { .. } => "write-to-input",
            Self::TimeOut { .. } => ENDLESS,
            Self::Driver { .. } => "driver-error",
            Self::NotRepeatable { .. } => "not-repeatable",
            Self::Unwritten { .. } => "unwritten",
            Self::UnmetRequirement { .. } | Self::NotMeasurable { .. } => "unmet-requirement",
            Self::OverGate { .. } => "over-gate",
            Self::Grader { .. } => "grader-error",
        }
    }

    /// Whether the run stopped early, so that what the outputs hold says nothing.
    pub fn ends_the_run(&self) -> bool {
        match self {
            // Threads go on behind a barrier that diverges, and what they write is worth comparing.
            Self::Check(kind) => {
                kind.ends_launch() && !matches!(kind, FindingKind::BarrierDivergence(_))
            }
            Self::Host(fault) => fault.ends_the_run(),
            Self::TimeOut { .. } | Self::Driver { .. } | Self::Refused(_) => true,
            Self::StreamRace(_)
            | Self::GuardOverwritten { .. }
            | Self::InputChanged { .. }
            | Self::NotRepeatable { .. }
            | Self::Unwritten { .. }
            | Self::UnmetRequirement { .. }
            | Self::NotMeasurable { .. }
            | Self::OverGate { .. }
            | Self::Grader { .. } => false,
        }
    }

    /// Whether the program did not end by itself.
    pub fn is_endless(&self) -> bool {
        self.name() == ENDLESS
    }

    /// Whether the program was stopped because it had not come to its end, or did far too much.
    pub fn is_too_much(&self) -> bool {
        self.is_endless() || matches!(self, Self::Check(FindingKind::TooMuchWork(_)))
    }

    /// Whether two backends that report these speak of the same kind of mistake.
    pub fn is_like(&self, other: &Self) -> bool {
        self.name() == other.name()
    }

    /// The input that was written to, if that is the problem.
    pub fn written_input(&self) -> Option<&str> {
        match self {
            Self::Check(FindingKind::WriteToReadOnly(write)) => {
                write.place.as_ref().map(|place| place.tensor.as_str())
            }
            Self::InputChanged { place } => Some(&place.tensor),
            _ => None,
        }
    }
}
