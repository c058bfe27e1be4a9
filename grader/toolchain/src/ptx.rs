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
    /// File and line of the source where it is defined: those of the first `.loc` in it.
    pub definition: Option<(String, u32)>,
}

/// The kernels of a PTX text in its order (PTX ISA 5.3.1 and 11.2.1: `.entry name ( .param ... )`).
pub fn entries(ptx: &str) -> Vec<Entry> {
    let files = files(ptx);
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
            definition: text
                .lines()
                .find_map(place)
                .and_then(|(file, line)| named(&files, file, line)),
        }
    };
    kernels(ptx).map(entry).collect()
}

/// The threads of `.maxntid 256, 1, 1` (PTX ISA 11.4.2).
fn max_threads(line: &str) -> Option<u32> {
    let axes = directive(line, ".maxntid")?;
    axes.split(',').try_fold(1, |product: u32, axis| product.checked_mul(axis.trim().parse().ok()?))
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

/// The text without its other kernels: what an assembler needs for this one. The whole text if it is not understood.
pub fn alone(ptx: &str, symbol: &str) -> String {
    let mut kept = String::new();
    let mut done = 0;
    for (name, text) in kernels(ptx).filter(|(name, _)| *name != symbol) {
        let at = text.as_ptr() as usize - ptx.as_ptr() as usize;
        let start = ptx[..at].rfind(['\n', ';', '}']).map_or(0, |before| before + 1);
        let Some(end) = body_end(text).filter(|_| start >= done && !name.is_empty()) else {
            return ptx.to_owned();
        };
        kept.push_str(&ptx[done..start]);
        done = at + end;
    }
    kept + &ptx[done..]
}

/// Where the body of a kernel ends whose text this is: behind the brace that closes its first one.
fn body_end(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.bytes().enumerate() {
        match c {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(at + 1),
            b'}' => depth -= 1,
            // A declaration without a body.
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
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
    let before = ptx.lines().take(line.saturating_sub(1));
    let (file, line) = place(before.filter(|line| directive(line, ".loc").is_some()).last()?)?;
    named(&files(ptx), file, line)
}

/// File and line of the source of each instruction of a kernel for whose text `wanted` holds, in the order of the text.
pub fn places(ptx: &str, symbol: &str, wanted: impl Fn(&str) -> bool) -> Vec<(String, u32)> {
    let files = files(ptx);
    let mut here = None;
    let mut found = Vec::new();
    for line in kernel(ptx, symbol).unwrap_or_default().lines() {
        if directive(line, ".loc").is_some() {
            here = place(line).and_then(|(file, line)| named(&files, file, line));
        } else if wanted(line) {
            found.extend(here.clone());
        }
    }
    found
}

/// The number of the file and the line that a `.loc` names, of the caller where the function is inlined.
fn place(line: &str) -> Option<(&str, u32)> {
    let loc = directive(line, ".loc")?;
    let place = loc.rsplit_once("inlined_at").map_or(loc, |(_, caller)| caller);
    let mut numbers = place.split_whitespace();
    Some((numbers.next()?, numbers.next()?.parse().ok()?))
}

/// The numbers and the names of the files that `.loc` can name, in the order of the text.
fn files(ptx: &str) -> Vec<(&str, &str)> {
    let file = |line| {
        let (number, name) = directive(line, ".file")?.split_once('"')?;
        Some((number.trim(), name.split('"').next().unwrap_or_default()))
    };
    ptx.lines().filter_map(file).collect()
}

/// The place with the name of the file that has this number.
fn named(files: &[(&str, &str)], number: &str, line: u32) -> Option<(String, u32)> {
    let (_, name) = files.iter().find(|(known, _)| *known == number)?;
    Some(((*name).to_owned(), line))
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
            definition: None,
        };
        let placed = Entry { definition: Some(("k.cu".to_owned(), 7)), ..entry("a", &[8, 12], 32) };
        let bounded = Entry { max_threads: Some(128), ..entry("b", &[], 0) };
        assert_eq!(entries(ptx), [placed, bounded]);
        assert!(kernel(ptx, "b").unwrap().contains("trap"));
        assert!(!kernel(ptx, "a").unwrap().contains("trap"));
        assert_eq!(kernel(ptx, "c"), None);
    }

    #[test]
    fn a_kernel_stands_alone_with_what_is_no_kernel() {
        let ptx = ".const .b8 w[4];\n.visible .entry a(\n.param .u64 a_0\n)\n{\n{ // callseq\nret;\n}\n}\n\
                   .func f()\n{\nret;\n}\n.weak .entry b()\n{\ntrap;\n}\n\t.file\t1 \"k.cu\"\n";
        let a = alone(ptx, "a");
        assert!(a.contains(".visible .entry a(") && a.contains("callseq") && !a.contains("trap"));
        let b = alone(ptx, "b");
        assert!(b.contains("\n.weak .entry b()\n{\ntrap;\n}") && !b.contains("callseq"));
        for text in [&a, &b] {
            assert!(
                text.contains(".const") && text.contains(".func f()") && text.contains(".file")
            );
        }
        let open = ".entry a()\n{\n.entry b()\n{\n}\n";
        assert_eq!(alone(open, "b"), open);
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
            alone(&text, "x");
        }
    }
}
