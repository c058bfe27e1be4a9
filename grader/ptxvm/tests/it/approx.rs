//! The approximate functions: the machine's results lie within the ISA's bounds of a GPU's.
//!
//! PTX ISA 9.0, 9.7.3: `rcp`, `sqrt`, `rsqrt`, `sin`, `cos`, `lg2`, `ex2`, `tanh`, `div`; 9.7.4 for halves.

use crate::golden::{few, lines, operands};
use half::{bf16, f16};

/// How far a result may be off: relative to it, or absolutely, whichever allows more.
struct Bound {
    relative: f64,
    absolute: f64,
}

fn value(kind: &str, bits: u64) -> f64 {
    match kind {
        "f16" => f16::from_bits(bits as u16).to_f64(),
        "bf16" => bf16::from_bits(bits as u16).to_f64(),
        "f32" => f32::from_bits(bits as u32).into(),
        _ => f64::from_bits(bits),
    }
}

/// The bound of an instruction for operands `a` and `b`; none where the ISA gives none.
fn bound(name: &str, kind: &str, a: f64, b: f64) -> Option<Bound> {
    let relative = |power: f64| Some(Bound { relative: power.exp2(), absolute: 0.0 });
    let absolute = |power: f64| Some(Bound { relative: 0.0, absolute: power.exp2() });
    // Two units in the last place.
    let two_ulp = relative(-22.0);
    match (name, kind) {
        ("ex2", "f16") => relative(-9.9),
        ("ex2", "bf16") => relative(-7.0),
        ("tanh", "f16") => absolute(-10.987),
        ("tanh", "bf16") => absolute(-8.0),
        ("tanh", _) => relative(-11.0),
        ("rcp" | "sqrt" | "rsqrt", "f64") => relative(-20.0),
        ("rcp" | "sqrt", _) => relative(-23.0),
        ("rsqrt", _) => relative(-22.9),
        ("sin" | "cos", _) if a.abs() <= std::f64::consts::PI => absolute(-20.5),
        ("sin" | "cos", _) if a.abs() <= 100.0 * std::f64::consts::PI => absolute(-14.7),
        ("sin" | "cos", _) => None,
        ("lg2", _) if (0.5..=2.0).contains(&a) => absolute(-22.0),
        ("lg2", _) => relative(-22.0),
        ("div", _)
            if b.is_finite()
                && b != 0.0
                && !(2f64.powi(-126)..=2f64.powi(126)).contains(&b.abs()) =>
        {
            None
        }
        _ => two_ulp,
    }
}

#[test]
fn approximate_instructions_are_within_their_bounds_of_a_gpu() {
    let tables = [operands(false), operands(true)];
    let (mut compared, mut wrong) = (0, Vec::new());
    for line in lines().into_iter().filter(|line| line.approximate) {
        let operands = &tables[usize::from(line.exhaustive)];
        let name = line.instruction.split('.').next().expect("a name");
        let smallest = match line.kind {
            "f16" => 2f64.powi(-24),
            "bf16" => 2f64.powi(-133),
            "f32" => 2f64.powi(-149),
            _ => f64::from_bits(1),
        };
        for (row, theirs, ours) in few(&line, operands) {
            let operand = |column: usize| value(line.kind, operands[row * 4 + column]);
            // GPUs read the upper word alone, and take these NaNs for infinities.
            if line.kind == "f64"
                && operand(0).is_nan()
                && (operands[row * 4] >> 32).trailing_zeros() >= 20
            {
                continue;
            }
            let Some(bound) = bound(name, line.kind, operand(0), operand(1)) else { continue };
            let (theirs, ours) = (value(line.kind, theirs), value(line.kind, ours));
            compared += 1;
            // Half a unit for the rounding of the machine's own result; one step among the subnormals.
            let rounding = match line.kind {
                "f16" => 2f64.powi(-11),
                "bf16" => 2f64.powi(-8),
                _ => 2f64.powi(-24),
            };
            let allowed = (bound.relative * theirs.abs()).max(bound.absolute)
                + rounding * theirs.abs()
                + smallest;
            let same = theirs == ours || theirs.is_nan() && ours.is_nan();
            if !same && ((theirs - ours).abs() > allowed || theirs.is_nan() || ours.is_nan()) {
                let (a, b) = (operand(0), operand(1));
                wrong.push(format!("{} {a:e} {b:e}: {ours:e}, not {theirs:e}", line.instruction));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 20_000, "only {compared} results are compared");
}
