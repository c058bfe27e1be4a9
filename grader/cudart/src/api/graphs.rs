//! CUDA graphs: capture from streams, and launches.

use super::c::{HandleValue, put, values};
use super::streams::meant;
use super::table::table;
use crate::client::{Client, Work, enter, host_function, run_host_function};
use crate::device::Answer;
use crate::error::{CudaError, SUCCESS};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::{c_int, c_uint, c_void};

table![
    cudaStreamBeginCapture,
    cudaStreamBeginCaptureToGraph,
    cudaStreamEndCapture,
    cudaStreamIsCapturing,
    cudaStreamGetCaptureInfo,
    cudaStreamUpdateCaptureDependencies,
    cudaThreadExchangeStreamCaptureMode,
    cudaGraphInstantiate,
    cudaGraphInstantiateWithFlags,
    cudaGraphExecUpdate,
    cudaGraphUpload,
    cudaGraphLaunch,
    cudaGraphExecDestroy,
    cudaGraphConditionalHandleCreate,
];

/// The modes of a capture, which say what other threads may call meanwhile: all of it is permitted here.
const MODES: std::ops::RangeInclusive<c_uint> = 0..=2;

fn begin(
    client: &mut Client,
    handle: HandleValue,
    mode: c_uint,
    into: Option<(u64, BTreeSet<u64>)>,
) -> Answer<()> {
    let stream = meant(client, handle)?;
    match stream {
        // The default stream of old orders itself after all others, which a graph cannot.
        0 => Err(CudaError::STREAM_CAPTURE_UNSUPPORTED),
        _ if MODES.contains(&mode) => client.begin_capture(stream, into),
        _ => Err(CudaError::INVALID_VALUE),
    }
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamBeginCapture(handle: HandleValue, mode: c_uint) -> u32 {
    enter(|client| begin(client, handle, mode, None))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamBeginCaptureToGraph(
    handle: HandleValue,
    graph: HandleValue,
    after: *const u64,
    _edges: *const c_void,
    count: usize,
    mode: c_uint,
) -> u32 {
    // SAFETY: the program says that so many nodes are there.
    let after = unsafe { values(after, count) };
    enter(|client| begin(client, handle, mode, Some((graph, after.into_iter().collect()))))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamEndCapture(handle: HandleValue, to: *mut HandleValue) -> u32 {
    enter(|client| {
        let stream = meant(client, handle)?;
        let has_handle = client.graphs.captures_into_graph(stream);
        let graph = client.end_capture(stream);
        if to.is_null() && has_handle {
            return graph.map(|_| ());
        }
        // SAFETY: null is refused; else the program says it is a graph.
        let stored = unsafe { put(to, graph.unwrap_or(0)) };
        graph.and(stored)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamIsCapturing(handle: HandleValue, to: *mut c_int) -> u32 {
    enter(|client| {
        let stream = meant(client, handle)?;
        let status = c_int::from(client.graphs.is_capturing(stream));
        // SAFETY: null is refused; else the program says it is a status.
        unsafe { put(to, status) }
    })
}

/// What of a capture a program asks for: each is null, or where it is to be stored.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamGetCaptureInfo(
    handle: HandleValue,
    status: *mut c_int,
    id: *mut u64,
    graph: *mut u64,
    after: *mut *const u64,
    edges: *mut *const c_void,
    count: *mut usize,
) -> u32 {
    enter(|client| {
        let stream = meant(client, handle)?;
        let captured = client.graphs.capture_of(stream);
        let captured = captured.map(|(graph, last)| (graph, last.iter().copied().collect()));
        // SAFETY: the program says what they point to; null is not asked for. The first one must be there.
        unsafe {
            put(status, c_int::from(captured.is_some()))?;
            let Some((number, nodes)): Option<(u64, Vec<u64>)> = captured else { return Ok(()) };
            let length = nodes.len();
            // The number of the graph is that of the capture too.
            put(id, number).ok();
            put(graph, number).ok();
            put(after, client.graphs.tell(nodes)).ok();
            put(edges, std::ptr::null()).ok();
            put(count, length).ok();
        }
        Ok(())
    })
}

/// `cudaStreamSetCaptureDependencies`; 0 adds to them.
const SET_DEPENDENCIES: c_uint = 1;

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamUpdateCaptureDependencies(
    handle: HandleValue,
    after: *const u64,
    _edges: *const c_void,
    count: usize,
    flags: c_uint,
) -> u32 {
    enter(|client| {
        let stream = meant(client, handle)?;
        if flags > SET_DEPENDENCIES || after.is_null() && count > 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: the program says that so many nodes are there.
        let after = unsafe { values(after, count) };
        client.continue_capture(stream, after.into_iter().collect(), flags == SET_DEPENDENCIES)
    })
}

thread_local! {
    static MODE: Cell<c_uint> = const { Cell::new(0) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaThreadExchangeStreamCaptureMode(mode: *mut c_uint) -> u32 {
    enter(|_| {
        if mode.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: not null; the program says it is a mode.
        let new = unsafe { *mode };
        if !MODES.contains(&new) {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: as above.
        unsafe { put(mode, MODE.replace(new)) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphInstantiate(
    to: *mut HandleValue,
    graph: HandleValue,
    _flags: u64,
) -> u32 {
    enter(|client| {
        let executable = client.instantiate(graph)?;
        // SAFETY: null is refused; else the program says it is an executable graph.
        unsafe { put(to, executable) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphInstantiateWithFlags(
    to: *mut HandleValue,
    graph: HandleValue,
    flags: u64,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { cudaGraphInstantiate(to, graph, flags) }
}

/// The C type `cudaGraphExecUpdateResultInfo`.
#[repr(C)]
struct UpdateResult {
    result: c_uint,
    node: u64,
    from: u64,
}

/// `cudaGraphExecUpdateErrorTopologyChanged`.
const TOPOLOGY_CHANGED: c_uint = 2;

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphExecUpdate(
    executable: HandleValue,
    graph: HandleValue,
    to: *mut UpdateResult,
) -> u32 {
    enter(|client| {
        let fits = client.update(executable, graph)?;
        let result = if fits { 0 } else { TOPOLOGY_CHANGED };
        // SAFETY: null is refused; else the program says it is such a structure.
        unsafe { put(to, UpdateResult { result, node: 0, from: 0 })? };
        if fits { Ok(()) } else { Err(CudaError::GRAPH_EXEC_UPDATE_FAILURE) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaGraphUpload(graph: HandleValue, handle: HandleValue) -> u32 {
    enter(|client| {
        meant(client, handle)?;
        client.graph_of_executable(graph).map(|_| ())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaGraphLaunch(graph: HandleValue, handle: HandleValue) -> u32 {
    let mut captured = false;
    let mut stream = handle;
    let code = enter(|client| {
        stream = meant(client, handle)?;
        let part = client.graph_of_executable(graph)?;
        // In a capture it becomes a part of another graph.
        captured = client.capture(stream, Work::Child(part))?;
        if captured { Ok(()) } else { client.set_conditions(graph, stream) }
    });
    if code != SUCCESS || captured {
        return code;
    }
    run(graph, stream)
}

/// Runs a graph in a stream, step by step. The host's functions are called without the context.
fn run(graph: HandleValue, stream: u64) -> u32 {
    let mut steps = Vec::new();
    let code = enter(|client| {
        steps = client.begin_launch(graph, stream)?;
        Ok(())
    });
    if code != SUCCESS {
        return code;
    }
    for step in &steps {
        if let Some((function, data)) = host_function(step) {
            run_host_function(|| function(data as *mut c_void));
        }
        let mut own = stream;
        let code = enter(|client| {
            own = client.begin_step(step, stream)?;
            Ok(())
        });
        let code = if code == SUCCESS { run_chosen(&step.work, own) } else { code };
        if code != SUCCESS {
            return code;
        }
        enter(|client| {
            client.end_step(step, own);
            Ok(())
        });
    }
    enter(|client| {
        client.end_launch(graph, stream);
        Ok(())
    })
}

/// Runs the graphs that a condition chooses, if the work is that.
fn run_chosen(work: &Work, stream: u64) -> u32 {
    let Work::Conditional(conditional) = work else { return SUCCESS };
    loop {
        let mut chosen = None;
        let code = enter(|client| {
            // A kernel that failed sets no condition any more.
            if !client.has_failed() {
                chosen = client.choose(conditional, stream)?;
            }
            Ok(())
        });
        let Some((body, again)) = chosen else { return code };
        let code = run(body, stream);
        if code != SUCCESS || !again {
            return code;
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn cudaGraphExecDestroy(graph: HandleValue) -> u32 {
    enter(|client| client.destroy_executable(graph))
}

/// `cudaGraphCondAssignDefault`.
const ASSIGN_DEFAULT: c_uint = 1;

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphConditionalHandleCreate(
    to: *mut u64,
    graph: HandleValue,
    default: c_uint,
    flags: c_uint,
) -> u32 {
    enter(|client| {
        if to.is_null() || flags > ASSIGN_DEFAULT {
            return Err(CudaError::INVALID_VALUE);
        }
        let condition =
            client.new_condition(graph, (flags == ASSIGN_DEFAULT).then_some(default))?;
        // SAFETY: not null; the program says it is a handle.
        unsafe { put(to, condition) }
    })
}
