// ANCHOR: all
// Puzzle 05, solution: one thread per sample.

// ANCHOR: softmax
__global__ void softmax_forward(const float* logits, float* probs, int batch,
                                int num_classes)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= batch) return; // the grid is rounded up

    const float* z = logits + b * num_classes; // this sample's row
    float* p = probs + b * num_classes;

    float peak = z[0];
    for (int c = 1; c < num_classes; c++) {
        peak = fmaxf(peak, z[c]);
    }

    float total = 0.0f;
    for (int c = 0; c < num_classes; c++) {
        total += expf(z[c] - peak);
    }

    for (int c = 0; c < num_classes; c++) {
        p[c] = expf(z[c] - peak) / total;
    }
}
// ANCHOR_END: softmax

// ANCHOR: loss
__global__ void cross_entropy_loss(const float* probs, const float* labels,
                                   float* losses, int batch, int num_classes)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= batch) return;

    float loss = 0.0f;
    for (int k = 0; k < num_classes; k++) {
        int at = s * num_classes + k;
        loss -= labels[at] * logf(fmaxf(probs[at], 1e-10f));
    }

    losses[s] = loss;
}
// ANCHOR_END: loss

// ANCHOR: backward
__global__ void softmax_ce_backward(const float* probs, const float* labels,
                                    float* grad_logits, int batch, int num_classes)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= batch) return;

    for (int k = 0; k < num_classes; k++) {
        int i = row * num_classes + k;
        grad_logits[i] = probs[i] - labels[i];
    }
}
// ANCHOR_END: backward
// ANCHOR_END: all
