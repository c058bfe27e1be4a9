//! Why an instruction is refused, in words that help.

/// What belongs to which family, by the beginning of the opcode.
const FAMILIES: [(&str, &str); 20] = [
    ("tex", TEXTURES),
    ("tld4", TEXTURES),
    ("txq", TEXTURES),
    ("suld", SURFACES),
    ("sust", SURFACES),
    ("sured", SURFACES),
    ("suq", SURFACES),
    ("istypep", TEXTURES),
    ("wgmma", "products of warp groups need the tensor cores of sm_90a; use wmma or mma.sync"),
    ("tcgen05", "fifth-generation tensor cores are those of sm_100a; use wmma or mma.sync"),
    ("cp.async.bulk", TENSOR_MEMORY),
    ("cp.reduce.async", TENSOR_MEMORY),
    ("tensormap", TENSOR_MEMORY),
    ("mbarrier", "barrier objects in memory are not there; use __syncthreads()"),
    ("fence.mbarrier", "barrier objects in memory are not there; use __syncthreads()"),
    ("barrier.cluster", CLUSTERS),
    ("mapa", CLUSTERS),
    ("getctarank", CLUSTERS),
    ("setmaxnreg", "warps do not trade registers here; leave it out"),
    ("griddepcontrol", "a launch never overlaps the one before it here; leave it out"),
];

const TEXTURES: &str = "there are no textures here; read the data through a pointer";
const SURFACES: &str = "there are no surfaces here; read and write the data through a pointer";
const TENSOR_MEMORY: &str =
    "the tensor memory accelerator of sm_90 is not there; copy with loads and stores";
const CLUSTERS: &str = "there are no clusters of blocks here; launch without them";

/// The sentence for an opcode with all its modifiers.
pub fn reason(opcode: &str) -> String {
    let family = FAMILIES.iter().find(|(start, _)| {
        opcode.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    });
    match family {
        Some((_, why)) => format!("instruction `{opcode}`: {why}"),
        None => format!("instruction `{opcode}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_go_by_whole_parts_of_an_opcode() {
        assert!(reason("tex.2d.v4.f32.f32").contains("through a pointer"));
        assert!(reason("cp.async.bulk.shared::cluster.global").contains("accelerator"));
        assert_eq!(reason("cp.async.ca.shared.global"), "instruction `cp.async.ca.shared.global`");
        assert_eq!(reason("texture"), "instruction `texture`");
    }
}
