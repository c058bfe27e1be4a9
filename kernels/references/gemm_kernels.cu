// What gemm_kernels.cuh declares: the kernels of puzzles 17 and 18.
#include "gemm_kernels.cuh"

#include "17_im2col.cu"
#include "18_sgemm_tiled.cu"
