// What the grader needs to call the functions of puzzle 50: first weights, and copies between a
// MixedNet and the tensors of a test.
#pragma once

#include "mixed.h"

#include <algorithm>
#include <cmath>

// Trains a copy of `first` in float, as puzzle 15 does, with the batches in the order of the
// set. Writes the loss of each batch, and returns how many images of `test` are recognised. The
// grader links it (kernels/references/mixed_kernels.cu).
float train_fp32(const MnistSet& set, const MnistSet& test, const MixedConfig& config,
                 LeNetParams& first, float* losses);

namespace checks {

// All parameters of a and of b, in the same order, to be copied from a to b.
inline void copy_params(LeNetParams& a, LeNetParams& b)
{
    MixedNet net(1);
    auto from = net.parameters(a);
    auto to = net.parameters(b);
    for (int i = 0; i < 10; i++)
        cudaMemcpy(to[i].master, from[i].master, from[i].n * sizeof(float),
                   cudaMemcpyDeviceToDevice);
}

// First weights as in puzzle 15, those of the fully connected layers times `factor`. All
// biases become `bias`.
inline void first_weights(LeNetParams& params, uint32_t seed, float factor, float bias)
{
    MixedNet net(1);
    int fans[5] = {25 + 150, 150 + 400, 256 + 120, 120 + 84, 84 + 10};
    auto all = net.parameters(params);
    for (int layer = 0; layer < 5; layer++) {
        const Parameter& w = all[2 * layer];
        const Parameter& b = all[2 * layer + 1];
        float limit = std::sqrt(6.0f / fans[layer]) * (layer < 2 ? 1.0f : factor);
        std::vector<float> weights(w.n);
        for (float& weight : weights)
            weight = limit * (2 * (next_random(seed) / 4294967296.0f) - 1);
        std::vector<float> biases(b.n, bias);
        cudaMemcpy(w.master, weights.data(), w.n * sizeof(float), cudaMemcpyHostToDevice);
        cudaMemcpy(b.master, biases.data(), b.n * sizeof(float), cudaMemcpyHostToDevice);
    }
}

// Rounds the parameters and a batch to half, into net.
inline void fill(MixedNet& net, LeNetParams& params, const float* images, const int* labels,
                 int n)
{
    for (Parameter& p : net.parameters(params)) {
        std::vector<float> weights(p.n);
        cudaMemcpy(weights.data(), p.master, p.n * sizeof(float), cudaMemcpyDeviceToHost);
        std::vector<half> copy(weights.begin(), weights.end());
        cudaMemcpy(p.copy, copy.data(), p.n * sizeof(half), cudaMemcpyHostToDevice);
    }
    std::vector<half> pixels(images, images + n * 784);
    cudaMemcpy(net.images, pixels.data(), n * 784 * sizeof(half), cudaMemcpyHostToDevice);
    cudaMemcpy(net.labels, labels, n * sizeof(int), cudaMemcpyHostToDevice);
}

// The gradients in net, copied to `grads`.
inline void take(MixedNet& net, LeNetParams grads)
{
    LeNetParams from{net.grads.conv1_w, net.grads.conv1_b, net.grads.conv2_w, net.grads.conv2_b,
                     net.grads.fc1_w,   net.grads.fc1_b,   net.grads.fc2_w,   net.grads.fc2_b,
                     net.grads.fc3_w,   net.grads.fc3_b};
    copy_params(from, grads);
}

// The gradients of a training step, copied into net.
inline void give(MixedNet& net, LeNetParams grads)
{
    LeNetParams to{net.grads.conv1_w, net.grads.conv1_b, net.grads.conv2_w, net.grads.conv2_b,
                   net.grads.fc1_w,   net.grads.fc1_b,   net.grads.fc2_w,   net.grads.fc2_b,
                   net.grads.fc3_w,   net.grads.fc3_b};
    copy_params(grads, to);
}

// What a forward pass of n images has left in net.
inline void take_activations(MixedNet& net, int n, half* pool1, int* winner1, half* pool2,
                             int* winner2, half* relu3, half* relu4, float* logits)
{
    auto copy = [n](void* to, const void* from, int bytes) {
        cudaMemcpy(to, from, n * bytes, cudaMemcpyDeviceToDevice);
    };
    copy(pool1, net.pool1, 864 * sizeof(half));
    copy(winner1, net.winner1, 864 * sizeof(int));
    copy(pool2, net.pool2, 256 * sizeof(half));
    copy(winner2, net.winner2, 256 * sizeof(int));
    copy(relu3, net.relu3, 120 * sizeof(half));
    copy(relu4, net.relu4, 84 * sizeof(half));
    copy(logits, net.logits, 10 * sizeof(float));
}

// The half copies in net, copied to `copies`.
inline void take_halves(MixedNet& net, HalfParams copies)
{
    half* to[] = {copies.conv1_w, copies.conv1_b, copies.conv2_w, copies.conv2_b,
                  copies.fc1_w,   copies.fc1_b,   copies.fc2_w,   copies.fc2_b,
                  copies.fc3_w,   copies.fc3_b};
    LeNetParams none{};
    auto from = net.parameters(none);
    for (int i = 0; i < 10; i++)
        cudaMemcpy(to[i], from[i].copy, from[i].n * sizeof(half), cudaMemcpyDeviceToDevice);
}

} // namespace checks
