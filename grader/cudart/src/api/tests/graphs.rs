use super::*;

unsafe extern "C" {
    fn cudaStreamCreate(to: *mut u64) -> u32;
    safe fn cudaStreamSynchronize(stream: u64) -> u32;
    safe fn cudaStreamWaitEvent(stream: u64, event: u64, flags: c_uint) -> u32;
    safe fn cudaStreamBeginCapture(stream: u64, mode: c_uint) -> u32;
    fn cudaStreamBeginCaptureToGraph(
        stream: u64,
        graph: u64,
        after: *const u64,
        edges: *const c_void,
        count: usize,
        mode: c_uint,
    ) -> u32;
    fn cudaStreamEndCapture(stream: u64, to: *mut u64) -> u32;
    fn cudaStreamIsCapturing(stream: u64, to: *mut c_int) -> u32;
    fn cudaEventCreate(to: *mut u64) -> u32;
    safe fn cudaEventRecord(event: u64, stream: u64) -> u32;
    safe fn cudaEventSynchronize(event: u64) -> u32;
    fn cudaMemsetAsync(address: u64, value: c_int, bytes: usize, stream: u64) -> u32;
    fn cudaMemcpyAsync(to: u64, from: u64, bytes: usize, kind: c_int, stream: u64) -> u32;
    fn cudaGraphCreate(to: *mut u64, flags: c_uint) -> u32;
    fn cudaGraphAddMemcpyNode1D(
        to: *mut u64,
        graph: u64,
        after: *const u64,
        count: usize,
        target: u64,
        source: u64,
        bytes: usize,
        kind: c_int,
    ) -> u32;
    fn cudaGraphAddMemsetNode(
        to: *mut u64,
        graph: u64,
        after: *const u64,
        count: usize,
        params: *const u64,
    ) -> u32;
    fn cudaGraphAddKernelNode(
        to: *mut u64,
        graph: u64,
        after: *const u64,
        count: usize,
        params: *const u64,
    ) -> u32;
    fn cudaGraphAddChildGraphNode(
        to: *mut u64,
        graph: u64,
        after: *const u64,
        count: usize,
        child: u64,
    ) -> u32;
    fn cudaGraphAddDependencies(
        graph: u64,
        from: *const u64,
        to: *const u64,
        edges: *const c_void,
        count: usize,
    ) -> u32;
    fn cudaGraphGetEdges(
        graph: u64,
        from: *mut u64,
        to: *mut u64,
        edges: *mut c_void,
        count: *mut usize,
    ) -> u32;
    fn cudaGraphConditionalHandleCreate(
        to: *mut u64,
        graph: u64,
        default: c_uint,
        flags: c_uint,
    ) -> u32;
    fn cudaGraphAddNode(
        to: *mut u64,
        graph: u64,
        after: *const u64,
        edges: *const c_void,
        count: usize,
        params: *mut u64,
    ) -> u32;
    fn cudaGraphNodeGetType(node: u64, to: *mut u32) -> u32;
    fn cudaGraphKernelNodeGetParams(node: u64, to: *mut u64) -> u32;
    fn cudaGraphExecKernelNodeSetParams(executable: u64, node: u64, params: *const u64) -> u32;
    fn cudaGraphMemsetNodeSetParams(node: u64, params: *const [u64; 5]) -> u32;
    fn cudaGraphExecMemsetNodeSetParams(executable: u64, node: u64, params: *const [u64; 5])
    -> u32;
    safe fn cudaGraphMemcpyNodeSetParams1D(
        node: u64,
        to: u64,
        from: u64,
        bytes: usize,
        kind: c_int,
    ) -> u32;
    safe fn cudaGraphExecMemcpyNodeSetParams1D(
        executable: u64,
        node: u64,
        to: u64,
        from: u64,
        bytes: usize,
        kind: c_int,
    ) -> u32;
    fn cudaGraphAddEmptyNode(to: *mut u64, graph: u64, after: *const u64, count: usize) -> u32;
    safe fn cudaGraphNodeSetEnabled(executable: u64, node: u64, enabled: c_uint) -> u32;
    fn cudaGraphNodeGetEnabled(executable: u64, node: u64, to: *mut c_uint) -> u32;
    fn cudaGraphExecUpdate(executable: u64, graph: u64, to: *mut u64) -> u32;
    fn cudaGraphClone(to: *mut u64, graph: u64) -> u32;
    fn cudaGraphNodeFindInClone(to: *mut u64, original: u64, clone: u64) -> u32;
    fn cudaGraphAddMemAllocNode(
        to: *mut u64,
        graph: u64,
        after: *const u64,
        count: usize,
        params: *mut u64,
    ) -> u32;
    fn cudaGraphAddMemFreeNode(
        to: *mut u64,
        graph: u64,
        after: *const u64,
        count: usize,
        address: u64,
    ) -> u32;
    fn cudaMallocAsync(to: *mut u64, bytes: usize, stream: u64) -> u32;
    safe fn cudaFreeAsync(address: u64, stream: u64) -> u32;
    safe fn cudaFree(address: u64) -> u32;
    fn cudaDeviceGetGraphMemAttribute(device: c_int, attribute: c_uint, to: *mut u64) -> u32;
    fn cudaStreamGetCaptureInfo(
        stream: u64,
        status: *mut c_int,
        id: *mut u64,
        graph: *mut u64,
        after: *mut *const u64,
        edges: *mut *const c_void,
        count: *mut usize,
    ) -> u32;
    fn cudaStreamUpdateCaptureDependencies(
        stream: u64,
        after: *const u64,
        edges: *const c_void,
        count: usize,
        flags: c_uint,
    ) -> u32;
    safe fn cudaGraphDestroyNode(node: u64) -> u32;
    fn cudaGraphInstantiate(to: *mut u64, graph: u64, flags: u64) -> u32;
    safe fn cudaGraphLaunch(graph: u64, stream: u64) -> u32;
    safe fn cudaGraphExecDestroy(graph: u64) -> u32;
    safe fn cudaGraphDestroy(graph: u64) -> u32;
}

