//! The PTX of a tree.

use super::tree::{
    ARRAY, Condition, Kernel, Mode, Operation, Source, Statement, THREADS, Test, Together,
    VARIABLES,
};
use std::fmt::Write;

struct Emitter {
    text: String,
    /// Labels and scratch registers given out.
    numbers: u32,
    /// What a loop's `break` and `continue` jump to.
    loops: Vec<(u32, u32)>,
    /// What ends the kernel or function in place; None: a jump to the end.
    leave: Option<String>,
    /// Lanes take a lock before statements.
    locks: bool,
}

/// Appends a formatted line to the text of the kernel.
macro_rules! line {
    ($emitter:expr, $($words:tt)*) => {
        writeln!($emitter.text, $($words)*).expect("a string takes everything")
    };
}

fn source(source: Source) -> String {
    match source {
        Source::Variable(index) => format!("%v{index}"),
        Source::Immediate(value) => format!("{value}"),
        Source::Thread => "%thread".to_owned(),
    }
}

impl Emitter {
    fn number(&mut self) -> u32 {
        self.numbers += 1;
        self.numbers
    }

    /// A predicate that holds where the condition does.
    fn condition(&mut self, condition: Condition) -> String {
        let p = format!("%p{}", self.number());
        let test = match condition.test {
            Test::Equal => "eq.b32",
            Test::LessSigned => "lt.s32",
            Test::LessUnsigned => "lt.u32",
        };
        let a = format!("%t{}", self.number());
        line!(self, "mov.b32 {a},{};", source(condition.a));
        line!(self, "setp.{test} {p},{a},{};", source(condition.b));
        p
    }

    fn block(&mut self, statements: &[Statement]) {
        for (statement, index) in statements.iter().zip(0..) {
            if self.locks && index % 3 == 0 {
                self.lock();
            }
            self.statement(statement);
        }
    }

    /// Waits for the lock of the block, counts, and opens it again. Nobody looks at the count.
    fn lock(&mut self) {
        let n = self.number();
        line!(self, "L{n}:\natom.shared.cas.b32 %t{n},[latch],0,1;setp.ne.u32 %p{n},%t{n},0;");
        line!(self, "@%p{n} bra L{n};\nfence.acq_rel.cta;ld.shared.u32 %t{n},[latch+4];");
        line!(self, "add.u32 %t{n},%t{n},1;st.shared.u32 [latch+4],%t{n};");
        line!(self, "fence.acq_rel.cta;atom.shared.exch.b32 %t{n},[latch],0;");
    }

    fn set(&mut self, d: usize, operation: Operation, a: Source, b: Source) {
        let name = match operation {
            Operation::Add => "add.u32",
            Operation::Sub => "sub.u32",
            Operation::Mul => "mul.lo.u32",
            Operation::And => "and.b32",
            Operation::Or => "or.b32",
            Operation::Xor => "xor.b32",
            Operation::Shl => "shl.b32",
            Operation::Shr => "shr.u32",
            Operation::MinSigned => "min.s32",
            Operation::MaxUnsigned => "max.u32",
            Operation::MulHigh => "mul.hi.u32",
            Operation::AddFloat | Operation::MulFloat => {
                let (x, y) = (self.number(), self.number());
                let name = if matches!(operation, Operation::AddFloat) { "add" } else { "mul" };
                let (a, b) = (self.moved(a), self.moved(b));
                line!(self, "mov.b32 %f{x},{a};mov.b32 %f{y},{b};");
                line!(self, "{name}.rn.f32 %f{x},%f{x},%f{y};mov.b32 %v{d},%f{x};");
                return;
            }
            Operation::AddPairs => return self.of_registers("add.u16x2", d, a, b),
            Operation::MinPairsSigned => return self.of_registers("min.s16x2", d, a, b),
            Operation::LessHalves => return self.of_registers("set.lt.u32.f16x2", d, a, b),
            Operation::ExtendSigned => return self.of_registers("szext.wrap.s32", d, a, b),
            Operation::PackSaturated => return self.of_registers("cvt.pack.sat.s16.s32", d, a, b),
            Operation::AbsDiffBytes => {
                let (a, b) = (self.moved(a), self.moved(b));
                line!(self, "vabsdiff4.u32.u32.u32.add %v{d},{a},{b},{b};");
                return;
            }
        };
        let first = self.number();
        line!(self, "mov.b32 %t{first},{};{name} %v{d},%t{first},{};", source(a), source(b));
    }

