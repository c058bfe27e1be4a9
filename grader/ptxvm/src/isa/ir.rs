//! Decoded instructions: what the executor runs. Nothing here knows PTX syntax.

use crate::isa::atom_op::AtomOp;
use crate::isa::bulk::BulkStore;
use crate::isa::class::Class;
use crate::isa::matrix_op::Matrix;
use crate::isa::mbarrier::Mbarrier;
use crate::isa::names::{Address, Elements, Guard, Pc, Pred, Reg32, Reg64, Slot};
use crate::isa::opcodes::with_lane_operations;
use crate::isa::ordering::Ordering;
use crate::isa::texture::Texture;
use crate::isa::types::Type;

/// The register file that an operand lies in: 32-bit registers, 64-bit registers or predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterFile {
    Reg32,
    Reg64,
    Pred,
}

/// Most operands of a lane operation.
pub const MAX_OPERANDS: usize = 5;

macro_rules! define_alu {
    ($($(#[$doc:meta])* $signature:ident($method:ident: $($file:ident),*) {
        $($op:ident $class:ident $rule:ident $(($($argument:tt)*))? $speed:ident $path:path $(= $($ptx:literal),+)?;)*
    })*) => {
        /// Operations by register signature.
        pub mod alu {
            $($(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum $signature { $($op),* })*
        }
        /// One arithmetic instruction: operation, destination, sources.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Alu {
            $($signature(alu::$signature, $($file),*),)*
            /// A predicate from two predicates.
            Logic(Logic, Pred, Pred, Pred),
            /// Reg32 <- Pred ? Reg32 : Reg32
            SelectR(Reg32, Reg32, Reg32, Pred),
            /// Reg64 <- Pred ? Reg64 : Reg64
            SelectQ(Reg64, Reg64, Reg64, Pred),
            /// Addition or subtraction with the carry flag.
            CarryR(Carry, Reg32, Reg32, Reg32),
            CarryQ(Carry, Reg64, Reg64, Reg64),
        }
        impl Alu {
            /// What it counts as.
            pub fn class(&self) -> Class {
                match self {
                    $(Self::$signature(op, ..) => match op {
                        $(alu::$signature::$op => Class::$class,)*
                    },)*
                    Self::Logic(..) => Class::Compare,
                    Self::SelectR(..) | Self::SelectQ(..) => Class::Move,
                    Self::CarryR(..) | Self::CarryQ(..) => Class::Integer,
                }
            }
        }
        /// A lane operation without its operands.
        #[expect(dead_code, reason = "operations of some signatures are steps of other instructions alone")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum LaneOperation {
            $($signature(alu::$signature),)*
        }
        impl LaneOperation {
            /// The register files of its operands, the destination first.
            pub fn files(self) -> &'static [RegisterFile] {
                match self {
                    $(Self::$signature(_) => &[$(RegisterFile::$file),*],)*
                }
            }

            /// The instruction with registers of these indices, the destination first.
            pub fn with(self, registers: [u32; MAX_OPERANDS]) -> Alu {
                let mut registers = registers.into_iter();
                let mut next = || registers.next().unwrap_or_default();
                match self {
                    $(Self::$signature(op) => Alu::$signature(op, $($file(next())),*),)*
                }
            }
        }
    };
}
with_lane_operations!(define_alu);

/// An operation on predicate registers, all 32 lanes of a warp at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logic {
    And,
    Or,
    Xor,
    /// Of the first source.
    Not,
    /// Of the first source.
    Mov,
}

/// Flags of `add.cc`, `addc`, `sub.cc`, `subc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carry {
    pub subtract: bool,
    pub reads: bool,
    pub writes: bool,
}

/// A decoded instruction, as the executor runs it.
#[derive(Clone, Debug)]
pub struct Instr {
    pub op: Op,
    pub guard: Option<Guard>,
    /// What it counts as. None for steps that the lowering added: they are not the program's instructions.
    pub class: Option<Class>,
}

/// An atomic read-modify-write of memory: `atom`, or `red`, which returns nothing.
#[derive(Clone, Copy, Debug)]
pub struct Atom {
    pub op: AtomOp,
    pub ty: Type,
    pub address: Address,
    /// Takes the old value; [`Slot::Sink`] for `red`.
    pub dst: Slot,
    pub b: Slot,
    /// The new value of `cas`.
    pub c: Slot,
}

/// `atom.exch.b128` or `atom.cas.b128`. Words of 128 bits are pairs of words of 64, the low one first.
#[derive(Clone, Copy, Debug)]
pub struct WideAtom {
    pub address: Address,
    /// Takes the old value.
    pub dst: [Slot; 2],
    /// What `cas` compares the old value with; `exch` does not.
    pub expected: Option<[Reg64; 2]>,
    /// The new value.
    pub value: [Reg64; 2],
}

