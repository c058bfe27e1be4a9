//! Devices that hold the tensors of a case, and tell what kernels did to them.

use crate::backend::RunTensor;
use crate::finding::{Element, Finding, Problem};
use cudart::device::{Answer, Device};
use cudart::error::CudaError;
use diagnostic::{Failure, FailureKind};
use puzzle::case::{CaseLaunch, CaseTensor, Role};
use puzzle::tensor::size_of;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// A device on which a run can be judged: beyond what CUDA asks of it, it holds tensors so that it notices what a kernel
/// must not do to them.
pub trait CheckedDevice: Device + Debug + Send {
    /// Takes memory for a tensor, which holds what it is given and nothing that is computed; its address.
    ///
    /// # Errors
    /// There is no room, or no answer.
    fn place(&mut self, tensor: &CaseTensor) -> Answer<u64>;

    /// What a tensor holds now.
    ///
    /// # Errors
    /// The device answers no more, after a crash for instance.
    fn contents(&mut self, tensor: &CaseTensor, address: u64) -> Answer<Contents>;

    /// What the launches so far did wrong, in their order. Kernels have their names in the PTX.
    fn findings(&mut self, placed: &Placed<'_>) -> Vec<Finding>;

    /// What it means that the device answered a step with an error.
    fn explain(&mut self, step: Step<'_>, error: CudaError) -> Explanation;

    /// What the device itself wrote on standard error.
    fn log(&mut self) -> String;

    /// Gives the memory of all tensors back. Whether the device can then hold those of another case.
    fn clear(&mut self) -> bool;
}

/// What an error amounts to: something that the kernel did wrong, or nothing that its author could fix.
pub type Explanation = Result<Problem, Failure>;

/// The failure of a step before any kernel runs.
pub fn without_kernel(explanation: Explanation) -> Failure {
    explanation.map_or_else(
        |failure| failure,
        |kind| {
            let title = format!("the device answered a query with {kind:?}");
            Failure::new(FailureKind::Environment, title, "try again, or run with --backend vm")
        },
    )
}

/// What a tensor holds after a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// Its values, and which of them were written.
    pub tensor: RunTensor,
    /// What was changed that must not be, inside the tensor or around it, each with the number of elements.
    pub damage: Vec<(Problem, u64)>,
}

impl Contents {
    /// Nothing is known of the tensor, but what was given.
    pub fn unknown(tensor: &CaseTensor) -> Self {
        let len = tensor.tensor.len();
        let (values, written) = match &tensor.role {
            Role::Input(values) => (values.clone(), vec![true; len]),
            Role::Output(_) | Role::InPlace { .. } | Role::Result | Role::Workspace => {
                (vec![f64::NAN; len], vec![false; len])
            }
        };
        Self { tensor: RunTensor { values, written }, damage: Vec::new() }
    }
}

/// What a device was asked to do when it answered with an error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step<'a> {
    /// To start at all.
    Open,
    /// To load the module.
    Load,
    /// To take memory for the tensors, and to fill it.
    Place,
    /// To start a launch.
    Launch(&'a CaseLaunch),
    /// To run it to its end.
    Wait(&'a CaseLaunch),
    /// To give back what the tensors hold.
    Read,
}

/// A copy of a tensor into memory in which another one was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorCopy {
    /// The address of that memory.
    pub to: u64,
    /// Where the tensor lies until then.
    pub from: u64,
    /// Its length.
    pub bytes: u64,
}

/// The tensors of a case in the memory of a device.
#[derive(Debug)]
pub struct Placed<'a> {
    tensors: &'a [CaseTensor],
    /// `None` for those that lie elsewhere.
    addresses: Vec<Option<u64>>,
    /// Of the tensors that get the memory of others later: where they lie until then.
    apart: BTreeMap<usize, u64>,
}

impl<'a> Placed<'a> {
    /// Places the tensors for which `here` holds, for these launches.
    ///
    /// # Errors
    /// As [`CheckedDevice::place`].
    pub fn new(
        device: &mut dyn CheckedDevice,
        (tensors, launches): (&'a [CaseTensor], &[CaseLaunch]),
        here: impl Fn(usize) -> bool,
    ) -> Answer<Self> {
        let place = |(i, tensor)| here(i).then(|| device.place(tensor)).transpose();
        let mut addresses: Vec<Option<u64>> =
            tensors.iter().enumerate().map(place).collect::<Answer<_>>()?;
        let mut apart = BTreeMap::new();
        for &(tensor, other) in launches.iter().flat_map(|launch| &launch.moves_in) {
            if let (Some(own), Some(others)) = (addresses[tensor], addresses[other]) {
                apart.insert(tensor, own);
                addresses[tensor] = Some(others);
            }
        }
        Ok(Self { tensors, addresses, apart })
    }

    /// The copies before a launch, of tensors that get the memory of others then.
    pub fn copies(&self, launch: &CaseLaunch) -> Vec<TensorCopy> {
        let copy = |&(tensor, _): &(usize, usize)| {
            let bytes = self.tensors[tensor].tensor.bytes() as u64;
            Some(TensorCopy { to: self.address(tensor), from: *self.apart.get(&tensor)?, bytes })
        };
        launch.moves_in.iter().filter_map(copy).collect()
    }

    /// What a tensor holds after a run. Of one whose memory another tensor got, it is not known.
    ///
    /// # Errors
    /// As [`CheckedDevice::contents`].
    pub fn contents(&self, device: &mut dyn CheckedDevice, tensor: usize) -> Answer<Contents> {
        let (of, address) = (&self.tensors[tensor], self.address(tensor));
        let is_other = |other: &usize| *other != tensor && self.address(*other) == address;
        if self.apart.keys().any(is_other) && !self.apart.contains_key(&tensor) {
            return Ok(Contents::unknown(of));
        }
        device.contents(of, address)
    }

    /// Whether a tensor lies there until it gets the memory of another one.
    pub fn is_apart(&self, address: u64) -> bool {
        self.apart.values().any(|&from| from == address)
    }

    /// The tensors, wherever they lie.
    pub fn tensors(&self) -> &'a [CaseTensor] {
        self.tensors
    }

    /// The address of a tensor by its index; 0 for one that lies elsewhere.
    pub fn address(&self, tensor: usize) -> u64 {
        self.addresses.get(tensor).copied().flatten().unwrap_or(0)
    }

    /// How many of them lie in the device's memory.
    pub fn count(&self) -> usize {
        self.addresses.iter().flatten().count()
    }

    /// The index of the tensor that starts at an address.
    pub fn index(&self, start: u64) -> Option<usize> {
        self.addresses.iter().position(|&address| address == Some(start))
    }

    /// The index of the tensor in which an address lies, and how many bytes behind its start.
    pub fn containing(&self, address: u64) -> Option<(usize, u64)> {
        let starts = self.addresses.iter().enumerate();
        starts
            .filter_map(|(i, start)| Some((i, address.checked_sub((*start)?)?)))
            .find(|&(i, offset)| offset < self.tensors[i].tensor.bytes() as u64)
    }

    /// The element at a byte counted from an address, if a tensor starts there.
    pub fn element(&self, start: u64, offset: i64) -> Option<Element> {
        let tensor = &self.tensors[self.index(start)?].tensor;
        let flat = offset.div_euclid(size_of(tensor.dtype) as i64);
        Some(Element::of(tensor, flat))
    }
}