/// The result that a function stores through its pointer.
fn made(make: impl FnOnce(*mut u64) -> u32) -> u64 {
    let mut handle = 0;
    assert_eq!(make(&raw mut handle), SUCCESS);
    handle
}

#[test]
fn a_graph_does_what_its_streams_were_told_each_time_it_is_launched() {
    let program = Program::new();
    let (x, y) = (program.memory(16), program.memory(16));
    // SAFETY: of the whole test: addresses of variables and of device memory.
    let (own, other) =
        unsafe { (made(|to| cudaStreamCreate(to)), made(|to| cudaStreamCreate(to))) };
    // SAFETY: as above.
    let event = unsafe { made(|to| cudaEventCreate(to)) };
    let fill = |value: i32, stream| {
        let args = [(&raw const x).cast(), (&raw const value).cast()];
        let (grid, block) = (Dim3 { x: 1, y: 1, z: 1 }, Dim3 { x: 2, y: 1, z: 1 });
        // SAFETY: the kernel has these two parameters.
        unsafe { cudaLaunchKernel(host(FILL), grid, block, args.as_ptr(), 0, stream) }
    };
    assert_eq!(fill(1, own), SUCCESS);
    assert_eq!(cudaStreamBeginCapture(0, 0), STREAM_CAPTURE_UNSUPPORTED);
    assert_eq!(cudaStreamBeginCapture(own, 0), SUCCESS);
    assert_eq!(cudaStreamBeginCapture(own, 0), ILLEGAL_STATE);
    let mut status = 0;
    // SAFETY: as above.
    assert_eq!(unsafe { cudaStreamIsCapturing(own, &raw mut status) }, SUCCESS);
    assert_eq!(status, 1);
    assert_eq!(fill(7, own), SUCCESS);
    // Another stream takes part from where it waits for this one.
    assert_eq!(
        (cudaEventRecord(event, own), cudaStreamWaitEvent(other, event, 0)),
        (SUCCESS, SUCCESS)
    );
    // SAFETY: as above.
    unsafe {
        assert_eq!(cudaMemcpyAsync(y, x, 8, DEVICE_TO_DEVICE, other), SUCCESS);
        // What is copied must not change before.
        assert_eq!(cudaEventRecord(event, other), SUCCESS);
        assert_eq!(cudaStreamWaitEvent(own, event, 0), SUCCESS);
        assert_eq!(cudaMemsetAsync(x, 0, 4, own), SUCCESS);
    }
    // SAFETY: as above.
    let graph = unsafe { made(|to| cudaStreamEndCapture(own, to)) };
    // SAFETY: as above.
    assert_eq!(unsafe { cudaStreamEndCapture(own, std::ptr::null_mut()) }, ILLEGAL_STATE);
    assert_eq!(program.read(x), [1, 1], "nothing has run yet");
    // SAFETY: as above.
    let executable = unsafe { made(|to| cudaGraphInstantiate(to, graph, 0)) };
    assert_eq!(cudaGraphDestroy(graph), SUCCESS);
    assert_eq!(cudaGraphDestroy(graph), INVALID_VALUE);
    for _ in 0..2 {
        assert_eq!(fill(3, other), SUCCESS);
        assert_eq!(cudaGraphLaunch(executable, own), SUCCESS);
        assert_eq!(cudaStreamSynchronize(own), SUCCESS);
        assert_eq!((program.read(x), program.read(y)), ([0, 7], [7, 7]));
    }
    assert_eq!(cudaGraphExecDestroy(executable), SUCCESS);
    assert_eq!(cudaGraphLaunch(executable, own), INVALID_VALUE);
}

