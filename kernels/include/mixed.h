// LeNet in mixed precision, for puzzle 50: what the training is told, and the device memory
// that it works in. The parameters are those of lenet.h, in float: the master weights.
#pragma once

#include "lenet.h"
#include "loss_scale.h"
#include "mnist.h"
#include "training.h"

#include <array>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <vector>

// How to train: as in puzzle 15, and how the loss is scaled.
struct MixedConfig : TrainConfig {
    float decay = 1;           // the learning rate is multiplied by this after each epoch
    float first_scale = 65536; // of the first step
    int interval = 2000;       // after so many good steps in a row the scale doubles
};

// A half copy of each parameter, of the shape of the parameter. All passes use these.
struct HalfParams {
    half *conv1_w, *conv1_b;
    half *conv2_w, *conv2_b;
    half *fc1_w, *fc1_b;
    half *fc2_w, *fc2_b;
    half *fc3_w, *fc3_b;
};

// One of the ten parameters, with all that belongs to it.
struct Parameter {
    float* master;  // the weights
    half* copy;     // the same, rounded
    float* gradient; // of the scaled loss
    int n;          // how many
};

// Device memory for a batch of at most `batch` images. It is freed with the object.
//
// In the convolutions the channel comes first: all images of channel 0, then all of channel
// 1. So a row of a matrix is a channel. In the fully connected layers a row is an image.
class MixedNet {
    std::vector<void*> all;

    template <class T>
    T* room(int elements)
    {
        void* memory = nullptr;
        cudaMalloc(&memory, elements * sizeof(T));
        all.push_back(memory);
        return (T*)memory;
    }

public:
    const int batch; // so many images have room

    explicit MixedNet(int batch_size) : batch(batch_size) {}
    ~MixedNet()
    {
        for (void* memory : all) cudaFree(memory);
    }
    MixedNet(const MixedNet&) = delete;
    MixedNet& operator=(const MixedNet&) = delete;

    HalfParams half_params = {room<half>(150),   room<half>(6),   room<half>(2400),
                              room<half>(16),    room<half>(30720), room<half>(120),
                              room<half>(10080), room<half>(84),  room<half>(840),
                              room<half>(10)};
    LeNetGrads grads = {room<float>(150),   room<float>(6),   room<float>(2400),
                        room<float>(16),    room<float>(30720), room<float>(120),
                        room<float>(10080), room<float>(84),  room<float>(840),
                        room<float>(10)};
    int* found_inf = room<int>(1); // not 0 if a gradient is infinite or NaN

    // What the forward pass leaves behind. n is the number of images of the batch.
    half* images = room<half>(batch * 784);          // (1, n, 28, 28)
    int* labels = room<int>(batch);                  // (n), 0 to 9
    half* columns1 = room<half>(batch * 25 * 576);   // (25, n, 24, 24), patches of the images
    half* pool1 = room<half>(batch * 864);           // (6, n, 12, 12)
    int* winner1 = room<int>(batch * 864);           // (6, n, 12, 12), 0 to 3
    half* columns2 = room<half>(batch * 150 * 64);   // (150, n, 8, 8), patches of pool1
    half* pool2 = room<half>(batch * 256);           // (n, 16, 4, 4), which is (n, 256)
    int* winner2 = room<int>(batch * 256);           // (n, 16, 4, 4), 0 to 3
    half* relu3 = room<half>(batch * 120);           // (n, 120)
    half* relu4 = room<half>(batch * 84);            // (n, 84)
    float* logits = room<float>(batch * 10);         // (n, 10)
    float* losses = room<float>(batch);              // (n), not scaled

    // The gradients of activations, of the scaled loss.
    half* grad_logits = room<half>(batch * 10);      // (n, 10)
    half* grad_fc2 = room<half>(batch * 84);         // (n, 84), before ReLU
    half* grad_fc1 = room<half>(batch * 120);        // (n, 120), before ReLU
    half* grad_conv2 = room<half>(batch * 1024);     // (16, n, 8, 8), before ReLU
    half* grad_conv1 = room<half>(batch * 3456);     // (6, n, 24, 24), before ReLU

    // For sums that are rounded to half a moment later.
    float* sums = room<float>(batch * 9600);         // the largest: (150, n, 8, 8)
    float* image_sums = room<float>(batch * 864);    // (6, n, 12, 12), from col2im

    // All ten, in the order of lenet.h. params are the master weights.
    std::array<Parameter, 10> parameters(LeNetParams& params)
    {
        const HalfParams& h = half_params;
        return {{{params.conv1_w, h.conv1_w, grads.conv1_w, 150},
                 {params.conv1_b, h.conv1_b, grads.conv1_b, 6},
                 {params.conv2_w, h.conv2_w, grads.conv2_w, 2400},
                 {params.conv2_b, h.conv2_b, grads.conv2_b, 16},
                 {params.fc1_w, h.fc1_w, grads.fc1_w, 30720},
                 {params.fc1_b, h.fc1_b, grads.fc1_b, 120},
                 {params.fc2_w, h.fc2_w, grads.fc2_w, 10080},
                 {params.fc2_b, h.fc2_b, grads.fc2_b, 84},
                 {params.fc3_w, h.fc3_w, grads.fc3_w, 840},
                 {params.fc3_b, h.fc3_b, grads.fc3_b, 10}}};
    }
};
