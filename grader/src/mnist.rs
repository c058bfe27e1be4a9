//! Checks the four files of MNIST that a student downloaded.

use ::digits::idx;
use diagnostic::{Failure, FailureKind};
use flate2::read::GzDecoder;
use ptxvm::finding::thousands;
use std::fmt::{self, Display, Formatter, Write};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A mirror of the files: that of torchvision (`torchvision/datasets/mnist.py`).
pub const MIRROR: &str = "https://ossci-datasets.s3.amazonaws.com/mnist/";

/// No file is larger than this, packed or not.
const LARGEST: u64 = 64 << 20;

/// A file of MNIST.
struct Original {
    name: &'static str,
    /// How some mirrors name it.
    other_name: &'static str,
    images: bool,
    /// SHA-256 of the unpacked file. Projects that download from torchvision's mirror and from Google's
    /// (storage.googleapis.com/cvdf-datasets/mnist) state the same ones.
    hash: &'static str,
}

const FILES: [Original; 4] = [
    Original {
        name: "train-images-idx3-ubyte",
        other_name: "train-images.idx3-ubyte",
        images: true,
        hash: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    },
    Original {
        name: "train-labels-idx1-ubyte",
        other_name: "train-labels.idx1-ubyte",
        images: false,
        hash: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    },
    Original {
        name: "t10k-images-idx3-ubyte",
        other_name: "t10k-images.idx3-ubyte",
        images: true,
        hash: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    },
    Original {
        name: "t10k-labels-idx1-ubyte",
        other_name: "t10k-labels.idx1-ubyte",
        images: false,
        hash: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    },
];

/// What there is of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A valid file with so many images or labels.
    Valid {
        /// The number of images or labels.
        count: usize,
        /// Whether every byte is as in MNIST.
        genuine: bool,
        /// Whether it is packed with gzip.
        packed: bool,
    },
    /// Nothing under the names of the file.
    Missing,
    /// Something under another name, which is given.
    Misnamed(String),
    /// A file that no loader can use, with the reason.
    Unusable(String),
}

/// What there is of each file, in the order of training images, training labels, test images, test labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked([Found; 4]);

impl Checked {
    /// Whether all four files are MNIST's, packed or not.
    pub fn all_genuine(&self) -> bool {
        self.0.iter().all(|found| matches!(found, Found::Valid { genuine: true, .. }))
    }

    /// Whether programs can train with the files as they are, MNIST's or not.
    fn can_train(&self) -> bool {
        self.0.iter().all(|found| matches!(found, Found::Valid { packed: false, .. }))
    }
}

/// Looks at the files in a folder.
///
/// # Errors
/// It is not a folder that can be read.
pub fn check(folder: &Path) -> Result<Checked, Failure> {
    if let Err(e) = std::fs::read_dir(folder) {
        let title = format!("cannot read the folder {}: {e}", folder.display());
        let help = format!("download the four files into a folder, from {MIRROR}");
        return Err(Failure::new(FailureKind::Usage, title, help));
    }
    let mut found = FILES.each_ref().map(|original| look(folder, original));
    for pair in [0, 2] {
        let (Found::Valid { count: images, .. }, Found::Valid { count: labels, .. }) =
            (&found[pair], &found[pair + 1])
        else {
            continue;
        };
        if images != labels {
            let (images, labels) = (thousands(*images as u64), thousands(*labels as u64));
            let why = format!("it has {labels} labels, but there are {images} images");
            found[pair + 1] = Found::Unusable(why);
        }
    }
    Ok(Checked(found))
}

fn look(folder: &Path, original: &Original) -> Found {
    let packed_name = format!("{}.gz", original.name);
    let examined = |name: &str| {
        let bytes = read(&folder.join(name)).transpose()?;
        Some(bytes.and_then(|bytes| examine(original, bytes)).unwrap_or_else(Found::Unusable))
    };
    if let Some(found) = examined(original.name) {
        return found;
    }
    match examined(&packed_name) {
        // Some browsers unpack what they download, and keep the name.
        Some(Found::Valid { packed: false, .. }) => Found::Misnamed(packed_name),
        Some(found) => found,
        None if folder.join(original.other_name).is_file() => {
            Found::Misnamed(original.other_name.to_owned())
        }
        None => Found::Missing,
    }
}

/// What the bytes of a file are, or why they are of no use.
fn examine(original: &Original, bytes: Vec<u8>) -> Result<Found, String> {
    let packed = bytes.starts_with(&[0x1f, 0x8b]);
    let bytes = if packed { unpack(&bytes)? } else { bytes };
    if bytes.trim_ascii_start().starts_with(b"<") {
        return Err("it is a web page: the download led to another address".to_owned());
    }
    let count = if original.images {
        idx::images(&bytes).map(|images| images.len())
    } else {
        idx::labels(&bytes).map(<[u8]>::len)
    };
    let count = count.map_err(|error| error.to_string())?;
    Ok(Found::Valid { count, genuine: hash(&bytes) == original.hash, packed })
}