#[test]
fn waiting_in_a_capture_spoils_it_whatever_its_mode() {
    let _program = Program::new();
    // SAFETY: of the whole test: addresses of variables.
    let (own, event) = unsafe { (made(|to| cudaStreamCreate(to)), made(|to| cudaEventCreate(to))) };
    let waits: [&dyn Fn() -> u32; 3] =
        [&|| cudaDeviceSynchronize(), &|| cudaStreamSynchronize(own), &|| {
            cudaEventSynchronize(event)
        }];
    // As an H200 answers with CUDA 13.0.
    let answers = [STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_UNSUPPORTED, CAPTURED_EVENT];
    for ((mode, wait), answer) in (0..3).zip(waits).zip(answers) {
        assert_eq!(cudaStreamBeginCapture(own, mode), SUCCESS);
        assert_eq!(cudaEventRecord(event, own), SUCCESS);
        assert_eq!(wait(), answer);
        // SAFETY: the address is not used: the work is refused.
        assert_eq!(unsafe { cudaMemsetAsync(0, 0, 0, own) }, STREAM_CAPTURE_INVALIDATED);
        let mut graph = 7;
        // SAFETY: as above.
        assert_eq!(
            unsafe { cudaStreamEndCapture(own, &raw mut graph) },
            STREAM_CAPTURE_INVALIDATED
        );
        assert_eq!(graph, 0);
        assert_eq!(cudaDeviceSynchronize(), SUCCESS, "the capture is over");
    }
}

#[test]
fn a_capture_ends_only_with_all_streams_that_take_part() {
    let program = Program::new();
    let x = program.memory(16);
    // SAFETY: of the whole test: addresses of variables and of device memory.
    let [own, other, event] = unsafe {
        [
            made(|to| cudaStreamCreate(to)),
            made(|to| cudaStreamCreate(to)),
            made(|to| cudaEventCreate(to)),
        ]
    };
    assert_eq!(cudaStreamBeginCapture(own, 0), SUCCESS);
    assert_eq!(cudaEventRecord(event, own), SUCCESS);
    assert_eq!(cudaStreamWaitEvent(other, event, 0), SUCCESS);
    let mut graph = 7;
    // SAFETY: as above.
    unsafe {
        assert_eq!(cudaMemsetAsync(x, 1, 4, other), SUCCESS);
        assert_eq!(cudaStreamEndCapture(own, &raw mut graph), STREAM_CAPTURE_UNJOINED);
        assert_eq!(graph, 0);
        // Neither captures any more.
        assert_eq!(cudaMemsetAsync(x, 0, 16, other), SUCCESS);
    }
    assert_eq!(program.read(x), [0; 4]);
}

/// The parameters of a kernel node that does `fill<<<1, threads>>>(x, value)`.
struct FillNode {
    params: [u64; 7],
    _args: Box<([*const c_void; 2], u64, i32)>,
}

