// Calls through pointers, virtual functions, recursion, the device heap. README.md says how a kernel is launched and what the
// comments mean.
#include <new>

typedef float (*Activation)(float);
__device__ __noinline__ float identity(float x) { return x; }
__device__ __noinline__ float relu(float x) { return x > 0 ? x : 0; }
__device__ __noinline__ float leaky(float x) { return x > 0 ? x : 0.125f * x; }
__device__ Activation activations[3] = {identity, relu, leaky};
__constant__ Activation backwards[3] = {leaky, relu, identity};

struct Layer {
    float scale;
    __device__ Layer(float s) : scale(s) {}
    __device__ virtual float forward(float x) const = 0;
};
struct Linear : Layer {
    __device__ Linear(float s) : Layer(s) {}
    __device__ float forward(float x) const override { return x * scale; }
};
struct Shift : Layer {
    __device__ Shift(float s) : Layer(s) {}
    __device__ float forward(float x) const override { return x + scale; }
};
struct Twice : Layer {
    const Layer *inner;
    __device__ Twice(const Layer *l) : Layer(2), inner(l) {}
    __device__ float forward(float x) const override { return inner->forward(inner->forward(x)); }
};

// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=i32[128] out=f32[128]
extern "C" __global__ void good_table_of_functions(const int *in, float *out) {
    int i = blockIdx.x * 64 + threadIdx.x;
    out[i] = activations[in[i] % 3](in[i] - 8.0f) + backwards[in[i] % 3](in[i] - 4.0f);
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=f32[128] out=f32[128]
extern "C" __global__ void good_virtual_functions(const float *in, float *out) {
    int i = blockIdx.x * 64 + threadIdx.x;
    Linear linear(3);
    Shift shift(5);
    Twice twice(i % 4 == 0 ? (Layer *)&linear : (Layer *)&shift);
    const Layer *layer = i % 3 == 0 ? (Layer *)&twice : i % 3 == 1 ? (Layer *)&linear : (Layer *)&shift;
    out[i] = layer->forward(in[i]);
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=f32[64]
extern "C" __global__ void bad_pointer_past_the_table(const int *in, float *out) {
    int i = threadIdx.x;
    Activation f = activations[in[i] % 4]; // expect: OutOfBounds
    out[i] = f(in[i]); // expect: InvalidCall
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=f32[64]
extern "C" __global__ void bad_pointer_of_the_host(const int *in, float *out) {
    Activation f = (Activation)(size_t)(in[threadIdx.x] ? 0x7f0012345670 : 0);
    out[threadIdx.x] = f(in[threadIdx.x]); // expect: InvalidCall
}

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
// launch: grid=(2,1,1) block=(48,1,1) shared=0 in=i32[96] out=i32[96]
extern "C" __global__ void good_recursion(const int *in, int *out) {
    int i = blockIdx.x * 48 + threadIdx.x;
    out[i] = fibonacci(in[i] % 10);
}
__device__ bool odd(int n);
__device__ __noinline__ bool even(int n) { return n == 0 || odd(n - 1); }
__device__ __noinline__ bool odd(int n) { return n != 0 && even(n - 1); }
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[64]
extern "C" __global__ void good_two_that_call_each_other(const int *in, int *out) {
    out[threadIdx.x] = even(in[threadIdx.x]);
}
__device__ int permutations(int *digits, int n, int k) {
    if (k == n) return digits[0] * 10 + digits[n - 1];
    int own[4], sum = 0;
    for (int i = k; i < n; i++) {
        for (int j = 0; j < n; j++) own[j] = digits[j];
        own[k] = digits[i];
        own[i] = digits[k];
        sum += permutations(own, n, k + 1);
    }
    return sum;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[64]
extern "C" __global__ void good_arrays_in_every_frame(const int *in, int *out) {
    int digits[4] = {in[threadIdx.x], 2, 3, 4};
    out[threadIdx.x] = permutations(digits, 3 + threadIdx.x % 2, 0);
}
__device__ int depth(const int *next, int at);
// launch: grid=(1,1,1) block=(40,1,1) shared=0 zeros=i32[1] out=i32[40]
extern "C" __global__ void bad_recursion_without_end(const int *next, int *out) { out[threadIdx.x] = depth(next, 0); }
__device__ int depth(const int *next, int at) {
    if (next[at] < 0) return at;
    return depth(next, next[at]) * 3 + depth(next, next[at] / 2); // expect: StackOverflow
}
__device__ int overrun(int n);
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32]
extern "C" __global__ void bad_array_of_a_frame_too_small(const int *in, int *out) { out[threadIdx.x] = overrun(4 + in[0] % 2); }
__device__ int overrun(int n) {
    int own[4], sum = 0;
    for (int i = 0; i <= n; i++) own[i] = n * i; // expect: OutOfBounds
    if (n > 0) sum = overrun(n - 1) * overrun(n - 2);
    for (int i = 0; i < 4 && i <= n; i++) sum += own[i];
    return sum;
}
__device__ int *leaves_its_frame(int *above, int n);
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32]
extern "C" __global__ void bad_pointer_to_a_frame_that_is_gone(const int *in, int *out) {
    int *gone = leaves_its_frame(nullptr, 2 + in[threadIdx.x] % 2);
    out[threadIdx.x] = *gone; // expect: OutOfBounds
}
__device__ __noinline__ int *leaves_its_frame(int *above, int n) {
    int own[2] = {n, n + 1};
    int *deeper = n > 0 ? leaves_its_frame(&own[n % 2], n - 1) : &own[0];
    if (above) *above += *(n > 1 ? &own[1] : &own[0]);
    return n > 2 ? leaves_its_frame(&own[1], n - 2) : deeper;
}
__device__ int uneven(int n, const int *in, int *out);
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[64]
extern "C" __global__ void bad_barrier_in_a_recursion(const int *in, int *out) { uneven(threadIdx.x % 3, in, out); }
__device__ int uneven(int n, const int *in, int *out) {
    if (n == 0) return in[threadIdx.x];
    int sum = uneven(n - 1, in, out) + uneven(n / 2, in, out);
    __syncthreads(); // expect: BarrierDivergence
    out[threadIdx.x] = sum;
    return sum;
}
struct Entry {
    int factor;
    Activation function;
    const float *data;
};
__device__ float steps[4] = {1, 2, 3, 4};
__device__ Entry entries[2] = {{3, relu, steps}, {4, leaky, steps + 2}};
__constant__ Entry constant_entries[2] = {{5, leaky, steps + 1}, {6, identity, steps}};
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=f32[64]
extern "C" __global__ void good_tables_of_structures(const int *in, float *out) {
    int i = threadIdx.x;
    const Entry &a = entries[in[i] % 2], &b = constant_entries[in[i] / 2 % 2];
    out[i] = a.function(in[i] - 8.0f) * a.factor + a.data[1] + b.function(b.data[in[i] % 2]) * b.factor;
}
