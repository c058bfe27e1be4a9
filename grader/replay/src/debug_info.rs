//! The variables of a program that was compiled for a debugger, by the names of its source (DWARF, with NVIDIA's registers and
//! address classes: "CUDA debugging information" in the PTX writer's guide).

use super::sections::Sections;
use gimli::{
    AttributeValue, DebuggingInformationEntry, DwAt, Dwarf, EndianSlice, LittleEndian, Reader,
    Unit, UnitOffset, constants,
};

type Slice<'s> = EndianSlice<'s, LittleEndian>;
type Entry<'s> = DebuggingInformationEntry<Slice<'s>>;

/// The `DW_AT_address_class` of shared memory, and below that of local memory.
const SHARED: u64 = 8;
const LOCAL: u64 = 6;
/// A table of lines without any (DWARF 2, section 6.2): in PTX they are given by `.loc`, and the assembler makes the table.
const NO_LINES: [u8; 17] = [13, 0, 0, 0, 2, 0, 7, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0];
/// Longest chain of types that is followed.
const DEPTH: usize = 16;

/// A variable of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// The function's name in the PTX.
    pub function: String,
    /// The name in the source.
    pub name: String,
    /// The type of its values.
    pub ty: Type,
    /// Where it is in scope: the labels before its first instruction and after its last; none: in the whole function.
    pub scope: Option<(String, String)>,
    /// Where its value is kept, in registers or in memory, which may change within the function.
    pub places: Vec<Location>,
}

/// A type, as far as its values can be shown.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// A scalar: its name, its size in bytes and how it is encoded.
    Scalar(String, u64, Encoding),
    /// A pointer, whatever it points to.
    Pointer,
    /// An array: element, sizes of the axes, outermost first.
    Array(Box<Type>, Vec<u64>),
    /// A structure or another type whose values are not shown; its size.
    Other(u64),
}

/// How a scalar is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Float,
    Signed,
    Unsigned,
    Bool,
}

/// Where a variable lies, at least for a while.
#[derive(Clone, Debug, PartialEq)]
pub enum Location {
    /// In a register from one label to another; none: always.
    Register(String, Option<(String, String)>),
    /// In local memory: the name of the function's frame, and the bytes from its start.
    Local(String, u64),
    /// In shared memory, by its name in the PTX.
    Shared(String),
}

/// The variables of all functions of some PTX; none if it was not compiled for a debugger.
pub fn variables(ptx: &str) -> Vec<Variable> {
    let sections = Sections::of(ptx);
    read(&sections).unwrap_or_default()
}

fn read(sections: &Sections) -> gimli::Result<Vec<Variable>> {
    let load = |id: gimli::SectionId| {
        let bytes = match id {
            gimli::SectionId::DebugLine => &NO_LINES,
            _ => sections.bytes(id.name()),
        };
        Ok::<_, gimli::Error>(EndianSlice::new(bytes, LittleEndian))
    };
    let dwarf = Dwarf::load(load)?;
    let mut variables = Vec::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let unit = dwarf.unit(header)?;
        let walk = Walk { sections, dwarf: &dwarf, unit: &unit };
        let mut function = None;
        let mut scopes: Vec<(isize, (String, String))> = Vec::new();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            let depth = entry.depth();
            scopes.retain(|&(at, _)| at < depth);
            match entry.tag() {
                constants::DW_TAG_subprogram => {
                    let linkage = constants::DW_AT_MIPS_linkage_name;
                    function = walk
                        .text(entry, linkage)
                        .or_else(|| walk.text(entry, constants::DW_AT_name));
                }
                constants::DW_TAG_lexical_block => {
                    let label = |at| sections.name(Walk::address(entry, at)?).map(str::to_owned);
                    let ends = label(constants::DW_AT_low_pc).zip(label(constants::DW_AT_high_pc));
                    scopes.extend(ends.map(|ends| (depth, ends)));
                }
                constants::DW_TAG_variable | constants::DW_TAG_formal_parameter => {
                    let scope = scopes.last().map(|(_, ends)| ends.clone());
                    if let Some(function) = &function {
                        variables.extend(walk.variable(entry, function, scope));
                    }
                }
                _ => {}
            }
        }
    }
    Ok(variables)
}

