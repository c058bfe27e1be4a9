// Tensor cores and asynchronous copies. Halves are the two parts of each word of an i32 buffer.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

using namespace nvcuda::wmma;

typedef fragment<matrix_a, 16, 16, 16, half, row_major> A;
typedef fragment<matrix_b, 16, 16, 16, half, col_major> B;
typedef fragment<accumulator, 16, 16, 16, float> C;

__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[256] out=f32[256]
extern "C" __global__ void good_tile(const int* in, float* out) {
    A a;
    B b;
    C c;
    fill_fragment(c, 1.0f);
    load_matrix_sync(a, (const half*)in, 16);
    load_matrix_sync(b, (const half*)in + 256, 16);
    mma_sync(c, a, b, c);
    store_matrix_sync(out, c, 16, mem_row_major);
}

// launch: grid=(1,1,1) block=(16,1,1) shared=0 out=f32[256]
extern "C" __global__ void bad_block_of_half_a_warp(float* out) {
    C c;
    fill_fragment(c, 1.0f);
    store_matrix_sync(out, c, 16, mem_row_major);  // expect: PartOfWarp
}

// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[256] out=f32[256]
extern "C" __global__ void bad_product_in_a_branch(const int* in, float* out) {
    A a;
    B b;
    C c;
    fill_fragment(c, 0.0f);
    load_matrix_sync(a, (const half*)in, 16);
    load_matrix_sync(b, (const half*)in + 256, 16);
    if (in[threadIdx.x] > 3) mma_sync(c, a, b, c);  // expect: PartOfWarp
    store_matrix_sync(out, c, 16, mem_row_major);
}

// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[512] out=f32[256]
extern "C" __global__ void bad_tile_of_each_lane(const int* in, float* out) {
    C c;
    load_matrix_sync(c, (const float*)in + threadIdx.x * 8, 16, mem_row_major);  // expect: UnevenOperands
    store_matrix_sync(out, c, 16, mem_row_major);
}

// launch: grid=(2,1,1) block=(32,1,1) shared=0 in=f32[511] out=f32[512]
extern "C" __global__ void bad_tile_past_the_end(const float* in, float* out) {
    C c;
    load_matrix_sync(c, in + blockIdx.x * 256, 16, mem_row_major);  // expect: OutOfBounds
    store_matrix_sync(out + blockIdx.x * 256, c, 16, mem_row_major);
}

// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[512] out=f32[256]
extern "C" __global__ void bad_odd_stride(const float* in, float* out) {
    C c;
    load_matrix_sync(c, in, 17, mem_row_major);  // expect: Misaligned
    store_matrix_sync(out, c, 16, mem_row_major);
}

// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[512] out=f32[512]
extern "C" __global__ void good_padded_stride(const float* in, float* out) {
    C c;
    load_matrix_sync(c, in, 20, mem_row_major);
    store_matrix_sync(out, c, 20, mem_col_major);
}

// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[256] out=f32[256]
extern "C" __global__ void bad_tile_at_an_odd_place(const float* in, float* out) {
    C c;
    fill_fragment(c, in[threadIdx.x]);
    store_matrix_sync(out + 4, c, 16, mem_row_major);  // expect: OutOfBounds
}

// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[256] out=f32[256]
extern "C" __global__ void bad_write_to_input(int* in, float* out) {
    C c;
    fill_fragment(c, 1.0f);
    store_matrix_sync((float*)in, c, 16, mem_row_major);  // expect: WriteToReadOnly
    store_matrix_sync(out, c, 16, mem_row_major);
}

// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[256] out=f32[256]
extern "C" __global__ void bad_half_a_tile_written(const float* in, float* out) {
    __shared__ alignas(32) float s[256];
    for (int i = 0; i < 4; i++) s[i * 32 + threadIdx.x] = in[i * 32 + threadIdx.x];
    __syncwarp();
    C c;
    load_matrix_sync(c, s, 16, mem_row_major);  // expect: Uninitialised
    store_matrix_sync(out, c, 16, mem_row_major);
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[512] out=f32[512]
extern "C" __global__ void bad_tile_before_the_barrier(const float* in, float* out) {
    __shared__ alignas(32) float s[512];
    for (int i = 0; i < 8; i++) {
        s[i * 64 + threadIdx.x] = in[i * 64 + threadIdx.x];  // expect: SharedRace
    }
    C c;
    load_matrix_sync(c, s + threadIdx.x / 32 * 256, 16, mem_row_major);  // expect: SharedRace
    store_matrix_sync(out + threadIdx.x / 32 * 256, c, 16, mem_row_major);
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[512] out=f32[512]
extern "C" __global__ void good_tile_behind_the_barrier(const float* in, float* out) {
    __shared__ alignas(32) float s[512];
    for (int i = 0; i < 8; i++) s[i * 64 + threadIdx.x] = in[i * 64 + threadIdx.x];
    __syncthreads();
    C c;
    load_matrix_sync(c, s + threadIdx.x / 32 * 256, 16, mem_row_major);
    store_matrix_sync(out + threadIdx.x / 32 * 256, c, 16, mem_row_major);
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 out=f32[256]
extern "C" __global__ void bad_two_warps_store_one_tile(float* out) {
    C c;
    fill_fragment(c, (float)(threadIdx.x / 32));
    store_matrix_sync(out, c, 16, mem_row_major);  // expect: GlobalRace
}

// launch: grid=(2,1,1) block=(32,1,1) shared=0 out=f32[256]
extern "C" __global__ void bad_two_blocks_store_one_tile(float* out) {
    C c;
    fill_fragment(c, (float)blockIdx.x);
    store_matrix_sync(out, c, 16, mem_row_major);  // expect: GlobalRace
}

// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[128] out=i32[32]
extern "C" __global__ void good_rows(const int* in, int* out) {
    __shared__ alignas(16) int s[32][4];
    for (int i = 0; i < 4; i++) s[threadIdx.x][i] = in[threadIdx.x * 4 + i];
    __syncwarp();
    int r;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(at(s[threadIdx.x % 8])));
    out[threadIdx.x] = r;
}

// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[128] out=i32[32]
extern "C" __global__ void bad_rows_before_the_warp_met(const int* in, int* out) {
    __shared__ alignas(16) int s[32][4];
    for (int i = 0; i < 4; i++) s[threadIdx.x][i] = in[threadIdx.x * 4 + i];
    int r;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(r) : "r"(at(s[threadIdx.x % 8 + 8])));  // expect: SharedRace
    out[threadIdx.x] = r;
}

// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[160] out=i32[32]
extern "C" __global__ void bad_rows_of_18_bytes(const int* in, int* out) {
    __shared__ alignas(16) int s[160];
    for (int i = 0; i < 5; i++) s[i * 32 + threadIdx.x] = in[i * 32 + threadIdx.x];
    __syncwarp();
    int r;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(r) : "r"(at((half*)s + threadIdx.x % 8 * 9)));  // expect: Misaligned
    out[threadIdx.x] = r;
}

// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[128] out=i32[32]
extern "C" __global__ void bad_rows_past_the_end(const int* in, int* out) {
    __shared__ alignas(16) int s[32][4];
    for (int i = 0; i < 4; i++) s[threadIdx.x][i] = in[threadIdx.x * 4 + i];
    __syncwarp();
    int r;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(r) : "r"(at(s[threadIdx.x % 8 + 25])));  // expect: OutOfBounds
    out[threadIdx.x] = r;
}

// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[128] out=i32[32]
extern "C" __global__ void bad_rows_of_half_a_warp(const int* in, int* out) {
    __shared__ alignas(16) int s[32][4];
    for (int i = 0; i < 4; i++) s[threadIdx.x][i] = in[threadIdx.x * 4 + i];
    __syncwarp();
    int r = 0;
    if (threadIdx.x < 16) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                     : "=r"(r) : "r"(at(s[threadIdx.x % 8])));  // expect: PartOfWarp
    }
    out[threadIdx.x] = r;
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void good_copy(const float* in, float* out) {
    __shared__ float s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void good_copy_for_oneself(const float* in, float* out) {
    __shared__ float s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = s[threadIdx.x];
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void good_copy_for_the_warp(const float* in, float* out) {
    __shared__ float s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
    out[threadIdx.x] = s[threadIdx.x ^ 31];
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void good_copy_that_nobody_reads(const float* in, float* out) {
    __shared__ float s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 4);
    out[threadIdx.x] = 1.0f;
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_copy_without_a_wait(const float* in, float* out) {
    __shared__ float s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];  // expect: InFlight
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_copy_without_a_commit(const float* in, float* out) {
    __shared__ float s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_wait_prior(0);
    out[threadIdx.x] = s[threadIdx.x];  // expect: InFlight
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[128] out=f32[64]
extern "C" __global__ void bad_wait_for_too_few(const float* in, float* out) {
    __shared__ float s[2][64];
    for (int i = 0; i < 2; i++) {
        __pipeline_memcpy_async(&s[i][threadIdx.x], &in[i * 64 + threadIdx.x], 4);
        __pipeline_commit();
    }
    __pipeline_wait_prior(1);
    __syncthreads();
    out[threadIdx.x] = s[0][63 - threadIdx.x]
        + s[1][63 - threadIdx.x];  // expect: InFlight
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_copy_without_a_barrier(const float* in, float* out) {
    __shared__ float s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 4);  // expect: SharedRace
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = s[63 - threadIdx.x];  // expect: SharedRace
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[128] out=f32[64]
extern "C" __global__ void bad_copy_into_what_is_read(const float* in, float* out) {
    __shared__ float s[64];
    float sum = 0;
    for (int i = 0; i < 2; i++) {
        __pipeline_memcpy_async(&s[threadIdx.x], &in[i * 64 + threadIdx.x], 4);  // expect: SharedRace
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        sum += s[63 - threadIdx.x];  // expect: SharedRace
    }
    out[threadIdx.x] = sum;
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_store_into_a_copy(const float* in, float* out) {
    __shared__ float s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    s[threadIdx.x] = 0;  // expect: InFlight
    __pipeline_wait_prior(0);
    out[threadIdx.x] = s[threadIdx.x];
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_copy_past_the_input(const float* in, float* out) {
    __shared__ float s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &in[threadIdx.x + 1], 4);  // expect: OutOfBounds
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (threadIdx.x < 63) out[threadIdx.x] = s[threadIdx.x];
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[65] out=f32[64]
extern "C" __global__ void bad_copy_past_the_array(const float* in, float* out) {
    __shared__ float s[64];
    __pipeline_memcpy_async(&s[threadIdx.x + 1], &in[threadIdx.x], 4);  // expect: OutOfBounds
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (threadIdx.x < 63) out[threadIdx.x] = s[threadIdx.x + 1];
}

// launch: grid=(1,1,1) block=(15,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_copy_from_an_odd_place(const float* in, float* out) {
    __shared__ alignas(16) float s[64];
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at(&s[threadIdx.x * 4])),
                 "l"(in + threadIdx.x * 4 + 1));  // expect: Misaligned
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[threadIdx.x] = 0;
}

// launch: grid=(1,1,1) block=(15,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_copy_to_an_odd_place(const float* in, float* out) {
    __shared__ alignas(16) float s[64];
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at(&s[threadIdx.x * 4 + 2])),
                 "l"(in + threadIdx.x * 4));  // expect: Misaligned
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[threadIdx.x] = 0;
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 out=f32[64]
extern "C" __global__ void bad_copy_of_what_nobody_wrote(float* out) {
    __shared__ float s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &out[threadIdx.x], 4);  // expect: Uninitialised
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = s[threadIdx.x];
}

// launch: grid=(1,1,1) block=(16,1,1) shared=0 in=f32[62] out=f32[64] n=62
extern "C" __global__ void good_copy_at_the_edge(const float* in, float* out, int n) {
    __shared__ alignas(16) float s[64];
    int i = threadIdx.x * 4;
    int inside = min(max(n - i, 0), 4);
    __pipeline_memcpy_async(&s[i], &in[i], 16, 16 - 4 * inside);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int j = 0; j < 4; j++) out[i + j] = s[63 - i - j];
}

// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[62] out=f32[128] n=62
extern "C" __global__ void good_copy_of_nothing(const float* in, float* out, int n) {
    __shared__ alignas(16) float s[128];
    int i = threadIdx.x * 4;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at(&s[i])), "l"(in + i),
                 "r"(i + 4 <= n ? 16 : 0));
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    for (int j = 0; j < 4; j++) out[i + j] = s[127 - i - j];
}

// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=f32[1024] out=f32[128]
extern "C" __global__ void good_pipeline(const float* in, float* out) {
    __shared__ float s[3][64];
    const float* mine = in + blockIdx.x * 512;
    float sum = 0;
    for (int i = 0; i < 2; i++) {
        __pipeline_memcpy_async(&s[i][threadIdx.x], &mine[i * 64 + threadIdx.x], 4);
        __pipeline_commit();
    }
    for (int i = 0; i < 8; i++) {
        __pipeline_wait_prior(1);
        __syncthreads();
        if (i + 2 < 8) {
            __pipeline_memcpy_async(&s[(i + 2) % 3][threadIdx.x], &mine[(i + 2) * 64 + threadIdx.x], 4);
        }
        // An empty group keeps the count.
        __pipeline_commit();
        sum += s[i % 3][63 - threadIdx.x];
    }
    out[blockIdx.x * 64 + threadIdx.x] = sum;
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[512] out=f32[64]
extern "C" __global__ void bad_pipeline_of_two_buffers(const float* in, float* out) {
    __shared__ float s[2][64];
    float sum = 0;
    for (int i = 0; i < 2; i++) {
        __pipeline_memcpy_async(&s[i][threadIdx.x], &in[i * 64 + threadIdx.x], 4);
        __pipeline_commit();
    }
    for (int i = 0; i < 8; i++) {
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += s[i % 2][63 - threadIdx.x];  // expect: InFlight, SharedRace
        if (i + 2 < 8) {
            __pipeline_memcpy_async(&s[i % 2][threadIdx.x], &in[(i + 2) * 64 + threadIdx.x], 4);  // expect: SharedRace
        }
        __pipeline_commit();
    }
    out[threadIdx.x] = sum;
}

// What follows came after the comparison with compute-sanitizer.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[256] out=f32[64]
extern "C" __global__ void good_copies_of_a_group(const float* in, float* out) {
    __shared__ alignas(16) float s[2][64];
    cg::thread_block block = cg::this_thread_block();
    float sum = 0;
    cg::memcpy_async(block, s[0], in, sizeof s[0]);
    for (int i = 0; i < 4; i++) {
        if (i + 1 < 4) {
            cg::memcpy_async(block, s[(i + 1) % 2], in + (i + 1) * 64, sizeof s[0]);
            cg::wait_prior<1>(block);
        } else {
            cg::wait(block);
        }
        sum += s[i % 2][63 - threadIdx.x];
        block.sync();
    }
    out[threadIdx.x] = sum;
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void good_pipeline_of_a_thread(const float* in, float* out) {
    __shared__ float s[64];
    auto pipe = cuda::make_pipeline();
    pipe.producer_acquire();
    cuda::memcpy_async(&s[threadIdx.x], &in[threadIdx.x], cuda::aligned_size_t<4>(4), pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
    pipe.consumer_release();
}

// Tiles of eight columns, whose neighbours are 16 bytes apart.
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[512] out=f32[512]
extern "C" __global__ void good_tiles_of_eight_columns(const int* in, float* out) {
    __shared__ alignas(32) half s[16 * 24];
    const half* b = (const half*)in;
    for (int i = threadIdx.x; i < 16 * 16; i += 32) s[i / 16 * 24 + i % 16 + 8] = b[i];
    __syncwarp();
    fragment<matrix_a, 32, 8, 16, half, row_major> a;
    fragment<matrix_b, 32, 8, 16, half, row_major> in_shared, in_global;
    fragment<accumulator, 32, 8, 16, float> c;
    fill_fragment(c, 0.0f);
    load_matrix_sync(a, (const half*)in + 512, 16);
    for (int i = 8; i < 24; i += 8) {
        load_matrix_sync(in_shared, s + i, 24);
        load_matrix_sync(in_global, b + i - 8, 16);
        mma_sync(c, a, in_shared, c);
        mma_sync(c, a, in_global, c);
        store_matrix_sync(out + i - 8, c, 16, mem_row_major);
    }
}

// A GPU takes two halves at once from global memory, eight from shared memory.
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[256] out=f32[256]
extern "C" __global__ void good_tile_of_global_memory_at_the_second_word(const int* in, float* out) {
    A a;
    B b;
    C c;
    fill_fragment(c, 0.0f);
    load_matrix_sync(a, (const half*)(in + 1), 18);
    load_matrix_sync(b, (const half*)(in + 1), 18);
    mma_sync(c, a, b, c);
    store_matrix_sync(out, c, 16, mem_row_major);
}

// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[256] out=f32[256]
extern "C" __global__ void bad_tile_of_shared_memory_at_the_second_word(const int* in, float* out) {
    __shared__ alignas(32) int s[256];
    for (int i = threadIdx.x; i < 256; i += 32) s[i] = in[i];
    __syncwarp();
    A a;
    B b;
    C c;
    fill_fragment(c, 0.0f);
    load_matrix_sync(a, (const half*)(s + 1), 16);  // expect: Misaligned
    load_matrix_sync(b, (const half*)s, 20);  // expect: Misaligned
    mma_sync(c, a, b, c);
    store_matrix_sync(out, c, 16, mem_row_major);
}
