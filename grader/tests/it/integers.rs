//! Tensors of bytes and of 64-bit integers, bitwise operations, and 64-bit parameters.

use crate::mini::Bench;
use judge::verdict::TestVerdict;

/// Packs four values of two bits into a byte, and mixes 64-bit keys; each in one right way and some wrong ones.
const KERNELS: &str = r#"
#define AT int i = blockIdx.x * 32 + threadIdx.x; if (i >= n) return
typedef long long wide;
__device__ unsigned char four(const unsigned char* v) {
    return v[0] | v[1] << 2 | v[2] << 4 | v[3] << 6;
}
extern "C" __global__ void right(const unsigned char* v, const wide* key, unsigned char* packed,
                                 wide* mixed, wide add, size_t n) {
    AT;
    packed[i] = four(v + 4 * i);
    mixed[i] = ((key[i] ^ key[i] >> 7) & 0xffffffffLL) + (~key[i] & 15) + add;
}
extern "C" __global__ void cut(const unsigned char* v, const wide* key, unsigned char* packed,
                               wide* mixed, wide add, size_t n) {
    AT;
    packed[i] = four(v + 4 * i);
    mixed[i] = (int)(((key[i] ^ key[i] >> 7) & 0xffffffffLL) + (~key[i] & 15) + add);
}
extern "C" __global__ void either(const unsigned char* v, const wide* key, unsigned char* packed,
                                  wide* mixed, wide add, size_t n) {
    AT;
    packed[i] = four(v + 4 * i);
    mixed[i] = ((key[i] | key[i] >> 7) & 0xffffffffLL) + (~key[i] & 15) + add;
}
extern "C" __global__ void huge(const unsigned char* v, const wide* key, unsigned char* packed,
                                wide* mixed, wide add, size_t n) {
    AT;
    packed[i] = four(v + 4 * i);
    mixed[i] = key[i] << 40 | 1;
}
extern "C" __global__ void reversed(const unsigned char* v, const wide* key, unsigned char* packed,
                                    wide* mixed, wide add, size_t n) {
    AT;
    packed[i] = v[4 * i] << 6 | v[4 * i + 1] << 4 | v[4 * i + 2] << 2 | v[4 * i + 3];
    mixed[i] = ((key[i] ^ key[i] >> 7) & 0xffffffffLL) + (~key[i] & 15) + add;
}
extern "C" __global__ void one_less(const unsigned char* v, const wide* key, unsigned char* packed,
                                    wide* mixed, wide add, size_t n) {
    AT;
    if (i + 1 < n) packed[i] = four(v + 4 * i);
    mixed[i] = ((key[i] ^ key[i] >> 7) & 0xffffffffLL) + (~key[i] & 15) + add;
}
"#;

fn judge(bench: &Bench, kernel: &str) -> TestVerdict {
    let spec = format!(
        r#"
title = "bits"
[dims]
free = ["n"]
[tensors]
v      = "u8[n, 4]"
key    = "i64[n]"
add    = "i64[]"
packed = "u8[n]"
mixed  = "i64[n]"
[math]
forward = """
packed[i] = sum[k] index(v[i,k] << 2*k)
mixed[i]  = index(((key[i] ^ key[i] >> 7) & 0xffffffff) + (~key[i] & 15)) + add
"""
[[launch]]
kernel = "{kernel}"
args   = ["v", "key", "packed", "mixed", "add", "n"]
block  = 32
grid   = "ceil_div(n, 32)"
[[test]]
name = "t"
dims = {{ n = 45 }}
[test.data]
v   = {{ kind = "integers", min = 0, max = 3 }}
key = {{ kind = "integers", min = -2000000000, max = 2000000000 }}
add = 5000000000000
"#
    );
    bench.judge(&spec, 3..4).remove(0).1
}

#[test]
fn bytes_and_wide_integers_are_compared_exactly() {
    let bench = Bench::new(KERNELS);
    let right = judge(&bench, "right");
    assert!(right.passed(), "{:?} {:?}", right.findings, right.diffs);
    for (kernel, tensor) in
        [("cut", "mixed"), ("either", "mixed"), ("huge", "mixed"), ("reversed", "packed")]
    {
        let verdict = judge(&bench, kernel);
        let wrong: Vec<&str> = verdict.diffs.iter().map(|d| d.tensor.name.as_str()).collect();
        assert_eq!(wrong, [tensor], "{kernel}");
    }
    let unwritten = &judge(&bench, "one_less").diffs[0];
    assert_eq!((unwritten.tensor.name.as_str(), unwritten.unwritten_count), ("packed", 1));
    assert_eq!(unwritten.wrong_count, 1);
}
