//! Occupancy: how kernels fit on multiprocessors.

use crate::occupancy::{Limit, Needs, Occupancy};
use serde_json::{Value, json};

/// How a kernel fits on a multiprocessor of an architecture.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The kernel's source name.
    pub kernel: String,
    /// The architecture: 90 for `sm_90`.
    pub sm: u32,
    /// What it needs there.
    pub needs: Needs,
    /// Bytes of a thread's registers that had to go to memory.
    pub spilled: u32,
    /// What comes of it.
    pub occupancy: Occupancy,
}

impl Fit {
    fn limit(&self) -> &'static str {
        match self.occupancy.limit {
            Limit::Warps => "warps",
            Limit::Blocks => "blocks",
            Limit::Registers => "registers",
            Limit::SharedMemory => "shared memory",
            Limit::Barriers => "barriers",
        }
    }

    /// The same as JSON.
    pub(super) fn document(&self) -> Value {
        json!({
            "kernel": self.kernel,
            "architecture": format!("sm_{}", self.sm),
            "block_threads": self.needs.threads,
            "registers": self.needs.registers,
            "shared_bytes": self.needs.shared,
            "spilled_bytes": self.spilled,
            "blocks": self.occupancy.blocks,
            "warps": self.occupancy.warps,
            "most_warps": self.occupancy.most,
            "limit": self.limit(),
        })
    }

    fn line(&self) -> String {
        let Self { sm, needs, occupancy, .. } = self;
        let spilled = match self.spilled {
            0 => String::new(),
            bytes => format!("; {bytes} bytes spilled"),
        };
        let full = if occupancy.warps == occupancy.most {
            String::new()
        } else {
            format!(", limited by {}", self.limit())
        };
        format!(
            "    sm_{sm}  {:3.0} %  {} registers: {} of {} warps{full}{spilled}",
            occupancy.percent(),
            needs.registers,
            occupancy.warps,
            occupancy.most
        )
    }
}

/// Theoretical occupancy, kernel by kernel.
pub(super) fn occupancies(fits: &[Fit]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut last = None;
    for fit in fits {
        let head = (&fit.kernel, fit.needs.threads, fit.needs.shared);
        if last != Some(head) {
            let shared = match head.2 {
                0 => String::new(),
                bytes => format!(", {bytes} bytes of shared memory"),
            };
            lines.push(format!("occupancy of {}, {} threads a block{shared}", head.0, head.1));
            last = Some(head);
        }
        lines.push(fit.line());
    }
    lines
}
