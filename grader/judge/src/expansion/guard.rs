//! The condition that keeps a thread from its store: a guard that lets too few threads through.

use super::locate::launch_of;
use super::source::{Declared, Kernel, evaluate};
use cpptext::statements::code;
use cpptext::tokens::words;
use device::finding::{SourceLoc, ThreadId};
use indexmath::Dims;
use puzzle::case::Case;
use puzzle::tensor::Tensor;

/// Threads of a launch that are looked through for the one that would store an element.
const MOST_THREADS: u64 = 1 << 12;

/// The condition by which the thread that would store element `flat` does not come to the store at `stored`. `written` are elements that were
/// stored there, with their threads: what the text gives for them must be so. `None` where the text does not tell.
pub fn guard(
    source: &str,
    case: &Case,
    (tensor, flat): (&Tensor, usize),
    stored: &SourceLoc,
    written: &[(ThreadId, usize)],
) -> Option<SourceLoc> {
    let launch = launch_of(case, source, stored.line)?;
    let of =
        |thread| Kernel::new(source, stored.line, &case.dims, thread, launch.block, launch.grid);
    let text = of(ThreadId { block: [0; 3], thread: [0; 3] }).statement(stored.line);
    let target = text.split_once('=')?.0;
    let subscript = target.split_once('[')?.1.rsplit_once(']')?.0;
    let place = |kernel: &Kernel| usize::try_from(evaluate(subscript, &kernel.known)?).ok();
    let writers: Vec<Kernel> = written.iter().map(|(thread, _)| of(*thread)).collect();
    let agree = writers.iter().zip(written).all(|(kernel, (_, flat))| place(kernel) == Some(*flat));
    if written.is_empty() || !agree {
        return None;
    }
    let is_its = |kernel: &Kernel| {
        place(kernel) == Some(flat) && has_coordinates(kernel, subscript, tensor, flat)
    };
    let missing = threads(launch.grid, launch.block).map(of).find(is_its)?;
    let head = source.lines().take(stored.line as usize);
    let head = head.collect::<Vec<_>>().iter().rposition(|line| line.contains("__global__"))?;
    let is_kept = |line: u32, kernel: &Kernel| match condition(kernel.line(line), &kernel.known)? {
        Condition::ToLeave(holds) => Some(holds),
        Condition::ToGoOn(holds) => (line == stored.line).then_some(!holds),
    };
    let line = (head as u32 + 1..=stored.line).find(|&line| {
        is_kept(line, &missing) == Some(true)
            && writers.iter().all(|kernel| is_kept(line, kernel) == Some(false))
    })?;
    Some(SourceLoc { file: stored.file.clone(), line, column: 0 })
}

/// Whether a thread has the coordinates of an element, and not others that lead to the same place: past the end of a row is the next one,
/// and a guard keeps such a thread back with good reason.
fn has_coordinates(kernel: &Kernel, subscript: &str, tensor: &Tensor, flat: usize) -> bool {
    let is_used = |declared: &&Declared| {
        !declared.inner && words(subscript).any(|word| word == declared.name)
    };
    let used: Vec<&Declared> = kernel.declared.iter().filter(is_used).collect();
    let is = |declared: &Declared, value: usize| declared.value == i64::try_from(value).ok();
    if let [number] = used[..] {
        return is(number, flat);
    }
    let step = |declared: &Declared| {
        let mut next = kernel.known.clone();
        *next.get_mut(&declared.name)? += 1;
        Some(evaluate(subscript, &next)? - evaluate(subscript, &kernel.known)?)
    };
    let mut stride = tensor.len();
    let mut axes = tensor.shape.iter().zip(tensor.coords(flat));
    axes.all(|(&size, coord)| {
        stride /= size.max(1);
        let goes = |declared: &Declared| step(declared) == i64::try_from(stride).ok();
        size == 1 || used.iter().any(|declared| is(declared, coord) && goes(declared))
    })
}

/// The threads of a launch, block by block; none of a large one.
fn threads(grid: [u32; 3], block: [u32; 3]) -> impl Iterator<Item = ThreadId> {
    let count = |[x, y, z]: [u32; 3]| u64::from(x) * u64::from(y) * u64::from(z);
    let (blocks, in_block) = (count(grid), count(block));
    let all = blocks.saturating_mul(in_block);
    let coords = |number: u64, [x, y, _]: [u32; 3]| {
        let (x, y) = (u64::from(x), u64::from(y));
        [number % x, number / x % y, number / (x * y)].map(|coord| coord as u32)
    };
    (0..if all <= MOST_THREADS { all } else { 0 }).map(move |number| ThreadId {
        block: coords(number / in_block, grid),
        thread: coords(number % in_block, block),
    })
}

