//! Whether a bound on the time is kept: by the medians of the same run, and only where both are known well.

use crate::outcome::{Contestant, ContestantResult, GateOutcome, GateVerdict};
use crate::statistics::Summary;
use crate::subject::label_of;
use puzzle::spec::{Reference, TimeGate};

/// A spread above this is said: what the GPU did besides, or how its clock moved, decides the time. No bound is judged by it.
pub const NOISY: f64 = 0.05;

/// Judges a gate by a run on a GPU, whose first contestant is the kernel in question.
pub fn judge(gate: &TimeGate, contestants: &[Contestant]) -> GateOutcome {
    let verdict = ratio(gate, contestants).map_or_else(GateVerdict::NotJudged, |ratio| {
        if ratio <= gate.factor { GateVerdict::Kept(ratio) } else { GateVerdict::Missed(ratio) }
    });
    outcome(gate, verdict)
}

/// A gate where no time was taken.
pub fn without_gpu(gate: &TimeGate) -> GateOutcome {
    outcome(gate, GateVerdict::NotJudged("times are taken on a GPU only".to_owned()))
}

fn outcome(gate: &TimeGate, verdict: GateVerdict) -> GateOutcome {
    GateOutcome { bound: gate.to_string(), about: gate.about.clone(), verdict }
}

/// The kernel's time as a multiple of the reference's, or why that is not known.
fn ratio(gate: &TimeGate, contestants: &[Contestant]) -> Result<f64, String> {
    let own = contestants.first().ok_or("nothing was timed")?;
    let other = match gate.reference {
        Reference::Puzzle(number) => {
            let label = label_of(number);
            let found = contestants.iter().skip(1).find(|other| other.label == label);
            found.ok_or_else(|| format!("{label} was not timed"))?
        }
        Reference::Vendor => {
            let library = contestants.iter().find(|other| other.file.is_none());
            library.ok_or("the vendor's library is not installed")?
        }
    };
    let median = |Contestant { label, result, .. }: &Contestant| {
        let ContestantResult::Timed(times) = result else {
            return Err(format!("{label} is not timed"));
        };
        let all = Summary::of(&times.samples).ok_or_else(|| format!("{label} has no times"))?;
        if all.spread() > NOISY {
            let spread = all.spread() * 100.0;
            return Err(format!("{label} is noisy, half of its runs lie {spread:.0} % apart"));
        }
        Ok(all.median)
    };
    Ok(median(own)? / median(other)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::timed;

    /// The verdict on a bound on the first kernel of a recorded run, after something was done to it.
    fn verdict(
        factor: f64,
        reference: Reference,
        change: impl FnOnce(&mut Vec<Contestant>),
    ) -> GateVerdict {
        let mut contestants = timed().sizes.remove(0).contestants;
        // The student's kernel there is noisy.
        contestants.remove(0);
        change(&mut contestants);
        let gate = TimeGate { factor, reference, benches: Vec::new(), about: None };
        judge(&gate, &contestants).verdict
    }

    #[test]
    fn medians_decide_unless_they_are_noisy() {
        let of_vendor = |factor| verdict(factor, Reference::Vendor, |_| {});
        let ratio = 6.1e-3 / 2.1e-4;
        let near = |found: f64| (found - ratio).abs() < 1e-9;
        assert!(matches!(of_vendor(29.1), GateVerdict::Kept(found) if near(found)));
        assert!(matches!(of_vendor(29.0), GateVerdict::Missed(found) if near(found)));
        let why =
            |reference, change: fn(&mut Vec<Contestant>)| match verdict(1.0, reference, change) {
                GateVerdict::NotJudged(why) => why,
                other => panic!("{other:?}"),
            };
        let noisy = |contestants: &mut Vec<Contestant>| {
            let ContestantResult::Timed(times) = &mut contestants[1].result else { return };
            times.samples.iter_mut().step_by(2).for_each(|sample| *sample *= 1.2);
        };
        let said = why(Reference::Vendor, noisy);
        assert!(said.starts_with("cuBLAS 13.1 is noisy, half of its runs lie "), "{said}");
        // Refused, and not timed at all.
        assert_eq!(why(Reference::Puzzle(18), |_| {}), "puzzle 18 is not timed");
        assert_eq!(why(Reference::Puzzle(7), |_| {}), "puzzle 7 was not timed");
        let without = |contestants: &mut Vec<Contestant>| {
            contestants.remove(1);
        };
        assert_eq!(why(Reference::Vendor, without), "the vendor's library is not installed");
    }
}
