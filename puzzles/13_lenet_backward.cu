// Puzzle 13: LeNet's backward pass, from the labels to the gradient of every parameter
//
// The activations of the forward pass (puzzle 12) are given. Go through the layers from
// the last to the first. Each one gets grad_output, the gradient of its output, and
// computes the gradients of its parameters and grad_input, the gradient of its input: the
// grad_output of the layer before it.
//
// The kernels are those of the puzzles before:
//   softmax_ce_backward (05): from probs and labels to the gradient of the logits
//   fc_backward_weights, fc_backward_bias, fc_backward_input (06)
//   relu_backward (04), which needs the ReLU's input
//   maxpool_backward (08), which needs the indices
//   conv2d_backward_weights, conv2d_backward_bias (09), conv2d_backward_input (10)
//
// All pointers are to device memory, which is allocated. d_labels is (batch, 10), one 1
// in each row. The structures are in kernels/include/lenet.h. Gradients of parameters are
// sums over the batch.

#include "lenet.h"
#include "lenet_kernels.cuh"

void lenet_backward(const float* d_input, const float* d_labels, LeNetParams& params,
                    LeNetActivations& act, LeNetGrads& grads,
                    LeNetGradActivations& grad_act, int batch)
{
    // TODO 1: softmax and loss: grad_act.logits.

    // TODO 2: fc3: grads.fc3_w, grads.fc3_b and grad_act.relu4. Its input was act.relu4.

    // TODO 3: the ReLU before it: grad_act.fc2. Then fc2, its ReLU, and fc1, which ends
    //         with grad_act.pool2.

    // TODO 4: the second pooling, its ReLU, and conv2: grads.conv2_w, grads.conv2_b and
    //         grad_act.pool1.

    // TODO 5: the first pooling, its ReLU, and conv1. The gradient of the image is not
    //         needed.
}
