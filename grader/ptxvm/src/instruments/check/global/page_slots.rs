//! The slots of the page table of shadow memory: each holds a page that is open for accesses, or a packed one.

use crate::instruments::check::epochs::{AccessId, EpochTable};
use crate::instruments::check::global::packed;
use crate::instruments::check::global::pages::Page;
use crate::instruments::check::table::HEADER;
use crate::instruments::check::table::Table;

/// A page, open for accesses or packed.
#[derive(Debug)]
pub(crate) enum PageSlot {
    Open(Box<Page>),
    Packed(Box<[u8]>),
}

impl PageSlot {
    /// Bytes, with what the allocator adds.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Open(page) => page.bytes(),
            Self::Packed(bytes) => bytes.len() + HEADER,
        }
    }

    /// The page, open for an access. `held` counts bytes.
    fn open(&mut self, held: &mut usize) -> &mut Page {
        if let Self::Packed(bytes) = self {
            let page = packed::unpack(bytes);
            *held = *held + page.bytes() - self.bytes();
            *self = Self::Open(Box::new(page));
        }
        match self {
            Self::Open(page) => page,
            Self::Packed(_) => unreachable!("it was opened"),
        }
    }

    /// Packs the page, if that makes it smaller.
    pub fn pack(&mut self) {
        if let Self::Open(page) = self {
            let packed = packed::pack(page);
            if packed.len() + HEADER < page.bytes() {
                *self = Self::Packed(packed);
            }
        }
    }

    /// Forgets the lanes of threads that are not known.
    pub fn compact(&mut self, epochs: &EpochTable) {
        let compact = |page: &mut Page| {
            let Page { writers, values: _, strong_writers, readers } = page;
            let strong = strong_writers.iter_mut().map(|access_ids| &mut **access_ids);
            for access_ids in strong.chain(readers).chain([writers]) {
                access_ids.compact(|access_id| epochs.without_unknown_lane(access_id));
            }
        };
        match self {
            Self::Open(page) => compact(page),
            Self::Packed(bytes) => {
                let mut page = packed::unpack(bytes);
                compact(&mut page);
                *bytes = packed::pack(&page);
            }
        }
    }

    /// Changes the access ids of the page.
    pub fn change(&mut self, change: &mut dyn FnMut(&mut AccessId)) {
        match self {
            Self::Open(page) => page.access_ids().for_each(change),
            Self::Packed(bytes) => packed::change(bytes, change),
        }
    }
}

/// The page table: pages by their keys.
pub(crate) type Pages = Table<PageSlot>;

/// The page of a key, open for an access. `held` counts bytes.
pub(crate) fn open<'p>(pages: &'p mut Pages, key: u64, held: &mut usize) -> &'p mut Page {
    let slot = pages.entry(key).or_insert_with(|| {
        let page = Box::<Page>::default();
        *held += page.bytes();
        PageSlot::Open(page)
    });
    slot.open(held)
}
