//! The files that tests and benchmarks read.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::LazyLock;

/// The text of a file in `tests`; PTX is stored together as `ptx.zst`, and what else is large as `NAME.zst`.
pub fn fixture(name: &str) -> String {
    let text = || String::from_utf8(fixture_bytes(name)).expect("text");
    TOGETHER.get(name).cloned().unwrap_or_else(text)
}

/// The PTX files that the `build.sh` of a folder packs together, each below a line `==> NAME <==`.
static TOGETHER: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let mut files = BTreeMap::new();
    for folder in ["checks", "counters", "coverage", "fixtures"] {
        let all = String::from_utf8(fixture_bytes(&format!("{folder}/ptx"))).expect("text");
        for file in format!("\n{all}").split("\n==> ").skip(1) {
            let (name, text) = file.split_once(" <==\n").expect("a name and a text");
            files.insert(format!("{folder}/{name}"), text.to_owned());
        }
    }
    files
});

/// The bytes of a file in `tests`; large ones are stored as `NAME.zst`.
pub fn fixture_bytes(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    if let Ok(bytes) = std::fs::read(&path) {
        return bytes;
    }
    let packed = std::fs::read(format!("{}.zst", path.display()));
    let packed = packed.unwrap_or_else(|error| panic!("{name}.zst: {error}"));
    let mut bytes = Vec::new();
    let decoder = ruzstd::decoding::StreamingDecoder::new(&packed[..]);
    let read = decoder.map(|mut decoder| decoder.read_to_end(&mut bytes));
    assert!(matches!(read, Ok(Ok(_))), "{name}.zst is not valid");
    bytes
}
