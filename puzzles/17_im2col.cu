// Puzzle 17: im2col, the patches of a convolution as the columns of a matrix
//
//   H_out = (H + 2*pad - K) / stride + 1        W_out = (W + 2*pad - K) / stride + 1
//   Xcol[(c*K + p)*K + q, oh*W_out + ow] = X[c, oh*stride + p - pad, ow*stride + q - pad]
//
// and 0 where that pixel is not in the image.
//
// Tensors, row-major (the last index varies fastest):
//   X     (C, H, W)
//   Xcol  (C*K*K, H_out*W_out)
//
// The grader launches blocks of 256 threads, as many as there are elements of Xcol, rounded up.

__global__ void im2col(const float* X, float* Xcol, int C, int H, int W, int K, int pad,
                       int stride)
{
    // TODO 1: compute H_out and W_out; leave if this thread has no element of Xcol.

    // TODO 2: turn the number of the element into ow, oh (the window) and q, p, c (the place
    //         in the window).

    // TODO 3: find the pixel, and store it, or 0 if it is outside the image.
}
