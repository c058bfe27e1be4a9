// Puzzle 14: the MNIST data, from files to batches
//
// Plain C++ on the CPU: no kernel, no GPU. The files start with a header of 32-bit
// numbers, each with its most significant byte first (big-endian):
//
//   images   0x803, number of images, 28, 28,  then 28 * 28 bytes for each image
//   labels   0x801, number of labels,          then one byte for each label, 0 to 9
//
// A loader returns false, and leaves the set as it was, if the file
//   - is missing, or too short for its header, or for as many images as the header claims
//   - starts with another number, or has images that are not 28 x 28
//   - (labels) does not have as many labels as the set has images, or has a label above 9
// Bytes after the last image or label do not matter. A file without images is valid.
//
// MnistSet, MnistBatch and next_random are in kernels/include/mnist.h.

#include "mnist.h"

uint32_t swap_endian(uint32_t x)
{
    // TODO 1: the four bytes of x in reverse order.
    return x;
}

bool load_mnist_images(const char* path, MnistSet& set)
{
    // TODO 2: read the header, and check it. Then set.count and set.images: each byte
    //         divided by 255.
    return false;
}

bool load_mnist_labels(const char* path, MnistSet& set)
{
    // TODO 3: the same for set.labels. set.count is already set.
    return false;
}

void shuffle_data(MnistSet& set, uint32_t seed)
{
    // TODO 4: state = seed, or 1 if that is 0. For i from the last image down to 1,
    //         image i changes places with image next_random(state) % (i + 1), and its
    //         label goes along.
}

std::vector<MnistBatch> create_batches(const MnistSet& set, int batch_size)
{
    // TODO 5: pointers to the first image and label of each batch, and its count. The
    //         last batch holds the rest. batch_size is 1 or more.
    return {};
}
