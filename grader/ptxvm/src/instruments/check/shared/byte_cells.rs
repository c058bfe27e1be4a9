//! What threads did to single bytes of shared memory, in 29 bits for each byte.
//!
//! A cell names two threads, or three lanes of one warp, and a class, which says what they did: read or write, by which
//! instruction, and at which clock. Bytes that were treated alike, by whichever threads, share a class, so there are few
//! classes. Classes have ascending numbers: those before the last barrier of all warps stand for nobody.

use crate::instruments::check::shared::epochs::{Access, Epoch};
use crate::instruments::check::shared::last_accesses::LastAccesses;
use crate::isa::names::Pc;
use crate::program::code::Program;

/// Bits of a byte's cell, ...
pub(crate) const CELL_BITS: u32 = WHO_BITS + CLASS_BITS;
/// ... and of the threads in it.
const WHO_BITS: u32 = 2 * THREAD_BITS;
const THREAD_BITS: u32 = 10;
const LANE_BITS: u32 = 5;
const CLASS_BITS: u32 = 9;
/// How many numbers of classes there are; 0 stands for nobody.
pub(crate) const NUMBERS: usize = 1 << CLASS_BITS;
/// Most actions at a time.
const MAX_ACTIONS: usize = 255;
/// Marks a number that stands for several instructions; its lowest bit says whether they belong to cooperative groups. Programs
/// have fewer instructions.
const AMBIGUOUS: Pc = 1 << 23;
/// Slots of the caches of recent classes and actions.
const RECENT: usize = 32;

/// Whether an instruction, or each that a number stands for, belongs to the headers of cooperative groups.
pub(crate) fn in_groups(program: &Program, pc: Pc) -> bool {
    if pc & AMBIGUOUS == 0 { program.in_groups(pc) } else { pc & 1 == 1 }
}

/// The number that stands for an instruction and others like it.
pub(crate) fn ambiguous(program: Option<&Program>, pc: Pc) -> Pc {
    AMBIGUOUS | Pc::from(program.is_some_and(|program| in_groups(program, pc)))
}

/// The last accesses of a byte, packed; the default is nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ByteCell(u32);

impl ByteCell {
    pub fn from_bits(bits: u32) -> Self {
        Self(bits & ((1 << CELL_BITS) - 1))
    }

    pub fn bits(self) -> u32 {
        self.0
    }

    pub fn class(self) -> usize {
        (self.0 >> WHO_BITS) as usize
    }

    fn who(self) -> u32 {
        self.0 & ((1 << WHO_BITS) - 1)
    }

    /// The cell with its class renumbered; nobody for 0.
    pub fn with_class(self, class: u16) -> Self {
        if class == 0 { Self(0) } else { Self(self.who() | u32::from(class) << WHO_BITS) }
    }
}

/// A thread, and the number of its action; the default is nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Accessor {
    /// Index of the thread in its block.
    pub thread: u16,
    pub action: u8,
}

impl Accessor {
    pub fn is_nobody(self) -> bool {
        self.action == 0
    }

    pub fn warp(self) -> u16 {
        self.thread >> LANE_BITS
    }

    fn lane(self) -> u32 {
        u32::from(self.thread) & ((1 << LANE_BITS) - 1)
    }
}

/// Which other readers there were, of whom no more is remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum OtherReaders {
    #[default]
    None,
    /// Another lane of the reader's warp, at the same clock.
    Lanes,
    /// A thread of another warp.
    Warps,
}

/// The last accesses of a byte, unpacked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ByteHistory {
    pub last: LastAccesses<Accessor>,
    pub other_readers: OtherReaders,
}

/// Which accesses the threads of a cell made.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CellForm {
    /// A writer and a reader; one of them may be missing.
    Pair(OtherReaders),
    Readers,
    /// A writer and two readers, all lanes of one warp.
    OneWarp,
}

/// A form, and the actions of the writer and the readers, from the highest byte down.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ByteClass(u32);

impl ByteClass {
    const FORMS: [CellForm; 5] = [
        CellForm::Pair(OtherReaders::None),
        CellForm::Pair(OtherReaders::Lanes),
        CellForm::Pair(OtherReaders::Warps),
        CellForm::Readers,
        CellForm::OneWarp,
    ];

    fn new(form: CellForm, [writer, first, second]: [u8; 3]) -> Self {
        let form = match form {
            CellForm::Pair(OtherReaders::None) => 0,
            CellForm::Pair(OtherReaders::Lanes) => 1,
            CellForm::Pair(OtherReaders::Warps) => 2,
            CellForm::Readers => 3,
            CellForm::OneWarp => 4,
        };
        Self(u32::from_be_bytes([form, writer, first, second]))
    }

