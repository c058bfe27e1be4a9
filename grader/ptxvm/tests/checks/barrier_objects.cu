// Barrier objects in shared memory. Compiled for sm_80 and for sm_90, which find the same.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline_primitives.h>

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void good_reversed_by_a_barrier(const float *in, float *out) {
    __shared__ Barrier bar;
    __shared__ float tile[64];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    tile[threadIdx.x] = in[threadIdx.x];
    bar.arrive_and_wait();
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_arrival_without_wait(const float *in, float *out) {
    __shared__ Barrier bar;
    __shared__ float tile[64];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    tile[threadIdx.x] = in[threadIdx.x];       // expect: SharedRace
    (void)bar.arrive();
    out[threadIdx.x] = tile[63 - threadIdx.x]; // expect: SharedRace
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_read_before_the_wait(const float *in, float *out) {
    __shared__ Barrier bar;
    __shared__ float tile[64];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    tile[threadIdx.x] = in[threadIdx.x]; // expect: SharedRace
    auto token = bar.arrive();
    float other = tile[63 - threadIdx.x]; // expect: SharedRace
    bar.wait(std::move(token));
    out[threadIdx.x] = other;
}

// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[32]
extern "C" __global__ void bad_one_warp_does_not_wait(const float *in, float *out) {
    __shared__ Barrier bar;
    __shared__ float tile[32];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    tile[threadIdx.x] = in[threadIdx.x];
    (void)bar.arrive();
    out[threadIdx.x] = tile[31 - threadIdx.x]; // expect: SharedRace
}

// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[32]
extern "C" __global__ void good_one_warp_waits(const float *in, float *out) {
    __shared__ Barrier bar;
    __shared__ float tile[32];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    for (int i = 0; i < 3; i++) {
        tile[threadIdx.x] = i == 0 ? in[threadIdx.x] : tile[threadIdx.x];
        bar.arrive_and_wait();
        float other = tile[31 - threadIdx.x];
        bar.arrive_and_wait();
        tile[threadIdx.x] = other;
    }
    out[threadIdx.x] = tile[threadIdx.x];
}

// The phase before the first one counts as over, so the first warp does not wait; the other finds itself in the next phase.
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_wait_for_the_wrong_parity(const float *in, float *out) {
    __shared__ Barrier bar;
    __shared__ float tile[64];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    tile[threadIdx.x] = in[threadIdx.x]; // expect: SharedRace
    (void)bar.arrive();
    bar.wait_parity(true); // expect: NeverCompletes
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void good_parities_in_turn(const float *in, float *out) {
    __shared__ Barrier bar;
    __shared__ float tile[2][64];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 4; i++) {
        tile[i % 2][threadIdx.x] = in[threadIdx.x] * i;
        (void)bar.arrive();
        bar.wait_parity(i % 2);
        sum += tile[i % 2][63 - threadIdx.x];
    }
    out[threadIdx.x] = sum;
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_parity_that_stays(const float *in, float *out) {
    __shared__ Barrier bar;
    __shared__ float tile[2][64];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 2; i++) {
        tile[i][threadIdx.x] = in[threadIdx.x] * i; // expect: SharedRace
        (void)bar.arrive();
        bar.wait_parity(0); // expect: NeverCompletes
        sum += tile[i][63 - threadIdx.x];
    }
    out[threadIdx.x] = sum;
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_more_expected_than_come(const float *in, float *out) {
    __shared__ Barrier bar;
    __shared__ float tile[64];
    if (threadIdx.x == 0) init(&bar, 128);
    __syncthreads();
    tile[threadIdx.x] = in[threadIdx.x];
    bar.arrive_and_wait(); // expect: NeverCompletes
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64] n=40
extern "C" __global__ void bad_some_return_before_they_arrive(const float *in, float *out, int n) {
    __shared__ Barrier bar;
    __shared__ float tile[64];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    if (threadIdx.x >= n) return;
    tile[threadIdx.x] = in[threadIdx.x];
    bar.arrive_and_wait(); // expect: NeverCompletes
    out[threadIdx.x] = tile[n - 1 - threadIdx.x];
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] zeros=f32[64] n=32
extern "C" __global__ void good_some_drop_out(const float *in, float *out, int n) {
    __shared__ Barrier bar;
    __shared__ float tile[64];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    if (threadIdx.x >= n) {
        bar.arrive_and_drop();
        return;
    }
    tile[threadIdx.x] = in[threadIdx.x];
    bar.arrive_and_wait();
    float other = tile[n - 1 - threadIdx.x];
    bar.arrive_and_wait();
    tile[threadIdx.x] = other;
    bar.arrive_and_wait();
    out[threadIdx.x] = tile[n - 1 - threadIdx.x];
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_initialised_by_all(const float *in, float *out) {
    __shared__ Barrier bar;
    __shared__ float tile[64];
    init(&bar, blockDim.x); // expect: InitialisedAgain, SharedRace
    __syncthreads();
    tile[threadIdx.x] = in[threadIdx.x];
    bar.arrive_and_wait();
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_not_initialised(const float *in, float *out) {
    __shared__ Barrier bar;
    __shared__ float tile[64];
    tile[threadIdx.x] = in[threadIdx.x]; // expect: SharedRace
    bar.arrive_and_wait(); // expect: NotInitialised
    out[threadIdx.x] = tile[63 - threadIdx.x]; // expect: SharedRace
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_no_syncthreads_after_init(const float *in, float *out) {
    __shared__ Barrier bar;
    __shared__ float tile[64];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    tile[threadIdx.x] = in[threadIdx.x];
    bar.arrive_and_wait(); // expect: SharedRace
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

struct Overrun {
    float tile[64];
    Barrier bar;
};

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_array_runs_over_the_barrier(const float *in, float *out) {
    __shared__ Overrun all;
    if (threadIdx.x == 0) init(&all.bar, blockDim.x);
    __syncthreads();
    all.tile[threadIdx.x + 1] = in[threadIdx.x]; // expect: Touched
    if (threadIdx.x == 0) all.tile[0] = 0;
    all.bar.arrive_and_wait(); // expect: SharedRace
    out[threadIdx.x] = all.tile[63 - threadIdx.x];
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_token_of_an_old_phase(const float *in, float *out) {
    __shared__ Barrier bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    auto first = bar.arrive();
    auto again = first;
    bar.wait(std::move(first));
    bar.arrive_and_wait();
    __syncthreads();
    bar.wait(std::move(again)); // expect: OldToken
    out[threadIdx.x] = in[threadIdx.x];
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_barrier_ends_too_early(const float *in, float *out) {
    __shared__ Barrier bar;
    __shared__ float tile[64];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    tile[threadIdx.x] = in[threadIdx.x];
    bar.arrive_and_wait(); // expect: NotInitialised, SharedRace
    if (threadIdx.x == 0) bar.~Barrier();
    out[threadIdx.x] = tile[63 - threadIdx.x]; // expect: SharedRace
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void good_barrier_made_twice(const float *in, float *out) {
    __shared__ Barrier bar;
    __shared__ float tile[64];
    for (int i = 0; i < 2; i++) {
        if (threadIdx.x == 0) init(&bar, blockDim.x);
        __syncthreads();
        tile[threadIdx.x] = in[threadIdx.x] + i;
        bar.arrive_and_wait();
        out[threadIdx.x] = tile[63 - threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0) bar.~Barrier();
    }
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[128] out=f32[64]
extern "C" __global__ void good_full_and_empty(const float *in, float *out) {
    __shared__ Barrier full, empty;
    __shared__ float tile[32];
    if (threadIdx.x == 0) {
        init(&full, blockDim.x);
        init(&empty, blockDim.x);
    }
    __syncthreads();
    float sum = 0;
    if (threadIdx.x < 32) {
        for (int i = 0; i < 4; i++) {
            empty.arrive_and_wait();
            tile[threadIdx.x] = in[i * 32 + threadIdx.x];
            (void)full.arrive();
        }
    } else {
        (void)empty.arrive();
        for (int i = 0; i < 4; i++) {
            full.arrive_and_wait();
            sum += tile[63 - threadIdx.x];
            if (i < 3) (void)empty.arrive();
        }
    }
    out[threadIdx.x] = sum;
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[128] out=f32[64]
extern "C" __global__ void bad_buffer_filled_before_it_is_empty(const float *in, float *out) {
    __shared__ Barrier full, empty;
    __shared__ float tile[32];
    if (threadIdx.x == 0) {
        init(&full, blockDim.x);
        init(&empty, blockDim.x);
    }
    __syncthreads();
    float sum = 0;
    if (threadIdx.x < 32) {
        for (int i = 0; i < 4; i++) {
            auto token = empty.arrive();
            tile[threadIdx.x] = in[i * 32 + threadIdx.x];
            empty.wait(std::move(token));
            (void)full.arrive();
        }
    } else {
        (void)empty.arrive();
        for (int i = 0; i < 4; i++) {
            full.arrive_and_wait();
            sum += tile[63 - threadIdx.x]; // expect: SharedRace
            if (i < 3) (void)empty.arrive();
        }
    }
    out[threadIdx.x] = sum;
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[128] out=f32[64]
extern "C" __global__ void bad_both_wait_for_each_other(const float *in, float *out) {
    __shared__ Barrier full, empty;
    __shared__ float tile[32];
    if (threadIdx.x == 0) {
        init(&full, blockDim.x);
        init(&empty, blockDim.x);
    }
    __syncthreads();
    float sum = 0;
    if (threadIdx.x < 32) {
        for (int i = 0; i < 4; i++) {
            empty.arrive_and_wait(); // expect: NeverCompletes
            tile[threadIdx.x] = in[i * 32 + threadIdx.x];
            (void)full.arrive();
        }
    } else {
        for (int i = 0; i < 4; i++) {
            full.arrive_and_wait(); // expect: NeverCompletes
            sum += tile[63 - threadIdx.x];
            (void)empty.arrive();
        }
    }
    out[threadIdx.x] = sum;
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void good_copy_with_a_barrier(const float *in, float *out) {
    __shared__ Barrier bar;
    __shared__ float tile[64];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(&tile[threadIdx.x], in + threadIdx.x, sizeof(float), bar);
    bar.arrive_and_wait();
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_copy_read_before_the_wait(const float *in, float *out) {
    __shared__ Barrier bar;
    __shared__ float tile[64];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(&tile[threadIdx.x], in + threadIdx.x, sizeof(float), bar); // expect: SharedRace
    auto token = bar.arrive();
    float other = tile[63 - threadIdx.x]; // expect: SharedRace
    bar.wait(std::move(token));
    out[threadIdx.x] = other;
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_own_copy_read_before_the_arrival(const float *in, float *out) {
    __shared__ Barrier bar;
    __shared__ float tile[64];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(&tile[threadIdx.x], in + threadIdx.x, sizeof(float), bar);
    out[threadIdx.x] = tile[threadIdx.x]; // expect: InFlight
    bar.arrive_and_wait();
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[128] out=f32[64]
extern "C" __global__ void bad_next_copy_before_all_have_read(const float *in, float *out) {
    __shared__ Barrier bar;
    __shared__ float tile[64];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 2; i++) {
        cuda::memcpy_async(&tile[threadIdx.x], in + i * 64 + threadIdx.x, sizeof(float), bar); // expect: SharedRace
        bar.arrive_and_wait();
        sum += tile[63 - threadIdx.x]; // expect: InFlight, SharedRace
    }
    out[threadIdx.x] = sum;
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void good_primitives(const float *in, float *out) {
    __shared__ __mbarrier_t bar;
    __shared__ float tile[64];
    if (threadIdx.x == 0) __mbarrier_init(&bar, 64);
    __syncthreads();
    __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], sizeof(float));
    __pipeline_arrive_on(&bar);
    auto token = __mbarrier_arrive(&bar);
    while (!__mbarrier_test_wait(&bar, token)) {
    }
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

// The barrier hears of the arrivals, not of the copies.
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_copies_do_not_arrive(const float *in, float *out) {
    __shared__ __mbarrier_t bar;
    __shared__ float tile[64];
    if (threadIdx.x == 0) __mbarrier_init(&bar, 64);
    __syncthreads();
    __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], sizeof(float));
    auto token = __mbarrier_arrive(&bar);
    while (!__mbarrier_test_wait(&bar, token)) {
    }
    out[threadIdx.x] = tile[63 - threadIdx.x]; // expect: InFlight
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[256] out=f32[64]
extern "C" __global__ void good_stages_of_a_pipeline(const float *in, float *out) {
    __shared__ alignas(16) float tile[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    float sum = 0;
    for (int i = 0; i <= 4; i++) {
        if (i < 4) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, tile[i % 2], in + i * 64, sizeof tile[0], pipe);
            pipe.producer_commit();
        }
        if (i == 0) continue;
        pipe.consumer_wait();
        sum += tile[(i - 1) % 2][63 - threadIdx.x];
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[256] out=f32[64]
extern "C" __global__ void bad_stage_read_without_wait(const float *in, float *out) {
    __shared__ alignas(16) float tile[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    float sum = 0;
    for (int i = 0; i < 2; i++) {
        pipe.producer_acquire();
        cuda::memcpy_async(block, tile[i], in + i * 64, sizeof tile[0], pipe);
        pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += tile[1][63 - threadIdx.x]; // expect: SharedRace
    pipe.consumer_release();
    pipe.consumer_wait();
    sum += tile[0][63 - threadIdx.x];
    pipe.consumer_release();
    out[threadIdx.x] = sum;
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[256] out=f32[64]
extern "C" __global__ void bad_stages_never_released(const float *in, float *out) {
    __shared__ alignas(16) float tile[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int i = 0; i < 3; i++) {
        pipe.producer_acquire(); // expect: NeverCompletes
        cuda::memcpy_async(block, tile[i % 2], in + i * 64, sizeof tile[0], pipe);
        pipe.producer_commit();
    }
    pipe.consumer_wait();
    out[threadIdx.x] = tile[0][63 - threadIdx.x];
    pipe.consumer_release();
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[128] out=f32[64]
extern "C" __global__ void good_copy_of_the_group(const float *in, float *out) {
    __shared__ alignas(16) float tile[2][64];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile[0], in, sizeof tile[0]);
    cg::memcpy_async(block, tile[1], in + 64, sizeof tile[1]);
    cg::wait_prior<1>(block);
    float sum = tile[0][63 - threadIdx.x];
    cg::wait(block);
    out[threadIdx.x] = sum + tile[1][63 - threadIdx.x];
}

// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[128] out=f32[64]
extern "C" __global__ void bad_group_waits_for_the_first_copy_only(const float *in, float *out) {
    __shared__ alignas(16) float tile[2][64];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile[0], in, sizeof tile[0]);
    cg::memcpy_async(block, tile[1], in + 64, sizeof tile[1]);
    cg::wait_prior<1>(block);
    out[threadIdx.x] = tile[0][63 - threadIdx.x] + tile[1][63 - threadIdx.x]; // expect: InFlight
}
