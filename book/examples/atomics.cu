// 1,024 threads count themselves, in three ways.
#include <cstdio>

// ANCHOR: kernels
__global__ void lost(int* count)
{
    *count += 1; // read, add, write: three steps
}

__global__ void one_by_one(int* count)
{
    atomicAdd(count, 1);
}

__global__ void block_first(int* count)
{
    __shared__ int mine;
    if (threadIdx.x == 0) mine = 0;
    __syncthreads();
    atomicAdd(&mine, 1); // among 256 threads, in shared memory
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(count, mine);
}
// ANCHOR_END: kernels

int main()
{
    int* count;
    cudaMallocManaged(&count, 3 * sizeof(int));
    count[0] = count[1] = count[2] = 0;
    lost<<<4, 256>>>(count);
    one_by_one<<<4, 256>>>(count + 1);
    block_first<<<4, 256>>>(count + 2);
    cudaDeviceSynchronize();
    printf("lost %d, one_by_one %d, block_first %d\n",
           count[0], count[1], count[2]);
    cudaFree(count);
}
