//! Tables of the functions in a file, for the linker.

/// An address that can be stored in a table.
pub struct Address(#[expect(dead_code, reason = "kept for the linker only")] pub *const ());

// SAFETY: an address of code, which nobody writes to.
unsafe impl Sync for Address {}

/// Defines `TABLE`, the addresses of the functions in a file.
macro_rules! table {
    ($($name:ident),* $(,)?) => {
        pub(crate) static TABLE: &[$crate::api::table::Address] =
            &[$($crate::api::table::Address($name as *const ())),*];
    };
}
pub(crate) use table;
