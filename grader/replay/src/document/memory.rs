//! The memories that the page shows as grids: the tensors of the test, and the shared arrays of the block.

use crate::debug_info::{Encoding, Location, Type, Variable};
use crate::values::{element, number};
use device::vm::recording::BlockRecording;
use ptxvm::{BufferId, LaneAccess, Place, Symbols};
use puzzle::case::{Case, CaseTensor, Role};
use puzzle::comparison::is_within_bound;
use puzzle::tensor::{DType, size_of};
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;

/// Elements of a tensor whose values are all shown.
const MOST_ELEMENTS: usize = 40_000;
/// Elements of a tensor whose values a trace for the book has.
const MOST_VALUES: u64 = 64;

/// A memory with named elements.
#[derive(Debug, Serialize)]
pub struct Memory {
    name: String,
    /// `input`, `output`, `in place`, `result`, `workspace` or `shared`.
    role: &'static str,
    dtype: String,
    shape: Vec<u64>,
    /// Its contents before the launch, unless it is very large; null where nothing has been written.
    before: Option<Vec<Value>>,
    after: Option<Vec<Value>>,
    expected: Option<Vec<Value>>,
    /// The elements that are wrong after the launch.
    wrong: Vec<usize>,
    /// The address of its first element.
    address: String,
}

/// An array in shared memory.
#[derive(Clone, Debug)]
struct Shared {
    name: String,
    start: u64,
    bytes: u64,
    dtype: DType,
    shape: Vec<u64>,
}

/// Which element lies where.
#[derive(Debug, Default)]
pub struct Layout {
    tensors: usize,
    types: Vec<DType>,
    buffers: HashMap<BufferId, usize>,
    shared: Vec<Shared>,
}

impl Layout {
    /// The layout of a launch with so many bytes of dynamic shared memory.
    pub fn of(symbols: Option<&Symbols>, known: &[Variable], case: &Case, dynamic: u32) -> Self {
        let arrays = symbols.map(Symbols::shared_arrays).unwrap_or_default();
        let array = |(symbol, start, bytes): (&str, u32, u32)| {
            let named = known.iter().find(|v| v.places.contains(&Location::Shared(symbol.into())));
            let (name, ty) = named.map_or((symbol, None), |v| (v.name.as_str(), Some(&v.ty)));
            // What has no size of its own is the dynamic array.
            let bytes = if bytes == 0 { dynamic } else { bytes };
            Shared::new(name, start.into(), bytes.into(), ty)
        };
        Self {
            tensors: case.tensors.len(),
            types: case.tensors.iter().map(|t| t.tensor.dtype).collect(),
            buffers: HashMap::new(),
            shared: arrays.into_iter().map(array).collect(),
        }
    }

    /// The layout with the buffers of the tensors.
    pub fn with_buffers(mut self, buffers: &[Option<(BufferId, u64)>]) -> Self {
        let known = buffers.iter().enumerate();
        self.buffers = known.filter_map(|(i, buffer)| Some(((*buffer)?.0, i))).collect();
        self
    }

    /// The elements that a lane accessed: memory, element, value.
    pub fn elements(&self, lane: &LaneAccess, size: u32) -> Vec<(i32, i64, Value)> {
        let size = i64::from(size);
        let split = |memory: i32, dtype: DType, offset: i64| {
            let width = size_of(dtype) as i64;
            let count = (size / width).max(1);
            let of = |i: i64| {
                let from = (i * width) as usize;
                let bytes = &lane.bytes[from.min(16)..(from + width as usize).min(16)];
                (memory, offset.div_euclid(width) + i, element(dtype, bytes))
            };
            (0..count).map(of).collect()
        };
        match lane.place {
            Place::Global(buffer, offset) => match self.buffers.get(&buffer) {
                Some(&tensor) => split(tensor as i32, self.types[tensor], offset),
                None => vec![(-2, offset, Value::Null)],
            },
            Place::Shared(address) => {
                let within = |a: &Shared| a.start <= address && address < a.start + a.bytes;
                match self.shared.iter().position(within) {
                    Some(index) => {
                        let array = &self.shared[index];
                        let offset = (address - array.start) as i64;
                        split((self.tensors + index) as i32, array.dtype, offset)
                    }
                    None => vec![(-2, address as i64, Value::Null)],
                }
            }
            Place::Local(address) => (0..(size / 4).max(1))
                .map(|i| {
                    let from = (4 * i) as usize;
                    let bytes = lane.bytes[from..from + 4].iter().rev();
                    let word = bytes.fold(0u32, |all, &byte| all << 8 | u32::from(byte));
                    (-1, address as i64 + 4 * i, word.into())
                })
                .collect(),
            Place::Nowhere(address) => vec![(-2, address as i64, Value::Null)],
        }
    }

