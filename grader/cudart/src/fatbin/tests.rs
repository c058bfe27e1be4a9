//! Tests with the output of nvcc 13.0, valid and corrupted (`fixtures/build.sh`).

use super::*;

/// Not packed, LZ4, Zstandard: each with PTX for 9.0 and, behind it, for 7.5.
const FILES: [(&str, &[u8]); 3] = [
    ("none", include_bytes!("../../fixtures/none.fatbin")),
    ("speed", include_bytes!("../../fixtures/speed.fatbin")),
    ("size", include_bytes!("../../fixtures/size.fatbin")),
];
/// Bytes of the container's header, and of those of the entries here.
const HEADER: usize = 16;
const ENTRY: usize = 80;

/// A container with one PTX, not packed.
pub fn container(ptx: &str, arch: u32) -> Vec<u8> {
    let mut entry = vec![0; ENTRY];
    let mut put =
        |place: usize, bytes: &[u8]| entry[place..place + bytes.len()].copy_from_slice(bytes);
    put(0, &PTX.to_le_bytes());
    put(4, &(ENTRY as u32).to_le_bytes());
    put(8, &(ptx.len() as u64).to_le_bytes());
    put(28, &arch.to_le_bytes());
    let mut file = MAGIC.to_le_bytes().to_vec();
    file.extend([1, 0, HEADER as u8, 0]);
    file.extend(((ENTRY + ptx.len()) as u64).to_le_bytes());
    [file, entry, ptx.as_bytes().to_vec()].concat()
}

fn changed(file: &[u8], place: usize, bytes: &[u8]) -> Vec<u8> {
    let mut copy = file.to_vec();
    copy[place..place + bytes.len()].copy_from_slice(bytes);
    copy
}

#[test]
fn each_mode_holds_the_same_ptx() {
    let plain = ptx(FILES[0].1, 90).unwrap();
    assert!(plain.contains(".target sm_90") && plain.contains(".entry add"), "{plain}");
    assert!(plain.trim_end().ends_with('}'), "{plain}");
    for (mode, file) in FILES {
        assert_eq!(length(file.first_chunk().unwrap()), Some(file.len()), "{mode}");
        assert_eq!(ptx(file, 90).as_ref(), Ok(&plain), "{mode}");
        for (newest, target) in [(120, "sm_90"), (89, "sm_75"), (75, "sm_75"), (70, "sm_75")] {
            let text = ptx(file, newest).unwrap();
            assert!(text.contains(&format!(".target {target}")), "{mode} up to {newest}: {text}");
        }
    }
}

#[test]
fn a_part_of_a_file_is_none() {
    for (mode, file) in FILES {
        for end in 0..file.len() {
            assert_eq!(ptx(&file[..end], 90), Err(FatbinError::Malformed), "{mode}, {end} bytes");
        }
        // Something behind it is not its own.
        assert!(ptx(&[file, &[0; 100]].concat(), 90).is_ok(), "{mode}");
    }
}

#[test]
fn a_header_that_lies_is_noticed() {
    for (mode, file) in FILES {
        let malformed = Err(FatbinError::Malformed);
        for (place, bytes) in [
            (0, &[0x51u8][..]),                // the magic number
            (8, &[0xFF; 8]),                   // longer than can be
            (8, &(1u64 << 40).to_le_bytes()),  // longer than the file
            (HEADER + 4, &[0xFF; 4]),          // an entry's header
            (HEADER + 8, &[0xFF; 8]),          // an entry's payload
            (HEADER + 8, &[0x00, 0x00, 0x10]), // beyond the end
            (HEADER + 16, &[0xFF; 4]),         // what of the payload is packed
        ] {
            let text = ptx(&changed(file, place, bytes), 90);
            assert_eq!(text, malformed, "{mode}: {bytes:x?} at {place}");
        }
        // An entry of no bytes would never end.
        let nothing = changed(file, HEADER + 4, &[0; 12]);
        assert_eq!(ptx(&nothing, 90), malformed, "{mode}");
        // No PTX at all: two cubins.
        let mut cubins = changed(file, HEADER, &[2, 0]);
        let second = HEADER + ENTRY + usize::try_from(u64_at(file, HEADER + 8).unwrap()).unwrap();
        cubins[second] = 2;
        assert_eq!(ptx(&cubins, 90), Err(FatbinError::NoPtx), "{mode}");
    }
}

#[test]
fn a_wrong_unpacked_size_costs_no_memory_and_gives_no_text() {
    for (mode, file) in &FILES[1..] {
        let real = u64_at(file, HEADER + 56).unwrap();
        for claim in [0, 1, real - 1, real + 1, real + 4096, 255 << 20, 1 << 40, u64::MAX] {
            let text = ptx(&changed(file, HEADER + 56, &claim.to_le_bytes()), 90);
            assert!(matches!(text, Err(FatbinError::Packed(_))), "{mode}, {claim}: {text:?}");
        }
        // The other method.
        let other = if *mode == "size" { LZ4 } else { ZSTD };
        let text = ptx(&changed(file, HEADER + 40, &other.to_le_bytes()), 90);
        assert!(matches!(text, Err(FatbinError::Packed(_))), "{mode}: {text:?}");
    }
}

/// Any one byte may be anything: text or an error, but no panic.
#[test]
fn no_byte_can_break_it() {
    for (_, file) in FILES {
        let mut texts = 0;
        for place in 0..file.len() {
            for flip in [0x01, 0x10, 0x80, 0xFF] {
                texts += usize::from(ptx(&changed(file, place, &[file[place] ^ flip]), 90).is_ok());
            }
        }
        // Most of an uncompressed file is text, where any letter is one.
        assert!(texts > 0);
    }
}

#[test]
fn the_target_of_ptx_is_a_number() {
    let target = |line: &str| target(&format!(".version 9.0\n{line}\n.address_size 64\n"));
    assert_eq!(target(".target sm_75"), Some(75));
    assert_eq!(target(".target\tsm_90a, debug"), Some(90));
    assert_eq!(target("//\n.target sm_120"), Some(120));
    assert_eq!([".target", ".target x", ""].map(target), [None; 3]);
}

proptest::proptest! {
    /// Any answer will do, but a panic or a wait.
    #[test]
    fn mutated_fat_binaries_are_read(
        edits in proptest::collection::vec((0..4000_usize, proptest::num::u8::ANY), 1..6),
        cut in 0..4000_usize,
        newest in 0..130_u32,
    ) {
        for (_, file) in FILES {
            let mut mutant = file.to_vec();
            for (place, byte) in &edits {
                // Half of them in the headers, where most is decided.
                let end = if byte % 2 == 0 { mutant.len() } else { HEADER + ENTRY };
                mutant[place % end] = *byte;
            }
            let _ = ptx(&mutant, newest);
            let _ = ptx(&mutant[..cut % mutant.len()], newest);
            let doubled = [&mutant[..], &mutant[HEADER..]].concat();
            let _ = ptx(&doubled, newest).map(|text| target(&text));
        }
    }
}