/// SHA-256 in hexadecimal digits.
fn hash(bytes: &[u8]) -> String {
    let mut digits = String::new();
    for byte in hmac_sha256::Hash::hash(bytes) {
        write!(digits, "{byte:02x}").ok();
    }
    digits
}

/// The contents of a file; `None` if there is nothing of this name.
fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let unreadable = |e: io::Error| format!("it cannot be read: {e}");
    match std::fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(unreadable(e)),
        Ok(data) if !data.is_file() => return Err("it is not a file".to_owned()),
        Ok(_) => {}
    }
    limited(File::open(path).map_err(unreadable)?).map(Some).map_err(unreadable)
}

fn unpack(bytes: &[u8]) -> Result<Vec<u8>, String> {
    limited(GzDecoder::new(bytes)).map_err(|e| format!("it cannot be unpacked: {e}"))
}

/// All bytes of a source that has no more than [`LARGEST`].
fn limited(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other("it is larger than any file of MNIST"));
    }
    Ok(bytes)
}

/// The page of `grader mnist`.
#[derive(Debug)]
pub struct Page<'a> {
    /// The folder, as it was typed.
    pub folder: &'a Path,
    /// What is in it.
    pub checked: &'a Checked,
}

impl Display for Page<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { folder, checked } = self;
        for (original, found) in FILES.iter().zip(&checked.0) {
            let (is, next) = words(folder, original, found);
            writeln!(f, "{:<24} {is}", original.name)?;
            if let Some(next) = next {
                writeln!(f, "{:24} = help: {next}", "")?;
            }
        }
        let train = format!("grader run kernels/train_mnist.cu -- {}", folder.display());
        match (checked.all_genuine(), checked.can_train()) {
            (true, true) => writeln!(f, "\nAll four files are those of MNIST. Train with {train}"),
            (true, false) => {
                writeln!(f, "\nAll four files are those of MNIST. Unpack them, then {train}")
            }
            (false, true) => writeln!(
                f,
                "\nThese are not MNIST's files, which are at {MIRROR}.\nPrograms can train with them all the same: {train}"
            ),
            (false, false) => writeln!(f, "\nThese files cannot be used yet."),
        }
    }
}

