//! Why an instruction is refused, in words that help.

/// What belongs to which family, by the beginning of the opcode.
const FAMILIES: [(&str, &str); 7] = [
    ("istypep", REFERENCES),
    ("wgmma", WARPGROUPS),
    ("tcgen05", "fifth-generation tensor cores are those of sm_100a; use wmma or mma.sync"),
    ("cp.async.bulk", TENSOR_MEMORY),
    ("cp.reduce.async", TENSOR_MEMORY),
    (
        "clusterlaunchcontrol",
        "to take over the work of blocks that have not begun needs sm_100; launch as many blocks as there is work",
    ),
    ("multimem", "multicast addresses of several GPUs are not supported; use one buffer"),
];

const REFERENCES: &str =
    "texture references are not supported; use texture objects (cudaCreateTextureObject)";
const TENSOR_MEMORY: &str = "of bulk copies only those between global memory and shared memory, from a block's shared memory \
     to another's, and of boxes of tensors (`.tile`, `.im2col`), are supported; copy by loads and stores";

const LAUNCHES: &str =
    "of the device runtime for launches from kernels it is not supported; call it on the host";

const WARPGROUPS: &str = "of `wgmma` only `mma_async` of all elements of f16, bf16, tf32, e4m3, e5m2, s8 and u8 is supported, with 32 bytes to a row of A";

/// What belongs together by one part of the opcode.
const PARTS: [(&str, &str); 6] = [
    ("v8", "vectors of 32 bytes need sm_100; use two of 16"),
    (
        "b128",
        "words of 128 bits can only be moved, loaded, stored, exchanged and compared; use two of 64 bits",
    ),
    ("rs", "stochastic rounding needs sm_100a; use `.rn`"),
    ("oob", "`.oob` belongs to the tensor memory accelerator of sm_90; remove it"),
    ("e2m1x2", "formats of 4 and 6 bits need sm_100a; use `e4m3` or `e5m2`"),
    ("ue8m0x2", "formats of 4 and 6 bits need sm_100a; use `e4m3` or `e5m2`"),
];

/// Why this machine has not what an opcode stands for, if it is not merely unknown.
fn why(opcode: &str) -> Option<&'static str> {
    let starts = |start: &str| {
        opcode.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let family = FAMILIES.iter().find(|(start, _)| starts(start));
    let mixed = matches!(opcode.split('.').next(), Some("add" | "sub" | "fma"))
        && (opcode.ends_with(".f32.f16") || opcode.ends_with(".f32.bf16"));
    if mixed {
        return Some("sums of f32 and halves need sm_100; convert the half first");
    }
    let part = || PARTS.iter().find(|(part, _)| opcode.split('.').any(|other| other == *part));
    family.or_else(part).map(|(_, why)| *why)
}

/// The sentence for an opcode with all its modifiers.
pub fn reason(opcode: &str) -> String {
    known_reason(opcode).unwrap_or_else(|| format!("instruction `{opcode}`"))
}

/// The same, if there is more to say than that it is not there.
pub fn known_reason(opcode: &str) -> Option<String> {
    let mut parts = opcode.split('.');
    let base = parts.next().unwrap_or_default();
    if matches!(base, "shfl" | "vote" | "match" | "redux") && !parts.any(|part| part == "sync") {
        return Some(format!("`{base}` without `.sync`, gone since sm_70"));
    }
    if base == "redux" && parts.next_back() == Some("f32") {
        return Some("`redux` of floats, which needs sm_100a; use shuffles".to_owned());
    }
    why(opcode).map(|why| format!("instruction `{opcode}`: {why}"))
}

/// A function that is called and has no body.
pub fn function(name: &str) -> String {
    let why = match name {
        // What a launch inside a kernel becomes, by the version of the device runtime.
        _ if ["__cudaCDP", "cudaLaunchDevice", "cudaGetParameterBuffer"]
            .iter()
            .any(|start| name.starts_with(start)) =>
        {
            LAUNCHES
        }
        _ if name.starts_with("cudaGraph") => "CUDA graphs are not supported",
        _ => return format!("call of `{name}`, which has no body here"),
    };
    format!("call of `{name}`: {why}")
}

/// What a register stands for that is not there.
pub fn register(name: &str) -> String {
    let why = match name.trim_start_matches('%') {
        rest if rest.starts_with("pm") => "the counters of a multiprocessor are not supported",
        rest if rest.starts_with("envreg") => "it is reserved for drivers, and nothing sets it",
        "current_graph_exec" => "CUDA graphs are not supported",
        "tid" | "ntid" | "ctaid" | "nctaid" => "read `.x`, `.y` and `.z` one by one",
        rest if rest.contains("smem") => "the memory that a driver reserves is unknown",
        _ => return format!("register `{name}`"),
    };
    format!("register `{name}`: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_go_by_whole_parts_of_an_opcode() {
        assert!(reason("istypep.texref").contains("texture objects"));
        assert!(reason("cp.async.bulk.tensor.3d.im2col::w").contains("boxes of tensors"));
        assert_eq!(reason("texture"), "instruction `texture`");
        assert_eq!(known_reason("add.rn.f32"), None);
        assert!(function("__cudaCDP2MemcpyAsync").contains("on the host"));
        assert_eq!(function("f"), "call of `f`, which has no body here");
    }
}
