//! Where a kernel computes in half precision, though no tensor that it is given to fill has so few digits.

use crate::grade::Program;
use crate::verdict::TestVerdict;
use device::finding::SourceLoc;
use puzzle::case::{Case, CaseArg};
use puzzle::tensor::DType;
use toolchain::ptx;

/// A sum that loses what half precision cannot hold is off by a part of itself, and not by more than this.
const SMALL: f64 = 0.1;

/// Adds to a failing verdict the first line that rounds to half precision, where an output of more digits is slightly off and nothing else is
/// known of it.
pub(crate) fn explain(
    program: &Program,
    case: &Case,
    mut verdict: TestVerdict,
    at: usize,
) -> TestVerdict {
    let diff = &verdict.diffs[at];
    let is_off_a_little = diff.mismatches.iter().all(|mismatch| {
        let off = |got: f64| (got - mismatch.expected).abs() <= SMALL * mismatch.expected.abs();
        mismatch.got.is_some_and(off)
    });
    let is_known = diff.variant.is_some() || diff.part.is_some() || diff.terms.compared.is_some();
    if is_known || !is_off_a_little || !matches!(diff.tensor.dtype, DType::F32 | DType::F64) {
        return verdict;
    }
    let name = diff.tensor.name.clone();
    verdict.diffs[at].half_step = first(program, case, &name);
    verdict
}

fn first(program: &Program, case: &Case, name: &str) -> Option<SourceLoc> {
    let index = case.output(name)?;
    let fills_a_half = |args: &[CaseArg]| {
        case.tensors.iter().enumerate().any(|(i, t)| {
            args.contains(&CaseArg::Tensor(i))
                && t.wanted().is_some()
                && matches!(t.tensor.dtype, DType::F16 | DType::BF16)
        })
    };
    let launches = case.launches.iter().filter(|launch| {
        launch.args.contains(&CaseArg::Tensor(index)) && !fills_a_half(&launch.args)
    });
    let ptx = &program.compiled.ptx;
    let own = program.compiled.source.path.to_string_lossy();
    let mut places = launches
        .filter_map(|launch| program.kernels.get(&launch.kernel))
        .flat_map(|symbol| ptx::places(ptx, symbol, rounds_to_half));
    let (file, line) =
        places.find(|(file, _)| own.ends_with(file.as_str()) || file.ends_with(&*own))?;
    Some(SourceLoc { file: file.into(), line, column: 0 })
}

/// Whether a line of PTX converts to half precision or computes in it (PTX ISA 9.7.4 and 9.7.9): a halving of digits either way.
fn rounds_to_half(line: &str) -> bool {
    let mut words =
        line.trim_start_matches(|c: char| c == '{' || c.is_whitespace()).split_whitespace();
    let mut parts = words.next().unwrap_or_default().split('.');
    let is_half =
        |part: &str| matches!(part.trim_end_matches(';'), "f16" | "f16x2" | "bf16" | "bf16x2");
    let is_type = |part: &&str| {
        is_half(part) || matches!(*part, "f32" | "f64" | "s32" | "u32" | "s16" | "u16")
    };
    match parts.next() {
        // The first type is that of the result.
        Some("cvt") => parts.find(is_type).is_some_and(is_half),
        Some("add" | "sub" | "mul" | "fma") => parts.any(is_half),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_that_keep_eleven_bits_are_told_from_those_that_widen() {
        for line in [
            "\tcvt.rn.f16.f32 %rs1, %f1;",
            "{  cvt.rn.f16.f32 %rs1, %f1;}",
            "{fma.rn.f16 %rs1, %rs2, %rs3, %rs4;",
            "add.bf16x2 %r1, %r2, %r3;",
        ] {
            assert!(rounds_to_half(line), "{line}");
        }
        for line in [
            "\tcvt.f32.f16 %f1, %rs1;",
            "add.f32 %f1, %f2, %f3;",
            "ld.global.u16 %rs1, [%rd1];",
            "",
            "// cvt.rn.f16.f32",
        ] {
            assert!(!rounds_to_half(line), "{line}");
        }
    }
}
