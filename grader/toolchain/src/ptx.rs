//! PTX as text: what the toolchain must know of it is in its directives. `ptxvm` has the parser of the language.

/// A kernel as its `.entry` declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name in the PTX, mangled for C++.
    pub symbol: String,
    /// Bytes of each parameter.
    pub params: Vec<u64>,
    /// Bytes of static shared memory.
    pub shared: u64,
    /// The threads that its blocks may have at most (`__launch_bounds__`), if it says so.
    pub max_threads: Option<u32>,
}

/// The kernels of a PTX text in its order (PTX ISA 5.3.1 and 11.2.1: `.entry name ( .param ... )`).
pub fn entries(ptx: &str) -> Vec<Entry> {
    let entry = |(symbol, text): (&str, &str)| {
        let head = text.split('{').next().unwrap_or_default();
        let list = head.split_once('(').map_or("", |(_, list)| list);
        let list = list.split_once(')').map_or("", |(list, _)| list);
        // Static shared memory stands inside the body of its kernel, or before all of them if several use it.
        let shared = shared_bytes(text);
        Entry {
            symbol: symbol.to_owned(),
            params: list.split(',').filter_map(param_size).collect(),
            shared,
            max_threads: head.lines().find_map(max_threads),
        }
    };
    kernels(ptx).map(entry).collect()
}

/// The threads of `.maxntid 256, 1, 1` (PTX ISA 11.4.2).
fn max_threads(line: &str) -> Option<u32> {
    let axes = directive(line, ".maxntid")?;
    axes.split(',').try_fold(1, |product: u32, axis| product.checked_mul(axis.trim().parse().ok()?))
}

/// File and line of the source where a kernel is defined: those of the first `.loc` in it.
pub fn definition(ptx: &str, symbol: &str) -> Option<(String, u32)> {
    let text = kernel(ptx, symbol)?;
    let before = ptx.find(text)?;
    let first = text.lines().position(|line| directive(line, ".loc").is_some())?;
    source_line(ptx, ptx[..before].lines().count() + first + 1)
}

/// A variable of a module: `.const .align 4 .b8 name[36];`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name in the PTX, mangled for C++.
    pub symbol: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// True in constant memory (`.const`), false in global memory (`.global`).
    pub constant: bool,
}

/// The variables of a PTX text in its order (PTX ISA 5.1.3 and 5.1.4), wherever it declares them.
pub fn variables(ptx: &str) -> Vec<Variable> {
    let variable = |line: &str| {
        let line = line.trim_start();
        let linkage = [".visible", ".weak", ".extern", ".common"];
        let line = linkage.iter().find_map(|name| directive(line, name)).unwrap_or(line);
        let constant = directive(line, ".const");
        let rest = constant.or_else(|| directive(line, ".global"))?;
        let declared = rest.split(['=', ';']).next().unwrap_or_default();
        let mut words = declared.split_whitespace();
        let size = words.clone().find_map(type_size)?;
        let declarator = words.next_back()?;
        let symbol = declarator.split('[').next().unwrap_or_default().to_owned();
        let bytes = size * length(declarator).unwrap_or(1);
        Some(Variable { symbol, bytes, constant: constant.is_some() })
    };
    ptx.lines().filter_map(variable).collect()
}

/// The text of a kernel behind its `.entry`, with what stands between it and the next kernel.
pub fn kernel<'p>(ptx: &'p str, symbol: &str) -> Option<&'p str> {
    kernels(ptx).find(|(name, _)| *name == symbol).map(|(_, text)| text)
}

/// Name and text of each kernel, the text as in [`kernel`].
fn kernels(ptx: &str) -> impl Iterator<Item = (&str, &str)> {
    let name_end = |text: &str| {
        let start = text.len() - text.trim_start().len();
        start
            + text[start..]
                .find(|c: char| c.is_whitespace() || "({".contains(c))
                .unwrap_or(text.len() - start)
    };
    ptx.split(".entry").skip(1).map(move |text| (text[..name_end(text)].trim_start(), text))
}

