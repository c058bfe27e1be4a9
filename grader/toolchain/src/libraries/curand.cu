// The host functions of cuRAND: generators XORWOW, MRG32k3a, Philox4x32-10 and Sobol32, with cuRAND's order of results. XORWOW and MRG32k3a
// take a result from each of many subsequences in turn (cuRAND API, "CURAND_ORDERING_PSEUDO_DEFAULT"). Integers and what they need are computed on
// the host; the functions of a GPU, which a normal distribution needs, in kernels.
#include "curand.h"
#include "curand_kernel.h"
#include <stdio.h>
#include <vector>

using namespace curand_detail;

// The device's part: kernels that turn integers into a distribution, in place.
namespace curand_kernels {

struct Normal { float mean, stddev; bool log; };
struct NormalDouble { double mean, stddev; bool log; };
__device__ float scaled(float z, Normal d) { return d.log ? expf(d.mean + d.stddev * z) : d.mean + d.stddev * z; }
__device__ double scaled(double z, NormalDouble d) { return d.log ? exp(d.mean + d.stddev * z) : d.mean + d.stddev * z; }

// Two results of two numbers of a subsequence.
__global__ void normal(float2* pairs, size_t n, Normal d, bool mrg) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint2 x = reinterpret_cast<uint2*>(pairs)[i];
    const double unit = 2.3283065498378288e-10;
    float2 z = mrg ? box_muller((float)(x.x * unit), (float)(x.y * unit) * 6.2831855f) : box_muller(x.x, x.y);
    pairs[i] = make_float2(scaled(z.x, d), scaled(z.y, d));
}
// MRG32k3a fills the first two words.
__global__ void normal_double(double2* pairs, size_t n, NormalDouble d, bool mrg) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 x = reinterpret_cast<uint4*>(pairs)[i];
    const double unit = 2.3283065498378288e-10;
    double2 z = mrg ? box_muller(x.x * unit, x.y * unit * 2.0) : box_muller(x.x, x.y, x.z, x.w);
    pairs[i] = make_double2(scaled(z.x, d), scaled(z.y, d));
}

// The block of four words of Philox that an element comes from: 65,536 subsequences give `step` blocks each in turn.
__device__ uint4 block(unsigned long long seed, unsigned long long element, unsigned int step) {
    unsigned long long four = element / 4, row = four / 65536 * step + (step == 2 ? element % 4 / 2 : 0);
    return philox(make_uint4((unsigned int)row, (unsigned int)(row >> 32), (unsigned int)(four % 65536), 0),
                  make_uint2((unsigned int)seed, (unsigned int)(seed >> 32)));
}
__global__ void philox_normal(float* out, size_t n, unsigned long long seed, unsigned long long first, Normal d) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 x = block(seed, first + i, 1);
    float2 z = (first + i) % 4 < 2 ? box_muller(x.x, x.y) : box_muller(x.z, x.w);
    out[i] = scaled((first + i) % 2 ? z.y : z.x, d);
}
__global__ void philox_normal_double(double* out, size_t n, unsigned long long seed, unsigned long long first, NormalDouble d) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 x = block(seed, first + i, 2);
    double2 z = box_muller(x.x, x.y, x.z, x.w);
    out[i] = scaled((first + i) % 2 ? z.y : z.x, d);
}
__global__ void philox_uniform_double(double* out, size_t n, unsigned long long seed, unsigned long long first) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 x = block(seed, first + i, 2);
    out[i] = (first + i) % 2 ? uniform(x.z, x.w) : uniform(x.x, x.y);
}
__global__ void philox_integers(unsigned int* out, size_t n, unsigned long long seed, unsigned long long first) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 x = block(seed, first + i, 1);
    unsigned int lane = (first + i) % 4;
    out[i] = lane == 0 ? x.x : lane == 1 ? x.y : lane == 2 ? x.z : x.w;
}

// By the inverse of the distribution, mirrored at its middle.
__global__ void quasi_normal(float* out, size_t n, Normal d) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned int x = reinterpret_cast<unsigned int*>(out)[i];
    bool upper = x > 0x80000000u;
    float z = erfcinvf(2.0f * uniform(upper ? ~x : x));
    out[i] = scaled((upper ? 1.4142135f : -1.4142135f) * z, d);
}
__global__ void quasi_normal_double(double* out, size_t n, NormalDouble d) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned int x = reinterpret_cast<uint2*>(out)[i].x;
    bool upper = x > 0x80000000u;
    double z = erfcinv(2.0 * ((upper ? ~x : x) * 2.3283064365386963e-10 + 2.3283064365386963e-10 / 2));
    out[i] = scaled((upper ? 1.4142135623730951 : -1.4142135623730951) * z, d);
}

}  // namespace curand_kernels

