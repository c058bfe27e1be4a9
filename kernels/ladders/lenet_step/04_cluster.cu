// Step 4 of 4: two blocks for each image. For compute capability 9.0.
// What changed: a cluster of two blocks has an image, so 128 multiprocessors work instead of 64. Each has half of conv2's maps, and so half
// of the inputs of fc1 and half of their weights; both compute conv1, fc2, fc3 and the loss. They exchange the sums of fc1 on the way there,
// and the gradients of pool1 on the way back, through distributed shared memory. The rest is step 3's, with BLOCKS = 2.
// Predicted: half of step 3's 5 us for an image, and half a microsecond for two barriers of the cluster.
// Measured: 17.4 us, 14.1 times as fast as PyTorch, 24,900 clocks instead of 36,000. In an earlier version, bulk copies of fc1's half
// rows, 120 that one warp asks for, were 2 us slower than cp.async.

#define BLOCKS 2
struct Shared;

// The same place in the other block's shared memory.
__device__ Shared* other_block(Shared* s)
{
    Shared* there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(s), "r"(1 - blockIdx.x % 2));
    return there;
}

__device__ void arrive_at_cluster()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

__device__ void wait_for_cluster()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

#include "03_persistent.cu"
