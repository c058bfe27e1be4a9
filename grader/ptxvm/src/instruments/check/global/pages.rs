//! A page of shadow memory for global memory: who read and wrote each unit of it last.
//!
//! A page begins with one access id for each row of 16 units, which says that the units belong to consecutive lanes of one
//! warp: that is so where neighbouring threads access neighbouring elements, also in tiles. Where it is not, the page is
//! encoded with a dictionary: a unit gets a byte that names a lane and one of seven epochs. Where these do not suffice, each
//! unit gets an access id of its own.

use crate::instruments::check::epochs::AccessId;
use crate::instruments::check::table::HEADER;

/// Units of a page.
pub(crate) const PAGE: usize = 128;
/// A number for each unit of a page.
pub(crate) type PageColumn = [u32; PAGE];

/// Units of a row, one for each of as many lanes. Tiles are often 16 threads wide.
pub(crate) const ROW: usize = 16;
/// Lanes of a warp.
const LANES: u32 = 32;
/// Epochs in the dictionary of a page; the first is nobody.
const DICTIONARY: usize = 8;

/// Access ids by a dictionary: for each unit a byte that names an epoch of the dictionary and a lane.
#[derive(Debug)]
struct DictionaryIds {
    epochs: [AccessId; DICTIONARY],
    codes: [u8; PAGE],
}

impl DictionaryIds {
    fn set(&mut self, at: usize, access_id: AccessId) -> bool {
        let epoch = access_id.with_lane(0);
        let known = self.epochs.iter().position(|&old| old == epoch);
        let free = || self.epochs.iter().skip(1).position(|old| old.is_nobody()).map(|at| at + 1);
        let Some(event_at) = known.or_else(free) else { return false };
        self.epochs[event_at] = epoch;
        self.codes[at] = (event_at as u8) << 5 | access_id.lane() as u8;
        true
    }

    fn get(&self, at: usize) -> AccessId {
        let code = self.codes[at];
        self.epochs[usize::from(code >> 5)].with_lane(u32::from(code & 31))
    }

    /// Drops epochs that no unit has any more.
    fn drop_unused(&mut self) {
        let used = self.codes.iter().fold(1u8, |used, code| used | 1 << (code >> 5));
        for (epoch, access_id) in self.epochs.iter_mut().enumerate() {
            if used >> epoch & 1 == 0 {
                *access_id = AccessId::default();
            }
        }
    }
}

/// An access id for each unit of a page.
#[derive(Debug)]
pub(crate) struct AccessIds(IdEncoding);

#[derive(Debug)]
enum IdEncoding {
    /// The id of each row's first unit; the lanes of the other units follow, modulo 32. Or nobody's.
    Rows([AccessId; PAGE / ROW]),
    DictionaryIds(Box<DictionaryIds>),
    Plain(Box<[AccessId; PAGE]>),
}

impl Default for AccessIds {
    fn default() -> Self {
        Self(IdEncoding::Rows([AccessId::default(); PAGE / ROW]))
    }
}

impl AccessIds {
    pub fn get(&self, at: usize) -> AccessId {
        match &self.0 {
            IdEncoding::Rows(rows) => unit_of_row(rows[at / ROW], at),
            IdEncoding::DictionaryIds(dictionary) => dictionary.get(at),
            IdEncoding::Plain(access_ids) => access_ids[at],
        }
    }

    /// Sets the id of one unit; returns the bytes that this took.
    pub fn set(&mut self, at: usize, access_id: AccessId) -> usize {
        let before = self.heap();
        self.put(at, access_id);
        self.heap() - before
    }

    fn put(&mut self, at: usize, access_id: AccessId) {
        if let IdEncoding::Rows(rows) = &self.0 {
            let row = rows[at / ROW];
            if unit_of_row(row, at) == access_id {
                return;
            }
            let mut dictionary =
                Box::new(DictionaryIds { epochs: Default::default(), codes: [0; PAGE] });
            let unit = |at| unit_of_row(rows[at / ROW], at);
            self.0 = if (0..PAGE).all(|at| dictionary.set(at, unit(at))) {
                IdEncoding::DictionaryIds(dictionary)
            } else {
                IdEncoding::Plain(Box::new(std::array::from_fn(unit)))
            };
        }
        if let IdEncoding::DictionaryIds(dictionary) = &mut self.0 {
            if dictionary.set(at, access_id) {
                return;
            }
            dictionary.drop_unused();
            if dictionary.set(at, access_id) {
                return;
            }
            let mut each = Box::new([AccessId::default(); PAGE]);
            for (at, access_id) in each.iter_mut().enumerate() {
                *access_id = dictionary.get(at);
            }
            self.0 = IdEncoding::Plain(each);
        }
        if let IdEncoding::Plain(access_ids) = &mut self.0 {
            access_ids[at] = access_id;
        }
    }

