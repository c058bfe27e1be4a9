//! What a tensor looks like in memory that has no checks of its own, a GPU's or the host's, and what its bytes say after a
//! run.
//!
//! Around a tensor lie guard zones, so that a write just outside it is noticed. Guards and the elements of outputs start
//! as [`Poison`]: an element that still holds it was never written. A byte may hold it by chance, so the run of a kernel that
//! computes bytes is repeated with another poison. Inputs and what is changed in place start as they are
//! given.

use crate::backend::RunTensor;
use crate::checked::Contents;
use crate::finding::{Element, Problem};
use puzzle::case::{CaseTensor, Role};
use puzzle::tensor::{Tensor, decode, encode, size_of};

/// What is repeated over guards and outputs: a quiet NaN in f16, bf16, f32 and f64, but never the NaN that an operation of the
/// GPU returns (those have a payload of all ones or all zeros).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poison([u8; 2]);

impl Poison {
    /// As an `int` it is -131075, as a byte 253.
    pub const FIRST: Self = Self(0xfffd_u16.to_le_bytes());

    /// No byte of it is in [`Self::FIRST`]; as a byte it is 245.
    pub const SECOND: Self = Self(0xfff5_u16.to_le_bytes());

    /// An element of `size` bytes that was never written.
    fn element(self, size: usize) -> Vec<u8> {
        let mut element = self.0.repeat(size.div_ceil(self.0.len()));
        element.truncate(size);
        element
    }
}

/// Smallest and largest guard zone, in bytes. The largest keeps the copies of big tensors cheap.
const GUARD: (usize, usize) = (4 << 10, 1 << 20);

/// Addresses of tensors are multiples of this, as `cudaMalloc` promises.
const ALIGN: usize = 256;

/// Places of guards and tensor in a buffer: guard, tensor, guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of each guard; so also the offset of the tensor.
    pub guard: usize,
    /// Bytes of the tensor.
    pub tensor: usize,
}

impl Layout {
    /// A guard is as large as its tensor, within limits: an index that is wrong by a whole axis still lands in it.
    pub fn of(tensor: &Tensor) -> Self {
        let bytes = tensor.bytes();
        Self { guard: bytes.next_multiple_of(ALIGN).clamp(GUARD.0, GUARD.1), tensor: bytes }
    }

    /// Bytes of the buffer.
    pub fn total(self) -> usize {
        self.tensor + 2 * self.guard
    }

    fn parts(self, image: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
        let (before, rest) = image.split_at_checked(self.guard)?;
        let (tensor, after) = rest.split_at_checked(self.tensor)?;
        (after.len() == self.guard).then_some((before, tensor, after))
    }
}

/// The buffer before the run.
pub fn before(tensor: &CaseTensor, poison: Poison) -> Vec<u8> {
    let layout = Layout::of(&tensor.tensor);
    let element = poison.element(size_of(tensor.tensor.dtype));
    let mut image = element.repeat(layout.total().div_ceil(element.len()));
    image.truncate(layout.total());
    if let Some(values) = tensor.start() {
        let bytes = encode(tensor.tensor.dtype, values);
        image[layout.guard..][..bytes.len()].copy_from_slice(&bytes);
    }
    image
}