    fn of_registers(&mut self, name: &str, d: usize, a: Source, b: Source) {
        let (a, b) = (self.moved(a), self.moved(b));
        line!(self, "{name} %v{d},{a},{b};");
    }

    /// A source in a register.
    fn moved(&mut self, value: Source) -> String {
        let t = self.number();
        line!(self, "mov.b32 %t{t},{};", source(value));
        format!("%t{t}")
    }

    /// The address of an element of the array.
    fn element(&mut self, at: Source) -> String {
        let (index, wide) = (self.moved(at), self.number());
        line!(self, "and.b32 {index},{index},{};mul.wide.u32 %a{wide},{index},4;", ARRAY - 1);
        line!(self, "add.u64 %a{wide},%a{wide},%array;");
        format!("%a{wide}")
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Set(d, operation, a, b) => self.set(*d, *operation, *a, *b),
            Statement::If(condition, then, other) => {
                let (p, otherwise, end) =
                    (self.condition(*condition), self.number(), self.number());
                line!(self, "@!{p} bra L{otherwise};");
                self.block(then);
                line!(self, "bra L{end};\nL{otherwise}:");
                self.block(other);
                line!(self, "L{end}:");
            }
            Statement::IfKnown(number, condition, then) => {
                let (p, end) = (self.condition(*condition), self.number());
                line!(self, "vote.sync.ballot.b32 %known{number},{p},-1;@!{p} bra L{end};");
                self.block(then);
                line!(self, "L{end}:");
            }
            Statement::Loop(times, body) => {
                let (count, head) = (self.number(), self.number());
                let (next, end) = (self.number(), self.number());
                line!(self, "mov.b32 %t{count},0;\nL{head}:");
                self.loops.push((end, next));
                self.block(body);
                self.loops.pop();
                line!(self, "L{next}:\nadd.u32 %t{count},%t{count},1;");
                line!(
                    self,
                    "setp.lt.u32 %p{count},%t{count},{times};@%p{count} bra L{head};\nL{end}:"
                );
            }
            Statement::Break(condition) => {
                let (p, (end, _)) =
                    (self.condition(*condition), *self.loops.last().expect("a loop"));
                line!(self, "@{p} bra L{end};");
            }
            Statement::Continue(condition) => {
                let (p, (_, next)) =
                    (self.condition(*condition), *self.loops.last().expect("a loop"));
                line!(self, "@{p} bra L{next};");
            }
            Statement::Return(condition) => {
                let p = self.condition(*condition);
                match self.leave.clone() {
                    Some(leave) => {
                        let stay = self.number();
                        line!(self, "@!{p} bra L{stay};\n{leave}\nL{stay}:");
                    }
                    None => line!(self, "@{p} bra END;"),
                }
            }
            Statement::Store(at, value) => {
                let (value, address) = (self.moved(*value), self.element(*at));
                line!(self, "st.local.u32 [{address}],{value};");
            }
            Statement::Load(d, at) => {
                let address = self.element(*at);
                line!(self, "ld.local.u32 %v{d},[{address}];");
            }
            Statement::Call(d, a, b) => {
                let (a, b) = (self.moved(*a), self.moved(*b));
                line!(self, "{{\n.param .b32 first;.param .b32 second;.param .b32 back;");
                line!(self, "st.param.b32 [first],{a};st.param.b32 [second],{b};");
                line!(self, "call (back),helper,(first,second);\nld.param.b32 %v{d},[back];\n}}");
            }
            Statement::Together(_, d, known, what) => {
                let mask = known.map_or("-1".to_owned(), |number| format!("%known{number}"));
                self.together(*d, &mask, *what);
            }
        }
    }

    fn together(&mut self, d: usize, mask: &str, what: Together) {
        match what {
            Together::Ballot(c) => {
                let p = self.condition(c);
                line!(self, "vote.sync.ballot.b32 %v{d},{p},{mask};");
            }
            Together::Any(c) | Together::All(c) => {
                let p = self.condition(c);
                let name = if matches!(what, Together::Any(_)) { "any" } else { "all" };
                line!(self, "vote.sync.{name}.pred {p},{p},{mask};selp.b32 %v{d},1,0,{p};");
            }
            Together::Match(a) => {
                let a = self.moved(a);
                line!(self, "match.any.sync.b32 %v{d},{a},{mask};");
            }
            Together::Sum(a) => {
                let a = self.moved(a);
                line!(self, "redux.sync.add.u32 %v{d},{a},{mask};");
            }
            Together::Shuffle(mode, a, by, width) => {
                let (a, segments) = (self.moved(a), (32 - width) << 8);
                let (name, clamp) = match mode {
                    Mode::Index => ("idx", 31),
                    Mode::Up => ("up", 0),
                    Mode::Down => ("down", 31),
                    Mode::Butterfly => ("bfly", 31),
                };
                line!(self, "shfl.sync.{name}.b32 %v{d},{a},{by},{},{mask};", segments | clamp);
            }
            Together::Exchange(a, by) => {
                let (a, t) = (self.moved(a), self.number());
                line!(self, "mov.u32 %t{t},slots;mad.lo.u32 %t{t},%thread,4,%t{t};");
                line!(self, "st.shared.u32 [%t{t}],{a};\nbar.sync 0;");
                line!(self, "add.u32 %t{t},%thread,{by};and.b32 %t{t},%t{t},{};", THREADS - 1);
                line!(self, "mov.u32 {a},slots;mad.lo.u32 %t{t},%t{t},4,{a};");
                line!(self, "ld.shared.u32 %v{d},[%t{t}];\nbar.sync 0;");
            }
            Together::Count(c) => {
                let p = self.condition(c);
                line!(self, "bar.red.popc.u32 %v{d},0,{p};");
            }
        }
    }
}

