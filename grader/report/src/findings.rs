//! What the checkers saw, in the student's words, beside the line that did it.

mod barriers;
mod gates;
mod requirements;
mod warp;

use super::number::{count, list, pair};
use super::style::Style;
use super::terms::thread_text;
use cpptext::statements;
use device::finding::{Access, Finding, FindingKind, Place, SourceLine, Space};
use diagnostic::{Diagnostic, Mark, Severity, Source};
use puzzle::tensor::{DType, Tensor};
use std::ops::Range;
use std::path::Path;

/// An address below this comes from a null pointer and an index.
const NULL_PAGE: u64 = 0x1_0000;

/// All findings of a program, one after another.
pub fn page(findings: &[Finding], file: &Path, source: &str, style: Style) -> String {
    let one = |finding: &Finding| diagnostic(finding, file, source).render(style.colour) + "\n";
    findings.iter().map(one).collect()
}

/// Title, the source line where it is in the judged file, and help.
pub(super) fn diagnostic(finding: &Finding, file: &Path, source: &str) -> Diagnostic {
    let (words, label, mut help) = words(&finding.kind);
    let mut marks = Vec::new();
    let place =
        |line: &SourceLine| same_file(&line.file, file).then(|| span(source, line)).flatten();
    if let Some(line) = &finding.line {
        match place(line) {
            Some(span) => marks.push(Mark { span, label }),
            None => help.push(format!("at {}:{}", shown_file(&line.file), line.line)),
        }
    }
    if let Some((line, label)) = other_side(&finding.kind) {
        match place(line) {
            Some(span) if !marks.is_empty() => marks.push(Mark { span, label }),
            _ => help.push(format!("{label}: {}:{}", shown_file(&line.file), line.line)),
        }
    }
    if let Some(thread) = finding.thread {
        let others = match finding.count {
            0 | 1 => String::new(),
            n => format!("; {} more such at this line", n - 1),
        };
        help.push(format!("first in {} of {}{others}", thread_text(thread), finding.kernel));
    }
    let others = match finding.kind {
        FindingKind::NotRepeatable { .. } => Some("differ"),
        FindingKind::Unwritten { .. } => Some("were never written"),
        FindingKind::UnmetRequirement { .. } => Some("are not as they must be"),
        _ => None,
    };
    if let (Some(others), 2..) = (others, finding.count) {
        help.push(format!("{} {others}", count(finding.count as usize, "element")));
    }
    let source = (!marks.is_empty()).then(|| Source {
        path: file.to_path_buf(),
        text: source.to_owned(),
        marks,
    });
    Diagnostic { severity: Severity::Error, title: title(finding, words), source, help }
}

/// `block (0,0,0) thread (3,0,0) was still running after 20,000,000 instructions, at line 21`.
fn title(finding: &Finding, words: String) -> String {
    if !matches!(finding.kind, FindingKind::EndlessLoop { .. }) {
        return words;
    }
    let who = finding.thread.map_or_else(|| finding.kernel.clone(), thread_text);
    let place = finding.line.as_ref().map(|l| format!(", at line {}", l.line)).unwrap_or_default();
    format!("{who} was {words}{place}")
}

