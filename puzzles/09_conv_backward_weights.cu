// Puzzle 09: the gradients of a 2D convolution with respect to its filters and its bias
//
//   grad_weights[k,c,fh,fw] = sum over b, oh, ow of
//                             grad_output[b,k,oh,ow] * input[b,c,oh+fh,ow+fw]
//   grad_bias[k]            = sum over b, oh, ow of grad_output[b,k,oh,ow]
//
// Stride 1, no padding ("valid"):  H_out = H - F + 1,  W_out = W - F + 1.
//
// Tensors, row-major (the last index varies fastest):
//   grad_output   (batch, C_out, H_out, W_out)
//   input         (batch, C_in,  H,     W)
//   grad_weights  (C_out, C_in,  F,     F)
//   grad_bias     (C_out)

// One thread computes one element of grad_weights. The grader launches blocks of 256
// threads, ceil(C_out*C_in*F*F / 256) of them.
__global__ void conv2d_backward_weights(const float* grad_output, const float* input,
                                        float* grad_weights, int batch, int C_in,
                                        int H, int W, int C_out, int F)
{
    // TODO 1: find this thread's number in the whole grid; leave if no weight has it.

    // TODO 2: turn the number into the coordinates k, c, fh and fw of a weight.

    // TODO 3: sum over every sample and every output position what this weight was
    //         multiplied by, times the gradient that arrives there.

    // TODO 4: store the sum.
}

// One thread computes one element of grad_bias. The grader launches blocks of 32
// threads, ceil(C_out / 32) of them.
__global__ void conv2d_backward_bias(const float* grad_output, float* grad_bias,
                                     int batch, int C_out, int H_out, int W_out)
{
    // TODO 5: find this thread's channel k; leave if there is none.

    // TODO 6: sum the gradient of channel k over every sample and every position, and
    //         store the sum.
}
