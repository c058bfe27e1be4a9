//! What the judge says of a test; `report` words it.

use crate::expansion::ElementTerms;
use device::finding::{Finding, SourceLoc, ThreadId};
use device::provenance::ElementRead;
use indexmath::{Dims, ElementRef, Term};
use puzzle::case::PictureStyle;
use puzzle::draw::Flavour;
use puzzle::tensor::Tensor;
use std::cmp::Ordering;
use std::time::Duration;

/// The judgement of one test.
#[derive(Clone, Debug)]
pub struct TestVerdict {
    /// Name of the test.
    pub test: String,
    /// One sentence for the student.
    pub about: Option<String>,
    /// All sizes of the spec.
    pub dims: Dims,
    /// The names of the sizes that the launches or their tensors use, in the order of the spec.
    pub used_dims: Vec<String>,
    /// Seed of the data.
    pub seed: u64,
    /// Launch and checks, without the compiler.
    pub time: Duration,
    /// What the kernels printed.
    pub printed: String,
    /// What is worth knowing and fails no test; each a sentence.
    pub notes: Vec<String>,
    /// What the checkers saw; any of them fails the test.
    pub findings: Vec<Finding>,
    /// Outputs that are not correct.
    pub diffs: Vec<TensorDiff>,
    /// How far off each output is, if the spec asks for it; where all elements were written.
    pub largest: Vec<Largest>,
    /// How many cases it is about: 1, or all that were drawn, if they pass.
    pub cases: usize,
    /// The data of the smallest drawn case that fails, if it is about that one.
    pub smallest: Option<Flavour>,
}

/// The element of an output that is farthest from what is expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Largest {
    /// The output, with its type and shape.
    pub tensor: Tensor,
    /// Position in row-major order.
    pub flat: usize,
    /// |got - expected|; NaN where one of them is.
    pub off: f64,
    /// The largest error that a correct kernel could make there.
    pub allowed: f64,
}

/// Values to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// How, and with which words.
    pub style: PictureStyle,
    /// The output, with its type and shape.
    pub tensor: Tensor,
    /// Row-major; NaN where nothing was written.
    pub values: Vec<f64>,
}

impl TestVerdict {
    /// The verdict on no case at all.
    pub fn of_nothing(test: &str, seed: u64) -> Self {
        Self {
            test: test.to_owned(),
            about: None,
            dims: Dims::new(),
            used_dims: Vec::new(),
            seed,
            time: Duration::ZERO,
            printed: String::new(),
            notes: Vec::new(),
            findings: Vec::new(),
            diffs: Vec::new(),
            largest: Vec::new(),
            cases: 0,
            smallest: None,
        }
    }

    /// Whether there is no finding and no difference.
    pub fn passed(&self) -> bool {
        self.findings.is_empty() && self.diffs.is_empty()
    }
}

