// A part of cuBLAS: vectors and matrices of float and double, and products of matrices of further types. cuBLAS does not say in which order
// it adds; here each element of a product is a sum over k from 0 on, with fused multiply-adds in the type of the computation. Matrices are read
// and written by kernels with the names of the calls, so that an access outside of one is reported with the call and its line.
#include "cublas_v2.h"
#include <cuda_bf16.h>
#include <stdio.h>

struct cublasContext {
    cudaStream_t stream;
    cublasPointerMode_t pointers;
    cublasMath_t math;
};

namespace cublas {

// A factor, in the host's memory or on the device.
template <class T> struct Factor {
    T value;
    const T* device;
    __device__ T get() const { return device ? *device : value; }
};

__device__ inline float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ inline double multiply_add(double a, double b, double c) { return fma(a, b, c); }
__device__ inline __half multiply_add(__half a, __half b, __half c) { return __hfma(a, b, c); }
__device__ inline int multiply_add(int a, int b, int c) { return a * b + c; }

template <class To, class From> __device__ inline To convert(From x) { return (To)x; }
template <> __device__ inline float convert(__half x) { return __half2float(x); }
template <> __device__ inline __half convert(float x) { return __float2half(x); }
template <> __device__ inline float convert(__nv_bfloat16 x) { return __bfloat162float(x); }
template <> __device__ inline __nv_bfloat16 convert(float x) { return __float2bfloat16(x); }

// C = alpha * op(A) * op(B) + beta * C, for each matrix of a batch: matrices at equal distances, or of lists.
template <class AB, class CT, class T> struct Product {
    bool transa, transb;
    int m, n, k, lda, ldb, ldc, batch;
    Factor<T> alpha, beta;
    const AB *A, *B;
    CT* C;
    long long stridea, strideb, stridec;
    const AB *const *As, *const *Bs;
    CT* const* Cs;
};

// The elements of row i in N columns from j on.
template <int N, class AB, class CT, class T>
__device__ inline void columns(const Product<AB, CT, T>& p, const AB* A, const AB* B, CT* C, int i, int j) {
    const size_t stepa = p.transa ? 1 : p.lda, stepb = p.transb ? p.ldb : 1, columnb = p.transb ? 1 : p.ldb;
    size_t ata = p.transa ? (size_t)i * p.lda : i, atb = j * columnb;
    T sums[N] = {};
    for (int l = 0; l < p.k; l++) {
        T a = convert<T>(A[ata]);
        for (int c = 0; c < N; c++) {
            T b = convert<T>(B[atb + c * columnb]);
            sums[c] = multiply_add(a, b, sums[c]);
        }
        ata += stepa; atb += stepb;
    }
    T alpha = p.alpha.get(), beta = p.beta.get();
    for (int c = 0; c < N; c++) {
        size_t atc = (size_t)(j + c) * p.ldc + i;
        T result = alpha * sums[c];
        // With a factor of 0, C need not hold any numbers.
        if (beta != T(0)) result = multiply_add(beta, convert<T>(C[atc]), result);
        C[atc] = convert<CT>(result);
    }
}

// The columns that a thread computes side by side.
const int COLUMNS = 4;

template <class AB, class CT, class T> __device__ inline void multiply(const Product<AB, CT, T>& p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = (blockIdx.y * blockDim.y + threadIdx.y) * COLUMNS;
    if (i >= p.m) return;
    for (long long which = blockIdx.z; which < p.batch; which += gridDim.z) {
        const AB* A = p.As ? p.As[which] : p.A + which * p.stridea;
        const AB* B = p.Bs ? p.Bs[which] : p.B + which * p.strideb;
        CT* C = p.Cs ? p.Cs[which] : p.C + which * p.stridec;
        if (j + COLUMNS <= p.n) columns<COLUMNS>(p, A, B, C, i, j);
        else for (int c = j; c < p.n; c++) columns<1>(p, A, B, C, i, c);
    }
}

__global__ void Sgemm(Product<float, float, float> p) { multiply(p); }
__global__ void Dgemm(Product<double, double, double> p) { multiply(p); }
__global__ void Hgemm(Product<__half, __half, __half> p) { multiply(p); }
template <class AB, class CT, class T> __global__ void GemmEx(Product<AB, CT, T> p) { multiply(p); }

// The index of element i of n with these steps: backwards from the end if they are negative.
__device__ inline long long at(int i, int n, int inc) { return (long long)(inc < 0 ? i - n + 1 : i) * inc; }
__device__ inline int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

template <class T> __global__ void copy(int n, const T* x, int incx, T* y, int incy) {
    int i = thread();
    if (i < n) y[at(i, n, incy)] = x[at(i, n, incx)];
}
template <class T> __global__ void swap(int n, T* x, int incx, T* y, int incy) {
    int i = thread();
    if (i >= n) return;
    T t = x[at(i, n, incx)];
    x[at(i, n, incx)] = y[at(i, n, incy)];
    y[at(i, n, incy)] = t;
}
template <class T> __global__ void scal(int n, Factor<T> alpha, T* x, int incx) {
    int i = thread();
    if (i < n) x[at(i, n, incx)] *= alpha.get();
}
template <class T> __global__ void axpy(int n, Factor<T> alpha, const T* x, int incx, T* y, int incy) {
    int i = thread();
    if (i < n) y[at(i, n, incy)] = multiply_add(alpha.get(), x[at(i, n, incx)], y[at(i, n, incy)]);
}

// Where a sum's result goes unless the caller wants it on the device.
__device__ double sum_result;
__device__ int index_result;

const int THREADS = 256;

// The sum over a block: each thread's own terms first, then by halves.
template <class T> __device__ inline T block_sum(T own) {
    __shared__ T sums[THREADS];
    sums[threadIdx.x] = own;
    for (int half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    return sums[0];
}
template <class T> __global__ void dot(int n, const T* x, int incx, const T* y, int incy, T* result) {
    T sum = 0;
    for (int i = threadIdx.x; i < n; i += THREADS) sum = multiply_add(x[at(i, n, incx)], y[at(i, n, incy)], sum);
    sum = block_sum(sum);
    if (threadIdx.x == 0) *(result ? result : (T*)&sum_result) = sum;
}
template <class T> __global__ void asum(int n, const T* x, int incx, T* result) {
    T sum = 0;
    for (int i = threadIdx.x; i < n; i += THREADS) sum += fabs(x[at(i, n, incx)]);
    sum = block_sum(sum);
    if (threadIdx.x == 0) *(result ? result : (T*)&sum_result) = sum;
}
// The squares are added in double, after a division by the largest one where they could overflow.
template <class T> __global__ void nrm2(int n, const T* x, int incx, T* result) {
    __shared__ double largest[THREADS];
    double own = 0;
    for (int i = threadIdx.x; i < n; i += THREADS) own = fmax(own, (double)fabs(x[at(i, n, incx)]));
    largest[threadIdx.x] = own;
    for (int half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) largest[threadIdx.x] = fmax(largest[threadIdx.x], largest[threadIdx.x + half]);
    }
    __syncthreads();
    double scale = largest[0] > 1e150 || largest[0] < 1e-150 ? largest[0] : 1, sum = 0;
    if (scale == 0 || isinf(scale)) scale = 1;
    for (int i = threadIdx.x; i < n; i += THREADS) {
        double t = x[at(i, n, incx)] / scale;
        sum = fma(t, t, sum);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) *(result ? result : (T*)&sum_result) = (T)(scale * sqrt(sum));
}
// The first index, from 1 on, of the largest absolute value, or with a sign of -1 of the least one.
template <int SIGN, class T> __device__ inline void extreme(int n, const T* x, int incx, int* result) {
    __shared__ T values[THREADS];
    __shared__ int indices[THREADS];
    T value = 0;
    int index = 0;
    for (int i = threadIdx.x; i < n; i += THREADS) {
        T next = SIGN * fabs(x[at(i, n, incx)]);
        if (!index || next > value) { value = next; index = i + 1; }
    }
    values[threadIdx.x] = value; indices[threadIdx.x] = index;
    for (int half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x >= half) continue;
        T other = values[threadIdx.x + half];
        int there = indices[threadIdx.x + half];
        if (there && (!index || other > value || other == value && there < index)) { value = other; index = there; }
        values[threadIdx.x] = value; indices[threadIdx.x] = index;
    }
    if (threadIdx.x == 0) *(result ? result : &index_result) = index;
}
template <class T> __global__ void amax(int n, const T* x, int incx, int* result) { extreme<1>(n, x, incx, result); }
template <class T> __global__ void amin(int n, const T* x, int incx, int* result) { extreme<-1>(n, x, incx, result); }
template <class T> __global__ void rot(int n, T* x, int incx, T* y, int incy, Factor<T> c, Factor<T> s) {
    int i = thread();
    if (i >= n) return;
    T a = x[at(i, n, incx)], b = y[at(i, n, incy)];
    x[at(i, n, incx)] = multiply_add(s.get(), b, c.get() * a);
    y[at(i, n, incy)] = multiply_add(-s.get(), a, c.get() * b);
}

