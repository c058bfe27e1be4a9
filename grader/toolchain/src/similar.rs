//! "Did you mean ...?"

/// The candidate nearest to a misspelt word, if one is near enough to be meant: at most a third of the letters differ,
/// and of a single letter only the case.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = match word.chars().count() {
        0 | 1 => 0,
        letters => (letters / 3).max(1),
    };
    candidates
        .into_iter()
        .filter(|c| *c != word)
        .map(|c| (distance(word, c), c))
        .filter(|(d, c)| *d <= limit && *d < c.chars().count())
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// Letters to insert, drop, replace, or swap with their neighbour. Upper and lower case differ by nothing.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, d) in [
            ("", "", 0),
            ("row", "rwo", 1),
            ("idx", "ix", 1),
            ("kitten", "sitting", 3),
            ("X", "x", 0),
        ] {
            assert_eq!(distance(a, b), d, "{a} {b}");
        }
    }

    #[test]
    fn only_what_is_near_is_suggested() {
        assert_eq!(nearest("blockidx", ["blockDim", "blockIdx"]), Some("blockIdx"));
        assert_eq!(nearest("cuont", ["count", "c"]), Some("count"));
        assert_eq!(nearest("i", ["in", "j", "I"]), Some("I"));
        assert_eq!(nearest("sum", ["conv2d"]), None);
    }
}
