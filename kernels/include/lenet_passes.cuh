// The passes of puzzles 12 and 13 and the data pipeline of 14, for the training of 15. The grader links those of the
// solutions (kernels/references/lenet_passes.cu).
#pragma once

#include "lenet.h"
#include "lenet_kernels.cuh"
#include "mnist.h"

void lenet_forward(const float* d_input, LeNetParams& params, LeNetActivations& act,
                   int batch);
void lenet_backward(const float* d_input, const float* d_labels, LeNetParams& params,
                    LeNetActivations& act, LeNetGrads& grads,
                    LeNetGradActivations& grad_act, int batch);
