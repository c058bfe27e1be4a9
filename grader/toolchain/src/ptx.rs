//! PTX as text: what the toolchain must know of it is in its directives. `ptxvm` has the parser of the language.

/// A kernel as its `.entry` declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub symbol: String,
    /// Bytes of each parameter.
    pub params: Vec<u64>,
    /// Bytes of static shared memory.
    pub shared: u64,
}

/// The kernels of a PTX text in its order (PTX ISA 5.3.1 and 11.2.1: `.entry name ( .param ... )`).
pub fn entries(ptx: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut rest = ptx;
    while let Some((before, after)) = rest.split_once(".entry") {
        // Static shared memory stands inside the body of its kernel, or before all of them if several use it.
        if let Some(entry) = entries.last_mut() {
            entry.shared += shared_bytes(before);
        }
        rest = after;
        let end = after.find('{').unwrap_or(after.len());
        let head = &after[..end];
        let (symbol, list) = head.split_once('(').unwrap_or((head, ""));
        let symbol = symbol.split_whitespace().next().unwrap_or_default().to_owned();
        let list = list.split_once(')').map_or("", |(list, _)| list);
        entries.push(Entry {
            symbol,
            params: list.split(',').filter_map(param_size).collect(),
            shared: 0,
        });
    }
    if let Some(entry) = entries.last_mut() {
        entry.shared += shared_bytes(rest);
    }
    entries
}

/// Bytes of `.param .u64 name` or `.param .align 4 .b8 name[12]`.
fn param_size(param: &str) -> Option<u64> {
    let mut words = param.split_whitespace();
    if words.next()? != ".param" {
        return None;
    }
    let size = words.clone().find_map(type_size)?;
    Some(size * words.next_back().and_then(length).unwrap_or(1))
}

/// 12 of `name[12]`.
fn length(declarator: &str) -> Option<u64> {
    declarator.split_once('[')?.1.split_once(']')?.0.parse().ok()
}

/// Bytes of `.u64`, `.b8`, `.f32`.
fn type_size(word: &str) -> Option<u64> {
    let bits: u64 = word.strip_prefix('.')?.strip_prefix(['u', 's', 'b', 'f'])?.parse().ok()?;
    Some(bits / 8)
}

/// Bytes of all static `.shared` declarations in a text.
fn shared_bytes(text: &str) -> u64 {
    let declarations = text.lines().map(str::trim).filter_map(|l| l.strip_prefix(".shared"));
    declarations
        .filter_map(|line| {
            let mut words = line.trim_end_matches(';').split_whitespace();
            let size = words.clone().find_map(type_size)?;
            Some(size * words.next_back().and_then(length).unwrap_or(1))
        })
        .sum()
}

/// File and line of the source of a line of PTX (1-based): the last `.loc` before it tells, or where the function that it
/// names is inlined (PTX ISA 11.5.6, `.loc file line column, function_name label, inlined_at file line column`).
pub fn source_line(ptx: &str, line: usize) -> Option<(String, u32)> {
    let before: Vec<&str> = ptx.lines().take(line.saturating_sub(1)).collect();
    let loc = before.iter().rev().find_map(|line| line.trim_start().strip_prefix(".loc"))?;
    let place = loc.rsplit_once("inlined_at").map_or(loc, |(_, caller)| caller);
    let mut numbers = place.split_whitespace();
    let (file, line) = (numbers.next()?, numbers.next()?.parse().ok()?);
    let named = |line: &str| {
        let (number, name) = line.trim_start().strip_prefix(".file")?.split_once('"')?;
        (number.trim() == file).then(|| name.split('"').next().unwrap_or_default().to_owned())
    };
    Some((ptx.lines().find_map(named)?, line))
}

/// PTX with the names in its `.file` directives changed (PTX ISA 11.5.5, `.file index "name"`).
pub fn rename_files(ptx: &str, change: impl Fn(&str) -> String) -> String {
    let mut changed = String::with_capacity(ptx.len());
    for line in ptx.split_inclusive('\n') {
        let name = line.trim_start().strip_prefix(".file").and_then(|rest| {
            let (before, rest) = rest.split_once('"')?;
            let (name, after) = rest.rsplit_once('"')?;
            Some((before, name, after))
        });
        match name {
            Some((before, name, after)) => {
                changed.push_str("\t.file");
                changed.push_str(before);
                changed.push('"');
                changed.push_str(&change(name));
                changed.push('"');
                changed.push_str(after);
            }
            None => changed.push_str(line),
        }
    }
    changed
}

/// What a PTX text defines in the C++ namespace `own`, without what differs between equal kernels in different ones: its
/// name, the numbers of functions in labels, and lines.
pub fn without_names(ptx: &str, own: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for line in ptx.lines() {
        let line = line.trim();
        if line.starts_with(".loc") || line.starts_with("//") || line.is_empty() {
            continue;
        }
        if line.starts_with('.')
            && [".entry", ".func", ".global", ".shared", ".const"]
                .iter()
                .any(|word| line.contains(word))
        {
            inside = line.contains(own);
        }
        if inside {
            text.push_str(&without_block_numbers(&line.replace(own, "variant")));
            text.push('\n');
        }
    }
    text
}

/// `$L__BB3_7` without the 3, which counts the functions of the file.
fn without_block_numbers(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("$L__BB") {
        text.push_str(before);
        text.push_str("$L__BB");
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_kernels_have_the_same_text_without_names() {
        let ptx = |variant: &str, block: u32, line: u32| {
            format!(
                ".visible .entry _ZN11{variant}1kEv()\n{{\n.loc 1 {line} 0\nbra $L__BB{block}_2;\n}}\n"
            )
        };
        let both = ptx("variant0000", 0, 3) + &ptx("variant0001", 1, 9);
        assert_eq!(without_names(&both, "variant0000"), without_names(&both, "variant0001"));
        assert!(without_names(&both, "variant0000").contains("bra $L__BB_2;"));
        assert_eq!(without_names(&both, "variant0002"), "");
    }
}
