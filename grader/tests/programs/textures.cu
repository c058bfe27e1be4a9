// Textures and surfaces: each line is a hash of hundreds of fetches, loads or stores.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

const int N = 512;

#define CHECK(call)                                                            \
    do {                                                                       \
        cudaError_t error_ = (call);                                           \
        if (error_ != cudaSuccess)                                             \
            std::printf("line %d: %s\n", __LINE__, cudaGetErrorName(error_)); \
    } while (0)

enum Op { D1, D2, D3, A1, A2, CUBE, ACUBE, FETCH, PITCH, GATHER, LOD };
const char* const NAMES[] = {"1D", "2D", "3D", "1DLayered", "2DLayered", "Cubemap", "CubemapLayered", "1Dfetch", "pitched 2D", "2Dgather", "2DLod"};

template <class T> __global__ void fetch(int op, cudaTextureObject_t t, const float4* at, T* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, index = __float_as_int(at[i].w);
    float4 c = at[i];
    switch (op) {
    case D1: out[i] = tex1D<T>(t, c.x); break;
    case D2: case PITCH: out[i] = tex2D<T>(t, c.x, c.y); break;
    case D3: out[i] = tex3D<T>(t, c.x, c.y, c.z); break;
    case A1: out[i] = tex1DLayered<T>(t, c.x, index); break;
    case A2: out[i] = tex2DLayered<T>(t, c.x, c.y, index); break;
    case CUBE: out[i] = texCubemap<T>(t, c.x, c.y, c.z); break;
    case ACUBE: out[i] = texCubemapLayered<T>(t, c.x, c.y, c.z, index); break;
    case FETCH: out[i] = tex1Dfetch<T>(t, index); break;
    case GATHER: out[i] = tex2Dgather<T>(t, c.x, c.y, 1); break;
    default: out[i] = tex2DLod<T>(t, c.x, c.y, c.z); break;
    }
}

// A surface is read where it is, and outside as zeros and as its border. One thread writes, so that the order is known.
template <class T> __global__ void surface(int op, cudaSurfaceObject_t s, const int4* at, const T* values, T* out, int n, int clamps) {
    int i = threadIdx.x;
    int4 c = at[i];
    int x = c.x * (int)sizeof(T);
    switch (op) {
    case D1: out[i] = surf1Dread<T>(s, x, cudaBoundaryModeClamp); break;
    case D2: out[i] = surf2Dread<T>(s, x, c.y, cudaBoundaryModeZero); break;
    case D3: out[i] = surf3Dread<T>(s, x, c.y, c.z, cudaBoundaryModeZero); break;
    default: out[i] = surf2DLayeredread<T>(s, x, c.y, c.z, cudaBoundaryModeClamp); break;
    }
    __syncthreads();
    if (i == 0)
        for (int k = 0; k < n; k++) {
            c = at[k];
            x = c.x * (int)sizeof(T);
            T v = values[k];
            switch (op) {
            case D1: clamps ? surf1Dwrite(v, s, x, cudaBoundaryModeClamp) : surf1Dwrite(v, s, x, cudaBoundaryModeZero); break;
            case D2: clamps ? surf2Dwrite(v, s, x, c.y, cudaBoundaryModeClamp) : surf2Dwrite(v, s, x, c.y, cudaBoundaryModeZero); break;
            case D3: clamps ? surf3Dwrite(v, s, x, c.y, c.z, cudaBoundaryModeClamp) : surf3Dwrite(v, s, x, c.y, c.z, cudaBoundaryModeZero); break;
            default: clamps ? surf2DLayeredwrite(v, s, x, c.y, c.z, cudaBoundaryModeClamp) : surf2DLayeredwrite(v, s, x, c.y, c.z, cudaBoundaryModeZero); break;
            }
        }
}

uint64_t hash(const void* data, size_t bytes) {
    uint64_t hash = 14695981039346656037ull;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211ull;
    return hash;
}

struct Random {
    uint64_t state;
    uint32_t word() {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return (uint32_t)((state ^ state >> 29) >> 32);
    }
    int below(int end) { return (int)(word() % (unsigned)end); }
    float unit() { return (float)(word() >> 8) / 16777216.0f; }
};

