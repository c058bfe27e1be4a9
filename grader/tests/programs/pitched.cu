// Two dimensions: rows with a pitch, copies and fills of a part.
#include <cstdio>

__global__ void transpose(const float* from, size_t pitch, float* to, int rows, int columns)
{
    int x = threadIdx.x, y = threadIdx.y;
    if (y < rows && x < columns) to[x * rows + y] = from[y * (pitch / sizeof(float)) + x];
}

int main()
{
    const int rows = 3, columns = 5;
    float host[rows][columns], back[columns][rows], *from, *to;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) host[y][x] = 10 * y + x;
    size_t pitch;
    cudaMallocPitch(&from, &pitch, columns * sizeof(float), rows);
    std::printf("pitch fits: %d\n", pitch >= columns * sizeof(float) && pitch % 256 == 0);
    cudaMalloc(&to, sizeof host);
    cudaMemcpy2D(from, pitch, host, columns * sizeof(float), columns * sizeof(float), rows, cudaMemcpyHostToDevice);
    cudaMemset2D(from, pitch, 0, 2 * sizeof(float), rows);
    transpose<<<1, dim3(8, 8)>>>(from, pitch, to, rows, columns);
    cudaMemcpy(back, to, sizeof back, cudaMemcpyDeviceToHost);
    for (auto& row : back) std::printf("%g %g %g\n", row[0], row[1], row[2]);
    cudaMemcpy2D(host, columns * sizeof(float), from, pitch, 2 * sizeof(float), rows, cudaMemcpyDeviceToHost);
    std::printf("%g %g %g\n", host[0][0], host[1][1], host[2][2]);
    cudaMemset(to, 0xFF, 4);
    unsigned bits;
    cudaMemcpy(&bits, to, 4, cudaMemcpyDeviceToHost);
    std::printf("%x\n", bits);
    std::printf("too wide: %s\n", cudaGetErrorName(cudaMemcpy2D(from, 8, host, 8, 16, 1, cudaMemcpyHostToDevice)));
    cudaFree(from);
    cudaFree(to);
}
