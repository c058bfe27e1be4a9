//! The kinds of findings: a file for each, and the list of them.

mod barrier_divergence;
mod barrier_object;
mod cluster_access;
mod cluster_barrier;
mod copy_source;
mod endless_loop;
mod global_race;
mod grid_sync;
mod in_flight;
mod invalid_call;
mod invalid_free;
mod invalid_image;
mod invalid_members;
mod misaligned;
mod out_of_bounds;
mod outside_image;
mod part_of_warp;
mod read_only_load;
mod shared_race;
mod stack_overflow;
mod tensor_map;
mod too_much_output;
mod too_much_work;
mod trap;
mod uneven_operands;
mod uninitialised;
mod use_after_free;
mod write_to_read_only;

use super::access::Space;
use super::check::{Check, Fault, Site, Words};
use super::place::{BufferOffset, Place};
use super::shared_array::SharedArray;
pub use barrier_object::MbarrierMisuse;
pub use cluster_access::PeerBlock;
pub use cluster_barrier::ClusterBarrierMisuse;

/// Makes the enum of all kinds, which does what each of them does.
macro_rules! finding_kinds {
    (
        with a place: { $($with:ident: $With:ident,)* }
        without: { $($without:ident: $Without:ident,)* }
    ) => {
        $(pub use $with::$With;)*
        $(pub use $without::$Without;)*

        /// What a thread did wrong. `P` is how a place in memory is named: unless another is chosen, by the buffer and the
        /// offset in bytes.
        #[derive(Clone, Debug, PartialEq)]
        pub enum FindingKind<P = BufferOffset> {
            $(#[doc = concat!("See [`", stringify!($With), "`].")] $With($With<P>),)*
            $(#[doc = concat!("See [`", stringify!($Without), "`].")] $Without($Without),)*
        }

        $(impl<P> From<$With<P>> for FindingKind<P> {
            fn from(kind: $With<P>) -> Self {
                Self::$With(kind)
            }
        })*

        $(impl<P> From<$Without> for FindingKind<P> {
            fn from(kind: $Without) -> Self {
                Self::$Without(kind)
            }
        })*

        impl<P> FindingKind<P> {
            /// The same finding with its place named by `name`, or not at all where `name` has no name for it.
            pub fn map_place<Q>(self, name: impl FnOnce(P) -> Option<Q>) -> FindingKind<Q> {
                match self {
                    $(Self::$With(kind) => FindingKind::$With(kind.map_place(name)),)*
                    $(Self::$Without(kind) => FindingKind::$Without(kind),)*
                }
            }
        }

        impl<P: Place> Check for FindingKind<P> {
            fn name(&self) -> &'static str {
                match self {
                    $(Self::$With(kind) => kind.name(),)*
                    $(Self::$Without(kind) => kind.name(),)*
                }
            }

            fn same(&self, other: &Self) -> bool {
                match (self, other) {
                    $((Self::$With(a), Self::$With(b)) => a.same(b),)*
                    $((Self::$Without(a), Self::$Without(b)) => a.same(b),)*
                    _ => false,
                }
            }

            fn fault(&self) -> Option<Fault> {
                match self {
                    $(Self::$With(kind) => kind.fault(),)*
                    $(Self::$Without(kind) => kind.fault(),)*
                }
            }

            fn ends_launch(&self) -> bool {
                match self {
                    $(Self::$With(kind) => kind.ends_launch(),)*
                    $(Self::$Without(kind) => kind.ends_launch(),)*
                }
            }

            fn words(&self, site: &Site<'_>) -> Words {
                match self {
                    $(Self::$With(kind) => kind.words(site),)*
                    $(Self::$Without(kind) => kind.words(site),)*
                }
            }
        }
    };
}

impl<P> FindingKind<P> {
    /// The array in shared memory that it is about, if it is about one that is known.
    pub fn shared_array(&mut self) -> Option<&mut SharedArray> {
        match self {
            Self::InFlight(InFlight { array, .. })
            | Self::OutOfBounds(OutOfBounds { array, .. })
            | Self::SharedRace(SharedRace { array, .. })
            | Self::Uninitialised(Uninitialised { array, .. }) => array.as_mut(),
            _ => None,
        }
    }

    /// Adds the array in shared memory that it is about, if it is among these.
    pub(crate) fn name_shared(&mut self, arrays: &[SharedArray]) {
        match self {
            Self::InFlight(InFlight { array, offset, .. })
            | Self::SharedRace(SharedRace { array, offset, .. })
            | Self::Uninitialised(Uninitialised { array, offset, space: Space::Shared, .. }) => {
                *array = SharedArray::around(arrays, *offset);
            }
            // Of several arrays it is not clear which was meant.
            Self::OutOfBounds(OutOfBounds { array, space: Space::Shared, .. }) => {
                *array = if let [only] = arrays { Some(only.clone()) } else { None };
            }
            _ => {}
        }
    }
}

finding_kinds! {
    with a place: {
        global_race: GlobalRace,
        misaligned: Misaligned,
        out_of_bounds: OutOfBounds,
        read_only_load: ReadOnlyLoad,
        uninitialised: Uninitialised,
        use_after_free: UseAfterFree,
        write_to_read_only: WriteToReadOnly,
    }
    without: {
        barrier_divergence: BarrierDivergence,
        barrier_object: BarrierObject,
        cluster_access: ClusterAccess,
        cluster_barrier: ClusterBarrier,
        copy_source: CopySource,
        endless_loop: EndlessLoop,
        grid_sync: GridSync,
        in_flight: InFlight,
        invalid_call: InvalidCall,
        invalid_free: InvalidFree,
        invalid_image: InvalidImage,
        invalid_members: InvalidMembers,
        outside_image: OutsideImage,
        part_of_warp: PartOfWarp,
        shared_race: SharedRace,
        stack_overflow: StackOverflow,
        tensor_map: TensorMapMisuse,
        too_much_output: TooMuchOutput,
        too_much_work: TooMuchWork,
        trap: Trap,
        uneven_operands: UnevenOperands,
    }
}
