// Times of a real GPU for kernels of puzzles 03 to 17. The book quotes them for an H200; run it on yours:
//     grader run --backend gpu book/examples/measure_lenet.cu
#include "../../solutions/02_matmul.cu"
#include "../../solutions/03_fc_forward.cu"
#include "../../solutions/04_relu.cu"
#include "../../solutions/08_maxpool.cu"
#include "../../solutions/17_im2col.cu"

#include <algorithm>
#include <cstdio>
#include <vector>

// The median of 21 runs, in microseconds, after one that warms up.
template <class Launch> double microseconds(Launch launch)
{
    cudaEvent_t start, stop;
    cudaEventCreate(&start), cudaEventCreate(&stop);
    std::vector<float> times;
    for (int run = 0; run < 22; run++) {
        cudaEventRecord(start);
        launch();
        cudaEventRecord(stop);
        cudaEventSynchronize(stop);
        float ms;
        cudaEventElapsedTime(&ms, start, stop);
        if (run > 0) times.push_back(1000 * ms);
    }
    std::sort(times.begin(), times.end());
    return times[10];
}

// Numbers between `least` and `least` + 1, in no visible order.
__global__ void fill(float* x, float least)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = (i * 2654435761u >> 8) / 16777216.0f + least;
}

// The exercises: a load before the comparison; two elements of a window at once; a block for each piece of a row of the
// matrix, whose rows need no division by each thread; strides on either side.

__global__ void relu_backward_loaded(const float* grad_output, const float* input, float* grad_input, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float g = grad_output[i];
    grad_input[i] = input[i] <= 0.0f ? 0.0f : g;
}

__global__ void maxpool_pairs(const float* input, float* output, int* max_indices, int batch, int C, int H, int W)
{
    int H_out = H / 2, W_out = W / 2;
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= batch * C * H_out * W_out) return;
    int plane = idx / (W_out * H_out);
    const float* window = input + (plane * H + 2 * (idx / W_out % H_out)) * W + 2 * (idx % W_out);
    float2 top = *(const float2*)window, bottom = *(const float2*)(window + W);
    float largest = top.x;
    int place = 0;
    if (top.y > largest) largest = top.y, place = 1;
    if (bottom.x > largest) largest = bottom.x, place = 2;
    if (bottom.y > largest) largest = bottom.y, place = 3;
    output[idx] = largest, max_indices[idx] = place;
}

__global__ void im2col_rows(const float* X, float* Xcol, int H, int W, int K, int pad, int H_out, int W_out)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (j >= H_out * W_out) return;
    int h = j / W_out + row / K % K - pad, w = j % W_out + row % K - pad;
    bool inside = h >= 0 && h < H && w >= 0 && w < W;
    Xcol[(size_t)row * H_out * W_out + j] = inside ? X[(row / (K * K) * H + h) * W + w] : 0.0f;
}

__global__ void neighbours(const float* in, float* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}

__global__ void reads_apart(const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i % (n / 64) * 64 + i / (n / 64)];
}

__global__ void writes_apart(const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i % (n / 64) * 64 + i / (n / 64)] = in[i];
}

int main()
{
    cudaDeviceProp gpu;
    cudaGetDeviceProperties(&gpu, 0);
    printf("%s; medians of 21 runs\n", gpu.name);
    const int n = 1 << 27;
    float* x[3];
    for (float*& buffer : x) {
        cudaMalloc(&buffer, n * sizeof(float));
        fill<<<n / 256, 256>>>(buffer, -0.5f);
    }
    int* indices;
    cudaMalloc(&indices, n / 4 * sizeof(int));

    const int m = 1024;
    dim3 grid(m / 16, m / 16), block(16, 16);
    printf("fully connected, 1,024 samples, 1,024 features in and out\n");
    printf("  weights [j, i], puzzle 03     %8.1f us\n",
           microseconds([&] { fc_forward<<<grid, block>>>(x[0], x[1], x[1], x[2], m, m, m); }));
    printf("  weights [i, j], puzzle 02     %8.1f us\n",
           microseconds([&] { matmul<<<grid, block>>>(x[0], x[1], x[2], m, m, m); }));

    printf("ReLU, 2^27 elements\n");
    auto bandwidth = [&](const char* name, double bytes, double us) {
        printf("  %-29s %8.1f us, %5.0f GB/s\n", name, us, bytes / us / 1000);
    };
    bandwidth("forward", 8.0 * n, microseconds([&] { relu_forward<<<n / 256, 256>>>(x[0], x[2], n); }));
    bandwidth("backward", 12.0 * n, microseconds([&] { relu_backward<<<n / 256, 256>>>(x[0], x[1], x[2], n); }));
    bandwidth("backward, loaded first", 12.0 * n,
              microseconds([&] { relu_backward_loaded<<<n / 256, 256>>>(x[0], x[1], x[2], n); }));

    fill<<<n / 256, 256>>>(x[1], 0.5f);
    bandwidth("backward, all gates open", 12.0 * n,
              microseconds([&] { relu_backward<<<n / 256, 256>>>(x[0], x[1], x[2], n); }));

    printf("max pooling, 2,048 planes of 256 x 256\n");
    bandwidth("one float at a time", 6.0 * n,
              microseconds([&] { maxpool_forward<<<n / 1024, 256>>>(x[0], x[2], indices, 1, 2048, 256, 256); }));
    bandwidth("two at a time", 6.0 * n,
              microseconds([&] { maxpool_pairs<<<n / 1024, 256>>>(x[0], x[2], indices, 1, 2048, 256, 256); }));

    printf("im2col, 64 channels of 224 x 224, 3 x 3\n");
    int elements = 64 * 9 * 224 * 224;
    bandwidth("puzzle 17", 4.0 * (elements + 64 * 224 * 224),
              microseconds([&] { im2col<<<(elements + 255) / 256, 256>>>(x[0], x[2], 64, 224, 224, 3, 1, 1); }));

    bandwidth("a block for a piece of a row", 4.0 * (elements + 64 * 224 * 224), microseconds([&] {
                  im2col_rows<<<dim3(224 * 224 / 256, 64 * 9), 256>>>(x[0], x[2], 224, 224, 3, 1, 224, 224);
              }));

    printf("a copy of 2^27 floats\n");
    bandwidth("neighbours", 8.0 * n, microseconds([&] { neighbours<<<n / 256, 256>>>(x[0], x[2]); }));
    bandwidth("reads 64 floats apart", 8.0 * n, microseconds([&] { reads_apart<<<n / 256, 256>>>(x[0], x[2], n); }));
    bandwidth("writes 64 floats apart", 8.0 * n, microseconds([&] { writes_apart<<<n / 256, 256>>>(x[0], x[2], n); }));

    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    for (float* buffer : x) cudaFree(buffer);
    cudaFree(indices);
}
