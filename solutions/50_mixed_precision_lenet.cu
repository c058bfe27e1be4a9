// ANCHOR: all
// Puzzle 50, solution: halves between the layers, floats in every sum, and a step that is
// taken as a whole or not at all.

#include "mixed.h"
#include "mixed_kernels.cuh"

const int THREADS = 256;

int blocks(int n, int block = THREADS)
{
    return (n + block - 1) / block;
}

// ANCHOR: bias
// One block for each channel, as in puzzle 33, with the sum in shared memory.
__global__ void sum_channel(const half* g, float* sums, int count, int per_channel,
                            int step)
{
    __shared__ float part[THREADS];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < count; i += THREADS)
        sum += __half2float(g[blockIdx.x * per_channel + i * step]);
    part[threadIdx.x] = sum;
    for (int width = THREADS / 2; width > 0; width /= 2) {
        __syncthreads();
        if (threadIdx.x < width) part[threadIdx.x] += part[threadIdx.x + width];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

void bias_gradient(const half* g, float* sums, int channels, int count, int per_channel,
                   int step)
{
    sum_channel<<<channels, THREADS>>>(g, sums, count, per_channel, step);
}
// ANCHOR_END: bias

// ANCHOR: loss
__global__ void softmax_loss(const float* logits, const int* labels, half* grad_logits,
                             float* losses, int n, float scale)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= n) return;

    const float* x = logits + b * 10;
    float peak = x[0];
    for (int k = 1; k < 10; k++) peak = fmaxf(peak, x[k]);
    float total = 0.0f;
    for (int k = 0; k < 10; k++) total += expf(x[k] - peak);
    for (int k = 0; k < 10; k++) {
        float gradient = expf(x[k] - peak) / total - (k == labels[b] ? 1.0f : 0.0f);
        grad_logits[b * 10 + k] = __float2half(scale / n * gradient); // rounded once
    }
    losses[b] = logf(total) - (x[labels[b]] - peak);
}

void loss_fp16(const float* logits, const int* labels, half* grad_logits, float* losses,
               int n, float scale)
{
    softmax_loss<<<blocks(n), THREADS>>>(logits, labels, grad_logits, losses, n, scale);
}
// ANCHOR_END: loss

// The blocks of a product on tensor cores with M x N elements.
dim3 tiles(int M, int N)
{
    return dim3(blocks(N, 32), blocks(M, 32));
}

// ANCHOR: forward
void conv(const half* X, half* columns, const half* filters, float* sums, int n, int C_in,
          int size, int C_out)
{
    int positions = n * (size - 4) * (size - 4);
    int count = C_in * 25 * positions;
    im2col_half<<<blocks(count), THREADS>>>(X, columns, n, size, count);
    int parts = blocks(C_out, 4) * positions / 4;
    thin_gemm_nn<<<blocks(parts), THREADS>>>(filters, columns, sums, C_out, positions,
                                             C_in * 25);
}

void fc(const half* X, const half* weights, float* sums, int n, int in, int out)
{
    gemm_half_nt<<<tiles(n, out), 128>>>(X, weights, sums, n, out, in);
}

void forward_fp16(MixedNet& net, int n)
{
    const HalfParams& w = net.half_params;
    conv(net.images, net.columns1, w.conv1_w, net.sums, n, 1, 28, 6);
    bias_relu_pool<<<blocks(n * 864), THREADS>>>(net.sums, w.conv1_b, net.pool1, net.winner1,
                                                 n, 24, n * 144, 144, n * 864);
    conv(net.pool1, net.columns2, w.conv2_w, net.sums, n, 6, 12, 16);
    bias_relu_pool<<<blocks(n * 256), THREADS>>>(net.sums, w.conv2_b, net.pool2, net.winner2,
                                                 n, 8, 16, 256, n * 256);

    fc(net.pool2, w.fc1_w, net.sums, n, 256, 120);
    bias_relu<<<blocks(n * 120), THREADS>>>(net.sums, w.fc1_b, net.relu3, 120, n * 120);
    fc(net.relu3, w.fc2_w, net.sums, n, 120, 84);
    bias_relu<<<blocks(n * 84), THREADS>>>(net.sums, w.fc2_b, net.relu4, 84, n * 84);
    fc(net.relu4, w.fc3_w, net.logits, n, 84, 10);
    add_bias<<<blocks(n * 10), THREADS>>>(net.logits, w.fc3_b, 10, n * 10);
}
// ANCHOR_END: forward

// ANCHOR: backward
// Leaves the gradient of the layer's input in net.sums.
void fc_back(MixedNet& net, const half* g, const half* X, const half* weights, float* grad_w,
             float* grad_b, int n, int in, int out)
{
    gemm_half_tn<<<tiles(out, in), 128>>>(g, X, grad_w, out, in, n);
    bias_gradient(g, grad_b, out, n, 1, out);
    gemm_half_nn<<<tiles(n, in), 128>>>(g, weights, net.sums, n, in, out);
}