/// Source lane of a shuffle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shuffle {
    Up,
    Down,
    Bfly,
    Idx,
}

/// What `vote` asks of a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vote {
    All,
    Any,
    Uni,
}

/// What `bar.red` reduces to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarReduce {
    Popc(Reg32),
    And(Pred),
    Or(Pred),
}

/// A barrier of the block: `bar` or `barrier`, with a reduction over predicates if it is `bar.red`.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    pub id: Reg32,
    /// Threads that take part; None: the whole block.
    pub threads: Option<Reg32>,
    /// Whether the threads wait for the others; `bar.arrive` does not.
    pub waits: bool,
    pub reduce: Option<(BarReduce, Guard)>,
}

/// How `redux.sync` combines the values of the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redux {
    Add,
    MinU,
    MinS,
    MaxU,
    MaxS,
    And,
    Or,
    Xor,
}

/// Functions of the CUDA runtime that PTX calls by name.
#[derive(Clone, Copy, Debug)]
pub enum System {
    /// `vprintf(format, arguments)`: local addresses of both, and of the result.
    Printf { format: u32, arguments: u32, result: Option<u32> },
    /// `__assertfail(message, file, line, function, size)`: local address of the first.
    AssertFail { message: u32 },
    /// `malloc(size)`: local addresses of the size and of the result.
    Malloc { size: u32, result: Option<u32> },
    /// `free(pointer)`: local address of the pointer.
    Free { pointer: u32 },
    /// `__cudaCDP2GetParameterBufferV2(kernel, grid, block, shared)`: the first half of a launch.
    PrepareLaunch { request: LaunchRequest, result: Option<u32> },
    /// `__cudaCDP2LaunchDeviceV2(parameters, stream)`: its second half. Local addresses of both, and of the result.
    LaunchPrepared { parameters: u32, stream: u32, result: Option<u32> },
}

/// Local addresses of what a kernel says of a launch: the kernel's address, two triples of words, and a word.
#[derive(Clone, Copy, Debug)]
pub struct LaunchRequest {
    pub kernel: u32,
    pub grid: u32,
    pub block: u32,
    pub shared: u32,
}

/// A frame of the call stack begins: for a function that may be active more than once in a thread.
#[derive(Clone, Debug)]
pub struct EnterFrame {
    /// The function's frame, as an index in `Program::frames`.
    pub frame: u32,
    /// The frame of the caller, if the call may lead back to it: its registers are kept on the stack.
    pub caller: Option<u32>,
    /// Holds the address of the frame.
    pub pointer: Reg64,
    /// Arguments: local address, offset in the frame, bytes.
    pub arguments: Vec<(u32, u32, u32)>,
}

/// The end of the frame that the `EnterFrame` before it began.
#[derive(Clone, Debug)]
pub struct LeaveFrame {
    pub frame: u32,
    pub caller: Option<u32>,
    pub pointer: Reg64,
    /// Results: offset in the frame, local address, bytes.
    pub results: Vec<(u32, u32, u32)>,
}

/// What a thread does with the end of its stack (PTX ISA 9.7.16, "Stack Manipulation Instructions").
#[derive(Clone, Copy, Debug)]
pub enum StackUse {
    /// `stacksave`: where it ends.
    Save(Reg64),
    /// `stackrestore`: it ends where it ended then, and what was allocated since is gone.
    Restore(Reg64),
    /// `alloca`: so many bytes with this alignment, and their local address.
    Grow { address: Reg64, bytes: Reg64, align: u32 },
}

/// A load or store that only moves a value, or changes some of its bits where it lies.
#[derive(Clone, Debug)]
pub struct PoisonPropagatingAccess {
    pub address: Address,
    pub elements: Elements,
    /// The value goes to another place.
    pub copies: bool,
}

/// A choice between two values, of which one may be uninitialised: that is a mistake only where it is taken.
#[derive(Clone, Copy, Debug)]
pub struct PoisonCheckingChoice {
    /// Where it holds, the first value is taken.
    pub condition: Pred,
    pub values: [Slot; 2],
}

/// `cp.async`: global memory to shared memory, some time before the thread waits for it.
#[derive(Clone, Copy, Debug)]
pub struct CopyAsync {
    pub to: Address,
    pub from: Address,
    /// The size in bytes: 4, 8 or 16.
    pub bytes: u32,
    /// So many bytes are read, the rest becomes zero. None: all.
    pub read: Option<Reg32>,
    /// Lanes that read nothing at all.
    pub ignore: Option<Guard>,
}

