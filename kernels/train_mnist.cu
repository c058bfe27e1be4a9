// Trains LeNet by your puzzle 15, on MNIST or on the files of `grader digits`:
//
//   grader run kernels/train_mnist.cu -- FOLDER [IMAGES] [EPOCHS] [SEED]
//
// The folder has the four files of MNIST under their usual names (puzzle 14). Without
// numbers, the first 1,000 images are learned in 2 epochs. On a GPU take all 60,000.

#include "references/lenet_passes.cu"

#include "../puzzles/15_training_loop.cu"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

// Two files of a folder; false if one of them cannot be used.
bool load(const std::string& folder, const char* name, MnistSet& set)
{
    std::string path = folder + "/" + name;
    return load_mnist_images((path + "-images-idx3-ubyte").c_str(), set) &&
           load_mnist_labels((path + "-labels-idx1-ubyte").c_str(), set);
}

// Leaves the first images.
void shorten(MnistSet& set, int count)
{
    set.count = std::min(set.count, count);
    set.images.resize(set.count * 784);
    set.labels.resize(set.count);
}

int main(int argc, char** argv)
{
    std::string folder = argc > 1 ? argv[1] : "data";
    int images = argc > 2 ? atoi(argv[2]) : 1000;
    TrainConfig config;
    config.epochs = argc > 3 ? atoi(argv[3]) : 2;
    config.seed = argc > 4 ? atoi(argv[4]) : 1;
    config.learning_rate = 0.05f;

    MnistSet train, test;
    if (!load(folder, "train", train) || !load(folder, "t10k", test)) {
        fprintf(stderr, "%s has not the four files of MNIST, or one of them is broken\n",
                folder.c_str());
        return 1;
    }
    if (images < 1 || config.epochs < 1 || train.count == 0 || test.count == 0) {
        fprintf(stderr, "there is nothing to learn\n");
        return 1;
    }
    shorten(train, images);
    shorten(test, std::max(images / 4, 1));
    printf("%d images to learn from, %d to be judged by\n", train.count, test.count);

    LeNetParams params;
    float** buffers[] = {&params.conv1_w, &params.conv1_b, &params.conv2_w,
                         &params.conv2_b, &params.fc1_w,   &params.fc1_b,
                         &params.fc2_w,   &params.fc2_b,   &params.fc3_w,
                         &params.fc3_b};
    const int sizes[] = {150, 6, 2400, 16, 30720, 120, 10080, 84, 840, 10};
    for (int i = 0; i < 10; i++) cudaMalloc(buffers[i], sizes[i] * sizeof(float));

    int steps = (train.count + config.batch_size - 1) / config.batch_size;
    std::vector<float> losses(steps * config.epochs), accuracies(config.epochs);
    training_loop(train, test, config, params, losses.data(), accuracies.data());
    for (int epoch = 0; epoch < config.epochs; epoch++) {
        float sum = 0.0f;
        for (int i = 0; i < steps; i++) sum += losses[epoch * steps + i];
        printf("epoch %d: loss %.4f, accuracy %.4f\n", epoch + 1, sum / steps,
               accuracies[epoch]);
    }

    for (float** buffer : buffers) cudaFree(*buffer);
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) fprintf(stderr, "%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
