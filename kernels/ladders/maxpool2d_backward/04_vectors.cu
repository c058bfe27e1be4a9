// Step 4 of 6: vectors.
// What changed: a thread has 2x4 elements, loads two windows at once (float2, int2) and stores float4: half the instructions for the
// same bytes. The windows on its right and in the row below are loaded by a neighbour too, and come from the L1 cache.
// Predicted: fewer requests per byte, and more bytes in flight for each thread.
// Measured: 79.3 us: 7.6 times as fast as PyTorch, 3.9 TB/s of the least traffic. With streaming stores (__stcs): 80.6 us.

struct Windows {
    float gradient[3];
    int winner[3];
};

__device__ Windows load(const float* dY, const int* idx, int window, bool row, bool next)
{
    Windows all = {{0.0f, 0.0f, 0.0f}, {-1, -1, -1}};
    if (!row) return all;
    float2 gradients = *(const float2*)(dY + window);
    int2 winners = *(const int2*)(idx + window);
    all.gradient[0] = gradients.x;
    all.gradient[1] = gradients.y;
    all.winner[0] = winners.x;
    all.winner[1] = winners.y;
    if (next) {
        all.gradient[2] = dY[window + 2];
        all.winner[2] = idx[window + 2];
    }
    return all;
}

__device__ float won(const Windows& of, int place, int from, int to)
{
    float sum = 0.0f;
    for (int i = from; i <= to; i++) {
        if (of.winner[i] == place) sum += of.gradient[i];
    }
    return sum;
}

__device__ float4 row_of(const Windows& of, int place)
{
    return make_float4(won(of, place, 0, 0), won(of, place + 1, 0, 1), won(of, place + 2, 1, 1), won(of, place + 3, 1, 2));
}

__global__ void maxpool_vectors(const float* dY, const int* idx, float* dX, int planes, int H, int W)
{
    int H_out = H / 2, W_out = W / 2, pairs = W_out / 2;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= planes * H_out * pairs) return;
    int pair = i % pairs;
    int oh = i / pairs % H_out;
    int plane = i / pairs / H_out;
    int window = (plane * H_out + oh) * W_out + 2 * pair;
    bool next = pair + 1 < pairs;
    Windows upper = load(dY, idx, window, true, next);
    Windows lower = load(dY, idx, window + W_out, oh + 1 < H_out, next);
    int first = 2 * oh * W + 4 * pair;
    float4 a = row_of(upper, first);
    float4 b = row_of(upper, first + W);
    float4 c = row_of(lower, first + W);
    float* out = dX + plane * H * W + first;
    *(float4*)out = a;
    *(float4*)(out + W) = make_float4(b.x + c.x, b.y + c.y, b.z + c.z, b.w + c.w);
}
