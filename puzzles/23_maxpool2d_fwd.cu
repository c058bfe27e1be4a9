// Puzzle 23: max pooling in full: any window, stride, padding and dilation
//
//   The window of the output (oh,ow) has pool_h x pool_w elements. Its element (p,q) is
//   the input element (h,w) of the same sample and channel, with
//
//       h = oh*stride_h + p*dil_h - pad_h        w = ow*stride_w + q*dil_w - pad_w
//
//   An element for which h or w is outside the input is padding, and is left out.
//
//   Y[n,c,oh,ow]   = the largest element of the window
//   idx[n,c,oh,ow] = h*W + w of it, its place in the plane of H x W elements
//
// Of equal elements the first counts, row by row. NaN is larger than any number, and of
// several the first counts. A window that is all padding has Y = -infinity, idx = -1.
//
// Tensors, row-major (the last index varies fastest):
//   X       (N, C, H,     W)
//   Y, idx  (N, C, H_out, W_out)
//
// The number of windows is given. The last ones may reach over the lower or right edge.
//
// One thread computes one element of Y and of idx. The grader launches blocks of 256
// threads, ceil(N*C*H_out*W_out / 256) of them.

__global__ void maxpool2d_fwd(const float* X, float* Y, int* idx,
                              int N, int C, int H, int W, int H_out, int W_out,
                              int pool_h, int pool_w, int stride_h, int stride_w,
                              int pad_h, int pad_w, int dil_h, int dil_w)
{
    // TODO 1: find this thread's number; leave if no output element has it. Turn it
    //         into the plane (sample and channel), oh and ow.

    // TODO 2: go through the window row by row, without what lies in the padding, and
    //         keep the largest element and its place in the plane.

    // TODO 3: store both.
}
