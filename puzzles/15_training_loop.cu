// Puzzle 15: train LeNet
//
// Everything is there: the passes of puzzles 12 and 13, the data of 14, the update of 11.
// Here they become a program that learns to read digits.
//
//   xavier_init    draws the first weights of a layer
//   train_epoch    one step for each batch of a set: forward, loss, backward, update
//   evaluate       how many images of a set are recognised
//   training_loop  first weights, then epochs: shuffle, train, evaluate
//
// A MnistSet lies in the host's memory, LeNetParams point to device memory that is
// allocated. kernels/include/training.h has TrainConfig and LeNetWorkspace: device memory
// for a batch and all that lies between it and the gradients. lenet_passes.cuh declares:
//
//   lenet_forward(d_input, params, act, batch)                                       (12)
//   lenet_backward(d_input, d_labels, params, act, grads, grad_act, batch)           (13)
//   create_batches(set, batch_size), shuffle_data(set, seed), next_random(state)     (14)
//   cross_entropy_loss(probs, labels, losses, batch, num_classes), a kernel          (05)
//   sgd_update(weights, gradients, lr, n), a kernel                                  (11)

#include "lenet_passes.cuh"
#include "training.h"

#include <cmath>

// n weights, uniform between -limit and limit, limit = sqrt(6 / (fan_in + fan_out)).
// next_random(state) / 2^32 is a number from 0 to 1. The state goes on from call to call.
void xavier_init(float* d_weights, int n, int fan_in, int fan_out, uint32_t& state)
{
    // TODO 1: draw the weights on the host, then copy them to the device.
}

// A step for each batch of the set, in order. losses gets the mean loss of each batch.
void train_epoch(const MnistSet& set, const TrainConfig& config, LeNetParams& params,
                 float* losses)
{
    // TODO 2: for each batch: copy its images and labels to the device, the labels as rows
    //         of ten with one 1; run the forward pass, the loss and the backward pass.

    // TODO 3: update all ten parameters. lenet_backward sums the gradients over the batch;
    //         the step is along their mean. The last batch may have fewer images.
}

// The part of the images whose largest logit is that of their label, from 0 to 1.
float evaluate(const MnistSet& set, LeNetParams& params, int batch_size)
{
    // TODO 4
    return 0.0f;
}

// Draws all weights from config.seed, sets the biases to 0, and trains for config.epochs
// epochs, each in a new order. losses gets the loss of every batch, epoch after epoch, and
// accuracies what evaluate gives on the test set after each epoch.
void training_loop(MnistSet& train, const MnistSet& test, const TrainConfig& config,
                   LeNetParams& params, float* losses, float* accuracies)
{
    // TODO 5: fan_in and fan_out count what a neuron is fed by, and what it feeds: for a
    //         convolution C_in * F * F and C_out * F * F.
}