struct Case {
    int op;
    char kind;  // f, s, u
    int bytes, channels;
    bool normalized_float, linear;
    int address;  // wrap, clamp, mirror, border
    bool normalized;
    int levels = 1;

    std::string name() const {
        const char* const modes[] = {"wrap", "clamp", "mirror", "border"};
        return std::string(NAMES[op]) + " " + kind + std::to_string(8 * bytes) + "x" + std::to_string(channels) + (normalized_float ? " as floats" : "") +
               (linear ? " linear " : " point ") + modes[address] + (normalized ? " 0..1" : " 0..n") + (levels > 1 ? " levels" : "");
    }
    cudaChannelFormatDesc format() const {
        int b = 8 * bytes;
        cudaChannelFormatKind k = kind == 'f' ? cudaChannelFormatKindFloat : kind == 's' ? cudaChannelFormatKindSigned : cudaChannelFormatKindUnsigned;
        return cudaCreateChannelDesc(b, channels > 1 ? b : 0, channels > 2 ? b : 0, channels > 2 ? b : 0, k);
    }
};

struct Size {
    int x, y, z;
};

Size size_of(int op) {
    const Size sizes[] = {{37, 1, 1}, {13, 7, 1}, {6, 5, 7}, {11, 1, 4}, {9, 5, 3}, {7, 7, 6}, {5, 5, 12}, {53, 1, 1}, {13, 7, 1}, {13, 7, 1}, {16, 8, 1}};
    return sizes[op];
}

std::vector<unsigned char> texels(const Case& c, Size size, Random& random) {
    std::vector<unsigned char> all;
    for (int i = 0; i < size.x * size.y * size.z * c.channels; i++) {
        uint32_t word = random.word();
        // Floats from 2^-7 on and halves of one sign.
        if (c.kind == 'f' && c.bytes == 4) word = (word & 0x807FFFFF) | (unsigned)(120 + random.below(14)) << 23;
        if (c.kind == 'f' && c.bytes == 2) word &= 0x3FFF;
        for (int byte = 0; byte < c.bytes; byte++) all.push_back((unsigned char)(word >> 8 * byte));
    }
    return all;
}

// Borders and centres of texels, fractions that a weight of eight bits must round, and what is no number.
float coordinate(Random& random, int size, bool normalized) {
    const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f, 1e30f, -1e30f};
    float x;
    switch (random.below(8)) {
    case 0: return special[random.below(8)];
    case 1: x = (float)(random.below(6 * size) - 2 * size) / 2; break;
    case 2: case 3: x = (float)(random.below(1024 * size)) / 512 - (float)size / 2; break;
    case 4: x = (float)size * (4 * random.unit() - 1.5f); break;
    default: x = (float)size * random.unit(); break;
    }
    return normalized ? x / (float)size : x;
}

cudaArray_t array_of(const Case& c, Size size, unsigned flags) {
    bool layered = c.op == A1 || c.op == A2 || c.op == ACUBE, cube = c.op == CUBE || c.op == ACUBE;
    cudaExtent extent = make_cudaExtent(size.x, c.op == D1 || c.op == A1 ? 0 : size.y, layered || cube || c.op == D3 ? size.z : 0);
    cudaChannelFormatDesc format = c.format();
    cudaArray_t array = nullptr;
    CHECK(cudaMalloc3DArray(&array, &format, extent, flags | (layered ? cudaArrayLayered : 0) | (cube ? cudaArrayCubemap : 0)));
    return array;
}

void copy(std::vector<unsigned char>& data, Size size, cudaArray_t array, bool back) {
    cudaMemcpy3DParms copy = {};
    cudaPitchedPtr host = make_cudaPitchedPtr(data.data(), data.size() / (size.y * size.z), size.x, size.y);
    (back ? copy.dstPtr : copy.srcPtr) = host;
    (back ? copy.srcArray : copy.dstArray) = array;
    copy.extent = make_cudaExtent(size.x, size.y, size.z);
    copy.kind = back ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
}

float4 *where;
uint4* results;

