//! Streams and events. Work is done when it is issued, so nothing ever waits; the device is told of the order that the program
//! asks for.

use super::c::{HandleValue, put};
use super::table::table;
use crate::client::{
    Client, Handle, HostFunction, Moment, Work, complain, enter, run_host_function,
};
use crate::device::{Awaited, Due, OrderStep, StreamKind};
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
    cudaStreamGetId,
    cudaStreamGetDevice,
    cudaStreamGetAttribute,
    cudaStreamCopyAttributes,
    cudaStreamSetAttribute,
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

/// The stream that a handle means.
pub(super) fn meant(client: &mut Client, handle: HandleValue) -> Result<u64, CudaError> {
    stream(client, handle)?;
    Ok(client.stream(handle))
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
pub(super) unsafe extern "C" fn cudaStreamCreateWithFlags(
    to: *mut HandleValue,
    flags: c_uint,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { cudaStreamCreateWithPriority(to, flags, 0) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaStreamCreateWithPriority(
    to: *mut HandleValue,
    flags: c_uint,
    priority: c_int,
) -> u32 {
    enter(|client| {
        if flags > 1 || to.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        let handle = client.new_handle(Handle::Stream { flags, priority });
        let kind = if flags == 0 { StreamKind::Blocking } else { StreamKind::NonBlocking };
        client.note(OrderStep::Create { stream: handle, kind });
        // SAFETY: not null; the program says it is a stream.
        unsafe { put(to, handle) }
    })
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaStreamDestroy(handle: HandleValue) -> u32 {
    enter(|client| {
        stream(client, handle)?;
        client.handles.remove(&handle).ok_or(CudaError::INVALID_RESOURCE_HANDLE)?;
        client.note(OrderStep::Destroy { handle });
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaStreamSynchronize(handle: HandleValue) -> u32 {
    enter(|client| {
        let stream = meant(client, handle)?;
        client.graphs.check_stream(stream)?;
        client.synchronise(Awaited::Stream(stream))
    })
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaStreamQuery(handle: HandleValue) -> u32 {
    cudaStreamSynchronize(handle)
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaStreamWaitEvent(
    handle: HandleValue,
    awaited: HandleValue,
    _flags: c_uint,
) -> u32 {
    enter(|client| {
        let stream = meant(client, handle)?;
        event(client, awaited)?;
        client.wait_for_event(stream, awaited);
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

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamGetId(handle: HandleValue, to: *mut u64) -> u32 {
    enter(|client| {
        let stream = meant(client, handle)?;
        // SAFETY: null is refused; else the program says it is a number.
        unsafe { put(to, stream) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamGetDevice(handle: HandleValue, to: *mut c_int) -> u32 {
    enter(|client| {
        stream(client, handle)?;
        // SAFETY: null is refused; else the program says it is an int.
        unsafe { put(to, 0) }
    })
}

/// The C type `cudaStreamAttrValue`, whatever it holds.
type AttributeValue = [u64; 8];

/// Attributes of a stream change no result; each is kept.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamSetAttribute(
    handle: HandleValue,
    attribute: c_uint,
    value: *const AttributeValue,
) -> u32 {
    enter(|client| {
        let stream = meant(client, handle)?;
        if value.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: not null; the program says it is a value.
        client.stream_attributes.insert((stream, attribute), unsafe { *value });
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaStreamGetAttribute(
    handle: HandleValue,
    attribute: c_uint,
    to: *mut AttributeValue,
) -> u32 {
    enter(|client| {
        let stream = meant(client, handle)?;
        let value = client.stream_attributes.get(&(stream, attribute)).copied();
        // SAFETY: null is refused; else the program says it is a value.
        unsafe { put(to, value.unwrap_or_default()) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamCopyAttributes(to: HandleValue, from: HandleValue) -> u32 {
    enter(|client| {
        let (to, from) = (meant(client, to)?, meant(client, from)?);
        let all = client.stream_attributes.range((from, 0)..=(from, c_uint::MAX));
        let copies: Vec<_> = all.map(|(&(_, which), &value)| ((to, which), value)).collect();
        client.stream_attributes.extend(copies);
        Ok(())
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
    run_host_function(|| callback(handle, code, data));
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
        let stream = meant(client, handle)?;
        captured = client.capture(stream, Work::Host(function, data as usize))?;
        if captured { Ok(()) } else { client.catch_up(Due::Stream(stream)) }
    });
    if code == SUCCESS && !captured {
        run_host_function(|| function(data));
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
pub(super) unsafe extern "C" fn cudaEventCreateWithFlags(
    to: *mut HandleValue,
    flags: c_uint,
) -> u32 {
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
pub(super) extern "C" fn cudaEventRecord(handle: HandleValue, of: HandleValue) -> u32 {
    cudaEventRecordWithFlags(handle, of, 0)
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventRecordWithFlags(
    handle: HandleValue,
    of: HandleValue,
    _flags: c_uint,
) -> u32 {
    enter(|client| {
        let stream = meant(client, of)?;
        let (_, timed) = event(client, handle)?;
        let recorded = Some(client.now());
        client.handles.insert(handle, Handle::Event { recorded, timed });
        client.take_time(handle, stream)?;
        client.record_event(handle, stream);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaEventQuery(handle: HandleValue) -> u32 {
    cudaEventSynchronize(handle)
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaEventSynchronize(handle: HandleValue) -> u32 {
    enter(|client| {
        event(client, handle)?;
        client.graphs.check_event(handle)?;
        client.synchronise(Awaited::Event(handle))
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaEventElapsedTime(
    to: *mut f32,
    from: HandleValue,
    until: HandleValue,
) -> u32 {
    enter(|client| {
        if to.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        let (first, second) = (event(client, from)?, event(client, until)?);
        let ((Some(_), true), (Some(_), true)) = (first, second) else {
            return Err(CudaError::INVALID_RESOURCE_HANDLE);
        };
        // Success means that both have happened.
        client.note(OrderStep::Synchronise(Awaited::Event(from)));
        client.note(OrderStep::Synchronise(Awaited::Event(until)));
        client.catch_up(Due::Host)?;
        let simulated = !client.known_properties()?.real_time;
        if simulated && !client.time_noted {
            client.time_noted = true;
            complain("event times are simulated: they say nothing about a real GPU");
        }
        let at = |moment: Moment| {
            moment.clock as f64 + if simulated { moment.copied as f64 } else { 0.0 }
        };
        let time_of = |handle| event(client, handle).map(|(recorded, _)| recorded.map_or(0.0, at));
        let milliseconds = (time_of(until)? - time_of(from)?) / 1e6;
        // SAFETY: it is not null, and the program says it is a float.
        unsafe { put(to, milliseconds as f32) }
    })
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaEventDestroy(handle: HandleValue) -> u32 {
    enter(|client| {
        event(client, handle)?;
        client.handles.remove(&handle);
        client.note(OrderStep::Destroy { handle });
        Ok(())
    })
}
