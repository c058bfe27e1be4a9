//! Analyses a nest's values before they are computed: its code runs on profiles instead of values.

use crate::dtype::DType;
use crate::evaluate::data::{Accumulators, TensorData};
use crate::evaluate::nest_run::NestRun;
use crate::lower::nest::{Array, Instr};
use crate::rounding::bound::{ErrorModel, FEW_TERMS};
use crate::rounding::format::Format;
use crate::rounding::profile::RoundingProfile;
use crate::syntax::operators::Reduction;

/// The profile of the body's value, and the error model of each [`Instr::Enclose`] and [`Instr::EncloseFactor`] in the code, in a kernel that computes in
/// `compute_type`.
pub(crate) fn body_profile(
    run: &NestRun<'_>,
    compute_type: DType,
) -> (RoundingProfile, Vec<ErrorModel>) {
    let mut stack: Vec<RoundingProfile> = Vec::new();
    let mut error_models = Vec::new();
    let mut factors: Vec<usize> = Vec::new();
    let format = Format::of(compute_type);
    for instr in &run.nest.code {
        let mut pop = || stack.pop().unwrap_or(RoundingProfile::EXACT);
        let profile = match instr {
            Instr::Const(value) => RoundingProfile::of_number(*value, compute_type),
            Instr::NoTerm => RoundingProfile { constant: Some(0.0), ..RoundingProfile::EXACT },
            Instr::Integer(_) => RoundingProfile { variation: 0.0, ..RoundingProfile::EXACT },
            Instr::Load(read) => match run.nest.reads[*read].array {
                Array::Tensor(id) => {
                    let data = run.tensors[id].as_ref();
                    let profile = data.map_or(RoundingProfile::EXACT, |data| data.profile);
                    // An integer that a kernel has to convert.
                    let integers = !run.lowered.tensors[id].dtype.is_float();
                    let rounds = |data: &TensorData<'_>| data.significant_bits() > format.precision;
                    let rounded = integers && compute_type.is_float() && data.is_some_and(rounds);
                    RoundingProfile { roundings: f64::from(u8::from(rounded)), ..profile }
                }
                Array::Temporary(id) => {
                    let sums = &run.temporaries[id];
                    let additions = (sums.most_terms - 1.0).max(0.0);
                    let largest = sums.profile.largest * sums.most_terms;
                    RoundingProfile {
                        additions,
                        correlated: sums.correlated,
                        largest,
                        ..sums.profile
                    }
                }
            },
            Instr::Neg => {
                let profile = pop();
                RoundingProfile { constant: profile.constant.map(|value| -value), ..profile }
            }
            Instr::Binary(op) => {
                let (b, a) = (pop(), pop());
                RoundingProfile::binary(*op, a, b)
            }
            Instr::Enclose => {
                let profile = pop();
                error_models.push(ErrorModel::new(&profile, format));
                profile.enclosed()
            }
            Instr::EncloseFactor => {
                let profile = pop();
                factors.push(error_models.len());
                error_models.push(ErrorModel::of_factor(&profile, format));
                profile.enclosed()
            }
            Instr::Call(function) => {
                let b = pop();
                let a = if function.arity() == 2 { pop() } else { b };
                RoundingProfile::call(*function, a, b)
            }
            Instr::Compare(_) | Instr::Join(_) => {
                pop();
                pop();
                RoundingProfile::EXACT
            }
            Instr::Select => {
                let (no, yes) = (pop(), pop());
                pop();
                RoundingProfile::either(yes, no)
            }
        };
        stack.push(profile);
    }
    let body = stack.pop().unwrap_or(RoundingProfile::EXACT);
    if compute_type.is_float() && body.may_round(format.exact_up_to) {
        // Where products round, a sum that is exact does so too once it is multiplied out.
        for factor in factors {
            error_models[factor].round_always();
        }
    }
    (body, error_models)
}

/// Adds to the profile of a nest's target what is known of the terms that the nest adds, which have the profile `terms`.
pub(crate) fn add_profile(run: &NestRun<'_>, target: &mut Accumulators, terms: RoundingProfile) {
    // The terms of an element: their number for a temporary, the mean of the numbers for a tensor.
    let count = |id: usize| run.lowered.ranges[id] as f64;
    let iterations: f64 = run.nest.loops.iter().map(|&id| count(id)).product();
    let elements = match run.nest.target.array {
        Array::Tensor(id) => run.lowered.tensors[id].len as f64,
        Array::Temporary(_) => target.axes.iter().map(|axis| count(axis.index)).product(),
    };
    let terms_each = iterations / elements;
    // Additions and correlation are those of the target itself, below.
    let own = RoundingProfile { additions: 0.0, correlated: false, ..terms };
    target.profile = RoundingProfile::either(target.profile, own);
    if let Some(fold) = &run.nest.fold {
        // A product, one of the values, or a position; how irregular the winners are is not known.
        target.profile.variation = 0.0;
        target.profile.fraction_bits = match fold.reduction {
            Reduction::ArgMax | Reduction::ArgMin => Some(0),
            Reduction::Prod => terms.fraction_bits.filter(|bits| *bits == 0),
            _ => terms.fraction_bits,
        };
        return;
    }
    let roundings = terms_each + terms.roundings;
    target.correlated |= terms.may_correlate(roundings) && roundings > FEW_TERMS;
    target.most_terms += terms_each.max(1.0) * (terms.additions + 1.0);
}