impl FillNode {
    fn new(x: u64, value: i32, threads: u64) -> Self {
        let mut args = Box::new(([std::ptr::null(); 2], x, value));
        args.0 = [(&raw const args.1).cast(), (&raw const args.2).cast()];
        let list = args.0.as_ptr() as u64;
        // The function; 1, 1, 1 blocks of some threads; no shared memory; the arguments.
        let params = [host(FILL) as u64, 1 | 1 << 32, 1 | threads << 32, 1 | 1 << 32, 0, list, 0];
        Self { params, _args: args }
    }
}

#[test]
fn graphs_are_built_node_by_node() {
    let program = Program::new();
    let (x, y) = (program.memory(16), program.memory(16));
    // SAFETY: of the whole test: addresses of variables, and of structures as CUDA asks for.
    unsafe {
        let own = made(|to| cudaStreamCreate(to));
        let graph = made(|to| cudaGraphCreate(to, 0));
        let after = |nodes: &[u64]| (nodes.as_ptr(), nodes.len());
        // The copy is there first, and comes last.
        let copy = made(|to| {
            cudaGraphAddMemcpyNode1D(to, graph, std::ptr::null(), 0, y, x, 16, DEVICE_TO_DEVICE)
        });
        let words = [x, 16, 0x0101_0203 | 4 << 32, 4, 1];
        let set = made(|to| cudaGraphAddMemsetNode(to, graph, std::ptr::null(), 0, words.as_ptr()));
        let seven = FillNode::new(x, 7, 2);
        let (list, count) = after(&[set]);
        let fill = made(|to| cudaGraphAddKernelNode(to, graph, list, count, seven.params.as_ptr()));
        let edge = |from: u64, to: u64| {
            cudaGraphAddDependencies(graph, &raw const from, &raw const to, std::ptr::null(), 1)
        };
        assert_eq!(edge(fill, copy), SUCCESS);
        assert_eq!(edge(fill, copy), INVALID_VALUE, "there already");
        assert_eq!(edge(copy, set), INVALID_VALUE, "circular");
        let mut kind = 9;
        assert_eq!(cudaGraphNodeGetType(set, &raw mut kind), SUCCESS);
        assert_eq!(kind, 2);
        let (mut from, mut to, mut edges) = ([0; 4], [0; 4], 4);
        let ends = (from.as_mut_ptr(), to.as_mut_ptr());
        assert_eq!(
            cudaGraphGetEdges(graph, ends.0, ends.1, std::ptr::null_mut(), &raw mut edges),
            SUCCESS
        );
        assert_eq!((edges, from, to), (2, [fill, set, 0, 0], [copy, fill, 0, 0]));

        let executable = made(|to| cudaGraphInstantiate(to, graph, 0));
        assert_eq!(
            (cudaGraphLaunch(executable, own), cudaStreamSynchronize(own)),
            (SUCCESS, SUCCESS)
        );
        assert_eq!(program.read(y), [7, 7, 0x0101_0203, 0x0101_0203]);

        let nine = FillNode::new(x, 9, 1);
        assert_eq!(
            cudaGraphExecKernelNodeSetParams(executable, set, nine.params.as_ptr()),
            INVALID_VALUE
        );
        assert_eq!(
            cudaGraphExecKernelNodeSetParams(executable, fill, nine.params.as_ptr()),
            SUCCESS
        );
        let mut shown = [0u64; 7];
        assert_eq!(cudaGraphKernelNodeGetParams(fill, shown.as_mut_ptr()), SUCCESS);
        assert_eq!(
            *(*(shown[5] as *const *const i32).add(1)),
            7,
            "the graph itself has not changed"
        );
        assert_eq!(
            (cudaGraphLaunch(executable, own), cudaStreamSynchronize(own)),
            (SUCCESS, SUCCESS)
        );
        assert_eq!(program.read(y), [9, 0x0101_0203, 0x0101_0203, 0x0101_0203]);

        // As a part of another graph, twice.
        let outer = made(|to| cudaGraphCreate(to, 0));
        let first = made(|to| cudaGraphAddChildGraphNode(to, outer, std::ptr::null(), 0, graph));
        let (list, count) = after(&[first]);
        made(|to| cudaGraphAddChildGraphNode(to, outer, list, count, graph));
        let both = made(|to| cudaGraphInstantiate(to, outer, 0));
        assert_eq!((cudaGraphLaunch(both, own), cudaStreamSynchronize(own)), (SUCCESS, SUCCESS));
        assert_eq!(program.read(y), [7, 7, 0x0101_0203, 0x0101_0203]);

        let clone = made(|to| cudaGraphClone(to, graph));
        let copied = made(|to| cudaGraphNodeFindInClone(to, set, clone));
        assert_eq!(cudaGraphDestroyNode(copied), SUCCESS);
        let mut result = [7u64; 3];
        assert_eq!(
            cudaGraphExecUpdate(executable, clone, result.as_mut_ptr()),
            GRAPH_EXEC_UPDATE_FAILURE
        );
        assert_eq!(result[0] & 0xFFFF_FFFF, 2, "another shape");
        assert_eq!(cudaGraphExecUpdate(executable, graph, result.as_mut_ptr()), SUCCESS);
        assert_eq!(cudaGraphDestroy(outer), SUCCESS);
        assert_eq!(cudaGraphExecDestroy(both), SUCCESS);
    }
}

