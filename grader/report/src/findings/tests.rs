use super::*;
use crate::examples::{SOURCE, line, outside};
use device::finding::{Element, FindingKind, Refusal, ThreadId};
use ptxvm::finding::{
    AccessKind, BarrierDivergence, BarrierObject, CopySource, EndlessLoop, GlobalRace, GridSync,
    InFlight, InvalidCall, InvalidFree, InvalidImage, InvalidMembers, MbarrierMisuse, Misaligned,
    OutOfBounds, OutsideImage, PartOfWarp, RaceKind, ReadOnlyLoad, SharedRace, Space,
    StackOverflow, Trap, UnevenOperands, Uninitialised, UseAfterFree, WriteToReadOnly,
};
use std::fmt::Write;

const FILE: &str = "puzzles/10_conv_backward_input.cu";

fn finding(problem: Problem) -> Finding {
    let thread = ThreadId { block: [1, 0, 0], thread: [3, 0, 0] };
    let (line, thread) = (Some(line(4, 26)), Some(thread));
    Finding { line, thread, ..Finding::of_kernel(problem, "conv") }
}

fn check(kind: impl Into<FindingKind<Element>>) -> Finding {
    finding(Problem::Check(kind.into()))
}

fn place(flat: i64) -> Element {
    Element { tensor: "filters".into(), shape: vec![1, 1, 3, 3], flat }
}

/// Titles and help of findings whose line is not known.
fn titles_and_help(findings: impl IntoIterator<Item = Finding>) -> String {
    let mut text = String::new();
    for finding in findings {
        let without_line = Finding { line: None, ..finding };
        let mut found = diagnostic(&without_line, Path::new(FILE), SOURCE);
        found.help.retain(|help| !help.starts_with("first in "));
        writeln!(text, "{}\n    {}", found.title, found.help.join("\n    ")).unwrap();
    }
    text
}

fn memory_errors() -> Vec<Finding> {
    let out_of_bounds = |access, space, place: Option<Element>, address| {
        check(OutOfBounds { space, access, size: 4, place, array: None, address })
    };
    let misaligned = |access, space, size, place: Option<Element>| {
        check(Misaligned { space, access, size, place, row_step: None })
    };
    let uninitialised = |space, place: Option<Element>, offset| {
        check(Uninitialised { space, size: 4, place, offset, array: None })
    };
    let read_only =
        |place: Option<Element>| check(WriteToReadOnly { place, size: 4, address: 0x7000_0000 });
    let freed = UseAfterFree { access: AccessKind::Read, size: 4, place: None::<Element> };
    vec![
        out_of_bounds(AccessKind::Read, Space::Global, Some(place(9)), 0x7000_0000),
        out_of_bounds(AccessKind::Write, Space::Global, Some(place(-3)), 0x7000_0000),
        out_of_bounds(AccessKind::Atomic, Space::Global, None, 0x40),
        out_of_bounds(AccessKind::Read, Space::Global, None, 0x7fff_0000_0000),
        out_of_bounds(AccessKind::Write, Space::Shared, None, 1024),
        out_of_bounds(AccessKind::Write, Space::Heap, None, 0x2000_0000_8000),
        misaligned(AccessKind::Read, Space::Global, 16, Some(place(1))),
        misaligned(AccessKind::Write, Space::Shared, 8, None),
        check(Misaligned {
            space: Space::Shared,
            access: AccessKind::Read,
            size: 16,
            place: None,
            row_step: Some(66),
        }),
        uninitialised(Space::Global, Some(place(4)), 0),
        uninitialised(Space::Shared, None, 12),
        uninitialised(Space::Local, None, 8),
        read_only(Some(place(0))),
        read_only(None),
        check(freed),
        check(InvalidFree { address: 8, again: true }),
        check(InvalidFree { address: 8, again: false }),
    ]
}

