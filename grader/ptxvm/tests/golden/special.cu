// Every result of the approximate functions of one operand, 2^32 of each, as sums of 2^24: special.bin.
// nvcc -arch=sm_90 special.cu -o special && ./special > special.bin; seconds on an NVIDIA H200. `isa/ops/approx.rs` compares them.
#include <cstdio>

__device__ unsigned mixed(unsigned x)
{
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

#define NARROW(id, name) if (F == id) asm("{.reg .f32 a,b;mov.b32 a,%1;" name " b,a;mov.b32 %0,b;}" : "=r"(r) : "r"(x));
#define WIDE(id, name) if (F == id) asm("{.reg .f64 a,b;.reg .b32 l;mov.b64 a,{0,%1};" name " b,a;mov.b64 {l,%0},b;}" : "=r"(r) : "r"(x));

template <int F> __device__ unsigned function(unsigned x)
{
    unsigned r = 0;
    NARROW(0, "ex2.approx.ftz.f32") NARROW(1, "lg2.approx.ftz.f32") NARROW(2, "rcp.approx.ftz.f32")
    NARROW(3, "rsqrt.approx.ftz.f32") NARROW(4, "sqrt.approx.ftz.f32") NARROW(5, "sin.approx.f32")
    NARROW(6, "cos.approx.f32") NARROW(7, "tanh.approx.f32")
    // Of the upper word, with a lower word of zero.
    WIDE(8, "rcp.approx.ftz.f64") WIDE(9, "rsqrt.approx.ftz.f64")
    NARROW(10, "ex2.approx.f32") NARROW(11, "lg2.approx.f32") NARROW(12, "rcp.approx.f32")
    NARROW(13, "rsqrt.approx.f32") NARROW(14, "sqrt.approx.f32")
    return r;
}

// A block takes 2^16 operands.
template <int F> __global__ void sums(unsigned *out)
{
    unsigned sum = 0;
    for (unsigned low = threadIdx.x; low < 65536; low += blockDim.x)
        sum += mixed(function<F>(blockIdx.x << 16 | low) ^ low * 0x9E3779B1u);
    atomicAdd(out + F * 256 + (blockIdx.x >> 8), sum);
}

template <int F> void measure(unsigned *out)
{
    sums<F><<<65536, 256>>>(out);
    if constexpr (F > 0)
        measure<F - 1>(out);
}

int main()
{
    const int functions = 15;
    unsigned *out, host[functions * 256];
    cudaMalloc(&out, sizeof host);
    cudaMemset(out, 0, sizeof host);
    measure<functions - 1>(out);
    cudaError_t error = cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess)
        return fprintf(stderr, "%s\n", cudaGetErrorString(error)), 1;
    fwrite(host, 1, sizeof host, stdout);
}
