// Puzzle 03: the forward pass of a fully connected layer
//
//   output[b,j] = bias[j] + sum over i of input[b,i] * weights[j,i]
//
// Tensors, row-major (the last index varies fastest):
//   input    (batch, in_features)
//   weights  (out_features, in_features)
//   bias     (out_features)
//   output   (batch, out_features)
//
// One thread computes one element of output. The grader launches blocks of 16x16
// threads in a two-dimensional grid: ceil(out_features / 16) blocks in x, for the
// features, and ceil(batch / 16) in y, for the samples.

__global__ void fc_forward(float* input, float* weights, float* bias, float* output,
                           int batch, int in_features, int out_features)
{
    // TODO 1: find this thread's sample b (from y) and output feature j (from x).

    // TODO 2: leave if there is no such sample or no such feature.

    // TODO 3: start from this feature's bias, and add the products of the sample's
    //         features with the feature's weights.

    // TODO 4: store the sum.
}
