//! Streams and events. Work is done when it is issued, so nothing ever waits; only order and errors are kept.

use super::c::{HandleValue, put};
use super::table::table;
use crate::client::{Client, Handle, HostFunction, Moment, Node, complain, enter};
use crate::error::{CudaError, SUCCESS};
use std::ffi::{c_int, c_uint, c_void};

table![
    cudaStreamCreate,
    cudaStreamCreateWithFlags,
    cudaStreamCreateWithPriority,
    cudaStreamDestroy,
    cudaStreamSynchronize,
    cudaStreamQuery,
    cudaStreamWaitEvent,
    cudaStreamGetFlags,
    cudaStreamGetPriority,
    cudaStreamAddCallback,
    cudaLaunchHostFunc,
    cudaEventCreate,
    cudaEventCreateWithFlags,
    cudaEventRecord,
    cudaEventRecordWithFlags,
    cudaEventQuery,
    cudaEventSynchronize,
    cudaEventElapsedTime,
    cudaEventDestroy,
];

/// The stream handles that CUDA defines itself: the default stream, and its two kinds by name.
const OWN_STREAMS: HandleValue = 2;

pub(super) fn stream(client: &Client, handle: HandleValue) -> Result<(u32, i32), CudaError> {
    match client.handles.get(&handle) {
        _ if handle <= OWN_STREAMS => Ok((0, 0)),
        Some(&Handle::Stream { flags, priority }) => Ok((flags, priority)),
        _ => Err(CudaError::INVALID_RESOURCE_HANDLE),
    }
}

fn event(client: &Client, handle: HandleValue) -> Result<(Option<Moment>, bool), CudaError> {
    match client.handles.get(&handle) {
        Some(&Handle::Event { recorded, timed }) => Ok((recorded, timed)),
        _ => Err(CudaError::INVALID_RESOURCE_HANDLE),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamCreate(to: *mut HandleValue) -> u32 {
    // SAFETY: the same contract.
    unsafe { cudaStreamCreateWithPriority(to, 0, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamCreateWithFlags(to: *mut HandleValue, flags: c_uint) -> u32 {
    // SAFETY: the same contract.
    unsafe { cudaStreamCreateWithPriority(to, flags, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamCreateWithPriority(
    to: *mut HandleValue,
    flags: c_uint,
    priority: c_int,
) -> u32 {
    enter(|client| {
        if flags > 1 || to.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        let handle = client.new_handle(Handle::Stream { flags, priority });
        // SAFETY: not null; the program says it is a stream.
        unsafe { put(to, handle) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamDestroy(handle: HandleValue) -> u32 {
    enter(|client| {
        stream(client, handle)?;
        client.handles.remove(&handle).map(|_| ()).ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamSynchronize(handle: HandleValue) -> u32 {
    enter(|client| {
        stream(client, handle)?;
        client.graphs.check_stream(handle)?;
        client.synchronise()
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamQuery(handle: HandleValue) -> u32 {
    cudaStreamSynchronize(handle)
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamWaitEvent(
    handle: HandleValue,
    awaited: HandleValue,
    _flags: c_uint,
) -> u32 {
    enter(|client| {
        stream(client, handle)?;
        event(client, awaited)?;
        client.graphs.wait(handle, awaited);
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamGetFlags(handle: HandleValue, to: *mut c_uint) -> u32 {
    enter(|client| {
        let (flags, _) = stream(client, handle)?;
        // SAFETY: null is refused; else the program says it is an unsigned int.
        unsafe { put(to, flags) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamGetPriority(handle: HandleValue, to: *mut c_int) -> u32 {
    enter(|client| {
        let (_, priority) = stream(client, handle)?;
        // SAFETY: null is refused; else the program says it is an int.
        unsafe { put(to, priority) }
    })
}

/// The C type `cudaStreamCallback_t`.
type Callback = extern "C" fn(stream: HandleValue, status: u32, data: *mut c_void);

#[unsafe(no_mangle)]
extern "C" fn cudaStreamAddCallback(
    handle: HandleValue,
    callback: Option<Callback>,
    data: *mut c_void,
    _flags: c_uint,
) -> u32 {
    let code = cudaStreamSynchronize(handle);
    let Some(callback) = callback else { return enter(|_| Err(CudaError::INVALID_VALUE)) };
    // All earlier work is done.
    callback(handle, code, data);
    code
}

#[unsafe(no_mangle)]
extern "C" fn cudaLaunchHostFunc(
    handle: HandleValue,
    function: Option<HostFunction>,
    data: *mut c_void,
) -> u32 {
    let Some(function) = function else { return enter(|_| Err(CudaError::INVALID_VALUE)) };
    let mut captured = false;
    let code = enter(|client| {
        stream(client, handle)?;
        captured = client.graphs.capture(handle, [Node::Host(function, data as usize)])?;
        Ok(())
    });
    if code == SUCCESS && !captured {
        function(data);
    }
    code
}

const DISABLE_TIMING: c_uint = 2;

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaEventCreate(to: *mut HandleValue) -> u32 {
    // SAFETY: the same contract.
    unsafe { cudaEventCreateWithFlags(to, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaEventCreateWithFlags(to: *mut HandleValue, flags: c_uint) -> u32 {
    enter(|client| {
        if flags > 7 || to.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        let timed = flags & DISABLE_TIMING == 0;
        let handle = client.new_handle(Handle::Event { recorded: None, timed });
        // SAFETY: not null; the program says it is an event.
        unsafe { put(to, handle) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventRecord(handle: HandleValue, of: HandleValue) -> u32 {
    cudaEventRecordWithFlags(handle, of, 0)
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventRecordWithFlags(
    handle: HandleValue,
    of: HandleValue,
    _flags: c_uint,
) -> u32 {
    enter(|client| {
        stream(client, of)?;
        let (_, timed) = event(client, handle)?;
        let recorded = Some(Moment { clock: client.clock, copied: client.copied });
        client.handles.insert(handle, Handle::Event { recorded, timed });
        client.graphs.record(handle, of);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventQuery(handle: HandleValue) -> u32 {
    cudaEventSynchronize(handle)
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventSynchronize(handle: HandleValue) -> u32 {
    enter(|client| {
        event(client, handle)?;
        client.graphs.check_event(handle)?;
        client.synchronise()
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaEventElapsedTime(
    to: *mut f32,
    from: HandleValue,
    until: HandleValue,
) -> u32 {
    enter(|client| {
        let (first, second) = (event(client, from)?, event(client, until)?);
        let ((Some(start), true), (Some(end), true)) = (first, second) else {
            return Err(CudaError::INVALID_RESOURCE_HANDLE);
        };
        let simulated = !client.known_properties()?.real_time;
        if simulated && !client.time_noted {
            client.time_noted = true;
            complain("event times are simulated: they say nothing about a real GPU");
        }
        let at = |moment: Moment| {
            moment.clock as f64 + if simulated { moment.copied as f64 } else { 0.0 }
        };
        let milliseconds = (at(end) - at(start)) / 1e6;
        // SAFETY: null is refused; else the program says it is a float.
        unsafe { put(to, milliseconds as f32) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventDestroy(handle: HandleValue) -> u32 {
    enter(|client| {
        event(client, handle)?;
        client.handles.remove(&handle);
        Ok(())
    })
}
