// Times of a real GPU. The book quotes them for an H100; run it on yours:
//     grader run --backend gpu book/examples/measure.cu
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

static cudaDeviceProp gpu;

// The shortest of five runs, in milliseconds, after one that warms up.
template <class Launch> double milliseconds(Launch launch)
{
    cudaEvent_t start, stop;
    cudaEventCreate(&start), cudaEventCreate(&stop);
    float best = 1e30f;
    for (int run = 0; run < 6; run++) {
        cudaEventRecord(start);
        launch();
        cudaEventRecord(stop);
        cudaEventSynchronize(stop);
        float ms;
        cudaEventElapsedTime(&ms, start, stop);
        if (run > 0) best = std::min(best, ms);
    }
    return best;
}

// ---- Latency: each load needs the result of the one before. ----

__global__ void chase(const int* next, int steps, long long* cycles, int* end)
{
    int at = 0;
    for (int k = 0; k < steps; k++) at = next[at]; // once round: into the L1
    long long start = clock64();
    for (int k = 0; k < steps; k++) at = next[at];
    *cycles = clock64() - start, *end = at;
}

__global__ void chase_l2(const int* next, int steps, long long* cycles, int* end)
{
    int at = 0;
    long long start = clock64();
    for (int k = 0; k < steps; k++) at = __ldcg(next + at); // past the L1
    *cycles = clock64() - start, *end = at;
}

__global__ void chase_shared(int steps, long long* cycles, int* end)
{
    __shared__ int next[1024];
    for (int i = 0; i < 1024; i++) next[i] = (i + 33) % 1024;
    int at = 0;
    long long start = clock64();
    for (int k = 0; k < steps; k++) at = next[at];
    *cycles = clock64() - start, *end = at;
}

void latency()
{
    const int line = 32; // ints: 128 bytes
    long long* cycles;
    int* end;
    cudaMallocManaged(&cycles, 8), cudaMallocManaged(&end, 4);
    auto ring = [&](size_t bytes) { // one int of each line, in a drawn order
        int lines = bytes / 128;
        std::vector<int> order(lines), next(bytes / 4);
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin() + 1, order.end(), std::mt19937(1));
        for (int k = 0; k < lines; k++)
            next[order[k] * line] = order[(k + 1) % lines] * line;
        int* device;
        cudaMalloc(&device, bytes);
        cudaMemcpy(device, next.data(), bytes, cudaMemcpyHostToDevice);
        return device;
    };
    auto say = [&](const char* what, int steps) {
        cudaDeviceSynchronize();
        printf("  %-14s %6.0f cycles\n", what, double(*cycles) / steps);
    };
    printf("latency of a load\n");
    chase_shared<<<1, 1>>>(4096, cycles, end), say("shared memory", 4096);
    chase<<<1, 1>>>(ring(16 << 10), 128, cycles, end), say("L1 cache", 128);
    int* small = ring(4 << 20);
    chase_l2<<<1, 1>>>(small, 32768, cycles, end); // brings it into the L2
    chase_l2<<<1, 1>>>(small, 32768, cycles, end), say("L2 cache", 32768);
    int* large = ring(256 << 20);
    cudaMemset(ring(256 << 20), 0, 256 << 20); // fills the L2 with other data
    chase_l2<<<1, 1>>>(large, 32768, cycles, end), say("global memory", 32768);
}

// ---- Coalescing ----

__global__ void strided(const float* in, float* out, int stride)
{
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (in[i * stride] == 12345.0f) out[i] = 1; // never: reads only
}

void coalescing(float* in, float* out)
{
    const size_t n = 1 << 24;
    printf("reads of 2^24 floats\n");
    for (int stride : {1, 2, 4, 8, 16, 32}) {
        double ms = milliseconds([&] { strided<<<n / 256, 256>>>(in, out, stride); });
        printf("  stride %2d  %6.3f ms  %5.0f GB/s useful\n", stride, ms, n * 4 / ms / 1e6);
    }
}

// ---- Occupancy: warps on an SM, and the bandwidth they reach ----

__global__ void read_all(const float* in, float* out, size_t n)
{
    extern __shared__ float unused[];
    float sum = 0;
    size_t stride = size_t(gridDim.x) * blockDim.x;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += stride)
        sum += in[i];
    if (sum == 12345.0f) out[0] = unused[0];
}

void occupancy(float* in, float* out)
{
    const size_t n = 1 << 28;
    printf("reads of 1 GiB, one load in flight for each thread or a few\n");
    int sms = gpu.multiProcessorCount;
    for (int warps : {1, 2, 4, 8, 16, 32, 64}) {
        int threads = std::min(warps * 32, 1024), blocks = warps * 32 / threads * sms;
        double ms = milliseconds([&] { read_all<<<blocks, threads>>>(in, out, n); });
        printf("  %2d warps an SM  %6.0f GB/s\n", warps, n * 4 / ms / 1e6);
    }
}

// ---- Divergence ----

__global__ void paths(float* x, int ways, int width)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];
    int mine = i / width % ways;
    for (int way = 0; way < ways; way++)
        if (mine == way)
            for (int k = 0; k < 2048; k++) v = v * 0.5f + way;
    x[i] = v;
}

void divergence(float* x)
{
    const int n = 1 << 22;
    printf("2,048 multiplications and additions, on one of w paths\n");
    for (int ways : {1, 2, 4, 8, 16, 32}) {
        double lane = milliseconds([&] { paths<<<n / 256, 256>>>(x, ways, 1); });
        double warp = milliseconds([&] { paths<<<n / 256, 256>>>(x, ways, 32); });
        printf("  %2d paths  by lane %7.3f ms  by warp %7.3f ms\n", ways, lane, warp);
    }
}

