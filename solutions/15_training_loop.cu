// ANCHOR: all
// Puzzle 15, solution: the passes of 12 and 13 over and over, a step of 11 after each.

#include "lenet_passes.cuh"
#include "training.h"

#include <cmath>

// ANCHOR: xavier
void xavier_init(float* d_weights, int n, int fan_in, int fan_out, uint32_t& state)
{
    float limit = std::sqrt(6.0f / (fan_in + fan_out));
    std::vector<float> weights(n);
    for (float& weight : weights) {
        float unit = next_random(state) / 4294967296.0f; // 0 to 1
        weight = limit * (2 * unit - 1);
    }
    cudaMemcpy(d_weights, weights.data(), n * sizeof(float), cudaMemcpyHostToDevice);
}
// ANCHOR_END: xavier

// ANCHOR: upload
// A batch into device memory, its labels as rows with one 1.
void upload(const MnistBatch& batch, LeNetWorkspace& work)
{
    std::vector<float> one_hot(batch.count * 10, 0.0f);
    for (int i = 0; i < batch.count; i++) one_hot[i * 10 + batch.labels[i]] = 1.0f;
    cudaMemcpy(work.images, batch.images, batch.count * 784 * sizeof(float),
               cudaMemcpyHostToDevice);
    cudaMemcpy(work.labels, one_hot.data(), one_hot.size() * sizeof(float),
               cudaMemcpyHostToDevice);
}
// ANCHOR_END: upload

// ANCHOR: step
void step(float* weights, const float* gradients, float lr, int n)
{
    sgd_update<<<(n + 255) / 256, 256>>>(weights, gradients, lr, n);
}

// The gradients are sums over the batch, so the step is divided by its images.
void update(LeNetParams& p, const LeNetGrads& g, float lr)
{
    step(p.conv1_w, g.conv1_w, lr, 150);
    step(p.conv1_b, g.conv1_b, lr, 6);
    step(p.conv2_w, g.conv2_w, lr, 2400);
    step(p.conv2_b, g.conv2_b, lr, 16);
    step(p.fc1_w, g.fc1_w, lr, 30720);
    step(p.fc1_b, g.fc1_b, lr, 120);
    step(p.fc2_w, g.fc2_w, lr, 10080);
    step(p.fc2_b, g.fc2_b, lr, 84);
    step(p.fc3_w, g.fc3_w, lr, 840);
    step(p.fc3_b, g.fc3_b, lr, 10);
}
// ANCHOR_END: step

// ANCHOR: epoch
void train_epoch(const MnistSet& set, const TrainConfig& config, LeNetParams& params,
                 float* losses)
{
    LeNetWorkspace work(config.batch_size);
    for (const MnistBatch& batch : create_batches(set, config.batch_size)) {
        int n = batch.count;
        upload(batch, work);
        lenet_forward(work.images, params, work.act, n);
        cross_entropy_loss<<<(n + 255) / 256, 256>>>(work.act.probs, work.labels,
                                                     work.losses, n, 10);
        lenet_backward(work.images, work.labels, params, work.act, work.grads,
                       work.grad_act, n);
        update(params, work.grads, config.learning_rate / n);

        std::vector<float> each(n);
        cudaMemcpy(each.data(), work.losses, n * sizeof(float), cudaMemcpyDeviceToHost);
        float sum = 0.0f;
        for (float loss : each) sum += loss;
        *losses++ = sum / n;
    }
}
// ANCHOR_END: epoch

// ANCHOR: evaluate
float evaluate(const MnistSet& set, LeNetParams& params, int batch_size)
{
    LeNetWorkspace work(batch_size);
    int hits = 0;
    for (const MnistBatch& batch : create_batches(set, batch_size)) {
        upload(batch, work);
        lenet_forward(work.images, params, work.act, batch.count);
        std::vector<float> logits(batch.count * 10);
        cudaMemcpy(logits.data(), work.act.logits, logits.size() * sizeof(float),
                   cudaMemcpyDeviceToHost);
        for (int i = 0; i < batch.count; i++) {
            int best = 0;
            for (int k = 1; k < 10; k++)
                if (logits[i * 10 + k] > logits[i * 10 + best]) best = k;
            hits += best == batch.labels[i];
        }
    }
    return (float)hits / set.count;
}
// ANCHOR_END: evaluate

// ANCHOR: training
void training_loop(MnistSet& train, const MnistSet& test, const TrainConfig& config,
                   LeNetParams& params, float* losses, float* accuracies)
{
    uint32_t state = config.seed;
    xavier_init(params.conv1_w, 150, 25, 150, state);
    xavier_init(params.conv2_w, 2400, 150, 400, state);
    xavier_init(params.fc1_w, 30720, 256, 120, state);
    xavier_init(params.fc2_w, 10080, 120, 84, state);
    xavier_init(params.fc3_w, 840, 84, 10, state);
    cudaMemset(params.conv1_b, 0, 6 * sizeof(float));
    cudaMemset(params.conv2_b, 0, 16 * sizeof(float));
    cudaMemset(params.fc1_b, 0, 120 * sizeof(float));
    cudaMemset(params.fc2_b, 0, 84 * sizeof(float));
    cudaMemset(params.fc3_b, 0, 10 * sizeof(float));

    int steps = (train.count + config.batch_size - 1) / config.batch_size;
    for (int epoch = 0; epoch < config.epochs; epoch++) {
        shuffle_data(train, next_random(state));
        train_epoch(train, config, params, losses + epoch * steps);
        accuracies[epoch] = evaluate(test, params, config.batch_size);
    }
}
// ANCHOR_END: training
// ANCHOR_END: all
