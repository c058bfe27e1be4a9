// Puzzle 06: the gradients of a fully connected layer
//
//   grad_weights[j,i] = sum over b of grad_output[b,j] * input[b,i]
//   grad_bias[j]      = sum over b of grad_output[b,j]
//   grad_input[b,i]   = sum over j of grad_output[b,j] * weights[j,i]
//
// Tensors, row-major (the last index varies fastest):
//   input,  grad_input    (batch, in_features)
//   weights, grad_weights (out_features, in_features)
//   grad_bias             (out_features)
//   grad_output           (batch, out_features)

// One thread computes one element of grad_weights. The grader launches blocks of 16x16
// threads: ceil(in_features / 16) blocks in x, ceil(out_features / 16) in y.
__global__ void fc_backward_weights(float* grad_output, float* input,
                                    float* grad_weights, int batch, int in_features,
                                    int out_features)
{
    // TODO 1: find this thread's weight, j from y and i from x; leave if there is none.

    // TODO 2: sum over the samples the gradient of output j times input i, and store
    //         the sum.
}

// One thread computes one element of grad_bias. The grader launches blocks of 256
// threads, ceil(out_features / 256) of them.
__global__ void fc_backward_bias(float* grad_output, float* grad_bias, int batch,
                                 int out_features)
{
    // TODO 3: find this thread's output feature j; leave if there is none.

    // TODO 4: sum its gradient over the samples, and store the sum.
}

// One thread computes one element of grad_input. The grader launches blocks of 16x16
// threads: ceil(in_features / 16) blocks in x, ceil(batch / 16) in y.
__global__ void fc_backward_input(float* grad_output, float* weights,
                                  float* grad_input, int batch, int in_features,
                                  int out_features)
{
    // TODO 5: find this thread's input, b from y and i from x; leave if there is none.

    // TODO 6: sum over the output features j the gradient times the weight through
    //         which this input went into it, and store the sum.
}
