// cuRAND's generators, on the device and on the host: hashes of what they give.
#include <cstdint>
#include <cstdio>
#include <curand.h>
#include <curand_kernel.h>
#include <vector>

struct Numbers {
    unsigned int u[4];
    float f[6];
    double d[4];
};

template <class State> __global__ void draw(unsigned long long seed, unsigned long long sequence, unsigned long long offset, Numbers* out) {
    Numbers& n = out[threadIdx.x];
    State s;
    curand_init(seed, sequence + threadIdx.x, offset, &s);
    n.u[0] = curand(&s);
    n.f[0] = curand_uniform(&s);
    n.f[1] = curand_normal(&s);
    n.f[2] = curand_normal(&s);
    float2 pair = curand_normal2(&s);
    n.f[3] = pair.x;
    n.f[4] = pair.y;
    n.f[5] = curand_log_normal(&s, 0.5f, 0.25f);
    n.d[0] = curand_uniform_double(&s);
    n.d[1] = curand_normal_double(&s);
    n.d[2] = curand_normal_double(&s);
    n.d[3] = curand_log_normal_double(&s, 0.5, 0.25);
    skipahead(12345, &s);
    n.u[1] = curand(&s);
    skipahead_sequence(3, &s);
    n.u[2] = n.u[3] = curand(&s);
}

static uint32_t hash(const void* from, size_t bytes) {
    uint64_t h = 14695981039346656037ull;
    for (size_t i = 0; i < bytes; i++) h = (h ^ ((const unsigned char*)from)[i]) * 1099511628211ull;
    return (uint32_t)h;
}

template <class State> void device(const char* name) {
    Numbers* out;
    cudaMallocManaged(&out, 64 * sizeof(Numbers));
    printf("%s", name);
    const unsigned long long cases[3][3] = {{1234, 0, 0}, {0, 65000, 1000003}, {0x123456789ABCDEF, (1ull << 40) + 12345, 1ull << 45}};
    for (auto& of : cases) {
        draw<State><<<1, 64>>>(of[0], of[1], of[2], out);
        cudaDeviceSynchronize();
        printf(" %08x", hash(out, 64 * sizeof(Numbers)));
    }
    printf("\n");
    cudaFree(out);
}

template <class T, class Generate> void host(curandRngType_t type, curandOrdering_t order, Generate generate) {
    curandGenerator_t generator;
    curandCreateGenerator(&generator, type);
    if (order) curandSetGeneratorOrdering(generator, order);
    if (type < 200) curandSetPseudoRandomGeneratorSeed(generator, 1234);
    if (type > 200) curandSetQuasiRandomGeneratorDimensions(generator, 3);
    curandSetGeneratorOffset(generator, 777);
    const size_t n = 9006;
    T* out;
    cudaMalloc(&out, n * sizeof(T));
    std::vector<T> copy(n);
    // The second call goes on where the first one ended.
    for (int call = 0; call < 2; call++) {
        int status = generate(generator, out, n);
        cudaMemcpy(copy.data(), out, n * sizeof(T), cudaMemcpyDeviceToHost);
        printf(" %d %08x", status, hash(copy.data(), n * sizeof(T)));
    }
    cudaFree(out);
    curandDestroyGenerator(generator);
}

int main() {
    device<curandStateXORWOW_t>("xorwow");
    device<curandStatePhilox4_32_10_t>("philox");
    device<curandStateMRG32k3a_t>("mrg32k3a");
    for (auto type : {CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A, CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_RNG_QUASI_SOBOL32}) {
        curandOrdering_t order = type == CURAND_RNG_PSEUDO_MRG32K3A ? CURAND_ORDERING_PSEUDO_LEGACY : (curandOrdering_t)0;
        printf("%d", type);
        host<unsigned int>(type, order, curandGenerate);
        host<float>(type, (curandOrdering_t)0, curandGenerateUniform);
        host<double>(type, order, curandGenerateUniformDouble);
        host<float>(type, order, [](curandGenerator_t g, float* out, size_t n) { return curandGenerateNormal(g, out, n, 2.5f, 0.3f); });
        host<double>(type, order, [](curandGenerator_t g, double* out, size_t n) { return curandGenerateNormalDouble(g, out, n, 1.5, 2); });
        host<float>(type, order, [](curandGenerator_t g, float* out, size_t n) { return curandGenerateLogNormal(g, out, n, 0.5f, 0.25f); });
        printf("\n");
    }
}
