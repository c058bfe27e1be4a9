// Templates, functors, classes with methods, and an object that allocates before main.
#include <cstdio>

struct Square { template <class T> __host__ __device__ T operator()(T x) const { return x * x; } };
struct Shift { int by; template <class T> __host__ __device__ T operator()(T x) const { return x + by; } };

template <class T, class F> __global__ void apply(T* x, int n, F f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = f(x[i]);
}

template <class T> class Buffer {
public:
    explicit Buffer(int n) : n_(n) { cudaMalloc(&data_, n * sizeof(T)); }
    ~Buffer() { cudaFree(data_); }
    void fill(const T* from) { cudaMemcpy(data_, from, n_ * sizeof(T), cudaMemcpyHostToDevice); }
    void fetch(T* to) const { cudaMemcpy(to, data_, n_ * sizeof(T), cudaMemcpyDeviceToHost); }
    template <class F> void map(F f) { apply<<<(n_ + 31) / 32, 32>>>(data_, n_, f); }

private:
    T* data_ = nullptr;
    int n_;
};

static Buffer<double> global(3);

int main()
{
    int numbers[5] = {1, 2, 3, 4, 5};
    Buffer<int> ints(5);
    ints.fill(numbers);
    ints.map(Square());
    ints.map(Shift{10});
    ints.fetch(numbers);
    for (int x : numbers) std::printf("%d ", x);
    double reals[3] = {0.5, 1.5, 2.5};
    global.fill(reals);
    global.map(Square());
    global.fetch(reals);
    for (double x : reals) std::printf("%g ", x);
    std::printf("\n");
}
