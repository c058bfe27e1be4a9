//! How a place in shared or constant memory is named.

/// An array in the shared memory of a block, or in constant memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedArray {
    /// Its name in the source.
    pub name: String,
    /// Where it begins in that memory.
    pub start: u32,
    /// Bytes of the array; of a dynamic one, what the launch asks for.
    pub bytes: u32,
    /// Its sizes in the source, the outermost first, where they are known: a program in PTX does not have them. 0 for `name[]`.
    pub sizes: Vec<u64>,
    /// Bytes of an element, where its type is known.
    pub element: Option<u32>,
}

impl SharedArray {
    /// The array that begins last before a place, if the place is inside it.
    pub fn around(arrays: &[Self], offset: i64) -> Option<Self> {
        let inside = |array: &&Self| {
            (0..i64::from(array.bytes)).contains(&(offset - i64::from(array.start)))
        };
        arrays.iter().find(inside).cloned()
    }

    /// The element at a place, `tile[3][13]`, as far as the sizes and the type are known; else the byte. An access has `size` bytes.
    pub fn element(&self, offset: i64, size: u32) -> String {
        let Self { name, start, bytes, sizes, element } = self;
        let within = offset - i64::from(*start);
        if sizes.is_empty() && within == 0 && *bytes == size {
            return name.clone();
        }
        let count: u64 = sizes.iter().product();
        let exact = |size: &u64| size * count == u64::from(*bytes);
        let counted = u64::from(*bytes).checked_div(count).filter(exact);
        let width = match counted.filter(|_| !sizes.is_empty()) {
            Some(width) => width as i64,
            None => element.map_or(0, i64::from),
        };
        if width == 0 || within % width != 0 {
            return format!("byte {within} of {name}");
        }
        let mut rest = within / width;
        let mut indices = Vec::new();
        for &size in sizes.iter().skip(1).rev() {
            let size = (size as i64).max(1);
            indices.push(rest.rem_euclid(size));
            rest = rest.div_euclid(size);
        }
        if sizes.is_empty() {
            return format!("element {rest} of {name}");
        }
        indices.push(rest);
        let indices: Vec<String> = indices.iter().rev().map(|index| format!("[{index}]")).collect();
        format!("{name}{}", indices.concat())
    }

    /// The element, or the byte of shared memory where no array is known.
    pub(super) fn element_or_byte(array: Option<&Self>, offset: i64, access: u32) -> String {
        match array {
            Some(array) => array.element(offset, access),
            None => format!("byte {offset} of shared memory"),
        }
    }
}

/// The name in the source of a variable in shared memory, from that in the PTX: the last part of a mangled name
/// (`_ZZ6kernelPfE4tile`: Itanium C++ ABI, 5.1).
pub(crate) fn source_name(symbol: &str) -> &str {
    let Some(mangled) = symbol.strip_prefix("_Z").filter(|mangled| mangled.is_ascii()) else {
        return symbol;
    };
    let (mut last, mut at) = (symbol, 0);
    while at < mangled.len() {
        let (before, rest) = mangled.split_at(at);
        let text = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = rest.len() - text.len();
        at += digits.max(1);
        let length = rest[..digits].parse().ok().filter(|_| !ends_before_number(before));
        // The number behind the last name tells equal names of one function apart: nothing follows it.
        if let Some(name) = length.and_then(|length| text.get(..length)).filter(|n| !n.is_empty()) {
            at += name.len();
            last = name;
        }
    }
    last
}

/// What follows is a number (of an array type, a substitution, a template's argument) rather than the length of a name.
fn ends_before_number(mangled: &str) -> bool {
    let literal = mangled.trim_end_matches(|c: char| c.is_ascii_lowercase());
    mangled.ends_with(['A', 'S', 'T']) || literal.len() < mangled.len() && literal.ends_with('L')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(bytes: u32, sizes: &[u64], element: Option<u32>) -> SharedArray {
        SharedArray { name: "tile".into(), start: 1024, bytes, sizes: sizes.to_vec(), element }
    }

    #[test]
    fn elements_have_the_indices_of_the_source() {
        let grid = array(1088, &[16, 17], Some(4));
        assert_eq!(grid.element(1024 + 4 * 65, 4), "tile[3][14]");
        let row = array(256, &[64], None);
        assert_eq!(row.element(1024 + 4 * 8, 16), "tile[8]", "by a vector of four");
        assert_eq!(row.element(1024 + 256, 4), "tile[64]", "behind the end");
        let dynamic = array(64, &[0], Some(2));
        assert_eq!(dynamic.element(1024 + 6, 4), "tile[3]", "of a size that the launch gives");
        let untyped = array(64, &[0], None);
        assert_eq!(untyped.element(1024 + 32, 16), "byte 32 of tile", "the access may be a vector");
        let unsized_array = array(1088, &[], Some(4));
        assert_eq!(unsized_array.element(1024 + 4 * 65, 4), "element 65 of tile");
        assert_eq!(array(64, &[], None).element(1024 + 4, 4), "byte 4 of tile");
        assert_eq!(array(4, &[], None).element(1024, 4), "tile", "a single number");
    }

    #[test]
    fn a_place_belongs_to_the_array_around_it() {
        let two = [array(64, &[], None), SharedArray { start: 2048, ..array(64, &[], None) }];
        assert_eq!(SharedArray::around(&two, 2050), Some(two[1].clone()));
        assert_eq!(SharedArray::around(&two, 1024 + 64), None);
    }

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(source_name("_ZZ9transposePKfPfiE4tile"), "tile");
        assert_eq!(source_name("_ZZ9block_sumfE6part12_0"), "part12");
        assert_eq!(source_name("_ZZN11variant00036kernelEPfE1s"), "s");
        assert_eq!(source_name("_ZN11variant00034tileE"), "tile");
        assert_eq!(source_name("_ZZ4kernILi16ELb1EEvRA8_KfPT_E3a1b"), "a1b");
        assert_eq!(source_name("_ZZL4kernPfS_E2s2_12"), "s2");
        assert_eq!(source_name("smem"), "smem");
    }
}
