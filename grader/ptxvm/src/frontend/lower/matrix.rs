//! `wmma`, `mma.sync`, `ldmatrix`, `stmatrix`, `movmatrix` (PTX ISA 9.7.14).

use super::Body;
use super::body::Result;
use super::modifiers::Modifiers;
use crate::frontend::syntax::ast::Operand;
use crate::isa::ir::Op;
use crate::isa::matrix::{
    Fragment, Layout, Matrices, Product, Role, Scalar, Shape, Sparsity, Tile,
};
use crate::isa::matrix_op::Matrix;
use crate::isa::names::{Marks, Slot};
use crate::isa::ops::sparse::lanes_with_metadata;
use crate::isa::quad_pairs::QuadPairs;
use crate::isa::types::Type;
use crate::isa::window::Window;

/// Names of the four matrices of a product, as PTX says which types they have.
struct Types {
    d: Scalar,
    a: Scalar,
    b: Scalar,
    c: Scalar,
}

impl<'a> Body<'_, '_, '_, 'a> {
    pub(super) fn load_tile(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        self.together(modifiers)?;
        let tile = self.tile(modifiers, operands, true)?;
        self.emit_matrix(Matrix::Load(tile));
        Ok(())
    }

    pub(super) fn store_tile(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        self.together(modifiers)?;
        let tile = self.tile(modifiers, operands, false)?;
        self.emit_matrix(Matrix::Store(tile));
        Ok(())
    }

    /// The lanes of a warp compute one matrix, and PTX wants to be told so.
    pub(super) fn together(&self, modifiers: &mut Modifiers<'a>) -> Result<()> {
        if modifiers.take("sync") && modifiers.take("aligned") {
            return Ok(());
        }
        Err(self.malformed(format!("`{}` needs `.sync.aligned`", modifiers.base)))
    }

    fn emit_matrix(&mut self, matrix: Matrix) {
        self.emit(Op::Matrix(Box::new(matrix)));
    }

    pub(super) fn shape(&self, modifiers: &mut Modifiers<'a>) -> Result<Shape> {
        modifiers.take_last(Shape::parse).ok_or_else(|| {
            self.malformed(format!("`{}` needs a shape such as `.m16n8k16`", modifiers.base))
        })
    }

    fn not_there(&self, modifiers: &Modifiers<'a>) -> crate::error::LoadError {
        let there = if modifiers.base == "wmma" {
            "m16n16k16, m32n8k16 and m8n32k16 of f16, bf16, s8 and u8, m16n16k8 of tf32, m8n8k4 of f64, m8n8k32 of s4 \
             and u4, m8n8k128 of b1"
        } else {
            "m8n8k4 of f16, m16n8k8 and m16n8k16 of f16 and bf16, m16n8k4 and m16n8k8 of tf32, m16n8k16, m16n8k32 and \
             m8n8k16 of s8 and u8, m8n8k32, m16n8k32 and m16n8k64 of s4 and u4, m8n8k128, m16n8k128 and m16n8k256 of b1, \
             m16n8k16 and m16n8k32 of e4m3 and e5m2, m8n8k4, m16n8k4, m16n8k8 and m16n8k16 of f64; of sparse matrices m16n8k16 \
             and m16n8k32 of f16 and bf16, m16n8k8 and m16n8k16 of tf32, m16n8k32 and m16n8k64 of s8 and u8, m16n8k64 and \
             m16n8k128 of s4 and u4, m16n8k64 of e4m3 and e5m2"
        };
        self.unsupported(format!(
            "this shape of `{}` with these types; supported are {there}",
            modifiers.base
        ))
    }

    /// Lowers `wmma.mma`, `mma.sync` and `mma.sp`.
    pub(super) fn product(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        layout: Layout,
    ) -> Result<()> {
        let sparse =
            layout == Layout::Mma && modifiers.take_any(&["sp", "sp::ordered_metadata"]).is_some();
        self.together(modifiers)?;
        let shape = self.shape(modifiers)?;
        let mut types = Vec::new();
        while let Some(scalar) = modifiers.take_last(Scalar::parse) {
            types.insert(0, scalar);
        }
        let types = match *types {
            // The types of `wmma` on f16 are those of D and C alone.
            [d, c] if layout == Layout::Wmma => Types { d, a: Scalar::F16, b: Scalar::F16, c },
            [d, a, b, c] => Types { d, a, b, c },
            _ => return Err(self.not_there(modifiers)),
        };
        if layout == Layout::Mma && !sparse && shape.is(8, 8, 4) && types.a == Scalar::F16 {
            return self.quad_pairs(modifiers, operands, &types);
        }
        let inner = (modifiers.take("row"), modifiers.take("col"));
        if layout == Layout::Wmma {
            // Either may be there twice.
            modifiers.drop_all(&["row", "col"]);
        } else if inner != (true, true) {
            return Err(self.not_there(modifiers));
        }
        let saturate = modifiers.take("satfinite");
        if types.d == Scalar::F64 {
            modifiers.take("rn");
        }
        let of_bits = types.a == Scalar::B1;
        // PTX ISA 9.7.14.4.6 and 9.7.14.5.14: `.xor.popc` or `.and.popc`.
        let bitwise = if of_bits { modifiers.take_any(&["xor", "and"]) } else { None };
        let counted = of_bits && modifiers.take("popc");
        let known = if sparse {
            is_there_with_zeros(shape, &types)
        } else {
            is_there(layout, shape, &types)
        };
        if !known
            || saturate && (types.d != Scalar::S32 || of_bits)
            || of_bits && !(bitwise.is_some() && counted)
        {
            return Err(self.not_there(modifiers));
        }
        let shape = shape.in_words_of(types.a);
        let (matrices, sparsity) = if sparse {
            let [matrices @ .., metadata, selector] = self.exactly::<6>(operands)?;
            (matrices, Some(self.sparsity(shape, types.a, metadata, selector)?))
        } else {
            (self.exactly::<4>(operands)?, None)
        };
        let [d, a, b, c] = matrices;
        // Every other element of a sparse matrix is not there.
        let of_a = Shape { k: if sparse { shape.k / 2 } else { shape.k }, ..shape };
        let product = Product {
            shape,
            a: self.fragment(Role::A, layout, types.a, of_a, a, false)?,
            b: self.fragment(Role::B, layout, types.b, shape, b, false)?,
            c: self.fragment(Role::Sum, layout, types.c, shape, c, false)?,
            d: self.fragment(Role::Sum, layout, types.d, shape, d, true)?,
            saturate,
            xor: bitwise == Some("xor"),
            sparsity,
        };
        self.emit_matrix(Matrix::Product(product));
        Ok(())
    }

    /// `mma.m8n8k4` of `f16`: each factor by rows or by columns, C and D of either type, but not a D of halves with a C of `f32`.
    fn quad_pairs(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        types: &Types,
    ) -> Result<()> {
        let order = |name: &str| match name {
            "row" => Some(true),
            "col" => Some(false),
            _ => None,
        };
        let (rows_of_b, rows_of_a) = (modifiers.take_last(order), modifiers.take_last(order));
        let halves = |scalar| match scalar {
            Scalar::F16 => Some(true),
            Scalar::F32 => Some(false),
            _ => None,
        };
        let (Some(rows_of_a), Some(rows_of_b), Scalar::F16, Some((halves_of_c, halves_of_d))) = (
            rows_of_a,
            rows_of_b,
            types.b,
            halves(types.c).zip(halves(types.d)).filter(|&(c, d)| c || !d),
        ) else {
            return Err(self.not_there(modifiers));
        };
        let registers = |halves| if halves { 4 } else { 8 };
        let [d, a, b, c] = self.exactly(operands)?;
        let product = QuadPairs {
            a: self.fragment_slots(a, 2, false, false)?,
            b: self.fragment_slots(b, 2, false, false)?,
            c: self.fragment_slots(c, registers(halves_of_c), false, false)?,
            d: self.fragment_slots(d, registers(halves_of_d), false, true)?,
            rows_of_a,
            rows_of_b,
            halves_of_c,
            halves_of_d,
        };
        self.emit_matrix(Matrix::QuadPairs(product));
        Ok(())
    }

    /// The last two operands of `mma.sp`: the metadata, and the lanes that have them (PTX ISA 9.7.14.6.1).
    fn sparsity(
        &mut self,
        shape: Shape,
        scalar: Scalar,
        metadata: &Operand<'a>,
        selector: &Operand<'a>,
    ) -> Result<Sparsity> {
        let metadata = self.value_r(metadata, Type::B32)?;
        let lanes = lanes_with_metadata(shape, scalar);
        match *selector {
            Operand::Int(selector) if selector < 4 / lanes as u64 => {
                Ok(Sparsity { metadata, selector: selector as usize })
            }
            _ => Err(self.malformed(format!(
                "the last operand of this `mma.sp` is a constant below {}",
                4 / lanes
            ))),
        }
    }

    pub(super) fn fragment(
        &mut self,
        role: Role,
        layout: Layout,
        scalar: Scalar,
        shape: Shape,
        operand: &Operand<'a>,
        written: bool,
    ) -> Result<Fragment> {
        let (rows, cols) = Fragment::size(role, shape);
        let count = Fragment::registers(role, layout, scalar, rows, cols);
        let slots = self.fragment_slots(operand, count, scalar == Scalar::F64, written)?;
        Ok(Fragment { role, layout, scalar, rows, cols, slots })
    }

    fn fragment_slots(
        &mut self,
        operand: &Operand<'a>,
        count: usize,
        wide: bool,
        written: bool,
    ) -> Result<Vec<Slot>> {
        let parts = self.vector(operand, count)?;
        let (ty, bits) = if wide { (Type::F64, 64) } else { (Type::B32, 32) };
        let mut slots = Vec::with_capacity(count);
        for part in parts {
            let slot = if written {
                let (slot, width) = self.slot_of(part)?;
                if slot != Slot::Sink && width != bits {
                    return Err(
                        self.malformed(format!("fragments are in registers of {bits} bits"))
                    );
                }
                slot
            } else {
                self.source_slot(part, ty)?
            };
            if matches!((slot, wide), (Slot::Reg32(_), true) | (Slot::Reg64(_), false)) {
                return Err(self.malformed(format!("fragments are in registers of {bits} bits")));
            }
            slots.push(slot);
        }
        Ok(slots)
    }

    fn tile(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        load: bool,
    ) -> Result<Tile> {
        let role = match modifiers.take_any(&["a", "b", "c", "d"]) {
            Some("a") if load => Role::A,
            Some("b") if load => Role::B,
            Some("c") if load => Role::Sum,
            Some("d") if !load => Role::Sum,
            _ => return Err(self.malformed("`wmma` loads `.a`, `.b` or `.c` and stores `.d`")),
        };
        let shape = self.shape(modifiers)?;
        let scalar = modifiers.take_last(Scalar::parse).ok_or_else(|| self.not_there(modifiers))?;
        let by_rows = match modifiers.take_any(&["row", "col"]) {
            Some(layout) => layout == "row",
            None => return Err(self.malformed("`wmma` needs `.row` or `.col`")),
        };
        // Elements of less than a byte lie side by side along k (PTX ISA 9.7.14.4.2).
        let across_k = scalar.in_word() > 1 && by_rows != (role == Role::A);
        if !tile_is_there(role, shape, scalar) || across_k {
            return Err(self.not_there(modifiers));
        }
        let shape = shape.in_words_of(scalar);
        let window = space_of_matrix(modifiers);
        let [first, second, stride @ ..] = operands else {
            return Err(self.malformed("wrong number of operands"));
        };
        let (registers, address) = if load { (first, second) } else { (second, first) };
        let stride = match stride {
            [] => None,
            [stride] => Some(self.value_r(stride, Type::B32)?),
            _ => return Err(self.malformed("wrong number of operands")),
        };
        let address = self.address(address, window, Marks::default())?;
        let fragment = self.fragment(role, Layout::Wmma, scalar, shape, registers, load)?;
        Ok(Tile { fragment, address, stride, by_rows })
    }

    pub(super) fn load_rows(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        self.rows(modifiers, operands, false)
    }

    pub(super) fn store_rows(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        self.rows(modifiers, operands, true)
    }

    /// `ldmatrix` and `stmatrix`: one, two or four matrices of 8 rows, whose addresses the lanes give.
    fn rows(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
        stores: bool,
    ) -> Result<()> {
        self.together(modifiers)?;
        let count = match modifiers.take_any(&["x1", "x2", "x4"]) {
            Some("x1") => 1,
            Some("x2") => 2,
            Some(_) => 4,
            None => {
                return Err(
                    self.malformed(format!("`{}` needs `.x1`, `.x2` or `.x4`", modifiers.base))
                );
            }
        };
        if !(modifiers.take("m8n8") && modifiers.take("b16")) {
            let base = modifiers.base;
            return Err(
                self.unsupported(format!("this shape of `{base}`; supported is m8n8 of b16"))
            );
        }
        let transposed = modifiers.take("trans");
        let window = space_of_matrix(modifiers);
        let [first, second] = self.exactly(operands)?;
        let (registers, address) = if stores { (second, first) } else { (first, second) };
        let address = self.address(address, window, Marks::default())?;
        let slots = self.fragment_slots(registers, count, false, !stores)?;
        self.emit_matrix(Matrix::Rows(Matrices { slots, address, transposed, stores }));
        Ok(())
    }

    /// Lowers `movmatrix`, which transposes an 8 x 8 matrix of 16-bit elements.
    pub(super) fn transpose(
        &mut self,
        modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        self.together(modifiers)?;
        if !(modifiers.take("m8n8") && modifiers.take("trans") && modifiers.take("b16")) {
            return Err(self.malformed("`movmatrix` is `.sync.aligned.m8n8.trans.b16`"));
        }
        let [d, a] = self.exactly(operands)?;
        let (d, bits) = self.dst_r(d)?;
        if bits != 32 {
            return Err(self.malformed("`movmatrix` moves 32 bits"));
        }
        let a = self.value_r(a, Type::B32)?;
        self.emit_matrix(Matrix::Transpose(d, a));
        Ok(())
    }
}

