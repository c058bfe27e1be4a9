// Puzzle 50: LeNet in mixed precision
//
// Puzzle 15 trained LeNet in float. Here weights, activations and gradients of activations
// are halves, all sums are floats, and master weights in float are what is trained.
//
//   bias_gradient  a kernel of yours adds up halves in float                     (33)
//   loss_fp16      the loss, and its gradient: scaled, then rounded to half      (05, 38)
//   forward_fp16   the layers as matrix products                                 (17, 46)
//   backward_fp16  the same in reverse                                           (13, 22)
//   update_fp16    a step that is taken as a whole or not at all                 (37, 38)
//   train_fp16     all of it, batch after batch                                  (15)
//
// kernels/include/mixed.h has MixedConfig and MixedNet: the device memory for a batch, the
// half copies of the weights, the gradients. mixed_kernels.cuh has the kernels:
//
//   gemm_half_nn, _nt, _tn   a matrix product on tensor cores, each factor as it lies (n) or
//                            turned (t): for the fully connected layers
//   thin_gemm_nn, _tn        a product whose first factor has few rows: convolutions
//   row_products             a product with few elements and long sums: their gradients
//   im2col_half, col2im_float   patches as columns, and back
//   bias_relu_pool, relu_pool_backward, bias_relu, relu_backward_half, add_bias
//   sgd_master (37), to_half
//
// It also declares create_batches (14). Its comments say how to launch each of them.

#include "mixed.h"
#include "mixed_kernels.cuh"

// sums[k] is the sum of `count` gradients of channel k, in float. Gradient i of channel k
// is g[k * per_channel + i * step].
void bias_gradient(const half* g, float* sums, int channels, int count, int per_channel,
                   int step)
{
    // TODO 1: a kernel, and its launch.
}

// losses[b] is the cross-entropy of image b, not scaled: the logarithm of the sum of
// exp(logits), minus the logit of the label. grad_logits (n, 10) is the gradient of the
// batch's mean loss, times scale, rounded to half once. logits (n, 10) are floats.
void loss_fp16(const float* logits, const int* labels, half* grad_logits, float* losses,
               int n, float scale)
{
    // TODO 2: a kernel, and its launch. Mind large logits. An overflow must stay infinite.
}

// From net.images and net.half_params to net.logits, for n images. It leaves columns1,
// pool1, winner1, columns2, pool2, winner2, relu3 and relu4 in net, for the backward pass.
void forward_fp16(MixedNet& net, int n)
{
    // TODO 3: five layers. Sums go to net.sums until the bias is added.
}

// From net.grad_logits to net.grads, for n images, after forward_fp16. All gradients are
// those of the scaled loss. Those of the parameters are floats, and stay scaled.
void backward_fp16(MixedNet& net, int n)
{
    // TODO 4: five layers, the last one first.
}

// One step. If a gradient of any parameter is infinite or NaN, nothing is changed but the
// scale: it halves. Otherwise each master weight moves by -lr times its gradient divided
// by s.scale, and its half copy follows. After s.interval good steps in a row the scale
// doubles. Returns whether the step was taken. net.found_inf holds what an earlier step
// has left.
bool update_fp16(LeNetParams& params, MixedNet& net, float lr, LossScale& s)
{
    // TODO 5
    return false;
}

// Trains params, the master weights, from what they hold: config.epochs times through the
// batches of the set, in their order, with config.learning_rate in the first epoch and
// config.decay times the last epoch's in each further one. losses gets the mean loss of each
// batch, not scaled, and scales the scale with which it was trained, epoch after epoch.
void train_fp16(const MnistSet& set, const MixedConfig& config, LeNetParams& params,
                float* losses, float* scales)
{
    // TODO 6: the half copies have to be made once, before the first step.
}
