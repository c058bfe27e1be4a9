//! Work of a program's streams that nothing orders.

use super::Element;
use cudart::order::{self, Call};
use cudart::source_name;

/// Two operations of one place in memory, at least one of which writes, that no stream, event or wait of the host orders.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamRace {
    /// The first place that both access.
    pub place: Element,
    /// How many bytes from there on both access.
    pub bytes: u64,
    /// The operations, in the order of their calls.
    pub sides: [StreamOperation; 2],
}

/// One of two operations that race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamOperation {
    /// A kernel's source name, or the name of a function of the CUDA runtime; `None` for the host's own code.
    pub name: Option<String>,
    /// The stream, in words: `stream 2`, by the order in which the program created them. `None` for the host.
    pub stream: Option<String>,
    /// Whether it writes the memory.
    pub writes: bool,
}

impl StreamRace {
    /// A race in the terms of a case or a program: `place` is where the bytes begin.
    pub(crate) fn new(race: &order::StreamRace, place: Element) -> Self {
        let side = |side: &order::Side| StreamOperation {
            name: match &side.call {
                Call::Kernel(name) => Some(source_name(name)),
                Call::Function(name) => Some(name.clone()),
                Call::Host => None,
            },
            stream: side.stream.map(|name| name.to_string()),
            writes: side.writes,
        };
        let [first, second] = &race.sides;
        let bytes = race.bytes.end - race.bytes.start;
        Self { place, bytes, sides: [side(first), side(second)] }
    }
}
