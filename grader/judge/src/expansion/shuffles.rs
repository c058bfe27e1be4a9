//! Sums that lanes pass to each other.

use device::finding::SourceLoc;
use device::provenance::{KernelSum, KernelTerm};

/// The sum, where no product has the line of a shuffle. A lane that has a single product adds it to nothing before it passes it on, so the
/// first addition is the shuffle's, which is the same for all products: what belongs to this one is the line that loaded it.
pub fn with_own_lines(mut sum: KernelSum, source: &str) -> KernelSum {
    let shuffles = |line: &SourceLoc| {
        let text = source.lines().nth((line.line as usize).saturating_sub(1));
        text.is_some_and(|text| text.contains("shfl"))
    };
    for KernelTerm { line, factors, .. } in &mut sum.terms {
        if line.as_ref().is_some_and(shuffles) {
            let loaded = factors.iter().rev().find_map(|factor| factor.line.clone());
            *line = loaded.or(line.take());
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::finding::ThreadId;
    use device::provenance::{Factor, KernelFactor};

    #[test]
    fn a_product_has_the_line_that_loaded_it_and_not_that_of_the_shuffle() {
        let source = "sum += x[i];\nsum += __shfl_down_sync(~0u, sum, 1);\nif (!t) y[0] = sum;\n";
        let at = |line| Some(SourceLoc { file: "k.cu".into(), line, column: 5 });
        let factor = Factor::Function("f".into());
        let term = |added, loaded: &[u32]| KernelTerm {
            coefficient: 1.0,
            factors: loaded
                .iter()
                .map(|&line| KernelFactor { factor: factor.clone(), line: at(line) })
                .collect(),
            line: at(added),
            scaled: None,
        };
        let sum = KernelSum {
            line: at(3),
            writer: ThreadId { block: [0; 3], thread: [0; 3] },
            terms: vec![term(1, &[1]), term(2, &[1]), term(2, &[])],
            general: true,
            overwrote: false,
            one_block: false,
        };
        let lines =
            with_own_lines(sum, source).terms.into_iter().map(|term| term.line.unwrap().line);
        assert_eq!(lines.collect::<Vec<_>>(), [1, 1, 2]);
    }
}