/// How an output differs from what is expected.
#[derive(Clone, Debug)]
pub struct TensorDiff {
    /// The output, with its type and shape.
    pub tensor: Tensor,
    /// One flag for each element.
    pub wrong: Vec<bool>,
    /// How many are wrong (unwritten and NaN among them); at least one.
    pub wrong_count: usize,
    /// Elements that the kernel never wrote.
    pub unwritten_count: usize,
    /// Written elements that are NaN where a number is expected.
    pub nan_count: usize,
    /// The first few wrong elements, in row-major order.
    pub mismatches: Vec<Mismatch>,
    /// How far off each element is, for the heat map.
    pub errors: Vec<Deviation>,
    /// What the first wrong element should be made of, and what its thread read.
    pub terms: TermDiff,
    /// What the pattern of the errors shows, where it is clear.
    pub cause: Option<Cause>,
    /// The wrong formula that gives exactly what the kernel computed.
    pub variant: Option<FormulaVariant>,
    /// The first part of the formula that the kernel computed wrongly on the way to the first wrong element.
    pub part: Option<WrongPart>,
    /// A line that rounds to half precision on the way to an output of more digits, which is slightly off for no other known reason.
    pub half_step: Option<SourceLoc>,
    /// The inputs that the first wrong element is computed from by mistake, or without by mistake, where nothing above explains it.
    pub inputs: Option<WrongInputs>,
    /// The branch of the formula that the wrong elements have taken by mistake, where no variant explains them.
    pub branch: Option<WrongBranch>,
    /// Which other element of a search the wrong positions name.
    pub choice: Option<WrongChoice>,
    /// Where all wrong elements lie, in other cases too.
    pub places: Option<WrongPlaces>,
    /// For which sizes the output is correct, where no wrong formula, part or condition explains it.
    pub size_limit: Option<SizeLimit>,
    /// What the first wrong element is computed from, where nothing else is known of it.
    pub origins: Vec<Origin>,
    /// Which threads store the wrong elements, where nothing else explains them.
    pub threads: Option<WrongThreads>,
    /// The number that all elements are, here and elsewhere, where nothing explains it.
    pub always: Option<AlwaysSame>,
    /// The condition by which the thread that would store the first wrong element does not come to its store.
    pub guard: Option<SourceLoc>,
    /// The calls of host code that change the output, where no formula explains it.
    pub calls: Option<StoringCalls>,
    /// The `return` with which a function of host code gives a wrong answer.
    pub returned: Option<WrongReturn>,
    /// How far the launches of host code are right, where no formula explains the output.
    pub host_steps: Option<HostSteps>,
    /// Of the first output that is wrong: the outputs that the formula computes it from, if all of them are correct.
    pub correct_sources: Vec<String>,
}

/// How many wrong elements a difference lists.
const MAX_MISMATCHES: usize = 64;

impl TensorDiff {
    /// A difference that nothing explains yet, of a tensor with these deviations of its elements. `mismatch` describes an element, by its
    /// row-major index; `first` is the wrong one whose terms are to be followed.
    pub fn new(
        tensor: Tensor,
        errors: Vec<Deviation>,
        first: usize,
        mismatch: impl Fn(usize) -> Mismatch,
    ) -> Self {
        let count = |kind: Deviation| errors.iter().filter(|&&error| error == kind).count();
        let wrong: Vec<bool> = errors.iter().map(|&error| error != Deviation::Correct).collect();
        let places = || (0..wrong.len()).filter(|&flat| wrong[flat]);
        Self {
            wrong_count: places().count(),
            unwritten_count: count(Deviation::Unwritten),
            nan_count: count(Deviation::Nan),
            mismatches: places().take(MAX_MISMATCHES).map(&mismatch).collect(),
            terms: TermDiff {
                mismatch: mismatch(first),
                formula: None,
                thread: None,
                compared: None,
            },
            cause: None,
            variant: None,
            part: None,
            inputs: None,
            branch: None,
            half_step: None,
            choice: None,
            places: None,
            size_limit: None,
            origins: Vec::new(),
            threads: None,
            always: None,
            calls: None,
            returned: None,
            host_steps: None,
            guard: None,
            correct_sources: Vec::new(),
            tensor,
            errors,
            wrong,
        }
    }
}

impl TensorDiff {
    /// Whether every element is what it was, or NaN, whatever the formula says.
    pub fn computes_nothing(&self) -> bool {
        matches!(self.cause, Some(Cause::NothingWritten | Cause::Unchanged | Cause::AllNan))
    }

    /// Whether it holds what belongs to another output: no formula says it better.
    pub fn is_exchanged(&self) -> bool {
        matches!(self.cause, Some(Cause::ExchangedWith { .. }))
    }

    /// Whether a wrong formula, part, condition, line or choice explains what is wrong.
    pub fn has_cause(&self) -> bool {
        self.variant.is_some()
            || self.part.is_some()
            || self.branch.is_some()
            || self.half_step.is_some()
            || self.choice.is_some()
    }

    /// Whether it has a cause, or the first wrong element is known to be computed from other inputs or products than it should be.
    pub fn is_explained(&self) -> bool {
        self.has_cause() || self.inputs.is_some() || self.terms.compared.is_some()
    }
}

/// A value that an element is computed from.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// A part of the formula, or an element of an input.
    pub text: String,
    /// What it is, or should be.
    pub value: f64,
}

/// A number that comes out always, though others are expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlwaysSame {
    /// The number.
    pub value: f64,
    /// In how many further cases it is all that comes out.
    pub cases: usize,
}