template <class T> __global__ void gemv(bool trans, int m, int n, Factor<T> alpha, const T* A, int lda, const T* x, int incx, Factor<T> beta, T* y, int incy) {
    int i = thread(), rows = trans ? n : m, cols = trans ? m : n;
    if (i >= rows) return;
    T sum = 0;
    for (int j = 0; j < cols; j++) {
        T a = A[trans ? (size_t)i * lda + j : (size_t)j * lda + i];
        sum = multiply_add(a, x[at(j, cols, incx)], sum);
    }
    T result = alpha.get() * sum, factor = beta.get();
    if (factor != 0) result = multiply_add(factor, y[at(i, rows, incy)], result);
    y[at(i, rows, incy)] = result;
}
template <class T> __global__ void ger(int m, int n, Factor<T> alpha, const T* x, int incx, const T* y, int incy, T* A, int lda) {
    int i = thread(), j = blockIdx.y;
    if (i >= m) return;
    for (; j < n; j += gridDim.y) {
        T xy = alpha.get() * x[at(i, m, incx)];
        A[(size_t)j * lda + i] = multiply_add(xy, y[at(j, n, incy)], A[(size_t)j * lda + i]);
    }
}
// A matrix whose factor is 0 is not read.
template <class T> __global__ void geam(bool transa, bool transb, int m, int n, Factor<T> alpha, const T* A, int lda, Factor<T> beta, const T* B, int ldb, T* C, int ldc) {
    int i = thread(), j = blockIdx.y;
    if (i >= m) return;
    for (; j < n; j += gridDim.y) {
        T a = alpha.get(), b = beta.get(), sum = 0;
        if (a != 0) sum = a * A[transa ? (size_t)i * lda + j : (size_t)j * lda + i];
        if (b != 0) sum = multiply_add(b, B[transb ? (size_t)i * ldb + j : (size_t)j * ldb + i], sum);
        C[(size_t)j * ldc + i] = sum;
    }
}


