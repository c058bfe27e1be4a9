// A stand-in for libcuda.so.1, so that driver.rs runs in tests without a GPU. Device memory is the process's own; a
// "kernel" writes two bytes, or computes y[i] = 2 * x[i] from (x, y, n) and then does what its name says. FAKE_DRIVER names what fails before.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int Result;
typedef uint64_t Address;

static Result pending;
static size_t limits[7] = {1 << 10, 1 << 20, 8 << 20};

static int fails(const char *what) {
    const char *set = getenv("FAKE_DRIVER");
    return set && strcmp(set, what) == 0;
}

Result cuInit(unsigned flags) { return fails("init") ? 803 : 0; }
Result cuDriverGetVersion(int *version) { return *version = 12040, 0; }
Result cuDeviceGet(int *device, int ordinal) { return *device = 5, fails("device") ? 101 : 0; }
Result cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 75 ? 9 : attribute == 76 ? 1 : attribute == 16 ? 7 : -1;
    return device == 5 ? 0 : 101;
}
Result cuDeviceGetName(char *name, int size, int device) { return snprintf(name, size, "Fake %d", device), 0; }
Result cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = 1 << 30, 0; }
Result cuDevicePrimaryCtxRetain(void **context, int device) { return *context = &pending, fails("context") ? 46 : 0; }
Result cuCtxSetCurrent(void *context) { return context == &pending ? 0 : 201; }
Result cuCtxSetLimit(int limit, size_t value) { return limits[limit] = value, 0; }
Result cuCtxGetLimit(size_t *value, int limit) { return *value = limits[limit], limits[limit] ? 0 : 215; }
Result cuModuleLoadData(void **module, const char *image) {
    *module = &pending;
    return strcmp(image, "module") == 0 ? 0 : 200;
}
Result cuModuleLoadDataEx(void **module, const char *image, unsigned count, int *options, void **values) {
    if (count == 2 && options[0] == 5 && options[1] == 6) snprintf(values[0], (size_t)values[1], "line 1: no such thing as %s", image);
    return cuModuleLoadData(module, image);
}
Result cuModuleUnload(void *module) { return 0; }
Result cuModuleGetFunction(void **function, void *module, const char *name) {
    return (*function = strdup(name)) && *name == '_' ? 0 : 500;
}
Result cuModuleGetGlobal_v2(Address *address, size_t *bytes, void *module, const char *name) {
    static float weights[4];
    *address = (Address)weights, *bytes = sizeof weights;
    return strcmp(name, "weights") == 0 ? 0 : 500;
}
static int allocations;
Result cuMemGetInfo_v2(size_t *free, size_t *total) { return *free = (1 << 29) - 512 * allocations, *total = 1 << 30, 0; }
Result cuMemAlloc_v2(Address *address, size_t size) {
    *address = (Address)aligned_alloc(256, (size + 255) / 256 * 256);
    return fails("memory") ? 2 : (allocations++, 0);
}
Result cuMemFree_v2(Address address) { return allocations--, free((void *)address), 0; }
Result cuMemcpyHtoD_v2(Address to, const void *from, size_t size) { return memcpy((void *)to, from, size), pending; }
Result cuMemcpyDtoH_v2(void *to, Address from, size_t size) { return memcpy(to, (void *)from, size), pending; }
Result cuMemcpyDtoD_v2(Address to, Address from, size_t size) { return memcpy((void *)to, (void *)from, size), pending; }
Result cuMemsetD8_v2(Address to, unsigned char value, size_t size) { return memset((void *)to, value, size), pending; }
Result cuFuncGetAttribute(int *value, int attribute, void *function) { return *value = attribute == 4 ? 32 : 75, 0; }
Result cuFuncSetAttribute(void *function, int attribute, int value) { return attribute == 8 && value <= 65536 ? 0 : 1; }
Result cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, void *stream, void **parameters, void **extra) {
    static int launches;
    const char *kernel = function;
    if (gx * gy * gz == 0 || bx * by * bz > 1024) return 1;
    float *x = *(float **)parameters[0], *y = *(float **)parameters[1];
    if (strcmp(kernel, "_two_bytes") == 0) return memcpy(y, "\xfd\xf5", 2), 0;
    int n = *(int *)parameters[2];
    for (int i = 0; i < n; i++) y[i] = 2 * x[i];
    printf("hello from %s\n", kernel);
    launches++;
    if (strcmp(kernel, "_past_the_end") == 0) y[n] = 1;
    if (strcmp(kernel, "_clobbers_input") == 0) x[1] = 77;
    if (strcmp(kernel, "_counts_launches") == 0) y[0] = launches;
    if (strcmp(kernel, "_illegal") == 0) pending = 700;
    if (strcmp(kernel, "_asserts") == 0) {
        pending = 710;
        fprintf(stderr, "x.cu:3: void k(float *): block: [0,0,0], thread: [1,0,0] Assertion `i < n` failed.\n");
    }
    if (strcmp(kernel, "_hangs") == 0) for (;;) pause();
    if (strcmp(kernel, "_crashes") == 0) abort();
    return 0;
}
Result cuCtxSynchronize(void) { return pending; }
Result cuGetErrorName(Result error, const char **name) {
    static char text[40];
    const char *known = error == 1     ? "CUDA_ERROR_INVALID_VALUE"
                        : error == 2   ? "CUDA_ERROR_OUT_OF_MEMORY"
                        : error == 46  ? "CUDA_ERROR_DEVICE_UNAVAILABLE"
                        : error == 101 ? "CUDA_ERROR_INVALID_DEVICE"
                        : error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                        : error == 710 ? "CUDA_ERROR_ASSERT"
                        : error == 803 ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"
                                       : NULL;
    snprintf(text, sizeof text, "CUDA_ERROR_NUMBER_%d", error);
    *name = known ? known : text;
    return 0;
}
Result cuGetErrorString(Result error, const char **text) { return *text = "some words", 0; }
