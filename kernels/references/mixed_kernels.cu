// What mixed_kernels.cuh declares by including lenet_passes.cuh: the passes and the data pipeline of the network in floats,
// which puzzle 50 is compared with.
#include "lenet_passes.cu"
