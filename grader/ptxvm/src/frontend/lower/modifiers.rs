//! The modifiers of an opcode, taken one by one, so that none is silently ignored.

use crate::isa::types::Type;
use crate::isa::window::Window;

/// `add.rn.ftz.f32` as `add` and the rest.
#[derive(Clone)]
pub struct Modifiers<'a> {
    pub base: &'a str,
    rest: Vec<Component<'a>>,
}

/// What stands between two dots of an opcode.
#[derive(Clone, Copy)]
pub struct Component<'a> {
    pub text: &'a str,
    /// The type that it names, if it is no modifier.
    pub ty: Option<Type>,
}

impl<'a> Modifiers<'a> {
    pub fn new(opcode: &'a str) -> Self {
        let mut parts = opcode.split('.');
        let base = parts.next().unwrap_or("");
        Self { base, rest: parts.map(|text| Component { text, ty: Type::parse(text) }).collect() }
    }

    /// All that is still there, in order.
    pub fn parts(&self) -> &[Component<'a>] {
        &self.rest
    }

    /// Whether a modifier is there; it stays.
    pub fn has(&self, name: &str) -> bool {
        self.rest.iter().any(|part| part.text == name)
    }

    /// Takes a modifier away if it is there.
    pub fn take(&mut self, name: &str) -> bool {
        let found = self.rest.iter().position(|part| part.text == name);
        if let Some(index) = found {
            self.rest.remove(index);
        }
        found.is_some()
    }

    /// Takes the first of some modifiers that is there.
    pub fn take_any(&mut self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| self.take(name))
    }

    /// Takes an address space.
    pub fn space(&mut self) -> Option<Window> {
        let spaces = ["global", "shared", "shared::cta", "local", "const", "param"];
        Some(match self.take_any(&spaces)? {
            "global" => Window::Global,
            "local" => Window::Local,
            "const" => Window::Const,
            "param" => Window::Param,
            _ => Window::Shared,
        })
    }

    /// Takes what `parse` knows, the last such modifier first.
    pub fn take_last<T>(&mut self, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let index = self.rest.iter().rposition(|part| parse(part.text).is_some())?;
        parse(self.rest.remove(index).text)
    }

    /// Takes the last type.
    pub fn ty(&mut self) -> Option<Type> {
        let index = self.rest.iter().rposition(|part| part.ty.is_some())?;
        self.rest.remove(index).ty
    }

    /// The last type, which stays.
    pub fn last_type(&self) -> Option<Type> {
        self.rest.iter().rev().find_map(|part| part.ty)
    }

    /// The same with a type in place of a modifier.
    pub fn with_type(&self, name: &str, ty: Type) -> Self {
        let mut other = self.clone();
        for part in other.rest.iter_mut().filter(|part| part.text == name) {
            part.ty = Some(ty);
        }
        other
    }

    /// Takes modifiers that change nothing here.
    pub fn drop_all(&mut self, names: &[&str]) {
        self.rest.retain(|part| !names.contains(&part.text));
    }

    /// Drops modifiers that begin with a prefix (`L1::evict_last`).
    pub fn drop_prefixed(&mut self, prefixes: &[&str]) {
        self.rest.retain(|part| !prefixes.iter().any(|prefix| part.text.starts_with(prefix)));
    }

    /// A modifier that no lowering function has taken; it is refused.
    pub fn left(&self) -> Option<&'a str> {
        self.rest.first().map(|part| part.text)
    }
}
