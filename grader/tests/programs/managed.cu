// One pointer for both sides: managed memory, and pinned memory that is mapped.
#include <cstdio>

struct Node { int value; Node* next; };

__global__ void sum(const Node* list, int* total)
{
    int s = 0;
    for (const Node* node = list; node; node = node->next) s += node->value;
    *total = s;
}

__global__ void increment(int* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i]++;
}

int main()
{
    Node* nodes;
    int* total;
    cudaMallocManaged(&nodes, 10 * sizeof(Node));
    cudaMallocManaged(&total, sizeof(int));
    for (int i = 0; i < 10; i++) nodes[i] = {i * i, i < 9 ? &nodes[i + 1] : nullptr};
    sum<<<1, 1>>>(nodes, total);
    cudaDeviceSynchronize();
    std::printf("list %d\n", *total);

    int *mapped, *seen;
    cudaHostAlloc(&mapped, 100 * sizeof(int), cudaHostAllocMapped);
    for (int i = 0; i < 100; i++) mapped[i] = i;
    cudaHostGetDevicePointer(&seen, mapped, 0);
    increment<<<4, 32>>>(seen, 100);
    increment<<<4, 32>>>(seen, 50);
    cudaDeviceSynchronize();
    std::printf("mapped %d %d\n", mapped[0], mapped[99]);

    cudaPointerAttributes attributes;
    cudaPointerGetAttributes(&attributes, nodes);
    std::printf("managed: %d\n", attributes.type == cudaMemoryTypeManaged);
    int* device;
    cudaMalloc(&device, 4);
    cudaPointerGetAttributes(&attributes, device);
    std::printf("device: %d\n", attributes.type == cudaMemoryTypeDevice);
    cudaPointerGetAttributes(&attributes, &attributes);
    std::printf("host: %d\n", attributes.type == cudaMemoryTypeUnregistered);
    cudaMemcpy(device, total, 4, cudaMemcpyDefault);
    *total = 0;
    cudaMemcpy(total, device, 4, cudaMemcpyDefault);
    std::printf("copied %d\n", *total);
    cudaFree(nodes);
    cudaFree(total);
    cudaFree(device);
    cudaFreeHost(mapped);
}