/// The calls of host code that change an output.
#[derive(Clone, Debug, PartialEq)]
pub struct StoringCalls {
    /// In their order; none where nothing is stored at all.
    pub calls: Vec<StoringCall>,
    /// How many threads the last one starts, if these are fewer than the output has elements, and some of them are never written.
    pub threads: Option<u64>,
    /// A workspace that one of them is given, and the last launch before that is given it, too.
    pub before: Option<(String, StoringCall)>,
    /// Outputs that the last one is given, and outputs that the formula computes from and that it is not given.
    pub instead: Option<(Vec<String>, Vec<String>)>,
}

/// A call of host code that changes an output.
#[derive(Clone, Debug, PartialEq)]
pub enum StoringCall {
    /// A launch of a kernel with arguments.
    Kernel(String, Vec<CallArg>),
    /// A copy, such as `cudaMemcpy`.
    Copy,
    /// A fill, such as `cudaMemset`.
    Fill,
}

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum CallArg {
    /// A tensor, from this element on if that is not its first.
    Tensor {
        /// The tensor.
        name: String,
        /// The element, with the tensor's name.
        element: Option<String>,
    },
    /// A number.
    Number(f64),
    /// Memory that is no tensor of the test, and the launch that stored it.
    Result(Box<StoringCall>),
    /// Memory that is no tensor of the test, and its first values.
    Values(Vec<f64>),
    /// Memory that is no tensor of the test.
    Other,
}

/// The `return` that ends all calls of a function which give a wrong answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongReturn {
    /// The function.
    pub function: String,
    /// Its line, from 1.
    pub line: u32,
}

/// How far the launches of host code are right: the steps of the formula that its memory holds.
#[derive(Clone, Debug, PartialEq)]
pub struct HostSteps {
    /// The steps that are right, and that the next one follows from.
    pub right: Vec<String>,
    /// The first step that no launch stores.
    pub missing: String,
    /// How many of its first coordinates are stored, if some are, and how many there should be.
    pub part: Option<(usize, usize)>,
    /// The missing step, and those that follow from it on the way to the output.
    pub after: Vec<String>,
    /// The launch that stores the missing step, if that is the output: it is `next`.
    pub stores_output: bool,
    /// The next launch that stores something else, if it is given what is right.
    pub next: Option<StoringCall>,
    /// Whether launches store something else after what is right.
    pub more: bool,
    /// Whether host code copies all that is right and comes last, and does so correctly.
    pub copied: bool,
    /// Where memory has other values in the place of the missing step, if with these the rest of the formula gives what came out.
    pub wrong: Option<WrongStep>,
}

impl HostSteps {
    /// Whether the missing step is the output itself: nothing follows from it.
    pub fn misses_output(&self) -> bool {
        self.after.len() == 1
    }
}

/// A step of the formula that host code has wrongly in memory: with these values, the formula gives the output that came out.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongStep {
    /// The launch that stores it, or is given it.
    pub call: StoringCall,
    /// Whether the launch stores it; else it comes from the host.
    pub stored: bool,
    /// The first wrong element, with the tensor's name.
    pub element: String,
    /// What it should be.
    pub expected: f64,
    /// What it is.
    pub got: f64,
    /// How many elements are wrong.
    pub count: usize,
    /// Of so many.
    pub of: usize,
    /// The wrong formula that gives them.
    pub variant: Option<FormulaVariant>,
}

/// How the positions of a search (`argmax`) are wrong, in all wrong elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrongChoice {
    /// Each is that of an element which is as large as the right one, and comes later in row-major order.
    Tie,
    /// Each is the position of the right element in its whole tensor, in place of that in the search.
    InTensor(String),
    /// Each is the position of the right element in the slice over the last two axes of its tensor.
    InSlice(String),
    /// Each is the right one in its slice over the last two axes of an input, counted on through all of its slices.
    AcrossSlices(String),
}

/// For which sizes an output is correct, with all other sizes as they are, in all cases that were tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeLimit {
    /// The sizes for which the output is correct.
    pub correct: CorrectSizes,
    /// How many cases were tried.
    pub tried: usize,
}