/// What the tensor holds by `image`, the buffer after a run from [`before`] with this poison. `None` if the buffer has another
/// size.
pub fn after(tensor: &CaseTensor, image: &[u8], poison: Poison) -> Option<Contents> {
    let CaseTensor { tensor, role } = tensor;
    let size = size_of(tensor.dtype);
    let layout = Layout::of(tensor);
    let (guard_before, contents, guard_after) = layout.parts(image)?;
    let place = |flat: i64| Element::of(tensor, flat);
    let mut damage = Vec::new();

    // The element nearest to the tensor tells the most: index -1 or N.
    let untouched = poison.element(size);
    let overwritten: Vec<usize> = elements_off(guard_before, &untouched);
    if let Some(nearest) = overwritten.last() {
        let flat = *nearest as i64 - (layout.guard / size) as i64;
        damage.push((Problem::GuardOverwritten { place: place(flat) }, overwritten.len() as u64));
    }
    let overwritten = elements_off(guard_after, &untouched);
    if let Some(nearest) = overwritten.first() {
        let flat = (tensor.len() + nearest) as i64;
        damage.push((Problem::GuardOverwritten { place: place(flat) }, overwritten.len() as u64));
    }

    let mut written = vec![true; tensor.len()];
    match role {
        Role::Input(values) => {
            let given = encode(tensor.dtype, values);
            let changed =
                contents.chunks(size).zip(given.chunks(size)).map(|(now, then)| now != then);
            let changed: Vec<usize> =
                changed.enumerate().filter_map(|(i, c)| c.then_some(i)).collect();
            if let Some(&first) = changed.first() {
                damage.push((
                    Problem::InputChanged { place: place(first as i64) },
                    changed.len() as u64,
                ));
            }
        }
        // Defined from the start, whether the kernel writes or not.
        Role::InPlace { .. } => {}
        Role::Output(_) | Role::Result | Role::Workspace => {
            written.fill(false);
            for element in elements_off(contents, &untouched) {
                written[element] = true;
            }
        }
    }
    let tensor = RunTensor { values: decode(tensor.dtype, contents), written };
    Some(Contents { tensor, damage })
}

/// Indices of the elements that are not `untouched`.
fn elements_off(bytes: &[u8], untouched: &[u8]) -> Vec<usize> {
    let elements = bytes.chunks_exact(untouched.len()).enumerate();
    elements.filter(|(_, element)| *element != untouched).map(|(i, _)| i).collect()
}

