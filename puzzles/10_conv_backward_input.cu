// Puzzle 10: the gradient of a 2D convolution with respect to its input
//
//   grad_input[b,c,h,w] = sum over k, fh, fw of
//                         grad_output[b,k,h-fh,w-fw] * filters[k,c,fh,fw]
//
// over those fh, fw for which (h-fh, w-fw) is an output position:
//   0 <= h-fh < H_out  and  0 <= w-fw < W_out
//   where H_out = H - F + 1 and W_out = W - F + 1.
//
// Tensors, row-major (the last index varies fastest):
//   grad_output  (batch, C_out, H_out, W_out)
//   filters      (C_out, C_in,  F,     F)
//   grad_input   (batch, C_in,  H,     W)
//
// One thread computes one element of grad_input. The grader launches blocks of 256
// threads, ceil(batch*C_in*H*W / 256) of them: the last block has threads with
// nothing to do.

__global__ void conv2d_backward_input(const float* grad_output, const float* filters,
                                      float* grad_input, int batch, int C_in,
                                      int H, int W, int C_out, int F)
{
    // TODO 1: find this thread's number in the whole grid; leave if no element has it.

    // TODO 2: turn the number into the coordinates b, c, h and w of an input element.

    // TODO 3: work out the sizes H_out and W_out of grad_output.

    // TODO 4: for every output channel k and filter element (fh, fw), find the output
    //         position that met this input element there. If it exists, add its
    //         gradient times the weight.

    // TODO 5: store the sum.
}
