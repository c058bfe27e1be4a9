// Puzzle 21: a convolution by tiles with a halo, and the filters in constant memory
//
//   Y[m,h,w] = sum over c, p, q of X[c,h+p,w+q] * filters[m,c,p,q]
//
// Tensors, row-major (the last index varies fastest):
//   X  (C, H, W)
//   Y  (M, H_out, W_out)          H_out = H - K + 1, W_out = W - K + 1
//
// The filters, (M, C, K, K) and row-major too, are in c_filters before the launch. They have
// 2,400 weights at most, and K is 7 at most.
//
// A block of 32x8 threads computes a tile of one output map, 32 columns and 8 rows; K-1 more
// columns and rows of pixels are the halo. The grader launches ceil(W_out/32) x ceil(H_out/8)
// x M blocks: blockIdx.x counts tiles to the right, blockIdx.y downwards, blockIdx.z filters.

#define TILE_W 32
#define TILE_H 8
#define MAX_K 7

__constant__ float c_filters[2400];

__global__ void conv2d_halo(const float* X, float* Y, int C, int H, int W, int M, int K)
{
    // TODO 1: declare a tile in shared memory with room for the halo. Find this block's filter,
    //         and the first row and column of its outputs.

    // TODO 2: for each channel
    //           load the (TILE_H + K - 1) x (TILE_W + K - 1) pixels that the block needs, 0
    //           where there is none; there are more pixels than threads;
    //           wait;
    //           add K*K products of pixels from the tile and weights from c_filters;
    //           wait again.

    // TODO 3: store the sum, if this thread has an output.
}
