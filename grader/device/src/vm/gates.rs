//! Counts what launches cost, where the case bounds it.

use super::{Session, VmBackend};
use crate::finding::{Finding, Problem, SourceLoc};
use diagnostic::Failure;
use ptxvm::{Class, Counters, Counts, Traffic};
use puzzle::case::{Case, CaseGate};
use puzzle::counter::Counter;

impl VmBackend {
    /// A finding for each gate that a launch does not keep, at the line that spends most.
    pub(super) fn over_gates(&self, case: &Case) -> Result<Vec<Finding>, Failure> {
        let Some(last) = case.gates.iter().map(|gate| gate.launch).max() else {
            return Ok(Vec::new());
        };
        let mut session = Session::new(self, (&case.tensors, &case.launches))?;
        let mut findings = Vec::new();
        for (index, launch) in case.launches.iter().enumerate().take(last + 1) {
            let counters = session.launch(launch, ptxvm::launch_counted)?;
            if counters.endless {
                break;
            }
            let gates = case.gates.iter().filter(|gate| gate.launch == index);
            let over = |gate: &CaseGate| over(&session, gate, &launch.kernel, &counters);
            findings.extend(gates.filter_map(over));
        }
        Ok(findings)
    }
}

fn over(
    session: &Session<'_>,
    gate: &CaseGate,
    kernel: &str,
    counters: &Counters,
) -> Option<Finding> {
    let buffer = gate.tensor.and_then(|tensor| session.buffer(tensor));
    let of = |counts: &Counts| match buffer {
        None => of(gate.counter, counts),
        Some(buffer) => {
            in_buffer(gate.counter, counts.buffers.get(&buffer).copied().unwrap_or_default())
        }
    };
    let spent = of(&counters.total);
    if gate.relation.holds(spent, gate.bound) {
        return None;
    }
    let lines = counters.lines.iter().map(|(place, counts)| (of(counts), place));
    // Of equal lines the first.
    let (most, place) = lines.rev().max_by_key(|&(spent, _)| spent).unzip();
    let most = most.unwrap_or(0);
    let line = place.filter(|_| most > 0).map(|place| SourceLoc { column: 0, ..place.clone() });
    let problem = Problem::OverGate {
        counter: gate.counter,
        tensor: gate.tensor.map(|tensor| session.placed.tensors()[tensor].tensor.name.clone()),
        spent,
        bound: gate.bound,
        relation: gate.relation,
        of_line: most,
        about: gate.about.clone(),
    };
    Some(Finding { line, ..Finding::of_kernel(problem, kernel) })
}

fn of(counter: Counter, counts: &Counts) -> u64 {
    match counter {
        Counter::Instructions => counts.instructions(),
        Counter::MatrixInstructions => counts.of(Class::Matrix),
        Counter::MatrixMultiplications => counts.matrix_multiplications,
        Counter::DivergentBranches => counts.divergent_branches,
        Counter::GlobalLoadRequests => counts.load_requests,
        Counter::GlobalLoadSectors => counts.load_sectors,
        Counter::GlobalStoreRequests => counts.store_requests,
        Counter::GlobalStoreSectors => counts.store_sectors,
        Counter::GlobalBytesRead | Counter::GlobalBytesWritten => {
            in_buffer(counter, counts.global())
        }
        Counter::SharedWavefronts => counts.shared_wavefronts,
        Counter::SharedBankConflicts => counts.bank_conflicts,
        Counter::AtomicOperations => counts.atomic_lanes,
        Counter::Barriers => counts.barriers,
        Counter::LocalBytes => counts.local_bytes,
    }
}

/// What a counter of bytes makes of the traffic in a buffer, or in all memory.
fn in_buffer(counter: Counter, traffic: Traffic) -> u64 {
    if counter == Counter::GlobalBytesWritten { traffic.written } else { traffic.read }
}
