// Step 4 of 4: two blocks for each image. For compute capability 9.0; the virtual machine has no clusters.
// What changed: a cluster of two blocks has an image, so 128 multiprocessors work instead of 64. Each has half of conv2's maps, and so half
// of the inputs of fc1 and half of their weights; both compute conv1, fc2, fc3 and the loss. They exchange the sums of fc1 on the way there,
// and the gradients of pool1 on the way back, through distributed shared memory. Bulk copies bring the weights of the fully connected
// layers: a thread asks for a whole row. The rest is step 3's, with BLOCKS = 2.
// Predicted: half of step 3's 5 us for an image, and half a microsecond for two barriers of the cluster.
// Measured: not yet.

#define BLOCKS 2
struct Shared;
__device__ Shared* other_block(Shared* s);
__device__ void start_copies(Shared& s, const float* fc1_w, const float* fc2_w, const float* fc3_w, int rank);
__device__ void wait_for_copies(Shared& s);

__device__ void arrive_at_cluster()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

__device__ void wait_for_cluster()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

#include "03_persistent.cu"

// The same place in the other block's shared memory.
__device__ Shared* other_block(Shared* s)
{
    Shared* there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(s), "r"(1 - blockIdx.x % 2));
    return there;
}

__device__ unsigned address(const void* shared)
{
    return (unsigned)__cvta_generic_to_shared(shared);
}

// The copy engine takes what a thread asks for, a multiple of 16 bytes, and counts the bytes at a barrier object.
__device__ void bulk_copy(Shared& s, float* to, const float* from, int bytes)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(address(to)), "l"(from),
                 "r"(bytes), "r"(address(&s.copied))
                 : "memory");
}

__device__ void start_copies(Shared& s, const float* fc1_w, const float* fc2_w, const float* fc3_w, int rank)
{
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(address(&s.copied)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(address(&s.copied)), "r"(4 * (120 * INPUTS + 10080 + 840)) : "memory");
        bulk_copy(s, s.fc2_w, fc2_w, 4 * 10080);
        bulk_copy(s, s.fc3_w, fc3_w, 4 * 840);
    }
    if (threadIdx.x < 32) {
        __syncwarp();
        for (int o = threadIdx.x; o < 120; o += 32) bulk_copy(s, s.fc1_w + o * INPUTS, fc1_w + o * 256 + rank * INPUTS, 4 * INPUTS);
    }
}

__device__ void wait_for_copies(Shared& s)
{
    unsigned done = 0;
    while (!done)
        asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(address(&s.copied))
                     : "memory");
}
