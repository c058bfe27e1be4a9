// What simple programs use of helper_cuda.h of NVIDIA's samples: checks of calls, and the choice of a device.
#pragma once
#include <cuda_runtime.h>
#include <helper_string.h>
#include <stdio.h>
#include <stdlib.h>

static inline const char* _cudaGetErrorEnum(cudaError_t error) { return cudaGetErrorName(error); }
#ifdef CUBLAS_VERSION
static inline const char* _cudaGetErrorEnum(cublasStatus_t status) { return cublasGetStatusName(status); }
#endif
#ifdef CURAND_VERSION
static inline const char* _cudaGetErrorEnum(curandStatus_t status) { return status == CURAND_STATUS_SUCCESS ? "CURAND_STATUS_SUCCESS" : "CURAND_STATUS error"; }
#endif

template <typename T> void check(T result, const char* call, const char* file, int line) {
    if (!result) return;
    fprintf(stderr, "CUDA error at %s:%d code=%u(%s) \"%s\" \n", file, line, static_cast<unsigned int>(result), _cudaGetErrorEnum(result), call);
    exit(EXIT_FAILURE);
}
#define checkCudaErrors(call) check((call), #call, __FILE__, __LINE__)

static inline void __getLastCudaError(const char* message, const char* file, int line) {
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s(%i) : getLastCudaError() CUDA error : %s : (%d) %s.\n", file, line, message, static_cast<int>(error), cudaGetErrorString(error));
    exit(EXIT_FAILURE);
}
#define getLastCudaError(message) __getLastCudaError(message, __FILE__, __LINE__)

// The FP32 lanes of a multiprocessor (CUDA C++ Programming Guide, "Arithmetic Instructions").
static inline int _ConvertSMVer2Cores(int major, int minor) {
    return major < 8 || (major == 8 && minor == 0) ? 64 : 128;
}

static inline int gpuGetMaxGflopsDeviceId() { return 0; }
static inline int gpuDeviceInit(int device) {
    checkCudaErrors(cudaSetDevice(device));
    return device;
}
static inline int findCudaDevice(int argc, const char** argv) {
    int device = checkCmdLineFlag(argc, argv, "device") ? getCmdLineArgumentInt(argc, argv, "device") : gpuGetMaxGflopsDeviceId();
    gpuDeviceInit(device);
    cudaDeviceProp properties;
    checkCudaErrors(cudaGetDeviceProperties(&properties, device));
    printf("GPU Device %d: \"%s\" with compute capability %d.%d\n\n", device, properties.name, properties.major, properties.minor);
    return device;
}
static inline bool checkCudaCapabilities(int major, int minor) {
    cudaDeviceProp properties;
    int device;
    checkCudaErrors(cudaGetDevice(&device));
    checkCudaErrors(cudaGetDeviceProperties(&properties, device));
    return properties.major > major || (properties.major == major && properties.minor >= minor);
}

#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
static inline int ftoi(float value) { return static_cast<int>(value >= 0 ? value + 0.5f : value - 0.5f); }
