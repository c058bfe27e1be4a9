//! What kernels cost on the virtual machine, in the place of times.

use crate::model::Work;
use crate::outcome::Counted;
use diagnostic::Failure;
use judge::grade::{self, Program};
use ptxvm::{Class, Counters};
use puzzle::spec::{Bench, Spec, Test};

/// The largest test with the launches of a bench, at whose sizes the virtual machine counts; with the work there.
pub fn largest_test<'s>(spec: &'s Spec, bench: &Bench) -> Option<(&'s Test, Work)> {
    let launches = |test: &Test| test.calls.iter().map(|call| call.launch).collect::<Vec<_>>();
    let bytes = |test: &&Test| test.buffers.iter().map(|b| b.tensor.bytes()).sum::<usize>();
    let same = spec.tests.iter().filter(|test| launches(test) == launches(&bench.test));
    let test = same.max_by_key(bytes)?;
    let (flops, bytes) = bench.work_at(&test.dims)?;
    Some((test, Work { flops, bytes }))
}

/// Counts a test; the inner error says that the kernel is wrong.
///
/// # Errors
/// The virtual machine cannot run it.
pub fn count(
    program: &Program,
    spec: &Spec,
    test: &Test,
    seed: u64,
) -> Result<Result<Counted, String>, Failure> {
    let cases = grade::cases(spec, &[test], seed)?;
    let vm = program.virtual_machine()?;
    for case in &cases {
        let (_, verdict) = grade::run_and_judge(&vm, case)?;
        if !verdict.passed() {
            return Ok(Err(format!("the test `{}` fails", case.test)));
        }
    }
    let mut all = Counters::default();
    for case in &cases {
        all += &vm.count(case)?;
    }
    let total = &all.total;
    Ok(Ok(Counted {
        instructions: total.instructions(),
        matrix_instructions: total.of(Class::Matrix),
        load_sectors: total.load_sectors,
        store_sectors: total.store_sectors,
        atomic_operations: total.atomic_lanes,
        atomic_bytes: 2 * total.atomic_bytes,
        shared_wavefronts: total.shared_wavefronts,
        bank_conflicts: total.bank_conflicts,
        barriers: total.barriers,
        local_bytes: total.local_bytes,
    }))
}