fn races_and_barriers() -> Vec<Finding> {
    let race = SharedRace {
        kind: RaceKind::ReadAfterWrite,
        size: 4,
        offset: 16,
        array: None,
        other: Some(line(5, 0)),
        other_thread: Some([4, 0, 0]),
        other_block: None,
        same_warp: false,
        volatile: false,
    };
    let global = |kind, same_block: bool| GlobalRace {
        kind,
        size: 4,
        place: same_block.then(|| place(4)),
        other: Some(line(5, 0)),
        other_thread: Some(ThreadId { block: [0; 3], thread: [4, 0, 0] }),
        same_block,
        same_warp: same_block,
        volatile: kind == RaceKind::WriteAfterRead,
        beside_atomic: false,
    };
    let in_flight = |access, copy, copy_thread| {
        check(InFlight { access, size: 4, offset: 64, array: None, copy, copy_thread })
    };
    let source =
        |copy, copy_thread| check(CopySource { access: AccessKind::Write, copy, copy_thread });
    vec![
        check(race),
        check(global(RaceKind::ReadAfterWrite, true)),
        check(global(RaceKind::WriteAfterWrite, true)),
        check(global(RaceKind::WriteAfterRead, false)),
        check(ReadOnlyLoad {
            size: 4,
            place: Some(place(4)),
            written_here: false,
            by_image: false,
            other: Some(line(5, 0)),
        }),
        check(ReadOnlyLoad {
            size: 4,
            place: Some(place(4)),
            written_here: false,
            by_image: true,
            other: Some(line(5, 0)),
        }),
        check(BarrierDivergence { other: None }),
        check(BarrierDivergence { other: Some(line(5, 0)) }),
        check(InvalidMembers { named: u32::MAX, here: 0x10_FFFF }),
        check(PartOfWarp { here: 0xFFFF }),
        check(UnevenOperands),
        in_flight(AccessKind::Read, Some(line(3, 0)), [0; 3]),
        in_flight(AccessKind::Write, None, [3, 0, 0]),
        source(Some(line(3, 0)), [0; 3]),
        source(None, [3, 0, 0]),
    ]
}

fn images() -> Vec<Finding> {
    let outside = OutsideImage {
        access: AccessKind::Read,
        surface: false,
        coordinates: vec![16],
        layer: None,
        extent: [16, 1, 1],
        texel_bytes: 4,
    };
    let invalid = InvalidImage { handle: 2, surface: false, is_other: true, destroyed: false };
    vec![
        check(outside.clone()),
        check(OutsideImage {
            access: AccessKind::Write,
            surface: true,
            coordinates: vec![64, 8],
            layer: Some(3),
            extent: [16, 8, 3],
            ..outside
        }),
        check(invalid.clone()),
        check(InvalidImage { handle: 0, surface: true, is_other: false, ..invalid }),
    ]
}

fn barrier_objects() -> Vec<Finding> {
    let misuses = [
        MbarrierMisuse::NotInitialised,
        MbarrierMisuse::InitialisedAgain { first: Some(line(3, 0)), first_thread: [0; 3] },
        MbarrierMisuse::InvalidCount { count: 0 },
        MbarrierMisuse::TooManyArrivals { count: 2, pending: 1 },
        MbarrierMisuse::MayNotComplete,
        MbarrierMisuse::OldToken,
        MbarrierMisuse::Touched { access: AccessKind::Write, size: 4 },
        MbarrierMisuse::NeverCompletes { arrivals: 1, bytes: 0 },
        MbarrierMisuse::NeverCompletes { arrivals: 0, bytes: 64 },
    ];
    misuses.map(|misuse| check(BarrierObject { misuse, offset: 8 })).into()
}

fn kernels_that_stop() -> Vec<Finding> {
    let endless = || check(EndlessLoop { instructions: 20_000_000 });
    vec![
        endless(),
        Finding { thread: None, ..endless() },
        check(StackOverflow { limit: 65_536, allocates: false }),
        check(InvalidCall { address: 0 }),
        check(InvalidCall { address: 0x7f00_1234_5670 }),
        check(GridSync),
        check(Trap { message: None }),
        check(Trap { message: Some("i < n".into()) }),
    ]
}