/// Registers, and the array with zeros.
fn prologue(body: &str) -> String {
    let mut text = String::from(
        ".reg .b32 %v<8>,%t<4000>,%known<400>,%thread;.reg .b64 %a<4000>,%in,%out,%array;\n\
         .reg .pred %p<4000>;.reg .f32 %f<4000>;\n.local .align 4 .b8 room[32];\n\
         mov.u64 %array,room;mov.u32 %thread,%tid.x;\n",
    );
    let zero = |index| format!("st.local.u32 [%array+{}],0;\n", index * 4);
    text.extend((0..ARRAY).map(zero));
    text + body
}

fn emit(statements: &[Statement], leave: &str, jumps: bool, locks: bool) -> String {
    let leave_here = (!jumps).then(|| leave.to_owned());
    let mut emitter =
        Emitter { text: String::new(), numbers: 0, loops: Vec::new(), leave: leave_here, locks };
    emitter.block(statements);
    format!("{}END:\n{leave}\n", emitter.text)
}

/// The kernel `k(in, out)`: each thread has its own variables in both. With locks its threads wait for each other at many places,
/// which changes nothing.
pub fn ptx(kernel: &Kernel, locks: bool) -> String {
    let load = |variable| format!("ld.global.u32 %v{variable},[%in+{}];", variable * 4);
    let store = |variable| format!("st.global.u32 [%out+{}],%v{variable};", variable * 4);
    let zero = |variable| format!("mov.u32 %v{variable},0;");
    let loads: String = (0..VARIABLES).map(load).collect();
    let stores: String = (0..VARIABLES).map(store).collect();
    let zeros: String = (2..VARIABLES).map(zero).collect();
    let function = emit(&kernel.function, "st.param.b32 [back],%v0;ret;", kernel.jumps, locks);
    let function = prologue(&format!(
        "ld.param.b32 %v0,[first];ld.param.b32 %v1,[second];{zeros}\n{function}"
    ));
    let body = emit(&kernel.body, &format!("{stores}ret;"), kernel.jumps, locks);
    let size = VARIABLES * 4;
    let body = prologue(&format!(
        "ld.param.u64 %in,[in];ld.param.u64 %out,[out];mul.wide.u32 %a0,%thread,{size};\n\
         add.u64 %in,%in,%a0;add.u64 %out,%out,%a0;{loads}\n\
         setp.eq.u32 %p0,%thread,0;@%p0 st.shared.u64 [latch],0;bar.sync 0;\n{body}"
    ));
    format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.shared .align 8 .b8 latch[8];\n\
         .func (.param .b32 back) helper(.param .b32 first,.param .b32 second)\n{{\n{function}}}\n\
         .visible .entry k(.param .u64 in,.param .u64 out)\n{{\n.shared .align 4 .b8 slots[{}];\n{body}}}\n",
        THREADS * 4
    )
}
