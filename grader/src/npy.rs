//! Writes `.npy` files of `numpy` (format 1.0, C order), so that a student can inspect a test with `np.load`, and reads them.
//!
//! Format: `numpy.lib.format` in the documentation of `numpy`.

use device::backend::{Run, RunTensor};
use diagnostic::{Failure, FailureKind};
use puzzle::case::{Case, CaseTensor, Role};
use puzzle::tensor::{DType, decode, encode, size_of};
use std::collections::BTreeSet;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// The magic string with version 1.0; two bytes with the header's length follow.
const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";

/// The alignment of the data in bytes.
const ALIGN: usize = 64;

/// The bytes of a `.npy` file: `values` rounded to `dtype`, row-major. `numpy` has no bf16, so bf16 is stored as f32,
/// which loses nothing.
pub fn to_bytes(dtype: DType, shape: &[usize], values: &[f64]) -> Vec<u8> {
    let (dict, stored) = header(dtype, shape);
    // Magic and length, the dictionary, spaces, a newline: together a multiple of ALIGN.
    let total = (MAGIC.len() + 2 + dict.len() + 1).next_multiple_of(ALIGN);
    let header = total - MAGIC.len() - 2;
    let mut bytes = MAGIC.to_vec();
    bytes.extend((header as u16).to_le_bytes());
    bytes.extend(format!("{dict:<width$}\n", width = header - 1).bytes());
    bytes.extend(encode(stored, values));
    bytes
}

/// The values of a `.npy` file that holds a tensor of this type and shape, as [`to_bytes`] and `numpy.save` write it.
///
/// # Errors
/// It is another file, or holds another tensor: a sentence that says so.
pub fn from_bytes(dtype: DType, shape: &[usize], bytes: &[u8]) -> Result<Vec<f64>, String> {
    let (expected, stored) = header(dtype, shape);
    let parts = bytes.strip_prefix(MAGIC).and_then(|rest| {
        let (length, rest) = rest.split_first_chunk::<2>()?;
        rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))
    });
    let Some((found, data)) = parts else {
        return Err("it is not a .npy file of format 1.0".to_owned());
    };
    let found = String::from_utf8_lossy(found).trim_end().replace(char::is_control, "?");
    if found != expected {
        return Err(format!("it holds {found}, not {expected}"));
    }
    let size = shape.iter().try_fold(size_of(stored), |bytes, axis| bytes.checked_mul(*axis));
    if size != Some(data.len()) {
        return Err(format!("it has {} bytes of data, too few or too many", data.len()));
    }
    Ok(decode(stored, data))
}