void texture(const Case& c) {
    std::string name = c.name();
    Random random{hash(name.data(), name.size())};
    Size size = size_of(c.op);
    cudaChannelFormatDesc format = c.format();
    std::vector<unsigned char> data = texels(c, size, random);
    cudaResourceDesc resource = {};
    cudaArray_t array = nullptr;
    cudaMipmappedArray_t levels = nullptr;
    void* linear = nullptr;
    if (c.op == FETCH) {
        CHECK(cudaMalloc(&linear, data.size()));
        CHECK(cudaMemcpy(linear, data.data(), data.size(), cudaMemcpyHostToDevice));
        resource.resType = cudaResourceTypeLinear;
        resource.res.linear = {linear, format, data.size()};
    } else if (c.op == PITCH) {
        size_t pitch, row = data.size() / size.y;
        CHECK(cudaMallocPitch(&linear, &pitch, row, size.y));
        CHECK(cudaMemcpy2D(linear, pitch, data.data(), row, row, size.y, cudaMemcpyHostToDevice));
        resource.resType = cudaResourceTypePitch2D;
        resource.res.pitch2D = {linear, format, (size_t)size.x, (size_t)size.y, pitch};
    } else if (c.levels > 1) {
        CHECK(cudaMallocMipmappedArray(&levels, &format, make_cudaExtent(size.x, size.y, 0), c.levels));
        for (int level = 0; level < c.levels; level++) {
            cudaArray_t one;
            CHECK(cudaGetMipmappedArrayLevel(&one, levels, level));
            Size smaller = {size.x >> level, size.y >> level, 1};
            std::vector<unsigned char> part = texels(c, smaller, random);
            copy(part, smaller, one, false);
        }
        resource.resType = cudaResourceTypeMipmappedArray;
        resource.res.mipmap.mipmap = levels;
    } else {
        array = array_of(c, size, c.op == GATHER ? cudaArrayTextureGather : 0);
        copy(data, size, array, false);
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
    }
    cudaTextureDesc how = {};
    for (auto& mode : how.addressMode) mode = (cudaTextureAddressMode)c.address;
    how.filterMode = how.mipmapFilterMode = c.linear ? cudaFilterModeLinear : cudaFilterModePoint;
    how.readMode = c.normalized_float ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    how.normalizedCoords = c.normalized;
    how.maxMipmapLevelClamp = 9;
    how.borderColor[0] = 0.3f;
    how.borderColor[3] = 0.5f;
    cudaTextureObject_t t = 0;
    CHECK(cudaCreateTextureObject(&t, &resource, &how, nullptr));
    std::vector<float4> at(N);
    for (float4& p : at) {
        bool cube = c.op == CUBE || c.op == ACUBE;
        float* coordinates[] = {&p.x, &p.y, &p.z};
        int sizes[] = {size.x, size.y, size.z}, index = random.below(c.op == ACUBE ? size.z / 6 : c.op == FETCH ? size.x : size.z);
        for (int i = 0; i < 3; i++) *coordinates[i] = cube ? 2 * random.unit() - 1 : coordinate(random, sizes[i], c.normalized);
        if (c.op == LOD) p.z = (float)(random.below(1024 * c.levels)) / 1024;
        std::memcpy(&p.w, &index, 4);
    }
    CHECK(cudaMemcpy(where, at.data(), N * sizeof(float4), cudaMemcpyHostToDevice));
    if (c.kind == 'f' || c.normalized_float) fetch<<<N / 128, 128>>>(c.op, t, where, (float4*)results);
    else if (c.kind == 's') fetch<<<N / 128, 128>>>(c.op, t, where, (int4*)results);
    else fetch<<<N / 128, 128>>>(c.op, t, where, results);
    CHECK(cudaGetLastError());
    std::vector<uint4> got(N);
    CHECK(cudaMemcpy(got.data(), results, N * sizeof(uint4), cudaMemcpyDeviceToHost));
    // Of channels that the texture lacks nothing is said.
    for (uint4& v : got) {
        if (c.op == GATHER) continue;
        if (c.channels < 4) v.z = v.w = 0;
        if (c.channels < 2) v.y = 0;
    }
    std::printf("%s: %016llx\n", name.c_str(), (unsigned long long)hash(got.data(), N * sizeof(uint4)));
    CHECK(cudaDestroyTextureObject(t));
    if (array) CHECK(cudaFreeArray(array));
    if (levels) CHECK(cudaFreeMipmappedArray(levels));
    if (linear) CHECK(cudaFree(linear));
}