/// Title, label of the marked place, help.
fn words(kind: &FindingKind) -> (String, String, Vec<String>) {
    match kind {
        FindingKind::OutOfBounds { access, space: _, place: Some(place), .. } => (
            format!("out-of-bounds {} {} {}", noun(*access), preposition(*access), beyond(place)),
            String::new(),
            nearest(place),
        ),
        FindingKind::OutOfBounds { access, space, place: None, address } => {
            let null = *space == Space::Global && *address < NULL_PAGE;
            let title = format!(
                "out-of-bounds {} {} {}, at address {address:#x}",
                noun(*access),
                preposition(*access),
                space_name(*space)
            );
            let help = if null {
                "an address this small comes from a null pointer: is the pointer ever set?"
            } else if *space == Space::Global {
                "no tensor lies near this address: is the index far too large, or the pointer overwritten?"
            } else if *space == Space::Heap {
                "the allocation ends before this address, or begins behind it"
            } else {
                "the array ends before this address"
            };
            (title, String::new(), vec![help.into()])
        }
        FindingKind::Misaligned { access, space, size, place } => (
            format!("misaligned {} of {} bytes {}", noun(*access), size, whereabouts(*space, place.as_ref())),
            String::new(),
            vec![format!("{size} bytes at once need an address that is a multiple of {size}")],
        ),
        FindingKind::Uninitialised { space, place, offset } => uninitialised(*space, place.as_ref(), *offset),
        FindingKind::WriteToInput { place } => (
            format!("write to {}, which is an input", name(place)),
            String::new(),
            vec!["a kernel must leave its inputs as they are: is this the right pointer?".into()],
        ),
        FindingKind::InputChanged { place } => (
            format!("the input {} is not what it was before the launch", name(place)),
            String::new(),
            vec!["a kernel must leave its inputs as they are: does it store through the right pointer?".into()],
        ),
        FindingKind::SharedRace { access, other_access, offset, same_warp, .. } => (
            format!(
                "shared-memory race between (1) a {} and (2) a {} of byte {offset}",
                noun(*other_access),
                noun(*access)
            ),
            format!("(2) {} here", noun(*access)),
            vec![unordered(*access, *other_access, *same_warp).into()],
        ),
        FindingKind::GlobalRace { place, access, other_access, same_block, same_warp, .. } => (
            format!(
                "race between (1) a {} and (2) a {} of {}",
                noun(*other_access),
                noun(*access),
                place.as_ref().map_or_else(|| "a __device__ variable".to_owned(), name)
            ),
            format!("(2) {} here", noun(*access)),
            vec![if *same_block {
                unordered(*access, *other_access, *same_warp).into()
            } else {
                "nothing orders the two blocks here: add with atomicAdd, or let one block do it all; set to zero before the launch"
                    .into()
            }],
        ),
        FindingKind::BarrierDivergence { other_line } => (
            "__syncthreads() that only a part of the block reaches".into(),
            "some threads wait here".into(),
            vec![if other_line.is_none() {
                "the other threads have returned: all of a block must reach every __syncthreads()".into()
            } else {
                "all threads of a block must reach the same __syncthreads()".into()
            }],
        ),
        FindingKind::InvalidMembers { named, here } => (
            "a member mask that does not fit the threads that take part".into(),
            "all threads that the mask names must come here together".into(),
            vec![
                format!("the mask names the lanes {}, here are {}", lanes(*named), lanes(*here)),
                "call it where the whole warp comes along, or make the mask before the branch: __ballot_sync(0xffffffff, condition)".into(),
            ],
        ),
        FindingKind::PartOfWarp { .. } | FindingKind::UnevenOperands | FindingKind::CopyInFlight { .. } => {
            warp::words(kind)
        }
        FindingKind::BarrierObject { misuse, offset } => barriers::words(misuse, *offset),
        FindingKind::Host(fault) => super::host::words(fault),
        FindingKind::NotRepeatable { place, values } => not_repeatable(place, *values),
        FindingKind::Unwritten { .. }
        | FindingKind::UnmetRequirement { .. }
        | FindingKind::NotMeasurable { .. } => requirements::words(kind),
        FindingKind::OverGate { .. } => gates::words(kind),
        FindingKind::EndlessLoop { instructions } => (
            // The thread is part of the sentence: see `title`.
            format!("still running after {} instructions", thousands(*instructions)),
            "was here".into(),
            vec!["does the loop's variable move towards its end in every case?".into()],
        ),
        FindingKind::TimeOut { seconds } => (
            format!("the kernel was still running after {seconds} s and was stopped"),
            String::new(),
            vec!["a loop that never ends is likely; `--backend vm` shows the line".into()],
        ),
        FindingKind::UseAfterFree { access } => (
            format!("{} {} memory that was freed", noun(*access), preposition(*access)),
            String::new(),
            vec!["free it only after the last thread is done with it: a __syncthreads() may be missing".into()],
        ),
        FindingKind::InvalidFree { again } => (
            if *again { "memory that is freed a second time" } else { "free of what malloc did not give" }
                .into(),
            String::new(),
            vec![if *again {
                "every allocation is freed once: by one thread, if the block shares it"
            } else {
                "free takes the very pointer that malloc or new gave, or a null pointer"
            }
            .into()],
        ),
        FindingKind::StackOverflow { limit } => (
            "the recursion is too deep".into(),
            "the call that did not fit".into(),
            vec![
                format!("the stack of a thread has {} bytes", thousands(u64::from(*limit))),
                "does every chain of calls come to an end?".into(),
            ],
        ),
        FindingKind::InvalidCall { address } => (
            format!("call through a pointer that leads to no function ({address:#x})"),
            String::new(),
            vec![if *address == 0 {
                "the pointer is null: is it ever set?"
            } else {
                "is it set, and by code of the device? an address of the host is none here"
            }
            .into()],
        ),
        FindingKind::GridSync => (
            "the kernel waits for all blocks of the grid in a launch that is not cooperative".into(),
            String::new(),
            vec!["this_grid().sync() needs a cooperative launch: the puzzle does not make one".into()],
        ),
        FindingKind::Trap { message } => (
            match message {
                Some(message) => format!("assertion failed: {message}"),
                None => "the kernel stopped itself with a trap".into(),
            },
            String::new(),
            Vec::new(),
        ),
        FindingKind::GuardOverwritten { place } => (
            format!("out-of-bounds write to {}", beyond(place)),
            String::new(),
            [nearest(place), vec!["`--backend vm` shows the line".into()]].concat(),
        ),
        FindingKind::Driver { code, meaning } => {
            (format!("the GPU's driver stopped the kernel: {meaning}"), String::new(), vec![code.clone()])
        }
        FindingKind::Grader { message } => (
            format!("the grader contradicts itself: {message}"),
            String::new(),
            vec!["this is a mistake of the grader, not yours: please report it".into()],
        ),
    }
}

