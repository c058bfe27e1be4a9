//! The integer operators, with overflow and division by zero as errors.

use crate::error::Error;
use crate::span::Span;
use crate::syntax::int_expr::IntOp;

/// The reason why an integer operation has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticError {
    Overflow,
    ZeroDivisor,
}

impl ArithmeticError {
    /// The error message: the operation is at `whole`, its right operand at `divisor`.
    #[inline]
    pub fn at(self, whole: Span, divisor: Span) -> Error {
        match self {
            Self::Overflow => Error::new(whole, "this does not fit into 64 bits"),
            Self::ZeroDivisor => Error::new(divisor, "the divisor is 0"),
        }
    }
}

/// The most places by which an integer can be shifted.
pub const MAX_SHIFT: i64 = 62;

/// `a op b`, where division and remainder are those of the floor.
#[inline]
pub fn apply(op: IntOp, a: i64, b: i64) -> Result<i64, ArithmeticError> {
    let checked = match op {
        IntOp::Add => a.checked_add(b),
        IntOp::Sub => a.checked_sub(b),
        IntOp::Mul => a.checked_mul(b),
        IntOp::Min => Some(a.min(b)),
        IntOp::Max => Some(a.max(b)),
        IntOp::And => Some(a & b),
        IntOp::Or => Some(a | b),
        IntOp::Xor => Some(a ^ b),
        IntOp::ShiftLeft | IntOp::ShiftRight if !(0..=MAX_SHIFT).contains(&b) => None,
        IntOp::ShiftLeft => a.checked_mul(1 << b),
        IntOp::ShiftRight => Some(a >> b),
        IntOp::Div | IntOp::Mod | IntOp::CeilDiv if b == 0 => {
            return Err(ArithmeticError::ZeroDivisor);
        }
        IntOp::Div => floor_div(a, b),
        IntOp::Mod => a.checked_rem(b).map(|rest| {
            // The remainder of the floor division has the divisor's sign.
            if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
        }),
        IntOp::CeilDiv => floor_div(a, b).and_then(|floor| {
            let whole = a.checked_rem(b)? == 0;
            floor.checked_add(i64::from(!whole))
        }),
    };
    checked.ok_or(ArithmeticError::Overflow)
}

fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    let negative_rest = a % b != 0 && (a < 0) != (b < 0);
    Some(quotient - i64::from(negative_rest))
}
