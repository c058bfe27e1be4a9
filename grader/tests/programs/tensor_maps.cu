// Boxes of tensors whose maps the driver encodes: tiles with swizzling, and the columns of a convolution.
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>

__device__ unsigned address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

// Copies the box at (x, y), or a column of pixels at (x, y, 0) with these offsets, and passes on what came.
__global__ void copy(const __grid_constant__ CUtensorMap map, bool column, int x, int y, unsigned short dx, unsigned short dy, int* out)
{
    __shared__ alignas(128) int box[256];
    __shared__ alignas(8) unsigned long long barrier;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;\n\tfence.proxy.async;" ::"r"(address(&barrier)) : "memory");
        asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], 1024; }" ::"r"(address(&barrier)) : "memory");
        if (column)
            asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %3}], [%2], {%6, %7};"
                ::"r"(address(box)), "l"(&map), "r"(address(&barrier)), "r"(0), "r"(x), "r"(y), "h"(dx), "h"(dy) : "memory");
        else
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                ::"r"(address(box)), "l"(&map), "r"(address(&barrier)), "r"(x), "r"(y) : "memory");
    }
    __syncthreads();
    asm volatile("{ .reg .pred p;\n\tagain: mbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n\t@!p bra again; }" ::"r"(address(&barrier)) : "memory");
    for (int i = threadIdx.x; i < 256; i += blockDim.x) out[i] = box[i];
}

template <class F> F driver(const char* name)
{
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
    if (found != cudaDriverEntryPointSuccess) std::printf("no %s\n", name);
    return reinterpret_cast<F>(function);
}

int main()
{
    const int n = 4096;
    int *data, *out, host[n];
    cudaMalloc(&data, n * sizeof(int));
    cudaMalloc(&out, 256 * sizeof(int));
    for (int i = 0; i < n; i++) host[i] = i + 1;
    cudaMemcpy(data, host, n * sizeof(int), cudaMemcpyHostToDevice);
    auto tiled = driver<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
    auto columns = driver<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col");
    const auto type = CU_TENSOR_MAP_DATA_TYPE_INT32;
    const auto plain = CU_TENSOR_MAP_INTERLEAVE_NONE;
    const auto promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
    const auto zeros = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
    auto show = [&](const char* what, const CUtensorMap& map, bool column, int x, int y, int dx, int dy) {
        copy<<<1, 64>>>(map, column, x, y, dx, dy, out);
        cudaError_t error = cudaMemcpy(host, out, 256 * sizeof(int), cudaMemcpyDeviceToHost);
        std::printf("%s at %d %d by %d %d (%d):", what, x, y, dx, dy, error);
        for (int i = 0; i < 256; i += 17) std::printf(" %d", host[i]);
        std::printf("\n");
    };
    CUtensorMap map;
    // 64 x 64 words, boxes of 16 x 16 and of 32 x 8.
    cuuint64_t size[] = {64, 64}, stride[] = {256};
    cuuint32_t square[] = {16, 16}, wide[] = {32, 8}, ones[] = {1, 1, 1, 1};
    CUresult result = tiled(&map, type, 2, data, size, stride, square, ones, plain, CU_TENSOR_MAP_SWIZZLE_NONE, promotion, zeros);
    std::printf("%d\n", result);
    show("square", map, false, 16, 48, 0, 0);
    show("square", map, false, 56, -3, 0, 0);
    result = tiled(&map, type, 2, data, size, stride, wide, ones, plain, CU_TENSOR_MAP_SWIZZLE_128B, promotion, zeros);
    std::printf("%d\n", result);
    show("wide", map, false, 32, 5, 0, 0);
    // Four images of 8 x 8 pixels with 16 channels: columns of 16 pixels for a filter of 3 x 3 with padding.
    cuuint64_t images[] = {16, 8, 8, 4}, steps[] = {64, 512, 4096};
    int corner[] = {-1, -1};
    result = columns(&map, type, 4, data, images, steps, corner, corner, 16, 16, ones, plain, CU_TENSOR_MAP_SWIZZLE_NONE, promotion, zeros);
    std::printf("%d\n", result);
    show("column", map, true, -1, -1, 0, 0);
    show("column", map, true, -1, -1, 1, 1);
    show("column", map, true, 3, 5, 2, 2);
    // A row of 5 words is no multiple of 16 bytes.
    wide[0] = 5;
    std::printf("%d\n", tiled(&map, type, 2, data, size, stride, wide, ones, plain, CU_TENSOR_MAP_SWIZZLE_NONE, promotion, zeros));
    cudaFree(data);
    cudaFree(out);
}