fn not_repeatable(place: &Place, [first, other]: [f64; 2]) -> (String, String, Vec<String>) {
    let (first, other) = if first == other {
        (format!("{first:?}"), format!("{other:?}")) // 0 and -0
    } else {
        pair(first, other)
    };
    let title = format!(
        "{} was {first} after one run and {other} after another, on the same data",
        name(place)
    );
    let help = [
        "the bits must be the same at every run, whatever order blocks and warps run in",
        "atomic additions of floats come in any order, and each order rounds otherwise: let one thread add them in a fixed order",
    ];
    (title, String::new(), help.map(str::to_owned).to_vec())
}

fn uninitialised(
    space: Space,
    place: Option<&Place>,
    offset: i64,
) -> (String, String, Vec<String>) {
    let (what, help) = match (place, space) {
        (Some(place), _) => (
            name(place),
            "an output holds nothing before the kernel stores to it: start from a variable set to 0",
        ),
        (None, Space::Shared) => (
            format!("byte {offset} of shared memory"),
            "shared memory starts undefined: has a thread stored here, with a __syncthreads() after it?",
        ),
        (None, _) => (
            format!("byte {offset} of {}", space_name(space)),
            "a variable or array is read before it is set",
        ),
    };
    (format!("read of {what}, which nothing has written"), String::new(), vec![help.into()])
}

/// What is missing between two accesses of one block.
fn unordered(access: Access, other: Access, same_warp: bool) -> &'static str {
    match (same_warp, access == Access::Write && other == Access::Write) {
        (false, _) => "no __syncthreads() lies between the two: their order is chance",
        (true, false) => {
            "the threads of a warp need not run in step: put a __syncwarp() or __syncthreads() between the two"
        }
        (true, true) => {
            "which of the two values stays is chance, within a warp, too: let one thread write, or put a __syncwarp() or __syncthreads() between"
        }
    }
}

