// Puzzle 08: 2x2 max pooling, forward and backward
//
//   output[b,c,oh,ow]      = the largest of the four elements
//                            input[b,c,2*oh+ph,2*ow+pw] with ph and pw 0 or 1
//   max_indices[b,c,oh,ow] = ph*2 + pw of that element; if several are the largest,
//                            of the first of them
//   grad_input[b,c,h,w]    = grad_output[b,c,h/2,w/2] if max_indices[b,c,h/2,w/2] says
//                            that (h,w) was the largest of its window, else 0
//
// The windows do not overlap:  H_out = H / 2,  W_out = W / 2, rounded down.
// An odd last row or column lies in no window; its gradient is 0.
//
// Tensors, row-major (the last index varies fastest):
//   input, grad_input                 (batch, C, H,     W)
//   output, grad_output, max_indices  (batch, C, H_out, W_out)

// One thread computes one element of output and of max_indices. The grader launches
// blocks of 256 threads, ceil(batch*C*H_out*W_out / 256) of them.
__global__ void maxpool_forward(const float* input, float* output, int* max_indices,
                                int batch, int C, int H, int W)
{
    // TODO 1: work out the sizes H_out and W_out; find this thread's number; leave if
    //         no output element has it.

    // TODO 2: turn the number into the plane (sample and channel), oh and ow.

    // TODO 3: go through the four elements of the window, row by row, and keep the
    //         largest one and its place.

    // TODO 4: store both.
}

// One thread computes one element of grad_input. The grader launches blocks of 256
// threads, ceil(batch*C*H*W / 256) of them.
__global__ void maxpool_backward(const float* grad_output, const int* max_indices,
                                 float* grad_input, int batch, int C, int H, int W)
{
    // TODO 5: find this thread's number; leave if no input element has it. Turn it
    //         into the plane, h and w.

    // TODO 6: if the element lies in a window, and is the one that max_indices names,
    //         store the window's gradient; else store 0.
}