    /// The memories, tensors first.
    pub fn memories(&self, case: &Case, recorded: &BlockRecording) -> Vec<Memory> {
        let tensors = case.tensors.iter().enumerate();
        let mut memories: Vec<Memory> = tensors.map(|(i, t)| tensor(t, i, recorded)).collect();
        memories.extend(self.shared.iter().map(|array| Memory {
            name: array.name.clone(),
            role: "shared",
            dtype: array.dtype.to_string(),
            shape: array.shape.clone(),
            before: Some(vec![Value::Null; array.shape.iter().product::<u64>() as usize]),
            after: None,
            expected: None,
            wrong: Vec::new(),
            address: array.start.to_string(),
        }));
        memories
    }
}

impl Memory {
    /// The memory without the values of a large tensor.
    pub fn small(mut self) -> Self {
        if self.shape.iter().product::<u64>() > MOST_VALUES {
            (self.before, self.after, self.expected) = (None, None, None);
        }
        self
    }
}

impl Shared {
    fn new(name: &str, start: u64, bytes: u64, ty: Option<&Type>) -> Self {
        let (scalar, extents) = match ty {
            Some(Type::Array(element, extents)) => (Some(&**element), extents.clone()),
            other => (other, Vec::new()),
        };
        let dtype = match scalar {
            Some(Type::Scalar(_, 8, Encoding::Float)) => DType::F64,
            Some(Type::Scalar(name, 2, _)) if name == "__nv_bfloat16" => DType::BF16,
            Some(Type::Scalar(_, 2, _)) => DType::F16,
            Some(Type::Scalar(_, 4, Encoding::Signed | Encoding::Unsigned)) => DType::I32,
            Some(Type::Scalar(_, 8, Encoding::Signed | Encoding::Unsigned)) => DType::I64,
            Some(Type::Scalar(_, 1, _)) => DType::U8,
            _ => DType::F32,
        };
        let elements = bytes / size_of(dtype) as u64;
        let whole = !extents.is_empty() && extents.iter().product::<u64>() == elements;
        let shape = if whole { extents } else { vec![elements] };
        Self { name: name.to_owned(), start, bytes, dtype, shape }
    }
}

fn tensor(of: &CaseTensor, index: usize, recorded: &BlockRecording) -> Memory {
    let shown = of.tensor.len() <= MOST_ELEMENTS;
    let contents = |run: &device::backend::RunTensor| -> Vec<Value> {
        let both = run.values.iter().zip(&run.written);
        both.map(|(&value, &written)| if written { number(value) } else { Value::Null }).collect()
    };
    let (before, after) = (&recorded.before[index], &recorded.after[index]);
    let expected = of.wanted().map(|(_, expected)| expected);
    let wrong = expected.map_or_else(Vec::new, |expected| {
        let all = expected.iter().zip(&after.values).zip(&after.written).enumerate();
        all.filter(|(_, ((e, got), written))| !**written || !is_within_bound(**got, e))
            .map(|(at, _)| at)
            .collect()
    });
    Memory {
        name: of.tensor.name.clone(),
        role: match of.role {
            Role::Input(_) => "input",
            Role::Output(_) => "output",
            Role::InPlace { .. } => "in place",
            Role::Result => "result",
            Role::Workspace => "workspace",
        },
        dtype: of.tensor.dtype.to_string(),
        shape: of.tensor.shape.iter().map(|&size| size as u64).collect(),
        before: shown.then(|| contents(before)),
        after: shown.then(|| contents(after)),
        expected: expected
            .filter(|_| shown)
            .map(|expected| expected.iter().map(|e| number(e.value)).collect()),
        wrong,
        address: recorded.buffers[index].map_or(0, |(_, address)| address).to_string(),
    }
}
