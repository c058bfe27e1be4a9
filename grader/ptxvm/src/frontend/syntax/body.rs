//! Statements and operands: the inside of a function.

use super::Parser;
use super::ast::{
    AddressBase, Instruction, Line, Operand, Position, Predicate, Registers, Statement, Variable,
};
use super::branch_table::BranchTables;
use super::lexer::Kind;
use super::parser::{MAX_DEPTH, Result};
use crate::error::LoadError;
use crate::isa::types::Type;

impl<'a> Parser<'_, 'a> {
    /// From `{` to the `}` that belongs to it.
    pub(super) fn body(&mut self) -> Result<Vec<Line<'a>>> {
        self.expect(b'{')?;
        let mut lines = Vec::new();
        let mut depth = 1;
        self.tables = BranchTables::default();
        loop {
            let line = self.line();
            let mut push = |statement| lines.push(Line { line, statement });
            if self.eat(b'{') {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(self.error("braces nested too deep"));
                }
                push(Statement::OpenScope);
            } else if self.eat(b'}') {
                depth -= 1;
                if depth == 0 {
                    return Ok(lines);
                }
                push(Statement::CloseScope);
            } else if self.eat(b';') {
                // An empty statement.
            } else if let Some(directive) = self.directive() {
                match directive {
                    ".loc" => push(self.loc()?),
                    ".pragma" => self.skip_statement(),
                    ".reg" => {
                        self.at += 1;
                        self.registers(&mut |registers| push(Statement::Registers(registers)))?;
                    }
                    _ => {
                        let space = self.space()?;
                        self.variables(space, &mut |variable| push(Statement::Variable(variable)))?;
                    }
                }
            } else {
                let start = self.at;
                match self.label_or_instruction() {
                    Ok(None) => {}
                    Ok(Some(statement)) => match self.tables.expand(&statement) {
                        None => push(statement),
                        Some(statements) => statements.into_iter().for_each(push),
                    },
                    Err(error) if error.unsupported => {
                        self.at = start;
                        self.skip_statement();
                        push(Statement::Refused(error));
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }

    fn registers(&mut self, push: &mut dyn FnMut(Registers<'a>)) -> Result<()> {
        let wide = self.eat_directive(".b128");
        let ty = if wide { Type::B64 } else { self.variable_type()?.0 };
        loop {
            let name = self.word("a register's name")?;
            let count = if self.eat(b'<') {
                let count = self.int()?;
                self.expect(b'>')?;
                Some(count)
            } else {
                None
            };
            push(Registers { ty, wide, name, count });
            if !self.eat(b',') {
                return self.expect(b';');
            }
        }
    }

    fn position(&mut self) -> Result<Position> {
        Ok(Position {
            file: self.int()? as u32,
            line: self.int()? as u32,
            column: self.int()? as u32,
        })
    }

    pub(super) fn loc(&mut self) -> Result<Statement<'a>> {
        self.at += 1;
        let at = self.position()?;
        let mut inlined_at = None;
        while self.eat(b',') {
            match self.word("`function_name` or `inlined_at`")? {
                "function_name" => {
                    self.word("a label")?;
                    self.addend()?;
                }
                "inlined_at" => inlined_at = Some(self.position()?),
                other => return Err(self.error(format!("`.loc` has no attribute `{other}`"))),
            }
        }
        Ok(Statement::Loc { at, inlined_at })
    }

    /// What stands before the next `;` or `:`. A table of labels leaves no statement.
    fn label_or_instruction(&mut self) -> Result<Option<Statement<'a>>> {
        let predicate = if self.eat(b'@') {
            let negated = self.eat(b'!');
            Some(Predicate { name: self.word("a predicate register")?, negated })
        } else {
            None
        };
        let opcode = self.word("an instruction or a label")?;
        if predicate.is_none() && self.eat(b':') {
            return Ok(Some(match self.directive() {
                None | Some(".loc" | ".pragma" | ".reg") => Statement::Label(opcode),
                Some(".callprototype") => self.prototype(opcode)?,
                Some(".calltargets") => {
                    Statement::Targets { name: opcode, functions: self.names("a function")? }
                }
                Some(".branchtargets") => {
                    let labels = self.names("a label")?;
                    self.tables.declare(opcode, labels);
                    return Ok(None);
                }
                Some(directive) => {
                    let message = format!("not supported: `{directive}` with a name");
                    return Err(LoadError::unsupported(self.line(), message));
                }
            }));
        }
        let mut operands = Vec::new();
        if !self.is(b';') {
            loop {
                operands.push(self.operand(0)?);
                if !self.eat(b',') {
                    break;
                }
            }
        }
        self.expect(b';')?;
        Ok(Some(Statement::Instruction(Instruction { predicate, opcode, operands })))
    }

    /// `.callprototype (.param .b32 _) _ (.param .b64 _);`
    fn prototype(&mut self, name: &'a str) -> Result<Statement<'a>> {
        self.at += 1;
        let sizes = |all: Vec<Variable>| all.iter().map(|param| param.size).collect();
        let results = if self.is(b'(') { sizes(self.parameters()?) } else { Vec::new() };
        self.word("`_`")?;
        let params = if self.is(b'(') { sizes(self.parameters()?) } else { Vec::new() };
        // `.noreturn` and the like.
        self.skip_statement();
        Ok(Statement::Prototype { name, results, params })
    }

    /// The names that a directive lists: `.calltargets f, g;` or `.branchtargets L0, L1;`.
    fn names(&mut self, what: &str) -> Result<Vec<&'a str>> {
        self.at += 1;
        let mut names = vec![self.word(what)?];
        while self.eat(b',') {
            names.push(self.word(what)?);
        }
        self.expect(b';')?;
        Ok(names)
    }

    fn operand(&mut self, depth: usize) -> Result<Operand<'a>> {
        if depth > MAX_DEPTH {
            return Err(self.error("operands nested too deep"));
        }
        if self.eat(b'{') {
            let vector = Operand::Vector(self.operands_until(b'}', depth)?);
            return self.with_second(vector, depth);
        }
        if self.eat(b'(') {
            return Ok(Operand::List(self.operands_until(b')', depth)?));
        }
        if self.eat(b'[') {
            return self.address(depth);
        }
        if self.eat(b'!') {
            return Ok(Operand::Not(self.word("a predicate register")?));
        }
        let negative = self.eat(b'-');
        let token = self.next()?;
        let operand = match token.kind {
            Kind::Int(value) if negative => Operand::Int(value.wrapping_neg()),
            Kind::Int(value) => Operand::Int(value),
            Kind::F32(bits) => Operand::F32(bits ^ (u32::from(negative) << 31)),
            Kind::F64(bits) => Operand::F64(bits ^ (u64::from(negative) << 63)),
            Kind::Word if !negative => match self.addend()? {
                0 => Operand::Name(token.text),
                addend => Operand::Offset(token.text, addend),
            },
            Kind::Word => {
                return Err(LoadError::unsupported(
                    token.line,
                    "not supported: negated registers; negate into another register first",
                ));
            }
            _ => {
                self.at -= 1;
                return Err(self.unexpected("an operand"));
            }
        };
        self.with_second(operand, depth)
    }

    /// A destination, with the second one that may follow it: `d|p`.
    fn with_second(&mut self, first: Operand<'a>, depth: usize) -> Result<Operand<'a>> {
        if !self.eat(b'|') {
            return Ok(first);
        }
        let second = self.operand(depth + 1)?;
        Ok(Operand::Pair(Box::new((first, second))))
    }

    fn operands_until(&mut self, close: u8, depth: usize) -> Result<Vec<Operand<'a>>> {
        let mut all = Vec::new();
        while !self.eat(close) {
            all.push(self.operand(depth + 1)?);
            if !self.eat(b',') && !self.is(close) {
                return Err(self.unexpected(&format!("`,` or `{}`", char::from(close))));
            }
        }
        Ok(all)
    }

    fn address(&mut self, depth: usize) -> Result<Operand<'a>> {
        let token = self.peek().ok_or_else(|| self.unexpected("an address"))?;
        let (base, offset) = match token.kind {
            Kind::Word => {
                self.at += 1;
                (AddressBase::Name(token.text), self.addend()?)
            }
            Kind::Int(value) => {
                self.at += 1;
                (AddressBase::None, value as i64)
            }
            _ => return Err(self.unexpected("an address")),
        };
        if let (AddressBase::Name(base), 0, true) = (base, offset, self.eat(b',')) {
            let indices = self.operands_until(b']', depth)?;
            return Ok(Operand::Indexed { base, indices });
        }
        self.expect(b']')?;
        Ok(Operand::Address { base, offset })
    }
}