/// The window of a matrix in memory; `None` for a generic address.
fn space_of_matrix(modifiers: &mut Modifiers) -> Option<Window> {
    match modifiers.take_any(&["global", "shared", "shared::cta"])? {
        "global" => Some(Window::Global),
        _ => Some(Window::Shared),
    }
}

fn is_tall_or_wide(shape: Shape) -> bool {
    shape.is(16, 16, 16) || shape.is(32, 8, 16) || shape.is(8, 32, 16)
}

/// Whether `wmma.load` and `wmma.store` have this matrix.
fn tile_is_there(role: Role, shape: Shape, scalar: Scalar) -> bool {
    let sum = role == Role::Sum;
    match scalar {
        Scalar::F16 => is_tall_or_wide(shape),
        Scalar::Bf16 | Scalar::S8 | Scalar::U8 => !sum && is_tall_or_wide(shape),
        Scalar::S4 | Scalar::U4 => !sum && shape.is(8, 8, 32),
        Scalar::B1 => !sum && shape.is(8, 8, 128),
        Scalar::S32 => sum && (is_tall_or_wide(shape) || shape.is(8, 8, 32) || shape.is(8, 8, 128)),
        Scalar::Tf32 => !sum && shape.is(16, 16, 8),
        Scalar::F32 => sum && (is_tall_or_wide(shape) || shape.is(16, 16, 8)),
        Scalar::F64 => shape.is(8, 8, 4),
        Scalar::E4m3 | Scalar::E5m2 => false,
    }
}

