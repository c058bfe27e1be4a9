// ANCHOR: all
// Puzzle 27, solution: one block per plane, with its sums in a float workspace.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// T is half or __nv_bfloat16.
template <typename T>
__device__ void backward(const T* dY, const int* idx, float* work, T* dX,
                         int out_plane, int in_plane)
{
    int plane = blockIdx.x;
    int outputs = plane * out_plane; // where the plane begins in dY and idx
    int inputs = plane * in_plane;   // and in work and dX

    // ANCHOR: zero
    for (int i = threadIdx.x; i < in_plane; i += blockDim.x)
        work[inputs + i] = 0.0f;
    __syncthreads(); // all zeros are there before the first gradient comes
    // ANCHOR_END: zero

    // ANCHOR: add
    for (int o = threadIdx.x; o < out_plane; o += blockDim.x) {
        int winner = idx[outputs + o];
        if (winner < 0) continue; // the window was all padding
        atomicAdd(&work[inputs + winner], static_cast<float>(dY[outputs + o]));
    }
    __syncthreads(); // all gradients are there before the first sum is read
    // ANCHOR_END: add

    // ANCHOR: round
    for (int j = threadIdx.x; j < in_plane; j += blockDim.x)
        dX[inputs + j] = static_cast<T>(work[inputs + j]); // the only rounding to 16 bits
    // ANCHOR_END: round
}

__global__ void maxpool2d_bwd_f16(const half* dY, const int* idx, float* work, half* dX,
                                  int out_plane, int in_plane)
{
    backward(dY, idx, work, dX, out_plane, in_plane);
}

__global__ void maxpool2d_bwd_bf16(const __nv_bfloat16* dY, const int* idx, float* work,
                                   __nv_bfloat16* dX, int out_plane, int in_plane)
{
    backward(dY, idx, work, dX, out_plane, in_plane);
}
// ANCHOR_END: all
