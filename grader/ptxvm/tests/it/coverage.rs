//! What loads: one of each form of instruction, or the sentence that refuses it. `grader/tests/it/intrinsics.rs` loads what nvcc makes of
//! kernels with all the usual intrinsics.

use std::fmt::Write;

use ptxvm::{Kernel, Module};

/// Instructions that load, and behind each reason, which a `#` begins, those that are refused for it.
const INSTRUCTIONS: &str = include_str!("../coverage/instructions.txt");

/// Of one instruction in a kernel: why it is refused.
fn refusal(instruction: &str) -> Option<String> {
    let text = format!(
        ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(){{\n\
         .reg .b16 %rs<9>;.reg .b32 %r<9>;.reg .b64 %rd<9>;.reg .f32 %f<9>;.reg .f64 %fd<9>;.reg .b128 %rq<9>;.reg .pred %p<9>;\n\
         {instruction}\nret;\n}}\n"
    );
    match Module::load(&text) {
        Ok(module) => module.kernel("k").and_then(Kernel::refusal).map(|e| e.message.clone()),
        Err(error) => Some(format!("malformed: {}", error.message)),
    }
}

/// The reason in a refusal, without the instruction or the register that it names first, which `instruction` has to hold.
fn reason<'a>(refusal: &'a str, instruction: &str) -> &'a str {
    let text = refusal.strip_prefix("not supported: ").unwrap_or(refusal);
    let named = ["instruction `", "register `"]
        .into_iter()
        .find_map(|what| text.strip_prefix(what)?.split_once("`: "));
    named.filter(|(name, _)| instruction.contains(name)).map_or(text, |(_, reason)| reason)
}

#[test]
fn every_form_of_instruction_loads_or_is_refused_with_a_reason() {
    let mut expected = "";
    let mut wrong = String::new();
    for line in INSTRUCTIONS.lines() {
        if let Some(reason) = line.strip_prefix("# ") {
            expected = reason;
            continue;
        }
        let refusal = refusal(line);
        let now = refusal.as_deref().map_or("", |refusal| reason(refusal, line));
        if now != expected {
            writeln!(wrong, "{line}\n    now: {now}\n    expected: {expected}")
                .expect("a string takes everything");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
