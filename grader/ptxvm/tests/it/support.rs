//! A device for tests: typed buffers, launches by kernel name.

pub use crate::fixture::{fixture, fixture_bytes};
use ptxvm::finding::{BarrierObject, FindingKind};
use ptxvm::{Access, BufferId, Init, Launch, Memory, Module, Options, Outcome};

/// A value with a fixed layout in memory.
pub trait Plain: Copy {
    fn append_to(self, bytes: &mut Vec<u8>);
    fn from_bytes(bytes: &[u8]) -> Self;
    const SIZE: usize = size_of::<Self>();

    fn bytes(self) -> Vec<u8> {
        bytes_of(&[self])
    }
}

macro_rules! plain {
    ($($ty:ty),*) => {$(
        impl Plain for $ty {
            fn append_to(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
            fn from_bytes(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("a chunk of the type's size"))
            }
        }
    )*};
}
plain!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

/// The bytes of a slice.
pub fn bytes_of<T: Plain>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of_val(values));
    for value in values {
        value.append_to(&mut bytes);
    }
    bytes
}

pub struct Device {
    pub module: Module,
    pub memory: Memory,
    pub options: Options,
}

impl Device {
    pub fn new(ptx: &str) -> Self {
        let module = Module::load(ptx).unwrap_or_else(|error| panic!("{error}"));
        let options = Options { budget: 1 << 20, ..Options::default() };
        Self { module, memory: Memory::default(), options }
    }

    /// A device with the kernels of a file in `tests`.
    pub fn of(name: &str) -> Self {
        Self::new(&fixture(name))
    }

    pub fn input<T: Plain>(&mut self, values: &[T]) -> BufferId {
        self.memory.alloc(Init::Bytes(bytes_of(values)), Access::ReadOnly)
    }

    pub fn in_out<T: Plain>(&mut self, values: &[T]) -> BufferId {
        self.memory.alloc(Init::Bytes(bytes_of(values)), Access::ReadWrite)
    }

    pub fn output<T: Plain>(&mut self, count: usize) -> BufferId {
        self.memory.alloc(Init::Undefined { len: count * T::SIZE }, Access::ReadWrite)
    }

    pub fn read<T: Plain>(&self, id: BufferId) -> Vec<T> {
        self.memory.bytes(id).chunks_exact(T::SIZE).map(T::from_bytes).collect()
    }

    pub fn pointer(&self, id: BufferId) -> Vec<u8> {
        self.memory.address(id).bytes()
    }

    /// Launches; the kernel's name may be a part of the mangled one.
    pub fn launch(
        &mut self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        params: Vec<Vec<u8>>,
    ) -> Outcome {
        let kernel = self
            .module
            .kernels()
            .find(|found| found.name() == kernel)
            .or_else(|| self.module.kernels().find(|found| found.name().contains(kernel)))
            .unwrap_or_else(|| panic!("no kernel {kernel}"));
        let launch = Launch { grid, block, dynamic_shared, params };
        ptxvm::launch(&self.module, kernel, &launch, &mut self.memory, &self.options)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// Launches one row of blocks and expects no finding.
    pub fn run(
        &mut self,
        kernel: &str,
        blocks: u32,
        threads: u32,
        params: Vec<Vec<u8>>,
    ) -> Outcome {
        let outcome = self.launch(kernel, [blocks, 1, 1], [threads, 1, 1], 0, params);
        assert_eq!(outcome.findings, [], "{kernel}");
        outcome
    }
}

/// Small integers as floats: sums are exact in any order.
pub fn integers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as f32 % 17.0 - 8.0
        })
        .collect()
}

/// The marked lines (`//~ text`) of a kernel: number and text.
pub fn marks<'a>(source: &'a str, kernel: &str) -> Vec<(u32, &'a str)> {
    let head = format!("void {kernel}(");
    source
        .lines()
        .zip(1..)
        .skip_while(|(line, _)| !line.contains(&head))
        .take_while(|(line, _)| *line != "}")
        .filter_map(|(line, number)| Some((number, line.split_once("//~ ")?.1)))
        .collect()
}

/// The name of a finding's kind, as marks in sources have it; of a barrier object, that of its misuse.
pub fn kind_name(kind: &FindingKind) -> String {
    let debug = match kind {
        FindingKind::BarrierObject(BarrierObject { misuse, .. }) => format!("{misuse:?}"),
        other => format!("{other:?}"),
    };
    debug.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned()
}