/// One operation of the machine.
#[derive(Clone, Debug)]
pub enum Op {
    Alu(Alu),
    Load(Address, Elements),
    Store(Address, Elements),
    /// May find uninitialised local memory.
    PoisonPropagatingLoad(Box<PoisonPropagatingAccess>),
    /// May store what such a load found.
    PoisonPropagatingStore(Box<PoisonPropagatingAccess>),
    /// May take what such a load found; the choice itself follows.
    PoisonCheckingChoice(PoisonCheckingChoice),
    Atom(Box<Atom>),
    WideAtom(Box<WideAtom>),
    /// Copies bytes of local memory: destination, source, size (arguments and results of calls).
    CopyLocal(u32, u32, u32),
    /// Lanes with the guard go to the target, the others on; both meet again at `join`.
    Branch {
        target: Pc,
        join: Pc,
    },
    /// The start of a block where lanes meet again.
    Join,
    Call(Pc),
    EnterFrame(Box<EnterFrame>),
    LeaveFrame(Box<LeaveFrame>),
    Stack(StackUse),
    /// A call through a pointer that leads to no function which could be called so.
    InvalidCall(Reg64),
    /// Returns to the caller.
    Ret,
    /// Ends the active threads (`exit`, or `ret` in a kernel).
    Exit,
    Trap,
    /// A `trap` of the headers of cooperative groups.
    GridTrap,
    Bar(Box<Bar>),
    /// The member mask of the warp operation that follows.
    Members(Reg32),
    /// `shfl.sync`: destination, predicate, source, lane, clamp, member mask.
    Shfl {
        mode: Shuffle,
        dst: Option<Reg32>,
        in_range: Option<Pred>,
        a: Reg32,
        b: Reg32,
        c: Reg32,
    },
    VoteP(Vote, Pred, Guard),
    Ballot(Reg32, Guard),
    MatchAny(Reg32, Slot),
    MatchAll(Reg32, Option<Pred>, Slot),
    Redux(Redux, Reg32, Reg32),
    ActiveMask(Reg32),
    Clock32(Reg32),
    Clock64(Reg64),
    System(System),
    Matrix(Box<Matrix>),
    CopyAsync(Box<CopyAsync>),
    /// What a thread copies from here on belongs to its next group.
    CommitCopies,
    /// Until no more than so many of a thread's groups are on their way.
    WaitCopies(u32),
    Mbarrier(Box<Mbarrier>),
    Texture(Box<Texture>),
    /// `cp.async.bulk` and `cp.reduce.async.bulk` to global memory.
    BulkStore(Box<BulkStore>),
    /// What a thread stores by bulk copies from here on belongs to its next group of these.
    CommitStores,
    /// Until no more than so many of these groups read.
    WaitStores(u32),
    /// `wgmma.commit_group`: the products of the warp so far are a group.
    EndProducts,
    /// `wgmma.wait_group`: until no more than so many groups run.
    WaitForProducts(u32),
    /// `barrier.cluster.arrive`, and whether it releases what the thread did before.
    ArriveAtCluster {
        releases: bool,
    },
    /// `barrier.cluster.wait`, and whether it acquires what the others did before they arrived.
    WaitForCluster {
        acquires: bool,
    },
    /// `bar.warp.sync`: lanes of a split run in step, so they have met already.
    WarpSync,
    /// Orders accesses. Nothing to do on a machine that keeps program order, but checks need to know.
    Fence(Ordering),
    /// Prefetches and hints: nothing to do.
    Nop,
}

/// A value that a launch fixes, splatted over the lanes of a register before the first instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Uniform {
    /// So many bytes of the parameters at this offset.
    Param {
        offset: u32,
        bytes: u32,
    },
    /// Address of a module variable in the global window: index and addend.
    Global(u32, i64),
    /// Address of the dynamic shared memory, plus an addend.
    DynamicShared(i64),
    Special(Special),
    Bits(u64),
}

/// Special registers (PTX ISA section 10) that do not change while a warp runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NWarpId,
    WarpSize,
    SmId,
    NSmId,
    GridId,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    DynamicSharedSize,
    TotalSharedSize,
    /// What the block uses and what the system reserves.
    AggregateSharedSize,
    /// Of the block in its cluster (`%cluster_ctarank`, `%cluster_ctaid`), and how many blocks a cluster has.
    ClusterRank,
    ClusterBlocks,
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    /// Of the cluster in the grid (`%clusterid`, `%nclusterid`).
    Clusterid(u8),
    Nclusterid(u8),
    /// Whether the launch or the kernel asks for clusters.
    IsExplicitCluster,
    /// `%envreg`: what the driver tells a kernel.
    Environment(u8),
    Zero,
}