/// What is needed to read an entry.
struct Walk<'w, 's> {
    sections: &'w Sections,
    dwarf: &'w Dwarf<Slice<'s>>,
    unit: &'w Unit<Slice<'s>>,
}

impl<'s> Walk<'_, 's> {
    fn text(&self, entry: &Entry<'s>, at: DwAt) -> Option<String> {
        let value = entry.attr_value(at)?;
        let text = self.dwarf.attr_string(self.unit, value).ok()?;
        Some(String::from_utf8_lossy(text.slice()).into_owned())
    }

    fn number(entry: &Entry<'s>, at: DwAt) -> Option<u64> {
        entry.attr_value(at)?.udata_value()
    }

    fn address(entry: &Entry<'s>, at: DwAt) -> Option<u64> {
        match entry.attr_value(at)? {
            AttributeValue::Addr(address) => Some(address),
            _ => None,
        }
    }

    fn variable(
        &self,
        entry: &Entry<'s>,
        function: &str,
        scope: Option<(String, String)>,
    ) -> Option<Variable> {
        let name = self.text(entry, constants::DW_AT_name)?;
        let ty = self.type_of(entry, DEPTH)?;
        let class = match entry.attr_value(constants::DW_AT_address_class) {
            Some(AttributeValue::AddressClass(class)) => Some(class.0),
            _ => None,
        };
        let places = match entry.attr_value(constants::DW_AT_location)? {
            AttributeValue::Exprloc(expression) => {
                self.location(expression.0.slice(), class, None).into_iter().collect()
            }
            AttributeValue::Block(bytes) => {
                self.location(bytes.slice(), class, None).into_iter().collect()
            }
            AttributeValue::LocationListsRef(offset) => self.listed(offset, class),
            AttributeValue::SecOffset(offset) => {
                self.listed(gimli::LocationListsOffset(offset), class)
            }
            AttributeValue::Data4(offset) => {
                self.listed(gimli::LocationListsOffset(offset as usize), class)
            }
            _ => Vec::new(),
        };
        Some(Variable { function: function.to_owned(), name, ty, scope, places })
    }

    /// The places of a location list.
    fn listed(&self, offset: gimli::LocationListsOffset, class: Option<u64>) -> Vec<Location> {
        let Ok(mut list) = self.dwarf.raw_locations(self.unit, offset) else { return Vec::new() };
        let mut places = Vec::new();
        while let Ok(Some(entry)) = list.next() {
            if let gimli::RawLocListEntry::AddressOrOffsetPair { begin, end, data } = entry {
                let label = |address| self.sections.name(address).map(str::to_owned);
                places.extend(self.location(data.0.slice(), class, label(begin).zip(label(end))));
            }
        }
        places
    }

    /// The place that an expression names: one operation, or an address and an offset.
    fn location(
        &self,
        expression: &[u8],
        class: Option<u64>,
        range: Option<(String, String)>,
    ) -> Option<Location> {
        let (&operation, rest) = expression.split_first()?;
        if constants::DwOp(operation) == constants::DW_OP_regx {
            return Some(Location::Register(register(leb128(rest)?.0), range));
        }
        if constants::DwOp(operation) != constants::DW_OP_addr {
            return None;
        }
        let (address, rest) = rest.split_first_chunk::<8>()?;
        let name = self.sections.name(u64::from_le_bytes(*address))?.to_owned();
        let offset = match rest.split_first() {
            None => 0,
            Some((&plus, rest)) if constants::DwOp(plus) == constants::DW_OP_plus_uconst => {
                leb128(rest)?.0
            }
            Some(_) => return None,
        };
        match class {
            Some(SHARED) => Some(Location::Shared(name)),
            Some(LOCAL) => Some(Location::Local(name, offset)),
            _ => None,
        }
    }

    fn type_of(&self, entry: &Entry<'s>, depth: usize) -> Option<Type> {
        let AttributeValue::UnitRef(at) = entry.attr_value(constants::DW_AT_type)? else {
            return None;
        };
        self.type_at(at, depth.checked_sub(1)?)
    }

    fn type_at(&self, at: UnitOffset, depth: usize) -> Option<Type> {
        let entry = self.unit.entry(at).ok()?;
        let size = Self::number(&entry, constants::DW_AT_byte_size).unwrap_or(0);
        Some(match entry.tag() {
            constants::DW_TAG_base_type => {
                let encoding = match entry.attr_value(constants::DW_AT_encoding)? {
                    AttributeValue::Encoding(constants::DW_ATE_float) => Encoding::Float,
                    AttributeValue::Encoding(constants::DW_ATE_boolean) => Encoding::Bool,
                    AttributeValue::Encoding(
                        constants::DW_ATE_unsigned | constants::DW_ATE_unsigned_char,
                    ) => Encoding::Unsigned,
                    _ => Encoding::Signed,
                };
                Type::Scalar(self.text(&entry, constants::DW_AT_name)?, size, encoding)
            }
            constants::DW_TAG_pointer_type | constants::DW_TAG_reference_type => Type::Pointer,
            constants::DW_TAG_array_type => {
                Type::Array(Box::new(self.type_of(&entry, depth)?), self.extents(at)?)
            }
            constants::DW_TAG_const_type
            | constants::DW_TAG_volatile_type
            | constants::DW_TAG_restrict_type
            | constants::DW_TAG_typedef => self.type_of(&entry, depth)?,
            constants::DW_TAG_structure_type | constants::DW_TAG_class_type => {
                let half = self.text(&entry, constants::DW_AT_name);
                match half.as_deref() {
                    Some("__half") => Type::Scalar("half".into(), 2, Encoding::Float),
                    _ => Type::Other(size),
                }
            }
            _ => Type::Other(size),
        })
    }

    /// The sizes of the axes of an array.
    fn extents(&self, at: UnitOffset) -> Option<Vec<u64>> {
        let mut tree = self.unit.entries_tree(Some(at)).ok()?;
        let mut children = tree.root().ok()?.children();
        let mut extents = Vec::new();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            let count = Self::number(entry, constants::DW_AT_count);
            let bound = Self::number(entry, constants::DW_AT_upper_bound);
            extents.extend(count.or(bound.map(|bound| bound + 1)));
        }
        Some(extents)
    }
}