// A matrix of which one triangle is stored: the other one mirrors it, or is 0.
template <class T> struct Triangle {
    const T* A;
    int lda;
    bool upper, trans, unit, mirrored;
    // The element of row i and column j of the matrix, transposed if `trans` says so.
    __device__ T get(int i, int j) const {
        if (trans) { int t = i; i = j; j = t; }
        if (i == j && unit) return 1;
        bool stored = upper ? i <= j : i >= j;
        if (!stored && !mirrored) return 0;
        return stored ? A[(size_t)j * lda + i] : A[(size_t)i * lda + j];
    }
    // Whether the transposed matrix, where `trans` says so, is a lower one.
    __device__ bool is_lower() const { return upper == trans; }
};
// One triangle of alpha * op(A) * op(A)^T + beta * C.
template <class T> __global__ void syrk(bool upper, bool trans, int n, int k, Factor<T> alpha, const T* A, int lda, Factor<T> beta, T* C, int ldc) {
    int i = thread(), j = blockIdx.y;
    if (i >= n) return;
    for (; j < n; j += gridDim.y) {
        if (upper ? i > j : i < j) continue;
        T sum = 0;
        for (int l = 0; l < k; l++) sum = multiply_add(A[trans ? (size_t)i * lda + l : (size_t)l * lda + i], A[trans ? (size_t)j * lda + l : (size_t)l * lda + j], sum);
        T result = alpha.get() * sum, factor = beta.get();
        if (factor != 0) result = multiply_add(factor, C[(size_t)j * ldc + i], result);
        C[(size_t)j * ldc + i] = result;
    }
}
template <class T> __global__ void symm(bool right, Triangle<T> A, int m, int n, Factor<T> alpha, const T* B, int ldb, Factor<T> beta, T* C, int ldc) {
    int i = thread(), j = blockIdx.y;
    if (i >= m) return;
    for (; j < n; j += gridDim.y) {
        T sum = 0;
        if (right) for (int l = 0; l < n; l++) sum = multiply_add(B[(size_t)l * ldb + i], A.get(l, j), sum);
        else for (int l = 0; l < m; l++) sum = multiply_add(A.get(i, l), B[(size_t)j * ldb + l], sum);
        T result = alpha.get() * sum, factor = beta.get();
        if (factor != 0) result = multiply_add(factor, C[(size_t)j * ldc + i], result);
        C[(size_t)j * ldc + i] = result;
    }
}
// A column of B for each thread, or a row if the triangle stands on the right, in an order in which C may be B.
template <class T> __global__ void trmm(bool right, Triangle<T> A, int m, int n, Factor<T> alpha, const T* B, int ldb, T* C, int ldc) {
    int own = thread(), size = right ? n : m;
    if (own >= (right ? m : n)) return;
    bool downwards = right ? A.is_lower() : !A.is_lower();
    for (int step = 0; step < size; step++) {
        int i = downwards ? step : size - 1 - step;
        T sum = 0;
        for (int l = 0; l < size; l++) {
            bool stored = (right ? l >= i : l <= i) == A.is_lower() || l == i;
            if (stored) sum = multiply_add(right ? A.get(l, i) : A.get(i, l), B[right ? (size_t)l * ldb + own : (size_t)own * ldb + l], sum);
        }
        C[right ? (size_t)i * ldc + own : (size_t)own * ldc + i] = alpha.get() * sum;
    }
}
// Solves for a column of B in each thread, or for a row if the triangle stands on the right.
template <class T> __device__ void solve(bool right, const Triangle<T>& A, int m, int n, Factor<T> alpha, T* B, int ldb) {
    int own = thread(), size = right ? n : m;
    if (own >= (right ? m : n)) return;
    bool upwards = right ? A.is_lower() : !A.is_lower();
    for (int step = 0; step < size; step++) {
        int i = upwards ? size - 1 - step : step;
        T left = alpha.get() * B[right ? (size_t)i * ldb + own : (size_t)own * ldb + i];
        for (int before = 0; before < step; before++) {
            int l = upwards ? size - 1 - before : before;
            left = multiply_add(-(right ? A.get(l, i) : A.get(i, l)), B[right ? (size_t)l * ldb + own : (size_t)own * ldb + l], left);
        }
        B[right ? (size_t)i * ldb + own : (size_t)own * ldb + i] = A.unit ? left : left / A.get(i, i);
    }
}
template <class T> __global__ void trsm(bool right, Triangle<T> A, int m, int n, Factor<T> alpha, T* B, int ldb) { solve(right, A, m, n, alpha, B, ldb); }
// The same for many, of which the triangle has the shape alone.
template <class T> __global__ void trsmBatched(bool right, Triangle<T> A, const T* const* all, int m, int n, Factor<T> alpha, T* const* B, int ldb, int batch) {
    for (int i = blockIdx.y; i < batch; i += gridDim.y) {
        A.A = all[i];
        solve(right, A, m, n, alpha, B[i], ldb);
    }
}
template <class T> __global__ void dgmm(bool right, int m, int n, const T* A, int lda, const T* x, int incx, T* C, int ldc) {
    int i = thread(), j = blockIdx.y;
    if (i >= m) return;
    for (; j < n; j += gridDim.y) C[(size_t)j * ldc + i] = A[(size_t)j * lda + i] * (right ? x[at(j, n, incx)] : x[at(i, m, incx)]);
}