// ---- Banks ----

__global__ void banks(int stride, long long* cycles, int* end)
{
    __shared__ int box[1024];
    for (int i = threadIdx.x; i < 1024; i += 32) box[i] = 0;
    __syncwarp();
    int at = threadIdx.x * stride % 1024;
    long long start = clock64();
    for (int k = 0; k < 1024; k++) at += box[at];
    if (threadIdx.x == 0) *cycles = clock64() - start;
    end[threadIdx.x] = at;
}

void shared()
{
    long long* cycles;
    int* end;
    cudaMallocManaged(&cycles, 8), cudaMallocManaged(&end, 128);
    printf("one warp reads shared memory\n");
    for (int stride : {1, 2, 4, 8, 16, 32, 33}) {
        banks<<<1, 32>>>(stride, cycles, end);
        cudaDeviceSynchronize();
        printf("  stride %2d  %5.1f cycles\n", stride, *cycles / 1024.0);
    }
}

// ---- Atomics ----

__global__ void add_to(int* count, int places)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(count + i % places, 1);
}

__global__ void add_to_float(float* count, int places)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(count + i % places, 1.0f);
}

__global__ void add_by_block(int* count)
{
    __shared__ int mine;
    if (threadIdx.x == 0) mine = 0;
    __syncthreads();
    atomicAdd(&mine, 1);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(count, mine);
}

void atomics(float* memory)
{
    const int n = 1 << 24;
    int* count = (int*)memory;
    printf("2^24 atomic additions\n");
    auto say = [](const char* what, double ms) { printf("  %-34s %7.3f ms\n", what, ms); };
    say("int, one place", milliseconds([&] { add_to<<<n / 256, 256>>>(count, 1); }));
    say("float, one place", milliseconds([&] { add_to_float<<<n / 256, 256>>>(memory, 1); }));
    say("float, 1,024 places", milliseconds([&] { add_to_float<<<n / 256, 256>>>(memory, 1024); }));
    say("float, a place for each thread", milliseconds([&] { add_to_float<<<n / 256, 256>>>(memory, n); }));
    say("int, in shared memory first", milliseconds([&] { add_by_block<<<n / 256, 256>>>(count); }));
}

// ---- Roofline ----

template <int K> __global__ void polynomial(const float4* x, float4* y, float a)
{
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    float4 v = x[i], p = y[i];
    for (int k = 0; k < K; k++) {
        p.x = p.x * v.x + a, p.y = p.y * v.y + a;
        p.z = p.z * v.z + a, p.w = p.w * v.w + a;
    }
    y[i] = p;
}

template <int K> void intensity(float* x, float* y)
{
    const size_t n = 1 << 27;
    double ms = milliseconds([&] {
        polynomial<K><<<n / 4 / 256, 256>>>((float4*)x, (float4*)y, 0.5f);
    });
    printf("  %7.2f FLOP/byte  %7.2f TFLOP/s  %5.0f GB/s\n", 2.0 * K / 12,
           2.0 * K * n / ms / 1e9, 12.0 * n / ms / 1e6);
}

// ---- Matrix products: puzzle 02 and puzzle 18 ----

__global__ void naive(const float* a, const float* b, float* c, int n)
{
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

__global__ void naive_rows_in_x(const float* a, const float* b, float* c, int n)
{
    int row = blockIdx.x * 16 + threadIdx.x, column = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

__global__ void tiled(const float* A, const float* B, float* C, int n)
{
    __shared__ float a[16][16], b[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int start = 0; start < n; start += 16) {
        a[y][x] = A[row * n + start + x], b[y][x] = B[(start + y) * n + column];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += a[y][k] * b[k][x];
        __syncthreads();
    }
    C[row * n + column] = sum;
}

void products(float* memory)
{
    const int n = 4096;
    float *a = memory, *b = a + n * n, *c = b + n * n;
    dim3 grid(n / 16, n / 16), block(16, 16);
    printf("products of 4,096 x 4,096 matrices\n");
    auto say = [&](const char* what, double ms) {
        printf("  %-26s %8.2f ms  %6.2f TFLOP/s\n", what, ms, 2.0 * n * n * n / ms / 1e9);
    };
    say("rows in x", milliseconds([&] { naive_rows_in_x<<<grid, block>>>(a, b, c, n); }));
    say("puzzle 02", milliseconds([&] { naive<<<grid, block>>>(a, b, c, n); }));
    say("puzzle 18", milliseconds([&] { tiled<<<grid, block>>>(a, b, c, n); }));
}

int main()
{
    cudaGetDeviceProperties(&gpu, 0);
    printf("%s, %d SMs\n", gpu.name, gpu.multiProcessorCount);
    latency();
    float *x, *y;
    size_t bytes = size_t(1) << 31;
    if (cudaMalloc(&x, bytes) || cudaMalloc(&y, bytes / 4)) return puts("needs 3 GiB"), 1;
    cudaMemset(x, 0, bytes), cudaMemset(y, 0, bytes / 4);
    coalescing(x, y);
    occupancy(x, y);
    divergence(x);
    shared();
    atomics(x);
    printf("p = p * x + a, k times: 2k FLOP and 12 bytes for each element\n");
    intensity<1>(x, y), intensity<4>(x, y), intensity<16>(x, y), intensity<64>(x, y);
    intensity<128>(x, y), intensity<256>(x, y), intensity<1024>(x, y);
    products(x);
    cudaError_t error = cudaDeviceSynchronize();
    return error ? puts(cudaGetErrorString(error)), 1 : 0;
}
