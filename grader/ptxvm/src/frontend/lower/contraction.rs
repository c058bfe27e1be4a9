//! Products that become one operation with the sum or difference that they go into, rounded once. The PTX ISA allows that where neither
//! has a rounding modifier (9.7.3.3 to 9.7.3.5, 9.7.4.1 to 9.7.4.3), and NVIDIA's assembler does it. nvcc itself makes `fma` of `a * b + c`
//! and leaves `a - b * c`, `a * b - c`, products that several sums use, and those of halves (`__hadd(__hmul(a, b), c)`) to the assembler.
//!
//! What `ptxas` of CUDA 13.0 does, as its machine code for `sm_75` and `sm_90` shows, at any level of optimisation above 0:
//!
//! - A product has no guard and no `.sat`. The sum has its type and its `.ftz`; it may have `.sat` and a guard.
//! - All that uses the product are such sums in its basic block. Then all of them are contracted, and the product itself is not computed; else
//!   none is. Copies (`mov`) and negatives (`neg`) of the product count as itself.
//! - Calls end a block, too, and whatever becomes several blocks of machine code ([`ends_block`]), such as a division.
//! - Of two products that meet in a sum, the one with fewer uses is contracted, or else the first operand. One that is not must be
//!   computed: later sums of it are not contracted either, nor earlier ones if the other has fewer uses.
//! - `p + p` and `p - p` are not contracted.
//!
//! Three things that `ptxas` does as well are left out: it contracts where a factor has got another value since, where braces hide a
//! factor from the sum, and, in unrolled loops, across the border of two iterations.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::dependence::{base, instructions, names};
use crate::frontend::syntax::ast::{Instruction, Line, Operand, Registers, Statement};

/// What becomes of an instruction.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Contracted {
    /// A product: it is not computed.
    Product,
    /// A sum or difference that multiplies: the line of the product, which of its sources that is, and whether it is its negative.
    Sum { product: usize, source: usize, negated: bool },
}

/// A register: the number of the braces that declare it, and its name.
type Register<'a> = (usize, &'a str);

/// The kind of a product or a sum: its type, and whether it has `.ftz`.
type Kind<'a> = (&'a str, bool);

/// A product and what uses it.
struct Product<'a> {
    line: usize,
    block: usize,
    kind: Kind<'a>,
    factors: Vec<Register<'a>>,
    /// Lines of sums, and which source it is there.
    uses: Vec<(usize, usize)>,
    /// The lines of those where it is its negative.
    negated: HashSet<usize>,
    /// The lines that copy or negate it.
    copies: Vec<usize>,
    /// A factor has changed since.
    is_stale: bool,
    /// It is needed for something else than sums.
    is_needed: bool,
}

/// The instructions of a body that are contracted, by line.
pub(super) fn contracted(lines: &[Line]) -> HashMap<usize, Contracted> {
    let mut found = HashMap::new();
    let is = |kind: fn(&Instruction) -> bool| instructions(lines).any(|(_, instr)| kind(instr));
    if !is(|instr| product_kind(instr).is_some()) || !is(|instr| sum_kind(instr).is_some()) {
        return found;
    }
    let products = products(lines);
    // Of each sum the products, by the source that they are.
    let mut sums: BTreeMap<usize, BTreeMap<usize, &Product>> = BTreeMap::new();
    for product in &products {
        for &(line, source) in &product.uses {
            sums.entry(line).or_default().insert(source, product);
        }
    }
    let may_be_contracted = |product: &Product| {
        product.uses.iter().all(|(line, source)| {
            let mut all = sums[line].iter();
            all.all(|(at, other)| at == source || !other.beats(*at, product, *source))
        })
    };
    // The products that are not contracted in a sum so far.
    let mut computed: HashSet<usize> = HashSet::new();
    for (&line, all) in &sums {
        let winner = all
            .iter()
            .find(|(_, product)| !computed.contains(&product.line) && may_be_contracted(product))
            .map(|(&source, product)| (source, product.line, product.negated.contains(&line)));
        if let Some((source, product, negated)) = winner {
            found.insert(line, Contracted::Sum { product, source, negated });
        }
        let rest = all.values().map(|product| product.line);
        computed.extend(rest.filter(|&at| winner.is_none_or(|(_, product, _)| product != at)));
    }
    for product in products.iter().filter(|product| !computed.contains(&product.line)) {
        let lines = product.copies.iter().chain([&product.line]);
        found.extend(lines.map(|&at| (at, Contracted::Product)));
    }
    found
}

