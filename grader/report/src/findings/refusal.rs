//! A kernel that no GPU could start.

use device::finding::Refusal;
use hardware::{NEWEST, REGISTERS, threads_by_registers};
use ptxvm::finding::{Words, thousands};

pub(super) fn words(refusal: Refusal, kernel: &str) -> Words {
    match refusal {
        Refusal::Registers { registers, threads } => {
            let (all, fit) = (thousands(REGISTERS.into()), threads_by_registers(registers));
            let title =
                format!("no GPU can start `{kernel}` in blocks of {threads} threads: each needs {registers} registers");
            let room = format!(
                "a block has {all} registers, {} for each of {threads} threads; with {registers}, {fit} threads fit",
                REGISTERS / threads
            );
            Words::new(title)
                .help(room)
                .help(format!("`__launch_bounds__({threads})` before the kernel's name makes the compiler use no more than fit"))
                .help("or need fewer: smaller arrays and fewer variables in each thread, less unrolling")
        }
        Refusal::LaunchBounds { bound, threads } => Words::new(format!(
            "`{kernel}` is launched in blocks of {threads} threads, more than its `__launch_bounds__({bound})` allow"
        ))
        .help(format!("a GPU refuses this launch: write `__launch_bounds__({threads})`, or leave it out")),
        Refusal::SharedMemory { fixed, dynamic } => {
            let most = thousands(NEWEST.block_shared().into());
            let (fixed, all) = (thousands(fixed), thousands(fixed + u64::from(dynamic)));
            let dynamic = thousands(dynamic.into());
            Words::new(format!("no GPU can start `{kernel}`: a block needs {all} bytes of shared memory"))
                .help(format!("its `__shared__` arrays take {fixed} bytes, and the launch adds {dynamic}; a block has at most {most}"))
                .help("make the `__shared__` arrays smaller, or use the memory that the launch adds (`extern __shared__`)")
        }
    }
}