/// The sizes for which an output is correct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CorrectSizes {
    /// Those in which one is no larger than this.
    UpTo {
        /// Its name.
        size: String,
        /// Its largest value.
        largest: i64,
        /// The threads of a block, where that is this value, or the next one.
        threads: Option<i64>,
    },
    /// Those in which one is a multiple of `step`.
    MultiplesOf {
        /// Its name.
        size: String,
        /// The number of which it is a multiple.
        step: i64,
    },
    /// Those in which all sizes of a group have their least value, for each of these groups.
    Least(Vec<LeastSizes>),
}

/// One size, or two of the same name but for the axis, such as `pad_h` and `pad_w`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeastSizes {
    /// Their names.
    pub sizes: Vec<String>,
    /// The least value that each can have.
    pub value: i64,
}

/// Where all wrong elements lie, in a case and in others.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongPlaces {
    /// What holds in every wrong element.
    pub place: PlaceKind,
    /// Whether it holds in no correct one.
    pub exactly: bool,
    /// In how many further cases.
    pub cases: usize,
}

/// What the places of wrong elements have in common.
#[derive(Clone, Debug, PartialEq)]
pub enum PlaceKind {
    /// The position in row-major order is `remainder`, or a multiple of `step` farther.
    EveryNth {
        /// 2 or 4, as many as vectors have elements.
        step: usize,
        /// Less than `step`.
        remainder: usize,
    },
    /// An input of the same shape has this sign there.
    Sign {
        /// The input.
        tensor: String,
        /// How its elements there lie to 0: any of these.
        signs: Vec<Ordering>,
    },
}

/// Threads of a block, by their number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadGroup {
    /// A single thread.
    Thread,
    /// A warp.
    Warp,
    /// A lane of any warp.
    Lane,
}

/// The threads whose elements alone are correct, or alone are wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongThreads {
    /// How the threads belong together.
    pub group: ThreadGroup,
    /// The number of the thread, warp or lane.
    pub number: u32,
    /// Whether exactly the elements of this one are correct; else exactly these are wrong.
    pub correct: bool,
}

/// A value that a kernel computed wrongly, and nothing else: with the expected value in its place, the results are as expected. Or a
/// rounding: without it they are.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongPart {
    /// The part as the formula has it: `mean[r]`. Of a rounding, what the value is rounded to. Of what is not finite, the element.
    pub text: String,
    /// What it should have been, and was before a rounding.
    pub expected: f64,
    /// What the kernel computed.
    pub got: f64,
    /// The line that computed it.
    pub line: Option<SourceLoc>,
    /// How many further elements, of the same case and of others with other data, it explains too; at least one, but for what is not finite.
    pub confirmed: usize,
    /// What kind of mistake it is.
    pub kind: PartKind,
}

/// What is wrong about a [`WrongPart`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PartKind {
    /// Its value, which the kernel computed or read wrongly.
    Value,
    /// That it is rounded.
    Rounding,
    /// That it takes part: an element of a tensor that is NaN or infinite, and stays so in a product with 0.
    NotFinite,
    /// That it is the first value on the way which is NaN or infinite, though all that it is computed from is finite: what it is computed
    /// from.
    Overflow([f64; 2]),
    /// That it has lost most of its digits, which the values that it is computed from still have: these values.
    LostDigits([f64; 2]),
}

/// What an element is computed from and should not be, or should be and is not; or, where that is all right, what it is computed from in
/// another way than it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongInputs {
    /// The element's position in row-major order.
    pub flat: usize,
    /// The elements of inputs that the formula's value follows, and the kernel's does not.
    pub missing: Vec<Elements>,
    /// The elements of inputs that the kernel's value follows, and the formula does not read.
    pub extra: Vec<Elements>,
    /// The line that loads the first extra one.
    pub line: Option<SourceLoc>,
    /// Where all inputs are right: the few that change the value otherwise than they should.
    pub changed: Vec<Elements>,
    /// Each of those changes the value so many times as much as it should.
    pub times: Option<f64>,
    /// How many further wrong elements have wrong inputs too: all that could be followed of the few that were looked at.
    pub confirmed: usize,
}

