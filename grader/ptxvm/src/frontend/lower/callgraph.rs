//! The call graph: which functions a kernel may call, by name or through pointers, and which of them are on a cycle, so that
//! a thread may have several activations of them (Tarjan, "Depth-First Search and Linear Graph Algorithms", 1972).

use std::collections::{HashMap, HashSet};

use super::context::Context;
use crate::frontend::syntax::ast::{File, Function, InitValue, Instruction, Operand, Statement};

/// Bytes of the results and of the parameters: a pointer may lead to any function that has the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub results: Vec<u64>,
    pub params: Vec<u64>,
}

impl Signature {
    fn of(function: &Function) -> Self {
        Self {
            results: function.results.iter().map(|result| result.size).collect(),
            params: function.params.iter().map(|param| param.size).collect(),
        }
    }
}

/// What a `call` calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target<'a> {
    Name(&'a str),
    /// Through a register; the name is that of the prototype or of the list of targets.
    Pointer(&'a str),
}

/// The target of a `call` and the operands around it.
pub(crate) struct Call<'o, 'a> {
    pub results: &'o [Operand<'a>],
    pub callee: &'a str,
    pub arguments: &'o [Operand<'a>],
    /// Of a call through a pointer.
    pub prototype: Option<&'a str>,
}

impl<'o, 'a> Call<'o, 'a> {
    /// `call (results), function, (arguments), prototype`, all but the function optional; None for another form.
    pub fn parse(operands: &'o [Operand<'a>]) -> Option<Self> {
        let (results, rest) = match operands {
            [Operand::List(results), rest @ ..] => (results.as_slice(), rest),
            rest => ([].as_slice(), rest),
        };
        let (callee, arguments, prototype) = match rest {
            [Operand::Name(name)] => (*name, [].as_slice(), None),
            [Operand::Name(name), Operand::List(arguments)] => (*name, arguments.as_slice(), None),
            [Operand::Name(name), Operand::Name(prototype)] => {
                (*name, [].as_slice(), Some(*prototype))
            }
            [Operand::Name(name), Operand::List(arguments), Operand::Name(prototype)] => {
                (*name, arguments.as_slice(), Some(*prototype))
            }
            _ => return None,
        };
        Some(Self { results, callee, arguments, prototype })
    }

    fn target(&self) -> Target<'a> {
        match self.prototype {
            Some(prototype) => Target::Pointer(prototype),
            None => Target::Name(self.callee),
        }
    }
}

fn is_call(instruction: &Instruction) -> bool {
    instruction.opcode.split('.').next() == Some("call")
}

/// Functions whose address a module takes, in the order of their definition: in the values of variables, and in instructions.
pub(crate) fn taken<'f, 'a>(
    file: &'f File<'a>,
    functions: &HashMap<&'a str, &'f Function<'a>>,
) -> Vec<&'f Function<'a>> {
    let mut names: HashSet<&str> = HashSet::new();
    for value in file.variables.iter().flat_map(|variable| &variable.init) {
        if let InitValue::Symbol { name, .. } = value {
            names.insert(name);
        }
    }
    for line in file.functions.iter().filter_map(|function| function.body.as_deref()).flatten() {
        if let Statement::Instruction(instruction) = &line.statement
            && !is_call(instruction)
        {
            names.extend(instruction.operands.iter().filter_map(|operand| match operand {
                Operand::Name(name) => Some(*name),
                _ => None,
            }));
        }
    }
    let called_by_pointer = |function: &&&Function| {
        function.body.is_some() && !function.is_entry && names.contains(function.name)
    };
    file.functions
        .iter()
        .filter_map(|function| functions.get(function.name))
        .filter(called_by_pointer)
        .copied()
        .filter({
            // A declaration and its definition are one function.
            let mut seen = HashSet::new();
            move |function| seen.insert(function.name)
        })
        .collect()
}

/// The functions that a call through a pointer may reach.
pub(crate) fn candidates<'f, 'a>(
    context: &Context<'f, 'a>,
    caller: &Function<'a>,
    prototype: &str,
) -> Option<Vec<&'f Function<'a>>> {
    let lines = caller.body.as_deref().unwrap_or_default();
    lines.iter().find_map(|line| match &line.statement {
        Statement::Prototype { name, results, params } if *name == prototype => {
            let wanted = Signature { results: results.clone(), params: params.clone() };
            let fits = |function: &&&Function| Signature::of(function) == wanted;
            Some(context.taken.iter().filter(fits).copied().collect())
        }
        Statement::Targets { name, functions } if *name == prototype => {
            let found = functions.iter().filter_map(|name| context.functions.get(name));
            Some(found.filter(|function| function.body.is_some()).copied().collect())
        }
        _ => None,
    })
}

/// The functions that a function may call.
fn called<'f, 'a>(context: &Context<'f, 'a>, caller: &Function<'a>) -> Vec<&'f Function<'a>> {
    let mut all = Vec::new();
    for line in caller.body.as_deref().unwrap_or_default() {
        let Statement::Instruction(instruction) = &line.statement else { continue };
        if !is_call(instruction) {
            continue;
        }
        match Call::parse(&instruction.operands).map(|call| call.target()) {
            Some(Target::Name(name)) => all.extend(context.functions.get(name)),
            Some(Target::Pointer(prototype)) => {
                all.extend(candidates(context, caller, prototype).unwrap_or_default());
            }
            None => {}
        }
    }
    all
}

/// A function on the stack of the search.
struct SearchFrame<'f, 'a> {
    function: &'f str,
    index: u32,
    /// Smallest index that it reaches.
    low: u32,
    calls: Vec<&'f Function<'a>>,
    next: usize,
}

/// The functions that may call themselves, directly or through others, each with the number of its cycle (strongly connected
/// components: Tarjan 1972, without recursion).
pub(crate) fn call_cycles<'f, 'a>(
    context: &Context<'f, 'a>,
    root: &'f Function<'a>,
) -> HashMap<&'f str, u32> {
    let mut call_cycles = HashMap::new();
    let mut indices: HashMap<&str, u32> = HashMap::new();
    // Functions whose component is not known yet, in the order of their index.
    let mut open: Vec<&str> = Vec::new();
    let mut way: Vec<SearchFrame> = Vec::new();
    let enter = |function: &'f Function<'a>, index: u32| SearchFrame {
        function: function.name,
        index,
        low: index,
        calls: called(context, function),
        next: 0,
    };
    indices.insert(root.name, 0);
    open.push(root.name);
    way.push(enter(root, 0));
    while let Some(visit) = way.last_mut() {
        if let Some(&callee) = visit.calls.get(visit.next) {
            visit.next += 1;
            match indices.get(callee.name) {
                Some(&index) if open.contains(&callee.name) => visit.low = visit.low.min(index),
                Some(_) => {}
                None => {
                    let index = indices.len() as u32;
                    indices.insert(callee.name, index);
                    open.push(callee.name);
                    way.push(enter(callee, index));
                }
            }
            continue;
        }
        let Some(done) = way.pop() else { break };
        if let Some(above) = way.last_mut() {
            above.low = above.low.min(done.low);
        }
        if done.low < done.index {
            continue;
        }
        let start = open.iter().rposition(|&name| name == done.function).unwrap_or(open.len());
        let members = open.split_off(start);
        let calls_itself = done.calls.iter().any(|callee| callee.name == done.function);
        if members.len() > 1 || calls_itself {
            call_cycles.extend(members.into_iter().map(|name| (name, done.index)));
        }
    }
    call_cycles
}
