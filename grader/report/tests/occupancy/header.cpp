// The same table as gpu.cu's by the calculator in CUDA's own header, for architectures without a GPU at hand.
// g++ -I $CUDA/include header.cpp -o header && ./header > header.tsv
#include <cstdio>
#include "cuda_occupancy.h"
#include "sizes.h"

struct Gpu {
    int sm, threads;
    size_t shared, optin, reserved;
};
static const Gpu GPUS[] = {{75, 1024, 65536, 65536, 0},
                           {80, 2048, 167936, 166912, 1024},
                           {86, 1536, 102400, 101376, 1024},
                           {89, 1536, 102400, 101376, 1024},
                           {90, 2048, 233472, 232448, 1024}};
// Registers, static shared memory, barriers.
static const int KERNELS[][3] = {{10, 0, 0},  {16, 0, 0},  {24, 0, 0},    {32, 0, 0},    {33, 0, 0},    {40, 0, 0},    {48, 0, 0},  {56, 0, 0},
                                 {64, 0, 0},  {72, 0, 0},  {80, 0, 0},    {96, 0, 0},    {104, 0, 0},   {128, 0, 0},   {130, 0, 0}, {168, 0, 0},
                                 {200, 0, 0}, {255, 0, 0}, {20, 4, 1},    {20, 4000, 1}, {40, 8192, 1}, {72, 18000, 1}, {96, 49152, 1},
                                 {16, 0, 2},  {16, 0, 3},  {16, 0, 8},    {16, 0, 16}};

int main() {
    printf("# cuda_occupancy.h of CUDA 13.0\n");
    head();
    for (const Gpu &gpu : GPUS)
        for (auto &[registers, shared, barriers] : KERNELS)
            for (int threads : THREADS) {
                cudaOccDeviceProp properties;
                properties.computeMajor = gpu.sm / 10;
                properties.computeMinor = gpu.sm % 10;
                properties.maxThreadsPerBlock = 1024;
                properties.maxThreadsPerMultiprocessor = gpu.threads;
                properties.regsPerBlock = properties.regsPerMultiprocessor = 65536;
                properties.warpSize = 32;
                properties.sharedMemPerBlock = 49152;
                properties.sharedMemPerMultiprocessor = gpu.shared;
                properties.numSms = 100;
                properties.sharedMemPerBlockOptin = gpu.optin;
                properties.reservedSharedMemPerBlock = gpu.reserved;
                cudaOccFuncAttributes its;
                its.maxThreadsPerBlock = 1024;
                its.numRegs = registers;
                its.sharedSizeBytes = shared;
                its.partitionedGCConfig = PARTITIONED_GC_OFF;
                its.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
                its.maxDynamicSharedSizeBytes = gpu.optin - shared;
                its.numBlockBarriers = barriers;
                cudaOccDeviceState state;
                printf("%d\t%d\t%d\t%d\t%d", gpu.sm, registers, shared, barriers, threads);
                for (int dynamic : DYNAMIC) {
                    cudaOccResult result;
                    if (dynamic + shared > gpu.optin ||
                        cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &its, &state, threads, dynamic) != CUDA_OCC_SUCCESS)
                        printf("\t-");
                    else
                        printf("\t%d", result.activeBlocksPerMultiprocessor);
                }
                printf("\n");
            }
}
