// Kernels that hardly differ from right ones: in the values that lanes store, in the paths that lead to a barrier, in whether the
// result of an atomic is used. README.md says how a kernel is launched and what the comments mean.

// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] zeros=f32[1]
extern "C" __global__ void bad_lanes_store_their_own_values(const float *in, float *out) {
    *out = in[threadIdx.x]; // expect: GlobalRace
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[32]
extern "C" __global__ void bad_lanes_store_in_pairs(const float *in, double *out) {
    out[threadIdx.x / 2] = in[threadIdx.x] + threadIdx.x; // expect: GlobalRace
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=u8[32] zeros=u8[4]
extern "C" __global__ void bad_lanes_store_their_own_bytes(const unsigned char *in, unsigned char *out) {
    out[1] = in[threadIdx.x]; // expect: GlobalRace
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 zeros=f32[4] n=3
extern "C" __global__ void good_all_store_one_value_of_any_size(float4 *out, int n) {
    if (n == 3) *out = make_float4(1.0f, n, 3.0f, 4.0f);
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 zeros=f32[2] zeros=u8[2] n=3
extern "C" __global__ void good_all_store_one_double_and_one_byte(double *out, unsigned char *bytes, int n) {
    *out = n;
    bytes[1] = n;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64] n=3
extern "C" __global__ void good_all_store_one_value_in_shared_memory(const float *in, float *out, int n) {
    __shared__ double wide;
    __shared__ float4 four;
    __shared__ short2 two;
    wide = n;
    four = make_float4(1.0f, n, n, n);
    two = make_short2(n, n + 1);
    __syncthreads();
    out[threadIdx.x] = wide + four.y + two.y + in[threadIdx.x];
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_all_store_their_own_double(const float *in, float *out) {
    __shared__ double wide;
    wide = in[threadIdx.x] + threadIdx.x; // expect: SharedRace
    __syncthreads();
    out[threadIdx.x] = wide;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_barriers_of_two_branches_in_one_line(const float *in, float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x < 32) { __syncthreads(); out[threadIdx.x] = s[63 - threadIdx.x]; } else { out[threadIdx.x] = 1.0f; __syncthreads(); } // expect: BarrierDivergence
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_helper_with_a_barrier_on_two_paths(const float *in, float *out) {
    __shared__ float s[64];
    float v = in[threadIdx.x];
    auto from_the_end = [&](float v) {
        s[threadIdx.x] = v;
        __syncthreads(); // expect: BarrierDivergence
        return s[63 - threadIdx.x];
    };
    if (threadIdx.x < 32) out[threadIdx.x] = 2.0f * from_the_end(v);
    else out[threadIdx.x] = from_the_end(-v);
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=f32[128] out=f32[128]
extern "C" __global__ void good_barriers_where_the_block_agrees(const float *in, float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
    if (blockIdx.x == 0) { __syncthreads(); out[threadIdx.x] = s[63 - threadIdx.x]; } else { __syncthreads(); out[64 + threadIdx.x] = s[threadIdx.x ^ 1]; }
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32] out=i32[64]
extern "C" __global__ void good_exchange_that_only_stores(const int *in, int *out, unsigned long long *wide) {
    __shared__ int s[32];
    atomicExch(&s[threadIdx.x], in[threadIdx.x]);
    atomicExch(&wide[threadIdx.x], 7ull);
    __syncthreads();
    atomicExch(&out[threadIdx.x], s[31 - threadIdx.x] + (int)wide[threadIdx.x]);
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 out=i32[32] out=i32[32]
extern "C" __global__ void bad_exchange_that_returns_what_nobody_wrote(int *x, int *out) {
    out[threadIdx.x] = atomicExch(&x[threadIdx.x], 1); // expect: Uninitialised
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 out=i32[256]
extern "C" __global__ void bad_atomics_without_a_start(int *x) {
    int t = threadIdx.x;
    atomicAdd(&x[t], 1); // expect: Uninitialised
    atomicMax(&x[32 + t], 1); // expect: Uninitialised
    atomicAnd(&x[64 + t], 1); // expect: Uninitialised
    atomicOr(&x[96 + t], 1); // expect: Uninitialised
    atomicXor(&x[128 + t], 1); // expect: Uninitialised
    atomicInc((unsigned *)&x[160 + t], 5); // expect: Uninitialised
    atomicCAS(&x[192 + t], 0, 1); // expect: Uninitialised
    atomicAdd((float *)&x[224 + t], 1.0f); // expect: Uninitialised
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 zeros=i32[288] out=i32[32]
extern "C" __global__ void good_atomics_with_used_results(int *x, int *out) {
    int t = threadIdx.x;
    int sum = atomicAdd(&x[t], 1) + atomicMax(&x[32 + t], 1) + atomicMin(&x[64 + t], 1) + atomicAnd(&x[96 + t], 1);
    sum += atomicOr(&x[128 + t], 1) + atomicXor(&x[160 + t], 1) + (int)atomicInc((unsigned *)&x[192 + t], 5);
    sum += atomicCAS(&x[224 + t], 0, 1) + atomicExch(&x[256 + t], 3);
    out[t] = sum;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32] out=i32[32]
extern "C" __global__ void good_halves_of_a_warp_by_themselves(const int *in, int *data, int *out) {
    __shared__ int s[32];
    int half = threadIdx.x & 16, other = half + 15 - threadIdx.x % 16;
    s[threadIdx.x] = in[threadIdx.x];
    data[threadIdx.x] = in[threadIdx.x];
    __syncwarp(0xffffu << half);
    out[threadIdx.x] = s[other] + data[other];
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32] out=i32[32]
extern "C" __global__ void bad_half_of_a_warp_reads_the_other(const int *in, int *data, int *out) {
    __shared__ int s[32];
    s[threadIdx.x] = in[threadIdx.x];
    data[threadIdx.x] = in[threadIdx.x];
    __syncwarp(0xffffu << (threadIdx.x & 16));
    int v = s[31 - threadIdx.x]; // expect: SharedRace
    out[threadIdx.x] = v + data[31 - threadIdx.x]; // expect: GlobalRace
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32]
extern "C" __global__ void good_lanes_that_pass_on_what_they_know(const int *in, int *out) {
    __shared__ int s[8];
    int t = threadIdx.x;
    if (t < 8) s[t] = in[t];
    if (t < 16) __syncwarp(0xffffu);
    if (t >= 8) {
        __syncwarp(0xffffff00u);
        out[t] = s[t % 8];
    }
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32]
extern "C" __global__ void bad_lanes_that_know_nothing_to_pass_on(const int *in, int *out) {
    __shared__ int s[8];
    int t = threadIdx.x;
    if (t < 8) s[t] = in[t];
    if (t >= 8) {
        __syncwarp(0xffffff00u);
        out[t] = s[t % 8]; // expect: SharedRace
    } else {
        out[t] = t;
    }
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] zeros=i32[1] out=i32[32]
extern "C" __global__ void good_lane_that_releases_for_its_half(const int *in, volatile int *flag, int *out) {
    __shared__ int s[16];
    int t = threadIdx.x;
    if (t < 16) {
        s[t] = in[t];
        __syncwarp(0xffffu);
        if (t == 3) {
            __threadfence_block();
            *flag = 1;
        }
    } else {
        while (*flag == 0) {
        }
        __threadfence_block();
        out[t] = s[t - 16];
    }
}
