// Bounds, alignment, rights. README.md says how a kernel is launched and what the comments mean.

// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=f32[100] out=f32[128]
extern "C" __global__ void bad_read_without_guard(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 2.0f * in[i]; // expect: OutOfBounds
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=f32[128] out=f32[100]
extern "C" __global__ void bad_write_without_guard(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
    out[i] = v + 1.0f; // expect: OutOfBounds
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[32] n=32
extern "C" __global__ void bad_right_neighbour(const float *in, float *out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = in[i + 1]; // expect: OutOfBounds
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[32] n=32
extern "C" __global__ void bad_left_neighbour(const float *in, float *out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = in[i - 1]; // expect: OutOfBounds
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 out=f32[32] n=32
extern "C" __global__ void bad_write_before_the_start(float *out, int n) {
    int i = threadIdx.x;
    out[i - 1] = i; // expect: OutOfBounds
    if (i == 0) out[n - 1] = 0.0f;
}
// launch: grid=(1,1,1) block=(8,8,1) shared=0 in=f32[40] out=f32[40] rows=5 cols=8
extern "C" __global__ void bad_rows_and_columns_swapped(const float *in, float *out, int rows, int cols) {
    int x = threadIdx.x, y = threadIdx.y;
    if (x < cols && y < rows) out[x * cols + y] = // expect: OutOfBounds
        in[x + y * cols];
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[1] n=32
extern "C" __global__ void bad_loop_to_n_inclusive(const float *in, float *out, int n) {
    float sum = 0.0f;
    if (threadIdx.x == 0) {
        for (int i = 0; i <= n; i++)
            sum += in[i]; // expect: OutOfBounds
        *out = sum;
    }
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 inout=i32[32]
extern "C" __global__ void bad_atomic_out_of_bounds(int *bins) {
    atomicAdd(&bins[threadIdx.x * 2], 1); // expect: OutOfBounds
}
// launch: grid=(1,1,1) block=(16,1,1) shared=0 in=f32[30] out=f32[32]
extern "C" __global__ void bad_vector_over_the_end(const float2 *in, float2 *out) {
    out[threadIdx.x] = in[threadIdx.x]; // expect: OutOfBounds
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=u8[64] out=i32[8]
extern "C" __global__ void bad_misaligned_read(const char *in, int *out) {
    if (threadIdx.x < 8)
        out[threadIdx.x] = *(const int *)(in + 1 + 4 * threadIdx.x); // expect: Misaligned
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 inout=f32[80]
extern "C" __global__ void bad_misaligned_vector_write(float *out) {
    if (threadIdx.x < 4)
        *(float4 *)(out + 3 * threadIdx.x + 1) = make_float4(1, 2, 3, 4); // expect: Misaligned
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 out=f32[32]
extern "C" __global__ void bad_misaligned_shared(float *out) {
    __shared__ __align__(16) char s[256];
    s[threadIdx.x] = 0;
    s[threadIdx.x + 32] = 0;
    __syncthreads();
    out[threadIdx.x] = *(float *)(s + threadIdx.x / 16 * 4 + 2); // expect: Misaligned
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=null
extern "C" __global__ void bad_write_to_null(const float *in, float *out) {
    out[threadIdx.x] = in[threadIdx.x]; // expect: OutOfBounds
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=null out=f32[32]
extern "C" __global__ void bad_read_of_null(const float *in, float *out) {
    out[threadIdx.x] = in[threadIdx.x]; // expect: OutOfBounds
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[32]
extern "C" __global__ void bad_input_changed_in_place(float *in, float *out) {
    float v = in[threadIdx.x];
    in[threadIdx.x] = 2.0f * v; // expect: WriteToReadOnly
    out[threadIdx.x] = v;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[32]
extern "C" __global__ void bad_atomic_on_the_input(float *in, float *out) {
    out[threadIdx.x] = 1.0f;
    atomicAdd(&in[threadIdx.x / 2], 1.0f); // expect: WriteToReadOnly
}
// launch: grid=(1,1,1) block=(34,1,1) shared=0 in=f32[40] out=f32[34]
extern "C" __global__ void bad_halo_too_small(const float *in, float *out) {
    __shared__ float s[34];
    s[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x < 2) s[threadIdx.x + 34] = in[threadIdx.x + 34]; // expect: OutOfBounds
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}
// launch: grid=(1,1,1) block=(32,1,1) shared=64 in=f32[32] out=f32[32]
extern "C" __global__ void bad_dynamic_shared_too_small(const float *in, float *out) {
    extern __shared__ float s[];
    s[threadIdx.x] = in[threadIdx.x]; // expect: OutOfBounds
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x & 15];
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 out=f32[32]
extern "C" __global__ void bad_negative_shared_index(float *out) {
    __shared__ float s[32];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[(int)threadIdx.x - 1]; // expect: OutOfBounds
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[8] out=i32[32] n=5
extern "C" __global__ void bad_local_array_too_small(const int *in, int *out, int n) {
    int a[16];
    for (int k = 0; k < 16; k++) a[k] = in[k % 8];
    out[threadIdx.x] = a[(int)threadIdx.x - n]; // expect: OutOfBounds
}
__constant__ float weights[8] = {1, 2, 3, 4, 5, 6, 7, 8};
// launch: grid=(1,1,1) block=(32,1,1) shared=0 out=f32[32]
extern "C" __global__ void bad_constant_past_the_end(float *out) {
    out[threadIdx.x] = weights[threadIdx.x / 3]; // expect: OutOfBounds
}
__device__ float table[16];
// launch: grid=(1,1,1) block=(32,1,1) shared=0 out=f32[32]
extern "C" __global__ void bad_device_variable_past_the_end(float *out) {
    table[threadIdx.x] = 1.0f; // expect: OutOfBounds
    out[threadIdx.x] = 0.0f;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[32] n=50000
extern "C" __global__ void bad_int_product_overflows(const float *in, float *out, int n) {
    int i = threadIdx.x;
    int far = i * n * n;
    out[i] = in[i == 0 ? 0 : far]; // expect: OutOfBounds
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] out=f32[32]
extern "C" __global__ void bad_unsigned_underflow(const float *in, float *out) {
    unsigned left = threadIdx.x - 1;
    out[threadIdx.x] = in[left]; // expect: OutOfBounds
}

// launch: grid=(3,1,1) block=(64,1,1) shared=0 in=f32[130] out=f32[130] n=130
extern "C" __global__ void good_guard(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * in[i];
}
// launch: grid=(2,1,1) block=(32,1,1) shared=0 in=f32[1000] out=f32[1000] n=1000
extern "C" __global__ void good_grid_stride(const float *in, float *out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = in[i] * in[i];
}
// launch: grid=(2,1,1) block=(64,1,1) shared=0 in=f32[100] out=f32[100] n=100
extern "C" __global__ void good_stencil_with_edges(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float left = i > 0 ? in[i - 1] : 0.0f;
    float right = i + 1 < n ? in[i + 1] : 0.0f;
    out[i] = left + in[i] + right;
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[35] out=f32[32]
extern "C" __global__ void good_pointer_before_the_start_is_only_computed(const float *in, float *out) {
    const float *from = in - 3;
    out[threadIdx.x] = from[threadIdx.x + 3] + from[threadIdx.x + 6];
}
// launch: grid=(1,1,1) block=(16,1,1) shared=0 in=f32[64] out=f32[64]
extern "C" __global__ void good_float4_copy(const float *in, float *out) {
    reinterpret_cast<float4 *>(out)[threadIdx.x] = reinterpret_cast<const float4 *>(in)[threadIdx.x];
}
// launch: grid=(1,1,1) block=(32,1,1) shared=384 in=f32[32] out=f32[32]
extern "C" __global__ void good_dynamic_shared_in_two_parts(const float *in, float *out) {
    extern __shared__ float pool[];
    float *a = pool, *b = pool + 64;
    a[threadIdx.x] = in[threadIdx.x];
    a[threadIdx.x + 32] = 0.0f;
    b[threadIdx.x] = 2.0f;
    __syncthreads();
    out[threadIdx.x] = a[63 - threadIdx.x] + b[31 - threadIdx.x];
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=i32[8] out=i32[32]
extern "C" __global__ void good_local_array(const int *in, int *out) {
    int a[8];
    for (int k = 0; k < 8; k++) a[k] = in[k];
    out[threadIdx.x] = a[threadIdx.x % 8];
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 out=f32[32]
extern "C" __global__ void good_constant_last_element(float *out) {
    out[threadIdx.x] = weights[threadIdx.x / 4];
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=f32[32] in=null out=f32[32]
extern "C" __global__ void good_optional_bias(const float *in, const float *bias, float *out) {
    float v = in[threadIdx.x];
    if (bias != nullptr) v += bias[threadIdx.x];
    out[threadIdx.x] = v;
}
// launch: grid=(2,2,1) block=(16,16,1) shared=0 in=f32[600] out=f32[600] rows=20 cols=30
extern "C" __global__ void good_transpose(const float *in, float *out, int rows, int cols) {
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < cols && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * cols + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    if (x < rows && y < cols) out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}
// launch: grid=(1,1,1) block=(32,1,1) shared=0 in=u8[33] out=u8[33] n=33
extern "C" __global__ void good_bytes_of_odd_length(const unsigned char *in, unsigned char *out, int n) {
    for (int i = threadIdx.x; i < n; i += 32) out[i] = in[i] ^ 0x55;
}
