// Puzzle 26: backward pass of max pooling, by gathering
//
//   dX[n,c,h,w] = sum of dY[n,c,oh,ow] over the windows (oh,ow) with idx[n,c,oh,ow] = h*W + w
//
// idx is what puzzle 23 stores: the position, in its plane, of the element that won the
// window, or -1 if the window was all padding.
//
// Element (p,q) of the window (oh,ow) is the input element (h,w) with
//
//     h = oh*stride_h + p*dil_h - pad_h        w = ow*stride_w + q*dil_w - pad_w
//
// so for each p there is at most one row of windows in which (h,w) is in row p.
//
// Tensors, row-major (the last index varies fastest):
//   dX       (N, C, H,     W)
//   dY, idx  (N, C, H_out, W_out)
//
// One thread computes one element of dX. No other thread writes to it: there is no zeroing
// and no atomic addition, and every run gives the same bits. The grader launches blocks of
// 256 threads, ceil(N*C*H*W / 256) of them.

__global__ void maxpool2d_bwd_gather(const float* dY, const int* idx, float* dX,
                                     int N, int C, int H, int W,
                                     int H_out, int W_out, int pool_h, int pool_w,
                                     int stride_h, int stride_w,
                                     int pad_h, int pad_w, int dil_h, int dil_w)
{
    // TODO 1: find this thread's number; leave if no element of dX has it. Turn it into
    //         the plane (sample and channel), h and w.

    // TODO 2: for each p and q, find the window (oh,ow) whose element (p,q) this is. It
    //         may not exist.

    // TODO 3: if it does, and this element has won it, add its gradient.

    // TODO 4: store the sum, also if it is 0.
}
