// Puzzle 04: the rectified linear unit (ReLU), forward and backward
//
//   output[i]     = 0 if input[i] <= 0,  else input[i]
//   grad_input[i] = 0 if input[i] <= 0,  else grad_output[i]
//
// An input that is not a number (NaN) is not <= 0: it comes out as NaN, and lets the
// gradient pass.
//
// All tensors have n elements, whatever their shape was: each element is on its own.
//
// In both kernels one thread computes one element. The grader launches blocks of 256
// threads, ceil(n / 256) of them.

__global__ void relu_forward(const float* input, float* output, int n)
{
    // TODO 1: find this thread's element; leave if there is none.

    // TODO 2: store 0, or the input.
}

__global__ void relu_backward(const float* grad_output, const float* input,
                              float* grad_input, int n)
{
    // TODO 3: find this thread's element; leave if there is none.

    // TODO 4: store 0, or the gradient that arrives.
}
