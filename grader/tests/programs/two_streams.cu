// Two streams with every event that they need; an argument leaves out one of them.
#include <cstdio>
#include <cstring>

__global__ void fill(int* x, int value) { x[threadIdx.x] = value; }
__global__ void add(const int* x, int* sum) { sum[threadIdx.x] += x[threadIdx.x]; }

int main(int argc, char** argv)
{
    auto without = [&](const char* what) { return argc > 1 && !std::strcmp(argv[1], what); };
    const int n = 1024, bytes = n * sizeof(int);
    cudaStream_t first, second;
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    cudaStreamCreate(&second);
    cudaEvent_t filled, added;
    cudaEventCreate(&filled), cudaEventCreate(&added);
    int *x, *sum, *pinned;
    cudaMalloc(&x, bytes), cudaMalloc(&sum, bytes);
    cudaMallocHost(&pinned, bytes);

    cudaMemsetAsync(sum, 0, bytes, second);
    for (int i = 0; i < 3; i++) {
        if (i > 0 && !without("wait for the sum")) cudaStreamWaitEvent(first, added, 0);
        fill<<<1, n, 0, first>>>(x, i);
        cudaEventRecord(filled, first);
        if (!without("wait for the values")) cudaStreamWaitEvent(second, filled, 0);
        add<<<1, n, 0, second>>>(x, sum);
        cudaEventRecord(added, second);
    }
    // The halves are different memory: nothing need order these two.
    cudaMemsetAsync(x, 0, bytes / 2, second);
    cudaMemsetAsync(x + n / 2, 0, bytes / 2, without("halves") ? first : second);
    cudaMemcpyAsync(pinned, sum, bytes, cudaMemcpyDeviceToHost, second);
    if (!without("wait on the host")) cudaStreamSynchronize(second);
    const volatile int* result = pinned;
    int one = result[0], other = result[n - 1];
    std::printf("%d %d\n", one, other);
    cudaDeviceSynchronize();

    for (int i = 0; i < n; i++) pinned[i] = i;
    cudaMemcpyAsync(x, pinned, bytes, cudaMemcpyHostToDevice, second);
    if (!without("wait for the copy")) cudaEventRecord(filled, second), cudaEventSynchronize(filled);
    pinned[7] = 0;
    cudaDeviceSynchronize();

    int* managed;
    cudaMallocManaged(&managed, bytes);
    fill<<<1, n>>>(managed, 5);
    if (!without("wait for managed memory")) cudaDeviceSynchronize();
    one = static_cast<const volatile int*>(managed)[3];
    std::printf("%d\n", one);
    cudaDeviceSynchronize();
    cudaFree(x), cudaFree(sum), cudaFreeHost(pinned), cudaFree(managed);
    std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}