impl WrongInputs {
    /// Whether the inputs are right.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.extra.is_empty() && self.changed.is_empty()
    }
}

/// A branch of the formula whose value all wrong elements have, though the formula takes the other one there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongBranch {
    /// Whether the condition holds in the wrong elements, and the kernel gives the value for when it does not; or the other way round.
    pub holds: bool,
    /// Whether each of the comparisons is as `holds` says in every wrong element, and not only one or another of them.
    pub each: bool,
    /// The comparisons of the condition that decide there, in backticks, without those that the kernel is seen to ask.
    pub comparisons: Vec<String>,
    /// What the wrong elements hold, in backticks, if that is an element of a tensor.
    pub taken: Option<String>,
    /// How the left side of the one comparison lies to the right one in all wrong elements, and in no correct one where it is the same.
    pub only_where: Option<Ordering>,
}

/// Some elements of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Elements {
    /// Their tensor.
    pub tensor: Tensor,
    /// Their positions, in row-major order.
    pub flats: Vec<usize>,
}

/// A formula near the correct one that explains every element of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormulaVariant {
    /// What is different in it, as the end of "your result is what the formula gives if ...".
    pub says: String,
    /// How many further runs with other data gave this formula's values too; at least one.
    pub confirmed: usize,
    /// One of them had other sizes, so that sizes which are equal in the test were told apart.
    pub other_sizes: bool,
}

/// How far off an element is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Deviation {
    /// The element is within its bound.
    Correct,
    /// |got - expected|; infinite where one of them is.
    Off(f64),
    /// NaN where a number is expected, or a number where NaN is.
    Nan,
    /// The element was never written.
    Unwritten,
}

/// A wrong element, with what it should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mismatch {
    /// Position in row-major order.
    pub flat: usize,
    /// The value that the formula gives.
    pub expected: f64,
    /// The kernel's; `None` if it never wrote the element.
    pub got: Option<f64>,
    /// Largest error that a correct kernel could make; 0: must be equal.
    pub allowed: f64,
}

/// What should make up an element, against what its thread read.
#[derive(Clone, Debug, PartialEq)]
pub struct TermDiff {
    /// The element: the first wrong one that was written, else the first wrong one.
    pub mismatch: Mismatch,
    /// Products that the formula sums; `None` where it is not such a sum, or too long.
    pub formula: Option<Vec<Term>>,
    /// The thread that wrote the element, where the backend can tell.
    pub thread: Option<ThreadReads>,
    /// The products that the kernel added beside those of the formula, where they could be followed and differ.
    pub compared: Option<ElementTerms>,
}

/// What the thread that wrote an element read, against the formula.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadReads {
    /// The thread, by block and thread index.
    pub id: ThreadId,
    /// Line of its last write to the element.
    pub line: Option<SourceLoc>,
    /// Elements that it read and the formula does not use, in order of first read.
    pub extra: Vec<ElementRead>,
    /// Elements that the formula uses and it did not read, in the order of the formula. Another thread may have
    /// read them for it, into shared memory.
    pub missing: Vec<ElementRef>,
    /// Reads outside their tensor.
    pub outside: Vec<ElementRead>,
    /// How many elements it read, all in all.
    pub total: usize,
}

/// A value that is special to floating-point arithmetic (IEEE 754-2019, section 3.4), and its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each has the sign alone")]
pub enum SpecialValue {
    Zero { negative: bool },
    Subnormal { negative: bool },
    Infinite { negative: bool },
    Nan { negative: bool },
}

