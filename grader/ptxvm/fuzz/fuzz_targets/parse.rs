//! Any text loads or is refused.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = ptxvm::Module::load(text);
});
