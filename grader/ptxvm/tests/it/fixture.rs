//! The files that tests and benchmarks read.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::Path;
use std::sync::LazyLock;

/// The text of a file in `tests`; PTX is stored together as `ptx.zst`, and what else is large as `NAME.zst`.
pub fn fixture(name: &str) -> String {
    let text = || String::from_utf8(fixture_bytes(name)).expect("text");
    TOGETHER.get(name).map_or_else(text, |packed| decoded(packed))
}

/// The PTX files that `ptx.py` packs together, each below a line `==> FOLDER/NAME <==`.
static TOGETHER: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let all = String::from_utf8(fixture_bytes("ptx")).expect("text");
    let all = format!("\n{all}");
    let files = all.split("\n==> ").skip(1);
    let files = files.map(|file| file.split_once(" <==\n").expect("a name and a text"));
    files.map(|(name, packed)| (name.to_owned(), packed.to_owned())).collect()
});

/// The registers of a kind, or the labels of a function, as `ptx.py` counts them.
#[derive(Default)]
struct Named {
    highest: usize,
    chosen: usize,
    /// The last one first.
    recent: Vec<usize>,
}

impl Named {
    fn read(&mut self, mark: char, digits: &str) -> usize {
        let written = digits.parse().ok();
        let number = match mark {
            '^' => self.recent.remove(written.expect("a place")),
            '~' => {
                self.highest += written.unwrap_or(1);
                self.highest
            }
            _ => {
                self.chosen = written.unwrap_or(self.chosen + 1);
                self.chosen
            }
        };
        self.recent.insert(0, number);
        number
    }
}

/// PTX with the numbers of its registers and labels, which `ptx.py` writes by when they were last named.
fn decoded(packed: &str) -> String {
    let mut kinds: HashMap<String, Named> = HashMap::new();
    let (mut text, mut rest, mut labels) = (String::new(), packed, String::new());
    while let Some((before, mark)) = rest.find(['~', '^', '`', '<']).map(|at| rest.split_at(at)) {
        text.push_str(before);
        let digits = mark[1..].find(|c: char| !c.is_ascii_digit()).map_or(mark.len(), |n| n + 1);
        let (mark, after) = mark.split_at(digits);
        let mut kind = text[text.rfind(['%', '$']).expect("a name")..].to_owned();
        if kind == "$L" {
            text.push_str(&labels[kind.len()..]);
            kind.clone_from(&labels);
        } else if kind.starts_with('$') {
            labels.clone_from(&kind);
        }
        if let Some(count) = mark.strip_prefix('<') {
            kinds.remove(&kind);
            text += "<";
            text += count;
        } else {
            let mut letters = mark.chars();
            let mark = letters.next().expect("a mark");
            let number = kinds.entry(kind).or_default().read(mark, letters.as_str());
            text += &number.to_string();
        }
        rest = after;
    }
    text + rest
}

/// The bytes of a file in `tests`; large ones are stored as `NAME.zst`.
pub fn fixture_bytes(name: &str) -> Vec<u8> {
    // The tests are a package in the folder of the machine's, whose benchmarks read these files too.
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = if package.ends_with("tests") { package } else { &package.join("tests") };
    let path = folder.join(name);
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

#[cfg(test)]
mod tests {
    #[test]
    fn registers_and_labels_have_their_numbers_again() {
        let packed = ".reg .b32 %r<9>;\nmov %r~,%tid.x;\nadd %r~3,%r^1,%r`2;\n@%p~ bra $L__BB2_~7;\n$L`2:add %r^2,%r`,[%rd~+8];\n\
                      $L__BB3_~:\n$L^0:\n.reg .b32 %r<5>;\nmov %r~2,%r`1;\n";
        let text = ".reg .b32 %r<9>;\nmov %r1,%tid.x;\nadd %r4,%r1,%r2;\n@%p1 bra $L__BB2_7;\n$L__BB2_2:add %r4,%r3,[%rd1+8];\n\
                    $L__BB3_1:\n$L__BB3_1:\n.reg .b32 %r<5>;\nmov %r2,%r1;\n";
        assert_eq!(super::decoded(packed), text);
    }
}
