//! Lowers `wmma`, `mma.sync`, `ldmatrix` and `cp.async`.

use super::body::{Body, Register, Result};
use super::mods::Mods;
use crate::ir::{Op, R, Uniform};
use crate::matrix::{
    Access, CopyLater, Copying, Element, Fragment, Layout, LoadRows, Matrix, Multiply,
};
use crate::memory::Window;
use crate::syntax::ast::Operand;
use crate::types::Type;

/// Rows of the left factor, columns of the right one, and what both share.
type Shape = (u32, u32, u32);

impl<'a> Body<'_, '_, '_, 'a> {
    /// True if the instruction was one of these.
    pub fn matrix(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<bool> {
        match mods.base {
            "wmma" => self.wmma(mods, operands)?,
            "mma" => self.mma(mods, operands)?,
            "ldmatrix" => self.load_rows(mods, operands)?,
            "cp" if mods.has("async") && !mods.has("bulk") && !mods.has("mbarrier") => {
                self.copy_later(mods, operands)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The whole warp takes part.
    fn together(&mut self, op: Matrix) {
        let all = self.builder.uniform_r(Uniform::Bits(u64::from(u32::MAX)));
        self.emit_members(all);
        self.emit(Op::Matrix(Box::new(op)));
    }

    fn fragment_registers(&mut self, operand: &Operand<'a>, written: bool) -> Result<Vec<R>> {
        let parts = match operand {
            Operand::Vector(parts) => parts.as_slice(),
            single => std::slice::from_ref(single),
        };
        let mut registers = Vec::new();
        for part in parts {
            registers.push(if written {
                match self.dst(part)? {
                    Some(Register::R(register, 32)) => register,
                    None => self.builder.new_r(),
                    Some(_) => return Err(self.malformed("a fragment is made of 32-bit registers")),
                }
            } else {
                self.value_r(part, Type::B32)?
            });
        }
        Ok(registers)
    }

    fn fragment(
        &mut self,
        operand: &Operand<'a>,
        written: bool,
        (rows, columns): (u32, u32),
        element: Element,
        layout: Layout,
    ) -> Result<Fragment> {
        let registers = self.fragment_registers(operand, written)?;
        let held = 32 * element.of_register() * registers.len() as u32;
        if held == 0 || !held.is_multiple_of(rows * columns) {
            return Err(self.malformed(format!(
                "{} registers cannot hold a matrix of {rows} x {columns}",
                registers.len()
            )));
        }
        Ok(Fragment { rows, columns, element, registers, layout })
    }

    fn shape(&self, mods: &mut Mods<'a>, known: &[(&'static str, Shape)]) -> Result<Shape> {
        let names: Vec<&'static str> = known.iter().map(|(name, _)| *name).collect();
        let taken = mods.take_any(&names);
        let found = known.iter().find(|(name, _)| Some(*name) == taken);
        found.map(|&(_, shape)| shape).ok_or_else(|| self.unsupported("matrices of this shape"))
    }

    /// The types of a product, which stand last, in their order.
    fn elements(mods: &mut Mods<'a>) -> Vec<Element> {
        let mut all = Vec::new();
        while let Some(element) = mods.take_last(Element::parse) {
            all.insert(0, element);
        }
        all
    }

    fn wmma(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        const SHAPES: [(&str, Shape); 4] = [
            ("m16n16k16", (16, 16, 16)),
            ("m32n8k16", (32, 8, 16)),
            ("m8n32k16", (8, 32, 16)),
            ("m16n16k8", (16, 16, 8)),
        ];
        let action = mods.take_any(&["load", "store", "mma"]);
        mods.drop_all(&["sync", "aligned"]);
        let (m, n, k) = self.shape(mods, &SHAPES)?;
        if action == Some("mma") {
            return self.wmma_product(mods, operands, (m, n, k));
        }
        let stores = action == Some("store");
        let (size, factor) = match mods.take_any(&["a", "b", "c", "d"]) {
            Some("a") => ((m, k), true),
            Some("b") => ((k, n), true),
            Some(_) => ((m, n), false),
            None => return Err(self.malformed("`wmma` names a matrix: `.a`, `.b`, `.c` or `.d`")),
        };
        let by_rows = self.by_rows(mods)?;
        let window = match mods.take_any(&["global", "shared", "shared::cta"]) {
            Some("global") => Some(Window::Global),
            Some(_) => Some(Window::Shared),
            None => None,
        };
        let Some(element) = mods.take_last(Element::parse) else {
            return Err(self.unsupported("matrices of this type"));
        };
        let (matrix, address, stride) = match (stores, operands) {
            (false, [matrix, address]) | (true, [address, matrix]) => (matrix, address, None),
            (false, [matrix, address, stride]) | (true, [address, matrix, stride]) => {
                (matrix, address, Some(stride))
            }
            _ => return Err(self.malformed("`wmma` has a matrix, an address and a stride")),
        };
        // Factors say in the product how they were loaded, sums do not.
        let layout = Layout::Open { by_rows: by_rows || !factor };
        let fragment = self.fragment(matrix, !stores, size, element, layout)?;
        let address = self.address(address, window, false)?;
        let stride = match stride {
            Some(stride) => Some(self.value_r(stride, Type::B32)?),
            None => None,
        };
        let (pointer, part) = (self.builder.new_q(), self.builder.new_r());
        self.together(Matrix::Access(Access {
            fragment,
            address,
            stride,
            by_rows,
            stores,
            pointer,
            part,
        }));
        Ok(())
    }

    fn by_rows(&self, mods: &mut Mods<'a>) -> Result<bool> {
        match mods.take_any(&["row", "col"]) {
            Some(word) => Ok(word == "row"),
            None => Err(self.malformed("a layout is missing: `.row` or `.col`")),
        }
    }

    fn wmma_product(
        &mut self,
        mods: &mut Mods<'a>,
        operands: &[Operand<'a>],
        (m, n, k): Shape,
    ) -> Result<()> {
        // Which of the two comes first, `take_any` would not tell.
        let first = mods.take_last(|part| (part == "row" || part == "col").then(|| part == "row"));
        let second = mods.take_last(|part| (part == "row" || part == "col").then(|| part == "row"));
        let (Some(b_rows), Some(a_rows)) = (first, second) else {
            return Err(self.malformed("the layouts of both factors are missing"));
        };
        let saturates = mods.take("satfinite");
        let (d, a, b, c) = match Self::elements(mods).as_slice() {
            [d, c] => (*d, Element::F16, Element::F16, *c),
            [d, a, b, c] => (*d, *a, *b, *c),
            _ => return Err(self.unsupported("products of these types")),
        };
        let open = |by_rows| Layout::Open { by_rows };
        let [d_in, a_in, b_in, c_in] = self.exactly(operands)?;
        let a = self.fragment(a_in, false, (m, k), a, open(a_rows))?;
        let b = self.fragment(b_in, false, (k, n), b, open(b_rows))?;
        let c = self.fragment(c_in, false, (m, n), c, open(true))?;
        let d = self.fragment(d_in, true, (m, n), d, open(true))?;
        self.together(Matrix::Multiply(Multiply { a, b, c, d, saturates }));
        Ok(())
    }

    fn mma(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        const SHAPES: [(&str, Shape); 4] = [
            ("m16n8k4", (16, 8, 4)),
            ("m16n8k8", (16, 8, 8)),
            ("m16n8k16", (16, 8, 16)),
            ("m16n8k32", (16, 8, 32)),
        ];
        if mods.has("sp") || mods.has("sp::ordered_metadata") {
            return Err(self.unsupported("products of sparse matrices"));
        }
        mods.drop_all(&["sync", "aligned"]);
        let (m, n, k) = self.shape(mods, &SHAPES)?;
        if !(mods.take("row") && mods.take("col")) {
            return Err(self.unsupported("`mma` of other layouts than `.row.col`"));
        }
        let saturates = mods.take("satfinite");
        let [d, a, b, c] = Self::elements(mods)[..] else {
            return Err(self.unsupported("products of these types"));
        };
        let [d_in, a_in, b_in, c_in] = self.exactly(operands)?;
        let a = self.fragment(a_in, false, (m, k), a, Layout::Left)?;
        let b = self.fragment(b_in, false, (k, n), b, Layout::Right)?;
        let c = self.fragment(c_in, false, (m, n), c, Layout::Sum)?;
        let d = self.fragment(d_in, true, (m, n), d, Layout::Sum)?;
        self.together(Matrix::Multiply(Multiply { a, b, c, d, saturates }));
        Ok(())
    }

    fn load_rows(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        mods.drop_all(&["sync", "aligned"]);
        let transposed = mods.take("trans");
        let count = match (mods.take("m8n8"), mods.take_any(&["x1", "x2", "x4"])) {
            (true, Some("x1")) => 1,
            (true, Some("x2")) => 2,
            (true, Some(_)) => 4,
            _ => return Err(self.unsupported("`ldmatrix` of this shape")),
        };
        let shared = mods.take_any(&["shared", "shared::cta"]).is_some();
        if !mods.take("b16") {
            return Err(self.unsupported("`ldmatrix` of other elements than 16 bits"));
        }
        let [d, address] = self.exactly(operands)?;
        let registers = self.fragment_registers(d, true)?;
        if registers.len() != count {
            return Err(self.malformed(format!("{count} registers belong here")));
        }
        let address = self.address(address, shared.then_some(Window::Shared), false)?;
        let (pointer, part) = (self.builder.new_q(), self.builder.new_r());
        self.together(Matrix::LoadRows(LoadRows { registers, address, transposed, pointer, part }));
        Ok(())
    }

    fn copy_later(&mut self, mods: &mut Mods<'a>, operands: &[Operand<'a>]) -> Result<()> {
        mods.take("async");
        if mods.take("commit_group") {
            self.emit(Op::Copying(Box::new(Copying::Commit)));
            return Ok(());
        }
        if mods.take("wait_all") {
            self.emit(Op::Copying(Box::new(Copying::Wait(None))));
            return Ok(());
        }
        if mods.take("wait_group") {
            let [Operand::Int(left)] = operands else {
                return Err(self.malformed("`cp.async.wait_group` needs a number"));
            };
            let left = u32::try_from(*left).unwrap_or(u32::MAX);
            self.emit(Op::Copying(Box::new(Copying::Wait(Some(left)))));
            return Ok(());
        }
        mods.drop_all(&["ca", "cg", "shared", "shared::cta", "global"]);
        mods.drop_prefixed(&["L2::"]);
        let (to, from, bytes, read) = match operands {
            [to, from, Operand::Int(bytes)] => (to, from, *bytes, None),
            [to, from, Operand::Int(bytes), read, ..] => (to, from, *bytes, Some(read)),
            _ => return Err(self.malformed("`cp.async` has two addresses and a size")),
        };
        if ![4, 8, 16].contains(&bytes) {
            return Err(self.malformed("`cp.async` copies 4, 8 or 16 bytes"));
        }
        let read = match read {
            None => None,
            Some(Operand::Int(count)) if *count == bytes => None,
            Some(count) if self.is_predicate(count) => {
                return Err(self.unsupported("`cp.async` with a predicate `ignore-src`"));
            }
            Some(count) => Some(self.value_r(count, Type::B32)?),
        };
        let to = self.address(to, Some(Window::Shared), false)?;
        let from = self.address(from, Some(Window::Global), false)?;
        let pointer = self.builder.new_q();
        let words = std::array::from_fn(|_| self.builder.new_r());
        let bytes = bytes as u32;
        let copy = CopyLater { to, from, bytes, read, pointer, words };
        self.emit(Op::Copying(Box::new(Copying::Begin(copy))));
        Ok(())
    }

    fn is_predicate(&mut self, operand: &Operand<'a>) -> bool {
        let Operand::Name(name) = operand else { return false };
        matches!(self.register(name), Some(Register::P(_)))
    }
}