/// Whether there is a product of this shape and these types.
fn is_there(layout: Layout, shape: Shape, types: &Types) -> bool {
    use Scalar::{B1, Bf16, E4m3, E5m2, F16, F32, F64, S4, S8, S32, Tf32, U4, U8};
    let one = |scalar| types.a == scalar && types.b == scalar;
    let sums = |scalar| types.d == scalar && types.c == scalar;
    let halves = one(F16) && [types.d, types.c].iter().all(|ty| matches!(ty, F16 | F32));
    let wide_sums = sums(F32);
    if layout == Layout::Wmma {
        return (halves || one(Bf16) && wide_sums || (one(S8) || one(U8)) && sums(S32))
            && is_tall_or_wide(shape)
            || one(Tf32) && wide_sums && shape.is(16, 16, 8)
            || one(F64) && sums(F64) && shape.is(8, 8, 4)
            || (one(S4) || one(U4)) && sums(S32) && shape.is(8, 8, 32)
            || one(B1) && sums(S32) && shape.is(8, 8, 128);
    }
    let bytes = |ty| matches!(ty, S8 | U8);
    let nibbles = |ty| matches!(ty, S4 | U4);
    // D and C of `mma` on f16 have one type (PTX ISA 9.7.14.5.14).
    (halves && types.d == types.c || one(Bf16) && wide_sums)
        && (shape.is(16, 8, 8) || shape.is(16, 8, 16))
        || one(Tf32) && wide_sums && (shape.is(16, 8, 4) || shape.is(16, 8, 8))
        || bytes(types.a)
            && bytes(types.b)
            && sums(S32)
            && (shape.is(16, 8, 16) || shape.is(16, 8, 32) || shape.is(8, 8, 16))
        || nibbles(types.a)
            && nibbles(types.b)
            && sums(S32)
            && (shape.is(8, 8, 32) || shape.is(16, 8, 32) || shape.is(16, 8, 64))
        || one(B1)
            && sums(S32)
            && (shape.is(8, 8, 128) || shape.is(16, 8, 128) || shape.is(16, 8, 256))
        || [types.a, types.b].iter().all(|ty| matches!(ty, E4m3 | E5m2))
            && wide_sums
            && (shape.is(16, 8, 16) || shape.is(16, 8, 32))
        || one(F64)
            && sums(F64)
            && (shape.is(8, 8, 4) || shape.m == 16 && shape.n == 8 && matches!(shape.k, 4 | 8 | 16))
}

/// Whether `mma.sp` has this shape and these types (PTX ISA 9.7.14.6.3).
fn is_there_with_zeros(shape: Shape, types: &Types) -> bool {
    use Scalar::{Bf16, E4m3, E5m2, F16, F32, S4, S8, S32, Tf32, U4, U8};
    let both = |scalars: [Scalar; 2]| [types.a, types.b].iter().all(|ty| scalars.contains(ty));
    let sums = |scalar| types.d == scalar && types.c == scalar;
    let deep = |depths: &[usize]| shape.m == 16 && shape.n == 8 && depths.contains(&shape.k);
    both([F16; 2]) && (sums(F16) || sums(F32)) && deep(&[16, 32])
        || both([Bf16; 2]) && sums(F32) && deep(&[16, 32])
        || both([Tf32; 2]) && sums(F32) && deep(&[8, 16])
        || both([S8, U8]) && sums(S32) && deep(&[32, 64])
        || both([S4, U4]) && sums(S32) && deep(&[64, 128])
        || both([E4m3, E5m2]) && sums(F32) && deep(&[64])
}
