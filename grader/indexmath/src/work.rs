//! How much an evaluation takes, before it is done.

use crate::concrete::Concrete;

/// What an evaluation takes, at most. Saturates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Iterations of all loops.
    pub steps: u64,
    /// Elements of all intermediate results, those of sums inside of products among them.
    pub elements: u64,
}

impl Concrete {
    /// The work of [`Self::evaluate`] for `wanted`; names that the formula does not know cost nothing.
    pub fn work(&self, wanted: &[&str]) -> Work {
        let mut needed = vec![false; self.lowered.tensors.len()];
        for name in wanted {
            if let Some(&id) = self.lowered.by_name.get(*name) {
                needed[id] = true;
            }
        }
        let product = |loops: &[usize]| {
            let ranges = loops.iter().map(|&index| self.lowered.ranges[index] as u64);
            ranges.fold(1_u64, u64::saturating_mul)
        };
        let mut work = Work { steps: 0, elements: 0 };
        for nests in self.lowered.statements.iter().rev() {
            if !needed[nests.target] {
                continue;
            }
            for &id in &nests.reads {
                needed[id] = true;
            }
            work.elements =
                work.elements.saturating_add(self.lowered.tensors[nests.target].len as u64);
            for part in &nests.parts {
                for nest in &part.nests {
                    work.steps = work.steps.saturating_add(product(&nest.loops));
                }
                for axes in &part.temporaries {
                    work.elements = work.elements.saturating_add(product(axes));
                }
            }
        }
        work
    }
}

#[cfg(test)]
mod tests {
    use super::Work;
    use crate::{Dims, Formula, TensorType};
    use std::collections::BTreeMap;

    #[test]
    fn counts_loops_and_intermediate_results_of_what_is_needed() {
        let types = [("x", "f32[N, K]"), ("w", "f32[K]"), ("y", "f32[N]"), ("z", "f32[N]")];
        let types: BTreeMap<String, TensorType> = types
            .iter()
            .map(|(name, text)| ((*name).to_owned(), TensorType::parse(text).unwrap()))
            .collect();
        let text = "y[i] = sum[k] x[i,k] * w[k]; z[i] = y[i] * (sum[k] x[i,k])";
        let formula = Formula::parse(text, &types).unwrap();
        let dims = Dims::from([("N".to_owned(), 5), ("K".to_owned(), 7)]);
        let concrete = formula.at(&dims).unwrap();
        assert_eq!(concrete.work(&["y"]), Work { steps: 35, elements: 5 });
        assert_eq!(concrete.work(&["z"]), Work { steps: 35 + 35 + 5, elements: 5 + 5 + 5 });
        assert_eq!(concrete.work(&["x", "nothing"]), Work { steps: 0, elements: 0 });
    }
}