/// Kernels set conditions through a function of NVIDIA's library, which writes to the handle as `fill` does.
#[test]
fn nodes_get_other_parameters_in_a_graph_or_in_one_that_is_ready() {
    let program = Program::new();
    let (x, y) = (program.memory(16), program.memory(16));
    // What `cudaMemsetParams` holds for words of a value: address, pitch, value and size of an element, width, height.
    let words = |value: u64| [x, 0, value | 4 << 32, 4, 1];
    let null = std::ptr::null();
    // SAFETY: of the whole test: addresses of variables and of device memory.
    unsafe {
        let graph = made(|to| cudaGraphCreate(to, 0));
        let params = words(1);
        let set = made(|to| cudaGraphAddMemsetNode(to, graph, null, 0, (&raw const params).cast()));
        let copy = made(|to| {
            cudaGraphAddMemcpyNode1D(to, graph, &raw const set, 1, y, x, 8, DEVICE_TO_DEVICE)
        });
        let executable = made(|to| cudaGraphInstantiate(to, graph, 0));
        let run = |executable| {
            let done = (cudaGraphLaunch(executable, 0), cudaDeviceSynchronize());
            assert_eq!(done, (SUCCESS, SUCCESS));
            (program.read::<2>(x), program.read::<4>(y))
        };
        assert_eq!(cudaMemsetAsync(y, 0, 16, 0), SUCCESS);
        assert_eq!(run(executable), ([1, 1], [1, 1, 0, 0]));
        let params = words(2);
        assert_eq!(cudaGraphExecMemsetNodeSetParams(executable, set, &raw const params), SUCCESS);
        let later = y + 8;
        let (to, from, bytes, kind) = (later, x, 8, DEVICE_TO_DEVICE);
        let given = cudaGraphExecMemcpyNodeSetParams1D(executable, copy, to, from, bytes, kind);
        assert_eq!(given, SUCCESS);
        assert_eq!(run(executable), ([2, 2], [1, 1, 2, 2]));
        // The graph itself is as before, until its own nodes change.
        let again = made(|to| cudaGraphInstantiate(to, graph, 0));
        assert_eq!(run(again), ([1, 1], [1, 1, 2, 2]));
        let params = words(3);
        assert_eq!(cudaGraphMemsetNodeSetParams(set, &raw const params), SUCCESS);
        assert_eq!(cudaGraphMemcpyNodeSetParams1D(copy, to, from, 4, kind), SUCCESS);
        let third = made(|to| cudaGraphInstantiate(to, graph, 0));
        assert_eq!(run(third), ([3, 3], [1, 1, 3, 2]));
        // Nodes of another kind, and none.
        assert_eq!(cudaGraphMemsetNodeSetParams(copy, &raw const params), INVALID_VALUE);
        let wrong = cudaGraphExecMemsetNodeSetParams(executable, copy, &raw const params);
        assert_eq!(wrong, INVALID_VALUE);
        assert_eq!(cudaGraphMemcpyNodeSetParams1D(7, to, from, 4, kind), INVALID_VALUE);
    }
}

