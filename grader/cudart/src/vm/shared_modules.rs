//! Modules that several devices load: each run of a program has a device of its own, and all of them load the same PTX.

use ptxvm::{LoadError, Module};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of PTX whose modules are kept. A program that makes other PTX in each run shares nothing.
const MOST_BYTES: usize = 8 << 20;

/// The modules that were loaded, by their PTX. Its clones share them: to load a module takes longer than most launches of its kernels.
#[derive(Clone, Debug, Default)]
pub struct SharedModules(Arc<Mutex<HashMap<String, Arc<Module>>>>);

impl SharedModules {
    /// The module of this PTX, which is loaded if nobody has done so before. `taken` are those that the device has from here: it gets
    /// none of them a second time, because what it loads twice has its variables twice.
    ///
    /// # Errors
    /// The text is not PTX.
    pub(super) fn load(
        &self,
        ptx: &str,
        taken: &mut Vec<Arc<Module>>,
    ) -> Result<Arc<Module>, LoadError> {
        let is_free = |known: &&Arc<Module>| !taken.iter().any(|own| Arc::ptr_eq(own, known));
        let known = self.kept().get(ptx).filter(is_free).cloned();
        if let Some(known) = known {
            taken.push(Arc::clone(&known));
            return Ok(known);
        }
        // Nobody waits for it meanwhile: two may load the same module at first.
        let module = Arc::new(Module::load(ptx)?);
        let mut kept = self.kept();
        let bytes = kept.keys().map(String::len).sum::<usize>();
        if bytes + ptx.len() <= MOST_BYTES && !kept.contains_key(ptx) {
            kept.insert(ptx.to_owned(), Arc::clone(&module));
            taken.push(Arc::clone(&module));
        }
        Ok(module)
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<String, Arc<Module>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ptx(kernel: &str) -> String {
        let head = ".version 8.0\n.target sm_75\n.address_size 64\n";
        format!("{head}.visible .entry {kernel}()\n{{\n\tret;\n}}\n")
    }

    #[test]
    fn each_text_is_loaded_once() {
        let (shared, other) = (SharedModules::default(), SharedModules::default());
        let load = |of: &SharedModules, text: &str| of.load(text, &mut Vec::new());
        let module = load(&shared, &ptx("f")).unwrap();
        assert!(Arc::ptr_eq(&module, &load(&shared.clone(), &ptx("f")).unwrap()));
        assert!(!Arc::ptr_eq(&module, &load(&other, &ptx("f")).unwrap()));
        assert!(load(&shared, &ptx("g")).unwrap().kernel("g").is_some());
        assert!(load(&shared, "no PTX").is_err());
    }

    #[test]
    fn a_device_that_loads_a_text_twice_has_two_modules() {
        let shared = SharedModules::default();
        let mut taken = Vec::new();
        let modules = [(); 3].map(|()| shared.load(&ptx("f"), &mut taken).unwrap());
        assert!(!Arc::ptr_eq(&modules[0], &modules[1]) && !Arc::ptr_eq(&modules[1], &modules[2]));
        assert_eq!(taken.len(), 1, "the others go when it unloads them");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let shared = SharedModules::default();
        let long = format!("{}//{}\n", ptx("f"), "x".repeat(MOST_BYTES));
        let load = || shared.load(&long, &mut Vec::new()).unwrap();
        assert!(!Arc::ptr_eq(&load(), &load()));
    }
}
