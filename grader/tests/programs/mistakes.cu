// Typical mistakes with the runtime, and what it says of them.
#include <climits>
#include <cstdio>

__constant__ int table[4];
__device__ int counter;
__managed__ int shown = 3;

__global__ void fill(int* x, int value) { x[threadIdx.x] = value; }

__global__ void large(int* x)
{
    __shared__ int s[10 << 10];
    extern __shared__ int more[];
    s[threadIdx.x] = counter + table[threadIdx.x % 4];
    more[threadIdx.x] = s[threadIdx.x];
    x[threadIdx.x] = more[threadIdx.x];
}

#define SAY(call) std::printf("%s: %s\n", #call, cudaGetErrorName(call))

/// The last error, once and twice.
#define LAUNCH(...)                                                            \
    __VA_ARGS__;                                                               \
    std::printf("%s: %s", #__VA_ARGS__, cudaGetErrorName(cudaGetLastError())); \
    std::printf(", then %s\n", cudaGetErrorName(cudaGetLastError()))

int main()
{
    int *x = nullptr, *managed = nullptr, *pinned = nullptr, here[1024] = {};
    void* p = here;
    size_t pitch;
    int number;

    std::puts("== allocations");
    SAY(cudaMalloc(&p, 0));
    std::printf("null: %d\n", p == nullptr);
    SAY(cudaMalloc((void**)nullptr, 4));
    SAY(cudaMalloc(&p, (size_t)1 << 50));
    SAY(cudaMallocManaged(&p, 0));
    SAY(cudaMallocManaged(&p, 8, 0));
    SAY(cudaMallocManaged(&p, 8, 3));
    SAY(cudaMallocHost(&p, 0));
    SAY(cudaHostAlloc(&p, 8, 8));
    SAY(cudaMallocPitch(&p, (size_t*)nullptr, 100, 3));
    SAY(cudaMallocPitch((void**)nullptr, &pitch, 100, 3));

    std::puts("== frees");
    SAY(cudaMalloc(&x, 4096));
    SAY(cudaMallocManaged(&managed, 4096));
    SAY(cudaMallocHost(&pinned, 4096));
    SAY(cudaFree(nullptr));
    SAY(cudaFreeHost(nullptr));
    SAY(cudaFree(x + 1));
    SAY(cudaFreeHost(x));
    SAY(cudaFree(pinned));
    SAY(cudaFreeHost(managed));
    SAY(cudaFree(here));
    SAY(cudaFreeHost(here));
    SAY(cudaFree(&shown));
    SAY(cudaGetSymbolAddress(&p, counter));
    SAY(cudaFree(p));

    std::puts("== copies");
    SAY(cudaMemcpy(x, here, 4096, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy(x, here, 0, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy(x, here, 4, (cudaMemcpyKind)5));
    SAY(cudaMemcpy(x, here, 4, (cudaMemcpyKind)-1));
    SAY(cudaMemcpy(x, here, 4, cudaMemcpyDeviceToHost));
    SAY(cudaMemcpy(here, x, 4, cudaMemcpyHostToHost));
    SAY(cudaMemcpy(x, here, 4, cudaMemcpyDeviceToDevice));
    SAY(cudaMemcpy(x, nullptr, 4, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy(nullptr, here, 4, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy(nullptr, x, 4, cudaMemcpyDeviceToHost));
    SAY(cudaMemcpy(here, here + 8, 4, cudaMemcpyHostToDevice));
    SAY(cudaMemset(here, 0, 4));
    SAY(cudaMemset(nullptr, 0, 4));
    SAY(cudaMemset(nullptr, 0, 0));
    SAY(cudaMemset2D(x, 16, 0, 17, 1));
    SAY(cudaMemcpy2D(here, 8, x, 7, 8, 4, cudaMemcpyDeviceToHost));
    SAY(cudaMemcpy2D(here, 8, x, 16, 8, 4, (cudaMemcpyKind)9));
    cudaPointerAttributes a;
    for (const void* of : {(void*)here, (void*)pinned, (void*)x, (void*)managed}) {
        SAY(cudaPointerGetAttributes(&a, of));
        std::printf("type %d\n", a.type);
    }

    std::puts("== launches");
    cudaGetLastError();
    LAUNCH(fill<<<1, 0>>>(x, 1));
    LAUNCH(fill<<<0, 1>>>(x, 1));
    LAUNCH(fill<<<1, 1025>>>(x, 1));
    LAUNCH(fill<<<1, dim3(1, 1, 65)>>>(x, 1));
    LAUNCH(fill<<<dim3(1, 65536), 1>>>(x, 1));
    LAUNCH(fill<<<1, 1, 49 * 1024>>>(x, 1));
    LAUNCH(large<<<1, 32, 8 * 1024>>>(x));
    LAUNCH(large<<<1, 32, 8 * 1024 + 1>>>(x));
    void* arguments[] = {&x, &number};
    SAY(cudaLaunchKernel(fill, dim3(1), dim3(0), arguments, 0, 0));
    SAY(cudaLaunchKernel(fill, dim3(1), dim3(1025), arguments, 0, 0));
    SAY(cudaLaunchKernel(fill, dim3(1), dim3(1, 1, 65), arguments, 0, 0));
    SAY(cudaLaunchKernel(fill, dim3(1, 65536), dim3(1), arguments, 0, 0));
    SAY(cudaLaunchKernel((void*)here, dim3(1), dim3(1), arguments, 0, 0));
    SAY(cudaLaunchCooperativeKernel(fill, dim3(100000), dim3(1024), arguments, 0, 0));
    SAY(cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, -1));
    SAY(cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));
    SAY(cudaFuncSetAttribute(fill, cudaFuncAttributePreferredSharedMemoryCarveout, 101));
    SAY(cudaFuncSetAttribute((void*)here, cudaFuncAttributeMaxDynamicSharedMemorySize, 4));
    SAY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&number, fill, 0, 0));
    number = -1;
    SAY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&number, fill, 1025, 0));
    std::printf("blocks: %d\n", number);
    SAY(cudaDeviceSynchronize());

    std::puts("== symbols");
    SAY(cudaMemcpyToSymbol(table, here, 16));
    SAY(cudaMemcpyToSymbol(table, here, 8, 12));
    SAY(cudaMemcpyToSymbol(counter, here, 4, 4));
    SAY(cudaMemcpyToSymbol(counter, here, 4, 0, cudaMemcpyDeviceToHost));
    SAY(cudaMemcpyToSymbol(counter, here, 4, 0, cudaMemcpyHostToHost));
    SAY(cudaMemcpyFromSymbol(here, counter, 4, 0, cudaMemcpyHostToDevice));
    SAY(cudaMemcpyFromSymbol(here, counter, 8));
    SAY(cudaMemcpyToSymbol(here, here, 4));
    SAY(cudaGetSymbolSize(&pitch, here));

    std::puts("== device");
    cudaDeviceProp properties;
    SAY(cudaSetDevice(1000));
    SAY(cudaSetDevice(-1));
    SAY(cudaGetDeviceProperties(&properties, 1000));
    SAY(cudaDeviceGetAttribute(&number, cudaDevAttrWarpSize, 1000));
    SAY(cudaDeviceGetAttribute(&number, (cudaDeviceAttr)100000, 0));
    SAY(cudaDeviceSetLimit((cudaLimit)99, 1));
    SAY(cudaDeviceGetLimit(&pitch, (cudaLimit)99));
    SAY(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20));
    SAY(cudaDeviceGetLimit(&pitch, cudaLimitMallocHeapSize));
    std::printf("heap: %zu\n", pitch);

    std::puts("== streams and events");
    cudaStream_t stream;
    cudaEvent_t first, second, untimed;
    float milliseconds;
    SAY(cudaStreamCreate(nullptr));
    SAY(cudaStreamCreateWithFlags(&stream, 2));
    SAY(cudaStreamDestroy(0));
    SAY(cudaEventCreate(nullptr));
    SAY(cudaEventCreateWithFlags(&first, 8));
    SAY(cudaEventCreate(&first));
    SAY(cudaEventCreate(&second));
    SAY(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    SAY(cudaEventElapsedTime(&milliseconds, first, second));
    SAY(cudaEventRecord(first));
    SAY(cudaEventElapsedTime(&milliseconds, first, second));
    SAY(cudaEventRecord(second));
    SAY(cudaEventRecord(untimed));
    SAY(cudaDeviceSynchronize());
    SAY(cudaEventElapsedTime(&milliseconds, first, untimed));
    SAY(cudaEventElapsedTime(nullptr, first, second));
    SAY(cudaEventRecord(nullptr));
    SAY(cudaEventDestroy(nullptr));
    SAY(cudaLaunchHostFunc(0, nullptr, nullptr));

    std::puts("== at the end");
    SAY(cudaFree(x));
    SAY(cudaFree(x));
    SAY(cudaFree(managed));
    SAY(cudaFreeHost(pinned));
    SAY(cudaFreeHost(pinned));
    SAY(cudaMemcpy(x, here, 4, cudaMemcpyHostToDevice));
    std::printf("%s, ", cudaGetErrorName(cudaPeekAtLastError()));
    std::printf("%s, ", cudaGetErrorName(cudaGetLastError()));
    std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    std::printf("%s\n", cudaGetErrorString((cudaError_t)12345));
}