/// A pattern that holds for a whole wrong tensor, checked element by element.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// No element was written.
    NothingWritten,
    /// A tensor that is changed in place holds what it held before.
    Unchanged,
    /// The wrong elements of a tensor that is changed in place hold what they held before.
    UnchangedWhereWrong {
        /// Where they are, if that is a part of the tensor: first and last coordinate on each axis; `None`: anywhere on it.
        ranges: Vec<Option<(usize, usize)>>,
    },
    /// Exactly the first `count` elements were written.
    OnlyStartWritten {
        /// How many elements were written.
        count: usize,
        /// Threads of a block of the launch.
        block: usize,
    },
    /// Exactly the elements of one part were not written, or were written.
    PartWritten {
        /// First and last coordinate of the part on each axis; `None`: anywhere on it.
        ranges: Vec<Option<(usize, usize)>>,
        /// Whether the part is what was written.
        written: bool,
    },
    /// Exactly the elements whose coordinates on two axes are equal were written.
    DiagonalWritten {
        /// One axis.
        first: usize,
        /// The other one.
        second: usize,
    },
    /// Exactly every so many elements were written.
    EveryNthWritten {
        /// The position of the first one in row-major order.
        first: usize,
        /// From one to the next.
        step: usize,
    },
    /// Every element is what is expected of another wrong output, and the other way round.
    ExchangedWith {
        /// The other output.
        tensor: String,
    },
    /// Every element is NaN.
    AllNan,
    /// Every element is 0.
    AllZero,
    /// Every element is the same multiple of what is expected.
    Factor {
        /// What was got divided by what is expected.
        factor: f64,
        /// The size that equals the factor or its inverse, here and at another value of it.
        size: Option<String>,
    },
    /// Every element is off by a multiple of the element of a vector at one of its coordinates: a bias.
    Addend {
        /// The vector, an input.
        vector: String,
        /// (got - expected) / element: -1 where it is left out.
        times: i64,
    },
    /// Every wrong element has another element of a vector added to it than that at one of its coordinates: a bias.
    OtherAddend {
        /// The vector, an input.
        vector: String,
        /// The position of the first wrong element.
        flat: usize,
        /// The element that should be added there.
        expected: usize,
        /// The element that is added.
        got: usize,
    },
    /// Whole numbers that follow from the expected ones: wherever one of them is expected, the same other one stands.
    Renamed {
        /// The expected numbers that are wrong, and what stands in their place.
        pairs: Vec<(f64, f64)>,
    },
    /// Every wrong element is the same multiple of what is expected, and others are correct.
    FactorWhereWrong {
        /// What was got divided by what is expected.
        factor: f64,
    },
    /// Every wrong element is the same multiple of another tensor's element at its place.
    MultipleOf {
        /// The tensor, of the same shape: an input, or a step of the formula.
        tensor: String,
        /// How many times it is.
        factor: f64,
    },
    /// Every element of a tensor that is changed in place changes by the same multiple of what it should change by.
    StepFactor {
        /// How many times as much it is.
        factor: f64,
    },
    /// Each of a few wrong elements is a simple fraction of what is expected.
    Fractions {
        /// The positions of all wrong elements, with numerator and denominator.
        of: Vec<(usize, i64, i64)>,
    },
    /// Short floats are cut off where they should be rounded to the nearest.
    CutOff,
    /// Every element is the expected one without its fraction.
    Truncated,
    /// Every element is a multiple of what is expected and a number added to it.
    Line {
        /// What the expected value is multiplied with.
        factor: f64,
        /// What is added then.
        by: f64,
    },
    /// Every wrong element is a multiple of what is expected and a number added to it, and others are correct.
    LineWhereWrong {
        /// What the expected value is multiplied with.
        factor: f64,
        /// What is added then.
        by: f64,
    },
    /// Wrong elements have one of two values, by the expected one.
    TwoSteps {
        /// The lower value.
        low: f64,
        /// The higher one.
        high: f64,
        /// The largest expected value that comes out low.
        below: f64,
        /// The smallest expected value that comes out high.
        above: f64,
    },
    /// Every element is off by the same amount.
    Offset {
        /// What was got less what is expected.
        by: f64,
    },
    /// All wrong elements are off by the same amount.
    OffsetWhereWrong {
        /// What was got less what is expected.
        by: f64,
    },
    /// Every element is off by an amount that depends on one coordinate only.
    OffsetAlong {
        /// The axis of that coordinate.
        axis: usize,
    },
    /// Every element of a tensor of whole numbers is off by a multiple of each of its coordinates.
    OffsetInSteps {
        /// How far the first element is off.
        by: f64,
        /// How much farther for each step along each axis.
        steps: Vec<f64>,
    },
    /// Every element has a factor that depends on one coordinate only.
    FactorAlong {
        /// The axis of that coordinate.
        axis: usize,
        /// The factor where the coordinate is 0.
        first: f64,
    },
    /// All errors are as small as those of a sum in half precision.
    Rounding {
        /// The largest error, as a part of the sum of the absolute values of the terms.
        largest: f64,
    },
    /// Each slice over the last two axes is laid out the other way round.
    Transposed,
    /// The expected values, stored as if the axes were in this order in memory.
    Layout {
        /// The axes, outermost first.
        order: Vec<usize>,
    },
    /// Each slice is reversed along these axes.
    Mirrored {
        /// Axes, counted from the first.
        axes: Vec<usize>,
    },
    /// Along an axis the expected values stand in another order, the same everywhere.
    Permuted {
        /// The axis, counted from the first.
        axis: usize,
        /// For each place on the axis, the one whose values it holds.
        order: Vec<usize>,
    },
    /// Along an axis the expected values stand at other places, some of them more than once and others nowhere.
    Repeated {
        /// The axis, counted from the first.
        axis: usize,
        /// For each place on the axis, the one whose values it holds.
        order: Vec<usize>,
    },
    /// Every element of a tensor of whole numbers has its bits in reverse.
    BitsReversed {
        /// How many bits are reversed.
        bits: u32,
    },
    /// Elements are wrong exactly where another tensor of the same shape has, or should have, this value.
    WrongWhere {
        /// The tensor.
        tensor: String,
        /// Its value there.
        value: f64,
        /// Whether it is an output, of which that value is expected.
        is_output: bool,
        /// What all wrong elements are, if that is one number.
        got: Option<f64>,
    },
    /// Errors lie exactly at the first coordinates for which an input of whole numbers has this value.
    WrongRows {
        /// The input's elements that belong to a first coordinate: `shuffle[*, 1]`.
        elements: String,
        /// Their value where the errors are.
        value: f64,
    },
    /// Two elements hold each other's values, and all else is correct.
    Exchanged {
        /// The position of the first in row-major order.
        first: usize,
        /// That of the second.
        second: usize,
    },
    /// Along an axis each wrong element holds the value of the other one of its pair.
    Paired {
        /// The axis, counted from the first.
        axis: usize,
        /// How far apart the two are, a power of 2: of places `i` and `i + by`.
        by: usize,
    },
    /// Along an axis the expected values stand in another order.
    Reordered {
        /// The axis, counted from the first.
        axis: usize,
        /// First and last coordinate of the errors on each axis that they do not fill, if they lie in a part of the tensor.
        ranges: Vec<Option<(usize, usize)>>,
    },
    /// Each slice is moved by whole elements along the last two axes.
    Shifted {
        /// Along the last axis but one.
        rows: i64,
        /// How far along the last axis.
        columns: i64,
    },
    /// Each wrong element holds the value of another one so far from it in memory.
    Late {
        /// By how many elements, in row-major order, the values stand too late.
        by: i64,
    },
    /// Everything with coordinate 0 on an axis is correct; errors at every other coordinate.
    OnlyFirstRight {
        /// The axis of that coordinate.
        axis: usize,
    },
    /// Of all slices over the last two axes the first is correct; errors in every other one.
    OnlyFirstSliceRight,
    /// Elements are wrong exactly where a tensor of the same shape has one of these values.
    Special {
        /// The tensor, an input.
        tensor: String,
        /// The kinds of values, in order.
        kinds: Vec<SpecialValue>,
    },
    /// A tensor of the same shape has this value, which is not finite, in every wrong element and in some correct ones.
    SpecialInWrong {
        /// The tensor, an input.
        tensor: String,
        /// The kind of value.
        kind: SpecialValue,
        /// How many correct elements have it.
        correct: usize,
    },
    /// All errors lie in a part of the tensor.
    Region {
        /// First and last coordinate on each axis; `None`: anywhere on it.
        ranges: Vec<Option<(usize, usize)>>,
        /// The value of all wrong elements, if it is the same.
        value: Option<f64>,
    },
    /// All wrong elements have the same value.
    SameWhereWrong {
        /// The value.
        value: f64,
    },
    /// All errors lie within `width` elements of the edges of the slices over the last two axes.
    Border {
        /// How many elements wide the border is.
        width: usize,
    },
}
