// cuBLAS: products of matrices of small integers, which every order of additions gives exactly, and vectors.
#include <cstdio>
#include <cublas_v2.h>
#include <vector>

template <class T> T* upload(const std::vector<T>& from) {
    T* to;
    cudaMalloc(&to, from.size() * sizeof(T));
    cublasSetVector((int)from.size(), sizeof(T), from.data(), 1, to, 1);
    return to;
}

// Sums of the elements, each times its place.
template <class T> double weighted(const T* from, size_t n) {
    std::vector<T> all(n);
    cudaMemcpy(all.data(), from, n * sizeof(T), cudaMemcpyDeviceToHost);
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)(float)all[i] * (double)(i % 97);
    return sum;
}

int main() {
    cublasHandle_t handle;
    cublasCreate(&handle);
    const int m = 37, n = 21, k = 53, ld = 64;
    std::vector<float> a(ld * ld), b(ld * ld), c(ld * ld);
    std::vector<__half> halves(ld * ld);
    std::vector<signed char> bytes(ld * ld);
    for (int i = 0; i < ld * ld; i++) {
        a[i] = float(i * 7 % 11 - 5);
        b[i] = float(i * 5 % 13 - 6);
        c[i] = float(i % 3);
        halves[i] = __float2half(a[i]);
        bytes[i] = (signed char)b[i];
    }
    float *A = upload(a), *B = upload(b), *C = upload(c);
    __half* H = upload(halves);
    signed char* Q = upload(bytes);
    const float alpha = 2, beta = -1, one = 1, zero = 0;
    for (auto transa : {CUBLAS_OP_N, CUBLAS_OP_T})
        for (auto transb : {CUBLAS_OP_N, CUBLAS_OP_T}) {
            int status = cublasSgemm(handle, transa, transb, m, n, k, &alpha, A, ld, B, ld, &beta, C, ld);
            printf("sgemm %d %.0f\n", status, weighted(C, ld * n));
        }
    int status = cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_T, 8, 8, 8, &one, A, 8, 64, B, 8, 64, &zero, C, 8, 64, 10);
    printf("batches %d %.0f\n", status, weighted(C, 640));
    status = cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 32, 16, 48, &one, H, CUDA_R_16F, ld, H, CUDA_R_16F, ld, &zero, C, CUDA_R_32F, 32,
                          CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    printf("halves %d %.0f\n", status, weighted(C, 512));
    const int whole = 1, none = 0;
    status = cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 32, 16, 48, &whole, Q, CUDA_R_8I, ld, Q, CUDA_R_8I, ld, &none, C, CUDA_R_32I, 32,
                          CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT);
    printf("bytes %d %.0f\n", status, weighted((int*)C, 512));
    status = cublasSgemv(handle, CUBLAS_OP_T, m, n, &alpha, A, ld, B, 1, &zero, C, 1);
    printf("gemv %d %.0f\n", status, weighted(C, n));
    float dot = 0, norm = 0, sum = 0;
    int largest = 0;
    cublasSaxpy(handle, 1000, &alpha, A, 1, B, -1);
    cublasSger(handle, 5, 7, &one, A, 1, B, 1, A + 2000, 5);
    cublasSdot(handle, 1000, A, 1, B, 2, &dot);
    cublasSasum(handle, 1000, B, 1, &sum);
    cublasIsamax(handle, 1000, B, 3, &largest);
    cublasSnrm2(handle, 16, A, 1, &norm);
    printf("vectors %.0f %.0f %d %.4f %.0f\n", dot, sum, largest, norm, weighted(A, ld * ld));
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
    cublasSdot(handle, 1000, A, 1, A, 1, C);
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
    cublasScopy(handle, 1, C, 1, C + 1, 1);
    printf("on the device %.0f\n", weighted(C, 2));
    // Triangles, on both sides, of both kinds; the diagonals are powers of two.
    std::vector<float> half(ld * ld);
    for (int i = 0; i < ld * ld; i++) half[i] = i % (ld + 1) == 0 ? float(1 << i % 3) : float(i % 5 - 2);
    float *L = upload(half), *X = upload(b), *Y = upload(c);
    int least = 0;
    cublasIsamin(handle, 999, X + 3, 2, &least);
    printf("least %d\n", least);
    for (auto side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT})
        for (auto uplo : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
            int symm = cublasSsymm(handle, side, uplo, 8, 6, &alpha, L, ld, X, ld, &beta, Y, ld);
            printf("symm %d %.0f\n", symm, weighted(Y, ld * 6));
            for (auto trans : {CUBLAS_OP_N, CUBLAS_OP_T})
                for (auto diag : {CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT}) {
                    int trmm = cublasStrmm(handle, side, uplo, trans, diag, 8, 6, &one, L, ld, X, ld, Y, ld);
                    double product = weighted(Y, ld * 6);
                    int trsm = cublasStrsm(handle, side, uplo, trans, diag, 8, 6, &alpha, L, ld, Y, ld);
                    printf("triangle %d %.0f %d %.0f\n", trmm, product, trsm, weighted(Y, ld * 6));
                }
        }
    for (auto uplo : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER})
        for (auto trans : {CUBLAS_OP_N, CUBLAS_OP_T}) {
            int syrk = cublasSsyrk(handle, uplo, trans, 12, 9, &alpha, X, ld, &beta, Y, ld);
            printf("syrk %d %.0f\n", syrk, weighted(Y, ld * 12));
        }
    const float cosine = 0.5f, sine = 0.25f;
    cublasSrot(handle, 20, X, 2, Y, -1, &cosine, &sine);
    cublasSdgmm(handle, CUBLAS_SIDE_RIGHT, 9, 7, X, ld, Y, 2, L, ld);
    printf("rot and dgmm %.0f %.0f\n", weighted(X, 64), weighted(L, ld * 7));
    cublasDestroy(handle);
}
