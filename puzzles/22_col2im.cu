// Puzzle 22: col2im, the gradient of im2col, in two ways
//
// im2col (puzzle 17) copies pixels into the columns of a matrix:
//
//   Xcol[(c*K + p)*K + q, oh*W_out + ow] = X[c, oh*stride + p - pad, ow*stride + q - pad]
//
// col2im goes back. The gradient of a pixel is the sum of the gradients of its copies:
//
//   dX[c,h,w] = sum of dXcol[(c*K + p)*K + q, oh*W_out + ow]
//               over all p, q, oh, ow with oh*stride + p - pad = h, ow*stride + q - pad = w
//
// Tensors, row-major (the last index varies fastest):
//   dX     (C, H, W)
//   dXcol  (C*K*K, H_out*W_out)     H_out = (H + 2*pad - K) / stride + 1, W_out likewise
//
// All kernels have blocks of 256 threads, as many as are needed, rounded up.

// The first way is to scatter: a thread for each element of dXcol adds it to its pixel. This
// kernel is launched before, with a thread for each of the n elements of dX.
__global__ void zero_gradients(float* dX, int n)
{
    // TODO 1: set dX[0] to dX[n-1] to zero, one thread each.
}

__global__ void col2im_scatter(const float* dXcol, float* dX, int C, int H, int W, int K,
                               int pad, int stride)
{
    // TODO 2: find this thread's element of dXcol, and the pixel that it is a copy of, as in
    //         puzzle 17.

    // TODO 3: if the pixel is in the image, add the gradient to it. Other threads may add to
    //         it at the same time.
}

// The second way is to gather: a thread for each pixel finds its copies. It alone writes the
// pixel, so every run gives the same bits. dX has not been set to zero.
__global__ void col2im(const float* dXcol, float* dX, int C, int H, int W, int K, int pad,
                       int stride)
{
    // TODO 4: find this thread's pixel: c, h and w.

    // TODO 5: for each place (p, q) in a window, find the window that has the pixel there. If
    //         there is one, add the gradient of that copy.

    // TODO 6: store the sum.
}
