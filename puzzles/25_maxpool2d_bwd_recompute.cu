// Puzzle 25: backward pass of max pooling, which finds the winners anew
//
//   dX[n,c,h,w] = sum of dY[n,c,oh,ow] over the windows (oh,ow) that (h,w) won
//
//   Element (p,q) of the window (oh,ow) is the input element (h,w) with
//
//       h = oh*stride_h + p*dil_h - pad_h        w = ow*stride_w + q*dil_w - pad_w
//
//   unless it lies outside the input. The largest wins; of equal ones the first, row by
//   row. NaN is larger than any number. A window that is all padding has no winner, and
//   its gradient goes nowhere. The forward pass, puzzle 23, chose in just this way.
//
// Tensors, row-major (the last index varies fastest):
//   X, dX  (N, C, H,     W)
//   dY     (N, C, H_out, W_out)

// Launched first, in blocks of 256 threads, with one thread for each element: nothing
// else has set dX to zero.
__global__ void zero_gradients(float* gradients, int n)
{
    // TODO 1: set gradients[0] to gradients[n-1] to zero, one thread each.
}

// One thread takes care of one window. The grader launches blocks of 256 threads,
// ceil(N*C*H_out*W_out / 256) of them.
__global__ void maxpool2d_bwd_recompute(const float* X, const float* dY, float* dX,
                                        int N, int C, int H, int W,
                                        int H_out, int W_out, int pool_h, int pool_w,
                                        int stride_h, int stride_w,
                                        int pad_h, int pad_w, int dil_h, int dil_w)
{
    // TODO 2: find this thread's number; leave if no window has it. Turn it into the
    //         plane (sample and channel), oh and ow.

    // TODO 3: find the winner of the window as the forward pass does; leave if there is
    //         none.

    // TODO 4: add the gradient to the winner. Another thread may add to it, too.
}