// Calls of kernels.

cublasStatus_t bad(const char* call, const char* why) {
    fprintf(stderr, "cublas: cublas%s: %s\n", call, why);
    return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t launched() { return cudaPeekAtLastError() == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED; }
int blocks(int n) { return (n + THREADS - 1) / THREADS; }
int most(int n) { return n < 65535 ? n : 65535; }

// A factor as the handle says where it is.
template <class T> Factor<T> factor(cublasHandle_t handle, const T* pointer) {
    if (handle->pointers == CUBLAS_POINTER_MODE_DEVICE) return {T(0), pointer};
    return {*pointer, nullptr};
}

// Moves a result to the host if the caller wants it there.
template <class T, class From> cublasStatus_t deliver(cublasHandle_t handle, T* result, const From& symbol) {
    cublasStatus_t status = launched();
    if (status || handle->pointers == CUBLAS_POINTER_MODE_DEVICE) return status;
    cudaError_t error = cudaMemcpyFromSymbolAsync(result, symbol, sizeof(T), 0, cudaMemcpyDeviceToHost, handle->stream);
    if (error == cudaSuccess) error = cudaStreamSynchronize(handle->stream);
    return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

template <class AB, class CT, class T> cublasStatus_t product(const char* call, void (*kernel)(Product<AB, CT, T>), cublasHandle_t handle, Product<AB, CT, T> p, const T* alpha, const T* beta) {
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (p.m < 0 || p.n < 0 || p.k < 0 || p.batch < 0) return bad(call, "m, n, k or the number of matrices is negative");
    if (!alpha || !beta) return bad(call, "alpha or beta is a null pointer");
    if (p.lda < 1 || p.lda < (p.transa ? p.k : p.m)) return bad(call, "lda is less than the rows of A");
    if (p.ldb < 1 || p.ldb < (p.transb ? p.n : p.k)) return bad(call, "ldb is less than the rows of B");
    if (p.ldc < 1 || p.ldc < p.m) return bad(call, "ldc is less than the rows of C");
    if (!p.m || !p.n || !p.batch) return CUBLAS_STATUS_SUCCESS;
    p.alpha = factor(handle, alpha);
    p.beta = factor(handle, beta);
    dim3 block(32, 8), grid((p.m + 31) / 32, (p.n + 8 * COLUMNS - 1) / (8 * COLUMNS), most(p.batch));
    if (grid.y > 65535) return bad(call, "C has too many columns for this library");
    kernel<<<grid, block, 0, handle->stream>>>(p);
    return launched();
}

template <class AB, class CT, class T>
cublasStatus_t product_ex(const char* call, cublasHandle_t handle, bool transa, bool transb, int m, int n, int k, const void* alpha, const void* A, int lda, long long stridea, const void* B, int ldb, long long strideb, const void* beta, void* C, int ldc, long long stridec, int batch) {
    Product<AB, CT, T> p = {transa, transb, m, n, k, lda, ldb, ldc, batch, {}, {}, (const AB*)A, (const AB*)B, (CT*)C, stridea, strideb, stridec};
    return product(call, GemmEx<AB, CT, T>, handle, p, (const T*)alpha, (const T*)beta);
}

cublasStatus_t any_product(const char* call, cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const void* alpha, const void* A, cudaDataType a, int lda, long long stridea, const void* B, cudaDataType b, int ldb, long long strideb, const void* beta, void* C, cudaDataType c, int ldc, long long stridec, int batch, cublasComputeType_t compute) {
    int kind = compute & ~1;
    bool f32 = kind == CUBLAS_COMPUTE_32F || compute >= CUBLAS_COMPUTE_32F_FAST_16F;
#define CUBLAS_TRY(ok, AB, CT, T) \
    if (ok) return product_ex<AB, CT, T>(call, handle, transa, transb, m, n, k, alpha, A, lda, stridea, B, ldb, strideb, beta, C, ldc, stridec, batch)
    if (a == b) {
        CUBLAS_TRY(f32 && a == CUDA_R_32F && c == a, float, float, float);
        CUBLAS_TRY(f32 && a == CUDA_R_16F && c == a, __half, __half, float);
        CUBLAS_TRY(f32 && a == CUDA_R_16F && c == CUDA_R_32F, __half, float, float);
        CUBLAS_TRY(f32 && a == CUDA_R_16BF && c == a, __nv_bfloat16, __nv_bfloat16, float);
        CUBLAS_TRY(f32 && a == CUDA_R_16BF && c == CUDA_R_32F, __nv_bfloat16, float, float);
        CUBLAS_TRY(f32 && a == CUDA_R_8I && c == CUDA_R_32F, signed char, float, float);
        CUBLAS_TRY(kind == CUBLAS_COMPUTE_32I && a == CUDA_R_8I && c == CUDA_R_32I, signed char, int, int);
        CUBLAS_TRY(kind == CUBLAS_COMPUTE_16F && a == CUDA_R_16F && c == a, __half, __half, __half);
        CUBLAS_TRY(kind == CUBLAS_COMPUTE_64F && a == CUDA_R_64F && c == a, double, double, double);
    }
#undef CUBLAS_TRY
    fprintf(stderr, "cublas: cublas%s: these types of A, B, C and of the computation are not supported without NVIDIA's library\n", call);
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t copied(cudaError_t error) { return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR; }

}  // namespace cublas

extern "C" {

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
    if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
    *handle = new cublasContext{};
    return CUBLAS_STATUS_SUCCESS;
}

#define CUBLAS_NEED(handle) if (!(handle)) return CUBLAS_STATUS_NOT_INITIALIZED
#define CUBLAS_FIELD(Set, Get, T, field) \
    cublasStatus_t Set(cublasHandle_t handle, T value) { CUBLAS_NEED(handle); handle->field = value; return CUBLAS_STATUS_SUCCESS; } \
    cublasStatus_t Get(cublasHandle_t handle, T* value) { CUBLAS_NEED(handle); *value = handle->field; return CUBLAS_STATUS_SUCCESS; }
CUBLAS_FIELD(cublasSetStream, cublasGetStream, cudaStream_t, stream)
CUBLAS_FIELD(cublasSetPointerMode, cublasGetPointerMode, cublasPointerMode_t, pointers)
CUBLAS_FIELD(cublasSetMathMode, cublasGetMathMode, cublasMath_t, math)

cublasStatus_t cublasDestroy(cublasHandle_t handle) { CUBLAS_NEED(handle); delete handle; return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) { *version = CUBLAS_VERSION; return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t) { CUBLAS_NEED(handle); return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void*, size_t) { CUBLAS_NEED(handle); return CUBLAS_STATUS_SUCCESS; }

static const struct { cublasStatus_t status; const char *name, *text; } CUBLAS_STATUSES[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE", "an unsupported value or parameter was passed to the function"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH", "the function requires an architectural feature absent from the device"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "the GPU program failed to execute"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "the requested functionality is not supported"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "the functionality requested requires some license and an error was detected"},
};
const char* cublasGetStatusName(cublasStatus_t status) {
    for (const auto& of : CUBLAS_STATUSES) if (of.status == status) return of.name;
    return "unrecognized error code";
}
const char* cublasGetStatusString(cublasStatus_t status) {
    for (const auto& of : CUBLAS_STATUSES) if (of.status == status) return of.text;
    return "unrecognized error code";
}

cublasStatus_t cublasSetMatrix(int rows, int cols, int size, const void* a, int lda, void* b, int ldb) {
    if (rows < 0 || cols < 0 || size <= 0 || lda < rows || ldb < rows) return cublas::bad("SetMatrix", "lda or ldb is less than the rows, or a size is negative");
    if (!rows || !cols) return CUBLAS_STATUS_SUCCESS;
    if (lda == rows && ldb == rows) return cublas::copied(cudaMemcpy(b, a, (size_t)rows * cols * size, cudaMemcpyDefault));
    return cublas::copied(cudaMemcpy2D(b, (size_t)ldb * size, a, (size_t)lda * size, (size_t)rows * size, cols, cudaMemcpyDefault));
}
cublasStatus_t cublasGetMatrix(int rows, int cols, int size, const void* a, int lda, void* b, int ldb) { return cublasSetMatrix(rows, cols, size, a, lda, b, ldb); }
cublasStatus_t cublasSetMatrixAsync(int rows, int cols, int size, const void* a, int lda, void* b, int ldb, cudaStream_t stream) {
    if (rows < 0 || cols < 0 || size <= 0 || lda < rows || ldb < rows) return cublas::bad("SetMatrixAsync", "lda or ldb is less than the rows, or a size is negative");
    if (!rows || !cols) return CUBLAS_STATUS_SUCCESS;
    if (lda == rows && ldb == rows) return cublas::copied(cudaMemcpyAsync(b, a, (size_t)rows * cols * size, cudaMemcpyDefault, stream));
    return cublas::copied(cudaMemcpy2DAsync(b, (size_t)ldb * size, a, (size_t)lda * size, (size_t)rows * size, cols, cudaMemcpyDefault, stream));
}
cublasStatus_t cublasGetMatrixAsync(int rows, int cols, int size, const void* a, int lda, void* b, int ldb, cudaStream_t stream) { return cublasSetMatrixAsync(rows, cols, size, a, lda, b, ldb, stream); }
// A vector is the row of a matrix.
cublasStatus_t cublasSetVector(int n, int size, const void* x, int incx, void* y, int incy) { return cublasSetMatrix(1, n, size, x, incx, y, incy); }
cublasStatus_t cublasGetVector(int n, int size, const void* x, int incx, void* y, int incy) { return cublasSetMatrix(1, n, size, x, incx, y, incy); }
cublasStatus_t cublasSetVectorAsync(int n, int size, const void* x, int incx, void* y, int incy, cudaStream_t stream) { return cublasSetMatrixAsync(1, n, size, x, incx, y, incy, stream); }
cublasStatus_t cublasGetVectorAsync(int n, int size, const void* x, int incx, void* y, int incy, cudaStream_t stream) { return cublasSetMatrixAsync(1, n, size, x, incx, y, incy, stream); }

// Sums of no elements are 0, as are those with a step that is not positive.
#define CUBLAS_SUM(name, kernel, symbol, ...) \
    CUBLAS_NEED(handle); \
    if (!result) return cublas::bad(name, "the result is a null pointer"); \
    bool here = handle->pointers == CUBLAS_POINTER_MODE_HOST; \
    cublas::kernel<<<1, cublas::THREADS, 0, handle->stream>>>(__VA_ARGS__, here ? nullptr : result); \
    return cublas::deliver(handle, result, symbol);
#define CUBLAS_VECTORS(P, p, T) \
    cublasStatus_t cublas##P##copy(cublasHandle_t handle, int n, const T* x, int incx, T* y, int incy) { \
        CUBLAS_NEED(handle); \
        if (n > 0) cublas::copy<<<cublas::blocks(n), cublas::THREADS, 0, handle->stream>>>(n, x, incx, y, incy); \
        return cublas::launched(); \
    } \
    cublasStatus_t cublas##P##swap(cublasHandle_t handle, int n, T* x, int incx, T* y, int incy) { \
        CUBLAS_NEED(handle); \
        if (n > 0) cublas::swap<<<cublas::blocks(n), cublas::THREADS, 0, handle->stream>>>(n, x, incx, y, incy); \
        return cublas::launched(); \
    } \
    cublasStatus_t cublas##P##scal(cublasHandle_t handle, int n, const T* alpha, T* x, int incx) { \
        CUBLAS_NEED(handle); \
        if (n > 0 && incx > 0) cublas::scal<<<cublas::blocks(n), cublas::THREADS, 0, handle->stream>>>(n, cublas::factor(handle, alpha), x, incx); \
        return cublas::launched(); \
    } \
    cublasStatus_t cublas##P##axpy(cublasHandle_t handle, int n, const T* alpha, const T* x, int incx, T* y, int incy) { \
        CUBLAS_NEED(handle); \
        if (n > 0) cublas::axpy<<<cublas::blocks(n), cublas::THREADS, 0, handle->stream>>>(n, cublas::factor(handle, alpha), x, incx, y, incy); \
        return cublas::launched(); \
    } \
    cublasStatus_t cublas##P##dot(cublasHandle_t handle, int n, const T* x, int incx, const T* y, int incy, T* result) { \
        CUBLAS_SUM(#P "dot", dot, cublas::sum_result, n, x, incx, y, incy) \
    } \
    cublasStatus_t cublas##P##nrm2(cublasHandle_t handle, int n, const T* x, int incx, T* result) { \
        CUBLAS_SUM(#P "nrm2", nrm2, cublas::sum_result, incx > 0 ? n : 0, x, incx) \
    } \
    cublasStatus_t cublas##P##asum(cublasHandle_t handle, int n, const T* x, int incx, T* result) { \
        CUBLAS_SUM(#P "asum", asum, cublas::sum_result, incx > 0 ? n : 0, x, incx) \
    } \
    cublasStatus_t cublasI##p##amax(cublasHandle_t handle, int n, const T* x, int incx, int* result) { \
        CUBLAS_SUM("I" #p "amax", amax, cublas::index_result, incx > 0 ? n : 0, x, incx) \
    } \
    cublasStatus_t cublas##P##gemv(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const T* alpha, const T* A, int lda, const T* x, int incx, const T* beta, T* y, int incy) { \
        CUBLAS_NEED(handle); \
        if (m < 0 || n < 0 || lda < 1 || lda < m || !incx || !incy) return cublas::bad(#P "gemv", "lda is less than the rows of A, a step is 0, or a size is negative"); \
        if (m && n) cublas::gemv<<<cublas::blocks(trans ? n : m), cublas::THREADS, 0, handle->stream>>>(trans != CUBLAS_OP_N, m, n, cublas::factor(handle, alpha), A, lda, x, incx, cublas::factor(handle, beta), y, incy); \
        return cublas::launched(); \
    } \
    cublasStatus_t cublas##P##ger(cublasHandle_t handle, int m, int n, const T* alpha, const T* x, int incx, const T* y, int incy, T* A, int lda) { \
        CUBLAS_NEED(handle); \
        if (m < 0 || n < 0 || lda < 1 || lda < m || !incx || !incy) return cublas::bad(#P "ger", "lda is less than the rows of A, a step is 0, or a size is negative"); \
        if (m && n) cublas::ger<<<dim3(cublas::blocks(m), cublas::most(n)), cublas::THREADS, 0, handle->stream>>>(m, n, cublas::factor(handle, alpha), x, incx, y, incy, A, lda); \
        return cublas::launched(); \
    } \
    cublasStatus_t cublas##P##geam(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, const T* alpha, const T* A, int lda, const T* beta, const T* B, int ldb, T* C, int ldc) { \
        CUBLAS_NEED(handle); \
        if (m < 0 || n < 0 || lda < (transa ? n : m) || ldb < (transb ? n : m) || ldc < m) return cublas::bad(#P "geam", "lda, ldb or ldc is less than the rows of its matrix, or a size is negative"); \
        if (m && n) cublas::geam<<<dim3(cublas::blocks(m), cublas::most(n)), cublas::THREADS, 0, handle->stream>>>(transa != CUBLAS_OP_N, transb != CUBLAS_OP_N, m, n, cublas::factor(handle, alpha), A, lda, cublas::factor(handle, beta), B, ldb, C, ldc); \
        return cublas::launched(); \
    }