impl Product<'_> {
    /// Whether it, and not another product, is the one that is contracted where both meet, as these sources.
    fn beats(&self, source: usize, other: &Self, other_source: usize) -> bool {
        match self.uses.len().cmp(&other.uses.len()) {
            Ordering::Less => true,
            // Where both have several, it depends on what was contracted before.
            Ordering::Equal => self.uses.len() == 1 && source < other_source,
            Ordering::Greater => false,
        }
    }
}

/// The products that nothing uses but sums in their blocks, while their factors are unchanged.
fn products<'a>(lines: &[Line<'a>]) -> Vec<Product<'a>> {
    let mut products: Vec<Product> = Vec::new();
    let mut of_register: HashMap<Register, usize> = HashMap::new();
    each_instruction(lines, |line, block, instruction, scopes| {
        let (Some(kind), [Operand::Name(name), factors @ ..]) =
            (product_kind(instruction), instruction.operands.as_slice())
        else {
            return;
        };
        let factors = factors.iter().flat_map(names).map(|name| scopes.find(name)).collect();
        let product = Product {
            line,
            block,
            kind,
            factors,
            uses: Vec::new(),
            negated: HashSet::new(),
            copies: Vec::new(),
            is_stale: false,
            is_needed: false,
        };
        if let Some(old) = of_register.insert(scopes.find(name), products.len()) {
            // A register of two products is not followed.
            products[old].is_needed = true;
        }
        products.push(product);
    });
    let holders = holders(lines, &of_register, &mut products);
    // Products of the block so far.
    let (mut here, mut last) = (Vec::new(), usize::MAX);
    each_instruction(lines, |line, block, instruction, scopes| {
        if block != last {
            here.clear();
            last = block;
        }
        let sum = sum_kind(instruction);
        for (source, operand) in instruction.operands.iter().enumerate() {
            for name in names(operand) {
                let Some(&Holder { number, since, negated }) = holders.get(&scopes.find(name))
                else {
                    continue;
                };
                let product = &mut products[number];
                if product.copies.contains(&line) {
                    continue;
                }
                if product.line == line && source == 0 {
                    here.push(number);
                    continue;
                }
                let is_whole = matches!(operand, Operand::Name(_)) && source > 0;
                let is_first = product.uses.last().is_none_or(|&(at, _)| at != line);
                let follows = product.block == block && since < line && !product.is_stale;
                let is_visible =
                    product.factors.iter().all(|&factor| scopes.find(factor.1) == factor);
                if is_whole && is_first && follows && is_visible && sum == Some(product.kind) {
                    product.uses.push((line, source));
                    if negated {
                        product.negated.insert(line);
                    }
                } else {
                    product.is_needed = true;
                }
            }
        }
        for name in instruction.operands.first().into_iter().flat_map(names) {
            let register = scopes.find(name);
            for &number in &here {
                products[number].is_stale |= products[number].factors.contains(&register);
            }
        }
    });
    products.retain(|product| !product.is_needed && !product.uses.is_empty());
    products
}

/// A register that holds a product.
#[derive(Clone, Copy)]
struct Holder {
    number: usize,
    /// The line that sets it.
    since: usize,
    /// It holds its negative.
    negated: bool,
}

/// The registers that hold a product. Copies are noted with their products.
fn holders<'a>(
    lines: &[Line<'a>],
    of_register: &HashMap<Register<'a>, usize>,
    products: &mut [Product<'a>],
) -> HashMap<Register<'a>, Holder> {
    let mut setters: HashMap<Register, usize> = HashMap::new();
    each_instruction(lines, |_, _, instruction, scopes| {
        for name in instruction.operands.first().into_iter().flat_map(names) {
            *setters.entry(scopes.find(name)).or_default() += 1;
        }
    });
    let own = |number: usize| Holder { number, since: products[number].line, negated: false };
    let mut holders: HashMap<Register, Holder> =
        of_register.iter().map(|(&register, &number)| (register, own(number))).collect();
    each_instruction(lines, |line, block, instruction, scopes| {
        let Some((to, from, negates)) = copy(instruction) else { return };
        let to = scopes.find(to);
        let Some(&Holder { number, since, negated }) = holders.get(&scopes.find(from)) else {
            return;
        };
        let product = &mut products[number];
        let fits = !negates || matches!(product.kind.0, "f32" | "f64");
        let follows = product.block == block && since < line;
        if fits && follows && setters.get(&to) == Some(&1) && !holders.contains_key(&to) {
            product.copies.push(line);
            holders.insert(to, Holder { number, since: line, negated: negated != negates });
        }
    });
    holders
}

