// The instructions behind the steps, as functions: products of a warp and of a warpgroup, and copies to shared memory. Those from barrier
// objects on need compute capability 9.0.

#pragma once

#include <cuda_fp16.h>

__device__ inline unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
// Where 16 bytes of a row of 128 lie: rows exchange their pieces, so that eight rows of one piece lie in different banks.
__device__ inline unsigned place(int row, int piece) { return row * 128 + ((piece ^ (row & 7)) << 4); }
__device__ inline void load_matrices(unsigned (&m)[4], unsigned at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "r"(at) : "memory");
}
__device__ inline void load_transposed(unsigned (&m)[4], unsigned at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "r"(at) : "memory");
}
__device__ inline void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// Brings 16 bytes past the registers, or zeros.
__device__ inline void copy16(unsigned to, const half* from, bool inside)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0) : "memory");
}
__device__ inline void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
__device__ inline void wait_for_all_groups_but()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
// Four lanes hold a word of each of four pieces of 16 bytes; afterwards lane i holds piece i.
__device__ inline uint4 exchange(unsigned a, unsigned b, unsigned c, unsigned d)
{
    bool odd = threadIdx.x & 1, high = threadIdx.x & 2;
    unsigned x = __shfl_xor_sync(0xffffffff, odd ? a : b, 1), y = __shfl_xor_sync(0xffffffff, odd ? c : d, 1);
    if (odd) a = x, c = y;
    else b = x, d = y;
    x = __shfl_xor_sync(0xffffffff, high ? a : c, 2), y = __shfl_xor_sync(0xffffffff, high ? b : d, 2);
    if (high) a = x, b = y;
    else c = x, d = y;
    return make_uint4(a, b, c, d);
}
// Barrier objects in shared memory.
__device__ inline void set_up(unsigned barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ inline void arrive(unsigned barrier)
{
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(barrier) : "memory");
}
__device__ inline void wait(unsigned barrier, unsigned parity)
{
    asm volatile("{ .reg .pred done;\n\t"
                 "again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n\t"
                 "@!done bra again; }" ::"r"(barrier), "r"(parity) : "memory");
}
// Arrives as soon as all copies of this thread so far have come.
__device__ inline void arrive_when_copied(unsigned barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}
// What was copied past the registers is visible to wgmma only behind this fence.
__device__ inline void before_reading_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// One thread announces the bytes that will come.
__device__ inline void arrive_expecting(unsigned barrier, unsigned bytes)
{
    asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], %1; }" ::"r"(barrier), "r"(bytes) : "memory");
}
// The copy engine brings a box of a tensor, with zeros outside of it, exchanges the pieces of its rows, and tells the barrier.
__device__ inline void copy_box(unsigned to, const void* map, unsigned barrier, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(x), "r"(y) : "memory");
}
__device__ inline void copy_box(unsigned to, const void* map, unsigned barrier, int x, int y, int z)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z) : "memory");
}
__device__ inline void copy_box(unsigned to, const void* map, unsigned barrier, int x, int y, int z, int w)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}
#define REPLACE(field, type, value, ...) \
    asm volatile("tensormap.replace.tile." field ".shared::cta.b1024." type " [%0], " value ";" ::"r"(map), ##__VA_ARGS__ : "memory")
// One axis of a map after the other; `stride` is the bytes from an element of this axis to the next.
template <int AXIS, int RANK>
__device__ inline void describe_axes(unsigned map, const int (&size)[RANK], const int (&box)[RANK], long long stride)
{
    if constexpr (AXIS < RANK) {
        if constexpr (AXIS > 0) REPLACE("global_stride", "b64", "%1, %2", "n"(AXIS - 1), "l"(stride));
        REPLACE("global_dim", "b32", "%1, %2", "n"(AXIS), "r"(size[AXIS]));
        REPLACE("box_dim", "b32", "%1, %2", "n"(AXIS), "r"(box[AXIS]));
        REPLACE("element_stride", "b32", "%1, %2", "n"(AXIS), "r"(1));
        describe_axes<AXIS + 1>(map, size, box, stride * size[AXIS]);
    }
}
// Makes a map, zeros so far, of a tensor of halves: its sizes and those of a box, the innermost first.
template <int RANK>
__device__ inline void describe(unsigned map, const void* tensor, const int (&size)[RANK], const int (&box)[RANK])
{
    REPLACE("global_address", "b64", "%1", "l"(tensor));
    REPLACE("rank", "b32", "%1", "r"(RANK - 1));
    describe_axes<0>(map, size, box, 2);
    REPLACE("elemtype", "b32", "6");          // f16
    REPLACE("interleave_layout", "b32", "0"); // none
    REPLACE("swizzle_mode", "b32", "3");      // rows of 128 bytes
    REPLACE("fill_mode", "b32", "0");         // zeros
}
// The same for a matrix of bf16: boxes of 64 columns and `box` rows.
__device__ inline void describe(unsigned map, const void* matrix, int rows, int columns, int box)
{
    REPLACE("global_address", "b64", "%1", "l"(matrix));
    REPLACE("rank", "b32", "1"); // less one
    REPLACE("global_dim", "b32", "0, %1", "r"(columns));
    REPLACE("global_dim", "b32", "1, %1", "r"(rows));
    REPLACE("box_dim", "b32", "0, 64");
    REPLACE("box_dim", "b32", "1, %1", "r"(box));
    REPLACE("element_stride", "b32", "0, 1");
    REPLACE("element_stride", "b32", "1, 1");
    REPLACE("global_stride", "b64", "0, %1", "l"(2ll * columns));
    REPLACE("elemtype", "b32", "10");         // bf16
    REPLACE("interleave_layout", "b32", "0"); // none
    REPLACE("swizzle_mode", "b32", "3");      // rows of 128 bytes
    REPLACE("fill_mode", "b32", "0");         // zeros
}
// A warp brings a map to global memory, where the copy engine reads it.
__device__ inline void publish(unsigned long long* map, const void* built)
{
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;\n\t"
                 "fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map), "r"(shared_address(built)) : "memory");
}
// The products of a warpgroup, four warps: they are started, ended as a group, and waited for.
__device__ inline void before_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int GROUPS>
__device__ inline void wait_for_products()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(GROUPS) : "memory");
}
// A factor in shared memory: rows of 128 bytes, whose pieces are exchanged as place() does. `stride` is the distance between
// groups of eight rows. In a factor that is stored transposed, `leading` is the distance between columns 0 to 63 and the next 64.
__device__ inline unsigned long long factor(unsigned at, int leading, int stride)
{
    return (at & 0x3FFFFull) >> 4 | (unsigned long long)(leading >> 4) << 16 | (unsigned long long)(stride >> 4) << 32 | 1ull << 62;
}
// The same with groups that lie side by side, and 8 KB from columns 0 to 63 to the next 64.
__device__ inline unsigned long long factor(unsigned at)
{
    return (at & 0x3FFFFull) >> 4 | 512ull << 16 | 64ull << 32 | 1ull << 62;
}
#define EIGHT(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
