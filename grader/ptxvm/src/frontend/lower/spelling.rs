//! Parses the notation of the instruction table, which says how an instruction is written in PTX: see
//! [`crate::isa::opcodes`].

use super::modifiers::{Component, Modifiers};
use crate::isa::types::Type;

/// A set of types, a bit for each.
type Types = u32;

/// One way to write an instruction.
#[derive(Debug)]
pub(super) struct Spelling {
    opcode: &'static str,
    modifiers: Vec<Choice>,
    /// What each type of the opcode may be, in order.
    types: Vec<Types>,
    /// Anything may follow the modifiers, which stand in this order.
    open: bool,
    sources: Option<Vec<Source>>,
}

/// Modifiers of which an opcode has at most one.
#[derive(Debug)]
struct Choice {
    words: Vec<&'static str>,
    required: bool,
}

/// What a spelling says of a source operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Source {
    /// The type; `None` for that of the instruction.
    pub ty: Option<Type>,
    /// The operation takes its negative.
    pub negated: bool,
}

impl Spelling {
    /// The opcodes that a text of the table begins with, `fma` and `mad` of `fma|mad.rn.f32`, each with the spelling of what
    /// follows.
    pub fn parse(text: &'static str) -> impl Iterator<Item = (&'static str, Self)> {
        let opcode = text.split(' ').next().unwrap_or_default();
        let bases = &opcode[..opcode.find(['.', '{']).unwrap_or(opcode.len())];
        bases.split('|').map(move |base| (base, Self::parse_one(text)))
    }

    fn parse_one(text: &'static str) -> Self {
        let (opcode, sources) = match text.split_once(' ') {
            Some((opcode, sources)) => (opcode, Some(sources.split(' ').map(source).collect())),
            None => (text, None),
        };
        let (parts, open) = match opcode.strip_suffix("..") {
            Some(parts) => (parts, true),
            None => (opcode, false),
        };
        let mut spelling = Self { opcode, modifiers: Vec::new(), types: Vec::new(), open, sources };
        for part in parts.split('.').skip(1) {
            // `{.rn}` leaves its braces at the ends of its neighbours.
            let words = part.trim_end_matches('{');
            let required = !words.ends_with('}');
            let words = words.trim_end_matches('}');
            match types(words) {
                0 => {
                    let words = words.split('|').collect();
                    spelling.modifiers.push(Choice { words, required });
                }
                types => spelling.types.push(types),
            }
        }
        spelling
    }

    /// As it stands in the table, without the sources.
    pub fn opcode(&self) -> &'static str {
        self.opcode
    }

    /// Whether an opcode is written like this.
    pub fn accepts(&self, modifiers: &Modifiers) -> bool {
        let parts = modifiers.parts();
        if self.open {
            let first = parts.iter().zip(&self.modifiers);
            return parts.len() >= self.modifiers.len()
                && first.into_iter().all(|(part, choice)| choice.words.contains(&part.text));
        }
        let mut seen = 0u32;
        for part in parts.iter().filter(|part| part.ty.is_none()) {
            let mentions = |choice: &Choice| choice.words.contains(&part.text);
            let Some(index) = self.modifiers.iter().position(mentions) else { return false };
            if seen >> index & 1 == 1 {
                return false;
            }
            seen |= 1 << index;
        }
        let mut choices = self.modifiers.iter().zip(0..);
        self.accepts_types(modifiers)
            && choices.all(|(choice, index)| !choice.required || seen >> index & 1 == 1)
    }

    /// Whether the types alone fit.
    pub fn accepts_types(&self, modifiers: &Modifiers) -> bool {
        let mut types = self.types.iter();
        let given = modifiers.parts().iter().filter_map(|part| part.ty);
        self.open
            || given.into_iter().all(|ty| types.next().is_some_and(|all| all & bit(ty) != 0))
                && types.next().is_none()
    }

    /// Whether any opcode that is written like this has this modifier.
    pub fn mentions(&self, part: &Component) -> bool {
        self.modifiers.iter().any(|choice| choice.words.contains(&part.text))
    }

    /// Whether every opcode that is written like this has this modifier.
    pub fn requires(&self, modifier: &str) -> bool {
        self.modifiers.iter().any(|choice| choice.required && choice.words == [modifier])
    }

    /// Takes the modifiers that this leaves no choice of.
    pub fn take_fixed(&self, modifiers: &mut Modifiers) {
        for choice in self.modifiers.iter().filter(|choice| choice.required) {
            if let [word] = choice.words.as_slice() {
                modifiers.take(word);
            }
        }
    }

    /// Whether the function that lowers it has to look at all modifiers.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Number of sources, where this says so.
    pub fn source_count(&self) -> Option<usize> {
        self.sources.as_ref().map(Vec::len)
    }

    pub fn source(&self, index: usize) -> Source {
        let sources = self.sources.as_deref().unwrap_or_default();
        sources.get(index).copied().unwrap_or(Source { ty: None, negated: false })
    }
}

