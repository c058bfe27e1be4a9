// The generators of random numbers that kernels use themselves.
#include <curand_kernel.h>

template <typename State>
__device__ void start(State* state) {
    curand_init(1234ull, threadIdx.x, 5ull, state);
}
template <>
__device__ void start(curandStateSobol32_t* state) {
    static __device__ curandDirectionVectors32_t directions;
    curand_init(directions, threadIdx.x, state);
}
template <>
__device__ void start(curandStateSobol64_t* state) {
    static __device__ curandDirectionVectors64_t directions;
    curand_init(directions, threadIdx.x, state);
}

template <typename State>
__global__ void numbers(float* f, double* d, unsigned* u) {
    State state;
    start(&state);
    int i = threadIdx.x;
    u[i] = curand(&state);
    f[i] = curand_uniform(&state) + curand_normal(&state) + curand_log_normal(&state, 1.0f, 2.0f);
    d[i] = curand_uniform_double(&state) + curand_normal_double(&state) + curand_log_normal_double(&state, 1.0, 2.0);
    u[i + 32] = curand_poisson(&state, 3.5);
    skipahead(7, &state);
    u[i + 64] = curand(&state);
}
template __global__ void numbers<curandStateXORWOW_t>(float*, double*, unsigned*);
template __global__ void numbers<curandStateMRG32k3a_t>(float*, double*, unsigned*);
template __global__ void numbers<curandStatePhilox4_32_10_t>(float*, double*, unsigned*);
template __global__ void numbers<curandStateSobol32_t>(float*, double*, unsigned*);
template __global__ void numbers<curandStateSobol64_t>(float*, double*, unsigned*);

__global__ void four_at_once(float4* f, double2* d, uint4* u) {
    curandStatePhilox4_32_10_t state;
    curand_init(7ull, threadIdx.x, 0, &state);
    f[threadIdx.x] = curand_normal4(&state);
    d[threadIdx.x] = curand_uniform2_double(&state);
    u[threadIdx.x] = curand4(&state);
}