/// Calls `visit` with each instruction: its line, the number of its basic block, and what the names in it mean.
fn each_instruction<'l, 'a>(
    lines: &'l [Line<'a>],
    mut visit: impl FnMut(usize, usize, &'l Instruction<'a>, &Scopes<'l, 'a>),
) {
    let targets: HashSet<&str> = instructions(lines)
        .filter(|(_, instruction)| base(instruction) == "bra")
        .flat_map(|(_, instruction)| instruction.operands.iter().flat_map(names))
        .collect();
    let (mut block, mut scopes) = (0, Scopes::default());
    for (index, line) in lines.iter().enumerate() {
        match &line.statement {
            Statement::Instruction(instruction) => {
                visit(index, block, instruction, &scopes);
                block += usize::from(ends_block(instruction));
            }
            Statement::Label(name) => block += usize::from(targets.contains(name)),
            Statement::Registers(registers) => scopes.declare(registers),
            Statement::OpenScope => scopes.open(index + 1),
            Statement::CloseScope => scopes.close(),
            _ => {}
        }
    }
}

/// Whether the machine code of an instruction ends a basic block. Beside branches and calls these are fences, and whatever has a slow path or calls a
/// function: divisions, reciprocals and roots that are rounded as IEEE 754 says, and divisions of integers but those of `u32`, which `ptxas`
/// writes out. Found by looking at the machine code of a product, the instruction and a difference of the product.
fn ends_block(instruction: &Instruction) -> bool {
    let has = |modifier: &str| instruction.opcode.split('.').any(|part| part == modifier);
    let is_float = has("f32") || has("f64");
    match base(instruction) {
        "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" | "membar" => true,
        "fence" => !has("proxy"),
        "div" | "rcp" | "sqrt" if is_float => !has("approx") && !has("full"),
        "rsqrt" => has("f64") && !has("ftz"),
        "div" | "rem" => !has("u32"),
        _ => false,
    }
}

/// The destination and the source of a copy of a register, and whether it negates.
fn copy<'a>(instruction: &Instruction<'a>) -> Option<(&'a str, &'a str, bool)> {
    let negates = match instruction.opcode {
        "mov.f32" | "mov.b32" | "mov.f64" | "mov.b64" | "mov.b16" => false,
        "neg.f32" | "neg.f64" => true,
        _ => return None,
    };
    match (instruction.predicate, instruction.operands.as_slice()) {
        (None, [Operand::Name(to), Operand::Name(from)]) => Some((to, from, negates)),
        _ => None,
    }
}

/// The registers that braces inside the function declare.
#[derive(Default)]
struct Scopes<'l, 'a>(Vec<(usize, Vec<&'l Registers<'a>>)>);

impl<'l, 'a> Scopes<'l, 'a> {
    /// `number` differs for all braces, and is not 0, which is the function's own.
    fn open(&mut self, number: usize) {
        self.0.push((number, Vec::new()));
    }

    fn close(&mut self) {
        self.0.pop();
    }

    fn declare(&mut self, registers: &'l Registers<'a>) {
        if let Some((_, declared)) = self.0.last_mut() {
            declared.push(registers);
        }
    }

    fn find(&self, name: &'a str) -> Register<'a> {
        let declares = |registers: &&Registers| match registers.count {
            None => registers.name == name,
            Some(_) => name.strip_prefix(registers.name).is_some_and(|rest| {
                !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
            }),
        };
        let inner = self.0.iter().rev().find(|(_, declared)| declared.iter().any(declares));
        (inner.map_or(0, |(number, _)| *number), name)
    }
}

/// The kind of a product that may be contracted.
fn product_kind<'a>(instruction: &Instruction<'a>) -> Option<Kind<'a>> {
    let (base, kind, saturates) = kind(instruction)?;
    (base == "mul" && !saturates && instruction.predicate.is_none()).then_some(kind)
}

/// The kind of a sum or difference that may be contracted.
fn sum_kind<'a>(instruction: &Instruction<'a>) -> Option<Kind<'a>> {
    let (base, kind, _) = kind(instruction)?;
    matches!(base, "add" | "sub").then_some(kind)
}