    fn split_words(self) -> (CellForm, [u8; 3]) {
        let [form, actions @ ..] = self.0.to_be_bytes();
        (Self::FORMS[usize::from(form) % Self::FORMS.len()], actions)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Action {
    clock: u32,
    /// The instruction, whether the access is strong, and whether it writes, from the highest bit down.
    rest: u32,
}

impl Action {
    fn new(epoch: Epoch) -> Self {
        let flags = u32::from(epoch.strong) << 1 | u32::from(epoch.writes);
        Self { clock: epoch.clock, rest: epoch.pc << 2 | flags }
    }

    fn epoch(self, warp: u8) -> Epoch {
        let (pc, strong, writes) = (self.rest >> 2, self.rest >> 1 & 1 == 1, self.rest & 1 == 1);
        Epoch { clock: self.clock, pc, warp, strong, writes, valued: false }
    }
}

/// Why a history does not fit into a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PackError {
    /// There are no numbers left, unless unused classes are dropped.
    Full,
    /// The accessors are of too many warps.
    Unfit,
}

/// The classes and actions that cells refer to.
#[derive(Debug)]
pub(crate) struct ByteClasses {
    all: Vec<ByteClass>,
    /// The number of the first class.
    base: usize,
    recent: [u16; RECENT],
    /// The actions, from number 1 on.
    actions: Vec<Action>,
    recent_actions: [u8; RECENT],
}

impl Default for ByteClasses {
    fn default() -> Self {
        let (all, actions) = (Vec::new(), Vec::new());
        Self { all, base: 1, recent: [0; RECENT], actions, recent_actions: [0; RECENT] }
    }
}

/// A hash that tells close numbers apart.
fn spread(number: u32) -> usize {
    (number.wrapping_mul(0x9E37_79B9) >> 24) as usize
}

/// Adds to a list that grows in small steps.
fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(16);
    }
    list.push(item);
}

impl ByteClasses {
    /// The number of the action of an epoch; None if there are none left.
    pub fn action(&mut self, epoch: Epoch) -> Option<u8> {
        let action = Action::new(epoch);
        let recent = spread(action.rest ^ action.clock) % RECENT;
        let known = self.recent_actions[recent];
        if known != 0 && self.actions.get(usize::from(known) - 1) == Some(&action) {
            return Some(known);
        }
        let known = self.actions.iter().position(|&old| old == action);
        let at = known.unwrap_or(self.actions.len());
        if at == MAX_ACTIONS {
            return None;
        }
        if known.is_none() {
            push(&mut self.actions, action);
        }
        self.recent_actions[recent] = at as u8 + 1;
        Some(at as u8 + 1)
    }

    /// The access of an accessor; None for nobody.
    #[inline]
    pub fn access(&self, accessor: Accessor) -> Option<Access> {
        let action = self.actions.get(usize::from(accessor.action).checked_sub(1)?)?;
        Some(Access {
            epoch: action.epoch(accessor.warp() as u8),
            thread: u32::from(accessor.thread),
        })
    }

    /// Whether all accesses of a cell happened before everything that follows.
    #[inline]
    pub fn is_over(&self, cell: ByteCell) -> bool {
        cell.class() < self.base
    }

    /// The history that a cell holds.
    pub fn unpack(&self, cell: ByteCell) -> ByteHistory {
        let class = cell.class().checked_sub(self.base).and_then(|at| self.all.get(at));
        let Some(class) = class else { return ByteHistory::default() };
        let (form, actions) = class.split_words();
        let thread = |at: u32, bits: u32| (cell.who() >> at) as u16 & ((1 << bits) - 1);
        let accessor = |at: usize, thread: u16| match actions[at] {
            0 => Accessor::default(),
            action => Accessor { thread, action },
        };
        let two = [thread(0, THREAD_BITS), thread(THREAD_BITS, THREAD_BITS)];
        let (mut other_readers, nobody) = (OtherReaders::None, Accessor::default());
        let (writer, readers) = match form {
            CellForm::Pair(others) => {
                other_readers = others;
                (accessor(0, two[0]), [accessor(1, two[1]), nobody])
            }
            CellForm::Readers => (nobody, [accessor(1, two[0]), accessor(2, two[1])]),
            CellForm::OneWarp => {
                let warp = thread(0, LANE_BITS) << LANE_BITS;
                let lane = |at: u32| warp | thread(at * LANE_BITS, LANE_BITS);
                (accessor(0, lane(1)), [accessor(1, lane(2)), accessor(2, lane(3))])
            }
        };
        ByteHistory { last: LastAccesses { writer, readers }, other_readers }
    }