void conv_back(const half* g, const half* columns, float* grad_w, float* grad_b, int C_in,
               int C_out, int positions)
{
    row_products<<<blocks(C_out * C_in * 5 * 32), THREADS>>>(g, columns, grad_w, C_out,
                                                             C_in * 25, positions);
    bias_gradient(g, grad_b, C_out, positions, positions, 1);
}

void backward_fp16(MixedNet& net, int n)
{
    const HalfParams& w = net.half_params;
    const LeNetGrads& g = net.grads;
    fc_back(net, net.grad_logits, net.relu4, w.fc3_w, g.fc3_w, g.fc3_b, n, 84, 10);
    relu_backward_half<<<blocks(n * 84), THREADS>>>(net.sums, net.relu4, net.grad_fc2, n * 84);
    fc_back(net, net.grad_fc2, net.relu3, w.fc2_w, g.fc2_w, g.fc2_b, n, 120, 84);
    relu_backward_half<<<blocks(n * 120), THREADS>>>(net.sums, net.relu3, net.grad_fc1,
                                                     n * 120);
    fc_back(net, net.grad_fc1, net.pool2, w.fc1_w, g.fc1_w, g.fc1_b, n, 256, 120);

    relu_pool_backward<<<blocks(n * 1024), THREADS>>>(
        net.sums, net.pool2, net.winner2, net.grad_conv2, n, 8, 16, 256, n * 1024);
    conv_back(net.grad_conv2, net.columns2, g.conv2_w, g.conv2_b, 6, 16, n * 64);
    thin_gemm_tn<<<blocks(blocks(150, 4) * n * 16), THREADS>>>(
        w.conv2_w, net.grad_conv2, net.sums, 150, n * 64, 16);
    col2im_float<<<blocks(n * 864), THREADS>>>(net.sums, net.image_sums, n, 12, n * 864);

    relu_pool_backward<<<blocks(n * 3456), THREADS>>>(
        net.image_sums, net.pool1, net.winner1, net.grad_conv1, n, 24, n * 144, 144, n * 3456);
    conv_back(net.grad_conv1, net.columns1, g.conv1_w, g.conv1_b, 1, 6, n * 576);
}
// ANCHOR_END: backward

// ANCHOR: update
__global__ void find_inf(const float* g, int n, int* found_inf)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && !isfinite(g[i])) atomicExch(found_inf, 1);
}

void next_scale(LossScale& s, bool found_inf)
{
    s.good_steps++;
    if (found_inf) {
        s.scale *= 0.5f;
        s.good_steps = 0;
    } else if (s.good_steps == s.interval) {
        s.scale *= 2.0f;
        s.good_steps = 0;
    }
}

bool update_fp16(LeNetParams& params, MixedNet& net, float lr, LossScale& s)
{
    cudaMemset(net.found_inf, 0, sizeof(int));
    for (const Parameter& p : net.parameters(params))
        find_inf<<<blocks(p.n), THREADS>>>(p.gradient, p.n, net.found_inf);

    // Only now is the flag complete.
    for (const Parameter& p : net.parameters(params))
        sgd_master<<<blocks(p.n), THREADS>>>(p.master, p.copy, p.gradient, lr,
                                             1.0f / s.scale, net.found_inf, p.n);

    int found;
    cudaMemcpy(&found, net.found_inf, sizeof(int), cudaMemcpyDeviceToHost);
    next_scale(s, found);
    return !found;
}
// ANCHOR_END: update

// ANCHOR: train
void upload(const MnistBatch& batch, MixedNet& net)
{
    std::vector<half> images(batch.count * 784);
    for (size_t i = 0; i < images.size(); i++) images[i] = __float2half(batch.images[i]);
    cudaMemcpy(net.images, images.data(), images.size() * sizeof(half),
               cudaMemcpyHostToDevice);
    cudaMemcpy(net.labels, batch.labels, batch.count * sizeof(int), cudaMemcpyHostToDevice);
}

float mean_loss(const MixedNet& net, int n)
{
    std::vector<float> each(n);
    cudaMemcpy(each.data(), net.losses, n * sizeof(float), cudaMemcpyDeviceToHost);
    float sum = 0.0f;
    for (float loss : each) sum += loss;
    return sum / n;
}

void train_fp16(const MnistSet& set, const MixedConfig& config, LeNetParams& params,
                float* losses, float* scales)
{
    MixedNet net(config.batch_size);
    for (const Parameter& p : net.parameters(params))
        to_half<<<blocks(p.n), THREADS>>>(p.master, p.copy, p.n);

    LossScale s{config.first_scale, 0, config.interval};
    float lr = config.learning_rate;
    for (int epoch = 0; epoch < config.epochs; epoch++) {
        for (const MnistBatch& batch : create_batches(set, config.batch_size)) {
            int n = batch.count;
            *scales++ = s.scale;
            upload(batch, net);
            forward_fp16(net, n);
            loss_fp16(net.logits, net.labels, net.grad_logits, net.losses, n, s.scale);
            backward_fp16(net, n);
            update_fp16(params, net, lr, s);
            *losses++ = mean_loss(net, n);
        }
        lr *= config.decay;
    }
}
// ANCHOR_END: train
// ANCHOR_END: all