/// An unsigned number of variable length, and what follows it.
fn leb128(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut reader = EndianSlice::new(bytes, LittleEndian);
    let value = reader.read_uleb128().ok()?;
    Some((value, reader.slice()))
}

/// The name of a register, whose letters are the bytes of its number, the first one highest.
fn register(number: u64) -> String {
    number.to_be_bytes().into_iter().filter(|&byte| byte != 0).map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_register_is_named_by_its_number() {
        // 177 204 149 1: "%f1" as nvcc writes it.
        let (number, rest) = leb128(&[177, 204, 149, 1, 7]).unwrap();
        assert_eq!((register(number).as_str(), rest), ("%f1", &[7][..]));
    }

    #[test]
    fn the_variables_of_a_program() {
        // nvcc -G -ptx of a kernel with an array, a structure, a flag, a shared array and a function that it calls.
        let variables = variables(include_str!("debug_info_variables.ptx"));
        let of = |name: &str| {
            let found: Vec<_> = variables.iter().filter(|v| v.name == name).collect();
            assert_eq!(found.len(), 1, "{name}");
            found[0]
        };
        let float = Type::Scalar("float".into(), 4, Encoding::Float);
        let i = of("i");
        assert_eq!(i.function, "_Z1fPKfPfi");
        assert_eq!(i.ty, Type::Scalar("int".into(), 4, Encoding::Signed));
        assert_eq!(i.places, [Location::Register("%r1".into(), None)]);
        assert_eq!(of("acc").ty, Type::Array(Box::new(float.clone()), vec![4]));
        assert_eq!(of("acc").places, [Location::Local("__local_depot1".into(), 0)]);
        assert_eq!(of("p").places, [Location::Local("__local_depot1".into(), 16)]);
        assert_eq!(of("ok").ty, Type::Scalar("bool".into(), 1, Encoding::Bool));
        assert_eq!(of("s").places, [Location::Shared("_ZZ1fPKfPfiE1s".into())]);
        assert_eq!(of("x").ty, Type::Pointer);
        // It moves from register to register, and is in scope between two labels.
        let j = of("j");
        assert!(j.places.len() > 2, "{:?}", j.places);
        assert_eq!(j.scope, Some(("$L__tmp10".into(), "$L__tmp16".into())));
        assert_eq!(of("q").function, "_Z5twicefi");
        assert_eq!(of("v").ty, float);
    }
}
