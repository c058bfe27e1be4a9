// What lenet_passes.cuh declares: the kernels of puzzles 03 to 11, the data pipeline of 14, and the passes of 12 and 13.
#include "lenet_kernels.cu"
#include "lenet_passes.cuh"

#include "14_mnist_pipeline.cu"

// Both have helpers of the same names.
namespace forward_pass {
#include "12_lenet_forward.cu"
}
namespace backward_pass {
#include "13_lenet_backward.cu"
}

void lenet_forward(const float* d_input, LeNetParams& params, LeNetActivations& act,
                   int batch)
{
    forward_pass::lenet_forward(d_input, params, act, batch);
}

void lenet_backward(const float* d_input, const float* d_labels, LeNetParams& params,
                    LeNetActivations& act, LeNetGrads& grads,
                    LeNetGradActivations& grad_act, int batch)
{
    backward_pass::lenet_backward(d_input, d_labels, params, act, grads, grad_act, batch);
}
