// Kernels for the tests of the virtual machine as a backend: the first is right, the others make one mistake each, the last
// writes where its number does not suggest. After a change: nvcc -ptx -arch=sm_75 -lineinfo kernels.cu -o kernels.ptx,
// then shorten the path in the line `.file` and pack it: zstd --ultra -22 --rm kernels.ptx
#include <cooperative_groups.h>
#include <cstdio>

extern "C" {
__global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
__global__ void reads_past(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i + 1];
}
__global__ void writes_before(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i - 1] = 2 * x[i];
}
__global__ void adds_up(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += x[i];
}
__global__ void writes_input(float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = y[i] = 1;
}
__global__ void never_ends(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  while (i < n) y[i] = x[i];
}
__global__ void backwards(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[n - 1 - i] = x[0] + x[i] * x[i] + x[0];
}
__global__ void prints(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i % 20 == 5) printf("x[%d] is %g\n", i, x[i]);
}
// Right, but only in a cooperative launch.
__global__ void mirrors(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
  cooperative_groups::this_grid().sync();
  float other = i < n ? y[n - 1 - i] : 0;
  cooperative_groups::this_grid().sync();
  if (i < n) y[i] = other;
}
__global__ void allocates(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float* own = new float[2];
  own[0] = x[i % n];
  own[1 + i / n] = own[0];
  if (i < n) y[i] = own[1];
  delete[] own;
  if (i == 0) y[0] = own[1];
}
}
