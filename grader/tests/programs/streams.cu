// Streams, events, asynchronous copies, host functions: the order is the program's.
#include <cstdio>

__global__ void scale(int* x, int n, int factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}

static void CUDART_CB tell(void* what) { std::printf("host function: %s\n", (const char*)what); }

static void CUDART_CB called(cudaStream_t, cudaError_t status, void* what)
{
    std::printf("callback: %s, %s\n", (const char*)what, cudaGetErrorName(status));
}

int main()
{
    const int n = 64;
    int *pinned, *device;
    cudaMallocHost(&pinned, n * sizeof(int));
    cudaMalloc(&device, n * sizeof(int));
    for (int i = 0; i < n; i++) pinned[i] = i;
    cudaStream_t first, second;
    cudaStreamCreate(&first);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    cudaEvent_t start, middle, end;
    cudaEventCreate(&start);
    cudaEventCreateWithFlags(&middle, cudaEventDisableTiming);
    cudaEventCreate(&end);

    cudaEventRecord(start, first);
    cudaMemcpyAsync(device, pinned, n * sizeof(int), cudaMemcpyHostToDevice, first);
    scale<<<1, n, 0, first>>>(device, n, 3);
    cudaEventRecord(middle, first);
    cudaStreamWaitEvent(second, middle, 0);
    scale<<<1, n, 0, second>>>(device, n, 5);
    cudaMemcpyAsync(pinned, device, n * sizeof(int), cudaMemcpyDeviceToHost, second);
    cudaStreamSynchronize(second);
    cudaLaunchHostFunc(second, tell, (void*)"after the copy");
    cudaStreamSynchronize(second);
    cudaStreamAddCallback(first, called, (void*)"first stream", 0);
    cudaStreamSynchronize(first);
    cudaEventRecord(end, first);
    cudaEventSynchronize(end);

    float ms = -1;
    cudaError_t timed = cudaEventElapsedTime(&ms, start, end);
    std::printf("%d %d %d\n", pinned[1], pinned[10], pinned[63]);
    std::printf("elapsed: %s, %s\n", cudaGetErrorName(timed), ms >= 0 ? "not negative" : "negative");
    std::printf("without timing: %s\n", cudaGetErrorName(cudaEventElapsedTime(&ms, start, middle)));
    std::printf("query: %s %s\n", cudaGetErrorName(cudaEventQuery(end)), cudaGetErrorName(cudaStreamQuery(first)));
    unsigned flags;
    cudaStreamGetFlags(second, &flags);
    std::printf("flags: %u\n", flags);
    cudaEventDestroy(start);
    cudaEventDestroy(middle);
    cudaEventDestroy(end);
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
    cudaFreeHost(pinned);
    cudaFree(device);
}