namespace {

// Subsequences that give results in turn.
template <class State> struct Sequences {
    std::vector<State> states;
    size_t next = 0;

    void start(unsigned long long seed, unsigned long long offset, size_t count) {
        states.resize(count);
        curand_init(seed, 0, offset / count, &states[0]);
        for (size_t i = 1; i < count; i++) {
            states[i] = states[i - 1];
            jump_ahead(&states[i]);
        }
        next = offset % count;
        for (size_t i = 0; i < next; i++) curand(&states[i]);
    }
    State* take() {
        State* state = &states[next];
        next = next + 1 == states.size() ? 0 : next + 1;
        return state;
    }
    static void jump_ahead(curandStateXORWOW* state) { skipahead_sequence(1, state); }
    static void jump_ahead(curandStateMRG32k3a* state) { skipahead_subsequence(1, state); }
};

// The numbers before a distribution: 32 bits, or those of 1 ... M1.
unsigned int raw(curandStateXORWOW* state) { return curand(state); }
unsigned int raw(curandStateMRG32k3a* state) { return mrg(state); }

const unsigned int MOST_DIMENSIONS = 10;

// The direction numbers of Sobol's sequence in a dimension (Joe and Kuo, 2008, `new-joe-kuo-6`).
void directions(unsigned int dimension, unsigned int v[32]) {
    static const struct { int degree; unsigned int polynomial, m[5]; } OF[MOST_DIMENSIONS] = {
        {0, 0, {}}, {1, 0, {1}}, {2, 1, {1, 3}}, {3, 1, {1, 3, 1}}, {3, 2, {1, 1, 1}}, {4, 1, {1, 1, 3, 3}}, {4, 4, {1, 3, 5, 13}},
        {5, 2, {1, 1, 5, 5, 17}}, {5, 4, {1, 1, 5, 5, 5}}, {5, 7, {1, 1, 7, 11, 19}}};
    const auto& of = OF[dimension];
    int degree = of.degree;
    for (int i = 0; i < 32; i++) {
        if (!degree) { v[i] = 1u << (31 - i); continue; }
        if (i < degree) { v[i] = of.m[i] << (31 - i); continue; }
        v[i] = v[i - degree] ^ (v[i - degree] >> degree);
        for (int k = 1; k < degree; k++)
            if (of.polynomial >> (degree - 1 - k) & 1) v[i] ^= v[i - k];
    }
}

curandStatus_t refuse(const char* what) {
    fprintf(stderr, "curand: %s not supported without NVIDIA's library; there are XORWOW, MRG32K3A, PHILOX4_32_10 and SOBOL32 (10 dimensions)\n", what);
    return CURAND_STATUS_TYPE_ERROR;
}

}  // namespace

struct curandGenerator_st {
    curandRngType_t type;
    bool on_host;
    cudaStream_t stream = 0;
    unsigned long long seed = 0, offset = 0;
    bool legacy = false, started = false;
    unsigned int dimensions = 1;
    Sequences<curandStateXORWOW> xorwow;
    Sequences<curandStateMRG32k3a> mrg;
    unsigned long long position = 0;

    bool is_mrg() const { return type == CURAND_RNG_PSEUDO_MRG32K3A; }
    bool is_philox() const { return type == CURAND_RNG_PSEUDO_PHILOX4_32_10; }
    bool is_quasi() const { return type == CURAND_RNG_QUASI_SOBOL32; }
    bool in_pairs() const { return !is_philox() && !is_quasi(); }

