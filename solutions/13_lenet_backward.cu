// ANCHOR: all
// Puzzle 13, solution: the layers in reverse, each layer's grad_output the grad_input of
// the layer after it.

#include "lenet.h"
#include "lenet_kernels.cuh"

const int THREADS = 256; // of a block along one axis
const int TILE = 16;     // of a block along each of two axes

// How many blocks cover n elements?
unsigned blocks(int n, int block)
{
    return (n + block - 1) / block;
}

// ANCHOR: fc
void fc_back(float* grad_output, float* input, float* weights, float* grad_weights,
             float* grad_bias, float* grad_input, int batch, int in_features,
             int out_features)
{
    dim3 per_weight(blocks(in_features, TILE), blocks(out_features, TILE));
    dim3 per_input(blocks(in_features, TILE), blocks(batch, TILE));
    fc_backward_weights<<<per_weight, dim3(TILE, TILE)>>>(
        grad_output, input, grad_weights, batch, in_features, out_features);
    fc_backward_bias<<<blocks(out_features, THREADS), THREADS>>>(grad_output, grad_bias,
                                                                 batch, out_features);
    fc_backward_input<<<per_input, dim3(TILE, TILE)>>>(
        grad_output, weights, grad_input, batch, in_features, out_features);
}
// ANCHOR_END: fc

// ANCHOR: relu
void relu_back(const float* grad_output, const float* input, float* grad_input, int n)
{
    relu_backward<<<blocks(n, THREADS), THREADS>>>(grad_output, input, grad_input, n);
}
// ANCHOR_END: relu

void pool_back(const float* grad_output, const int* indices, float* grad_input,
               int batch, int C, int size)
{
    int n = batch * C * size * size;
    maxpool_backward<<<blocks(n, THREADS), THREADS>>>(grad_output, indices, grad_input,
                                                      batch, C, size, size);
}

// ANCHOR: conv
void conv_back(const float* grad_output, const float* input, float* grad_filters,
               float* grad_bias, int batch, int C_in, int size, int C_out)
{
    int out = size - 5 + 1;
    int n = C_out * C_in * 5 * 5;
    conv2d_backward_weights<<<blocks(n, THREADS), THREADS>>>(
        grad_output, input, grad_filters, batch, C_in, size, size, C_out, 5);
    conv2d_backward_bias<<<blocks(C_out, THREADS), THREADS>>>(grad_output, grad_bias, batch,
                                                              C_out, out, out);
}
// ANCHOR_END: conv

// ANCHOR: backward
void lenet_backward(const float* d_input, const float* d_labels, LeNetParams& params,
                    LeNetActivations& act, LeNetGrads& grads,
                    LeNetGradActivations& grad_act, int batch)
{
    softmax_ce_backward<<<blocks(batch, THREADS), THREADS>>>(
        act.probs, d_labels, grad_act.logits, batch, 10);
    fc_back(grad_act.logits, act.relu4, params.fc3_w, grads.fc3_w, grads.fc3_b,
            grad_act.relu4, batch, 84, 10);
    relu_back(grad_act.relu4, act.fc2, grad_act.fc2, batch * 84);
    fc_back(grad_act.fc2, act.relu3, params.fc2_w, grads.fc2_w, grads.fc2_b,
            grad_act.relu3, batch, 120, 84);
    relu_back(grad_act.relu3, act.fc1, grad_act.fc1, batch * 120);
    fc_back(grad_act.fc1, act.pool2, params.fc1_w, grads.fc1_w, grads.fc1_b,
            grad_act.pool2, batch, 256, 120);

    pool_back(grad_act.pool2, act.pool2_indices, grad_act.relu2, batch, 16, 8);
    relu_back(grad_act.relu2, act.conv2, grad_act.conv2, batch * 16 * 8 * 8);
    conv_back(grad_act.conv2, act.pool1, grads.conv2_w, grads.conv2_b, batch, 6, 12, 16);
    int n = batch * 6 * 12 * 12;
    conv2d_backward_input<<<blocks(n, THREADS), THREADS>>>(
        grad_act.conv2, params.conv2_w, grad_act.pool1, batch, 6, 12, 12, 16, 5);

    pool_back(grad_act.pool1, act.pool1_indices, grad_act.relu1, batch, 6, 24);
    relu_back(grad_act.relu1, act.conv1, grad_act.conv1, batch * 6 * 24 * 24);
    conv_back(grad_act.conv1, d_input, grads.conv1_w, grads.conv1_b, batch, 1, 28, 6);
}
// ANCHOR_END: backward
// ANCHOR_END: all
