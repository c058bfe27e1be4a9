//! From `.file` and `.loc` to lines of the CUDA source (PTX ISA section 11.5, "Debugging Directives").

use std::collections::HashMap;
use std::sync::Arc;

use crate::frontend::syntax::ast::Position;
use crate::source_loc::SourceLoc;

/// Names of the `.file` directives.
#[derive(Debug, Default)]
pub struct Files(HashMap<u32, Arc<str>>);

impl Files {
    pub fn new(files: &[(u32, &str)]) -> Self {
        Self(files.iter().map(|&(number, name)| (number, Arc::from(name))).collect())
    }

    /// As in the `.file` directive.
    pub fn name(&self, number: u32) -> Option<&str> {
        self.0.get(&number).map(|name| &**name)
    }

    fn resolve(&self, at: Position) -> Option<SourceLoc> {
        let file = self.0.get(&at.file)?.clone();
        Some(SourceLoc { file, line: at.line, column: at.column })
    }
}

/// Follows the `.loc` directives of one function.
///
/// Where a function of another file was inlined (an atomic of CUDA's headers, say), the place that counts is the call in the
/// file that the function itself stands in: the innermost place of the chain that lies there. Line 0 means "no line of its
/// own" and leaves the last place in force.
#[derive(Debug)]
pub struct LineTracker<'f> {
    files: &'f Files,
    home: Option<u32>,
    inlined: HashMap<Position, Position>,
    now: Option<SourceLoc>,
    in_groups: bool,
}

impl<'f> LineTracker<'f> {
    pub fn new(files: &'f Files) -> Self {
        Self { files, home: None, inlined: HashMap::new(), now: None, in_groups: false }
    }

    /// Takes in a `.loc`.
    pub fn step(&mut self, at: Position, inlined_at: Option<Position>) {
        // The first `.loc` of a function is its head.
        let home = *self.home.get_or_insert(at.file);
        if at.line == 0 {
            return;
        }
        match inlined_at {
            Some(call) => self.inlined.insert(at, call),
            None => self.inlined.remove(&at),
        };
        let mut place = at;
        self.in_groups = false;
        // The chain cannot be longer than the map, unless it is a circle.
        for _ in 0..=self.inlined.len() {
            let name = self.files.name(place.file);
            self.in_groups |= name.is_some_and(|name| name.contains("cooperative_groups"));
            if place.file == home {
                self.now = self.files.resolve(place);
                return;
            }
            match self.inlined.get(&place) {
                Some(&call) => place = call,
                None => break,
            }
        }
        self.now = self.files.resolve(at);
    }

    /// Where the next instruction comes from.
    pub fn now(&self) -> Option<&SourceLoc> {
        self.now.as_ref()
    }

    /// Whether the next instruction belongs to the headers of cooperative groups, and not to what they are given to call.
    pub fn in_groups(&self) -> bool {
        self.in_groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(file: u32, line: u32) -> Position {
        Position { file, line, column: 3 }
    }

    #[test]
    fn inlined_headers_resolve_to_the_call() {
        let files = Files::new(&[(1, "a.cu"), (5, "cuda_bf16.hpp")]);
        let mut tracker = LineTracker::new(&files);
        let line =
            |tracker: &LineTracker| tracker.now().map(|loc| (loc.file.to_string(), loc.line));
        tracker.step(at(1, 10), None);
        tracker.step(at(5, 202), Some(at(1, 26)));
        tracker.step(at(5, 2932), Some(at(5, 202)));
        assert_eq!(line(&tracker), Some(("a.cu".into(), 26)));
        // A helper of the same file is the innermost place of the student's file.
        tracker.step(at(1, 4), Some(at(1, 30)));
        assert_eq!(line(&tracker), Some(("a.cu".into(), 4)));
        tracker.step(at(1, 0), None);
        assert_eq!(line(&tracker), Some(("a.cu".into(), 4)));
        assert!(!tracker.in_groups());
        // A circle ends.
        tracker.step(at(5, 1), Some(at(5, 2)));
        tracker.step(at(5, 2), Some(at(5, 1)));
        assert_eq!(line(&tracker), Some(("cuda_bf16.hpp".into(), 2)));
    }

    #[test]
    fn what_belongs_to_cooperative_groups() {
        let names = [(1, "a.cu"), (3, "cooperative_groups.h"), (7, "reduce.h")];
        let files = Files::new(&names);
        let mut tracker = LineTracker::new(&files);
        tracker.step(at(1, 10), None);
        assert!(!tracker.in_groups());
        tracker.step(at(3, 1270), Some(at(1, 26)));
        tracker.step(at(7, 284), Some(at(3, 1270)));
        assert!(tracker.in_groups());
        // A function of the kernel's file that the header calls is the kernel's.
        tracker.step(at(1, 5), Some(at(7, 284)));
        assert!(!tracker.in_groups());
    }
}
