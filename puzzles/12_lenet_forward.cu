// Puzzle 12: LeNet's forward pass, from images to probabilities
//
//   input (batch, 1, 28, 28)
//     -> conv1  (batch, 6, 24, 24)  -> ReLU relu1 -> max pooling pool1 (batch, 6, 12, 12)
//     -> conv2  (batch, 16, 8, 8)   -> ReLU relu2 -> max pooling pool2 (batch, 16, 4, 4)
//     -> fc1    (batch, 120)        -> ReLU relu3
//     -> fc2    (batch, 84)         -> ReLU relu4
//     -> logits (batch, 10)         -> softmax probs (batch, 10)
//
// This is host code: a function on the CPU that launches kernels on the GPU. The kernels
// are there already, they are those of the puzzles before:
//   conv2d_forward (07), relu_forward (04), maxpool_forward (08), fc_forward (03),
//   softmax_forward (05)
//
// All pointers are to device memory, which is allocated. The structures are in
// kernels/include/lenet.h. The function may return before the GPU is done.

#include "lenet.h"
#include "lenet_kernels.cuh"

void lenet_forward(const float* d_input, LeNetParams& params, LeNetActivations& act,
                   int batch)
{
    // TODO 1: conv1: launch conv2d_forward from d_input to act.conv1, with enough blocks
    //         of 256 threads for all elements of all samples.

    // TODO 2: relu_forward to act.relu1, maxpool_forward to act.pool1 and
    //         act.pool1_indices.

    // TODO 3: the same with conv2, relu2 and pool2.

    // TODO 4: fc1 and relu3, fc2 and relu4, then fc3 to act.logits. fc_forward runs in
    //         blocks of 16x16 threads: features in x, samples in y.

    // TODO 5: softmax_forward to act.probs: one thread per sample.
}
