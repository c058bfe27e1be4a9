//! What is known of a stretch of global memory: who read and wrote each unit of it last.
//!
//! A page begins with one stamp for each 16 units, which says that they belong to lanes of one warp in turn: so it is
//! where neighbouring threads access neighbouring elements, be it in tiles. Where that does not hold, a unit gets a byte that names a lane
//! and one of seven events, and where these do not suffice, a stamp of its own.

use crate::instruments::check::stamps::Stamp;
use crate::instruments::check::table::HEADER;

/// Units of a page.
pub(crate) const PAGE: usize = 128;
/// A number for each unit of a page.
pub(crate) type Column = [u32; PAGE];

/// Units of a row: one for each of so many lanes. Tiles are often 16 threads wide.
pub(crate) const ROW: usize = 16;
/// Lanes of a warp.
const LANES: u32 = 32;
/// Events that a byte can name beside a lane; the first is nobody.
const NAMED: usize = 8;

/// Bytes that name one of a few events, and a lane.
#[derive(Debug)]
struct Named {
    events: [Stamp; NAMED],
    codes: [u8; PAGE],
}

impl Named {
    fn set(&mut self, at: usize, stamp: Stamp) -> bool {
        let event = stamp.with_lane(0);
        let known = self.events.iter().position(|&old| old == event);
        let free = || self.events.iter().skip(1).position(|old| old.is_nobody()).map(|at| at + 1);
        let Some(event_at) = known.or_else(free) else { return false };
        self.events[event_at] = event;
        self.codes[at] = (event_at as u8) << 5 | stamp.lane() as u8;
        true
    }

    fn get(&self, at: usize) -> Stamp {
        let code = self.codes[at];
        self.events[usize::from(code >> 5)].with_lane(u32::from(code & 31))
    }

    /// Gives up events that no unit has any more.
    fn tidy(&mut self) {
        let used = self.codes.iter().fold(1u8, |used, code| used | 1 << (code >> 5));
        for (event, stamp) in self.events.iter_mut().enumerate() {
            if used >> event & 1 == 0 {
                *stamp = Stamp::default();
            }
        }
    }
}

/// A stamp for each unit of a page.
#[derive(Debug)]
pub(crate) struct Stamps(Kept);

#[derive(Debug)]
enum Kept {
    /// The stamp of each row's first unit; the lanes of the others follow, round in a circle. Or nobody's.
    Rows([Stamp; PAGE / ROW]),
    Named(Box<Named>),
    Each(Box<[Stamp; PAGE]>),
}

impl Default for Stamps {
    fn default() -> Self {
        Self(Kept::Rows([Stamp::default(); PAGE / ROW]))
    }
}

impl Stamps {
    pub fn get(&self, at: usize) -> Stamp {
        match &self.0 {
            Kept::Rows(rows) => unit_of_row(rows[at / ROW], at),
            Kept::Named(named) => named.get(at),
            Kept::Each(stamps) => stamps[at],
        }
    }

    /// Sets the stamp of one unit; the bytes that this took.
    pub fn set(&mut self, at: usize, stamp: Stamp) -> usize {
        let before = self.heap();
        self.put(at, stamp);
        self.heap() - before
    }

    fn put(&mut self, at: usize, stamp: Stamp) {
        if let Kept::Rows(rows) = &self.0 {
            let row = rows[at / ROW];
            if unit_of_row(row, at) == stamp {
                return;
            }
            let mut named = Box::new(Named { events: Default::default(), codes: [0; PAGE] });
            let unit = |at| unit_of_row(rows[at / ROW], at);
            self.0 = if (0..PAGE).all(|at| named.set(at, unit(at))) {
                Kept::Named(named)
            } else {
                Kept::Each(Box::new(std::array::from_fn(unit)))
            };
        }
        if let Kept::Named(named) = &mut self.0 {
            if named.set(at, stamp) {
                return;
            }
            named.tidy();
            if named.set(at, stamp) {
                return;
            }
            let mut each = Box::new([Stamp::default(); PAGE]);
            for (at, stamp) in each.iter_mut().enumerate() {
                *stamp = named.get(at);
            }
            self.0 = Kept::Each(each);
        }
        if let Kept::Each(stamps) = &mut self.0 {
            stamps[at] = stamp;
        }
    }

    /// The stamp of a row's first unit, which tells the others; None if they have stamps of their own.
    pub fn row(&self, row: usize) -> Option<Stamp> {
        match &self.0 {
            Kept::Rows(rows) => Some(rows[row]),
            _ => None,
        }
    }

    /// Sets a whole row by the stamp of its first unit. Only where `row` is known.
    pub fn set_row(&mut self, row: usize, stamp: Stamp) {
        if let Kept::Rows(rows) = &mut self.0 {
            rows[row] = stamp;
        }
    }