CUBLAS_VECTORS(S, s, float)
CUBLAS_VECTORS(D, d, double)

#define CUBLAS_GRID(m, n) dim3(cublas::blocks(m), cublas::most(n)), cublas::THREADS, 0, handle->stream
#define CUBLAS_TRIANGLES(P, p, T) \
    cublasStatus_t cublasI##p##amin(cublasHandle_t handle, int n, const T* x, int incx, int* result) { \
        CUBLAS_SUM("I" #p "amin", amin, cublas::index_result, incx > 0 ? n : 0, x, incx) \
    } \
    cublasStatus_t cublas##P##rot(cublasHandle_t handle, int n, T* x, int incx, T* y, int incy, const T* c, const T* s) { \
        CUBLAS_NEED(handle); \
        if (n > 0) cublas::rot<<<cublas::blocks(n), cublas::THREADS, 0, handle->stream>>>(n, x, incx, y, incy, cublas::factor(handle, c), cublas::factor(handle, s)); \
        return cublas::launched(); \
    } \
    cublasStatus_t cublas##P##syrk(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, int n, int k, const T* alpha, const T* A, int lda, const T* beta, T* C, int ldc) { \
        CUBLAS_NEED(handle); \
        if (n < 0 || k < 0 || lda < 1 || lda < (trans ? k : n) || ldc < 1 || ldc < n) return cublas::bad(#P "syrk", "lda or ldc is less than the rows of its matrix, or a size is negative"); \
        if (n) cublas::syrk<<<CUBLAS_GRID(n, n)>>>(uplo == CUBLAS_FILL_MODE_UPPER, trans != CUBLAS_OP_N, n, k, cublas::factor(handle, alpha), A, lda, cublas::factor(handle, beta), C, ldc); \
        return cublas::launched(); \
    } \
    cublasStatus_t cublas##P##symm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, int m, int n, const T* alpha, const T* A, int lda, const T* B, int ldb, const T* beta, T* C, int ldc) { \
        CUBLAS_NEED(handle); \
        if (m < 0 || n < 0 || lda < 1 || lda < (side ? n : m) || ldb < 1 || ldb < m || ldc < 1 || ldc < m) return cublas::bad(#P "symm", "lda, ldb or ldc is less than the rows of its matrix, or a size is negative"); \
        cublas::Triangle<T> triangle = {A, lda, uplo == CUBLAS_FILL_MODE_UPPER, false, false, true}; \
        if (m && n) cublas::symm<<<CUBLAS_GRID(m, n)>>>(side == CUBLAS_SIDE_RIGHT, triangle, m, n, cublas::factor(handle, alpha), B, ldb, cublas::factor(handle, beta), C, ldc); \
        return cublas::launched(); \
    } \
    cublasStatus_t cublas##P##trmm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, int m, int n, const T* alpha, const T* A, int lda, const T* B, int ldb, T* C, int ldc) { \
        CUBLAS_NEED(handle); \
        if (m < 0 || n < 0 || lda < 1 || lda < (side ? n : m) || ldb < 1 || ldb < m || ldc < 1 || ldc < m) return cublas::bad(#P "trmm", "lda, ldb or ldc is less than the rows of its matrix, or a size is negative"); \
        cublas::Triangle<T> triangle = {A, lda, uplo == CUBLAS_FILL_MODE_UPPER, trans != CUBLAS_OP_N, diag == CUBLAS_DIAG_UNIT, false}; \
        if (m && n) cublas::trmm<<<cublas::blocks(side ? m : n), cublas::THREADS, 0, handle->stream>>>(side == CUBLAS_SIDE_RIGHT, triangle, m, n, cublas::factor(handle, alpha), B, ldb, C, ldc); \
        return cublas::launched(); \
    } \
    cublasStatus_t cublas##P##trsm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, int m, int n, const T* alpha, const T* A, int lda, T* B, int ldb) { \
        CUBLAS_NEED(handle); \
        if (m < 0 || n < 0 || lda < 1 || lda < (side ? n : m) || ldb < 1 || ldb < m) return cublas::bad(#P "trsm", "lda or ldb is less than the rows of its matrix, or a size is negative"); \
        cublas::Triangle<T> triangle = {A, lda, uplo == CUBLAS_FILL_MODE_UPPER, trans != CUBLAS_OP_N, diag == CUBLAS_DIAG_UNIT, false}; \
        if (m && n) cublas::trsm<<<cublas::blocks(side ? m : n), cublas::THREADS, 0, handle->stream>>>(side == CUBLAS_SIDE_RIGHT, triangle, m, n, cublas::factor(handle, alpha), B, ldb); \
        return cublas::launched(); \
    } \
    cublasStatus_t cublas##P##trsmBatched(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, int m, int n, const T* alpha, const T* const A[], int lda, T* const B[], int ldb, int batch) { \
        CUBLAS_NEED(handle); \
        if (m < 0 || n < 0 || batch < 0 || lda < 1 || lda < (side ? n : m) || ldb < 1 || ldb < m) return cublas::bad(#P "trsmBatched", "lda or ldb is less than the rows of its matrix, or a size is negative"); \
        cublas::Triangle<T> triangle = {nullptr, lda, uplo == CUBLAS_FILL_MODE_UPPER, trans != CUBLAS_OP_N, diag == CUBLAS_DIAG_UNIT, false}; \
        dim3 grid(cublas::blocks(side ? m : n), cublas::most(batch)); \
        if (m && n && batch) cublas::trsmBatched<<<grid, cublas::THREADS, 0, handle->stream>>>(side == CUBLAS_SIDE_RIGHT, triangle, A, m, n, cublas::factor(handle, alpha), B, ldb, batch); \
        return cublas::launched(); \
    } \
    cublasStatus_t cublas##P##gemmGroupedBatched(cublasHandle_t handle, const cublasOperation_t transa[], const cublasOperation_t transb[], const int m[], const int n[], const int k[], const T alpha[], const T* const A[], const int lda[], const T* const B[], const int ldb[], const T beta[], T* const C[], const int ldc[], int groups, const int size[]) { \
        CUBLAS_NEED(handle); \
        cublasStatus_t status = CUBLAS_STATUS_SUCCESS; \
        for (int i = 0, first = 0; i < groups && !status; first += size[i++]) \
            status = cublas##P##gemmBatched(handle, transa[i], transb[i], m[i], n[i], k[i], alpha + i, A + first, lda[i], B + first, ldb[i], beta + i, C + first, ldc[i], size[i]); \
        return status; \
    } \
    cublasStatus_t cublas##P##dgmm(cublasHandle_t handle, cublasSideMode_t side, int m, int n, const T* A, int lda, const T* x, int incx, T* C, int ldc) { \
        CUBLAS_NEED(handle); \
        if (m < 0 || n < 0 || lda < 1 || lda < m || ldc < 1 || ldc < m) return cublas::bad(#P "dgmm", "lda or ldc is less than the rows of its matrix, or a size is negative"); \
        if (m && n) cublas::dgmm<<<CUBLAS_GRID(m, n)>>>(side == CUBLAS_SIDE_RIGHT, m, n, A, lda, x, incx, C, ldc); \
        return cublas::launched(); \
    }
