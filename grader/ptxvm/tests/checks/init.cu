// Values that nobody wrote. README.md says how a kernel is launched and what the comments mean.

// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[32]
extern "C" __global__ void bad_output_accumulated(const float *in, float *out) {
    out[threadIdx.x] += in[threadIdx.x]; // expect: Uninitialised
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=f32[128] out=f32[1]
extern "C" __global__ void bad_atomic_on_unset_output(const float *in, float *out) {
    atomicAdd(out, in[blockIdx.x * 64 + threadIdx.x]); // expect: Uninitialised
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_shared_halo_not_loaded(const float *in, float *out) {
    __shared__ float s[66];
    s[threadIdx.x + 1] = in[threadIdx.x];
    __syncthreads();
    float left = s[threadIdx.x]; // expect: Uninitialised
    float right = s[threadIdx.x + 2]; // expect: Uninitialised
    out[threadIdx.x] = left + right;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[50] out=f32[1] n=50
extern "C" __global__ void bad_tail_of_the_tile(const float *in, float *out, int n) {
    __shared__ float s[64];
    int i = threadIdx.x;
    if (i < n) s[i] = in[i];
    __syncthreads();
    for (int stride = 32; stride > 0; stride /= 2) {
        if (i < stride) s[i] += s[i + stride]; // expect: Uninitialised
        __syncthreads();
    }
    if (i == 0) *out = s[0];
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[16]
extern "C" __global__ void bad_shared_histogram_not_zeroed(const int *in, int *out) {
    __shared__ int bins[17];
    atomicAdd(&bins[in[threadIdx.x]], 1); // expect: Uninitialised
    __syncthreads();
    if (threadIdx.x < 16) out[threadIdx.x] = 0;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[8] out=i32[32] n=6
extern "C" __global__ void bad_local_partly_filled(const int *in, int *out, int n) {
    int a[8];
    for (int k = 0; k < n; k++) a[k] = in[k];
    out[threadIdx.x] = a[threadIdx.x % 8]; // expect: Uninitialised
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[32] n=4
extern "C" __global__ void bad_sum_not_initialised(const float *in, float *out, int n) {
    float sum;
    for (int k = 0; k < n; k++) sum += in[k]; // missed: Uninitialised
    out[threadIdx.x] = sum;
}
__device__ float scratch[32];
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[32]
extern "C" __global__ void good_device_variable_is_zero(const float *in, float *out) {
    out[threadIdx.x] = scratch[threadIdx.x] + in[threadIdx.x];
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[32]
extern "C" __global__ void good_output_set_first(const float *in, float *out) {
    out[threadIdx.x] = 0.0f;
    for (int k = 0; k < 4; k++) out[threadIdx.x] += in[k];
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void good_halo_loaded(const float *in, float *out) {
    __shared__ float s[66];
    int i = threadIdx.x;
    s[i + 1] = in[i];
    if (i == 0) s[0] = 0.0f;
    if (i == 63) s[65] = 0.0f;
    __syncthreads();
    out[i] = s[i] + s[i + 1] + s[i + 2];
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[50] out=f32[1] n=50
extern "C" __global__ void good_tail_padded_with_zeros(const float *in, float *out, int n) {
    __shared__ float s[64];
    int i = threadIdx.x;
    s[i] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int stride = 32; stride > 0; stride /= 2) {
        if (i < stride) s[i] += s[i + stride];
        __syncthreads();
    }
    if (i == 0) *out = s[0];
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=i32[128] zeros=i32[17]
extern "C" __global__ void good_shared_histogram(const int *in, int *out) {
    __shared__ int bins[17];
    if (threadIdx.x < 17) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[in[blockIdx.x * 64 + threadIdx.x]], 1);
    __syncthreads();
    if (threadIdx.x < 17) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
struct Pair {
    char tag;
    int value;
};
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32]
extern "C" __global__ void good_struct_with_padding_copied(const int *in, int *out) {
    __shared__ Pair a[32];
    Pair p;
    p.tag = 1;
    p.value = in[threadIdx.x];
    a[threadIdx.x] = p;
    __syncwarp();
    Pair q = a[31 - threadIdx.x];
    out[threadIdx.x] = q.value + q.tag;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32] n=20
extern "C" __global__ void good_set_only_where_used(const int *in, int *out, int n) {
    int v;
    bool have = threadIdx.x < n;
    if (have) v = in[threadIdx.x];
    out[threadIdx.x] = have ? v : -1;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32] at=3 n=8
extern "C" __global__ void good_local_structs_copied(const int *in, int *out, int at, int n) {
    Pair a[8], b[8];
    for (int i = 0; i < n; i++) {
        a[i].tag = i;
        a[i].value = in[i];
    }
    for (int i = 0; i < n; i++) b[i] = a[n - 1 - i];
    out[threadIdx.x] = b[at].value + b[at].tag;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[64] at=3
extern "C" __global__ void good_shared_structs_copied(const int *in, int *out, int at) {
    __shared__ Pair a[64], b[64];
    a[threadIdx.x].tag = 1;
    a[threadIdx.x].value = in[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = a[63 - threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = b[at].value + b[at].tag;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[64] out=i32[64]
extern "C" __global__ void good_global_structs_copied(const int *in, Pair *scratch, Pair *out) {
    Pair p;
    p.tag = 1;
    p.value = in[threadIdx.x];
    scratch[threadIdx.x] = p;
    __syncthreads();
    out[threadIdx.x] = scratch[31 - threadIdx.x];
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=u8[32] out=u8[32] n=20
extern "C" __global__ void bad_bytes_partly_filled(const unsigned char *in, unsigned char *out, int n) {
    __shared__ unsigned char s[32];
    if (threadIdx.x < n) s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[31 - threadIdx.x]; // expect: Uninitialised
}