    /// The bits of all stamps.
    pub fn column(&self) -> Column {
        std::array::from_fn(|at| self.get(at).bits())
    }

    /// The stamps with these bits.
    pub fn from_column(column: &Column) -> Self {
        let rows = std::array::from_fn(|row| Stamp::from_bits(column[row * ROW]));
        let stamps = Self(Kept::Rows(rows));
        if column.iter().zip(0..).all(|(&bits, at)| stamps.get(at).bits() == bits) {
            return stamps;
        }
        let mut stamps = Self::default();
        for (at, &bits) in column.iter().enumerate() {
            stamps.put(at, Stamp::from_bits(bits));
        }
        stamps
    }

    /// Takes as little room as it can, with stamps that are changed so where units have their own.
    pub fn compact(&mut self, change: impl Fn(Stamp) -> Stamp) {
        if self.heap() != 0 {
            *self = Self::from_column(&std::array::from_fn(|at| change(self.get(at)).bits()));
        }
    }

    /// All stamps, or what stands for them, to be given other events.
    pub fn all(&mut self) -> impl Iterator<Item = &mut Stamp> {
        match &mut self.0 {
            Kept::Rows(rows) => rows.iter_mut(),
            Kept::Named(named) => named.events.iter_mut(),
            Kept::Each(stamps) => stamps.iter_mut(),
        }
    }

    /// Bytes on the heap.
    pub fn heap(&self) -> usize {
        match &self.0 {
            Kept::Rows(_) => 0,
            Kept::Named(named) => size_of_val(&**named) + HEADER,
            Kept::Each(stamps) => size_of_val(&**stamps) + HEADER,
        }
    }
}

/// A unit's stamp by that of its row.
fn unit_of_row(row: Stamp, at: usize) -> Stamp {
    if row.is_nobody() { row } else { row.with_lane((row.lane() + (at % ROW) as u32) % LANES) }
}

/// What lies in each unit of a page, in as many bytes as a unit has.
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

    /// Sets the value of one unit; the bytes that this took. `unit` is the size in bytes, the same for all of a page.
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

    /// Sets the values of a row, likewise.
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

    /// The bytes that this took.
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

    /// All values.
    pub fn column(&self) -> Column {
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

/// What is known of the units of a page.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// The last plain write, and what it wrote.
    pub writers: Stamps,
    pub values: Values,
    /// The last atomic or volatile writer: it does not hide a plain one before it.
    pub strong_writers: Option<Box<Stamps>>,
    /// Of the readers the first and one of another thread: a writer is at most one of them.
    pub readers: [Stamps; 2],
}

impl Page {
    pub fn strong_writer(&self, at: usize) -> Stamp {
        self.strong_writers.as_ref().map_or_else(Stamp::default, |stamps| stamps.get(at))
    }

    /// Bytes, with what the allocator adds.
    pub fn bytes(&self) -> usize {
        let strong = self.strong_writers.as_ref();
        let strong = strong.map_or(0, |stamps| size_of::<Stamps>() + HEADER + stamps.heap());
        let readers = self.readers.iter().map(Stamps::heap).sum::<usize>();
        size_of::<Self>() + HEADER + self.writers.heap() + self.values.heap() + strong + readers
    }

    /// All of them.
    pub fn stamps(&mut self) -> impl Iterator<Item = &mut Stamp> {
        let Self { writers, values: _, strong_writers, readers } = self;
        let strong_writers = strong_writers.iter_mut().flat_map(|stamps| stamps.all());
        writers.all().chain(strong_writers).chain(readers.iter_mut().flat_map(Stamps::all))
    }
}

#[cfg(test)]
mod tests {
    use crate::instruments::check::global::pages::*;
    use crate::instruments::check::stamps::Events;

    #[test]
    fn stamps_are_kept_in_any_order() {
        let mut stamps = Stamps::default();
        let mut plain = [Stamp::default(); PAGE];
        let mut state = 1u32;
        for round in 0..3000u32 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Few events at first, then more than a byte can name.
            let event = 1 + (state >> 8) % (2 + round / 100);
            let (at, lane) = ((state >> 20) as usize % PAGE, (state >> 15) as usize % 32);
            let row = at / ROW;
            if round % 7 == 0 && stamps.row(row).is_some() {
                let first = Events::stamp(event, lane);
                stamps.set_row(row, first);
                for k in 0..ROW {
                    plain[row * ROW + k] = Events::stamp(event, lane + k);
                }
            } else if round > 20 {
                stamps.set(at, Events::stamp(event, lane));
                plain[at] = Events::stamp(event, lane);
            }
            for (at, &stamp) in plain.iter().enumerate() {
                assert_eq!(stamps.get(at), stamp, "unit {at} in round {round}");
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
