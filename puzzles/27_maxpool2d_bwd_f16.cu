// Puzzle 27: backward pass of max pooling in half precision, with a float workspace
//
//   dX[plane, i] = sum of dY[plane, o] over the outputs o with idx[plane, o] = i
//
// As in puzzle 24: idx is the position of the winner in its plane, or -1 if there is none.
// Now dY and dX have 16 bits, half in one kernel and __nv_bfloat16 in the other. Sums need
// more: they are kept in `work`, in floats, and rounded once at the end.
//
// Tensors, row-major:
//   dY, idx   (planes, out_plane)
//   work, dX  (planes, in_plane)
//
// The grader launches one block of 256 threads for each plane: blockIdx.x is the plane.
// Nothing has set work to zero.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void maxpool2d_bwd_f16(const half* dY, const int* idx, float* work, half* dX,
                                  int out_plane, int in_plane)
{
    // TODO 1: set the plane's part of work to zero. It may have more elements than the
    //         block has threads.

    // TODO 2: add the gradient of each window to its winner, in work. When may the first
    //         thread begin?

    // TODO 3: round the sums to half, and store them. When?
}

__global__ void maxpool2d_bwd_bf16(const __nv_bfloat16* dY, const int* idx, float* work,
                                   __nv_bfloat16* dX, int out_plane, int in_plane)
{
    // TODO 4: the same for bfloat16. A template function for both types saves the copy.
}
