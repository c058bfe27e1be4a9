//! Pinned and managed pages that the program must not touch yet: work of the device that it has not waited for may still access them.
//!
//! Between two calls of the runtime such pages are protected by the processor. A program that touches one all the same gets a
//! signal, whose handler notes the place and opens the page, so that the program goes on; the next call tells the device. Only
//! pages all of whose bytes are concerned are protected, so that a neighbour of such bytes can be used freely.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};

/// Pages that can be protected at once; further ones are not.
const MAX_SPANS: usize = 64;
/// Places that are noted until the next call.
const MAX_NOTED: usize = 32;

/// Protected pages, which the handler of the signal may look at.
struct Span {
    /// The address of the first byte and of the first one behind; 0 and 0 for none.
    start: AtomicU64,
    end: AtomicU64,
}

static SPANS: [Span; MAX_SPANS] =
    [const { Span { start: AtomicU64::new(0), end: AtomicU64::new(0) } }; MAX_SPANS];
/// Whether any pages are protected.
static IN_USE: AtomicBool = AtomicBool::new(false);
/// The places that the program has touched, and whether each was a write.
static NOTED: [(AtomicU64, AtomicBool); MAX_NOTED] =
    [const { (AtomicU64::new(0), AtomicBool::new(false)) }; MAX_NOTED];
static NOTED_COUNT: AtomicUsize = AtomicUsize::new(0);
/// What handled the signal before.
static mut BEFORE: MaybeUninit<libc::sigaction> = MaybeUninit::uninit();
static INSTALL: Once = Once::new();

/// Bytes of a page.
pub fn page() -> u64 {
    // SAFETY: asks the system for a number.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}

/// Protects the whole pages of a range: against writes, or against reads as well.
pub fn protect(start: u64, end: u64, reads: bool) {
    let page = page();
    let (start, end) = (start.next_multiple_of(page), end - end % page);
    if start >= end {
        return;
    }
    INSTALL.call_once(install);
    let Some(free) = SPANS.iter().find(|span| span.end.load(SeqCst) == 0) else { return };
    IN_USE.store(true, SeqCst);
    free.start.store(start, SeqCst);
    free.end.store(end, SeqCst);
    set(start, end, if reads { libc::PROT_NONE } else { libc::PROT_READ });
}

/// Opens all pages; the places that the program has touched meanwhile, and whether it wrote there.
pub fn open() -> Vec<(u64, bool)> {
    if !IN_USE.swap(false, SeqCst) {
        return Vec::new();
    }
    for span in &SPANS {
        let (start, end) = (span.start.swap(0, SeqCst), span.end.swap(0, SeqCst));
        if end != 0 {
            set(start, end, libc::PROT_READ | libc::PROT_WRITE);
        }
    }
    let count = NOTED_COUNT.swap(0, SeqCst).min(MAX_NOTED);
    NOTED[..count].iter().map(|(at, write)| (at.load(SeqCst), write.load(SeqCst))).collect()
}

fn set(start: u64, end: u64, protection: c_int) {
    // SAFETY: the pages are the context's, which keeps them mapped while they are protected.
    unsafe { libc::mprotect(start as *mut c_void, (end - start) as usize, protection) };
}

fn install() {
    // SAFETY: a handler with this signature, which does only what a handler may. The old action is written before the new one can
    // run, because pages are protected later.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGSEGV, &raw const action, (&raw mut BEFORE).cast());
    }
}

/// Notes a touched place and opens its page. Any other fault goes to whom it went before.
extern "C" fn handle(_signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes the signal's information.
    let at = unsafe { (*info).si_addr() } as u64;
    let inside = |span: &&Span| (span.start.load(SeqCst)..span.end.load(SeqCst)).contains(&at);
    if SPANS.iter().any(|span| inside(&span)) {
        let slot = NOTED_COUNT.fetch_add(1, SeqCst);
        if let Some((place, write)) = NOTED.get(slot) {
            place.store(at, SeqCst);
            write.store(is_write(context), SeqCst);
        }
        let start = at - at % page();
        set(start, start + page(), libc::PROT_READ | libc::PROT_WRITE);
        return;
    }
    // SAFETY: the old action was stored before this handler could run. The fault happens once more, and is handled by it.
    unsafe { libc::sigaction(libc::SIGSEGV, (&raw const BEFORE).cast(), std::ptr::null_mut()) };
}

/// Whether a fault was a write, by the processor's error code.
#[cfg(target_arch = "x86_64")]
fn is_write(context: *mut c_void) -> bool {
    const WRITE: i64 = 2;
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the system passes the interrupted thread's context.
    unsafe { (*context).uc_mcontext.gregs[libc::REG_ERR as usize] & WRITE != 0 }
}

/// Elsewhere the context does not tell: a read is what programs do too early most often.
#[cfg(not(target_arch = "x86_64"))]
fn is_write(_context: *mut c_void) -> bool {
    false
}
