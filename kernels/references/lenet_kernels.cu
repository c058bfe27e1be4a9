// What lenet_kernels.cuh declares: the kernels of puzzles 03 to 11.
#include "lenet_kernels.cuh"

#include "03_fc_forward.cu"
#include "04_relu.cu"
#include "05_softmax_ce.cu"
#include "06_fc_backward.cu"
#include "07_conv_forward.cu"
#include "08_maxpool.cu"
#include "09_conv_backward_weights.cu"
#include "10_conv_backward_input.cu"
#include "11_sgd.cu"
