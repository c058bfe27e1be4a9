// Puzzle 01: vector addition
//
//   C[i] = A[i] + B[i]   for every i from 0 to N-1
//
// A, B and C are vectors of N floats, in the GPU's memory.
//
// One thread computes one element of C. The grader launches blocks of 256 threads,
// ceil(N / 256) of them: the last block has threads with nothing to do.

__global__ void vector_add(float* A, float* B, float* C, int N)
{
    // TODO 1: find this thread's number in the whole grid, from blockIdx.x, blockDim.x
    //         and threadIdx.x.

    // TODO 2: leave if no element has this number.

    // TODO 3: add the two elements with this number, and store the sum.
}
