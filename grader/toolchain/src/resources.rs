//! What `ptxas -v` says of kernels.

use serde::{Deserialize, Serialize};

/// What a kernel needs, as the assembler reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// Its name in the PTX.
    pub kernel: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of static shared memory of a block.
    pub shared: u32,
    /// Barriers of a block.
    pub barriers: u32,
    /// Bytes of a thread's registers that have no room and are kept in memory.
    pub spilled: u32,
}

/// All kernels that it names, in order.
pub fn read(text: &str) -> Vec<Resources> {
    let mut all: Vec<Resources> = Vec::new();
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let kernel = rest.split('\'').next().unwrap_or_default().to_owned();
            all.push(Resources { kernel, registers: 0, shared: 0, barriers: 0, spilled: 0 });
        }
        let Some(last) = all.last_mut() else { continue };
        for part in line.split([',', ':']).map(str::trim) {
            if let Some(count) = number(part, "Used ", " registers") {
                last.registers = count;
            } else if let Some(count) = number(part, "used ", " barriers") {
                last.barriers = count;
            } else if let Some(bytes) = number(part, "", " bytes smem") {
                last.shared = bytes;
            } else if let Some(bytes) = number(part, "", " bytes spill stores") {
                last.spilled = bytes;
            }
        }
    }
    all
}

fn number(text: &str, before: &str, after: &str) -> Option<u32> {
    text.strip_prefix(before)?.strip_suffix(after)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_and_shared_memory_are_read() {
        let text = "ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'\n\
            ptxas info    : Function properties for _Z1kPf\n    \
            8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n\
            ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem, 8 bytes cmem[2]\n\
            ptxas info    : Compile time = 2.3 ms\n\
            ptxas info    : Compiling entry function 'g' for 'sm_90'\n\
            ptxas info    : Used 8 registers, used 0 barriers\n";
        let kernel = |kernel: &str, registers, barriers, shared, spilled| Resources {
            kernel: kernel.into(),
            registers,
            shared,
            barriers,
            spilled,
        };
        assert_eq!(read(text), [kernel("_Z1kPf", 40, 1, 1024, 12), kernel("g", 8, 0, 0, 0)]);
        assert_eq!(read("nothing of the kind"), []);
    }
}
