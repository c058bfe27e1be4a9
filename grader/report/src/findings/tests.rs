use super::*;
use crate::examples::{SOURCE, line};
use device::finding::{BarrierMisuse, ThreadId};
use std::fmt::Write;

const FILE: &str = "puzzles/10_conv_backward_input.cu";

fn finding(kind: FindingKind) -> Finding {
    let thread = ThreadId { block: [1, 0, 0], thread: [3, 0, 0] };
    Finding { kind, kernel: "conv".into(), line: Some(line(4, 26)), thread: Some(thread), count: 1 }
}

fn place(flat: i64) -> Place {
    Place { tensor: "filters".into(), shape: vec![1, 1, 3, 3], flat }
}

fn out_of_bounds(access: Access, space: Space, place: Option<Place>, address: u64) -> FindingKind {
    FindingKind::OutOfBounds { access, space, place, address }
}

#[test]
fn every_kind_has_a_title_and_help() {
    let other_thread = Some(ThreadId { block: [0; 3], thread: [4, 0, 0] });
    let race = FindingKind::SharedRace {
        other_line: Some(line(5, 0)),
        other_thread,
        access: Access::Read,
        other_access: Access::Write,
        offset: 16,
        same_warp: false,
    };
    let in_warp = |access| FindingKind::GlobalRace {
        place: Some(place(4)),
        other_line: Some(line(5, 0)),
        other_thread,
        access,
        other_access: Access::Write,
        same_block: true,
        same_warp: true,
    };
    let global = Space::Global;
    let barrier = |misuse| FindingKind::BarrierObject { misuse, offset: 8 };
    let kinds = [
        out_of_bounds(Access::Read, global, Some(place(9)), 0x7000_0000),
        out_of_bounds(Access::Write, global, Some(place(-3)), 0x7000_0000),
        out_of_bounds(Access::Atomic, global, None, 0x40),
        out_of_bounds(Access::Read, global, None, 0x7fff_0000_0000),
        out_of_bounds(Access::Write, Space::Shared, None, 1024),
        FindingKind::Misaligned {
            access: Access::Read,
            space: global,
            size: 16,
            place: Some(place(1)),
        },
        FindingKind::Misaligned {
            access: Access::Write,
            space: Space::Shared,
            size: 8,
            place: None,
        },
        FindingKind::Uninitialised { space: global, place: Some(place(4)), offset: 0 },
        FindingKind::Uninitialised { space: Space::Shared, place: None, offset: 12 },
        FindingKind::Uninitialised { space: Space::Local, place: None, offset: 8 },
        FindingKind::WriteToInput { place: place(0) },
        FindingKind::InputChanged { place: place(8) },
        race,
        in_warp(Access::Read),
        in_warp(Access::Write),
        FindingKind::BarrierDivergence { other_line: None },
        FindingKind::BarrierDivergence { other_line: Some(line(5, 0)) },
        FindingKind::PartOfWarp { here: 0xFFFF },
        FindingKind::UnevenOperands,
        FindingKind::CopyInFlight {
            access: Access::Read,
            offset: 64,
            copy_line: Some(line(3, 0)),
            own: false,
        },
        FindingKind::CopyInFlight { access: Access::Write, offset: 8, copy_line: None, own: true },
        barrier(BarrierMisuse::NotInitialised),
        barrier(BarrierMisuse::InitialisedAgain { first_line: Some(line(3, 0)) }),
        barrier(BarrierMisuse::InvalidCount { count: 0 }),
        barrier(BarrierMisuse::TooManyArrivals { count: 2, pending: 1 }),
        barrier(BarrierMisuse::MayNotComplete),
        barrier(BarrierMisuse::OldToken),
        barrier(BarrierMisuse::Touched { access: Access::Write }),
        barrier(BarrierMisuse::NeverCompletes { arrivals: 1, bytes: 0 }),
        barrier(BarrierMisuse::NeverCompletes { arrivals: 0, bytes: 64 }),
        FindingKind::NotRepeatable { place: place(4), values: [0.1, 0.100_000_001] },
        FindingKind::Unwritten { place: place(2) },
        FindingKind::UnmetRequirement {
            place: Place { tensor: "accuracy".into(), shape: vec![], flat: 0 },
            value: 0.8125,
            relation: puzzle::requirement::Relation::AtLeast,
            bound: 0.95,
            about: Some("of the digits that it has not seen".into()),
        },
        FindingKind::UnmetRequirement {
            place: place(4),
            value: f64::NAN,
            relation: puzzle::requirement::Relation::Equal,
            bound: 0.0,
            about: None,
        },
        FindingKind::NotMeasurable {
            tensor: "accuracy".into(),
            message: "`label` leads outside".into(),
        },
        FindingKind::OverGate {
            counter: puzzle::counter::Counter::GlobalLoadSectors,
            spent: 33_000,
            bound: 6_000,
            exact: false,
            of_line: 32_000,
            about: Some("read side by side".into()),
        },
        FindingKind::EndlessLoop { instructions: 20_000_000 },
        FindingKind::TimeOut { seconds: 10.0 },
        out_of_bounds(Access::Write, Space::Heap, None, 0x2000_0000_8000),
        FindingKind::UseAfterFree { access: Access::Read },
        FindingKind::InvalidFree { again: true },
        FindingKind::InvalidFree { again: false },
        FindingKind::StackOverflow { limit: 65_536 },
        FindingKind::InvalidCall { address: 0 },
        FindingKind::InvalidCall { address: 0x7f00_1234_5670 },
        FindingKind::GridSync,
        FindingKind::Trap { message: None },
        FindingKind::Trap { message: Some("i < n".into()) },
        FindingKind::GuardOverwritten { place: place(11) },
        FindingKind::Driver {
            code: "CUDA_ERROR_ILLEGAL_ADDRESS".into(),
            meaning: "it left its memory".into(),
        },
        FindingKind::Grader { message: "2 tensors of 3 came back".into() },
    ];
    let mut text = String::new();
    for kind in kinds {
        let without_place = Finding { line: None, thread: None, ..finding(kind) };
        let d = diagnostic(&without_place, Path::new(FILE), SOURCE);
        writeln!(text, "{}\n    {}", d.title, d.help.join("\n    ")).unwrap();
    }
    insta::assert_snapshot!(text, @r#"
    out-of-bounds read of filters, 1 past its last element
        filters has 9 elements, shape [1, 1, 3, 3]
        the last is number 8, filters[0, 0, 2, 2]; this is number 9
    out-of-bounds write to filters, 3 before its first element
        filters has 9 elements, shape [1, 1, 3, 3]
        the first is number 0, filters[0, 0, 0, 0]; this is number -3
    out-of-bounds atomic update of global memory, at address 0x40
        an address this small comes from a null pointer: is the pointer ever set?
    out-of-bounds read of global memory, at address 0x7fff00000000
        no tensor lies near this address: is the index far too large, or the pointer overwritten?
    out-of-bounds write to shared memory, at address 0x400
        the array ends before this address
    misaligned read of 16 bytes at filters[0, 0, 0, 1]
        16 bytes at once need an address that is a multiple of 16
    misaligned write of 8 bytes in shared memory
        8 bytes at once need an address that is a multiple of 8
    read of filters[0, 0, 1, 1], which nothing has written
        an output holds nothing before the kernel stores to it: start from a variable set to 0
    read of byte 12 of shared memory, which nothing has written
        shared memory starts undefined: has a thread stored here, with a __syncthreads() after it?
    read of byte 8 of a thread's local memory, which nothing has written
        a variable or array is read before it is set
    write to filters[0, 0, 0, 0], which is an input
        a kernel must leave its inputs as they are: is this the right pointer?
    the input filters[0, 0, 2, 2] is not what it was before the launch
        a kernel must leave its inputs as they are: does it store through the right pointer?
    shared-memory race between (1) a write and (2) a read of byte 16
        no __syncthreads() lies between the two: their order is chance
        (1) write here by block (0,0,0) thread (4,0,0): 10_conv_backward_input.cu:5
    race between (1) a write and (2) a read of filters[0, 0, 1, 1]
        the threads of a warp need not run in step: put a __syncwarp() or __syncthreads() between the two
        (1) write here by block (0,0,0) thread (4,0,0): 10_conv_backward_input.cu:5
    race between (1) a write and (2) a write of filters[0, 0, 1, 1]
        which of the two values stays is chance, within a warp, too: let one thread write, or put a __syncwarp() or __syncthreads() between
        (1) write here by block (0,0,0) thread (4,0,0): 10_conv_backward_input.cu:5
    __syncthreads() that only a part of the block reaches
        the other threads have returned: all of a block must reach every __syncthreads()
    __syncthreads() that only a part of the block reaches
        all threads of a block must reach the same __syncthreads()
        the other threads are here: 10_conv_backward_input.cu:5
    an operation of a whole warp that only a part of it comes to
        all 32 lanes must come here together; here are 0-15
        use a block of whole warps, and no condition that differs inside a warp
    the threads of a warp give this load or store of a matrix different places
        a warp loads or stores one matrix: its address and stride may not depend on the lane
    read of byte 64 of shared memory, to which an asynchronous copy is still on its way
        the thread that copies must wait for it (__pipeline_wait_prior), and then a __syncthreads() must follow; of a barrier's copy all wait at the barrier
        the copy begins here: 10_conv_backward_input.cu:3
    write to byte 8 of shared memory, to which an asynchronous copy is still on its way
        wait for the copy first: by __pipeline_wait_prior, or at the barrier that it belongs to
    use of the barrier object at byte 8 of shared memory, which nobody has initialised
        one thread calls init, and a __syncthreads() follows before any other thread uses it
    the barrier object at byte 8 of shared memory is initialised a second time
        one thread of the block initialises it, once: if (threadIdx.x == 0) init(&bar, blockDim.x);
        initialised here: 10_conv_backward_input.cu:3
    a count of 0 for the barrier object at byte 8 of shared memory
        arrivals are 1 to 1,048,575 at once, bytes at most 1,048,575 and whole 16s in bulk copies
    2 arrivals at the barrier object at byte 8 of shared memory, which waits for 1 only
        each phase takes as many arrivals as init said, less those that have dropped out
    an arrival that must not be the last one completes the phase of the barrier object at byte 8 of shared memory
        arrive without noComplete where it may be the last one
    a wait with a token that is no token of the last two phases of the barrier object at byte 8 of shared memory
        wait with the token that arrive() of the same barrier has just given
    write to the barrier object at byte 8 of shared memory
        only init, arrive and wait may touch it: does an array before it run over, or does memory have two uses?
    the phase of the barrier object at byte 8 of shared memory never completes
        1 arrival more would complete it, and all threads that are left wait: does the count of init fit those who arrive? Does each wait for the right phase?
    the phase of the barrier object at byte 8 of shared memory never completes
        all have arrived, but 64 bytes of copies are missing: does what was announced fit what is copied?
    filters[0, 0, 1, 1] was 0.1 after one run and 0.100000001 after another, on the same data
        the bits must be the same at every run, whatever order blocks and warps run in
        atomic additions of floats come in any order, and each order rounds otherwise: let one thread add them in a fixed order
    filters[0, 0, 0, 2] was never written
        
    `accuracy` is 0.8125, and must be at least 0.95
        of the digits that it has not seen
    filters[0, 0, 1, 1] is NaN, and must be exactly 0
        
    `accuracy` cannot be computed: `label` leads outside
        the values that your function gave lead outside a tensor
    the values are right, but the kernel takes 33,000 sectors loaded from global memory; there may be at most 6,000
        read side by side
    conv was still running after 20,000,000 instructions
        does the loop's variable move towards its end in every case?
    the kernel was still running after 10 s and was stopped
        a loop that never ends is likely; `--backend vm` shows the line
    out-of-bounds write to memory from malloc, at address 0x200000008000
        the allocation ends before this address, or begins behind it
    read of memory that was freed
        free it only after the last thread is done with it: a __syncthreads() may be missing
    memory that is freed a second time
        every allocation is freed once: by one thread, if the block shares it
    free of what malloc did not give
        free takes the very pointer that malloc or new gave, or a null pointer
    the recursion is too deep
        the stack of a thread has 65,536 bytes
        does every chain of calls come to an end?
    call through a pointer that leads to no function (0x0)
        the pointer is null: is it ever set?
    call through a pointer that leads to no function (0x7f0012345670)
        is it set, and by code of the device? an address of the host is none here
    the kernel waits for all blocks of the grid in a launch that is not cooperative
        this_grid().sync() needs a cooperative launch: the puzzle does not make one
    the kernel stopped itself with a trap
        
    assertion failed: i < n
        
    out-of-bounds write to filters, 3 past its last element
        filters has 9 elements, shape [1, 1, 3, 3]
        the last is number 8, filters[0, 0, 2, 2]; this is number 11
        `--backend vm` shows the line
    the GPU's driver stopped the kernel: it left its memory
        CUDA_ERROR_ILLEGAL_ADDRESS
    the grader contradicts itself: 2 tensors of 3 came back
        this is a mistake of the grader, not yours: please report it
    "#);
}

fn rendered(finding: &Finding) -> String {
    diagnostic(finding, Path::new(FILE), SOURCE).render(false)
}

#[test]
fn the_line_is_shown_with_the_expression_marked() {
    let kind = || out_of_bounds(Access::Read, Space::Global, Some(place(9)), 0);
    insta::assert_snapshot!(rendered(&Finding { count: 25, ..finding(kind()) }), @r#"
    error: out-of-bounds read of filters, 1 past its last element
     --> puzzles/10_conv_backward_input.cu:4:26
      |
    4 |     float sum = g[idx] * filters[idx + 5]; // the mistake
      |                          ^^^^^^^^^^^^^^^^
      |
      = help: filters has 9 elements, shape [1, 1, 3, 3]
      = help: the last is number 8, filters[0, 0, 2, 2]; this is number 9
      = help: first in block (1,0,0) thread (3,0,0) of conv; 24 more such at this line
    "#);
    let whole_line = Finding {
        line: Some(line(6, 0)),
        ..finding(FindingKind::EndlessLoop { instructions: 1_000 })
    };
    insta::assert_snapshot!(rendered(&whole_line), @r#"
    error: block (1,0,0) thread (3,0,0) was still running after 1,000 instructions, at line 6
     --> puzzles/10_conv_backward_input.cu:6:5
      |
    6 |     grad_input[idx] = sum;
      |     ^^^^^^^^^^^^^^^^^^^^^^ was here
      |
      = help: does the loop's variable move towards its end in every case?
      = help: first in block (1,0,0) thread (3,0,0) of conv
    "#);
}

#[test]
fn both_sides_are_marked() {
    let other_line = Some(line(5, 5));
    insta::assert_snapshot!(rendered(&finding(FindingKind::BarrierDivergence { other_line })), @r#"
    error: __syncthreads() that only a part of the block reaches
     --> puzzles/10_conv_backward_input.cu:4:26
      |
    4 |     float sum = g[idx] * filters[idx + 5]; // the mistake
      |                          ^^^^^^^^^^^^^^^^ some threads wait here
    5 |     if (idx >= 25) return;
      |     --------------------- the other threads are here
      |
      = help: all threads of a block must reach the same __syncthreads()
      = help: first in block (1,0,0) thread (3,0,0) of conv
    "#);
}

#[test]
fn a_line_of_another_file_or_past_the_end_is_named() {
    let mut there = finding(FindingKind::Trap { message: None });
    there.line = Some(SourceLine { file: "/x/include/tile.cuh".into(), line: 7, column: 3 });
    insta::assert_snapshot!(rendered(&there), @r#"
    error: the kernel stopped itself with a trap
     |
     = help: at tile.cuh:7
     = help: first in block (1,0,0) thread (3,0,0) of conv
    "#);
    there.line = Some(line(99, 3));
    insta::assert_snapshot!(rendered(&there), @r#"
    error: the kernel stopped itself with a trap
     |
     = help: at 10_conv_backward_input.cu:99
     = help: first in block (1,0,0) thread (3,0,0) of conv
    "#);
}

#[test]
fn a_column_outside_the_line_marks_the_line() {
    for column in [0, 200] {
        let span = span(SOURCE, &line(5, column)).unwrap();
        assert_eq!(&SOURCE[span], "if (idx >= 25) return;");
    }
    assert_eq!(span(SOURCE, &line(0, 1)), None);
    assert_eq!(span("", &line(1, 1)), None);
}
