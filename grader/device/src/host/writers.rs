//! Which calls of host code change a tensor: launches with their arguments, copies and fills. The tensor is looked at after each of them.

use crate::backend::RunTensor;
use crate::checked::Placed;
use cudart::device::Launch;

/// A call of host code that changed a tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Writer {
    /// A launch: the kernel's name in the source, its arguments, and how many threads it starts.
    Kernel(String, Vec<LaunchArg>, u64),
    /// `cudaMemcpy`, or another that copies.
    Copy,
    /// `cudaMemset`, or another that fills.
    Fill,
}

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum LaunchArg {
    /// An address in a tensor of the case: the tensor's index, and how many bytes behind its start.
    Tensor(usize, u64),
    /// A number.
    Number(f64),
    /// Another address, or a structure.
    Other,
}

/// Calls that are kept, at most: a program with more repeats itself.
const MOST: usize = 256;

/// A tensor that is looked at.
#[derive(Debug)]
pub(super) struct Followed {
    pub tensor: usize,
    /// What it held when it was looked at last.
    before: Option<RunTensor>,
    calls: Vec<Writer>,
}

impl Followed {
    pub fn new(tensor: usize) -> Self {
        Self { tensor, before: None, calls: Vec::new() }
    }

    /// Takes what the tensor holds after a call, or before all of them.
    pub fn look(&mut self, now: RunTensor, call: Option<Writer>) {
        let is_same = self.before.as_ref().is_some_and(|before| is_same(before, &now));
        if !is_same && self.calls.len() < MOST {
            self.calls.extend(call);
        }
        self.before = Some(now);
    }

    pub fn into_calls(self) -> Vec<Writer> {
        self.calls
    }
}

fn is_same(a: &RunTensor, b: &RunTensor) -> bool {
    let mut values = a.values.iter().zip(&b.values);
    a.written == b.written && values.all(|(a, b)| a.to_bits() == b.to_bits())
}

/// A launch's kernel, by its name in the source, and its arguments.
pub(super) fn of_launch(launch: &Launch, placed: &Placed<'_>) -> (String, Vec<LaunchArg>) {
    let args = launch.params.iter().map(|bytes| of_bytes(bytes, placed));
    (cudart::source_name(&launch.kernel), args.collect())
}

/// Integers below this are told from floats: as floats they are too small for anybody to pass them.
const LARGE: i32 = 1 << 24;
/// Longer integers that are addresses begin here.
const FIRST_ADDRESS: i64 = 1 << 32;

/// What the bytes of an argument are. The kernel's code does not tell a float from an integer.
fn of_bytes(bytes: &[u8], placed: &Placed<'_>) -> LaunchArg {
    if let Ok(bytes) = bytes.try_into() {
        let int = i64::from_le_bytes(bytes);
        return match placed.containing(int.cast_unsigned()) {
            Some((tensor, offset)) => LaunchArg::Tensor(tensor, offset),
            None if (0..FIRST_ADDRESS).contains(&int) => LaunchArg::Number(int as f64),
            None => LaunchArg::Other,
        };
    }
    match *bytes {
        [a] => LaunchArg::Number(f64::from(a)),
        [a, b] => LaunchArg::Number(f64::from(i16::from_le_bytes([a, b]))),
        [a, b, c, d] => {
            let bytes = [a, b, c, d];
            let (int, float) = (i32::from_le_bytes(bytes), f32::from_le_bytes(bytes));
            let is_float = !(-LARGE..LARGE).contains(&int) && float.is_finite();
            LaunchArg::Number(if is_float { float.into() } else { int.into() })
        }
        _ => LaunchArg::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::test_device::{IdleDevice, TestDevice};
    use cudart::device::Device;
    use cudart::vm::VmDevice;
    use ptxvm::Options;
    use puzzle::case::{CaseTensor, Role};
    use puzzle::tensor::{DType, Tensor};

    #[test]
    fn arguments_are_tensors_and_numbers() {
        let tensor = Tensor { name: "x".into(), dtype: DType::F32, shape: vec![4] };
        let tensors = [CaseTensor { tensor, role: Role::Workspace }];
        let mut device = VmDevice::new(Options::default());
        let placed = Placed::new(&mut device, (&tensors, &[]), |_| true).unwrap();
        let of = |bytes: &[u8]| of_bytes(bytes, &placed);
        let address = placed.address(0);
        assert_eq!(of(&address.to_le_bytes()), LaunchArg::Tensor(0, 0));
        assert_eq!(of(&(address + 12).to_le_bytes()), LaunchArg::Tensor(0, 12));
        assert_eq!(of(&(address + 16).to_le_bytes()), LaunchArg::Other);
        assert_eq!(of(&(1_u64 << 20).to_le_bytes()), LaunchArg::Number(1_048_576.0));
        assert_eq!(of(&(-3_i32).to_le_bytes()), LaunchArg::Number(-3.0));
        assert_eq!(of(&0.25_f32.to_le_bytes()), LaunchArg::Number(0.25));
        assert_eq!(of(&[0; 24]), LaunchArg::Other);
    }

    #[test]
    fn calls_that_change_nothing_are_left_out() {
        let tensor = Tensor { name: "x".into(), dtype: DType::F32, shape: vec![1] };
        let tensors = [CaseTensor { tensor, role: Role::Workspace }];
        let device = IdleDevice::new(VmDevice::new(Options::default()));
        let mut device = TestDevice::new(device, (&tensors, &[]), &[false], None).unwrap();
        device.follow(0);
        let address = device.address(0);
        let one = 1_f32.to_le_bytes();
        device.fill(address, 4, 0).unwrap();
        device.fill(address, 4, 0).unwrap();
        device.write(address, cudart::frame::Bytes(&one)).unwrap();
        assert_eq!(device.writers(), [Writer::Fill, Writer::Copy]);
    }
}