CUBLAS_TRIANGLES(S, s, float)
CUBLAS_TRIANGLES(D, d, double)

#define CUBLAS_PRODUCTS(P, T) \
    cublasStatus_t cublas##P##gemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const T* alpha, const T* A, int lda, const T* B, int ldb, const T* beta, T* C, int ldc) { \
        cublas::Product<T, T, T> p = {transa != CUBLAS_OP_N, transb != CUBLAS_OP_N, m, n, k, lda, ldb, ldc, 1, {}, {}, A, B, C}; \
        return cublas::product(#P "gemm", cublas::P##gemm, handle, p, alpha, beta); \
    } \
    cublasStatus_t cublas##P##gemmBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const T* alpha, const T* const A[], int lda, const T* const B[], int ldb, const T* beta, T* const C[], int ldc, int batch) { \
        cublas::Product<T, T, T> p = {transa != CUBLAS_OP_N, transb != CUBLAS_OP_N, m, n, k, lda, ldb, ldc, batch, {}, {}, nullptr, nullptr, nullptr, 0, 0, 0, A, B, C}; \
        return cublas::product(#P "gemmBatched", cublas::P##gemm, handle, p, alpha, beta); \
    } \
    cublasStatus_t cublas##P##gemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const T* alpha, const T* A, int lda, long long strideA, const T* B, int ldb, long long strideB, const T* beta, T* C, int ldc, long long strideC, int batch) { \
        cublas::Product<T, T, T> p = {transa != CUBLAS_OP_N, transb != CUBLAS_OP_N, m, n, k, lda, ldb, ldc, batch, {}, {}, A, B, C, strideA, strideB, strideC}; \
        return cublas::product(#P "gemmStridedBatched", cublas::P##gemm, handle, p, alpha, beta); \
    }
