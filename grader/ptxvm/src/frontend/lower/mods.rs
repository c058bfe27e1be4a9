//! The modifiers of an opcode, taken one by one, so that none is silently ignored.

use crate::isa::types::Type;

/// `add.rn.ftz.f32` as `add` and the rest.
pub struct Mods<'a> {
    pub base: &'a str,
    rest: Vec<&'a str>,
}

impl<'a> Mods<'a> {
    pub fn new(opcode: &'a str) -> Self {
        let mut parts = opcode.split('.');
        Self { base: parts.next().unwrap_or(""), rest: parts.collect() }
    }

    /// Whether a modifier is there; it stays.
    pub fn has(&self, name: &str) -> bool {
        self.rest.contains(&name)
    }

    /// Takes a modifier away if it is there.
    pub fn take(&mut self, name: &str) -> bool {
        let found = self.rest.iter().position(|part| *part == name);
        if let Some(index) = found {
            self.rest.remove(index);
        }
        found.is_some()
    }

    /// Takes the first of some modifiers that is there.
    pub fn take_any(&mut self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| self.take(name))
    }

    /// Takes what `parse` knows, the last such modifier first.
    pub fn take_last<T>(&mut self, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let index = self.rest.iter().rposition(|part| parse(part).is_some())?;
        parse(self.rest.remove(index))
    }

    /// Takes the last type.
    pub fn ty(&mut self) -> Option<Type> {
        self.take_last(Type::parse)
    }

    /// The last type, which stays.
    pub fn peek_type(&self) -> Option<Type> {
        self.rest.iter().rev().find_map(|part| Type::parse(part))
    }

    /// Takes modifiers that change nothing here.
    pub fn drop_all(&mut self, names: &[&str]) {
        self.rest.retain(|part| !names.contains(part));
    }

    /// Drops modifiers that begin with a prefix (`L1::evict_last`).
    pub fn drop_prefixed(&mut self, prefixes: &[&str]) {
        self.rest.retain(|part| !prefixes.iter().any(|prefix| part.starts_with(prefix)));
    }

    /// What nobody took.
    pub fn left(&self) -> Option<&'a str> {
        self.rest.first().copied()
    }
}
