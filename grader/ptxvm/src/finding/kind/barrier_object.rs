//! A barrier object in shared memory (`mbarrier`: `cuda::barrier`, `cuda::pipeline`) that is not used as it must be.

use crate::finding::access::AccessKind;
use crate::finding::check::{Check, Fault, Site, Words};
use crate::source_loc::SourceLoc;

/// A wrong use of a barrier object in shared memory (PTX ISA 9.7.13.15).
#[derive(Clone, Debug, PartialEq)]
pub struct BarrierObject {
    /// What is wrong with it.
    pub misuse: MbarrierMisuse,
    /// The object's offset in shared memory.
    pub offset: i64,
}

/// What is wrong with the use of a barrier object.
#[derive(Clone, Debug, PartialEq)]
pub enum MbarrierMisuse {
    /// There is none at this place: nobody has initialised one, or it has been invalidated.
    NotInitialised,
    /// There is one already. It must be invalidated before it is initialised again.
    InitialisedAgain {
        /// Line where it was initialised.
        first: Option<SourceLoc>,
        /// `threadIdx` of the thread that did.
        first_thread: [u32; 3],
    },
    /// A count of arrivals or bytes outside its range: 1 to 2^20 - 1 arrivals, up to 2^20 - 1 bytes.
    InvalidCount {
        /// The count that the program gave.
        count: u32,
    },
    /// More arrivals than the phase still waits for.
    TooManyArrivals {
        /// Arrivals at once.
        count: u32,
        /// Those that were missing.
        pending: u32,
    },
    /// An arrival that may not be the last one (`.noComplete`) is the last one.
    MayNotComplete,
    /// A wait for a phase that ended more than one phase ago: the token is too old, or of another barrier, or not a token.
    OldToken,
    /// A plain access to the words of the object: only the operations of a barrier may touch them.
    Touched {
        /// Load, store or atomic.
        access: AccessKind,
        /// Bytes of the access.
        size: u32,
    },
    /// A thread waits for the end of a phase, and all of its block that are left wait too. It is as if they never ended.
    NeverCompletes {
        /// Arrivals that the phase still waits for.
        arrivals: u32,
        /// Bytes that it still waits for.
        bytes: i32,
    },
}

impl MbarrierMisuse {
    /// Whether both are the same mistake: equal but for numbers.
    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::InitialisedAgain { first: a, .. }, Self::InitialisedAgain { first: b, .. }) => {
                a == b
            }
            (Self::Touched { .. }, Self::Touched { .. }) => self == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl BarrierObject {
    fn never_completes(&self) -> bool {
        matches!(self.misuse, MbarrierMisuse::NeverCompletes { .. })
    }
}

impl Check for BarrierObject {
    fn name(&self) -> &'static str {
        if self.never_completes() { "endless-loop" } else { "barrier-object" }
    }

    fn same(&self, other: &Self) -> bool {
        self.misuse.same(&other.misuse)
    }

    fn fault(&self) -> Option<Fault> {
        self.never_completes().then_some(Fault::Timeout)
    }

    fn words(&self, _: &Site<'_>) -> Words {
        let at = format!("the barrier object at byte {} of shared memory", self.offset);
        match &self.misuse {
            MbarrierMisuse::NotInitialised => {
                Words::new(format!("use of {at}, which nobody has initialised"))
                    .help("one thread calls init, and a __syncthreads() follows before any other thread uses it")
            }
            MbarrierMisuse::InitialisedAgain { first, .. } => {
                Words::new(format!("{at} is initialised a second time"))
                    .label("again here")
                    .other(first.as_ref(), "initialised here")
                    .help("one thread of the block initialises it, once: if (threadIdx.x == 0) init(&bar, blockDim.x);")
            }
            MbarrierMisuse::InvalidCount { count } => Words::new(format!("a count of {count} for {at}"))
                .help("arrivals are 1 to 1,048,575 at once, bytes at most 1,048,575 and whole 16s in bulk copies"),
            MbarrierMisuse::TooManyArrivals { count, pending } => {
                Words::new(format!("{count} {} at {at}, which waits for {pending} only", arrivals(*count)))
                    .label("more than belong to this phase")
                    .help("each phase takes as many arrivals as init said, less those that have dropped out")
            }
            MbarrierMisuse::MayNotComplete => {
                Words::new(format!("an arrival that must not be the last one completes the phase of {at}"))
                    .help("arrive without noComplete where it may be the last one")
            }
            MbarrierMisuse::OldToken => {
                Words::new(format!("a wait with a token that is not of the last two phases of {at}"))
                    .help("wait with the token that arrive() of the same barrier has just returned")
            }
            MbarrierMisuse::Touched { access, .. } => Words::new(format!("{} {at}", access.of()))
                .help("only init, arrive and wait may touch it: does an array before it run over, or does memory have two uses?"),
            MbarrierMisuse::NeverCompletes { arrivals: missing, bytes } => {
                Words::new(format!("the phase of {at} never completes"))
                    .label("waits here forever")
                    .help(missing_of(*missing, *bytes))
            }
        }
    }
}

fn arrivals(count: u32) -> &'static str {
    if count == 1 { "arrival" } else { "arrivals" }
}

fn missing_of(count: u32, bytes: i32) -> String {
    if count == 0 {
        return format!(
            "all have arrived, but {bytes} bytes of copies are missing: does what was announced fit what is copied?"
        );
    }
    format!(
        "{count} more {} would complete it, and all threads that are left wait: does the count of init fit those that arrive? Does each wait for the right phase?",
        arrivals(count)
    )
}
