// Puzzle 07: the forward pass of a 2D convolution
//
//   output[b,k,oh,ow] = bias[k] + sum over c, fh, fw of
//                       input[b,c,oh+fh,ow+fw] * filters[k,c,fh,fw]
//
// Stride 1, no padding ("valid"):  H_out = H - F + 1,  W_out = W - F + 1.
//
// Tensors, row-major (the last index varies fastest):
//   input    (batch, C_in,  H,     W)
//   filters  (C_out, C_in,  F,     F)
//   bias     (C_out)
//   output   (batch, C_out, H_out, W_out)
//
// One thread computes one element of output. The grader launches blocks of 256 threads,
// ceil(batch*C_out*H_out*W_out / 256) of them: the last block has threads with
// nothing to do.

__global__ void conv2d_forward(const float* input, const float* filters,
                               const float* bias, float* output, int batch, int C_in,
                               int H, int W, int C_out, int F)
{
    // TODO 1: work out the sizes H_out and W_out of the output.

    // TODO 2: find this thread's number in the whole grid; leave if no element has it.

    // TODO 3: turn the number into the coordinates b, k, oh and ow of an output
    //         element.

    // TODO 4: start from this channel's bias, and add the products of the filter with
    //         the patch of the input that lies under it, over all input channels.

    // TODO 5: store the sum.
}
