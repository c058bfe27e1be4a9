//! CUDA graphs by stream capture.

use super::c::{HandleValue, put};
use super::streams::stream;
use super::table::table;
use crate::client::{Node, enter};
use crate::error::{CudaError, SUCCESS};
use std::ffi::{c_int, c_uint, c_void};

table![
    cudaStreamBeginCapture,
    cudaStreamEndCapture,
    cudaStreamIsCapturing,
    cudaGraphInstantiate,
    cudaGraphInstantiateWithFlags,
    cudaGraphUpload,
    cudaGraphLaunch,
    cudaGraphExecDestroy,
    cudaGraphDestroy,
];

#[unsafe(no_mangle)]
extern "C" fn cudaStreamBeginCapture(handle: HandleValue, mode: c_uint) -> u32 {
    enter(|client| {
        stream(client, handle)?;
        match (handle, mode) {
            // The default stream of old orders itself after all others, which a graph cannot.
            (0 | 1, _) => Err(CudaError::STREAM_CAPTURE_UNSUPPORTED),
            (_, 0..=2) => client.begin_capture(handle),
            _ => Err(CudaError::INVALID_VALUE),
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamEndCapture(handle: HandleValue, to: *mut HandleValue) -> u32 {
    enter(|client| {
        stream(client, handle)?;
        let graph = client.end_capture(handle);
        // SAFETY: null is refused; else the program says it is a graph.
        let stored = unsafe { put(to, graph.unwrap_or(0)) };
        graph.and(stored)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamIsCapturing(handle: HandleValue, to: *mut c_int) -> u32 {
    enter(|client| {
        stream(client, handle)?;
        let status = c_int::from(client.graphs.is_capturing(handle));
        // SAFETY: null is refused; else the program says it is a status.
        unsafe { put(to, status) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphInstantiate(
    to: *mut HandleValue,
    graph: HandleValue,
    _flags: u64,
) -> u32 {
    enter(|client| {
        let nodes = client.graph(graph)?;
        let executable = client.new_graph(nodes);
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

#[unsafe(no_mangle)]
extern "C" fn cudaGraphUpload(graph: HandleValue, handle: HandleValue) -> u32 {
    enter(|client| {
        stream(client, handle)?;
        client.graph(graph).map(|_| ())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaGraphLaunch(graph: HandleValue, handle: HandleValue) -> u32 {
    let mut nodes = Vec::new();
    let code = enter(|client| {
        stream(client, handle)?;
        nodes = client.graph(graph)?;
        if client.graphs.capture(handle, nodes.iter().cloned())? {
            // A part of another graph.
            nodes.clear();
        }
        Ok(())
    });
    if code != SUCCESS {
        return code;
    }
    for node in nodes {
        match node {
            Node::Device(work) => {
                let code = enter(|client| work(client));
                if code != SUCCESS {
                    return code;
                }
            }
            Node::Host(function, data) => function(data as *mut c_void),
        }
    }
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cudaGraphExecDestroy(graph: HandleValue) -> u32 {
    cudaGraphDestroy(graph)
}

#[unsafe(no_mangle)]
extern "C" fn cudaGraphDestroy(graph: HandleValue) -> u32 {
    enter(|client| client.destroy_graph(graph))
}
