// Draws the data of a bench on the GPU: each element is a function of a seed and of its index, which values.rs computes to the
// same bits. draw.ptx is this file compiled by `nvcc -ptx -arch=sm_75`, with its version set to 6.5 and without comments, so that any
// driver since CUDA 10.2 loads it.

typedef unsigned long long u64;

// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
__device__ u64 mix(u64 seed, u64 index)
{
    u64 z = seed + (index + 1) * 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

// kind: 0 normal (factor, shift), 1 integers (low, count), 2 integers but 0 (low = -count), 3 one-hot (count), 4 constant (shift),
// 5 the index.
__device__ float value(int kind, u64 seed, u64 i, float factor, float shift, long long low, u64 count)
{
    u64 z = mix(seed, i);
    if (kind == 0) {
        int sum = (int)(z & 0xFFFF) + (int)((z >> 16) & 0xFFFF) + (int)((z >> 32) & 0xFFFF) + (int)(z >> 48) - 131070;
        return __fadd_rn(__fmul_rn((float)sum, factor), shift);
    }
    if (kind == 1) return (float)(low + (long long)(((z >> 32) * count) >> 32));
    if (kind == 2) {
        long long drawn = (long long)(((z >> 32) * (2 * count)) >> 32) - (long long)count;
        return (float)(drawn >= 0 ? drawn + 1 : drawn);
    }
    if (kind == 3) return i % count == ((mix(seed, i / count) >> 32) * count) >> 32 ? 1.0f : 0.0f;
    if (kind == 4) return shift;
    return (float)i;
}

__device__ unsigned short half_bits(float x)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}

// dtype: 0 f32, 1 f64, 2 f16, 3 bf16, 4 i32.
extern "C" __global__ void draw(
    void* out, u64 n, int dtype, int kind, u64 seed, float factor, float shift, long long low, u64 count)
{
    u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        float x = value(kind, seed, i, factor, shift, low, count);
        if (dtype == 0) {
            ((float*)out)[i] = x;
        } else if (dtype == 1) {
            ((double*)out)[i] = x;
        } else if (dtype == 2) {
            ((unsigned short*)out)[i] = half_bits(x);
        } else if (dtype == 3) {
            unsigned bits = __float_as_uint(x);
            ((unsigned short*)out)[i] = (unsigned short)((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
        } else {
            ((int*)out)[i] = (int)x;
        }
    }
}

extern "C" __global__ void empty() {}

// Keeps the GPU busy, so that what is enqueued behind it starts without a gap.
extern "C" __global__ void wait(u64 nanoseconds)
{
    u64 start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
}
