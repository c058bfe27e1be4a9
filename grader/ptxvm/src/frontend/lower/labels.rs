//! Labels and their scopes. A label belongs to the braces around it, as in `ptxas`, so that the same inline assembly may
//! appear twice in a function.

use std::collections::HashMap;

use crate::isa::names::Pc;

/// The labels of a function.
#[derive(Default)]
pub(crate) struct Labels<'a> {
    places: HashMap<(usize, &'a str), Pc>,
    /// Of each pair of braces the one around it, itself for the function's.
    around: Vec<usize>,
    /// The innermost braces here.
    braces: usize,
}

impl<'a> Labels<'a> {
    pub fn open(&mut self) {
        if self.around.is_empty() {
            self.around.push(0);
        }
        self.around.push(self.braces);
        self.braces = self.around.len() - 1;
    }

    pub fn close(&mut self) {
        self.braces = self.around.get(self.braces).copied().unwrap_or(0);
    }

    /// The innermost braces, where a branch stands.
    pub fn here(&self) -> usize {
        self.braces
    }

    /// False if these braces have such a label already.
    pub fn define(&mut self, name: &'a str, place: Pc) -> bool {
        self.places.insert((self.braces, name), place).is_none()
    }

    /// The labels outside of any inner braces, with their places.
    pub fn outermost(&self) -> impl Iterator<Item = (&'a str, Pc)> {
        let outer = self.places.iter().filter(|((braces, _), _)| *braces == 0);
        outer.map(|(&(_, name), &place)| (name, place))
    }

    /// What a branch between some braces leads to.
    pub fn find(&self, mut braces: usize, name: &'a str) -> Option<Pc> {
        loop {
            if let Some(&place) = self.places.get(&(braces, name)) {
                return Some(place);
            }
            let around = self.around.get(braces).copied().unwrap_or(0);
            if around == braces {
                return None;
            }
            braces = around;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_braces_count() {
        let mut labels = Labels::default();
        assert!(labels.define("a", 1));
        assert!(!labels.define("a", 2));
        labels.open();
        let first = labels.here();
        assert!(labels.define("a", 3));
        labels.open();
        let inner = labels.here();
        assert!(labels.define("b", 4));
        labels.close();
        labels.close();
        labels.open();
        let second = labels.here();
        assert!(labels.define("c", 5));
        labels.close();
        assert_eq!(labels.find(inner, "a"), Some(3));
        assert_eq!(labels.find(inner, "b"), Some(4));
        assert_eq!(labels.find(first, "b"), None);
        assert_eq!(labels.find(second, "a"), Some(2));
        assert_eq!(labels.find(labels.here(), "c"), None);
        assert_eq!(labels.here(), 0);
        labels.close();
        assert_eq!(labels.here(), 0);
    }
}
