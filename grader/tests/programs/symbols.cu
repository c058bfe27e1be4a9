// Variables of the device: constants, globals, managed ones, with first values, by address and by copy.
#include <cstdio>

__constant__ float weights[4] = {1, 2, 3, 4};
__device__ int counter = 5;
__device__ float table[8];
__managed__ int shared_by_both = 7;

__global__ void use(float* out)
{
    int i = threadIdx.x;
    out[i] = weights[i % 4] + table[i];
    atomicAdd(&counter, 1);
    if (i == 0) shared_by_both *= 6;
}

static void show(const char* what, float* device)
{
    float out[8];
    cudaMemcpy(out, device, sizeof out, cudaMemcpyDeviceToHost);
    std::printf("%s:", what);
    for (float x : out) std::printf(" %g", x);
    std::printf("\n");
}

int main()
{
    float* out;
    cudaMalloc(&out, 8 * sizeof(float));
    use<<<1, 8>>>(out);
    show("first values", out);

    float changed[2] = {30, 40};
    cudaMemcpyToSymbol(weights, changed, sizeof changed, 2 * sizeof(float));
    float* address;
    size_t size;
    cudaGetSymbolAddress((void**)&address, table);
    cudaGetSymbolSize(&size, table);
    float values[8] = {100, 200, 300, 400, 500, 600, 700, 800};
    cudaMemcpy(address, values, size, cudaMemcpyHostToDevice);
    use<<<1, 8>>>(out);
    show("changed", out);

    int count;
    float back[4];
    cudaMemcpyFromSymbol(&count, counter, sizeof count);
    cudaMemcpyFromSymbol(back, weights, sizeof back);
    std::printf("counter %d, table of %zu bytes, weights %g %g %g %g\n", count, size, back[0], back[1], back[2], back[3]);
    cudaDeviceSynchronize();
    std::printf("managed %d\n", shared_by_both);
    shared_by_both = 1;
    use<<<1, 1>>>(out);
    cudaDeviceSynchronize();
    std::printf("managed %d\n", shared_by_both);
    std::printf("past the end: %s\n", cudaGetErrorName(cudaMemcpyToSymbol(weights, values, 4, 16)));
    int local;
    std::printf("no symbol: %s\n", cudaGetErrorName(cudaGetSymbolSize(&size, local)));
    cudaFree(out);
}
