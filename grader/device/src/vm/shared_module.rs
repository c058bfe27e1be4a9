//! A module that is loaded once, though many programs run kernels of it: the variants of a kernel that were compiled together.

use super::refusals::cannot_load;
use diagnostic::Failure;
use ptxvm::Module;
use std::sync::{Arc, OnceLock};
use toolchain::SourceFile;

/// The module of a program. Its clones share what the first of them loads.
#[derive(Clone, Debug, Default)]
pub struct SharedModule(Arc<OnceLock<Result<Arc<Module>, Failure>>>);

impl SharedModule {
    /// The module; `ptx` is its text, the same at each call, compiled from `source`.
    ///
    /// # Errors
    /// The text is not PTX.
    pub fn load(&self, ptx: &str, source: &SourceFile) -> Result<Arc<Module>, Failure> {
        let refused = |error| cannot_load(&error, Some(source));
        let load = || Module::load(ptx).map(Arc::new).map_err(refused);
        self.0.get_or_init(load).clone()
    }
}
