//! Whatever loads runs within its budget.
#![no_main]

use ptxvm::{Access, Init, Launch, Memory, Module, Options};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(module) = Module::load(text) else { return };
    let mut memory = Memory::default();
    let buffer = memory.alloc(Init::Undefined { len: 1000 }, Access::ReadWrite);
    for kernel in module.kernels() {
        let param = |size: usize| {
            let value = if size == 8 { memory.address(buffer) } else { 9 };
            let mut bytes = value.to_le_bytes().to_vec();
            bytes.resize(size, 0);
            bytes
        };
        let params = kernel.params().iter().map(|ty| param(ty.size)).collect();
        let launch = Launch { grid: [2, 1, 1], block: [48, 2, 1], dynamic_shared: 256, params };
        let options = Options { budget: 3000, ..Options::default() };
        let _ = ptxvm::launch(&module, kernel, &launch, &mut memory, &options);
    }
});
