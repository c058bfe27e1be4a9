//! Classes of instructions: the kinds of work that counters tell apart.

/// What kind of work an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Integer arithmetic, logic and shifts.
    Integer,
    /// Arithmetic on `f16`, `bf16` and their pairs.
    Half,
    /// Single-precision arithmetic, on `f32`.
    Float,
    /// Double-precision arithmetic, on `f64`.
    Double,
    /// Approximate functions: `ex2`, `sin`, `rsqrt` and so on.
    Special,
    /// Products of matrices: `mma` and `wmma.mma`.
    Matrix,
    /// Conversions between types, as `cvt` does them.
    Convert,
    /// Comparisons and logic on predicates.
    Compare,
    /// Moves and selects, which compute nothing.
    Move,
    /// `ld`, `wmma.load`, `ldmatrix` and `cp.async`.
    Load,
    /// `st`, `wmma.store` and `stmatrix`.
    Store,
    /// Read-modify-write operations on memory: `atom` and `red`.
    Atomic,
    /// Branches, calls and returns.
    Control,
    /// Barriers of a block (`bar`) and of a warp (`bar.warp.sync`).
    Barrier,
    /// Shuffles, votes and the like between the lanes of a warp.
    Warp,
    /// Fences, clocks, system calls.
    Other,
}

impl Class {
    /// All classes, each at the index that is its number.
    pub const ALL: [Self; 16] = [
        Self::Integer,
        Self::Half,
        Self::Float,
        Self::Double,
        Self::Special,
        Self::Matrix,
        Self::Convert,
        Self::Compare,
        Self::Move,
        Self::Load,
        Self::Store,
        Self::Atomic,
        Self::Control,
        Self::Barrier,
        Self::Warp,
        Self::Other,
    ];

    /// The name in lower case, such as `integer`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Half => "half",
            Self::Float => "float",
            Self::Double => "double",
            Self::Special => "special",
            Self::Matrix => "matrix",
            Self::Convert => "convert",
            Self::Compare => "compare",
            Self::Move => "move",
            Self::Load => "load",
            Self::Store => "store",
            Self::Atomic => "atomic",
            Self::Control => "control",
            Self::Barrier => "barrier",
            Self::Warp => "warp",
            Self::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_classes_stand_at_their_index() {
        for (index, class) in Class::ALL.into_iter().enumerate() {
            assert_eq!(class as usize, index);
        }
    }
}
