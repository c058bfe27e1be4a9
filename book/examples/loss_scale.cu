// Which powers of two survive as halves, with three scales of the loss.
#include <cstdio>
#include <cuda_fp16.h>

// ANCHOR: kernel
// Thread i stands for a gradient of 2^(20-i). kept[i] tells whether it is above 0 and finite
// when it is stored as a half.
__global__ void store(bool* kept, float scale)
{
    int i = threadIdx.x;
    half g = __float2half(scale * exp2f(20.0f - i));
    kept[i] = __half2float(g) > 0.0f && !__hisinf(g);
}
// ANCHOR_END: kernel

int main()
{
    bool* kept;
    cudaMallocManaged(&kept, 64);
    for (float scale : {1.0f, 1024.0f, 65536.0f}) {
        store<<<1, 64>>>(kept, scale);
        cudaDeviceSynchronize();
        int first = 0, last = 63;
        while (!kept[first]) first++;
        while (!kept[last]) last--;
        printf("scale %5.0f: 2^%d to 2^%d\n", scale, 20 - first, 20 - last);
    }
    cudaFree(kept);
}