/// A condition of a thread, and whether it holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Condition {
    /// Where it holds, the thread returns.
    ToLeave(bool),
    /// Where it holds, the thread does what stands in the same line.
    ToGoOn(bool),
}

/// The condition at the beginning of a line.
fn condition(line: &str, known: &Dims) -> Option<Condition> {
    let rest = code(line).strip_prefix("if")?.trim_start().strip_prefix('(')?;
    let mut depth = 1;
    let end = rest.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    })?;
    let holds = all_hold(&rest[..end], known)?;
    let then = rest[end + 1..].trim();
    let leaves = then.starts_with("return");
    Some(if leaves { Condition::ToLeave(holds) } else { Condition::ToGoOn(holds) })
}

/// Whether a condition holds, made of comparisons that are joined by `||` or by `&&`, without brackets around them.
fn all_hold(text: &str, known: &Dims) -> Option<bool> {
    let each = |separator: &str| -> Option<Vec<bool>> {
        text.split(separator).map(|part| comparison(part, known)).collect()
    };
    match (text.contains("||"), text.contains("&&")) {
        (true, true) => None,
        (true, false) => Some(each("||")?.contains(&true)),
        (false, _) => Some(!each("&&")?.contains(&false)),
    }
}

/// Whether a comparison of integers holds.
fn comparison(text: &str, known: &Dims) -> Option<bool> {
    let operators = [">=", "<=", "==", "!=", ">", "<"];
    let operator = operators.into_iter().find(|operator| text.contains(operator))?;
    let (left, right) = text.split_once(operator)?;
    let (left, right) = (evaluate(left.trim(), known)?, evaluate(right.trim(), known)?);
    Some(match operator {
        ">=" => left >= right,
        "<=" => left <= right,
        "==" => left == right,
        "!=" => left != right,
        ">" => left > right,
        _ => left < right,
    })
}

#[cfg(test)]
mod tests {
    use super::Condition::{ToGoOn, ToLeave};
    use super::*;
    use puzzle::tensor::DType;

    #[test]
    fn conditions_that_keep_a_thread_from_going_on() {
        let known = Dims::from([("i".to_owned(), 4), ("N".to_owned(), 8), ("M".to_owned(), 3)]);
        for (line, found) in [
            ("    if (i >= N / 2) return; // the rest", Some(ToLeave(true))),
            ("if (i >= N) return;", Some(ToLeave(false))),
            ("if (i >= M || i >= N) return;", Some(ToLeave(true))),
            ("if (i < N && i < M) y[i] = 1;", Some(ToGoOn(false))),
            ("if (i < (N - 1)) y[i] = 1;", Some(ToGoOn(true))),
            ("if (i == k) return;", None),
            ("if (x[i] > 0) return;", None),
            ("if (i < N && i < M || i == 4) return;", None),
            ("y[i] = 1;", None),
        ] {
            assert_eq!(condition(line, &known), found, "{line}");
        }
    }

    #[test]
    fn a_thread_past_the_end_of_a_row_is_not_that_of_the_next_one() {
        let source = "__global__ void k(float* y, int M, int N) {
    int row = threadIdx.y;
    int col = threadIdx.x;
    y[row * N + col] = 1;
}";
        let tensor = Tensor { name: "y".into(), dtype: DType::F32, shape: vec![3, 4] };
        let has = |x: u32, y: u32, subscript: &str, flat: usize| {
            let dims = Dims::from([("M".to_owned(), 3), ("N".to_owned(), 4)]);
            let thread = ThreadId { block: [0; 3], thread: [x, y, 0] };
            let kernel = Kernel::new(source, 4, &dims, thread, [16, 4, 1], [1; 3]);
            has_coordinates(&kernel, subscript, &tensor, flat)
        };
        assert!(has(1, 2, "row * N + col", 9));
        assert!(!has(5, 1, "row * N + col", 9) && !has(9, 0, "row * N + col", 9));
        assert!(has(9, 0, "col", 9) && !has(8, 0, "col", 9));
    }

    #[test]
    fn the_threads_of_a_launch_are_counted_block_by_block() {
        let all: Vec<ThreadId> = threads([2, 1, 1], [2, 2, 1]).collect();
        assert_eq!(all.len(), 8);
        assert_eq!(all[5], ThreadId { block: [1, 0, 0], thread: [1, 0, 0] });
        assert_eq!(all[2], ThreadId { block: [0; 3], thread: [0, 1, 0] });
        assert_eq!(threads([1 << 20, 1, 1], [256, 1, 1]).count(), 0);
    }
}
