//! What depends on what in a kernel: the program dependence graph (Ferrante, Ottenstein and Warren, "The Program Dependence
//! Graph and Its Use in Optimization", 1987), without regard to the order of instructions, so that it names too many
//! dependences rather than too few.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::cfg::Cfg;
use super::postdom;
use crate::frontend::syntax::ast::{AddressBase, Instruction, Line, Operand, Statement};

/// What values flow through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Node<'a> {
    /// A register, a parameter, or the address of a variable.
    Name(&'a str),
    /// What lies in a variable.
    Contents(&'a str),
    /// The decision of the branch that ends a block.
    Branch(usize),
}

/// Where a pointer may come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Roots<'a> {
    /// The names of parameters and variables.
    pub names: BTreeSet<&'a str>,
    /// Whether it may be a pointer that lay in memory, or a number.
    pub unknown: bool,
}

impl Roots<'_> {
    /// Whether two pointers may lead to the same memory.
    pub fn may_meet(&self, other: &Self) -> bool {
        self.unknown || other.unknown || !self.names.is_disjoint(&other.names)
    }
}

/// The dependences of one body.
pub(super) struct Dependence<'l, 'a> {
    lines: &'l [Line<'a>],
    /// Where the values of a node go.
    flows: HashMap<Node<'a>, Vec<Node<'a>>>,
    /// The registers that a branch decides over, because they are set only if it goes one way.
    decided: HashMap<usize, Vec<Node<'a>>>,
    /// The instructions that set each register.
    setters: HashMap<&'a str, Vec<usize>>,
    /// The branches that decide whether each block runs.
    control: Vec<BTreeSet<usize>>,
}