/// The first operands of a directive that stands at the beginning of a line: `sm_80` of `.target sm_80`.
fn directive<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let rest = line.trim_start().strip_prefix(name)?;
    rest.starts_with(|c: char| c.is_whitespace()).then(|| rest.trim())
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

/// The number of elements of a declarator: 12 of `name[12]`.
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
    let declarations = text.lines().filter_map(|line| directive(line, ".shared"));
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
    let loc = before.iter().rev().find_map(|line| directive(line, ".loc"))?;
    let place = loc.rsplit_once("inlined_at").map_or(loc, |(_, caller)| caller);
    let mut numbers = place.split_whitespace();
    let (file, line) = (numbers.next()?, numbers.next()?.parse().ok()?);
    let named = |line: &str| {
        let (number, name) = directive(line, ".file")?.split_once('"')?;
        (number.trim() == file).then(|| name.split('"').next().unwrap_or_default().to_owned())
    };
    Some((ptx.lines().find_map(named)?, line))
}

/// PTX with the names in its `.file` directives changed (PTX ISA 11.5.5, `.file index "name"`).
pub fn rename_files(ptx: &str, change: impl Fn(&str) -> String) -> String {
    let mut changed = String::with_capacity(ptx.len());
    for line in ptx.split_inclusive('\n') {
        let quotes = directive(line, ".file").and(line.find('"').zip(line.rfind('"')));
        match quotes.filter(|(open, close)| open < close) {
            Some((open, close)) => {
                changed.push_str(&line[..=open]);
                changed.push_str(&change(&line[open + 1..close]));
                changed.push_str(&line[close..]);
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
        if directive(line, ".loc").is_some() || line.starts_with("//") || line.is_empty() {
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

    #[test]
    fn kernels_have_parameters_shared_memory_and_a_text() {
        let ptx = ".shared .b8 before[4];\n.visible .entry a(\n\t.param .u64 a_0,\n\t.param .align 4 .b8 a_1[12]\n)\n\
                   {\n\t.shared .align 4 .f32 tile[8];\n\t.loc 1 7 0\n\tret;\n}\n\
                   .entry b\n.maxntid 64, 2, 1\n{\n\ttrap;\n}\n\t.file\t1 \"k.cu\"\n";
        let entry = |symbol: &str, params: &[u64], shared| Entry {
            symbol: symbol.to_owned(),
            params: params.to_vec(),
            shared,
            max_threads: None,
        };
        let bounded = Entry { max_threads: Some(128), ..entry("b", &[], 0) };
        assert_eq!(entries(ptx), [entry("a", &[8, 12], 32), bounded]);
        assert_eq!(definition(ptx, "a"), Some(("k.cu".to_owned(), 7)));
        assert_eq!(definition(ptx, "b"), None);
        assert!(kernel(ptx, "b").unwrap().contains("trap"));
        assert!(!kernel(ptx, "a").unwrap().contains("trap"));
        assert_eq!(kernel(ptx, "c"), None);
    }

    #[test]
    fn files_are_renamed_where_they_are_named() {
        let ptx = "\t.file\t1 \"/a/k.cu\"\n .filed \"x\"\n\t.file\t2 \"open\n";
        let renamed = rename_files(ptx, |name| name.replace("/a/", ""));
        assert_eq!(renamed, ptx.replace("/a/", ""));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "([.]entry|[.]shared|[.]file|[.]loc|[ \\n\"(){},\\[\\]0-9]|\\PC)*", line in 0..9_usize) {
            for entry in entries(&text) {
                assert!(kernel(&text, &entry.symbol).is_some());
            }
            assert_eq!(rename_files(&text, str::to_owned), text);
            source_line(&text, line);
            without_names(&text, "x");
        }
    }
}
