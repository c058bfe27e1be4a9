// Puzzle 16: forward pass of a convolution, on a grid of three axes
//
//   Y[n,m,h,w] = sum over c, p, q of X[n,c,h+p,w+q] * Wt[m,c,p,q]
//
// Tensors, row-major (the last index varies fastest):
//   X   (N, C, H, W)
//   Wt  (M, C, K, K)
//   Y   (N, M, H_out, W_out)          H_out = H - K + 1, W_out = W - K + 1
//
// An output map is cut into tiles of 16x16, W_grid of them side by side. The grader launches
// blocks of 16x16 threads: blockIdx.x is the filter (gridDim.x is M), blockIdx.y the number of
// the tile, row by row, and blockIdx.z the image. Tiles at the edge extend past the map.

#define TILE 16

__global__ void conv_layer_forward(int C, int H, int W, int K, int H_out, int W_out,
                                   int W_grid, const float* X, const float* Wt, float* Y)
{
    // TODO 1: find this thread's m, h, w and n; leave if there is no such output.

    // TODO 2: sum over c, p and q.

    // TODO 3: store the sum.
}