impl<'l, 'a> Dependence<'l, 'a> {
    /// The dependences of a body; None if it calls functions, or a label is not the only one of its name.
    pub fn of(lines: &'l [Line<'a>]) -> Option<Self> {
        let (cfg, blocks) = graph(lines)?;
        let control = control_dependence(&cfg);
        let mut graph = Self {
            lines,
            flows: HashMap::new(),
            decided: HashMap::new(),
            setters: HashMap::new(),
            control,
        };
        for (index, instruction) in instructions(lines) {
            for name in results(instruction) {
                graph.setters.entry(name).or_default().push(index);
            }
        }
        for (index, instruction) in instructions(lines) {
            graph.note_flows(index, instruction, blocks[index]);
        }
        Some(graph)
    }

    fn note_flows(&mut self, index: usize, instruction: &Instruction<'a>, block: usize) {
        let targets: Vec<Node> = results(instruction).into_iter().map(Node::Name).collect();
        let mut sources: Vec<Node> = sources(instruction).into_iter().map(Node::Name).collect();
        sources.extend(instruction.predicate.map(|guard| Node::Name(guard.name)));
        let is_own = has(instruction, "shared") || has(instruction, "local");
        if base(instruction) == "ld" && is_own {
            let roots = self.roots(instruction);
            sources.extend(roots.names.into_iter().map(Node::Contents));
        }
        if base(instruction) == "bra" {
            self.flow(&sources, &[Node::Branch(block)]);
        }
        // Who stores by `volatile` wants it to be seen by others.
        if base(instruction) == "st" && is_own && !has(instruction, "volatile") {
            let roots = self.roots(instruction);
            let contents: Vec<Node> = roots.names.into_iter().map(Node::Contents).collect();
            let stored: Vec<Node> = self.stored(index).into_iter().map(Node::Name).collect();
            self.flow(&stored, &contents);
        }
        self.flow(&sources, &targets);
        for &branch in &self.control[block] {
            self.decided.entry(branch).or_default().extend(&targets);
        }
    }

    fn flow(&mut self, sources: &[Node<'a>], targets: &[Node<'a>]) {
        for &source in sources {
            self.flows.entry(source).or_default().extend(targets);
        }
    }

    fn instruction(&self, index: usize) -> Option<&'l Instruction<'a>> {
        match &self.lines.get(index)?.statement {
            Statement::Instruction(instruction) => Some(instruction),
            _ => None,
        }
    }

    /// Where the address of a load, a store or an atomic may come from.
    pub fn roots(&self, instruction: &Instruction<'a>) -> Roots<'a> {
        let mut roots = Roots::default();
        let address = instruction.operands.iter().find_map(|operand| match operand {
            Operand::Address { base: AddressBase::Name(name), .. } => Some(*name),
            _ => None,
        });
        let Some(address) = address else {
            roots.unknown = true;
            return roots;
        };
        let (mut seen, mut left) = (HashSet::new(), vec![address]);
        while let Some(name) = left.pop() {
            if !seen.insert(name) {
                continue;
            }
            let Some(setters) = self.setters.get(name) else {
                roots.names.insert(name);
                continue;
            };
            for setter in setters.iter().filter_map(|&at| self.instruction(at)) {
                let is_param = has(setter, "param");
                if matches!(base(setter), "ld" | "atom") && !is_param {
                    // An index is of 32 bits.
                    roots.unknown |= setter.opcode.ends_with("64");
                } else if !is_param || setter.opcode.ends_with("64") {
                    left.extend(sources(setter));
                }
            }
        }
        roots.names.retain(|name| !name.starts_with('%'));
        roots.unknown |= roots.names.is_empty();
        roots
    }

    /// The registers that a store or an atomic writes to memory.
    pub fn stored(&self, index: usize) -> Vec<&'a str> {
        let mut names = Vec::new();
        for operand in self.instruction(index).iter().flat_map(|one| &one.operands) {
            if !matches!(operand, Operand::Address { .. }) {
                each_name(operand, &mut names);
            }
        }
        names
    }

    /// All registers that the results of an instruction reach by way of data, and the branches whose conditions they reach.
    /// `by_control`: through what such a branch decides, as well.
    pub fn reached(&self, index: usize, by_control: bool) -> (HashSet<&'a str>, HashSet<usize>) {
        let (mut names, mut branches) = (HashSet::new(), HashSet::new());
        let mut seen = HashSet::new();
        let mut left: Vec<Node> =
            self.instruction(index).into_iter().flat_map(results).map(Node::Name).collect();
        while let Some(node) = left.pop() {
            if !seen.insert(node) {
                continue;
            }
            match node {
                Node::Name(name) => {
                    names.insert(name);
                }
                Node::Branch(branch) => {
                    branches.insert(branch);
                    if by_control {
                        left.extend(self.decided.get(&branch).into_iter().flatten());
                    }
                }
                Node::Contents(_) => {}
            }
            left.extend(self.flows.get(&node).into_iter().flatten());
        }
        (names, branches)
    }

    /// The branches that decide whether they run again: the exits of loops.
    pub fn loop_exits(&self) -> BTreeSet<usize> {
        (0..self.control.len()).filter(|&block| self.decides_over(block, block)).collect()
    }

    /// The branches that decide directly whether one of some blocks runs.
    pub fn guards_of(&self, blocks: &BTreeSet<usize>) -> BTreeSet<usize> {
        blocks.iter().flat_map(|&block| &self.control[block]).copied().collect()
    }

    /// Whether a branch decides, directly or by way of others, whether a block runs.
    fn decides_over(&self, branch: usize, block: usize) -> bool {
        let (mut seen, mut left) = (BTreeSet::new(), vec![block]);
        while let Some(block) = left.pop() {
            for &by in &self.control[block] {
                if by == branch {
                    return true;
                }
                if seen.insert(by) {
                    left.push(by);
                }
            }
        }
        false
    }
}

/// The instructions of a body, with the indices of their lines.
pub(super) fn instructions<'l, 'a>(
    lines: &'l [Line<'a>],
) -> impl Iterator<Item = (usize, &'l Instruction<'a>)> {
    lines.iter().enumerate().filter_map(|(index, line)| match &line.statement {
        Statement::Instruction(instruction) => Some((index, instruction)),
        _ => None,
    })
}

/// The opcode without its modifiers.
pub(super) fn base<'a>(instruction: &Instruction<'a>) -> &'a str {
    instruction.opcode.split('.').next().unwrap_or_default()
}

/// Whether an opcode has a modifier.
pub(super) fn has(instruction: &Instruction, modifier: &str) -> bool {
    instruction.opcode.split('.').any(|part| part == modifier)
}

/// The flag of `add.cc` and `addc`.
const CARRY: &str = "%cc";

/// The registers that an instruction sets. Where it is not known to set none, the first operand counts as its result.
fn results<'a>(instruction: &Instruction<'a>) -> Vec<&'a str> {
    let mut names = Vec::new();
    let none = ["st", "red", "bra", "call", "ret", "exit", "trap", "fence", "membar", "cp"];
    if none.contains(&base(instruction)) || has(instruction, "store") {
        return names;
    }
    let first = instruction.operands.first();
    if let Some(operand @ (Operand::Name(_) | Operand::Vector(_) | Operand::Pair(_))) = first {
        each_name(operand, &mut names);
    }
    if has(instruction, "cc") {
        names.push(CARRY);
    }
    names
}

