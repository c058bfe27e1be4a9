//! The sizes and types of arrays in shared and constant memory, as their declarations in the source state them.

use cpptext::directives::{definition, directive};
use cpptext::statements::without_comment;
use cpptext::tokens::is_word;
use indexmath::{DimExpr, Dims};
use std::collections::BTreeSet;

/// The sizes of the array `name`, the outermost first and 0 for `name[]`, and the bytes of an element. Of several arrays of that
/// name those that can have so many `bytes` are meant. No sizes if no declaration states them, or two differ; no bytes if the type
/// is not one of C++'s numbers, or two differ.
pub(super) fn declared(source: &str, name: &str, bytes: u64) -> (Vec<u64>, Option<u32>) {
    let constants = constants(source);
    let text: String = source.lines().map(|line| without_comment(line).to_owned() + "\n").collect();
    let declarations = ["__shared__", "__constant__"];
    let declarations = declarations.iter().flat_map(|word| text.split(word).skip(1));
    let declarations = declarations.filter_map(|rest| rest.split([';', '{']).next());
    let declarations: Vec<&str> = declarations.filter(|d| brackets(d, name).is_some()).collect();
    let known = |declaration: &&str| -> Option<Vec<u64>> {
        let value = |size: &str| u64::try_from(value(size, &constants)?).ok();
        let size = |size: &str| if size.is_empty() { Some(0) } else { value(size) };
        brackets(declaration, name)?.into_iter().map(size).collect()
    };
    let fits = |declaration: &&str| match (known(declaration), width(declaration)) {
        (Some(sizes), Some(width)) if !sizes.contains(&0) => {
            sizes.iter().product::<u64>() * u64::from(width) == bytes
        }
        _ => true,
    };
    let fitting: Vec<&str> = declarations.iter().copied().filter(fits).collect();
    let declarations = if fitting.is_empty() { declarations } else { fitting };
    let sizes = same(declarations.iter().map(known)).unwrap_or_default();
    (sizes, same(declarations.iter().map(|declaration| width(declaration))))
}

/// What all of these are, if all are known and equal.
fn same<T: PartialEq>(mut all: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = all.next()??;
    all.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

/// Bytes of a number of the type that a declaration starts with.
fn width(declared: &str) -> Option<u32> {
    let declared = declared.split('[').next()?;
    if declared.contains('*') {
        return None;
    }
    let skipped = ["volatile", "unsigned", "signed"];
    let word = declared.split_whitespace().find(|word| !skipped.contains(word))?;
    match word {
        "float4" | "int4" | "uint4" | "double2" => Some(16),
        "double" | "float2" | "int2" | "int64_t" | "uint64_t" => Some(8),
        "float" | "int" | "int32_t" | "uint32_t" | "half2" | "__half2" => Some(4),
        "half" | "__half" | "short" | "__nv_bfloat16" | "int16_t" | "uint16_t" => Some(2),
        "char" | "bool" | "int8_t" | "uint8_t" => Some(1),
        _ => None,
    }
}

/// What stands in the brackets behind `name` in a declaration, if it is declared there.
fn brackets<'a>(declared: &'a str, name: &str) -> Option<Vec<&'a str>> {
    let is_name = |at: &usize| {
        let before = declared[..*at].chars().next_back();
        let after = declared[at + name.len()..].trim_start();
        before.is_none_or(|c| !is_word(c)) && after.starts_with('[')
    };
    let at = declared.match_indices(name).map(|(at, _)| at).find(is_name)?;
    let mut rest = declared[at + name.len()..].trim_start();
    let mut sizes = Vec::new();
    while let Some((size, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        sizes.push(size.trim());
        rest = after.trim_start();
    }
    Some(sizes)
}

fn value(text: &str, constants: &Dims) -> Option<i64> {
    DimExpr::parse(text).ok()?.eval(constants).ok()
}

/// The whole numbers that a source names: `#define TILE 16`, `const int TILE = 16;`. Without those that it gives two values.
fn constants(source: &str) -> Dims {
    let mut constants = Dims::new();
    let mut ambiguous = BTreeSet::new();
    for line in source.lines() {
        let line = without_comment(line).trim();
        let named = match directive(line) {
            Some(rest) => definition(rest),
            None => line.split_once("const").and_then(|(_, rest)| {
                let (left, right) = rest.split_once('=')?;
                let name = left.split_whitespace().last()?;
                Some((name, right.trim().trim_end_matches(';')))
            }),
        };
        let Some((name, text)) = named else { continue };
        let value = value(text.trim(), &constants);
        if constants.get(name).is_some_and(|&before| value != Some(before)) {
            ambiguous.insert(name.to_owned());
        }
        if let Some(value) = value {
            constants.insert(name.to_owned(), value);
        }
    }
    constants.retain(|name, _| !ambiguous.contains(name));
    constants
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "#define TILE 16
const int MAX_K = 7; // of filters
constexpr int WIDE = 2 * TILE;
const int SIDE = 4;
const int SIDE = 8; // of another namespace
__global__ void k() {
    __shared__ float tile[TILE + MAX_K - 1][TILE], part[WIDE];
    extern __shared__ half row_memory[];
    __shared__ __align__(32) float odd[threads];
    __shared__ int square[SIDE][SIDE];
    __shared__ half weights[2 * 9];
}
__global__ void of_any_size() {
    extern __shared__ half weights[];
}";

    #[test]
    fn sizes_and_type_are_those_of_the_declaration() {
        let of = |name| declared(SOURCE, name, 0);
        assert_eq!(of("tile"), (vec![22, 16], Some(4)));
        assert_eq!(of("part"), (vec![32], Some(4)));
        assert_eq!(of("row_memory"), (vec![0], Some(2)));
        assert_eq!(of("odd"), (vec![], None), "what else stands in the declaration is not read");
        assert_eq!(of("square"), (vec![], Some(4)));
        assert_eq!(declared(SOURCE, "weights", 64), (vec![0], Some(2)));
        assert_eq!((of("til"), of("other")), ((vec![], None), (vec![], None)));
    }
}
