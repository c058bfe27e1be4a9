// One access pattern for each kernel: the counters of the virtual machine are tested on them, and compared with Nsight
// Compute. Each runs as one block of 32 threads, so the numbers are those of one warp. Buffers have 4096 floats.
#include <cuda_fp16.h>

#define PATTERN(name) extern "C" __global__ void name(const float* in, float* out)

PATTERN(stride_1) { out[threadIdx.x] = in[threadIdx.x]; }
PATTERN(stride_2) { out[threadIdx.x] = in[2 * threadIdx.x]; }
PATTERN(stride_32) { out[threadIdx.x] = in[32 * threadIdx.x]; }
PATTERN(misaligned) { out[threadIdx.x] = in[threadIdx.x + 1]; }
PATTERN(reversed) { out[threadIdx.x] = in[31 - threadIdx.x]; }
PATTERN(broadcast) { out[threadIdx.x] = in[threadIdx.x / 32 + 64]; }
PATTERN(store_stride_8) { out[8 * threadIdx.x] = in[threadIdx.x]; }
PATTERN(load_float2) {
    float2 v = reinterpret_cast<const float2*>(in)[threadIdx.x];
    out[threadIdx.x] = v.x + v.y;
}
PATTERN(load_float4) {
    float4 v = reinterpret_cast<const float4*>(in)[threadIdx.x];
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
PATTERN(load_half) {
    out[threadIdx.x] = __half2float(reinterpret_cast<const __half*>(in)[threadIdx.x]);
}
struct Triple { float x, y, z; };
PATTERN(struct_12) {
    Triple v = reinterpret_cast<const Triple*>(in)[threadIdx.x];
    out[threadIdx.x] = v.x + v.y + v.z;
}
PATTERN(gather) { out[threadIdx.x] = in[(threadIdx.x * 1103515245u + 12345u) >> 3 & 1023]; }
PATTERN(half_warp) {
    if (threadIdx.x < 16) out[threadIdx.x] = in[threadIdx.x];
}
PATTERN(every_other_lane) {
    if (threadIdx.x % 2 == 0) out[threadIdx.x] = in[threadIdx.x];
}
PATTERN(atomic_same) { atomicAdd(out, in[threadIdx.x]); }

// In shared memory: row-wise stores, then the load that the name tells.
#define SHARED(name, type, width, index)                                               \
    PATTERN(name) {                                                                    \
        __shared__ type tile[32 * (width)];                                            \
        for (int i = threadIdx.x; i < 32 * (width); i += 32) tile[i] = type(in[i]);    \
        __syncthreads();                                                               \
        out[threadIdx.x] = float(tile[index]);                                         \
    }
SHARED(shared_row, float, 32, threadIdx.x)
SHARED(shared_column, float, 32, threadIdx.x * 32)
SHARED(shared_column_padded, float, 33, threadIdx.x * 33)
SHARED(shared_stride_2, float, 32, threadIdx.x * 2)
SHARED(shared_broadcast, float, 32, int(in[0]))
SHARED(shared_double, double, 8, threadIdx.x)
SHARED(shared_double_stride_2, double, 8, threadIdx.x * 2)
PATTERN(shared_float4) {
    __shared__ float4 tile[32];
    tile[threadIdx.x] = reinterpret_cast<const float4*>(in)[threadIdx.x];
    __syncthreads();
    float4 v = tile[threadIdx.x ^ 1];
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
