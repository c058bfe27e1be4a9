// ANCHOR: all
// Puzzle 08, solution: forward one thread per window, backward one per input element.

// ANCHOR: forward
__global__ void maxpool_forward(const float* input, float* output, int* max_indices,
                                int batch, int C, int H, int W)
{
    int H_out = H / 2;
    int W_out = W / 2;
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= batch * C * H_out * W_out) return; // the grid is rounded up

    // Samples and channels are treated alike: together they count the planes.
    int ow = idx % W_out;
    int oh = idx / W_out % H_out;
    int plane = idx / (W_out * H_out);

    // ANCHOR: window
    // The window's top left corner.
    const float* window = input + (plane * H + 2 * oh) * W + 2 * ow;
    float largest = window[0];
    int place = 0;
    for (int ph = 0; ph < 2; ph++) {
        for (int pw = 0; pw < 2; pw++) {
            float x = window[ph * W + pw];
            if (x > largest) { // not >=: the first of equals stays
                largest = x;
                place = ph * 2 + pw;
            }
        }
    }
    // ANCHOR_END: window

    output[idx] = largest;
    max_indices[idx] = place;
}
// ANCHOR_END: forward

// ANCHOR: backward
__global__ void maxpool_backward(const float* grad_output, const int* max_indices,
                                 float* grad_input, int batch, int C, int H, int W)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch * C * H * W) return;

    int w = i % W;
    int h = i / W % H;
    int p = i / (W * H);

    int rows = H / 2; // of grad_output
    int cols = W / 2;
    float grad = 0.0f;
    if (h / 2 < rows && w / 2 < cols) { // else an odd last row or column
        int out = (p * rows + h / 2) * cols + w / 2;
        if (max_indices[out] == h % 2 * 2 + w % 2) grad = grad_output[out];
    }

    grad_input[i] = grad;
}
// ANCHOR_END: backward
// ANCHOR_END: all
