// Times of puzzle 44's solution (atomic additions) and puzzle 45's (two phases) on a GPU, and whether further runs give
// the same bits. The book quotes them for an H200; run it on yours, from the workbook's folder:
//     nvcc -O3 -arch=native -std=c++17 --extended-lambda -o times book/examples/ln_linear_times.cu && ./times
#include "../../solutions/44_ln_linear_backward.cu"
#include "../../solutions/45_ln_linear_backward_two_phase.cu"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

static float* on_device(size_t n, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(n);
    for (float& value : values) value = normal(random);
    float* copy;
    cudaMalloc(&copy, n * sizeof(float));
    cudaMemcpy(copy, values.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    return copy;
}

// The median of 50 runs, in milliseconds, after one that warms up.
template <class Launch> float milliseconds(Launch launch)
{
    cudaEvent_t start, stop;
    cudaEventCreate(&start), cudaEventCreate(&stop);
    std::vector<float> times(50);
    launch();
    for (float& ms : times) {
        cudaEventRecord(start);
        launch();
        cudaEventRecord(stop);
        cudaEventSynchronize(stop);
        cudaEventElapsedTime(&ms, start, stop);
    }
    std::nth_element(times.begin(), times.begin() + 25, times.end());
    return times[25];
}

// How many of ten further runs give the same gradients to the last bit.
template <class Launch> int repeats(Launch launch, const float* gradients, int n)
{
    std::vector<float> first(n), again(n);
    int same = 0;
    for (int run = 0; run < 11; run++) {
        launch();
        cudaMemcpy(again.data(), gradients, n * sizeof(float), cudaMemcpyDeviceToHost);
        if (run == 0) first = again;
        else same += !memcmp(first.data(), again.data(), n * sizeof(float));
    }
    return same;
}

static void compare(int B, int S, int H, int O)
{
    int n = O * H + 2 * H + O; // elements of the parameters' gradients
    const int most_parts = 1056;
    float *dy = on_device(size_t(B) * S * O, 1), *x = on_device(size_t(B) * S * H, 2);
    float *gamma = on_device(H, 3), *beta = on_device(H, 4), *W = on_device(size_t(O) * H, 5);
    float *dx = on_device(size_t(B) * S * H, 6), *gradients = on_device(n, 7), *work;
    cudaMalloc(&work, size_t(most_parts) * n * sizeof(float));
    float *dW = gradients, *dgamma = dW + O * H, *dbeta = dgamma + H, *db = dbeta + H;

    auto atomics = [&] {
        zero_gradients<<<(O * H + 255) / 256, 256>>>(dgamma, dbeta, dW, db, H, O);
        ln_linear_bwd<<<(B * S + 63) / 64, 64>>>(dy, x, gamma, beta, W, dx, dgamma, dbeta, dW, db, B, S, H, O, 1e-5f);
    };
    printf("%d positions, %d features, %d outputs\n", B * S, H, O);
    printf("  44              %8.4f ms, ", milliseconds(atomics));
    printf("%d of 10 runs repeat the bits\n", repeats(atomics, gradients, n));
    for (int parts : {33, 132, 528, most_parts}) {
        auto phases = [&] {
            ln_linear_bwd_partial<<<parts, 128, 2 * H * sizeof(float)>>>(dy, x, gamma, beta, W, dx, work, B, S, H, O, 1e-5f);
            ln_linear_bwd_reduce<<<(n + 255) / 256, 256>>>(work, dgamma, dbeta, dW, db, parts, H, O);
        };
        printf("  45, %4d parts  %8.4f ms, ", parts, milliseconds(phases));
        printf("%d of 10 runs repeat the bits\n", repeats(phases, gradients, n));
    }
    for (float* memory : {dy, x, gamma, beta, W, dx, gradients, work}) cudaFree(memory);
}

int main()
{
    compare(16, 64, 64, 64);
    compare(64, 64, 3, 2);
    compare(128, 64, 64, 64);
    compare(64, 64, 256, 256);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