fn wrong_results_and_gpus() -> Vec<Finding> {
    let accuracy = Element { tensor: "accuracy".into(), shape: vec![], flat: 0 };
    let problems = [
        Problem::InputChanged { place: place(8) },
        Problem::GuardOverwritten { place: place(11) },
        Problem::TimeOut { seconds: 10.0 },
        Problem::Driver {
            code: "CUDA_ERROR_ILLEGAL_ADDRESS".into(),
            meaning: "it left its memory".into(),
        },
        Problem::NotRepeatable { place: place(4), values: [0.1, 0.100_000_001] },
        Problem::Unwritten { place: place(2) },
        Problem::UnmetRequirement {
            place: accuracy,
            value: 0.8125,
            relation: puzzle::relation::Relation::AtLeast,
            bound: 0.95,
            about: Some("of the digits that it has not seen".into()),
            same: None,
        },
        Problem::UnmetRequirement {
            place: place(4),
            value: f64::NAN,
            relation: puzzle::relation::Relation::Equal,
            bound: 0.0,
            about: None,
            same: Some(("w[0, *]".into(), 0.5)),
        },
        Problem::NotMeasurable {
            tensor: "accuracy".into(),
            message: "`label` leads outside".into(),
        },
        Problem::OverGate {
            counter: puzzle::counter::Counter::GlobalLoadSectors,
            tensor: None,
            spent: 33_000,
            bound: 6_000,
            relation: puzzle::relation::Relation::AtMost,
            of_line: 32_000,
            about: Some("read side by side".into()),
        },
        Problem::Refused(Refusal::Registers { registers: 72, threads: 1024 }),
        Problem::Refused(Refusal::LaunchBounds { bound: 128, threads: 256 }),
        Problem::Refused(Refusal::SharedMemory { fixed: 40_960, dynamic: 200_000 }),
        Problem::Grader { message: "2 tensors of 3 came back".into() },
    ];
    problems.map(finding).into()
}