#[test]
fn a_disabled_node_does_nothing_and_the_others_keep_their_order() {
    let program = Program::new();
    let x = program.memory(16);
    let null = std::ptr::null();
    // SAFETY: of the whole test: addresses of variables and of device memory.
    unsafe {
        let graph = made(|to| cudaGraphCreate(to, 0));
        let set = |value: u64, after: *const u64, count| {
            let params = [x, 0, value | 4 << 32, 4, 1];
            made(|to| cudaGraphAddMemsetNode(to, graph, after, count, (&raw const params).cast()))
        };
        let first = set(1, null, 0);
        let second = set(2, &raw const first, 1);
        let empty = made(|to| cudaGraphAddEmptyNode(to, graph, &raw const second, 1));
        let executable = made(|to| cudaGraphInstantiate(to, graph, 0));
        let run = |executable| {
            let done = (cudaGraphLaunch(executable, 0), cudaDeviceSynchronize());
            assert_eq!(done, (SUCCESS, SUCCESS));
            program.read::<1>(x)
        };
        assert_eq!(run(executable), [2]);
        assert_eq!(cudaGraphNodeSetEnabled(executable, second, 0), SUCCESS);
        let enabled = |node| {
            let mut value = 9;
            (cudaGraphNodeGetEnabled(executable, node, &raw mut value), value)
        };
        assert_eq!([enabled(first), enabled(second)], [(SUCCESS, 1), (SUCCESS, 0)]);
        assert_eq!(run(executable), [1]);
        assert_eq!(cudaGraphNodeSetEnabled(executable, second, 1), SUCCESS);
        assert_eq!(run(executable), [2]);
        // Nodes of other kinds, nodes of no graph, and graphs that cannot be launched.
        assert_eq!(cudaGraphNodeSetEnabled(executable, empty, 0), INVALID_VALUE);
        assert_eq!(enabled(7), (INVALID_VALUE, 9));
        assert_eq!(cudaGraphNodeSetEnabled(graph, first, 0), INVALID_VALUE);
    }
}

#[test]
fn conditions_choose_graphs_at_each_launch() {
    let program = Program::new();
    let x = program.memory(16);
    // SAFETY: of the whole test: addresses of variables, and of structures as CUDA asks for.
    unsafe {
        let own = made(|to| cudaStreamCreate(to));
        let graph = made(|to| cudaGraphCreate(to, 0));
        let condition =
            |default| made(|to| cudaGraphConditionalHandleCreate(to, graph, default, 1));
        let add = |condition: u64, kind: u64, graphs: u64, after: &[u64]| {
            let mut params = [0u64; 32];
            params[0] = 13;
            params[2] = condition;
            params[3] = kind | graphs << 32;
            let (list, count) = (after.as_ptr(), after.len());
            let params = params.as_mut_ptr();
            let mut node = 0;
            let code =
                cudaGraphAddNode(&raw mut node, graph, list, std::ptr::null(), count, params);
            (code, node, *params.add(4) as *const u64)
        };
        let fills = |graph: u64, all: &[&FillNode]| {
            let mut before = Vec::new();
            for fill in all {
                let (list, count) = (before.as_ptr(), before.len());
                before = vec![made(|to| {
                    cudaGraphAddKernelNode(to, graph, list, count, fill.params.as_ptr())
                })];
            }
        };
        let (looping, branching, choosing) = (condition(1), condition(0), condition(9));
        assert_eq!(add(x, 0, 1, &[]).0, INVALID_VALUE, "no condition");
        assert_eq!(add(looping, 1, 2, &[]).0, INVALID_VALUE, "too many graphs");
        // while (looping) { x[0] = 7; looping = 0; }
        let (code, loops, bodies) = add(looping, 1, 1, &[]);
        assert_eq!(code, SUCCESS);
        let (set, end) = (FillNode::new(x, 7, 1), FillNode::new(looping, 0, 1));
        fills(*bodies, &[&set, &end]);
        // if (branching) x[1] = 1; else x[1] = 2;
        let (code, branches, bodies) = add(branching, 0, 2, &[loops]);
        assert_eq!(code, SUCCESS);
        let (yes, no) = (FillNode::new(x + 4, 1, 1), FillNode::new(x + 4, 2, 1));
        fills(*bodies, &[&yes]);
        fills(*bodies.add(1), &[&no]);
        // switch (choosing) { case 0: x[2] = 3; }
        let (code, _, bodies) = add(choosing, 2, 1, &[branches]);
        assert_eq!(code, SUCCESS);
        fills(*bodies, &[&FillNode::new(x + 8, 3, 1)]);
        let mut kind = 0;
        assert_eq!(cudaGraphNodeGetType(loops, &raw mut kind), SUCCESS);
        assert_eq!(kind, 13);
        let mut clone = 0;
        assert_eq!(cudaGraphClone(&raw mut clone, graph), NOT_SUPPORTED);
        let executable = made(|to| cudaGraphInstantiate(to, graph, 0));
        assert_eq!(cudaGraphDestroy(graph), SUCCESS);
        for _ in 0..2 {
            assert_eq!(cudaMemsetAsync(x, 0, 16, own), SUCCESS);
            assert_eq!(cudaGraphLaunch(executable, own), SUCCESS);
            assert_eq!(cudaStreamSynchronize(own), SUCCESS);
            assert_eq!(program.read(x), [7, 2, 0, 0]);
        }
        assert_eq!(cudaGraphExecDestroy(executable), SUCCESS);
    }
}

