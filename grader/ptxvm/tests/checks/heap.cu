// malloc, free, new and delete in kernels. README.md says how a kernel is launched and what the comments mean.
struct Node {
    int value;
    Node *next;
};

// launch: grid=(2,1,1) block=(48,1,1) shared=0 in=i32[96] out=i32[96]
extern "C" __global__ void good_list_of_each_thread(const int *in, int *out) {
    int i = blockIdx.x * 48 + threadIdx.x, sum = 0;
    Node *list = nullptr;
    for (int k = 0; k <= in[i] % 5; k++) list = new Node{in[(i + k) % 96], list};
    for (Node *node = list; node;) {
        sum += node->value;
        Node *next = node->next;
        delete node;
        node = next;
    }
    out[i] = sum;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void good_buffer_of_the_block(const float *in, float *out) {
    __shared__ float *buffer;
    if (threadIdx.x == 0) buffer = (float *)malloc(64 * sizeof(float));
    __syncthreads();
    if (!buffer) return;
    buffer[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = buffer[63 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) free(buffer);
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 out=i32[32]
extern "C" __global__ void good_asks_for_too_much(int *out) {
    void *all = malloc(size_t(1) << 30);
    out[threadIdx.x] = all == nullptr;
    free(all);
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 out=f32[64]
extern "C" __global__ void bad_heap_buffer_overrun(float *out) {
    float *own = new float[threadIdx.x + 1];
    for (int i = 0; i <= threadIdx.x + 1; i++) own[i] = i; // expect: OutOfBounds
    out[threadIdx.x] = own[threadIdx.x];
    delete[] own;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 out=f32[32] n=4
extern "C" __global__ void bad_heap_memory_is_not_zero(float *out, int n) {
    float *own = new float[n];
    own[0] = 1;
    out[threadIdx.x] = own[threadIdx.x % n]; // expect: Uninitialised
    delete[] own;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32]
extern "C" __global__ void bad_read_after_free(const int *in, int *out) {
    Node *node = new Node{in[threadIdx.x], nullptr};
    Node *other = new Node{in[threadIdx.x] + 1, node};
    delete node;
    out[threadIdx.x] = other->next->value; // expect: UseAfterFree
    delete other;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void bad_freed_by_every_thread(const float *in, float *out) {
    __shared__ float *buffer;
    if (threadIdx.x == 0) buffer = (float *)malloc(64 * sizeof(float));
    __syncthreads();
    buffer[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = buffer[63 - threadIdx.x];
    __syncthreads();
    free(buffer); // expect: InvalidFree
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[32] out=i32[32]
extern "C" __global__ void bad_free_of_the_middle(const int *in, int *out) {
    int *own = (int *)malloc(4 * sizeof(int));
    own[1] = in[threadIdx.x];
    out[threadIdx.x] = own[1];
    free(own + 1); // expect: InvalidFree
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 inout=i32[32]
extern "C" __global__ void bad_free_of_an_argument(int *data) {
    if (threadIdx.x == 0) free(data); // expect: InvalidFree
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 out=i32[32]
extern "C" __global__ void bad_heap_full_and_not_checked(int *out) {
    int *own = (int *)malloc(1 << 20);
    own[1] = threadIdx.x; // expect: OutOfBounds
    out[threadIdx.x] = threadIdx.x;
}
// launch: grid=(1,1,1) block=(64,1,1) shared=0 in=i32[64] out=i32[64]
extern "C" __global__ void bad_heap_buffer_without_barrier(const int *in, int *out) {
    __shared__ int *buffer;
    if (threadIdx.x == 0) buffer = new int[64];
    __syncthreads();
    buffer[threadIdx.x] = in[threadIdx.x]; // expect: GlobalRace
    out[threadIdx.x] = buffer[63 - threadIdx.x]; // expect: GlobalRace
}
