//! Parses the statements of a formula.
//!
//! ```text
//! program   = { statement ( END | ';' ) }
//! statement = tensor [ [ '?' ] '[' [ int { ',' int } ] ']' ] ( '=' | '+=' ) expr
//! ```

use crate::error::{Error, Result};
use crate::syntax::ast::Statement;
use crate::syntax::lexer::TokenKind;
use crate::syntax::parser::cursor::Parser;

const PATTERN: &str = "a statement is `tensor[indices] = expression`";

/// Parses the statements of a formula.
pub fn parse_statements(text: &str) -> Result<Vec<Statement>> {
    let mut parser = Parser::new(text)?;
    let mut statements = Vec::new();
    loop {
        while parser.eat(TokenKind::End) {}
        if parser.peek() == TokenKind::Eof {
            return Ok(statements);
        }
        statements.push(parser.statement()?);
        if !matches!(parser.peek(), TokenKind::End | TokenKind::Eof) {
            return Err(parser.expected("an operator or the end of the statement"));
        }
    }
}

impl Parser<'_> {
    fn statement(&mut self) -> Result<Statement> {
        let TokenKind::Name(_) = self.peek() else {
            return Err(self.expected("a statement").help(PATTERN));
        };
        let (target, target_span) = self.tensor_name()?;
        let question = self.token().span;
        let padded = self.eat(TokenKind::Question);
        let subscripts = if padded || self.peek() == TokenKind::OpenSquare {
            self.subscripts()?.0.0
        } else {
            Vec::new()
        };
        let adds = self.eat(TokenKind::Adds);
        if padded && !adds {
            return Err(Error::new(question, "`?` on the left of a statement that does not add")
                .help("only `+=` can leave out what lies outside the tensor"));
        }
        if !adds {
            self.expect_or_help(TokenKind::Equals, "`=`", PATTERN)?;
        }
        let (body, _) = self.expr()?;
        Ok(Statement { target, target_span, subscripts, adds, padded, body })
    }
}