/// Launches the kernel that fills two words.
fn fill(target: u64, value: i32, stream: u64) -> u32 {
    let args = [(&raw const target).cast(), (&raw const value).cast()];
    let (grid, block) = (Dim3 { x: 1, y: 1, z: 1 }, Dim3 { x: 2, y: 1, z: 1 });
    // SAFETY: the kernel has these two parameters.
    unsafe { cudaLaunchKernel(host(FILL), grid, block, args.as_ptr(), 0, stream) }
}

#[test]
fn memory_of_a_graph_is_there_at_each_of_its_launches() {
    let program = Program::new();
    let x = program.memory(8);
    // SAFETY: of the whole test: addresses of variables, and structures of their kind.
    unsafe {
        let own = made(|to| cudaStreamCreate(to));
        let graph = made(|to| cudaGraphCreate(to, 0));
        let (mut params, nothing) = ([0u64; 15], std::ptr::null());
        let mut node = 0;
        let refused =
            cudaGraphAddMemAllocNode(&raw mut node, graph, nothing, 0, params.as_mut_ptr());
        assert_eq!(refused, INVALID_VALUE, "no bytes");
        params[13] = 8;
        let allocated =
            made(|to| cudaGraphAddMemAllocNode(to, graph, nothing, 0, params.as_mut_ptr()));
        let memory = params[14];
        assert_eq!(made(|to| cudaDeviceGetGraphMemAttribute(0, 0, to)), 8);
        assert_eq!(cudaDeviceGetGraphMemAttribute(0, 4, &raw mut node), INVALID_VALUE);
        let work = FillNode::new(memory, 7, 2);
        let filled = made(|to| {
            cudaGraphAddKernelNode(to, graph, &raw const allocated, 1, work.params.as_ptr())
        });
        let copied =
            made(|to| cudaGraphAddMemcpyNode1D(to, graph, &raw const filled, 1, x, memory, 8, 3));
        let freed = made(|to| cudaGraphAddMemFreeNode(to, graph, &raw const copied, 1, memory));
        let wrong = cudaGraphAddMemFreeNode(&raw mut node, graph, nothing, 0, x);
        assert_eq!(wrong, INVALID_VALUE, "not a graph's memory");
        let mut kinds = [0, 0];
        assert_eq!(cudaGraphNodeGetType(allocated, &raw mut kinds[0]), SUCCESS);
        assert_eq!(cudaGraphNodeGetType(freed, &raw mut kinds[1]), SUCCESS);
        assert_eq!(kinds, [10, 11]);
        assert_eq!(cudaGraphClone(&raw mut node, graph), NOT_SUPPORTED);
        let executable = made(|to| cudaGraphInstantiate(to, graph, 0));
        for _ in 0..2 {
            assert_eq!(cudaMemsetAsync(x, 0, 8, own), SUCCESS);
            assert_eq!(cudaGraphLaunch(executable, own), SUCCESS);
            assert_eq!(cudaStreamSynchronize(own), SUCCESS);
            assert_eq!(program.read(x), [7, 7]);
        }
    }
}

