// Cooperative groups: tiles, blocks, and a grid that waits for itself.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
namespace cg = cooperative_groups;

__global__ void tiles(const int* x, int* sums)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int sum = cg::reduce(tile, x[block.thread_rank()], cg::plus<int>());
    if (tile.thread_rank() == 0) sums[tile.meta_group_rank()] = sum;
}

__global__ void neighbours(int* x, int steps)
{
    auto grid = cg::this_grid();
    int i = grid.thread_rank(), n = grid.size();
    for (int s = 0; s < steps; s++) {
        int left = x[(i + n - 1) % n];
        grid.sync();
        x[i] = x[i] + left;
        grid.sync();
    }
}

int main()
{
    int host[256], *x, *sums;
    for (int i = 0; i < 256; i++) host[i] = i;
    cudaMalloc(&x, sizeof host);
    cudaMalloc(&sums, 32 * sizeof(int));
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    tiles<<<1, 256>>>(x, sums);
    cudaMemcpy(host, sums, 32 * sizeof(int), cudaMemcpyDeviceToHost);
    std::printf("tiles %d %d %d\n", host[0], host[1], host[31]);

    for (int i = 0; i < 256; i++) host[i] = i == 0;
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    int steps = 5;
    void* args[] = {&x, &steps};
    cudaError_t error = cudaLaunchCooperativeKernel((void*)neighbours, dim3(4), dim3(64), args, 0, 0);
    std::printf("cooperative: %s, %s\n", cudaGetErrorName(error), cudaGetErrorName(cudaDeviceSynchronize()));
    cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 7; i++) std::printf("%d ", host[i]);
    std::printf("\n");
    cudaFree(x);
    cudaFree(sums);
}