/// What the header of a file says of a tensor, and the type of the elements in the file.
fn header(dtype: DType, shape: &[usize]) -> (String, DType) {
    let (descr, stored) = match dtype {
        DType::F64 => ("<f8", DType::F64),
        DType::F32 | DType::BF16 => ("<f4", DType::F32),
        DType::F16 => ("<f2", DType::F16),
        DType::I32 => ("<i4", DType::I32),
        DType::I64 => ("<i8", DType::I64),
        DType::U8 => ("|u1", DType::U8),
    };
    let shape = match shape {
        [] => "()".to_owned(),
        [one] => format!("({one},)"),
        sizes => {
            let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
            format!("({})", sizes.join(", "))
        }
    };
    (format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"), stored)
}

/// Writes all tensors of a case into the folder `dir/<test>`: `<tensor>.npy` for inputs, `<tensor>.expected.npy` and
/// `<tensor>.got.npy` for outputs, and all three for tensors that are changed in place. Expected floats are f64, so
/// that they keep what rounding to the tensor's type would lose. Returns the number of files.
///
/// # Errors
/// A folder or file cannot be written.
pub fn dump(dir: &Path, case: &Case, run: &Run) -> Result<usize, Failure> {
    dump_tensors(&dir.join(file_name(&case.test)), &case.tensors, &run.tensors)
}

fn dump_tensors(
    folder: &Path,
    tensors: &[CaseTensor],
    got: &[RunTensor],
) -> Result<usize, Failure> {
    std::fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
    let mut taken = BTreeSet::new();
    let mut files = 0;
    for (tensor, got) in tensors.iter().zip(got) {
        let (role, tensor) = (&tensor.role, &tensor.tensor);
        let mut stem = file_name(&tensor.name);
        while !taken.insert(stem.clone()) {
            stem.push('_');
        }
        let mut save = |suffix: &str, dtype, values: &[f64]| {
            files += 1;
            let path = folder.join(format!("{stem}{suffix}.npy"));
            write(&path, &to_bytes(dtype, &tensor.shape, values))
        };
        match role {
            Role::Input(values) => save("", tensor.dtype, values)?,
            Role::Result | Role::Workspace => save(".got", tensor.dtype, &got.values)?,
            Role::Output(expected) | Role::InPlace { expected, .. } => {
                if let Role::InPlace { start, .. } = role {
                    save("", tensor.dtype, start)?;
                }
                let expected: Vec<f64> = expected.iter().map(|a| a.value).collect();
                let dtype = if tensor.dtype.is_float() { DType::F64 } else { tensor.dtype };
                save(".expected", dtype, &expected)?;
                save(".got", tensor.dtype, &got.values)?;
            }
        }
    }
    Ok(files)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let file = std::fs::File::create(path);
    file.and_then(|mut f| f.write_all(bytes)).map_err(|e| cannot_write(path, &e))
}

/// A file name for a tensor: `grad(input)` becomes `grad_input`.
fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = name.chars().map(safe).collect();
    let name = name.trim_end_matches('_');
    if name.is_empty() { "unnamed".to_owned() } else { name.to_owned() }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    let help = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "the disk is full: free some space or choose another folder with --dump"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "you have no permission to write there: choose another folder with --dump"
        }
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "a file exists where a folder is needed: choose another folder with --dump"
        }
        _ => "choose another folder with --dump",
    };
    Failure::new(
        FailureKind::Environment,
        format!("cannot write {}: {error}", path.display()),
        help,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use indexmath::Approx;
    use puzzle::tensor::Tensor;

    /// What `numpy` 2.4 writes: `dict`, padded to the 128 bytes of its header, and the data.
    fn numpy(dict: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00v\x00".to_vec();
        bytes.extend(format!("{dict:<117}\n").bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn bytes_are_those_of_numpy() {
        type Example = (DType, &'static [usize], &'static [f64], &'static str, &'static [u8]);
        let cases: [Example; 7] = [
            (
                DType::F32,
                &[2, 3],
                &[0.0, 1.0, -2.5, 3.0, 4.0, 1e10],
                "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
                b"\0\0\0\0\0\0\x80\x3f\0\0\x20\xc0\0\0\x40\x40\0\0\x80\x40\xf9\x02\x15\x50",
            ),
            (
                DType::F16,
                &[3],
                &[1.0, -0.5, 65504.0],
                "{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }",
                b"\0\x3c\0\xb8\xff\x7b",
            ),
            (
                DType::F64,
                &[],
                &[0.1],
                "{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
                b"\x9a\x99\x99\x99\x99\x99\xb9\x3f",
            ),
            (
                DType::I32,
                &[0, 4],
                &[],
                "{'descr': '<i4', 'fortran_order': False, 'shape': (0, 4), }",
                b"",
            ),
            (
                DType::I32,
                &[1, 2],
                &[-7.0, 3.0],
                "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2), }",
                b"\xf9\xff\xff\xff\x03\0\0\0",
            ),
            (
                DType::I64,
                &[2],
                &[-2.0, 4_294_967_297.0],
                "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }",
                b"\xfe\xff\xff\xff\xff\xff\xff\xff\x01\0\0\0\x01\0\0\0",
            ),
            (
                DType::U8,
                &[3],
                &[0.0, 7.0, 255.0],
                "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }",
                b"\0\x07\xff",
            ),
        ];
        for (dtype, shape, values, dict, data) in cases {
            assert_eq!(to_bytes(dtype, shape, values), numpy(dict, data), "{dict}");
            let read = from_bytes(dtype, shape, &numpy(dict, data)).unwrap();
            assert_eq!(to_bytes(dtype, shape, &read), numpy(dict, data), "{dict}");
        }
    }

    #[test]
    fn bf16_is_stored_as_f32() {
        assert_eq!(to_bytes(DType::BF16, &[1], &[1.5]), to_bytes(DType::F32, &[1], &[1.5]));
    }

    #[test]
    fn a_file_that_holds_something_else_is_refused() {
        let bytes = to_bytes(DType::F32, &[2, 3], &[1.0; 6]);
        let wrong = |dtype, shape: &[usize], bytes: &[u8]| {
            from_bytes(dtype, shape, bytes).expect_err("it is another tensor")
        };
        assert!(wrong(DType::F32, &[3, 2], &bytes).contains("'shape': (2, 3), }, not {"));
        assert!(wrong(DType::I32, &[2, 3], &bytes).contains("'descr': '<f4'"));
        for end in 0..bytes.len() {
            wrong(DType::F32, &[2, 3], &bytes[..end]);
        }
        wrong(DType::F32, &[2, 3], &[&bytes[..], &[0]].concat());
        wrong(DType::F32, &[usize::MAX, 2], &to_bytes(DType::F32, &[usize::MAX, 2], &[]));
    }

    /// The data part of a file written by [`to_bytes`].
    fn read(path: &Path, dtype: DType) -> Vec<f64> {
        let bytes = std::fs::read(path).unwrap();
        let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        assert_eq!((header + 10) % ALIGN, 0);
        decode(dtype, &bytes[10 + header..])
    }

    fn tensors() -> (Vec<CaseTensor>, Vec<RunTensor>) {
        let tensor = |name: &str| Tensor { name: name.into(), dtype: DType::F32, shape: vec![2] };
        let approx = |value| Approx { value, bound: 0.0, magnitude: 0.0, terms: 1 };
        let tensors = vec![
            CaseTensor { tensor: tensor("w"), role: Role::Input(vec![1.0, 2.0]) },
            CaseTensor {
                tensor: tensor("grad(x)"),
                role: Role::Output(vec![approx(0.1), approx(4.0)]),
            },
            CaseTensor { tensor: tensor("grad_x"), role: Role::Input(vec![8.0, 9.0]) },
        ];
        let got = vec![
            RunTensor { values: vec![1.0, 2.0], written: vec![true; 2] },
            RunTensor { values: vec![5.0, f64::NAN], written: vec![true, false] },
            RunTensor { values: vec![8.0, 9.0], written: vec![true; 2] },
        ];
        (tensors, got)
    }

    #[test]
    fn a_dump_holds_inputs_expected_and_got() {
        let dir = tempfile::tempdir().unwrap();
        let (tensors, got) = tensors();
        let into = dir.path().join("new").join("folder");
        assert_eq!(dump_tensors(&into, &tensors, &got).unwrap(), 4);
        let file = |name: &str| into.join(name);
        assert_eq!(read(&file("w.npy"), DType::F32), [1.0, 2.0]);
        assert_eq!(read(&file("grad_x.expected.npy"), DType::F64), [0.1, 4.0]);
        let got = read(&file("grad_x.got.npy"), DType::F32);
        assert!(got[0] == 5.0 && got[1].is_nan());
        assert_eq!(read(&file("grad_x_.npy"), DType::F32), [8.0, 9.0], "two names, one stem");
    }

    #[test]
    fn names_are_safe_for_files() {
        let names = ["grad(input)", "a/b", "../x", "(", "conv-1_x"].map(file_name);
        assert_eq!(names, ["grad_input", "a_b", "___x", "unnamed", "conv-1_x"]);
    }

    #[test]
    fn a_dump_that_cannot_be_written_is_explained() {
        let dir = tempfile::tempdir().unwrap();
        let (tensors, got) = tensors();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let failure = dump_tensors(&file, &tensors, &got).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Environment);
        assert!(
            failure.diagnostics[0].help[0].contains("exists where a folder is needed"),
            "{failure:?}"
        );
    }
}