#[test]
fn every_kind_has_a_title_and_help() {
    insta::assert_snapshot!(titles_and_help(memory_errors()), @r#"
    out-of-bounds read of filters, 1 past its last element
        filters has 9 elements, shape [1, 1, 3, 3]
        the last is number 8, filters[0, 0, 2, 2]; this is number 9
    out-of-bounds write to filters, 3 before its first element
        filters has 9 elements, shape [1, 1, 3, 3]
        the first is number 0, filters[0, 0, 0, 0]; this is number -3
    out-of-bounds atomic update of global memory, at address 0x40
        an address this small comes from a null pointer: is the pointer ever set?
    out-of-bounds read of global memory, at address 0x7fff00000000
        this looks like an address of the host's memory (new, malloc, a vector, a variable): pass a pointer from cudaMalloc, and copy the data there with cudaMemcpy
    out-of-bounds write to shared memory, at address 0x400
        the array ends before this address
    out-of-bounds write to memory from malloc, at address 0x200000008000
        the allocation ends before this address, or begins behind it
    misaligned read of 16 bytes at filters[0, 0, 0, 1]
        16 bytes at once need an address that is a multiple of 16
    misaligned write of 8 bytes in shared memory
        8 bytes at once need an address that is a multiple of 8
    misaligned read of a matrix with 66 bytes from a row or column to the next
        16 bytes at once need rows or columns that begin at multiples of 16 bytes, and so a leading dimension of such a multiple; the matrix begins in shared memory
    read of filters[0, 0, 1, 1], which nothing has written
        nothing has stored there before: a sum starts from a variable that is 0, or is set to 0 in a launch before, where blocks share it; what another launch stores must be stored before, and all of it
    read of byte 12 of shared memory, which nothing has written
        shared memory starts undefined: has a thread stored here, with a __syncthreads() after it?
    read of byte 8 of a thread's local memory, which nothing has written
        a variable or array is read before it is set
    write to filters[0, 0, 0, 0], which is an input
        a kernel must leave its inputs as they are: is this the right pointer?
    write to constant memory, at address 0x70000000
        a kernel can only read constant memory: is this the right pointer?
    read of memory that was freed
        free it only after the last thread is done with it: a __syncthreads() may be missing
    memory that is freed a second time
        every allocation is freed once: by one thread, if the block shares it
    free of a pointer that malloc did not return
        free takes the very pointer that malloc or new returned, or a null pointer
    "#);
    insta::assert_snapshot!(titles_and_help(races_and_barriers()), @r#"
    shared-memory race between (1) a write and (2) a read of byte 16
        no __syncthreads() lies between the two: their order is chance
        (1) write here by block (1,0,0) thread (4,0,0): 10_conv_backward_input.cu:5
    race between (1) a write and (2) a read of filters[0, 0, 1, 1]
        the threads of a warp need not run in step: put a __syncthreads() between the two, or a __syncwarp() if no other warp comes here
        (1) write here by block (0,0,0) thread (4,0,0): 10_conv_backward_input.cu:5
    race between (1) a write and (2) a write of filters[0, 0, 1, 1]
        which of the two values stays is chance: does each thread compute an index of its own? If both must add to the element, add with atomicAdd; if one is to overwrite the other, put a barrier between
        (1) write here by block (0,0,0) thread (4,0,0): 10_conv_backward_input.cu:5
    race between (1) a read and (2) a write of a __device__ variable
        nothing orders the two blocks here: add with atomicAdd, or let one block do it all; set to zero before the launch
        if a flag or a counter tells one block that another is done: __threadfence() before it is set and after it is seen, and set and read it with atomics
        volatile makes the compiler load and store each time; it orders no threads, and does not make `x += y` one step
        (1) read here by block (0,0,0) thread (4,0,0): 10_conv_backward_input.cu:5
    read-only load of filters[0, 0, 1, 1], which the kernel itself writes
        __ldg and `const ... __restrict__` promise that nobody writes this memory while the kernel runs: the load may find an old value
        pass the pointer without `const` or without `__restrict__`, and load without __ldg
        written here: 10_conv_backward_input.cu:5
    read of filters[0, 0, 1, 1] by a texture or surface, after this kernel wrote it
        the caches of textures and surfaces do not see what the running kernel has written: the read may find an old value
        read it in the next launch, or through a pointer
        written here: 10_conv_backward_input.cu:5
    __syncthreads() that only a part of the block reaches
        the other threads have returned: all of a block must reach every __syncthreads()
    __syncthreads() that only a part of the block reaches
        all threads of a block must reach the same __syncthreads()
        the other threads are here: 10_conv_backward_input.cu:5
    a member mask that does not fit the threads that take part
        the mask names the lanes 0-31, here are 0-15, 20
        call it where the whole warp comes along, or make the mask before the branch: __ballot_sync(0xffffffff, condition)
    an operation of a whole warp that only a part of it reaches
        all 32 lanes must come here together; here are 0-15
        use a block of whole warps, and no condition that differs inside a warp
    the threads of a warp give this load or store of a matrix different places
        a warp loads or stores one matrix: its address and stride may not depend on the lane
    read of byte 64 of shared memory, to which an asynchronous copy is still on its way
        the thread that copies must wait for it (__pipeline_wait_prior), and then a __syncthreads() must follow; for a barrier's copy, all threads wait at the barrier
        the copy begins here: 10_conv_backward_input.cu:3
    write to byte 64 of shared memory, to which an asynchronous copy is still on its way
        wait for the copy first: by __pipeline_wait_prior, or at the barrier that it belongs to
    write to what an asynchronous copy still reads: it takes the old value or the new one
        the thread that copies must wait for it (cp.async.bulk.wait_group.read), and then a __syncthreads() must follow
        the copy begins here: 10_conv_backward_input.cu:3
    write to what an asynchronous copy still reads: it takes the old value or the new one
        wait for the copy first, by the wait_group of its kind
    "#);
    insta::assert_snapshot!(titles_and_help(images()), @r#"
    texture fetch of texel 16, outside the linear memory
        the texture has 16 texels of 4 bytes; the fetch gives zero
        is the index too large, or sizeInBytes of the resource too small?
    surface write outside the surface, at x = 64, y = 8, layer = 3
        the surface has 64 bytes in x (16 texels of 4), 8 rows in y, 3 layers; x counts bytes
        such an access stops the kernel; cudaBoundaryModeZero and cudaBoundaryModeClamp allow it
    0x2 is not a texture object
        a GPU may read zeros or other data here without an error
        it is a surface object: make one of the same array with cudaCreateTextureObject
    0x0 is not a surface object
        a GPU may read zeros or other data here without an error
        pass the kernel what cudaCreateSurfaceObject has returned, and check that it returned cudaSuccess
    "#);
    insta::assert_snapshot!(titles_and_help(barrier_objects()), @r#"
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
    a wait with a token that is not of the last two phases of the barrier object at byte 8 of shared memory
        wait with the token that arrive() of the same barrier has just returned
    write to the barrier object at byte 8 of shared memory
        only init, arrive and wait may touch it: does an array before it run over, or does memory have two uses?
    the phase of the barrier object at byte 8 of shared memory never completes
        1 more arrival would complete it, and all threads that are left wait: does the count of init fit those that arrive? Does each wait for the right phase?
    the phase of the barrier object at byte 8 of shared memory never completes
        all have arrived, but 64 bytes of copies are missing: does what was announced fit what is copied?
    "#);
    insta::assert_snapshot!(titles_and_help(kernels_that_stop()), @r#"
    block (1,0,0) thread (3,0,0) was still running after 20,000,000 instructions
        does the loop's variable move towards its end in every case?
    conv was still running after 20,000,000 instructions
        does the loop's variable move towards its end in every case?
    the recursion is too deep
        the stack of a thread has 65,536 bytes
        does every chain of calls come to an end?
    call through a pointer that does not lead to a function (0x0)
        the pointer is null: is it ever set?
    call through a pointer that does not lead to a function (0x7f0012345670)
        is it set, and by code of the device? the address of a host function cannot be called here
    the kernel waits for all blocks of the grid in a launch that is not cooperative
        this_grid().sync() needs a cooperative launch, and this launch is not one
    the kernel stopped itself with a trap
        
    assertion failed: i < n
        
    "#);
    insta::assert_snapshot!(titles_and_help(wrong_results_and_gpus()), @r#"
    the input filters[0, 0, 2, 2] is not what it was before the launch
        a kernel must leave its inputs as they are: does it store through the right pointer?
    out-of-bounds write to filters, 3 past its last element
        filters has 9 elements, shape [1, 1, 3, 3]
        the last is number 8, filters[0, 0, 2, 2]; this is number 11
        `--backend vm` shows the line
    the kernel was still running after 10 s and was stopped
        a loop that never ends is likely; `--backend vm` shows the line
    the GPU's driver stopped the kernel: it left its memory
        CUDA_ERROR_ILLEGAL_ADDRESS
    filters[0, 0, 1, 1] was 0.1 after one run and 0.100000001 after another, on the same data
        the bits must be the same at every run, whatever order blocks and warps run in
        atomic additions of floats come in any order, and each order rounds otherwise: let one thread add them in a fixed order
    filters[0, 0, 0, 2] was never written
        
    `accuracy` is 0.8125, and must be at least 0.95
        of the digits that it has not seen
    filters[0, 0, 1, 1] is NaN, and must be exactly 0
        all elements of w[0, *] are 0.5
    `accuracy` cannot be computed: `label` leads outside
        the values that your function computed lead outside a tensor
    the values are right, but the kernel takes 33,000 sectors loaded from global memory; there may be at most 6,000
        read side by side
    no GPU can start `conv` in blocks of 1024 threads: each needs 72 registers
        a block has 65,536 registers, 64 for each of 1024 threads; with 72, 896 threads fit
        `__launch_bounds__(1024)` before the kernel's name makes the compiler use no more than fit
        or need fewer: smaller arrays and fewer variables in each thread, less unrolling
    `conv` is launched in blocks of 256 threads, more than its `__launch_bounds__(128)` allow
        a GPU refuses this launch: write `__launch_bounds__(256)`, or leave it out
    no GPU can start `conv`: a block needs 240,960 bytes of shared memory
        its `__shared__` arrays take 40,960 bytes, and the launch adds 200,000; a block has at most 232,448
        make the `__shared__` arrays smaller, or use the memory that the launch adds (`extern __shared__`)
    the grader contradicts itself: 2 tensors of 3 came back
        this is a mistake of the grader, not yours: please report it
    "#);
}

fn rendered(finding: &Finding) -> String {
    diagnostic(finding, Path::new(FILE), SOURCE).render(false)
}

#[test]
fn the_line_is_shown_with_the_expression_marked() {
    insta::assert_snapshot!(rendered(&Finding { count: 25, ..finding(outside(place(9))) }), @r#"
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
    let whole_line =
        Finding { line: Some(line(6, 0)), ..check(EndlessLoop { instructions: 1_000 }) };
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
    let other = Some(line(5, 5));
    insta::assert_snapshot!(rendered(&check(BarrierDivergence { other })), @r#"
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
    let mut there = check(Trap { message: None });
    there.line = Some(SourceLoc { file: "/x/include/tile.cuh".into(), line: 7, column: 3 });
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
