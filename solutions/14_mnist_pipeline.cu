// ANCHOR: all
// Puzzle 14, solution: read the whole file, check it, and only then touch the set.

#include "mnist.h"
#include <algorithm>
#include <cstdio>
#include <cstring>

const int PIXELS = 28 * 28; // of an image

// ANCHOR: swap
uint32_t swap_endian(uint32_t x)
{
    return x >> 24 | (x >> 8 & 0xff00) | (x << 8 & 0xff0000) | x << 24;
}
// ANCHOR_END: swap

// ANCHOR: file
// All bytes of a file; none if it cannot be read.
std::vector<unsigned char> read_file(const char* path)
{
    std::vector<unsigned char> bytes;
    FILE* file = fopen(path, "rb");
    if (!file) return bytes;
    unsigned char block[4096];
    while (size_t got = fread(block, 1, sizeof block, file))
        bytes.insert(bytes.end(), block, block + got);
    fclose(file);
    return bytes;
}

// Field i of the header.
uint32_t field(const std::vector<unsigned char>& bytes, int i)
{
    uint32_t value;
    memcpy(&value, &bytes[4 * i], sizeof value);
    return swap_endian(value);
}
// ANCHOR_END: file

// ANCHOR: images
bool load_mnist_images(const char* path, MnistSet& set)
{
    std::vector<unsigned char> bytes = read_file(path);
    if (bytes.size() < 16) return false;
    if (field(bytes, 0) != 0x803) return false;
    if (field(bytes, 2) != 28 || field(bytes, 3) != 28) return false;
    size_t count = field(bytes, 1);
    if (bytes.size() < 16 + count * PIXELS) return false;

    set.count = count;
    set.images.resize(count * PIXELS);
    for (size_t i = 0; i < set.images.size(); i++)
        set.images[i] = bytes[16 + i] / 255.0f;
    return true;
}
// ANCHOR_END: images

// ANCHOR: labels
bool load_mnist_labels(const char* path, MnistSet& set)
{
    std::vector<unsigned char> bytes = read_file(path);
    if (bytes.size() < 8) return false;
    if (field(bytes, 0) != 0x801) return false;
    size_t count = field(bytes, 1);
    if (count != (size_t)set.count || bytes.size() < 8 + count) return false;
    for (size_t i = 0; i < count; i++)
        if (bytes[8 + i] > 9) return false;

    set.labels.assign(bytes.begin() + 8, bytes.begin() + 8 + count);
    return true;
}
// ANCHOR_END: labels

// ANCHOR: shuffle
void shuffle_data(MnistSet& set, uint32_t seed)
{
    uint32_t state = seed == 0 ? 1 : seed;
    for (int i = set.count - 1; i > 0; i--) {
        int j = next_random(state) % (i + 1);
        for (int p = 0; p < PIXELS; p++)
            std::swap(set.images[i * PIXELS + p], set.images[j * PIXELS + p]);
        std::swap(set.labels[i], set.labels[j]);
    }
}
// ANCHOR_END: shuffle

// ANCHOR: batches
std::vector<MnistBatch> create_batches(const MnistSet& set, int batch_size)
{
    std::vector<MnistBatch> batches;
    for (int first = 0; first < set.count; first += batch_size) {
        MnistBatch batch;
        batch.images = set.images.data() + first * PIXELS;
        batch.labels = set.labels.data() + first;
        batch.count = std::min(batch_size, set.count - first);
        batches.push_back(batch);
    }
    return batches;
}
// ANCHOR_END: batches
// ANCHOR_END: all
