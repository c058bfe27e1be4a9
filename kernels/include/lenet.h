// LeNet's buffers, for the puzzles with host code. All pointers are to device memory;
// all tensors are row-major, the last index varies fastest.
//
//   input 1x28x28
//     conv1 6 filters of 5x5   -> 6x24x24 -> ReLU -> max pooling 2x2 -> 6x12x12
//     conv2 16 filters of 5x5  -> 16x8x8  -> ReLU -> max pooling 2x2 -> 16x4x4 = 256
//     fc1 256 -> 120 -> ReLU, fc2 120 -> 84 -> ReLU, fc3 84 -> 10 -> softmax
#pragma once

// What is learned.
struct LeNetParams {
    float* conv1_w; // (6, 1, 5, 5)
    float* conv1_b; // (6)
    float* conv2_w; // (16, 6, 5, 5)
    float* conv2_b; // (16)
    float* fc1_w;   // (120, 256)
    float* fc1_b;   // (120)
    float* fc2_w;   // (84, 120)
    float* fc2_b;   // (84)
    float* fc3_w;   // (10, 84)
    float* fc3_b;   // (10)
};

// What the forward pass leaves behind, layer by layer: the backward pass needs it.
struct LeNetActivations {
    float* conv1;       // (batch, 6, 24, 24), before ReLU
    float* relu1;       // (batch, 6, 24, 24)
    float* pool1;       // (batch, 6, 12, 12)
    int* pool1_indices; // (batch, 6, 12, 12), 0 to 3: which of its window
    float* conv2;       // (batch, 16, 8, 8)
    float* relu2;       // (batch, 16, 8, 8)
    float* pool2;       // (batch, 16, 4, 4), which is (batch, 256) for fc1
    int* pool2_indices; // (batch, 16, 4, 4)
    float* fc1;         // (batch, 120), before ReLU
    float* relu3;       // (batch, 120)
    float* fc2;         // (batch, 84)
    float* relu4;       // (batch, 84)
    float* logits;      // (batch, 10), what fc3 gives
    float* probs;       // (batch, 10), after softmax
};

// The gradient of each parameter, of the shape of the parameter.
struct LeNetGrads {
    float *conv1_w, *conv1_b;
    float *conv2_w, *conv2_b;
    float *fc1_w, *fc1_b;
    float *fc2_w, *fc2_b;
    float *fc3_w, *fc3_b;
};

// The gradient of each activation, of the shape of the activation.
struct LeNetGradActivations {
    float* conv1;
    float* relu1;
    float* pool1;
    float* conv2;
    float* relu2;
    float* pool2;
    float* fc1;
    float* relu3;
    float* fc2;
    float* relu4;
    float* logits;
};
