// The kernels of puzzles 03 to 11, for the puzzles that put them together.
//
// They are those of the solutions. To use your own, include your files instead:
// "../../puzzles/03_fc_forward.cu" and so on.
#pragma once

#include "../../solutions/03_fc_forward.cu"
#include "../../solutions/04_relu.cu"
#include "../../solutions/05_softmax_ce.cu"
#include "../../solutions/06_fc_backward.cu"
#include "../../solutions/07_conv_forward.cu"
#include "../../solutions/08_maxpool.cu"
#include "../../solutions/09_conv_backward_weights.cu"
#include "../../solutions/10_conv_backward_input.cu"
#include "../../solutions/11_sgd.cu"