/// What a file is, and what to do next.
fn words(folder: &Path, original: &Original, found: &Found) -> (String, Option<String>) {
    let name = original.name;
    let download = format!("download {MIRROR}{name}.gz");
    match found {
        Found::Valid { count, genuine, packed } => {
            let what = if original.images { "images" } else { "labels" };
            let whose = if *genuine { "those of MNIST" } else { "valid, but not those of MNIST" };
            let how = if *packed { ", packed with gzip" } else { "" };
            let file = folder.join(name);
            let path = file.display();
            // gunzip goes by the name.
            let rename = format!("its name lacks .gz: mv {path} {path}.gz, then ");
            let rename = if file.is_file() { &*rename } else { "" };
            let next = packed.then(|| format!("{rename}gunzip {path}.gz"));
            (format!("{} {what}, {whose}{how}", thousands(*count as u64)), next)
        }
        Found::Missing => ("missing".to_owned(), Some(download)),
        Found::Misnamed(other) => {
            let (from, to) = (folder.join(other), folder.join(name));
            let next = format!("mv {} {}", from.display(), to.display());
            (format!("the file is there under the name {other}"), Some(next))
        }
        Found::Unusable(why) => (why.clone(), Some(format!("remove it, and {download}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::digits::{Digit, Writer};
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::fs;
    use std::io::Write as _;

    /// A folder with the files of 3 training digits and 2 others.
    fn drawn() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let digits: Vec<Digit> = Writer::new(1).take(5).collect();
        for (name, digits) in [("train", &digits[..3]), ("t10k", &digits[3..])] {
            let (mut images, mut labels) = (Vec::new(), Vec::new());
            idx::write_images(&mut images, digits).unwrap();
            idx::write_labels(&mut labels, digits).unwrap();
            fs::write(dir.path().join(format!("{name}-images-idx3-ubyte")), images).unwrap();
            fs::write(dir.path().join(format!("{name}-labels-idx1-ubyte")), labels).unwrap();
        }
        dir
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// What becomes of the folder if the test labels are these bytes.
    fn with_labels(bytes: &[u8]) -> String {
        let dir = drawn();
        fs::write(dir.path().join(FILES[3].name), bytes).unwrap();
        let checked = check(dir.path()).unwrap();
        let page = Page { folder: Path::new("data"), checked: &checked }.to_string();
        page.lines()
            .skip_while(|line| !line.starts_with("t10k-labels"))
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn files_that_are_not_mnists_but_valid_can_be_trained_with() {
        let dir = drawn();
        let checked = check(dir.path()).unwrap();
        let page = Page { folder: Path::new("data"), checked: &checked }.to_string();
        assert!(!checked.all_genuine());
        insta::assert_snapshot!(page, @r"
        train-images-idx3-ubyte  3 images, valid, but not those of MNIST
        train-labels-idx1-ubyte  3 labels, valid, but not those of MNIST
        t10k-images-idx3-ubyte   2 images, valid, but not those of MNIST
        t10k-labels-idx1-ubyte   2 labels, valid, but not those of MNIST

        These are not MNIST's files, which are at https://ossci-datasets.s3.amazonaws.com/mnist/.
        Programs can train with them all the same: grader run kernels/train_mnist.cu -- data
        ");
    }

    #[test]
    fn the_hash_decides_what_is_mnists() {
        // FIPS 180-2, B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash(b"abc"), abc);
        assert!(FILES.iter().all(|file| file.hash.len() == 64));
        let genuine = |packed| Found::Valid { count: 3, genuine: true, packed };
        let page = |packed| {
            let found = [genuine(false), genuine(false), genuine(packed), genuine(false)];
            let checked = Checked(found);
            assert!(checked.all_genuine());
            Page { folder: Path::new("data"), checked: &checked }.to_string()
        };
        assert!(page(false).ends_with("Train with grader run kernels/train_mnist.cu -- data\n"));
        assert!(page(true).contains("gunzip data/t10k-images-idx3-ubyte.gz"));
        assert!(page(true).contains("Unpack them, then grader run"));
    }

    #[test]
    fn packed_files_are_looked_into_and_must_be_unpacked() {
        let dir = drawn();
        let name = |name: &str| dir.path().join(name);
        let bytes = fs::read(name(FILES[0].name)).unwrap();
        fs::remove_file(name(FILES[0].name)).unwrap();
        fs::write(name("train-images-idx3-ubyte.gz"), gzip(&bytes)).unwrap();
        let valid = |packed| Found::Valid { count: 3, genuine: false, packed };
        let checked = check(dir.path()).unwrap();
        assert_eq!(checked.0[..2], [valid(true), valid(false)]);
        assert!(!checked.can_train());
        // Packed, under the name of the unpacked file.
        fs::rename(name("train-images-idx3-ubyte.gz"), name(FILES[0].name)).unwrap();
        let checked = check(dir.path()).unwrap();
        assert_eq!(checked.0[0], valid(true));
        let page = Page { folder: dir.path(), checked: &checked }.to_string();
        assert!(page.contains("its name lacks .gz: mv "), "{page}");
        // Unpacked, under the name of the packed file.
        fs::remove_file(name(FILES[0].name)).unwrap();
        fs::write(name("train-images-idx3-ubyte.gz"), bytes).unwrap();
        let found = check(dir.path()).unwrap().0[0].clone();
        assert_eq!(found, Found::Misnamed("train-images-idx3-ubyte.gz".to_owned()));
    }

    #[test]
    fn a_missing_file_has_an_address_and_one_of_another_name_a_command() {
        let dir = drawn();
        fs::remove_file(dir.path().join(FILES[2].name)).unwrap();
        let name = dir.path().join(FILES[1].name);
        fs::rename(name, dir.path().join("train-labels.idx1-ubyte")).unwrap();
        let checked = check(dir.path()).unwrap();
        let page = Page { folder: Path::new("data"), checked: &checked }.to_string();
        assert!(page.contains(&format!("download {MIRROR}t10k-images-idx3-ubyte.gz")), "{page}");
        let rename = "mv data/train-labels.idx1-ubyte data/train-labels-idx1-ubyte";
        assert!(page.contains(rename) && page.ends_with("cannot be used yet.\n"), "{page}");
        let none = check(&dir.path().join("none")).unwrap_err();
        assert_eq!(none.kind, FailureKind::Usage);
    }

    #[test]
    fn broken_files_are_named_with_what_is_wrong() {
        let labels = [0, 0, 8, 1, 0, 0, 0, 2, 7, 9];
        for (bytes, why) in [
            (&labels[..9], "the file should have 10 bytes, it has 9"),
            (&[0, 0, 8, 3, 0, 0, 0, 2, 7, 9], "should start with 0x00000801"),
            (&[0, 0, 8, 1, 0, 0, 0, 2, 7, 10], "label 1 is 10, not 0 to 9"),
            (&[0, 0, 8, 1, 0, 0, 0, 1, 7], "it has 1 labels, but there are 2 images"),
            (&[0, 0, 8, 1, 255, 255, 255, 255], "the file should have 4294967303 bytes"),
            (b"", "the file should have 8 bytes, it has 0"),
            (b"\n<!DOCTYPE html>", "it is a web page"),
            (&gzip(&labels)[..12], "it cannot be unpacked"),
            (b"\x1f\x8b", "it cannot be unpacked"),
        ] {
            let page = with_labels(bytes);
            let line = page.lines().next().unwrap();
            assert!(line.contains(why), "{line}");
            assert!(page.contains("remove it, and download"), "{page}");
        }
        assert!(limited(io::repeat(0)).unwrap_err().to_string().contains("larger than any file"));
        let dir = drawn();
        fs::remove_file(dir.path().join(FILES[3].name)).unwrap();
        fs::create_dir(dir.path().join(FILES[3].name)).unwrap();
        let found = check(dir.path()).unwrap().0[3].clone();
        assert_eq!(found, Found::Unusable("it is not a file".to_owned()));
    }
}