/// Whether a single run leaves open if an element was written: bytes may hold the poison by chance.
pub fn is_undecided(tensor: &CaseTensor, contents: &RunTensor) -> bool {
    let computed = matches!(tensor.role, Role::Output(_) | Role::Result);
    computed && size_of(tensor.tensor.dtype) == 1 && contents.written.contains(&false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use indexmath::{Approx, DType};

    const TYPES: [DType; 7] = DType::ALL;

    fn before(tensor: &CaseTensor) -> Vec<u8> {
        super::before(tensor, Poison::FIRST)
    }

    fn after(tensor: &CaseTensor, image: &[u8]) -> Option<Contents> {
        super::after(tensor, image, Poison::FIRST)
    }

    fn tensor(dtype: DType, shape: &[usize]) -> Tensor {
        Tensor { name: "x".into(), dtype, shape: shape.to_vec() }
    }

    fn input(dtype: DType, values: &[f64]) -> CaseTensor {
        CaseTensor { tensor: tensor(dtype, &[values.len()]), role: Role::Input(values.to_vec()) }
    }

    fn output(dtype: DType, len: usize) -> CaseTensor {
        let expected = Approx { value: 1.0, bound: 0.0, magnitude: 1.0, terms: 1 };
        CaseTensor { tensor: tensor(dtype, &[len]), role: Role::Output(vec![expected; len]) }
    }

    /// Flat index of the one finding, with its count.
    fn only(findings: &[(Problem, u64)]) -> (i64, u64) {
        let [(kind, count)] = findings else { panic!("{findings:?}") };
        match kind {
            Problem::GuardOverwritten { place } | Problem::InputChanged { place } => {
                (place.flat, *count)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_untouched_buffer_is_clean_and_its_output_unwritten() {
        for dtype in TYPES {
            let Contents { tensor, damage } =
                after(&output(dtype, 5), &before(&output(dtype, 5))).unwrap();
            assert_eq!((tensor.written, damage), (vec![false; 5], vec![]), "{dtype:?}");
            if dtype.is_float() {
                assert!(tensor.values.iter().all(|v| v.is_nan()), "{dtype:?}");
            }
            let signed = if dtype == DType::U8 { 2.0 } else { -2.0 };
            let given = input(dtype, &[1.0, signed, 3.0]);
            let Contents { tensor, damage } = after(&given, &before(&given)).unwrap();
            assert_eq!((tensor.values, tensor.written), (vec![1.0, signed, 3.0], vec![true; 3]));
            assert_eq!(damage, []);
        }
    }

    #[test]
    fn a_written_element_is_told_from_an_unwritten_one() {
        for dtype in TYPES {
            let out = output(dtype, 4);
            let mut image = before(&out);
            let at = Layout::of(&out.tensor).guard + 2 * size_of(dtype);
            image[at..][..size_of(dtype)].copy_from_slice(&encode(dtype, &[6.0]));
            let Contents { tensor, damage } = after(&out, &image).unwrap();
            assert_eq!(tensor.written, [false, false, true, false], "{dtype:?}");
            assert_eq!((tensor.values[2], damage), (6.0, vec![]));
        }
    }

    #[test]
    fn the_nan_of_an_operation_counts_as_written() {
        let out = output(DType::F32, 1);
        let mut image = before(&out);
        let at = Layout::of(&out.tensor).guard;
        for nan in [0x7fff_ffff_u32, 0xffff_ffff, 0x7fc0_0000, 0xffc0_0000] {
            image[at..][..4].copy_from_slice(&nan.to_le_bytes());
            assert_eq!(after(&out, &image).unwrap().tensor.written, [true], "{nan:#x}");
        }
    }

    #[test]
    fn writes_around_a_tensor_are_found_on_both_sides() {
        for dtype in TYPES {
            let size = size_of(dtype);
            let out = output(dtype, 5);
            let guard = Layout::of(&out.tensor).guard;
            let write = |flats: &[i64]| {
                let mut image = before(&out);
                for flat in flats {
                    image[(guard as i64 + flat * size as i64) as usize] ^= 1;
                }
                after(&out, &image).unwrap().damage
            };
            assert_eq!(only(&write(&[-1])), (-1, 1), "{dtype:?}");
            assert_eq!(only(&write(&[-40, -3])), (-3, 2));
            assert_eq!(only(&write(&[5])), (5, 1));
            assert_eq!(only(&write(&[9, 7, 8])), (7, 3));
            assert_eq!(write(&[-1, 5]).len(), 2);
            let last = (guard / size) as i64;
            assert_eq!(only(&write(&[-last])), (-last, 1), "first byte of the buffer");
            assert_eq!(
                only(&write(&[5 + last - 1])),
                (5 + last - 1, 1),
                "last element of the buffer"
            );
        }
    }

    #[test]
    fn a_changed_input_is_found() {
        let given = input(DType::F32, &[1.0, 0.0, f64::NAN]);
        let mut image = before(&given);
        let at = Layout::of(&given.tensor).guard;
        image[at + 4..][..4].copy_from_slice(&(-0.0_f32).to_le_bytes());
        assert_eq!(
            only(&after(&given, &image).unwrap().damage),
            (1, 1),
            "even where only the sign of a zero changed"
        );
    }

    #[test]
    fn guards_grow_with_the_tensor_and_keep_it_aligned() {
        let guard = |n| Layout::of(&tensor(DType::F32, &[n])).guard;
        assert_eq!((guard(0), guard(1), guard(1024)), (4096, 4096, 4096));
        assert_eq!((guard(3001), guard(1 << 20)), (12032, 1 << 20));
        assert!([0, 1, 77, 3001, 300_000].iter().all(|&n| guard(n) % ALIGN == 0));
    }

    #[test]
    fn a_buffer_of_another_size_is_refused() {
        let out = output(DType::F32, 3);
        let image = before(&out);
        assert!(after(&out, &image[1..]).is_none() && after(&out, &[]).is_none());
        let empty = output(DType::F32, 0);
        assert_eq!(after(&empty, &before(&empty)).unwrap().tensor.values, [0.0; 0]);
    }
}