    void start() {
        if (started) return;
        started = true;
        position = offset;
        if (is_mrg()) mrg.start(seed, offset, legacy ? 4096 : 81920);
        else if (in_pairs()) xorwow.start(seed, offset, 4096);
    }
    // Hands `count` numbers of one subsequence to `to`, for each of n results.
    template <class To> void draw(size_t n, int count, To to) {
        unsigned int x[4];
        for (size_t i = 0; i < n; i++) {
            if (is_mrg()) { auto state = mrg.take(); for (int k = 0; k < count; k++) x[k] = raw(state); }
            else { auto state = xorwow.take(); for (int k = 0; k < count; k++) x[k] = raw(state); }
            to(i, x);
        }
    }
    // As many numbers of each dimension, one dimension after another.
    template <class To> void draw_quasi(size_t n, To to) {
        size_t each = n / dimensions;
        for (unsigned int dimension = 0; dimension < dimensions; dimension++) {
            unsigned int v[32], x = 0;
            directions(dimension, v);
            unsigned int gray = (unsigned int)position ^ (unsigned int)position >> 1;
            for (int k = 0; k < 32; k++) if (gray >> k & 1) x ^= v[k];
            for (size_t i = 0; i < each; i++) {
                to(dimension * each + i, x);
                unsigned int rest = ~((unsigned int)position + (unsigned int)i);
                if (rest) x ^= v[__builtin_ctz(rest)];
            }
        }
        position += each;
    }
};