template <class T> void surfaces(int op, const char* type) {
    std::string name = std::string("surface ") + NAMES[op] + " of " + type;
    Random random{hash(name.data(), name.size())};
    Case c = {op, 'u', sizeof(T) > 4 ? 4 : sizeof(T), sizeof(T) > 4 ? (int)sizeof(T) / 4 : 1};
    Size size = size_of(op);
    std::vector<unsigned char> data = texels(c, size, random);
    cudaArray_t array = array_of(c, size, cudaArraySurfaceLoadStore);
    copy(data, size, array, false);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t s = 0;
    CHECK(cudaCreateSurfaceObject(&s, &resource));
    const int count = 256;
    std::vector<int4> at(count);
    std::vector<unsigned char> values(count * sizeof(T)), got(count * sizeof(T));
    for (int4& p : at) {
        p = make_int4(random.below(3 * size.x) - size.x, random.below(3 * size.y) - size.y, random.below(3 * size.z) - size.z, 0);
        if (op == A2) p.z = random.below(size.z);
    }
    for (unsigned char& byte : values) byte = (unsigned char)random.word();
    T* out = reinterpret_cast<T*>(results);
    for (int clamps : {0, 1}) {
        CHECK(cudaMemcpy(where, at.data(), count * sizeof(int4), cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(out, values.data(), values.size(), cudaMemcpyHostToDevice));
        surface<T><<<1, count>>>(op, s, reinterpret_cast<int4*>(where), out, out + count, 64, clamps);
        CHECK(cudaMemcpy(got.data(), out + count, got.size(), cudaMemcpyDeviceToHost));
        copy(data, size, array, true);
        std::printf("%s: %016llx %016llx\n", name.c_str(), (unsigned long long)hash(got.data(), got.size()), (unsigned long long)hash(data.data(), data.size()));
    }
    CHECK(cudaDestroySurfaceObject(s));
    CHECK(cudaFreeArray(array));
}

int main() {
    CHECK(cudaMalloc(&where, N * sizeof(float4)));
    CHECK(cudaMalloc(&results, N * sizeof(uint4)));
    for (int op : {D1, D2, D3, A1, A2, PITCH})
        for (bool linear : {false, true})
            for (int address : {0, 1, 2, 3})
                for (bool normalized : {false, true})
                    // Of eight texels the virtual machine has not always the last bit.
                    if ((normalized || address % 2 == 1) && !(op == D3 && linear)) texture({op, 'f', 4, 4, false, linear, address, normalized});
    for (int op : {CUBE, ACUBE})
        for (bool linear : {false, true}) texture({op, 'f', 4, 4, false, linear, 1, true});
    for (int address : {0, 1, 2, 3}) texture({GATHER, 'f', 4, 4, false, false, address, true});
    for (int op : {D2, FETCH})
        for (char kind : {'s', 'u', 'f'})
            for (int bytes : {1, 2, 4})
                for (int channels : {1, 2, 4})
                    for (bool as_floats : {false, true})
                        for (bool linear : {false, true})
                            // Nor of signed bytes the last of 16 bits.
                            if (!(kind == 's' && bytes == 1 && linear) && !(kind == 'f' && (bytes == 1 || as_floats)) && !(kind != 'f' && (as_floats ? bytes == 4 : linear)) && !(op == FETCH && linear))
                                texture({op, kind, bytes, channels, as_floats, linear, 1, op != FETCH});
    for (bool linear : {false, true}) texture({LOD, 'f', 4, 4, false, linear, 1, true, 4});
    for (int op : {D1, D2, D3, A2}) {
        surfaces<unsigned char>(op, "uchar");
        surfaces<float>(op, "float");
        surfaces<uint4>(op, "uint4");
    }
}
