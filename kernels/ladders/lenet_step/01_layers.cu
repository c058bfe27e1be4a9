// Step 1 of 4: a kernel for each layer.
// What changed: the start, as in puzzles 12, 13 and 15: 20 launches, a thread for each element of their results. An update follows in the
// kernel of its gradient.
// Predicted: nothing is shared and everything goes through memory. Worst is the gradient of the first convolution: 150 threads, each of
// which adds up 36,864 products one after the other.
// Measured: 1,442 us; PyTorch takes 245.2 us if its step is a CUDA graph.

__device__ int index()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

// All images have C channels of S x S, and filters are 5 x 5.
__global__ void conv_relu(const float* x, const float* w, const float* bias, float* y, int batch, int C, int S, int K)
{
    int size = S - 4, i = index();
    int b = i / (K * size * size), k = i / (size * size) % K, row = i / size % size, column = i % size;
    float sum = bias[k];
    for (int c = 0; c < C; c++)
        for (int p = 0; p < 5; p++)
            for (int q = 0; q < 5; q++)
                sum += x[((b * C + c) * S + row + p) * S + column + q] * w[((k * C + c) * 5 + p) * 5 + q];
    y[i] = fmaxf(sum, 0.0f);
}

// A window of 2 x 2; `place` is that of its winner, 0 to 3.
__global__ void pool(const float* x, float* y, int* place, int n, int size)
{
    int i = index();
    const float* window = x + i / size * 4 * size + i % size * 2;
    int best = 0;
    for (int p = 1; p < 4; p++)
        if (window[p / 2 * 2 * size + p % 2] > window[best / 2 * 2 * size + best % 2]) best = p;
    y[i] = window[best / 2 * 2 * size + best % 2];
    place[i] = best;
}

__global__ void fc(const float* x, const float* w, const float* bias, float* y, int batch, int I, int O, int relu)
{
    int i = index();
    float sum = bias[i % O];
    for (int j = 0; j < I; j++) sum += x[i / O * I + j] * w[i % O * I + j];
    y[i] = relu ? fmaxf(sum, 0.0f) : sum;
}

// The loss of each image, and the gradient of the mean of all losses.
__global__ void loss_back(const float* logits, const int* labels, float* each, float* grad, int batch)
{
    int b = index();
    float peak = logits[b * 10], total = 0.0f;
    for (int o = 1; o < 10; o++) peak = fmaxf(peak, logits[b * 10 + o]);
    for (int o = 0; o < 10; o++) total += expf(logits[b * 10 + o] - peak);
    for (int o = 0; o < 10; o++) grad[b * 10 + o] = (expf(logits[b * 10 + o] - peak) / total - (o == labels[b])) / batch;
    each[b] = peak + logf(total) - logits[b * 10 + labels[b]];
}

__global__ void mean(const float* each, float* loss, int batch)
{
    if (index() > 0) return;
    float sum = 0.0f;
    for (int b = 0; b < batch; b++) sum += each[b];
    loss[0] = sum / batch;
}

// The gradient of a layer's input, through the ReLU before it: x is the output of that ReLU.
__global__ void fc_back(const float* grad, const float* w, const float* x, float* grad_x, int batch, int I, int O)
{
    int i = index();
    float sum = 0.0f;
    for (int o = 0; o < O; o++) sum += grad[i / I * O + o] * w[o * I + i % I];
    grad_x[i] = x[i] > 0.0f ? sum : 0.0f;
}

__global__ void pool_back(const float* grad, const int* place, float* grad_x, int n, int size)
{
    int i = index();
    int row = i / (2 * size) % (2 * size), column = i % (2 * size);
    int window = i / (4 * size * size) * size * size + row / 2 * size + column / 2;
    grad_x[i] = place[window] == row % 2 * 2 + column % 2 ? grad[window] : 0.0f;
}

__global__ void conv_back(const float* grad, const float* w, const float* x, float* grad_x, int batch, int C, int S, int K)
{
    int size = S - 4, i = index();
    int b = i / (C * S * S), c = i / (S * S) % C, row = i / S % S, column = i % S;
    float sum = 0.0f;
    for (int k = 0; k < K; k++)
        for (int p = max(0, row - size + 1); p < min(5, row + 1); p++)
            for (int q = max(0, column - size + 1); q < min(5, column + 1); q++)
                sum += grad[((b * K + k) * size + row - p) * size + column - q] * w[((k * C + c) * 5 + p) * 5 + q];
    grad_x[i] = x[i] > 0.0f ? sum : 0.0f;
}

// A block for each output; the thread behind its last weight has the bias.
__global__ void fc_update(float* w, float* bias, const float* grad, const float* x, float lr, int batch, int I, int O)
{
    int o = blockIdx.x, i = threadIdx.x;
    float sum = 0.0f;
    for (int b = 0; b < batch; b++) sum += grad[b * O + o] * (i < I ? x[b * I + i] : 1.0f);
    (i < I ? w[o * I + i] : bias[o]) -= lr * sum;
}

__global__ void conv_update(float* w, float* bias, const float* grad, const float* x, float lr, int batch, int C, int S, int K)
{
    int size = S - 4, taps = C * 25, k = blockIdx.x, tap = threadIdx.x;
    int c = tap / 25, p = tap / 5 % 5, q = tap % 5;
    float sum = 0.0f;
    for (int b = 0; b < batch; b++)
        for (int row = 0; row < size; row++)
            for (int column = 0; column < size; column++) {
                float factor = tap < taps ? x[((b * C + c) * S + row + p) * S + column + q] : 1.0f;
                sum += grad[((b * K + k) * size + row) * size + column] * factor;
            }
    (tap < taps ? w[k * taps + tap] : bias[k]) -= lr * sum;
}
