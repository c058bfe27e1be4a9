// Puzzle 28: backward pass of the ReLU in half precision, two halves at a time
//
//   grad_input[i] = 0               if z[i] <= 0
//                   grad_output[i]  otherwise          for start <= i < start + n
//
// The three arrays hold the halves of many layers, one behind another. This kernel takes
// care of one layer, the n elements from `start` on, and leaves all others as they are.
//
// A half2 is two halves in one register, loaded and stored by one access of 32 bits. Its
// address must be a multiple of 4 bytes. The arrays themselves begin at such an address,
// so elements 0 and 1 form a half2, 2 and 3, 4 and 5; but not 1 and 2.
//
// The grader launches blocks of 256 threads, ceil((n/2 + 1) / 256) of them: enough for
// one thread for each pair that has an element in the slice.

#include <cuda_fp16.h>

__global__ void relu_bwd_half2(const half* grad_output, const half* z, half* grad_input,
                               int start, int n)
{
    // TODO 1: find the pair of this thread: elements i and i+1, where i is even. The
    //         first pair is the one that contains `start`. Leave if it lies past the end.

    // TODO 2: if both elements belong to the slice, load the pair from z and from
    //         grad_output, each as a half2, and store the result as a half2.

    // TODO 3: otherwise one of the two does: treat this one as a single half.
}
