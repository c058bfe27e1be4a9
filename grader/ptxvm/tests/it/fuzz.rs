//! Nothing that comes in can make the machine panic.

use crate::support::fixture;
use proptest::prelude::*;
use ptxvm::{Access, Init, Launch, Memory, Module, Options};

const FIXTURES: [&str; 8] = [
    "fixtures/conv.ptx",
    "fixtures/tiled.ptx",
    "fixtures/control.ptx",
    "fixtures/arithmetic.ptx",
    "fixtures/atomics.ptx",
    "fixtures/warp.ptx",
    "fixtures/half.ptx",
    "fixtures/bad.ptx",
];

/// Loads, and runs every kernel with parameters that look like pointers and like small numbers.
fn load_and_run(text: &str) {
    let Ok(module) = Module::load(text) else { return };
    let mut memory = Memory::default();
    let buffer = memory.alloc(Init::Undefined { len: 1000 }, Access::ReadWrite);
    for kernel in module.kernels() {
        let params = kernel
            .params()
            .iter()
            .map(|param| {
                let mut bytes = vec![0; param.size];
                let value = if param.size == 8 { memory.address(buffer) } else { 9 };
                let count = param.size.min(8);
                bytes[..count].copy_from_slice(&value.to_le_bytes()[..count]);
                bytes
            })
            .collect();
        let launch = Launch { grid: [2, 1, 1], block: [48, 2, 1], dynamic_shared: 256, params };
        let options = Options { budget: 3000, ..Options::default() };
        // Parameters of a mutated kernel may be too many; anything but a panic is right.
        let _ = ptxvm::launch(&module, kernel, &launch, &mut memory, &options);
    }
}

/// One change of a text.
#[derive(Clone, Debug)]
enum Change {
    DropLine(prop::sample::Index),
    DoubleLine(prop::sample::Index),
    SwapLines(prop::sample::Index, prop::sample::Index),
    /// Replaces a byte by a printable one.
    Byte(prop::sample::Index, char),
    /// A word of one line takes the place of a word of another.
    Word(prop::sample::Index, prop::sample::Index, prop::sample::Index),
    Truncate(prop::sample::Index),
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        1 => index().prop_map(Change::DropLine),
        1 => index().prop_map(Change::DoubleLine),
        1 => (index(), index()).prop_map(|(a, b)| Change::SwapLines(a, b)),
        1 => (index(), prop::char::range(' ', '~')).prop_map(|(at, c)| Change::Byte(at, c)),
        4 => (index(), index(), index()).prop_map(|(a, b, c)| Change::Word(a, b, c)),
        1 => index().prop_map(Change::Truncate),
    ]
}

fn apply(text: &str, change: &Change) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return String::new();
    }
    match change {
        Change::DropLine(at) => {
            lines.remove(at.index(lines.len()));
        }
        Change::DoubleLine(at) => {
            let at = at.index(lines.len());
            lines.insert(at, lines[at].clone());
        }
        Change::SwapLines(a, b) => {
            let (a, b) = (a.index(lines.len()), b.index(lines.len()));
            lines.swap(a, b);
        }
        Change::Byte(at, c) => {
            let line = at.index(lines.len());
            let column = at.index(lines[line].len().max(1));
            let mut chars: Vec<char> = lines[line].chars().collect();
            if let Some(old) = chars.get_mut(column) {
                *old = *c;
            }
            lines[line] = chars.into_iter().collect();
        }
        Change::Word(from, to, which) => {
            let words: Vec<String> =
                lines[from.index(lines.len())].split_whitespace().map(str::to_owned).collect();
            let line = to.index(lines.len());
            let mut target: Vec<String> =
                lines[line].split_whitespace().map(str::to_owned).collect();
            if !words.is_empty() && !target.is_empty() {
                let at = which.index(target.len());
                target[at].clone_from(&words[which.index(words.len())]);
                lines[line] = target.join(" ");
            }
        }
        Change::Truncate(at) => {
            let text = lines.join("\n");
            return text.chars().take(at.index(text.len().max(1))).collect();
        }
    }
    lines.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_text_loads_or_is_refused(text in "\\PC{0,300}") {
        load_and_run(&text);
    }

    #[test]
    fn any_tokens_load_or_are_refused(words in prop::collection::vec(prop::sample::select(vec![
        ".version", "9.0", ".entry", ".func", "k", "(", ")", "{", "}", ";", ",", "[", "]", ".param", ".u64", ".reg", ".b32",
        "%r1", "%r", "<", ">", "9", "add.s32", "ld.global.f32", "ret", "@", "!", "%p1", "bra", "L", ":", ".loc", "1", "=",
        "0f3F800000", "-", "+", "|", "call", ".shared", ".align", "4", "mov.b64", "\"", ".file", ".pragma",
    ]), 0..60)) {
        load_and_run(&words.join(" "));
    }

    #[test]
    fn mutated_kernels_run_or_are_refused(
        name in prop::sample::select(FIXTURES.to_vec()),
        changes in prop::collection::vec(change(), 1..5),
    ) {
        let text = changes.iter().fold(fixture(name), |text, change| apply(&text, change));
        load_and_run(&text);
    }
}

/// What proptest and reading found: kept as they were.
#[test]
fn known_troublemakers() {
    let wrap = |body: &str| {
        format!(
            ".version 9.0\n.target sm_75\n.visible .entry k(.param .u64 p, .param .u32 n)\n{{\n.reg .b32 %r<9>;\n\
             .reg .b64 %rd<9>;\n.reg .b16 %rs<9>;\n.reg .pred %p<3>;\n.reg .f32 %f<9>;\n{body}\n}}\n"
        )
    };
    for body in [
        "",
        "L: bra L;",
        "ld.param.u64 %rd1, [p+8]; ld.param.u64 %rd1, [p+-8]; ld.param.u64 %rd1, [p+60000];",
        "st.param.u32 [p], %r1;",
        "ld.global.u64 %rd1, [-1]; ld.shared.u64 %rd2, [4294967295]; ld.local.v4.u32 {%r1,%r2,%r3,%r4}, [%rd3+-16];",
        "bar.sync 77; bar.sync %r1, %r2; bar.arrive 3, 0; bar.sync 3, 0;",
        "shl.b32 %r1, %r2, -1; bfe.s32 %r3, %r1, 255, 255; bfi.b64 %rd1, %rd2, %rd3, 200, 200;",
        "div.s32 %r1, -2147483648, -1; rem.s32 %r1, %r1, 0; div.s64 %rd1, -9223372036854775808, -1;",
        "shfl.sync.idx.b32 %r1|%p1, %r2, 99, 99, 0; shfl.sync.up.b32 %r1, %r2, 31, 8191, 0;",
        ".shared .align 4 .b8 s[4294967295];",
        ".shared .b8 s[0]; mov.u32 %r1, s; ld.shared.u8 %r2, [%r1];",
        ".local .align 8 .b8 d[16]; st.local.v2.u64 [d+8], {%rd1, %rd2};",
        ".reg .b32 %r<18446744073709551615>; add.s32 %r17, %r1, %r2;",
        "@%p1 bra L; @!%p1 bra L; L:",
        "mov.b64 {%r1, _}, %rd1; mov.b32 {_, %rs1}, %r1;",
        "atom.shared.cas.b64 %rd1, [%r1], %rd2, %rd3; atom.add.f32 %f1, [%rd1], %f2;",
        "@%p1 bra A; @%p2 bra B; A: @%p0 bra B; bra A; B: @%p1 bra A;",
    ] {
        load_and_run(&wrap(body));
    }
}
