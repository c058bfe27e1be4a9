//! Recursive descent from tokens to the syntax tree.

use super::Parser;
use super::ast::{File, Function, InitValue, VarSpace, Variable};
use super::branch_table::BranchTables;
use super::lexer::{Kind, Token, tokens};
use crate::error::LoadError;
use crate::isa::types::Type;
use crate::source_loc::SourceLoc;

pub(super) type Result<T> = std::result::Result<T, LoadError>;

/// Deepest nesting of `{`, `(` and vectors. nvcc's output needs 3.
pub(super) const MAX_DEPTH: usize = 64;

/// Parses a whole file.
pub fn parse(text: &str) -> Result<File<'_>> {
    let tokens = tokens(text);
    Parser { tokens: &tokens, at: 0, tables: BranchTables::default() }.file().map_err(
        |mut error| {
            error.source_loc = source_of(&tokens, error.ptx_line);
            error
        },
    )
}

/// The place that the last `.loc` before a line names. `.file` may come later.
fn source_of(tokens: &[Token], line: usize) -> Option<SourceLoc> {
    let numbers = |at: usize| {
        [1, 2, 3].map(|next| match tokens.get(at + next).map(|token| token.kind) {
            Some(Kind::Int(value)) => Some(value as u32),
            _ => None,
        })
    };
    let is = |token: &Token, name| token.kind == Kind::Directive && token.text == name;
    let at = tokens.iter().rposition(|token| token.line < line && is(token, ".loc"))?;
    let [file, line, column] = numbers(at);
    let name = tokens.iter().enumerate().find_map(|(at, token)| {
        let named = is(token, ".file") && numbers(at)[0] == file;
        tokens.get(at + 2).filter(|name| named && name.kind == Kind::Str)
    })?;
    Some(SourceLoc { file: name.text.into(), line: line?, column: column? })
}