    /// The cell of a history.
    pub fn pack(&mut self, known: &ByteHistory) -> Result<ByteCell, PackError> {
        let LastAccesses { writer, readers: [first, second] } = known.last;
        let two =
            |a: Accessor, b: Accessor| u32::from(a.thread) | u32::from(b.thread) << THREAD_BITS;
        let one_warp = first.warp() == second.warp() && first.warp() == writer.warp();
        let (form, who) = if second.is_nobody() {
            if writer.is_nobody() && first.is_nobody() {
                return Ok(ByteCell::default());
            }
            (CellForm::Pair(known.other_readers), two(writer, first))
        } else if known.other_readers != OtherReaders::None {
            return Err(PackError::Unfit);
        } else if writer.is_nobody() {
            (CellForm::Readers, two(first, second))
        } else if one_warp {
            let lanes = [writer, first, second].into_iter().zip(1..);
            let lanes =
                lanes.fold(0, |all, (accessor, at)| all | accessor.lane() << (at * LANE_BITS));
            (CellForm::OneWarp, u32::from(writer.warp()) | lanes)
        } else {
            return Err(PackError::Unfit);
        };
        let actions = [writer, first, second].map(|accessor| accessor.action);
        let class = self.number(ByteClass::new(form, actions)).ok_or(PackError::Full)?;
        Ok(ByteCell(who | (class as u32) << WHO_BITS))
    }

    fn number(&mut self, class: ByteClass) -> Option<usize> {
        let recent = spread(class.0) % RECENT;
        let known = usize::from(self.recent[recent]);
        if known >= self.base && self.all.get(known - self.base) == Some(&class) {
            return Some(known);
        }
        let known = self.all.iter().position(|&old| old == class);
        let number = self.base + known.unwrap_or(self.all.len());
        if number >= NUMBERS {
            return None;
        }
        if known.is_none() {
            push(&mut self.all, class);
        }
        self.recent[recent] = number as u16;
        Some(number)
    }

    /// A shorter history that finds the same races until the next barrier of all warps, because all synchronisation until then
    /// comes from barriers of all. None if there is no such history.
    pub fn shorten(&self, known: &ByteHistory) -> Option<ByteHistory> {
        let ByteHistory {
            last: LastAccesses { writer, readers: [first, second] },
            other_readers: OtherReaders::None,
        } = *known
        else {
            return None;
        };
        let [one, other] = [self.access(first)?.epoch, self.access(second)?.epoch];
        if one.strong != other.strong {
            return None;
        }
        let with = |reader: Accessor, other_readers: OtherReaders| {
            Some(ByteHistory {
                last: LastAccesses { writer, readers: [reader, Accessor::default()] },
                other_readers,
            })
        };
        if one.warp != other.warp {
            let foreign = if first.warp() == writer.warp() { second } else { first };
            with(foreign, OtherReaders::Warps)
        } else if one.clock == other.clock {
            with(first, OtherReaders::Lanes)
        } else {
            // The earlier one happened before everything that the later one happened before.
            with(if one.clock > other.clock { first } else { second }, OtherReaders::None)
        }
    }

    /// Everything so far happened before everything that follows.
    pub fn pass(&mut self) {
        self.base += self.all.len();
        self.all.clear();
        self.actions.clear();
    }

    /// Drops unused classes, and actions without classes; the new number of each class, 0 for those that are dropped.
    pub fn keep(&mut self, used: &[bool; NUMBERS]) -> [u16; NUMBERS] {
        let mut numbers = [0; NUMBERS];
        let old = std::mem::take(&mut self.all);
        let actions = std::mem::take(&mut self.actions);
        let mut new_actions = [0u8; MAX_ACTIONS + 1];
        for (class, number) in old.into_iter().zip(self.base..) {
            if !used[number] {
                continue;
            }
            let (form, mut of_class) = class.split_words();
            for action in &mut of_class {
                let Some(&which) =
                    usize::from(*action).checked_sub(1).and_then(|at| actions.get(at))
                else {
                    continue;
                };
                let new = &mut new_actions[usize::from(*action)];
                if *new == 0 {
                    push(&mut self.actions, which);
                    *new = self.actions.len() as u8;
                }
                *action = *new;
            }
            push(&mut self.all, ByteClass::new(form, of_class));
            numbers[number] = self.all.len() as u16;
        }
        (self.base, self.recent, self.recent_actions) = (1, [0; RECENT], [0; RECENT]);
        numbers
    }

    /// Imports a cell of another table, with its epochs changed. None if there is no room for it.
    pub fn take(
        &mut self,
        from: &Self,
        cell: ByteCell,
        change: impl Fn(Epoch) -> Epoch,
    ) -> Option<ByteCell> {
        let mut known = from.unpack(cell);
        let mut accessors = known.last.all();
        for accessor in &mut accessors {
            if let Some(access) = from.access(*accessor) {
                accessor.action = self.action(change(access.epoch))?;
            }
        }
        let [writer, first, second] = accessors;
        known.last = LastAccesses { writer, readers: [first, second] };
        self.pack(&known).ok()
    }

    /// Whether nearly all classes or actions are in use.
    pub fn is_nearly_full(&self) -> bool {
        self.base + self.all.len() > NUMBERS / 8 * 7 || self.actions.len() > MAX_ACTIONS / 8 * 7
    }

    /// Memory that the tables take, in bytes.
    pub fn bytes(&self) -> usize {
        let lists = self.all.capacity() * size_of::<ByteClass>()
            + self.actions.capacity() * size_of::<Action>();
        size_of::<Self>() + lists
    }
}