CUBLAS_PRODUCTS(S, float)
CUBLAS_PRODUCTS(D, double)
CUBLAS_PRODUCTS(H, __half)

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const void* alpha, const void* A, cudaDataType Atype, int lda, const void* B, cudaDataType Btype, int ldb, const void* beta, void* C, cudaDataType Ctype, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t) {
    return cublas::any_product("GemmEx", handle, transa, transb, m, n, k, alpha, A, Atype, lda, 0, B, Btype, ldb, 0, beta, C, Ctype, ldc, 0, 1, compute);
}
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const void* alpha, const void* A, cudaDataType Atype, int lda, long long strideA, const void* B, cudaDataType Btype, int ldb, long long strideB, const void* beta, void* C, cudaDataType Ctype, int ldc, long long strideC, int batch, cublasComputeType_t compute, cublasGemmAlgo_t) {
    return cublas::any_product("GemmStridedBatchedEx", handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B, Btype, ldb, strideB, beta, C, Ctype, ldc, strideC, batch, compute);
}
cublasStatus_t cublasGemmGroupedBatchedEx(cublasHandle_t handle, const cublasOperation_t transa[], const cublasOperation_t transb[], const int m[], const int n[], const int k[], const void* alpha, const void* const A[], cudaDataType Atype, const int lda[], const void* const B[], cudaDataType Btype, const int ldb[], const void* beta, void* const C[], cudaDataType Ctype, const int ldc[], int groups, const int size[], cublasComputeType_t compute) {
    if (Atype == Btype && Atype == Ctype && Atype == CUDA_R_32F && compute == CUBLAS_COMPUTE_32F)
        return cublasSgemmGroupedBatched(handle, transa, transb, m, n, k, (const float*)alpha, (const float* const*)A, lda, (const float* const*)B, ldb, (const float*)beta, (float* const*)C, ldc, groups, size);
    if (Atype == Btype && Atype == Ctype && Atype == CUDA_R_64F && compute == CUBLAS_COMPUTE_64F)
        return cublasDgemmGroupedBatched(handle, transa, transb, m, n, k, (const double*)alpha, (const double* const*)A, lda, (const double* const*)B, ldb, (const double*)beta, (double* const*)C, ldc, groups, size);
    fprintf(stderr, "cublas: cublasGemmGroupedBatchedEx: of groups there are those of float and of double, each computed in its own type\n");
    return CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const float* alpha, const void* A, cudaDataType Atype, int lda, const void* B, cudaDataType Btype, int ldb, const float* beta, void* C, cudaDataType Ctype, int ldc) {
    return cublas::any_product("SgemmEx", handle, transa, transb, m, n, k, alpha, A, Atype, lda, 0, B, Btype, ldb, 0, beta, C, Ctype, ldc, 0, 1, CUBLAS_COMPUTE_32F);
}

}  // extern "C"