    /// The id of a row's first unit, from which the others follow; None if they have ids of their own.
    pub fn row(&self, row: usize) -> Option<AccessId> {
        match &self.0 {
            IdEncoding::Rows(rows) => Some(rows[row]),
            _ => None,
        }
    }

    /// Sets a whole row by the id of its first unit. Only if `row` is known.
    pub fn set_row(&mut self, row: usize, access_id: AccessId) {
        if let IdEncoding::Rows(rows) = &mut self.0 {
            rows[row] = access_id;
        }
    }

    /// The bits of all ids.
    pub fn column(&self) -> PageColumn {
        std::array::from_fn(|at| self.get(at).bits())
    }

    /// The ids with these bits.
    pub fn from_column(column: &PageColumn) -> Self {
        let rows = std::array::from_fn(|row| AccessId::from_bits(column[row * ROW]));
        let access_ids = Self(IdEncoding::Rows(rows));
        if column.iter().zip(0..).all(|(&bits, at)| access_ids.get(at).bits() == bits) {
            return access_ids;
        }
        let mut access_ids = Self::default();
        for (at, &bits) in column.iter().enumerate() {
            access_ids.put(at, AccessId::from_bits(bits));
        }
        access_ids
    }

    /// Re-encodes the ids in as little memory as possible, after changing them if units have their own.
    pub fn compact(&mut self, change: impl Fn(AccessId) -> AccessId) {
        if self.heap() != 0 {
            *self = Self::from_column(&std::array::from_fn(|at| change(self.get(at)).bits()));
        }
    }

    /// All ids, or what stands for them, to be renumbered.
    pub fn all(&mut self) -> impl Iterator<Item = &mut AccessId> {
        match &mut self.0 {
            IdEncoding::Rows(rows) => rows.iter_mut(),
            IdEncoding::DictionaryIds(dictionary) => dictionary.epochs.iter_mut(),
            IdEncoding::Plain(access_ids) => access_ids.iter_mut(),
        }
    }

    /// Bytes on the heap.
    pub fn heap(&self) -> usize {
        match &self.0 {
            IdEncoding::Rows(_) => 0,
            IdEncoding::DictionaryIds(dictionary) => size_of_val(&**dictionary) + HEADER,
            IdEncoding::Plain(access_ids) => size_of_val(&**access_ids) + HEADER,
        }
    }
}

/// The id of a unit, by that of its row.
fn unit_of_row(row: AccessId, at: usize) -> AccessId {
    if row.is_nobody() { row } else { row.with_lane((row.lane() + (at % ROW) as u32) % LANES) }
}

/// The value of each unit of a page, in as many bytes as a unit has.
#[derive(Debug, Default)]
pub(crate) enum Values {
    #[default]
    None,
    Bytes(Box<[u8; PAGE]>),
    Halves(Box<[u16; PAGE]>),
    Words(Box<[u32; PAGE]>),
}

impl Values {
    pub fn get(&self, at: usize) -> u32 {
        match self {
            Self::None => 0,
            Self::Bytes(values) => values[at].into(),
            Self::Halves(values) => values[at].into(),
            Self::Words(values) => values[at],
        }
    }

    /// Sets the value of one unit; returns the bytes that this took. `unit` is its size in bytes, the same for all of a page.
    pub fn set(&mut self, at: usize, unit: u32, value: u32) -> usize {
        let grown = self.make_room(unit);
        match self {
            Self::None => {}
            Self::Bytes(values) => values[at] = value as u8,
            Self::Halves(values) => values[at] = value as u16,
            Self::Words(values) => values[at] = value,
        }
        grown
    }

    /// Sets the values of a row; returns the bytes that this took.
    pub fn set_row(&mut self, row: usize, unit: u32, value: impl Fn(usize) -> u32) -> usize {
        let grown = self.make_room(unit);
        let new: [u32; ROW] = std::array::from_fn(value);
        let row = row * ROW..(row + 1) * ROW;
        match self {
            Self::None => {}
            Self::Bytes(values) => values[row].copy_from_slice(&new.map(|value| value as u8)),
            Self::Halves(values) => values[row].copy_from_slice(&new.map(|value| value as u16)),
            Self::Words(values) => values[row].copy_from_slice(&new),
        }
        grown
    }

