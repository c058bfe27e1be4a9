// ANCHOR: all
// Puzzle 12, solution: twelve launches, each layer's output the next layer's input.

#include "lenet.h"
#include "lenet_kernels.cuh"

// ANCHOR: blocks
const int THREADS = 256; // of a block along one axis
const int TILE = 16;     // of a block along each of two axes

// How many blocks cover n elements?
unsigned blocks(int n, int block)
{
    return (n + block - 1) / block;
}
// ANCHOR_END: blocks

// ANCHOR: layers
void conv(const float* input, const float* filters, const float* bias, float* output,
          int batch, int C_in, int size, int C_out)
{
    int out = size - 5 + 1;
    int n = batch * C_out * out * out;
    conv2d_forward<<<blocks(n, THREADS), THREADS>>>(input, filters, bias, output, batch,
                                                    C_in, size, size, C_out, 5);
}

void relu(const float* input, float* output, int n)
{
    relu_forward<<<blocks(n, THREADS), THREADS>>>(input, output, n);
}

void pool(const float* input, float* output, int* indices, int batch, int C, int size)
{
    int n = batch * C * (size / 2) * (size / 2);
    maxpool_forward<<<blocks(n, THREADS), THREADS>>>(input, output, indices, batch, C,
                                                     size, size);
}

void fc(float* input, float* weights, float* bias, float* output, int batch,
        int in_features, int out_features)
{
    dim3 grid(blocks(out_features, TILE), blocks(batch, TILE));
    fc_forward<<<grid, dim3(TILE, TILE)>>>(input, weights, bias, output, batch,
                                           in_features, out_features);
}
// ANCHOR_END: layers

// ANCHOR: forward
void lenet_forward(const float* d_input, LeNetParams& params, LeNetActivations& act,
                   int batch)
{
    conv(d_input, params.conv1_w, params.conv1_b, act.conv1, batch, 1, 28, 6);
    relu(act.conv1, act.relu1, batch * 6 * 24 * 24);
    pool(act.relu1, act.pool1, act.pool1_indices, batch, 6, 24);

    conv(act.pool1, params.conv2_w, params.conv2_b, act.conv2, batch, 6, 12, 16);
    relu(act.conv2, act.relu2, batch * 16 * 8 * 8);
    pool(act.relu2, act.pool2, act.pool2_indices, batch, 16, 8);

    fc(act.pool2, params.fc1_w, params.fc1_b, act.fc1, batch, 256, 120);
    relu(act.fc1, act.relu3, batch * 120);
    fc(act.relu3, params.fc2_w, params.fc2_b, act.fc2, batch, 120, 84);
    relu(act.fc2, act.relu4, batch * 84);
    fc(act.relu4, params.fc3_w, params.fc3_b, act.logits, batch, 84, 10);
    softmax_forward<<<blocks(batch, THREADS), THREADS>>>(act.logits, act.probs, batch,
                                                         10);
}
// ANCHOR_END: forward
// ANCHOR_END: all