/// The opcode, the kind, and whether there is `.sat`, if there is no other modifier.
fn kind<'a>(instruction: &Instruction<'a>) -> Option<(&'a str, Kind<'a>, bool)> {
    let mut parts = instruction.opcode.split('.');
    let base = parts.next()?;
    let ty = parts.next_back()?;
    if !["mul", "add", "sub"].contains(&base)
        || !["f32", "f64", "f16", "f16x2", "bf16", "bf16x2"].contains(&ty)
        || instruction.operands.len() != 3
    {
        return None;
    }
    let (mut flushes, mut saturates) = (false, false);
    for part in parts {
        match part {
            "ftz" => flushes = true,
            "sat" => saturates = true,
            _ => return None,
        }
    }
    Some((base, (ty, flushes), saturates))
}

/// The opcode with these modifiers, of a type that the kind of a sum may have.
macro_rules! opcodes {
    ($base:literal, $ty:expr, $flushes:expr, $saturates:expr) => {
        match ($ty, $flushes, $saturates) {
            ("f32", false, false) => concat!($base, ".f32"),
            ("f32", false, true) => concat!($base, ".sat.f32"),
            ("f32", true, false) => concat!($base, ".ftz.f32"),
            ("f32", true, true) => concat!($base, ".ftz.sat.f32"),
            ("f16", false, false) => concat!($base, ".f16"),
            ("f16", false, true) => concat!($base, ".sat.f16"),
            ("f16", true, false) => concat!($base, ".ftz.f16"),
            ("f16", true, true) => concat!($base, ".ftz.sat.f16"),
            ("f16x2", false, false) => concat!($base, ".f16x2"),
            ("f16x2", false, true) => concat!($base, ".sat.f16x2"),
            ("f16x2", true, false) => concat!($base, ".ftz.f16x2"),
            ("f16x2", true, true) => concat!($base, ".ftz.sat.f16x2"),
            ("f64", false, false) => concat!($base, ".f64"),
            ("bf16", false, false) => concat!($base, ".bf16"),
            ("bf16x2", false, false) => concat!($base, ".bf16x2"),
            _ => return None,
        }
    };
}