    /// Allocates the values if there are none; returns the bytes that this took.
    fn make_room(&mut self, unit: u32) -> usize {
        if !matches!(self, Self::None) {
            return 0;
        }
        *self = match unit {
            1 => Self::Bytes(Box::new([0; PAGE])),
            2 => Self::Halves(Box::new([0; PAGE])),
            _ => Self::Words(Box::new([0; PAGE])),
        };
        self.heap()
    }

    /// The values of all units of the page.
    pub fn column(&self) -> PageColumn {
        std::array::from_fn(|at| self.get(at))
    }

    /// Bytes of a unit; 0 before a value was set.
    pub fn unit(&self) -> u8 {
        match self {
            Self::None => 0,
            Self::Bytes(_) => 1,
            Self::Halves(_) => 2,
            Self::Words(_) => 4,
        }
    }

    /// Bytes on the heap.
    pub fn heap(&self) -> usize {
        if self.unit() == 0 { 0 } else { PAGE * usize::from(self.unit()) + HEADER }
    }
}

/// The last accesses of the units of a page.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// The last plain write, and what it wrote.
    pub writers: AccessIds,
    pub values: Values,
    /// The last atomic or volatile writer: it does not hide a plain one before it.
    pub strong_writers: Option<Box<AccessIds>>,
    /// The first reader, and one of another thread: a writer is at most one of them.
    pub readers: [AccessIds; 2],
}

impl Page {
    pub fn strong_writer(&self, at: usize) -> AccessId {
        self.strong_writers.as_ref().map_or_else(AccessId::default, |access_ids| access_ids.get(at))
    }

    /// Bytes, with what the allocator adds.
    pub fn bytes(&self) -> usize {
        let strong = self.strong_writers.as_ref();
        let strong =
            strong.map_or(0, |access_ids| size_of::<AccessIds>() + HEADER + access_ids.heap());
        let readers = self.readers.iter().map(AccessIds::heap).sum::<usize>();
        size_of::<Self>() + HEADER + self.writers.heap() + self.values.heap() + strong + readers
    }

    /// All access ids of the page, or what stands for them, to be renumbered.
    pub fn access_ids(&mut self) -> impl Iterator<Item = &mut AccessId> {
        let Self { writers, values: _, strong_writers, readers } = self;
        let strong_writers = strong_writers.iter_mut().flat_map(|access_ids| access_ids.all());
        writers.all().chain(strong_writers).chain(readers.iter_mut().flat_map(AccessIds::all))
    }
}

#[cfg(test)]
mod tests {
    use crate::instruments::check::epochs::EpochTable;
    use crate::instruments::check::global::pages::*;

    #[test]
    fn stamps_are_kept_in_any_order() {
        let mut access_ids = AccessIds::default();
        let mut plain = [AccessId::default(); PAGE];
        let mut state = 1u32;
        for round in 0..3000u32 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Few events at first, then more than a byte can name.
            let epoch = 1 + (state >> 8) % (2 + round / 100);
            let (at, lane) = ((state >> 20) as usize % PAGE, (state >> 15) as usize % 32);
            let row = at / ROW;
            if round % 7 == 0 && access_ids.row(row).is_some() {
                let first = EpochTable::access_id(epoch, lane);
                access_ids.set_row(row, first);
                for k in 0..ROW {
                    plain[row * ROW + k] = EpochTable::access_id(epoch, lane + k);
                }
            } else if round > 20 {
                access_ids.set(at, EpochTable::access_id(epoch, lane));
                plain[at] = EpochTable::access_id(epoch, lane);
            }
            for (at, &access_id) in plain.iter().enumerate() {
                assert_eq!(access_ids.get(at), access_id, "unit {at} in round {round}");
            }
        }
    }

    #[test]
    fn values_are_kept_by_unit() {
        for (unit, mask) in [(1, 0xFF), (2, 0xFFFF), (4, u32::MAX)] {
            let mut values = Values::default();
            values.set(5, unit, 0x1234_5678);
            assert_eq!(values.get(5), 0x1234_5678 & mask);
            assert_eq!(values.get(6), 0);
        }
    }
}
