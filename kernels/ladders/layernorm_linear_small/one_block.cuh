// One block for all positions, which steps 2 and 3 share: each thread loads one element of all that is needed, so that there is a single wait
// for memory; then there is a thread for each normalised element, and one for each result.

template <int COUNT>
__device__ void bring(float* to, const float* const (&from)[COUNT], const int (&size)[COUNT])
{
    int total = 0;
#pragma unroll
    for (int k = 0; k < COUNT; k++) total += size[k];
    for (int i = threadIdx.x; i < total; i += blockDim.x) {
        const float* at = from[0] + i;
        int first = 0;
#pragma unroll
        for (int k = 1; k < COUNT; k++) {
            first += size[k - 1];
            if (i >= first) at = from[k] + (i - first);
        }
        to[i] = *at;
    }
    __syncthreads();
}

template <bool FORWARD, bool BACKWARD>
__device__ void pass(const float* dy, const float* x, const float* gamma, const float* beta, const float* W, const float* bias, float* y,
                     float* dx, float* dgamma, float* dbeta, float* dW, float* dbias, int rows, int H, int O, float eps)
{
    extern __shared__ float data[];
    int elements = rows * H, outputs = FORWARD ? rows * O : 0, of_dy = BACKWARD ? rows * O : 0;
    float *sx = data, *sW = sx + elements, *sgamma = sW + O * H, *sbeta = sgamma + H, *sbias = sbeta + H, *sdy = sbias + (FORWARD ? O : 0);
    float *hat = sdy + of_dy, *dnorm = hat + elements, *rstd = dnorm + elements;
    bring<6>(data, {x, W, gamma, beta, bias, dy}, {elements, O * H, H, H, FORWARD ? O : 0, of_dy});
    for (int i = threadIdx.x; i < elements; i += blockDim.x) {
        int h = i % H, row = i - h;
        float sum = 0.0f, squares = 0.0f, dot = 0.0f;
        for (int k = row; k < row + H; k++) sum += sx[k];
        float mean = sum / H;
        for (int k = row; k < row + H; k++) squares += (sx[k] - mean) * (sx[k] - mean);
        float scale = rsqrtf(squares / H + eps);
        hat[i] = (sx[i] - mean) * scale;
        if (!BACKWARD) continue;
        if (h == 0) rstd[row / H] = scale;
        for (int o = 0; o < O; o++) dot += sdy[row / H * O + o] * sW[o * H + h];
        dnorm[i] = dot;
    }
    __syncthreads();
    // The results one behind the other: y, dx, dW, dgamma, dbeta, dbias.
    for (int i = threadIdx.x; i < outputs + (BACKWARD ? elements + O * H + 2 * H + O : 0); i += blockDim.x) {
        int j = i;
        float sum = 0.0f, with_x = 0.0f;
        if (j < outputs) {
            int o = j % O, row = j / O * H;
            for (int h = 0; h < H; h++) sum += (hat[row + h] * sgamma[h] + sbeta[h]) * sW[o * H + h];
            y[j] = sum + sbias[o];
        } else if ((j -= outputs) < elements) {
            int h = j % H, row = j - h;
            for (int k = 0; k < H; k++) {
                sum += dnorm[row + k] * sgamma[k];
                with_x += dnorm[row + k] * sgamma[k] * hat[row + k];
            }
            dx[j] = rstd[row / H] * (dnorm[j] * sgamma[h] - sum / H - hat[j] * (with_x / H));
        } else if ((j -= elements) < O * H) {
            int h = j % H, o = j / H;
            for (int r = 0; r < rows; r++) sum += sdy[r * O + o] * (hat[r * H + h] * sgamma[h] + sbeta[h]);
            dW[j] = sum;
        } else if ((j -= O * H) < 2 * H) {
            int h = j % H;
            for (int r = 0; r < rows; r++) sum += dnorm[r * H + h] * (j < H ? hat[r * H + h] : 1.0f);
            (j < H ? dgamma : dbeta)[h] = sum;
        } else {
            j -= 2 * H;
            for (int r = 0; r < rows; r++) sum += sdy[r * O + j];
            dbias[j] = sum;
        }
    }
}