namespace {

dim3 blocks(size_t n) { return dim3((unsigned int)((n + 255) / 256)); }

// Writes results that the host has to the output; a stream may do it later.
template <class T> curandStatus_t deliver(curandGenerator_t g, T* output, std::vector<T>* results) {
    cudaError_t error = cudaMemcpyAsync(output, results->data(), results->size() * sizeof(T), cudaMemcpyDefault, g->stream);
    if (error == cudaSuccess) {
        error = cudaLaunchHostFunc(g->stream, [](void* results) { delete static_cast<std::vector<T>*>(results); }, results);
        if (error == cudaSuccess) return CURAND_STATUS_SUCCESS;
    }
    fprintf(stderr, "curand: the output of %zu numbers cannot be written: %s\n", results->size(), cudaGetErrorString(error));
    delete results;
    return CURAND_STATUS_LAUNCH_FAILURE;
}

// What is wrong with a call, if anything.
curandStatus_t refusal(curandGenerator_t g, size_t n, bool normal) {
    if (!g) return CURAND_STATUS_NOT_INITIALIZED;
    if (g->is_quasi() && n % g->dimensions) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
    if (normal && g->in_pairs() && n % 2) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
    if (normal && g->on_host) {
        fprintf(stderr, "curand: normal numbers of a host generator are not supported without NVIDIA's library\n");
        return CURAND_STATUS_TYPE_ERROR;
    }
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    if (!g->on_host && cudaStreamIsCapturing(g->stream, &capture) == cudaSuccess && capture != cudaStreamCaptureStatusNone) {
        fprintf(stderr, "curand: numbers in a graph are not supported without NVIDIA's library\n");
        return CURAND_STATUS_TYPE_ERROR;
    }
    if (cudaPeekAtLastError() != cudaSuccess) return CURAND_STATUS_PREEXISTING_FAILURE;
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t launched() { return cudaPeekAtLastError() == cudaSuccess ? CURAND_STATUS_SUCCESS : CURAND_STATUS_LAUNCH_FAILURE; }

// Numbers of 32 bits, or of 1 ... M1, as the host computes them.
std::vector<unsigned int> numbers(curandGenerator_t g, size_t n) {
    std::vector<unsigned int> results(n);
    if (g->is_quasi()) g->draw_quasi(n, [&](size_t i, unsigned int x) { results[i] = x; });
    else if (g->is_philox()) {
        for (size_t i = 0; i < n; i++) {
            unsigned long long element = g->position + i, row = element / 4 / 65536;
            uint4 x = philox(make_uint4((unsigned int)row, (unsigned int)(row >> 32), (unsigned int)(element / 4 % 65536), 0),
                             make_uint2((unsigned int)g->seed, (unsigned int)(g->seed >> 32)));
            const unsigned int words[4] = {x.x, x.y, x.z, x.w};
            results[i] = words[element % 4];
        }
        g->position += n;
    } else g->draw(n, 1, [&](size_t i, unsigned int* x) { results[i] = x[0]; });
    return results;
}

// Results computed on the host, of numbers from there.
template <class T, class Of> curandStatus_t each(curandGenerator_t g, T* output, size_t n, Of of) {
    std::vector<unsigned int> raw = numbers(g, n);
    auto results = new std::vector<T>(n);
    for (size_t i = 0; i < n; i++) (*results)[i] = of(raw[i]);
    if (!g->on_host) return deliver(g, output, results);
    std::copy(results->begin(), results->end(), output);
    delete results;
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t normal(curandGenerator_t g, float* output, size_t n, curand_kernels::Normal d) {
    curandStatus_t status = refusal(g, n, true);
    if (status || !n) return status;
    g->start();
    if (g->is_philox()) {
        curand_kernels::philox_normal<<<blocks(n), 256, 0, g->stream>>>(output, n, g->seed, g->position, d);
        g->position += n;
        return launched();
    }
    auto raw = new std::vector<unsigned int>(n);
    if (g->is_quasi()) g->draw_quasi(n, [&](size_t i, unsigned int x) { (*raw)[i] = x; });
    else g->draw(n / 2, 2, [&](size_t i, unsigned int* x) { (*raw)[2 * i] = x[0]; (*raw)[2 * i + 1] = x[1]; });
    status = deliver(g, reinterpret_cast<unsigned int*>(output), raw);
    if (status) return status;
    if (g->is_quasi()) curand_kernels::quasi_normal<<<blocks(n), 256, 0, g->stream>>>(output, n, d);
    else curand_kernels::normal<<<blocks(n / 2), 256, 0, g->stream>>>(reinterpret_cast<float2*>(output), n / 2, d, g->is_mrg());
    return launched();
}

curandStatus_t normal_double(curandGenerator_t g, double* output, size_t n, curand_kernels::NormalDouble d) {
    curandStatus_t status = refusal(g, n, true);
    if (status || !n) return status;
    g->start();
    if (g->is_philox()) {
        curand_kernels::philox_normal_double<<<blocks(n), 256, 0, g->stream>>>(output, n, g->seed, g->position, d);
        g->position += n;
        return launched();
    }
    auto raw = new std::vector<uint2>(n);
    if (g->is_quasi()) g->draw_quasi(n, [&](size_t i, unsigned int x) { (*raw)[i] = make_uint2(x, 0); });
    else g->draw(n / 2, g->is_mrg() ? 2 : 4, [&](size_t i, unsigned int* x) { (*raw)[2 * i] = make_uint2(x[0], x[1]); (*raw)[2 * i + 1] = make_uint2(x[2], x[3]); });
    status = deliver(g, reinterpret_cast<uint2*>(output), raw);
    if (status) return status;
    if (g->is_quasi()) curand_kernels::quasi_normal_double<<<blocks(n), 256, 0, g->stream>>>(output, n, d);
    else curand_kernels::normal_double<<<blocks(n / 2), 256, 0, g->stream>>>(reinterpret_cast<double2*>(output), n / 2, d, g->is_mrg());
    return launched();
}

curandStatus_t create(curandGenerator_t* generator, curandRngType_t type, bool on_host) {
    if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
    switch (type) {
    case CURAND_RNG_PSEUDO_DEFAULT: type = CURAND_RNG_PSEUDO_XORWOW; break;
    case CURAND_RNG_QUASI_DEFAULT: type = CURAND_RNG_QUASI_SOBOL32; break;
    case CURAND_RNG_PSEUDO_XORWOW: case CURAND_RNG_PSEUDO_MRG32K3A: case CURAND_RNG_PSEUDO_PHILOX4_32_10: case CURAND_RNG_QUASI_SOBOL32: break;
    case CURAND_RNG_PSEUDO_MTGP32: return refuse("the generator MTGP32 is");
    case CURAND_RNG_PSEUDO_MT19937: return refuse("the generator MT19937 is");
    default: return refuse("scrambled and 64-bit Sobol generators are");
    }
    *generator = new curandGenerator_st{type, on_host};
    return CURAND_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type) { return create(generator, type, false); }
curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator, curandRngType_t type) { return create(generator, type, true); }
curandStatus_t curandDestroyGenerator(curandGenerator_t g) {
    if (!g) return CURAND_STATUS_NOT_INITIALIZED;
    delete g;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetVersion(int* version) {
    if (!version) return CURAND_STATUS_OUT_OF_RANGE;
    *version = CURAND_VERSION;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetStream(curandGenerator_t g, cudaStream_t stream) {
    if (!g) return CURAND_STATUS_NOT_INITIALIZED;
    g->stream = stream;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t g, unsigned long long seed) {
    if (!g) return CURAND_STATUS_NOT_INITIALIZED;
    if (g->is_quasi()) return CURAND_STATUS_TYPE_ERROR;
    g->seed = seed; g->started = false;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t g, unsigned long long offset) {
    if (!g) return CURAND_STATUS_NOT_INITIALIZED;
    g->offset = offset; g->started = false;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t g, curandOrdering_t order) {
    if (!g) return CURAND_STATUS_NOT_INITIALIZED;
    if (g->is_quasi() != (order == CURAND_ORDERING_QUASI_DEFAULT)) return CURAND_STATUS_OUT_OF_RANGE;
    if (order == CURAND_ORDERING_PSEUDO_SEEDED || order == CURAND_ORDERING_PSEUDO_DYNAMIC) {
        fprintf(stderr, "curand: the orderings SEEDED and DYNAMIC are not supported without NVIDIA's library\n");
        return CURAND_STATUS_OUT_OF_RANGE;
    }
    g->legacy = order == CURAND_ORDERING_PSEUDO_LEGACY; g->started = false;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t g, unsigned int dimensions) {
    if (!g) return CURAND_STATUS_NOT_INITIALIZED;
    if (!g->is_quasi()) return CURAND_STATUS_TYPE_ERROR;
    if (!dimensions || dimensions > 20000) return CURAND_STATUS_OUT_OF_RANGE;
    if (dimensions > MOST_DIMENSIONS) return refuse("so many dimensions are");
    g->dimensions = dimensions; g->started = false;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGenerateSeeds(curandGenerator_t g) {
    if (!g) return CURAND_STATUS_NOT_INITIALIZED;
    g->start();
    return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGenerate(curandGenerator_t g, unsigned int* output, size_t n) {
    curandStatus_t status = refusal(g, n, false);
    if (status || !n) return status;
    g->start();
    if (g->is_philox() && !g->on_host) {
        curand_kernels::philox_integers<<<blocks(n), 256, 0, g->stream>>>(output, n, g->seed, g->position);
        g->position += n;
        return launched();
    }
    bool mrg = g->is_mrg();
    return each(g, output, n, [mrg](unsigned int x) { return mrg ? (unsigned int)(x * 1.000000048662) : x; });
}
curandStatus_t curandGenerateUniform(curandGenerator_t g, float* output, size_t n) {
    curandStatus_t status = refusal(g, n, false);
    if (status || !n) return status;
    g->start();
    bool mrg = g->is_mrg();
    return each(g, output, n, [mrg](unsigned int x) {
        return mrg ? (float)(x * 2.3283065498378288e-10) : fmaf((float)x, 2.3283064e-10f, 2.3283064e-10f / 2);
    });
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t g, double* output, size_t n) {
    curandStatus_t status = refusal(g, n, false);
    if (status || !n) return status;
    g->start();
    if (g->is_mrg()) return each(g, output, n, [](unsigned int x) { return x * 2.3283065498378288e-10; });
    if (g->is_quasi()) return each(g, output, n, [](unsigned int x) { return x * 2.3283064365386963e-10 + 2.3283064365386963e-10; });
    if (g->is_philox()) {
        if (g->on_host) return refuse("doubles of a Philox generator on the host are");
        curand_kernels::philox_uniform_double<<<blocks(n), 256, 0, g->stream>>>(output, n, g->seed, g->position);
        g->position += n;
        return launched();
    }
    auto results = new std::vector<double>(n);
    g->draw(n, 2, [&](size_t i, unsigned int* x) {
        unsigned long long z = x[0] ^ (unsigned long long)x[1] << 21;
        (*results)[i] = fma((double)z, 1.1102230246251565e-16, 1.1102230246251565e-16 / 2);
    });
    if (!g->on_host) return deliver(g, output, results);
    std::copy(results->begin(), results->end(), output);
    delete results;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGenerateNormal(curandGenerator_t g, float* output, size_t n, float mean, float stddev) {
    return normal(g, output, n, {mean, stddev, false});
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t g, double* output, size_t n, double mean, double stddev) {
    return normal_double(g, output, n, {mean, stddev, false});
}
curandStatus_t curandGenerateLogNormal(curandGenerator_t g, float* output, size_t n, float mean, float stddev) {
    return normal(g, output, n, {mean, stddev, true});
}
curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t g, double* output, size_t n, double mean, double stddev) {
    return normal_double(g, output, n, {mean, stddev, true});
}

}  // extern "C"