fn bit(ty: Type) -> Types {
    1 << ty as u32
}

/// What `b32|u32` or `i32` stands for. Zero for modifiers.
fn types(words: &str) -> Types {
    words.split('|').fold(0, |all, word| {
        all | match (word.strip_prefix('i'), Type::parse(word)) {
            (_, Some(ty)) => bit(ty),
            (Some(width), None) => {
                let named = |sign: &str| Type::parse(&format!("{sign}{width}")).map_or(0, bit);
                named("b") | named("u") | named("s")
            }
            (None, None) => 0,
        }
    })
}

/// `t`, `-t` or the name of a type.
fn source(text: &str) -> Source {
    let (text, negated) = match text.strip_prefix('-') {
        Some(text) => (text, true),
        None => (text, false),
    };
    Source { ty: Type::parse(text), negated }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Spelling {
        /// Every opcode that is written like this, without what follows the modifiers of an open one.
        pub fn opcodes(&self, base: &str) -> Vec<String> {
            let mut all = vec![base.to_owned()];
            for choice in &self.modifiers {
                let without = if choice.required { Vec::new() } else { all.clone() };
                let with = all.iter().flat_map(|opcode| {
                    choice.words.iter().map(move |word| format!("{opcode}.{word}"))
                });
                all = without.into_iter().chain(with).collect();
            }
            for types in &self.types {
                let names = ["b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16"];
                let others = ["s32", "s64", "f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "pred"];
                let fitting = names
                    .into_iter()
                    .chain(others)
                    .filter(|name| Type::parse(name).is_some_and(|ty| types & bit(ty) != 0));
                let fitting: Vec<_> = fitting.collect();
                let with = all
                    .iter()
                    .flat_map(|opcode| fitting.iter().map(move |name| format!("{opcode}.{name}")));
                all = with.collect();
            }
            all
        }
    }

    fn spelling(text: &'static str) -> Spelling {
        Spelling::parse(text).next().expect("a spelling").1
    }

    #[test]
    fn modifiers_stand_in_any_order_and_types_in_theirs() {
        let accepts = |text, opcode| spelling(text).accepts(&Modifiers::new(opcode));
        for (text, opcode, fits) in [
            ("add{.rn}{.ftz}.f32", "add.f32", true),
            ("add{.rn}{.ftz}.f32", "add.ftz.rn.f32", true),
            ("add{.rn}{.ftz}.f32", "add.rn.rn.f32", false),
            ("add{.rn}{.ftz}.f32", "add.rz.f32", false),
            ("add{.rn}{.ftz}.f32", "add.rn.f64", false),
            ("add{.rn}{.ftz}.f32", "add.rn", false),
            ("div{.rn|full}.f32", "div.rn.full.f32", false),
            ("prmt.i32.f4e", "prmt.f4e.b32", true),
            ("prmt.i32.f4e", "prmt.b32", false),
            ("shl.i16|i32 t u32", "shl.b32", true),
            ("dp4a.u32.s32", "dp4a.u32.s32", true),
            ("dp4a.u32.s32", "dp4a.s32.u32", false),
            ("cp.async.ca|cg..", "cp.async.cg.shared.global", true),
            ("cp.async.ca|cg..", "cp.async.bulk.global", false),
            ("cp.async.ca|cg..", "cp.async", false),
            ("ld..", "ld", true),
        ] {
            assert_eq!(accepts(text, opcode), fits, "{opcode} as {text}");
        }
    }

    #[test]
    fn a_spelling_names_bases_and_sources() {
        let bases: Vec<_> = Spelling::parse("fma|mad.rz.f32").map(|(base, _)| base).collect();
        assert_eq!(bases, ["fma", "mad"]);
        let sub = spelling("sub.rz.f32 t -t");
        assert_eq!(sub.source(0), Source { ty: None, negated: false });
        assert_eq!(sub.source(1), Source { ty: None, negated: true });
        assert_eq!(spelling("shl.i16 t u32").source(1).ty, Some(Type::U32));
        assert!(spelling("mul{.rn}.ftz{.sat}.f32").requires("ftz"));
        assert!(!spelling("mul{.rn}.ftz{.sat}.f32").requires("sat"));
    }
}