/// The sum at a line as one instruction with its product.
pub(super) fn contract<'a>(
    sum: &Instruction<'a>,
    product: &Instruction<'a>,
    source: usize,
    negated: bool,
) -> Option<Instruction<'a>> {
    let (base, (ty, flushes), saturates) = kind(sum)?;
    let opcode = match (base, source, negated) {
        ("add", _, false) | ("sub", 2, true) => opcodes!("fma.rn", ty, flushes, saturates),
        ("sub", 1, false) => opcodes!("mul-sub", ty, flushes, saturates),
        ("sub", 1, true) => opcodes!("neg-mul-sub", ty, flushes, saturates),
        _ => opcodes!("sub-mul", ty, flushes, saturates),
    };
    let [d, first, second] = sum.operands.as_slice() else { return None };
    let [_, a, b] = product.operands.as_slice() else { return None };
    let other = if source == 1 { second } else { first };
    let operands = [d, a, b, other].map(Operand::clone).to_vec();
    Some(Instruction { predicate: sum.predicate, opcode, operands })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::syntax::parser::parse;

    /// What a kernel with these instructions is contracted to: of each line that is the opcode, `-` where it is not computed.
    fn lines(body: &str) -> Vec<String> {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {{\n.reg .f32 %f<20>;\n{body}\n}}"
        );
        let file = parse(&text).expect("it parses");
        let lines = file.functions[0].body.clone().expect("a body");
        let all = contracted(&lines);
        let of = |(index, instruction): (usize, &Instruction)| match all.get(&index) {
            None => String::new(),
            Some(Contracted::Product) => "-".to_owned(),
            Some(Contracted::Sum { product, source, negated }) => {
                let Statement::Instruction(product) = &lines[*product].statement else {
                    panic!("a product");
                };
                let fused = contract(instruction, product, *source, *negated);
                fused.expect("it is contracted").opcode.to_owned()
            }
        };
        instructions(&lines).map(of).collect()
    }

    const AB: &str = "mul.f32 %f7,%f1,%f2;";
    const CD: &str = "mul.f32 %f8,%f3,%f4;";

    #[test]
    fn sums_of_a_product_are_contracted() {
        let of = |sum: &str| lines(&format!("{AB} {sum}"));
        assert_eq!(of("add.f32 %f9,%f3,%f7;"), ["-", "fma.rn.f32"]);
        assert_eq!(of("sub.f32 %f9,%f3,%f7;"), ["-", "sub-mul.f32"]);
        assert_eq!(of("@%p1 sub.sat.f32 %f9,%f7,%f3;"), ["-", "mul-sub.sat.f32"]);
        assert_eq!(of("bar.sync 0; sub.f32 %f9,%f7,0f3F800000;"), ["-", "", "mul-sub.f32"]);
        assert_eq!(
            of("sub.f32 %f9,%f3,%f7; sub.f32 %f10,%f7,%f4;"),
            ["-", "sub-mul.f32", "mul-sub.f32"]
        );
        assert_eq!(of("sub.f32 %f1,%f3,%f7;"), ["-", "sub-mul.f32"]);
        for left in ["add.rn.f32 %f9,%f3,%f7;", "add.ftz.f32 %f9,%f3,%f7;", "sub.f32 %f9,%f7,%f7;"]
        {
            assert_eq!(of(left), ["", ""], "{left}");
        }
    }

    #[test]
    fn a_product_that_is_needed_elsewhere_is_computed() {
        let sum = "sub.f32 %f9,%f3,%f7;";
        for other in [
            "st.global.f32 [%rd1],%f7;",
            "mul.f32 %f10,%f7,%f3;",
            "mul.f32 %f7,%f3,%f4;",
            "bra L; L: add.f32 %f10,%f7,%f3;",
        ] {
            assert!(lines(&format!("{AB} {sum} {other}")).iter().all(String::is_empty), "{other}");
        }
        for between in ["@%p1 bra L;", "@%p1 exit;", "call g;", "mov.f32 %f1,%f5;"] {
            let all = lines(&format!("{AB} {between} {sum} L:"));
            assert!(all.iter().all(String::is_empty), "{between}");
        }
        assert_eq!(lines(&format!("L: {AB} {sum} bra L;")), ["-", "sub-mul.f32", ""]);
        assert_eq!(lines(&format!("{AB} M: {sum}")), ["-", "sub-mul.f32"]);
        for product in ["mul.rn.f32", "mul.sat.f32", "@%p1 mul.f32"] {
            let all = lines(&format!("{product} %f7,%f1,%f2; {sum}"));
            assert_eq!(all, ["", ""], "{product}");
        }
    }

    #[test]
    fn one_of_two_products_is_contracted() {
        let of = |sums: &str| lines(&format!("{AB} {CD} {sums}"));
        assert_eq!(of("sub.f32 %f9,%f7,%f8;"), ["-", "", "mul-sub.f32"]);
        assert_eq!(of("sub.f32 %f9,%f8,%f7;"), ["", "-", "mul-sub.f32"]);
        let more = "add.f32 %f10,%f8,%f1;";
        assert_eq!(of(&format!("add.f32 %f9,%f7,%f8; {more}")), ["-", "", "fma.rn.f32", ""]);
        assert_eq!(of(&format!("{more} add.f32 %f9,%f8,%f7;")), ["-", "", "", "fma.rn.f32"]);
        let twice = of("add.f32 %f9,%f7,%f8; sub.f32 %f10,%f8,%f7;");
        assert_eq!(twice, ["-", "", "fma.rn.f32", "sub-mul.f32"]);
        let each = [more, "add.f32 %f11,%f7,%f1;"].concat();
        let both = "add.f32 %f9,%f7,%f8;";
        assert_eq!(
            of(&[&each, both].concat()),
            ["-", "", "fma.rn.f32", "fma.rn.f32", "fma.rn.f32"]
        );
        assert_eq!(of(&[both, &each].concat()), ["-", "", "fma.rn.f32", "", "fma.rn.f32"]);
    }

    #[test]
    fn copies_and_negatives_are_the_product() {
        let of = |rest: &str| lines(&format!("{AB} {rest}"));
        assert_eq!(of("mov.f32 %f8,%f7; sub.f32 %f9,%f3,%f8;"), ["-", "-", "sub-mul.f32"]);
        assert_eq!(of("neg.f32 %f8,%f7; add.f32 %f9,%f3,%f8;"), ["-", "-", "sub-mul.f32"]);
        assert_eq!(of("neg.f32 %f8,%f7; sub.f32 %f9,%f8,%f3;"), ["-", "-", "neg-mul-sub.f32"]);
        assert_eq!(of("neg.f32 %f8,%f7; sub.f32 %f9,%f3,%f8;"), ["-", "-", "fma.rn.f32"]);
        assert_eq!(
            of("neg.f32 %f8,%f7; sub.f32 %f9,%f3,%f7; add.f32 %f10,%f8,%f4;"),
            ["-", "-", "sub-mul.f32", "sub-mul.f32"]
        );
        assert_eq!(
            of("mov.f32 %f8,%f7; mov.f32 %f13,%f8; sub.f32 %f9,%f3,%f13;"),
            ["-", "-", "-", "sub-mul.f32"]
        );
        for needed in [
            "mov.f32 %f10,%f7; sub.f32 %f9,%f3,%f7; st.global.f32 [%rd1],%f10;",
            "neg.f32 %f8,%f7; add.f32 %f9,%f8,%f7;",
            "abs.f32 %f8,%f7; add.f32 %f9,%f3,%f8;",
            "mov.f32 %f8,%f7; bra L; L: sub.f32 %f9,%f3,%f8;",
            "mov.f32 %f8,%f3; @%p1 mov.f32 %f8,%f7; sub.f32 %f9,%f3,%f8;",
            "mov.f32 %f8,%f7; mov.f32 %f8,%f3; sub.f32 %f9,%f3,%f8;",
            // The copy is read in the next round.
            "L: sub.f32 %f9,%f3,%f8; mov.f32 %f8,%f7; sub.f32 %f10,%f3,%f7; bra L;",
            "sub.f32 %f9,%f3,%f8; mov.f32 %f8,%f7; sub.f32 %f10,%f3,%f7;",
            "mov.f32 %f8,%f7; sub.f32 %f9,%f3,%f7; bra B; A: sub.f32 %f10,%f3,%f8; B: bra A;",
        ] {
            assert!(of(needed).iter().all(String::is_empty), "{needed}");
        }
    }

    #[test]
    fn what_becomes_several_blocks_ends_one() {
        let between = |one: &str| lines(&format!("{AB} {one} sub.f32 %f9,%f3,%f7;"));
        for one in [
            "div.rn.f32 %f10,%f3,%f4;",
            "div.rn.ftz.f32 %f10,%f3,2.0;",
            "rcp.rz.f32 %f10,%f4;",
            "sqrt.rn.f32 %f10,%f4;",
            "div.rn.f64 %d3,%d1,%d2;",
            "rsqrt.approx.f64 %d3,%d1;",
            "div.s32 %r3,%r1,%r2;",
            "rem.u64 %q3,%q1,%q2;",
            "div.s16 %h3,%h1,%h2;",
            "membar.gl;",
            "fence.acq_rel.gpu;",
        ] {
            assert_eq!(between(one), ["", "", ""], "{one}");
        }
        for one in [
            "div.approx.f32 %f10,%f3,%f4;",
            "div.full.f32 %f10,%f3,%f4;",
            "rcp.approx.f32 %f10,%f4;",
            "rsqrt.approx.ftz.f64 %d3,%d1;",
            "div.u32 %r3,%r1,%r2;",
            "fence.proxy.async;",
            "atom.shared.add.f32 %f10,[%r1],%f4;",
        ] {
            assert_eq!(between(one), ["-", "", "sub-mul.f32"], "{one}");
        }
    }

    #[test]
    fn names_in_braces_are_others() {
        let half = |sum: &str| {
            format!(
                "{{.reg .f32 %q; mul.f32 %q,%f1,%f2; mov.f32 %f5,%q;}} {{.reg .f32 %q; mul.f32 %q,%f3,%f4; {sum} }}"
            )
        };
        // The copy is the first of the two products that meet.
        assert_eq!(lines(&half("sub.f32 %f9,%f5,%q;")), ["-", "-", "", "mul-sub.f32"]);
        assert_eq!(lines(&half("sub.f32 %f9,%f3,%q;")), ["", "", "-", "sub-mul.f32"]);
        // The sum does not see this factor.
        let hidden = "{.reg .f32 %q; mov.f32 %q,%f1; mul.f32 %f7,%q,%f2;} sub.f32 %f9,%f3,%f7;";
        assert_eq!(lines(hidden), ["", "", ""]);
    }
}