impl<'a> Parser<'_, 'a> {
    pub(super) fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).copied()
    }

    pub(super) fn next(&mut self) -> Result<Token<'a>> {
        let token = self
            .peek()
            .ok_or_else(|| self.error("the text ends here, in the middle of a statement"))?;
        self.at += 1;
        Ok(token)
    }

    /// Line of the next token, or of the last.
    pub(super) fn line(&self) -> usize {
        self.peek().or(self.tokens.last().copied()).map_or(1, |token| token.line)
    }

    pub(super) fn error(&self, message: impl Into<String>) -> LoadError {
        LoadError::malformed(self.line(), message)
    }

    pub(super) fn unexpected(&self, wanted: &str) -> LoadError {
        match self.peek() {
            Some(token) => self.error(format!("found `{}`, expected {wanted}", token.text)),
            None => self.error(format!("the text ends here, expected {wanted}")),
        }
    }

    pub(super) fn is(&self, punct: u8) -> bool {
        self.peek().is_some_and(|token| token.kind == Kind::Punct(punct))
    }

    pub(super) fn eat(&mut self, punct: u8) -> bool {
        let found = self.is(punct);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, punct: u8) -> Result<()> {
        if self.eat(punct) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{}`", char::from(punct))))
        }
    }

    pub(super) fn word(&mut self, wanted: &str) -> Result<&'a str> {
        match self.peek() {
            Some(token) if token.kind == Kind::Word => {
                self.at += 1;
                Ok(token.text)
            }
            _ => Err(self.unexpected(wanted)),
        }
    }

    pub(super) fn directive(&self) -> Option<&'a str> {
        self.peek().filter(|token| token.kind == Kind::Directive).map(|token| token.text)
    }

    pub(super) fn eat_directive(&mut self, name: &str) -> bool {
        let found = self.directive() == Some(name);
        self.at += usize::from(found);
        found
    }

    pub(super) fn int(&mut self) -> Result<u64> {
        match self.peek().map(|token| token.kind) {
            Some(Kind::Int(value)) => {
                self.at += 1;
                Ok(value)
            }
            _ => Err(self.unexpected("an integer")),
        }
    }

    pub(super) fn skip_statement(&mut self) {
        while self.peek().is_some() && !self.eat(b';') {
            self.at += 1;
        }
    }

    fn file(mut self) -> Result<File<'a>> {
        let mut file = File::default();
        while let Some(token) = self.peek() {
            let Some(directive) = self.directive() else {
                return Err(self.unexpected(if token.kind == Kind::Bad {
                    "a directive: this is not PTX"
                } else {
                    "a directive such as `.entry`"
                }));
            };
            match directive {
                ".version" | ".target" | ".address_size" => self.header(directive, &mut file)?,
                ".file" => {
                    self.at += 1;
                    let number = self.int()? as u32;
                    let name = self.next()?;
                    if name.kind != Kind::Str {
                        return Err(self.error("`.file` needs a number and a name in quotes"));
                    }
                    file.files.push((number, name.text));
                    while self.eat(b',') {
                        self.int()?;
                    }
                }
                ".section" => self.section()?,
                ".pragma" | ".alias" => self.skip_statement(),
                ".loc" => {
                    self.loc()?;
                }
                _ => self.declaration(&mut file)?,
            }
        }
        Ok(file)
    }

    /// `.version 9.0`, `.target sm_75, debug`, `.address_size 64`
    fn header(&mut self, directive: &str, file: &mut File) -> Result<()> {
        self.at += 1;
        let value = self.next()?;
        if directive == ".address_size" && value.kind != Kind::Int(64) {
            return Err(LoadError::unsupported(
                value.line,
                "32-bit addresses; compile for 64 bits",
            ));
        }
        while self.eat(b',') {
            file.debug |= self.next()?.text == "debug";
        }
        Ok(())
    }

    /// Debug sections hold nothing that a run needs.
    fn section(&mut self) -> Result<()> {
        self.at += 1;
        self.next()?;
        self.expect(b'{')?;
        let mut depth = 1;
        while depth > 0 {
            match self.next()?.kind {
                Kind::Punct(b'{') => depth += 1,
                Kind::Punct(b'}') => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    fn declaration(&mut self, file: &mut File<'a>) -> Result<()> {
        while matches!(self.directive(), Some(".extern" | ".visible" | ".weak" | ".common")) {
            self.at += 1;
        }
        if self.eat_directive(".entry") {
            file.functions.push(self.function(true)?);
        } else if self.eat_directive(".func") {
            file.functions.push(self.function(false)?);
        } else {
            let space = self.space()?;
            self.variables(space, &mut |variable| file.variables.push(variable))?;
        }
        Ok(())
    }

    pub(super) fn space(&mut self) -> Result<VarSpace> {
        let space = match self.directive() {
            Some(".global") => VarSpace::Global,
            Some(".const") => VarSpace::Const,
            Some(".shared") => VarSpace::Shared,
            Some(".local") => VarSpace::Local,
            Some(".param") => VarSpace::Param,
            _ => return Err(self.unexpected("a function or a variable")),
        };
        self.at += 1;
        Ok(space)
    }

    /// One or more variables up to the `;`.
    pub(super) fn variables(
        &mut self,
        space: VarSpace,
        push: &mut dyn FnMut(Variable<'a>),
    ) -> Result<()> {
        let (ty, lanes, align) = self.variable_type()?;
        loop {
            push(self.declarator(space, ty, lanes, align)?);
            if !self.eat(b',') {
                return self.expect(b';');
            }
        }
    }

    /// `.align 4 .v2 .b32`, in any order; `.ptr` with what belongs to it says nothing that a run needs.
    pub(super) fn variable_type(&mut self) -> Result<(Type, u64, Option<u64>)> {
        let (mut align, mut lanes, mut ty, mut pointer) = (None, 1, None, false);
        while let Some(name) = self.directive() {
            self.at += 1;
            match name {
                ".align" => {
                    let value = self.int()?;
                    if !value.is_power_of_two() || value > 1 << 16 {
                        return Err(self.error(format!(
                            "alignment {value} is not a power of two up to 65536"
                        )));
                    }
                    // After `.ptr` it is the alignment of what the parameter points to.
                    if !pointer {
                        align = Some(value);
                    }
                }
                ".v2" => lanes = 2,
                ".v4" => lanes = 4,
                // As large and as aligned as two words.
                ".b128" => (ty, lanes) = (Some(Type::B64), 2),
                ".ptr" => pointer = true,
                ".global" | ".shared" | ".local" | ".const" if pointer => {}
                ".attribute" => {
                    while !self.eat(b')') {
                        self.next()?;
                    }
                }
                _ => match Type::parse(&name[1..]) {
                    Some(found) => ty = Some(found),
                    None => {
                        return Err(LoadError::unsupported(
                            self.line(),
                            format!("variables of type `{name}`"),
                        ));
                    }
                },
            }
        }
        let ty = ty.ok_or_else(|| self.unexpected("a type such as `.u32`"))?;
        Ok((ty, lanes, align))
    }

    fn declarator(
        &mut self,
        space: VarSpace,
        ty: Type,
        lanes: u64,
        align: Option<u64>,
    ) -> Result<Variable<'a>> {
        let line = self.line();
        let name = self.word("a variable's name")?;
        let mut count = Some(lanes);
        let mut unsized_array = false;
        while self.eat(b'[') {
            if self.eat(b']') {
                unsized_array = true;
                continue;
            }
            let length = self.int()?;
            count = count.and_then(|count| count.checked_mul(length));
            self.expect(b']')?;
        }
        let element = u64::from(ty.bytes());
        let size =
            count.and_then(|count| count.checked_mul(element)).filter(|&size| size < 1 << 32);
        let mut size = size.ok_or_else(|| {
            LoadError::too_large(self.line(), format!("`{name}` is larger than 4 GiB"))
        })?;
        let mut init = Vec::new();
        if self.eat(b'=') {
            self.initialiser(&mut init, 0)?;
            if unsized_array {
                size = size.saturating_mul(init.len() as u64);
                unsized_array = false;
            }
        } else if unsized_array {
            size = 0;
        }
        let align = align.unwrap_or(element * lanes);
        Ok(Variable { space, name, ty, size, align, unsized_array, init, line })
    }

    fn initialiser(&mut self, values: &mut Vec<InitValue<'a>>, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(self.error("braces nested too deep"));
        }
        if self.eat(b'{') {
            while !self.eat(b'}') {
                self.initialiser(values, depth + 1)?;
                if !self.eat(b',') && !self.is(b'}') {
                    return Err(self.unexpected("`,` or `}`"));
                }
            }
            return Ok(());
        }
        let negative = self.eat(b'-');
        let token = self.next()?;
        values.push(match token.kind {
            Kind::Int(value) if negative => InitValue::Int(value.wrapping_neg()),
            Kind::Int(mask) if self.eat(b'(') => {
                let byte = (0..8).find(|byte| mask == 0xFF << (8 * byte));
                let byte = byte.ok_or_else(|| self.error("a mask is that of one byte"))?;
                let symbol = self.symbol(Some(byte))?;
                self.expect(b')')?;
                symbol
            }
            Kind::Int(value) => InitValue::Int(value),
            Kind::F32(bits) => InitValue::F32(bits ^ (u32::from(negative) << 31)),
            Kind::F64(bits) => InitValue::F64(bits ^ (u64::from(negative) << 63)),
            Kind::Word => {
                self.at -= 1;
                self.symbol(None)?
            }
            _ => {
                self.at -= 1;
                return Err(self.unexpected("a constant"));
            }
        });
        Ok(())
    }

    /// Reads `variable`, `variable+4` or `generic(variable)+4`.
    fn symbol(&mut self, byte: Option<u32>) -> Result<InitValue<'a>> {
        let mut name = self.word("a variable's name")?;
        let generic = name == "generic" && self.eat(b'(');
        if generic {
            name = self.word("a variable's name")?;
            self.expect(b')')?;
        }
        Ok(InitValue::Symbol { name, addend: self.addend()?, generic, byte })
    }

    /// Reads `+4`, `-4`, `+-4` or nothing.
    pub(super) fn addend(&mut self) -> Result<i64> {
        let mut negative = false;
        if !self.is(b'+') && !self.is(b'-') {
            return Ok(0);
        }
        while self.is(b'+') || self.is(b'-') {
            negative ^= self.is(b'-');
            self.at += 1;
        }
        let value = self.int()? as i64;
        Ok(if negative { value.wrapping_neg() } else { value })
    }

    fn function(&mut self, is_entry: bool) -> Result<Function<'a>> {
        let line = self.line();
        let results = if self.is(b'(') { self.parameters()? } else { Vec::new() };
        let name = self.word("a function's name")?;
        let params = if self.is(b'(') { self.parameters()? } else { Vec::new() };
        // The others are about performance (.minnctapersm, .noreturn ...).
        let (mut cluster, mut block) = (None, None);
        while !self.is(b'{') && !self.is(b';') {
            let directive = self.directive();
            self.next()?;
            match directive {
                Some(".reqnctapercluster") => cluster = Some(self.extents()?),
                Some(".maxntid" | ".reqntid") => block = Some(self.extents()?),
                _ => {}
            }
        }
        let body = if self.eat(b';') { None } else { Some(self.body()?) };
        Ok(Function { name, is_entry, results, params, cluster, block, body, line })
    }

    /// Reads one to three extents, `2, 1, 1`; those that are not there are 1.
    fn extents(&mut self) -> Result<[u32; 3]> {
        let mut extents = [1; 3];
        for (axis, extent) in extents.iter_mut().enumerate() {
            if axis > 0 && !self.eat(b',') {
                break;
            }
            *extent = u32::try_from(self.int()?).unwrap_or(u32::MAX);
        }
        Ok(extents)
    }

    pub(super) fn parameters(&mut self) -> Result<Vec<Variable<'a>>> {
        self.expect(b'(')?;
        let mut all = Vec::new();
        while !self.eat(b')') {
            let space = if self.eat_directive(".reg") { VarSpace::Register } else { self.space()? };
            let (ty, lanes, align) = self.variable_type()?;
            all.push(self.declarator(space, ty, lanes, align)?);
            if !self.eat(b',') && !self.is(b')') {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ast::Statement;
    use super::*;

    #[test]
    fn reads_what_nvcc_writes() {
        let text = r#".version 9.0
.target sm_75
.address_size 64
.extern .func (.param .b32 r) vprintf ( .param .b64 a, .param .b64 b ) ;
.global .align 8 .u64 names[2] = {generic($str), generic($str)+4};
.extern .shared .align 16 .b8 dyn[];
.visible .entry k( .param .u64 .ptr .global .align 1 p0, .param .align 4 .b8 p1[12] )
.maxntid 256, 1, 1
.explicitcluster
.reqnctapercluster 2, 4
{
	.reg .pred 	%p<6>;
	.loc	1 10 0
	.loc	2 84 3, function_name $L__info_string0, inlined_at 1 17 3
	@!%p1 bra 	$L_2;
$L_2:
	.pragma "nounroll";
	{ .reg .b16 low,high;
 	shfl.sync.down.b32 	%r70|%p15, %r66, -16, 31, -1; }
	st.global.v2.f32 [%rd1+-4], {%f1, 0f3F800000};
	call.uni (retval0), f, (p0);
	ret;
}
	.file	1 "/a/b.cu"
	.section	.debug_str { $L: .b8 95,90 }
"#;
        let file = parse(text).unwrap();
        assert_eq!(file.files, [(1, "/a/b.cu")]);
        assert_eq!(file.variables[0].size, 16);
        assert_eq!(
            file.variables[0].init[1],
            InitValue::Symbol { name: "$str", addend: 4, generic: true, byte: None }
        );
        assert!(file.variables[1].unsized_array);
        assert!(file.functions[0].body.is_none());
        let kernel = &file.functions[1];
        assert_eq!((kernel.params[0].size, kernel.params[0].align), (8, 8));
        assert_eq!((kernel.params[1].size, kernel.params[1].align), (12, 4));
        assert_eq!((kernel.cluster, kernel.block), (Some([2, 4, 1]), Some([256, 1, 1])));
        let body = kernel.body.as_ref().unwrap();
        assert_eq!(body.len(), 13);
        let Statement::Instruction(shuffle) = &body[8].statement else { panic!("{body:?}") };
        assert_eq!(shuffle.opcode, "shfl.sync.down.b32");
        assert_eq!(shuffle.operands.len(), 5);
        assert_eq!(body[8].line, 19);
    }

    #[test]
    fn errors_name_the_line() {
        let error = parse(".version 9.0\n.entry k() {\n add.s32 %r1, ;\n}").unwrap_err();
        assert_eq!(error.ptx_line, 3);
        assert!(error.message.contains("expected an operand"), "{error}");
        assert!(!error.unsupported);
        assert!(parse("int main() {}").is_err());
        assert!(parse(".entry k() {").is_err());
    }
}
