// The MNIST data: images, their labels, and how puzzles 14 and 15 pass them on. All of it
// lies in the memory of the host.
#pragma once

#include <cstdint>
#include <vector>

// ANCHOR: structures
// Images and their labels: label i belongs to image i.
struct MnistSet {
    int count = 0;
    std::vector<float> images; // (count, 28, 28), row-major, from 0 (paper) to 1 (ink)
    std::vector<int> labels;   // (count), 0 to 9
};

// Some neighbouring images of a set, which must outlive the batch: nothing is copied.
struct MnistBatch {
    const float* images = nullptr; // (count, 28, 28)
    const int* labels = nullptr;   // (count)
    int count = 0;
};
// ANCHOR_END: structures

// ANCHOR: random
// The next number of Marsaglia's xorshift32, 1 to 2^32 - 1. The state must not be 0:
// from there it never moves.
inline uint32_t next_random(uint32_t& state)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}
// ANCHOR_END: random

// x with its four bytes in reverse order.
uint32_t swap_endian(uint32_t x);

// Reads an IDX file of images (magic 0x803) or labels (magic 0x801) into the set. Images
// come first, and set the count; then there must be as many labels, none above 9. False if
// the file cannot be read or is not what it should be; the set is then as it was.
bool load_mnist_images(const char* path, MnistSet& set);
bool load_mnist_labels(const char* path, MnistSet& set);

// Puts the images into a random order, their labels along with them: Fisher-Yates, from
// the last image down, image i changes places with image next_random(state) % (i + 1).
// The state starts as the seed, or as 1 if the seed is 0.
void shuffle_data(MnistSet& set, uint32_t seed);

// Cuts the set into batches of batch_size images, in order. The last one is smaller if
// the images do not come out even.
std::vector<MnistBatch> create_batches(const MnistSet& set, int batch_size);
