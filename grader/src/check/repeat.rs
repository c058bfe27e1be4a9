//! Checks that a spec says whether results may differ between runs, if the order of additions is not fixed.

use super::bench::{Bench, Loaded};
use super::item::Item;
use diagnostic::{Failure, FailureKind};
use judge::grade;
use toolchain::ptx;

/// Adds to `solution` a problem for each launch whose spec does not say so.
pub fn stated(bench: &Bench<'_>, loaded: &Loaded<'_>, mut solution: Item) -> Result<Item, Failure> {
    let file = &loaded.puzzle.solution;
    let program = grade::compile(bench.toolchain, bench.workbook, &loaded.spec, file, None);
    let program = match program {
        Ok(program) => program,
        Err(failure) if failure.kind == FailureKind::Environment => return Err(failure),
        // Another check has already reported that it does not compile.
        Err(_) => return Ok(solution),
    };
    for launch in loaded.spec.launches.iter().filter(|launch| launch.repeat.is_none()) {
        let symbol = program.kernels.get(&launch.kernel);
        if symbol.is_some_and(|symbol| adds_floats(&program.compiled.ptx, symbol)) {
            solution.problems.push(format!(
                "`{}` adds floats with atomic operations, whose order varies between runs: add \
                 repeat = \"last-bits\" to its launch",
                launch.kernel
            ));
        }
    }
    Ok(solution)
}

/// Whether the kernel has an atomic addition of floats.
fn adds_floats(ptx: &str, symbol: &str) -> bool {
    let adds = |word: &str| {
        let mut parts = word.split('.');
        matches!(parts.next(), Some("atom" | "red"))
            && parts.clone().any(|part| part == "add")
            && parts.any(|part| part.starts_with('f') || part.starts_with("bf"))
    };
    ptx::kernel(ptx, symbol).is_some_and(|text| text.split_whitespace().any(adds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atomic_additions_of_floats_are_seen_in_their_own_kernel() {
        let ptx = |instruction: &str| {
            format!(
                ".visible .entry a(\n.param .u64 p\n)\n{{\nret;\n}}\n.visible .entry b()\n{{\n{instruction}\n}}\n"
            )
        };
        for instruction in [
            "atom.global.add.f32 %f1, [%rd1], %f2;",
            "@%p1 red.global.add.f64 [%rd1], %fd1;",
            "atom.shared.add.noftz.f16 %h1, [%r1], %h2;",
        ] {
            assert!(adds_floats(&ptx(instruction), "b"), "{instruction}");
            assert!(!adds_floats(&ptx(instruction), "a"), "{instruction}");
        }
        for instruction in [
            "atom.global.add.u32 %r1, [%rd1], 1;",
            "add.f32 %f1, %f2, %f3;",
            "red.global.max.s32 [%rd1], %r1;",
        ] {
            assert!(!adds_floats(&ptx(instruction), "b"), "{instruction}");
        }
    }
}
