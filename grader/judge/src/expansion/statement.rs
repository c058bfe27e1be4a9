//! Statements of a kernel file: the compiler names one of their lines.

use std::ops::RangeInclusive;

/// Lines of a statement at most.
const MAX_LINES: usize = 12;

/// First and last line (1-based) of the statement, or the head of a loop or condition, that a line belongs to.
pub fn statement(source: &str, line: u32) -> RangeInclusive<u32> {
    let lines: Vec<&str> = source.lines().map(code).collect();
    let Some(index) = (line as usize).checked_sub(1).filter(|&index| index < lines.len()) else {
        return line..=line;
    };
    let mut first = index;
    while first > 0 && index - first < MAX_LINES && !ends(lines[first - 1]) {
        first -= 1;
    }
    let mut last = index;
    while last + 1 < lines.len() && last - index < MAX_LINES && !ends(lines[last]) {
        last += 1;
    }
    first as u32 + 1..=last as u32 + 1
}

/// Without its comment and the blanks around.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default().trim()
}

/// The next line begins something else: after a statement, a brace, a label, a directive, the head of a loop.
fn ends(line: &str) -> bool {
    let head =
        ["for ", "for(", "if ", "if(", "while ", "while("].iter().any(|w| line.starts_with(w));
    let closed = line.matches('(').count() == line.matches(')').count();
    line.is_empty()
        || line.ends_with([';', '{', '}', ':'])
        || line.starts_with('#')
        || (head && closed && line.ends_with(')'))
        || line == "else"
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "float sum = 0;\nfor (int k = 0; k < K; k++)\n    sum += a[k] // first\n         \
                          * b[k];\n// done\nif (i < n &&\n    j < n) out[i] = sum;\nelse\n    out[j] = 0;";

    #[test]
    fn statements_reach_over_lines() {
        let ranges: Vec<_> = (1..=9).map(|line| statement(SOURCE, line)).collect();
        assert_eq!(ranges, [1..=1, 2..=2, 3..=4, 3..=4, 5..=5, 6..=7, 6..=7, 8..=8, 9..=9]);
        assert_eq!(statement(SOURCE, 40), 40..=40);
    }
}
