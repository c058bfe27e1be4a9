// The device-wide algorithms of CUB for some types, so that all their kernels are compiled.
#include <cub/cub.cuh>
#include <cuda/functional>
#include <cuda/std/functional>

template <typename T>
void algorithms(T* data, T* out, int* keys, int* keys_out, int* counts, int n) {
    size_t bytes = 0;
    void* none = nullptr;
    cub::DeviceReduce::Sum(none, bytes, data, out, n);
    cub::DeviceReduce::Min(none, bytes, data, out, n);
    cub::DeviceReduce::ReduceByKey(none, bytes, keys, keys_out, data, out, counts, cuda::std::plus<>(), n);
    cub::DeviceReduce::ArgMax(none, bytes, data, out, reinterpret_cast<cuda::std::int64_t*>(counts), static_cast<long long>(n));
    cub::DeviceSegmentedReduce::Sum(none, bytes, data, out, n, keys, keys + 1);
    cub::DeviceScan::ExclusiveSum(none, bytes, data, out, n);
    cub::DeviceScan::InclusiveScan(none, bytes, data, out, cuda::maximum<>(), n);
    cub::DeviceScan::ExclusiveSumByKey(none, bytes, keys, data, out, n);
    cub::DeviceRadixSort::SortKeys(none, bytes, data, out, n);
    cub::DeviceRadixSort::SortPairsDescending(none, bytes, keys, keys_out, data, out, n);
    cub::DeviceSegmentedSort::SortKeys(none, bytes, data, out, n, n, keys, keys + 1);
    cub::DeviceSegmentedRadixSort::SortPairs(none, bytes, keys, keys_out, data, out, n, n, keys, keys + 1);
    cub::DeviceMergeSort::SortKeys(none, bytes, data, n, cuda::std::less<>());
    cub::DeviceMergeSort::StableSortPairs(none, bytes, keys, data, n, cuda::std::less<>());
    cub::DeviceSelect::Unique(none, bytes, data, out, counts, n);
    cub::DeviceSelect::Flagged(none, bytes, data, keys, out, counts, n);
    cub::DeviceSelect::UniqueByKey(none, bytes, keys, data, keys_out, out, counts, n);
    cub::DevicePartition::Flagged(none, bytes, data, keys, out, counts, n);
    cub::DeviceRunLengthEncode::Encode(none, bytes, data, out, keys, counts, n);
    cub::DeviceRunLengthEncode::NonTrivialRuns(none, bytes, data, keys, keys_out, counts, n);
    cub::DeviceAdjacentDifference::SubtractLeftCopy(none, bytes, data, out, n);
    cub::DeviceMerge::MergeKeys(none, bytes, data, n, out, n, out, cuda::std::less<>());
    cub::DeviceHistogram::HistogramEven(none, bytes, data, counts, 65, T(0), T(64), n);
}

struct Print {
    __device__ void operator()(int) const {}
};

void all(int* i, float* f, double* d, unsigned char* c, long long* l, int n) {
    algorithms(i, i, i, i, i, n);
    algorithms(f, f, i, i, i, n);
    algorithms(d, d, i, i, i, n);
    algorithms(c, c, i, i, i, n);
    algorithms(l, l, i, i, i, n);
    size_t bytes = 0;
    cub::DeviceFor::Bulk(nullptr, bytes, n, Print());
}
