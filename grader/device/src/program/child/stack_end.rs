//! Where C++ ends its search for a handler.
//!
//! An exception of a program that nobody catches would reach the frames of Rust below it, whose runtime ends the process with words of
//! its own. A frame without unwinding information is the end of the stack to an unwinder: there C++ does what it does below any `main`,
//! calls the program's terminate handler, which names the exception and aborts.

use std::ffi::c_void;

/// A closure with its data.
type Body<'a> = &'a mut dyn FnMut();

/// Calls `body`. No exception of C++ gets beyond this call; a panic of Rust must not try to.
pub(super) fn call(mut body: Body<'_>) {
    let body: *mut Body<'_> = &raw mut body;
    // SAFETY: `run` gets the pointer to the closure, which lives until this call returns.
    unsafe { gradient_puzzles_stack_end(body.cast(), run) }
}

unsafe extern "C-unwind" fn run(body: *mut c_void) {
    // SAFETY: `call` gave it, and nobody else has it.
    unsafe { (*body.cast::<Body<'_>>())() }
}

unsafe extern "C" {
    /// Calls the function with the pointer.
    fn gradient_puzzles_stack_end(body: *mut c_void, run: unsafe extern "C-unwind" fn(*mut c_void));
}

// Without `.cfi` directives there is no unwinding information.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".global gradient_puzzles_stack_end",
    "gradient_puzzles_stack_end:",
    "sub rsp, 8",
    "call rsi",
    "add rsp, 8",
    "ret",
);
#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".global gradient_puzzles_stack_end",
    "gradient_puzzles_stack_end:",
    "stp x29, x30, [sp, #-16]!",
    "mov x29, sp",
    "blr x1",
    "ldp x29, x30, [sp], #16",
    "ret",
);
