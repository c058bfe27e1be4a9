// What the training of puzzle 15 is told, and the device memory that it works in.
#pragma once

#include "lenet.h"
#include "mnist.h"

#include <cuda_runtime.h>
#include <vector>

// How to train.
struct TrainConfig {
    int epochs = 1;             // how often each image is seen
    int batch_size = 16;        // images of a step; the last one of an epoch may have fewer
    float learning_rate = 0.1f; // of a step
    uint32_t seed = 1;          // of the first weights, and of the order of the images
};

// Device memory for a batch and all that lies between it and the gradients. It is freed
// with the object.
class LeNetWorkspace {
    int batch;
    std::vector<void*> all;

    // Memory for so many floats or ints.
    template <class T>
    T* room(int elements)
    {
        void* memory = nullptr;
        cudaMalloc(&memory, elements * sizeof(T));
        all.push_back(memory);
        return (T*)memory;
    }

    // The same for each image of the batch.
    template <class T>
    T* each(int elements)
    {
        return room<T>(batch * elements);
    }

public:
    // For batches of at most so many images.
    explicit LeNetWorkspace(int batch_size) : batch(batch_size) {}
    ~LeNetWorkspace()
    {
        for (void* memory : all) cudaFree(memory);
    }
    LeNetWorkspace(const LeNetWorkspace&) = delete;
    LeNetWorkspace& operator=(const LeNetWorkspace&) = delete;

    float* images = each<float>(784); // (batch, 1, 28, 28)
    float* labels = each<float>(10);  // (batch, 10), one 1 in each row
    float* losses = each<float>(1);   // (batch)
    LeNetActivations act = {each<float>(3456), each<float>(3456), each<float>(864),
                            each<int>(864),    each<float>(1024), each<float>(1024),
                            each<float>(256),  each<int>(256),    each<float>(120),
                            each<float>(120),  each<float>(84),   each<float>(84),
                            each<float>(10),   each<float>(10)};
    LeNetGrads grads = {room<float>(150),   room<float>(6),   room<float>(2400),
                        room<float>(16),    room<float>(30720), room<float>(120),
                        room<float>(10080), room<float>(84),  room<float>(840),
                        room<float>(10)};
    LeNetGradActivations grad_act = {each<float>(3456), each<float>(3456), each<float>(864),
                                     each<float>(1024), each<float>(1024), each<float>(256),
                                     each<float>(120),  each<float>(120),  each<float>(84),
                                     each<float>(84),   each<float>(10)};
};
