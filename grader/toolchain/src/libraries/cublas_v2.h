// The functions of cuBLAS (cuBLAS API, "Using the cuBLAS API") that cublas.cu has. It says of each how its results come about.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <library_types.h>
#include <stddef.h>
#include <stdint.h>

#define CUBLAS_VER_MAJOR 13
#define CUBLAS_VER_MINOR 0
#define CUBLAS_VER_PATCH 2
#define CUBLAS_VERSION 130002

typedef enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_MAPPING_ERROR = 11,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
    CUBLAS_STATUS_LICENSE_ERROR = 16
} cublasStatus_t;
typedef enum { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1, CUBLAS_FILL_MODE_FULL = 2 } cublasFillMode_t;
typedef enum { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 } cublasDiagType_t;
typedef enum { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 } cublasSideMode_t;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2, CUBLAS_OP_HERMITAN = 2, CUBLAS_OP_CONJG = 3 } cublasOperation_t;
typedef enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;
typedef enum { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 } cublasAtomicsMode_t;
typedef enum { CUBLAS_GEMM_DFALT = -1, CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DFALT_TENSOR_OP = 99, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 } cublasGemmAlgo_t;
typedef enum {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_TENSOR_OP_MATH = 1,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_TENSOR_OP_MATH = 3,
    CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
} cublasMath_t;
typedef enum {
    CUBLAS_COMPUTE_16F = 64,
    CUBLAS_COMPUTE_16F_PEDANTIC = 65,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_PEDANTIC = 69,
    CUBLAS_COMPUTE_64F = 70,
    CUBLAS_COMPUTE_64F_PEDANTIC = 71,
    CUBLAS_COMPUTE_32I = 72,
    CUBLAS_COMPUTE_32I_PEDANTIC = 73,
    CUBLAS_COMPUTE_32F_FAST_16F = 74,
    CUBLAS_COMPUTE_32F_FAST_16BF = 75,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77
} cublasComputeType_t;
typedef cudaDataType cublasDataType_t;
typedef struct cublasContext* cublasHandle_t;

#ifdef __cplusplus
extern "C" {
#endif

cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasGetVersion(cublasHandle_t handle, int* version);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream);
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode);
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode);
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, size_t bytes);
const char* cublasGetStatusName(cublasStatus_t status);
const char* cublasGetStatusString(cublasStatus_t status);

cublasStatus_t cublasSetVector(int n, int size, const void* x, int incx, void* y, int incy);
cublasStatus_t cublasGetVector(int n, int size, const void* x, int incx, void* y, int incy);
cublasStatus_t cublasSetMatrix(int rows, int cols, int size, const void* a, int lda, void* b, int ldb);
cublasStatus_t cublasGetMatrix(int rows, int cols, int size, const void* a, int lda, void* b, int ldb);
cublasStatus_t cublasSetVectorAsync(int n, int size, const void* x, int incx, void* y, int incy, cudaStream_t stream);
cublasStatus_t cublasGetVectorAsync(int n, int size, const void* x, int incx, void* y, int incy, cudaStream_t stream);
cublasStatus_t cublasSetMatrixAsync(int rows, int cols, int size, const void* a, int lda, void* b, int ldb, cudaStream_t stream);
cublasStatus_t cublasGetMatrixAsync(int rows, int cols, int size, const void* a, int lda, void* b, int ldb, cudaStream_t stream);