/// The registers, parameters and variables that an instruction reads.
fn sources<'a>(instruction: &Instruction<'a>) -> Vec<&'a str> {
    let mut names = Vec::new();
    let skipped = usize::from(!results(instruction).is_empty());
    for operand in instruction.operands.iter().skip(skipped) {
        each_name(operand, &mut names);
    }
    if matches!(base(instruction), "addc" | "subc" | "madc") {
        names.push(CARRY);
    }
    names
}

/// The names in an operand.
pub(super) fn names<'a>(operand: &Operand<'a>) -> Vec<&'a str> {
    let mut names = Vec::new();
    each_name(operand, &mut names);
    names
}

fn each_name<'a>(operand: &Operand<'a>, names: &mut Vec<&'a str>) {
    match operand {
        Operand::Name(name)
        | Operand::Offset(name, _)
        | Operand::Not(name)
        | Operand::Address { base: AddressBase::Name(name), .. } => names.push(name),
        Operand::Indexed { base, indices } => {
            names.push(base);
            for one in indices {
                each_name(one, names);
            }
        }
        Operand::Vector(all) | Operand::List(all) => {
            for one in all {
                each_name(one, names);
            }
        }
        Operand::Pair(pair) => {
            each_name(&pair.0, names);
            each_name(&pair.1, names);
        }
        _ => {}
    }
}

/// The control flow of a body, by lines, and the block of each line.
fn graph(lines: &[Line]) -> Option<(Cfg, Vec<usize>)> {
    let mut labels = HashMap::new();
    let mut leader = vec![false; lines.len() + 1];
    leader[0] = true;
    for (index, line) in lines.iter().enumerate() {
        match &line.statement {
            Statement::Label(name) => {
                leader[index] = true;
                if labels.insert(*name, index).is_some() {
                    return None;
                }
            }
            Statement::Instruction(one) => match base(one) {
                "bra" | "ret" | "exit" | "trap" => leader[index + 1] = true,
                "call" if !calls_system(one) => return None,
                _ => {}
            },
            _ => {}
        }
    }
    let starts: Vec<u32> = (0..lines.len()).filter(|&at| leader[at]).map(|at| at as u32).collect();
    let exit = starts.len();
    let mut blocks = vec![0; lines.len()];
    let mut successors = Vec::with_capacity(exit);
    for (block, &start) in starts.iter().enumerate() {
        let end = starts.get(block + 1).map_or(lines.len(), |&next| next as usize);
        blocks[start as usize..end].fill(block);
        let last = match &lines[end - 1].statement {
            Statement::Instruction(one) => Some(one),
            _ => None,
        };
        let target = match last.map(|one| (base(one), one.operands.first())) {
            Some(("bra", Some(Operand::Name(label)))) => {
                let at = *labels.get(label)? as u32;
                Some(starts.binary_search(&at).unwrap_or(exit))
            }
            Some(("ret" | "exit" | "trap", _)) => Some(exit),
            _ => None,
        };
        let goes_on = target.is_none() || last.is_some_and(|one| one.predicate.is_some());
        successors.push(target.into_iter().chain(goes_on.then_some(block + 1)).collect());
    }
    Some((Cfg { starts, successors }, blocks))
}

/// Whether a call leads to a function of the runtime, which nobody waits by.
fn calls_system(call: &Instruction) -> bool {
    let known = ["vprintf", "__assertfail", "malloc", "free"];
    let of_system = |name: &&str| known.contains(name) || name.starts_with("__cudaCDP2");
    let mut names = Vec::new();
    call.operands.iter().for_each(|operand| each_name(operand, &mut names));
    names.iter().any(of_system)
}

/// For each block the branches that decide whether it runs (Ferrante and others, section 3.1).
fn control_dependence(cfg: &Cfg) -> Vec<BTreeSet<usize>> {
    let joins = postdom::immediate(cfg);
    let mut control = vec![BTreeSet::new(); cfg.exit()];
    for (branch, successors) in cfg.successors.iter().enumerate() {
        if successors.len() < 2 {
            continue;
        }
        for &successor in successors {
            let mut block = successor;
            while block != joins[branch] && block < cfg.exit() && control[block].insert(branch) {
                block = joins[block];
            }
        }
    }
    control
}
