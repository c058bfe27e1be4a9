//! The functions that programs call which were compiled with `--default-stream per-thread`: there the stream 0 means the
//! default stream of the thread (CUDA Programming Guide, "Default Stream").

use super::c::Dim3;
use super::table::table;
use crate::client::PER_THREAD;
use std::ffi::{c_int, c_uint, c_void};

/// Each entry: the function, and the one that does its work, with its parameters before and behind the stream.
macro_rules! per_thread {
    ($($name:ident: $of:ident($($before:ident: $before_type:ty),*; $stream:ident; $($after:ident: $after_type:ty),*);)*) => {
        table![$($name),*];

        mod of {
            use super::*;
            unsafe extern "C" {
                $(pub fn $of($($before: $before_type,)* $stream: u64, $($after: $after_type),*) -> u32;)*
            }
        }

        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            $($before: $before_type,)* $stream: u64, $($after: $after_type),*
        ) -> u32 {
            let $stream = if $stream == 0 { PER_THREAD } else { $stream };
            // SAFETY: the same contract; only the stream differs.
            unsafe { of::$of($($before,)* $stream, $($after),*) }
        })*
    };
}

per_thread! {
    cudaLaunchKernel_ptsz: cudaLaunchKernel(host: *const c_void, grid: Dim3, block: Dim3, args: *const *const c_void, shared: usize; stream; );
    __cudaLaunchKernel_ptsz: __cudaLaunchKernel(host: *const c_void, grid: Dim3, block: Dim3, args: *const *const c_void, shared: usize; stream; );
    cudaLaunchCooperativeKernel_ptsz: cudaLaunchCooperativeKernel(host: *const c_void, grid: Dim3, block: Dim3, args: *const *const c_void, shared: usize; stream; );
    cudaMemcpyAsync_ptsz: cudaMemcpyAsync(to: u64, from: u64, bytes: usize, kind: c_int; stream; );
    cudaMemcpy2DAsync_ptsz: cudaMemcpy2DAsync(to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, kind: c_int; stream; );
    cudaMemcpyToSymbolAsync_ptsz: cudaMemcpyToSymbolAsync(symbol: *const c_void, from: u64, bytes: usize, offset: usize, kind: c_int; stream; );
    cudaMemcpyFromSymbolAsync_ptsz: cudaMemcpyFromSymbolAsync(to: u64, symbol: *const c_void, bytes: usize, offset: usize, kind: c_int; stream; );
    cudaMemsetAsync_ptsz: cudaMemsetAsync(address: u64, value: c_int, bytes: usize; stream; );
    cudaMemset2DAsync_ptsz: cudaMemset2DAsync(address: u64, pitch: usize, value: c_int, width: usize, height: usize; stream; );
    cudaMallocAsync_ptsz: cudaMallocAsync(to: *mut u64, bytes: usize; stream; );
    cudaFreeAsync_ptsz: cudaFreeAsync(address: u64; stream; );
    cudaMallocFromPoolAsync_ptsz: cudaMallocFromPoolAsync(to: *mut u64, bytes: usize, pool: u64; stream; );
    cudaStreamSynchronize_ptsz: cudaStreamSynchronize(; stream; );
    cudaStreamQuery_ptsz: cudaStreamQuery(; stream; );
    cudaStreamWaitEvent_ptsz: cudaStreamWaitEvent(; stream; event: u64, flags: c_uint);
    cudaStreamGetFlags_ptsz: cudaStreamGetFlags(; stream; to: *mut c_uint);
    cudaStreamGetPriority_ptsz: cudaStreamGetPriority(; stream; to: *mut c_int);
    cudaStreamGetId_ptsz: cudaStreamGetId(; stream; to: *mut u64);
    cudaStreamGetDevice_ptsz: cudaStreamGetDevice(; stream; to: *mut c_int);
    cudaStreamAddCallback_ptsz: cudaStreamAddCallback(; stream; callback: *const c_void, data: *const c_void, flags: c_uint);
    cudaLaunchHostFunc_ptsz: cudaLaunchHostFunc(; stream; function: *const c_void, data: *const c_void);
    cudaEventRecord_ptsz: cudaEventRecord(event: u64; stream; );
    cudaEventRecordWithFlags_ptsz: cudaEventRecordWithFlags(event: u64; stream; flags: c_uint);
    cudaStreamBeginCapture_ptsz: cudaStreamBeginCapture(; stream; mode: c_uint);
    cudaStreamBeginCaptureToGraph_ptsz: cudaStreamBeginCaptureToGraph(; stream; graph: u64, after: *const u64, edges: *const c_void, count: usize, mode: c_uint);
    cudaStreamEndCapture_ptsz: cudaStreamEndCapture(; stream; to: *mut u64);
    cudaStreamIsCapturing_ptsz: cudaStreamIsCapturing(; stream; to: *mut c_int);
    cudaStreamGetCaptureInfo_ptsz: cudaStreamGetCaptureInfo(; stream; status: *mut c_int, id: *mut u64, graph: *mut u64, after: *mut *const u64, edges: *mut *const c_void, count: *mut usize);
    cudaStreamUpdateCaptureDependencies_ptsz: cudaStreamUpdateCaptureDependencies(; stream; after: *const u64, edges: *const c_void, count: usize, flags: c_uint);
    cudaGraphUpload_ptsz: cudaGraphUpload(graph: u64; stream; );
    cudaGraphLaunch_ptsz: cudaGraphLaunch(graph: u64; stream; );
}