// The functions of each type, with one list of parameters.
#define CUBLAS_OF_TYPE(P, p, T) \
    cublasStatus_t cublas##P##copy(cublasHandle_t handle, int n, const T* x, int incx, T* y, int incy); \
    cublasStatus_t cublas##P##swap(cublasHandle_t handle, int n, T* x, int incx, T* y, int incy); \
    cublasStatus_t cublas##P##scal(cublasHandle_t handle, int n, const T* alpha, T* x, int incx); \
    cublasStatus_t cublas##P##axpy(cublasHandle_t handle, int n, const T* alpha, const T* x, int incx, T* y, int incy); \
    cublasStatus_t cublas##P##dot(cublasHandle_t handle, int n, const T* x, int incx, const T* y, int incy, T* result); \
    cublasStatus_t cublas##P##nrm2(cublasHandle_t handle, int n, const T* x, int incx, T* result); \
    cublasStatus_t cublas##P##asum(cublasHandle_t handle, int n, const T* x, int incx, T* result); \
    cublasStatus_t cublasI##p##amax(cublasHandle_t handle, int n, const T* x, int incx, int* result); \
    cublasStatus_t cublas##P##gemv(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const T* alpha, const T* A, int lda, const T* x, \
                                   int incx, const T* beta, T* y, int incy); \
    cublasStatus_t cublas##P##ger(cublasHandle_t handle, int m, int n, const T* alpha, const T* x, int incx, const T* y, int incy, T* A, int lda); \
    cublasStatus_t cublas##P##geam(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, const T* alpha, \
                                   const T* A, int lda, const T* beta, const T* B, int ldb, T* C, int ldc); \
    cublasStatus_t cublasI##p##amin(cublasHandle_t handle, int n, const T* x, int incx, int* result); \
    cublasStatus_t cublas##P##rot(cublasHandle_t handle, int n, T* x, int incx, T* y, int incy, const T* c, const T* s); \
    cublasStatus_t cublas##P##syrk(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, int n, int k, const T* alpha, \
                                   const T* A, int lda, const T* beta, T* C, int ldc); \
    cublasStatus_t cublas##P##symm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, int m, int n, const T* alpha, \
                                   const T* A, int lda, const T* B, int ldb, const T* beta, T* C, int ldc); \
    cublasStatus_t cublas##P##trmm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans, \
                                   cublasDiagType_t diag, int m, int n, const T* alpha, const T* A, int lda, const T* B, int ldb, T* C, \
                                   int ldc); \
    cublasStatus_t cublas##P##trsm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans, \
                                   cublasDiagType_t diag, int m, int n, const T* alpha, const T* A, int lda, T* B, int ldb); \
    cublasStatus_t cublas##P##trsmBatched(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans, \
                                          cublasDiagType_t diag, int m, int n, const T* alpha, const T* const A[], int lda, T* const B[], \
                                          int ldb, int batch); \
    cublasStatus_t cublas##P##gemmGroupedBatched(cublasHandle_t handle, const cublasOperation_t transa[], const cublasOperation_t transb[], \
                                                 const int m[], const int n[], const int k[], const T alpha[], const T* const A[], \
                                                 const int lda[], const T* const B[], const int ldb[], const T beta[], T* const C[], \
                                                 const int ldc[], int groups, const int size[]); \
    cublasStatus_t cublas##P##dgmm(cublasHandle_t handle, cublasSideMode_t side, int m, int n, const T* A, int lda, const T* x, int incx, T* C, \
                                   int ldc);
#define CUBLAS_GEMM(P, T) \
    cublasStatus_t cublas##P##gemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const T* alpha, \
                                   const T* A, int lda, const T* B, int ldb, const T* beta, T* C, int ldc); \
    cublasStatus_t cublas##P##gemmBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, \
                                          const T* alpha, const T* const A[], int lda, const T* const B[], int ldb, const T* beta, T* const C[], \
                                          int ldc, int batch); \
    cublasStatus_t cublas##P##gemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, \
                                                 const T* alpha, const T* A, int lda, long long strideA, const T* B, int ldb, \
                                                 long long strideB, const T* beta, T* C, int ldc, long long strideC, int batch);
CUBLAS_OF_TYPE(S, s, float)
CUBLAS_OF_TYPE(D, d, double)
CUBLAS_GEMM(S, float)
CUBLAS_GEMM(D, double)
CUBLAS_GEMM(H, __half)

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const void* alpha,
                            const void* A, cudaDataType Atype, int lda, const void* B, cudaDataType Btype, int ldb, const void* beta, void* C,
                            cudaDataType Ctype, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t algo);
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
                                          const void* alpha, const void* A, cudaDataType Atype, int lda, long long strideA, const void* B,
                                          cudaDataType Btype, int ldb, long long strideB, const void* beta, void* C, cudaDataType Ctype, int ldc,
                                          long long strideC, int batch, cublasComputeType_t compute, cublasGemmAlgo_t algo);
cublasStatus_t cublasGemmGroupedBatchedEx(cublasHandle_t handle, const cublasOperation_t transa[], const cublasOperation_t transb[], const int m[],
                                          const int n[], const int k[], const void* alpha, const void* const A[], cudaDataType Atype,
                                          const int lda[], const void* const B[], cudaDataType Btype, const int ldb[], const void* beta,
                                          void* const C[], cudaDataType Ctype, const int ldc[], int groups, const int size[],
                                          cublasComputeType_t compute);
cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const float* alpha,
                             const void* A, cudaDataType Atype, int lda, const void* B, cudaDataType Btype, int ldb, const float* beta, void* C,
                             cudaDataType Ctype, int ldc);

#ifdef __cplusplus
}
#endif
