//! Finds the row of an instruction in the table of instructions.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Body;
use super::body::Result;
use super::memory::Access;
use super::modifiers::Modifiers;
use super::refuse;
use super::spelling::Spelling;
use super::textures::SurfaceUse;
use crate::frontend::syntax::ast::Operand;
use crate::isa::class::Class;
use crate::isa::ir::alu::{R2, R3};
use crate::isa::ir::{Carry, LaneOperation, Logic, Op, Redux, Shuffle, Vote, alu};
use crate::isa::matrix::Layout;
use crate::isa::opcodes::{with_instructions, with_lane_operations};
use crate::isa::ops::video::PrimaryOperation;

/// A row of the table: a way to write an instruction, and how it is lowered.
pub(super) struct Row {
    pub spelling: Spelling,
    pub lowering: Lowering,
}

#[derive(Clone, Copy)]
pub(super) enum Lowering {
    /// The instruction is this lane operation.
    Lanes(LaneOperation),
    By(Function),
}

/// A function that lowers an instruction.
#[derive(Clone, Copy)]
pub(super) struct Function {
    /// The class that it counts as, if it does not become a lane operation.
    pub class: Class,
    pub guard: Guarded,
    pub lower: Lower,
}

type Lower =
    for<'a, 'o> fn(&mut Body<'_, '_, '_, 'a>, &mut Modifiers<'a>, &'o [Operand<'a>]) -> Result<()>;

/// How a guard excludes lanes from an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guarded {
    /// The instruction executes for the other lanes.
    Masked,
    /// A branch skips the instruction, because it may end lanes or block them.
    Skipped,
}
use Guarded::{Masked, Skipped};

macro_rules! lane_rows {
    ($($(#[$doc:meta])* $signature:ident($method:ident: $($file:ident),*) {
        $($op:ident $class:ident $rule:ident $(($($argument:tt)*))? $speed:ident $path:path $(= $($ptx:literal),+)?;)*
    })*) => {
        const LANE_OPERATIONS: &[(Lowering, &[&str])] = &[
            $($($((
                Lowering::Lanes(LaneOperation::$signature(alu::$signature::$op)),
                &[$($ptx),+],
            ),)?)*)*
        ];
    };
}
with_lane_operations!(lane_rows);

macro_rules! function_rows {
    ($($class:ident $guard:ident $function:ident $(($($argument:expr),*))? = $($ptx:literal),+;)*) => {
        const INSTRUCTIONS: &[(Lowering, &[&str])] = &[
            $((
                Lowering::By(Function {
                    class: Class::$class,
                    guard: $guard,
                    lower: |body, modifiers, operands| {
                        body.$function(modifiers, operands $($(, $argument)*)?)
                    },
                }),
                &[$($ptx),+],
            ),)*
        ];
    };
}
with_instructions!(function_rows);

/// All rows, by what stands before the first dot.
static TABLE: LazyLock<HashMap<&str, Vec<Row>>> = LazyLock::new(|| {
    let mut table: HashMap<_, Vec<Row>> = HashMap::new();
    for &(lowering, spellings) in LANE_OPERATIONS.iter().chain(INSTRUCTIONS) {
        for (base, spelling) in spellings.iter().flat_map(|text| Spelling::parse(text)) {
            table.entry(base).or_default().push(Row { spelling, lowering });
        }
    }
    table
});

impl Row {
    /// Operands, where the row says how many.
    fn operands(&self) -> Option<usize> {
        match self.lowering {
            Lowering::Lanes(operation) => Some(operation.files().len()),
            Lowering::By(_) => self.spelling.source_count().map(|sources| 1 + sources),
        }
    }
}

/// The row of an opcode. Some opcodes mean different instructions with different numbers of operands.
pub(super) fn find(modifiers: &Modifiers, operands: usize) -> Option<&'static Row> {
    let rows = TABLE.get(modifiers.base)?;
    let mut fitting = rows.iter().filter(|row| row.spelling.accepts(modifiers));
    let first = fitting.next()?;
    let fits = |row: &&Row| row.operands().is_none_or(|count| count == operands);
    Some(std::iter::once(first).chain(fitting).find(fits).unwrap_or(first))
}

/// The row of an opcode that is one lane operation.
pub(super) fn lane_operation(
    modifiers: &Modifiers,
    operands: usize,
) -> Option<(LaneOperation, &'static Spelling)> {
    let row = find(modifiers, operands)?;
    match row.lowering {
        Lowering::Lanes(operation) => Some((operation, &row.spelling)),
        Lowering::By(_) => None,
    }
}

/// What to say of an opcode that has no row.
pub(super) fn missing(modifiers: &Modifiers, opcode: &str) -> String {
    let Some(rows) = TABLE.get(modifiers.base) else {
        return refuse::reason(opcode);
    };
    let known = |part| rows.iter().any(|row| row.spelling.mentions(part));
    let unknown = modifiers.parts().iter().find(|part| part.ty.is_none() && !known(part));
    if let Some(part) = unknown {
        return format!("`.{}` of instruction `{opcode}`", part.text);
    }
    match rows.iter().find(|row| row.spelling.accepts_types(modifiers)) {
        Some(row) => format!("instruction `{opcode}`; there is `{}`", row.spelling.opcode()),
        None => format!("`{}` of this type", modifiers.base),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::ir::RegisterFile;
    use crate::isa::types::Type;

    #[test]
    fn every_opcode_has_one_row() {
        for (base, rows) in TABLE.iter() {
            for row in rows {
                for opcode in row.spelling.opcodes(base) {
                    let modifiers = Modifiers::new(&opcode);
                    let fits = |other: &&Row| {
                        let counts = (row.operands(), other.operands());
                        other.spelling.accepts(&modifiers)
                            && !matches!(counts, (Some(one), Some(two)) if one != two)
                    };
                    let fitting: Vec<_> =
                        rows.iter().filter(fits).map(|row| row.spelling.opcode()).collect();
                    assert_eq!(fitting, [row.spelling.opcode()], "{opcode}");
                }
            }
        }
    }

    #[test]
    fn sources_are_in_the_registers_of_their_types() {
        for (base, row) in
            TABLE.iter().flat_map(|(base, rows)| rows.iter().map(move |row| (base, row)))
        {
            let Lowering::Lanes(operation) = row.lowering else { continue };
            let sources = &operation.files()[1..];
            assert!(row.spelling.source_count().is_none_or(|count| count == sources.len()));
            for opcode in row.spelling.opcodes(base) {
                let ty = Modifiers::new(&opcode).last_type().unwrap_or(Type::B32);
                for (index, file) in sources.iter().enumerate() {
                    let bits = row.spelling.source(index).ty.unwrap_or(ty).bits();
                    assert_eq!(
                        *file == RegisterFile::Reg64,
                        bits == 64,
                        "source {index} of {opcode}"
                    );
                }
            }
        }
    }
}
