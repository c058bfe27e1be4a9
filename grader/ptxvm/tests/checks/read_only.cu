// Loads through the cache of memory that nobody writes. README.md says how a kernel is launched and what the comments mean.

// launch: grid=(1,1,1) block=(64,1,1) shared=0 inout=f32[64]
extern "C" __global__ void bad_ldg_of_what_was_stored(float *x) {
    int i = threadIdx.x;
    x[i] = 2.0f * i;
    __syncthreads();
    float other = __ldg(&x[63 - i]); // expect: ReadOnlyLoad
    __syncthreads();
    x[i] = other; // expect: ReadOnlyLoad
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 inout=f32[64]
extern "C" __global__ void bad_ldg_before_the_store(float *x) {
    int i = blockIdx.x * 32 + threadIdx.x;
    float v = __ldg(&x[i]);
    x[i] = v + 1.0f; // expect: ReadOnlyLoad
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 inout=f32[128]
extern "C" __global__ void good_ldg_of_the_other_half(float *x) {
    int i = blockIdx.x * 32 + threadIdx.x;
    x[64 + i] = __ldg(&x[i]);
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void good_restrict(const float *__restrict__ in, float *__restrict__ out) {
    int i = blockIdx.x * 32 + threadIdx.x;
    out[i] = in[i] + in[63 - i];
}