#[test]
fn memory_that_a_capture_allocates_belongs_to_its_graph() {
    let program = Program::new();
    let x = program.memory(8);
    // SAFETY: as above.
    unsafe {
        let own = made(|to| cudaStreamCreate(to));
        assert_eq!(cudaStreamBeginCapture(own, 0), SUCCESS);
        let [freed, kept] = [0; 2].map(|_| made(|to| cudaMallocAsync(to, 8, own)));
        for memory in [freed, kept] {
            assert_eq!(fill(memory, 5, own), SUCCESS);
        }
        assert_eq!(cudaMemcpyAsync(x, freed, 8, 3, own), SUCCESS);
        assert_eq!(cudaFreeAsync(freed, own), SUCCESS);
        let graph = made(|to| cudaStreamEndCapture(own, to));
        let executable = made(|to| cudaGraphInstantiate(to, graph, 0));
        for _ in 0..2 {
            assert_eq!(cudaGraphLaunch(executable, own), SUCCESS);
            assert_eq!(cudaStreamSynchronize(own), SUCCESS);
            assert_eq!((program.read(x), program.read(kept)), ([5, 5], [5, 5]));
            // What the graph does not free, the program does before it launches it again.
            assert_eq!(cudaFree(kept), SUCCESS);
        }
    }
}

#[test]
fn a_capture_goes_on_behind_the_nodes_that_it_is_told() {
    let program = Program::new();
    let x = program.memory(8);
    // SAFETY: as above.
    unsafe {
        let own = made(|to| cudaStreamCreate(to));
        let none = std::ptr::null();
        let go_on = |after: &[u64], flags| {
            let nodes = after.as_ptr();
            cudaStreamUpdateCaptureDependencies(own, nodes, none, after.len(), flags)
        };
        assert_eq!(go_on(&[], 1), ILLEGAL_STATE);
        assert_eq!(cudaStreamBeginCapture(own, 0), SUCCESS);
        assert_eq!(fill(x, 1, own), SUCCESS);
        let (mut status, mut graph, mut after, mut count) = (0, 0, std::ptr::null(), 0);
        let nobody = std::ptr::null_mut();
        let told = cudaStreamGetCaptureInfo(
            own,
            &raw mut status,
            nobody,
            &raw mut graph,
            &raw mut after,
            nobody.cast(),
            &raw mut count,
        );
        assert_eq!((told, count), (SUCCESS, 1));
        let work = FillNode::new(x, 2, 1);
        let added =
            made(|to| cudaGraphAddKernelNode(to, graph, after, count, work.params.as_ptr()));
        assert_eq!(go_on(&[x], 1), INVALID_VALUE, "no node");
        assert_eq!(go_on(&[added], 2), INVALID_VALUE, "no such flag");
        assert_eq!(go_on(&[added], 1), SUCCESS);
        assert_eq!(fill(x + 4, 3, own), SUCCESS);
        assert_eq!(cudaStreamEndCapture(own, &raw mut graph), SUCCESS);
        let mut edges = 0;
        let pairs = std::ptr::null_mut();
        assert_eq!(cudaGraphGetEdges(graph, pairs, pairs, nobody.cast(), &raw mut edges), SUCCESS);
        assert_eq!(edges, 2, "one behind the other");
        // Of a graph that it has, a program need not be told again.
        let behind = [added];
        let begun = cudaStreamBeginCaptureToGraph(own, graph, behind.as_ptr(), none, 1, 0);
        assert_eq!(begun, SUCCESS);
        assert_eq!(fill(x, 4, own), SUCCESS);
        assert_eq!(cudaStreamEndCapture(own, std::ptr::null_mut()), SUCCESS);
        assert_eq!(cudaGraphGetEdges(graph, pairs, pairs, nobody.cast(), &raw mut edges), SUCCESS);
        assert_eq!(edges, 3);
        assert_eq!(cudaStreamBeginCapture(own, 0), SUCCESS);
        assert_eq!(cudaStreamEndCapture(own, std::ptr::null_mut()), INVALID_VALUE);
    }
}