/// The second line of a finding with two sides.
fn other_side(kind: &FindingKind) -> Option<(&SourceLine, String)> {
    match kind {
        FindingKind::SharedRace { other_line: Some(line), other_access, other_thread, .. }
        | FindingKind::GlobalRace { other_line: Some(line), other_access, other_thread, .. } => {
            let by = other_thread.map(|t| format!(" by {}", thread_text(t))).unwrap_or_default();
            Some((line, format!("(1) {} here{by}", noun(*other_access))))
        }
        FindingKind::BarrierDivergence { other_line: Some(line) } => {
            Some((line, "the other threads are here".into()))
        }
        _ => warp::other_side(kind).or_else(|| barriers::other_side(kind)),
    }
}

/// "0-15, 20" of a mask.
fn lanes(mask: u32) -> String {
    let mut parts = Vec::new();
    let mut lane = 0;
    while lane < 32 {
        let run = (mask >> lane).trailing_ones();
        match run {
            0 => lane += 1,
            1 => parts.push(lane.to_string()),
            _ => parts.push(format!("{lane}-{}", lane + run - 1)),
        }
        lane += run;
    }
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

fn noun(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Atomic => "atomic update",
    }
}

fn preposition(access: Access) -> &'static str {
    if access == Access::Write { "to" } else { "of" }
}

fn space_name(space: Space) -> &'static str {
    match space {
        Space::Global => "global memory",
        Space::Shared => "shared memory",
        Space::Local => "a thread's local memory",
        Space::Heap => "memory from malloc",
        Space::Constant => "constant memory",
    }
}

fn whereabouts(space: Space, place: Option<&Place>) -> String {
    match place {
        Some(place) => format!("at {}", name(place)),
        None => format!("in {}", space_name(space)),
    }
}

fn tensor(place: &Place) -> Tensor {
    Tensor { name: place.tensor.clone(), dtype: DType::F32, shape: place.shape.clone() }
}

/// `filters[0, 0, 2, 2]`, or counted from the start where that lies outside.
fn name(place: &Place) -> String {
    let tensor = tensor(place);
    match usize::try_from(place.flat) {
        Ok(flat) if flat < tensor.len() => tensor.element_name(flat),
        _ => format!("{}[{}]", place.tensor, place.flat),
    }
}

/// `filters: element 12, 4 past the last one`.
fn beyond(place: &Place) -> String {
    let len = tensor(place).len() as i64;
    let Place { tensor, flat, .. } = place;
    if *flat < 0 {
        format!("{tensor}, {} before its first element", flat.unsigned_abs())
    } else {
        format!("{tensor}, {} past its last element", (flat - len + 1).max(0))
    }
}

/// How large the tensor is, and which of its elements lies nearest.
fn nearest(place: &Place) -> Vec<String> {
    let tensor = tensor(place);
    let len = count(tensor.len(), "element");
    let mut help = vec![format!("{} has {len}, shape {}", tensor.name, list(&tensor.shape))];
    if !tensor.is_empty() {
        let (which, at) = if place.flat < 0 { ("first", 0) } else { ("last", tensor.len() - 1) };
        let name = tensor.element_name(at);
        help.push(format!("the {which} is number {at}, {name}; this is number {}", place.flat));
    }
    help
}

fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Compilers see other paths than people do: the file's name decides.
fn same_file(seen: &str, judged: &Path) -> bool {
    Path::new(seen).file_name() == judged.file_name()
}

fn shown_file(seen: &str) -> String {
    let name = Path::new(seen).file_name();
    name.map_or_else(|| seen.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// From the column to the end of the expression that starts there. The whole line where the column is unknown.
fn span(source: &str, place: &SourceLine) -> Option<Range<usize>> {
    let index = (place.line as usize).checked_sub(1)?;
    let line = source.split_inclusive('\n').nth(index)?;
    let start: usize = source.split_inclusive('\n').take(index).map(str::len).sum();
    let code = statements::without_comment(line).trim_end().trim_end_matches(';');
    let column = (place.column as usize)
        .checked_sub(1)
        .filter(|&column| code.is_char_boundary(column) && column < code.len());
    let Some(column) = column else {
        let text = line.trim_end();
        let indent = text.len() - text.trim_start().len();
        return Some(start + indent..start + text.len());
    };
    Some(start + column..start + column + statements::expression(&code[column..]))
}

#[cfg(test)]
mod tests;
