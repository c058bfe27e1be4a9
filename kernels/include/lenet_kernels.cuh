// The kernels of puzzles 03 to 11, for the puzzles that put them together. The grader links those of the solutions
// (kernels/references/lenet_kernels.cu).
#pragma once

// Kernels are visible only within their own library unless they are declared so.
#pragma GCC visibility push(default)

__global__ void fc_forward(float* input, float* weights, float* bias, float* output,
                           int batch, int in_features, int out_features);

__global__ void relu_forward(const float* input, float* output, int n);
__global__ void relu_backward(const float* grad_output, const float* input,
                              float* grad_input, int n);

__global__ void softmax_forward(const float* logits, float* probs, int batch,
                                int num_classes);
__global__ void cross_entropy_loss(const float* probs, const float* labels,
                                   float* losses, int batch, int num_classes);
__global__ void softmax_ce_backward(const float* probs, const float* labels,
                                    float* grad_logits, int batch, int num_classes);

__global__ void fc_backward_weights(float* grad_output, float* input,
                                    float* grad_weights, int batch, int in_features,
                                    int out_features);
__global__ void fc_backward_bias(float* grad_output, float* grad_bias, int batch,
                                 int out_features);
__global__ void fc_backward_input(float* grad_output, float* weights,
                                  float* grad_input, int batch, int in_features,
                                  int out_features);

__global__ void conv2d_forward(const float* input, const float* filters,
                               const float* bias, float* output, int batch, int C_in,
                               int H, int W, int C_out, int F);

__global__ void maxpool_forward(const float* input, float* output, int* max_indices,
                                int batch, int C, int H, int W);
__global__ void maxpool_backward(const float* grad_output, const int* max_indices,
                                 float* grad_input, int batch, int C, int H, int W);

__global__ void conv2d_backward_weights(const float* grad_output, const float* input,
                                        float* grad_weights, int batch, int C_in,
                                        int H, int W, int C_out, int F);
__global__ void conv2d_backward_bias(const float* grad_output, float* grad_bias,
                                     int batch, int C_out, int H_out, int W_out);
__global__ void conv2d_backward_input(const float* grad_output, const float* filters,
                                      float* grad_input, int batch, int C_in,
                                      int H, int W, int C_out, int F);

__global__ void sgd_update(float* weights, const float* gradients, float lr, int n);
__global__ void zero_gradients(float* gradients, int n);

#pragma GCC visibility pop
