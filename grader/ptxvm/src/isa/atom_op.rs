//! What atomic operations compute (PTX ISA 9.7.13, `atom` and `red`).

/// What `atom` or `red` does with the old value in memory and its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exch,
    Cas,
    Inc,
    Dec,
}
