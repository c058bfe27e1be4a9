//! What every kind of finding says about itself.

use crate::source_loc::SourceLoc;
use std::fmt;

/// A thread of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadId {
    /// The `blockIdx` of the thread.
    pub block: [u32; 3],
    /// The `threadIdx` of the thread.
    pub thread: [u32; 3],
}

impl ThreadId {
    /// The number of the thread in a block of this size.
    pub fn index(&self, block_size: [u32; 3]) -> u32 {
        crate::lanes::index(self.thread, block_size)
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        write!(f, "block ({bx},{by},{bz}) thread ({tx},{ty},{tz})")
    }
}

/// Where a finding was made, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The kernel's name in the source.
    pub kernel: &'a str,
    /// The first thread that did it.
    pub thread: Option<ThreadId>,
    /// The source line that did it.
    pub loc: Option<&'a SourceLoc>,
}

/// How a GPU stops a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An address outside all memory, or one that may not be written.
    IllegalAddress,
    /// An address that is not a multiple of the access size.
    MisalignedAddress,
    /// A stack that is full.
    StackOverflow,
    /// A jump to what is not a function.
    InvalidPc,
    /// A kernel that takes too long.
    Timeout,
    /// An `assert` failed: `cudaErrorAssert`.
    Assert,
    /// The launch failed in another way: `cudaErrorLaunchFailure`.
    LaunchFailure,
}

/// What is said of a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// What is wrong, in one line.
    pub title: String,
    /// What is said at the line that did it; may be empty.
    pub label: String,
    /// Another line with a part in it, and what is said there.
    pub other: Option<(SourceLoc, String)>,
    /// Why it is wrong and what to do, one sentence each.
    pub help: Vec<String>,
}

impl Words {
    /// Words with a title alone.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Adds the label of the line that did it.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds what is said at another line, if that line is known.
    #[must_use]
    pub fn other(mut self, loc: Option<&SourceLoc>, label: impl Into<String>) -> Self {
        self.other = loc.map(|loc| (loc.clone(), label.into()));
        self
    }

    /// Adds a sentence of help.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }
}

/// A kind of finding: how it is called, counted and worded. Each file of `finding::kind` has one.
pub trait Check {
    /// The stable name: it stands in reports for machines, and in `caught_by` of a wrong solution.
    fn name(&self) -> &'static str;

    /// Whether another finding at the same line is the same mistake again: equal but for addresses, offsets and counts.
    fn same(&self, other: &Self) -> bool;

    /// How a GPU stops the kernel; `None` if it does not notice.
    fn fault(&self) -> Option<Fault> {
        None
    }

    /// Whether the kernel has not run to its end, as one that takes too long.
    fn ends_launch(&self) -> bool {
        self.fault() == Some(Fault::Timeout)
    }

    /// What is said of it to the author of the kernel.
    fn words(&self, site: &Site<'_>) -> Words;
}

/// A number with a comma between thousands: `20,000,000`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The lanes of a mask: `0-15, 20`.
pub(super) fn lanes(mask: u32) -> String {
    let mut parts = Vec::new();
    let mut lane = 0;
    while lane < 32 {
        let run = (mask >> lane).trailing_ones();
        match run {
            0 => lane += 1,
            1 => parts.push(lane.to_string()),
            _ => parts.push(format!("{lane}-{}", lane + run - 1)),
        }
        lane += run;
    }
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}
