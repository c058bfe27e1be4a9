//! `wgmma` (PTX ISA 9.7.15).

use super::Body;
use super::body::Result;
use super::modifiers::Modifiers;
use super::refuse;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::Op;
use crate::isa::matrix::{Fragment, Layout, Product, Role, Scalar, Shape};
use crate::isa::matrix_op::Matrix;
use crate::isa::names::Guard;
use crate::isa::types::Type;
use crate::isa::warpgroup::{Factor, GroupProduct, ROWS, depth, is_there};

impl<'a> Body<'_, '_, '_, 'a> {
    /// Lowers `wgmma.mma_async`.
    pub(super) fn group_product(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        self.together(modifiers)?;
        let whole = self.shape(modifiers)?;
        let mut types = Vec::new();
        while let Some(scalar) = modifiers.take_last(Scalar::parse) {
            types.insert(0, scalar);
        }
        let &[sum, of_a, of_b] = types.as_slice() else {
            return Err(self.unsupported(refuse::reason("wgmma")));
        };
        let is_here = is_there(whole.n, [of_a, of_b], sum);
        if !is_here || !whole.is(4 * ROWS, whole.n, depth(of_a)) {
            return Err(self.unsupported(refuse::reason("wgmma")));
        }
        let saturate = sum == Scalar::S32 && modifiers.take("satfinite");
        let [d, a, b, adds, rest @ ..] = operands else {
            return Err(self.malformed("wrong number of operands"));
        };
        // Integers have no scales, only elements of 16 bits may be transposed, and A in registers is never transposed.
        let in_registers = matches!(a, Operand::Vector(_));
        let (of_halves, of_integers) = (of_a.bytes() == 2, sum == Scalar::S32);
        let (scales, transposed) = match (rest, in_registers) {
            ([], _) if of_integers => (None, [false; 2]),
            ([a, b], _) if !of_integers && !of_halves => (Some([a, b]), [false; 2]),
            ([a, b, second], true) if of_halves => (Some([a, b]), [false, self.flag(second)?]),
            ([a, b, first, second], false) if of_halves => {
                (Some([a, b]), [self.flag(first)?, self.flag(second)?])
            }
            _ => return Err(self.malformed("wrong number of operands")),
        };
        let negated = match scales {
            Some([a, b]) => [self.scale(a)?, self.scale(b)?],
            None => [false; 2],
        };
        let shape = Shape { m: ROWS, ..whole };
        let empty = |role, scalar| {
            let (rows, cols) = Fragment::size(role, shape);
            Fragment { role, layout: Layout::Mma, scalar, rows, cols, slots: Vec::new() }
        };
        let product = Product {
            shape,
            a: if in_registers {
                self.fragment(Role::A, Layout::Mma, of_a, shape, a, false)?
            } else {
                empty(Role::A, of_a)
            },
            b: empty(Role::B, of_b),
            c: self.fragment(Role::Sum, Layout::Mma, sum, shape, d, false)?,
            d: self.fragment(Role::Sum, Layout::Mma, sum, shape, d, true)?,
            saturate,
            xor: false,
            sparsity: None,
        };
        let a = if in_registers { None } else { Some(self.factor(a, transposed[0])?) };
        let b = self.factor(b, transposed[1])?;
        let adds = self.adds(adds)?;
        let op = GroupProduct { product, a, b, adds, negated };
        self.emit(Op::Matrix(Box::new(Matrix::OfGroup(op))));
        Ok(())
    }

    pub(super) fn wait_for_products(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let [Operand::Int(groups)] = self.exactly(operands)? else {
            return Err(self.malformed("`wgmma.wait_group` takes a number"));
        };
        self.emit(Op::WaitForProducts(u32::try_from(*groups).unwrap_or(u32::MAX)));
        Ok(())
    }

    /// Whether the sums so far count: a predicate, or a constant.
    fn adds(&mut self, operand: &Operand<'a>) -> Result<Option<Guard>> {
        match operand {
            Operand::Int(value) if *value != 0 => Ok(None),
            operand => Ok(Some(self.predicate_operand(operand)?)),
        }
    }

    fn factor(&mut self, descriptor: &Operand<'a>, transposed: bool) -> Result<Factor> {
        Ok(Factor { descriptor: self.value_q(descriptor, Type::B64)?, transposed })
    }

    fn flag(&self, operand: &Operand<'a>) -> Result<bool> {
        match operand {
            Operand::Int(value @ 0..=1) => Ok(*value == 1),
            _ => Err(self.malformed("whether a factor is transposed is 0 or 1")),
        }
    }

    /// Whether a factor counts as its negative.
    fn scale(&self, operand: &Operand<'a>) -> Result<bool> {
        match operand {
            Operand::Int(1) => Ok(false),
            Operand::Int(value) if *value as i64 == -1 || *value == u64::from(u32::MAX) => Ok(true),
            _ => Err(self.malformed("a factor is scaled by 1 or -1")),
        }
    }
}
