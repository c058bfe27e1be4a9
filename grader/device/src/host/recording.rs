//! What host code launches, without running it: its launches can then be timed as they are, without the time of the host.
//!
//! The program gets a device on which every launch succeeds and does nothing. A program that does more than launch kernels on
//! its tensors cannot be recorded: what it allocates, copies or reads back may decide what it launches next.

use crate::checked::{CheckedDevice, Contents, Explanation, Placed, Step};
use crate::finding::Finding;
use crate::vm;
use cudart::device::{
    AccessedRange, Answer, Code, Device, Due, ErrorText, KernelInfo, Launch, Launched, Limit,
    MemoryInfo, OrderStep, Properties, Symbol,
};
use cudart::error::CudaError;
use cudart::frame::Bytes;
use cudart::images::{ArrayShape, ImageObjectDesc, Region};
use cudart::vm::VmDevice;
use ptxvm::Options;
use puzzle::case::CaseTensor;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The launches of a program in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The PTX of its modules.
    pub modules: Vec<String>,
    /// The launches, in the order in which the program started them.
    pub launches: Vec<RecordedLaunch>,
}

/// A launch, for any place of the tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedLaunch {
    /// The index of its module.
    pub module: usize,
    /// The kernel, grid and block. The parameters are those below.
    pub launch: Launch,
    /// The kernel's arguments, one for each parameter.
    pub params: Vec<RecordedParam>,
}

/// An argument of a recorded launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedParam {
    /// An address in a tensor: its index, and how many bytes behind its start.
    Address(usize, u64),
    /// Any other argument: the bytes of its value.
    Bytes(Vec<u8>),
}

/// What is known of a program so far.
#[derive(Debug, Default)]
struct Record {
    /// For each tensor: its address and its bytes.
    tensors: Vec<(u64, u64)>,
    /// The number of each module, and its PTX.
    modules: Vec<(u64, String)>,
    launches: Vec<Launch>,
    /// The first thing that it did besides.
    refused: Option<&'static str>,
}

/// A record that the device writes, and its owner reads.
#[derive(Clone, Debug, Default)]
pub struct SharedRecord(Arc<Mutex<Record>>);

/// The first address; every tensor is far from the others.
const FIRST: u64 = 1 << 40;
const APART: u64 = 1 << 34;

impl SharedRecord {
    fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The recording, or why there is none.
    pub fn recording(&self) -> Result<Recording, String> {
        let record = self.lock();
        if let Some(what) = record.refused {
            return Err(format!("its host code does more than launch kernels: {what}"));
        }
        let modules = record.modules.iter().map(|(_, ptx)| ptx.clone()).collect();
        let launches = record.launches.iter().map(|launch| recorded(&record, launch));
        Ok(Recording { modules, launches: launches.collect::<Result<_, _>>()? })
    }
}

fn recorded(record: &Record, launch: &Launch) -> Result<RecordedLaunch, String> {
    let module = record.modules.iter().position(|(number, _)| *number == launch.module);
    let module = module.ok_or("it launched a kernel of no module")?;
    let address = |bytes: &[u8]| {
        let value = u64::from_le_bytes(bytes.try_into().ok()?);
        let mut tensors = record.tensors.iter().enumerate();
        tensors.find_map(|(i, &(start, size))| {
            let offset = value.checked_sub(start)?;
            (offset <= size).then_some(RecordedParam::Address(i, offset))
        })
    };
    let param = |bytes: &Vec<u8>| match address(bytes) {
        Some(address) => Ok(address),
        None if bytes.len() > 8 && bytes.chunks(8).any(|word| address(word).is_some()) => {
            Err("it passes an address inside a structure".to_owned())
        }
        None => Ok(RecordedParam::Bytes(bytes.clone())),
    };
    let params = launch.params.iter().map(param).collect::<Result<_, _>>()?;
    Ok(RecordedLaunch { module, launch: launch.clone(), params })
}

/// A device that records launches. It has the tensors' addresses, but not their memory.
#[derive(Debug)]
pub struct Recorder {
    /// It knows modules and kernels.
    machine: VmDevice,
    /// The device that the program sees, where it is another.
    shown: Option<Properties>,
    record: SharedRecord,
}

impl Recorder {
    /// A device that shows these properties, or those of the virtual machine.
    pub fn new(shown: Option<Properties>, record: SharedRecord) -> Self {
        Self { machine: VmDevice::new(Options::default()), shown, record }
    }

    /// Notes that the program cannot be recorded.
    fn refuse<T>(&self, what: &'static str) -> Answer<T> {
        self.record.lock().refused.get_or_insert(what);
        Err(CudaError::INVALID_VALUE)
    }
}

impl CheckedDevice for Recorder {
    fn place(&mut self, tensor: &CaseTensor) -> Answer<u64> {
        let mut record = self.record.lock();
        let address = FIRST + APART * record.tensors.len() as u64;
        record.tensors.push((address, tensor.tensor.bytes() as u64));
        Ok(address)
    }

    fn contents(&mut self, tensor: &CaseTensor, _address: u64) -> Answer<Contents> {
        Ok(Contents::unknown(tensor))
    }

    fn findings(&mut self, _placed: &Placed<'_>) -> Vec<Finding> {
        Vec::new()
    }

    fn explain(&mut self, _step: Step<'_>, error: CudaError) -> Explanation {
        Err(vm::cannot_run(error))
    }

    fn log(&mut self) -> String {
        String::new()
    }

    fn clear(&mut self) -> bool {
        false
    }
}

impl Device for Recorder {
    fn properties(&mut self) -> Answer<Properties> {
        self.shown.clone().map_or_else(|| self.machine.properties(), Ok)
    }

    fn load(&mut self, code: Code<'_>) -> Answer<u64> {
        let module = self.machine.load(code)?;
        self.record.lock().modules.push((module, code.ptx.to_owned()));
        Ok(module)
    }

    fn load_error(&mut self) -> Answer<String> {
        self.machine.load_error()
    }

    fn unload(&mut self, module: u64) -> Answer<()> {
        self.machine.unload(module)
    }

    fn alloc(&mut self, _bytes: u64) -> Answer<u64> {
        self.refuse("it allocates memory of the device")
    }

    fn alloc_managed(&mut self, _bytes: u64) -> Answer<u64> {
        self.refuse("it allocates managed memory")
    }

    fn reserve(&mut self) -> Answer<u64> {
        self.refuse("it reserves addresses of the device")
    }

    fn resize(&mut self, _address: u64, _bytes: u64) -> Answer<()> {
        self.refuse("it maps memory of the device")
    }

    fn free(&mut self, _address: u64) -> Answer<()> {
        self.refuse("it frees memory of the device")
    }

    fn write(&mut self, _address: u64, _bytes: Bytes<&[u8]>) -> Answer<()> {
        self.refuse("it copies to the device")
    }

    fn read(&mut self, _address: u64, _bytes: u64) -> Answer<Bytes<Vec<u8>>> {
        self.refuse("it copies from the device")
    }

    fn fill(&mut self, _address: u64, _bytes: u64, _value: u8) -> Answer<()> {
        self.refuse("it fills memory of the device")
    }

    fn copy(&mut self, _to: u64, _from: u64, _bytes: u64) -> Answer<()> {
        self.refuse("it copies on the device")
    }

    fn symbol(&mut self, module: u64, name: &str) -> Answer<Symbol> {
        self.machine.symbol(module, name)
    }

    fn write_symbol(
        &mut self,
        _module: u64,
        _name: &str,
        _offset: u64,
        _bytes: Bytes<&[u8]>,
    ) -> Answer<()> {
        self.refuse("it fills a variable of the device")
    }

    fn read_symbol(
        &mut self,
        _module: u64,
        _name: &str,
        _offset: u64,
        _bytes: u64,
    ) -> Answer<Bytes<Vec<u8>>> {
        self.refuse("it reads a variable of the device")
    }

    fn kernel(&mut self, module: u64, name: &str) -> Answer<KernelInfo> {
        self.machine.kernel(module, name)
    }

    fn launch(&mut self, launch: Launch) -> Answer<Launched> {
        self.record.lock().launches.push(launch);
        let (printed, prints, followed) = (String::new(), false, false);
        Ok(Launched { clock: 0, fault: None, complete: true, printed, prints, followed })
    }

    fn create_array(&mut self, _shape: ArrayShape) -> Answer<u64> {
        self.refuse("it allocates an array of the device")
    }

    fn free_array(&mut self, _array: u64) -> Answer<()> {
        self.refuse("it frees an array of the device")
    }

    fn array_level(&mut self, _array: u64, _level: u32) -> Answer<u64> {
        self.refuse("it asks for a level of an array")
    }

    fn write_region(&mut self, _to: Region, _extent: [u64; 3], _bytes: Bytes<&[u8]>) -> Answer<()> {
        self.refuse("it copies to the device")
    }

    fn read_region(&mut self, _from: Region, _extent: [u64; 3]) -> Answer<Bytes<Vec<u8>>> {
        self.refuse("it copies from the device")
    }

    fn copy_region(&mut self, _to: Region, _from: Region, _extent: [u64; 3]) -> Answer<()> {
        self.refuse("it copies on the device")
    }

    fn create_image_object(&mut self, _object: ImageObjectDesc) -> Answer<u64> {
        self.refuse("it makes a texture or surface object")
    }

    fn destroy_image_object(&mut self, _handle: u64, _texture: bool) -> Answer<()> {
        self.refuse("it destroys a texture or surface object")
    }

    fn set_limit(&mut self, _limit: Limit, _value: u64) -> Answer<()> {
        self.refuse("it sets a limit of the device")
    }

    fn limit(&mut self, limit: Limit) -> Answer<u64> {
        self.machine.limit(limit)
    }

    /// Launches are recorded in the order in which they are issued.
    fn order(&mut self, _: Vec<OrderStep>) -> Answer<()> {
        Ok(())
    }

    fn pending(&mut self, _: Vec<u64>) -> Answer<Vec<AccessedRange>> {
        Ok(Vec::new())
    }

    fn due(&mut self, _: Due) -> Answer<Vec<u64>> {
        Ok(Vec::new())
    }

    fn not_started(&mut self, kernel: &str) -> Answer<()> {
        self.machine.not_started(kernel)
    }

    fn memory_info(&mut self) -> Answer<MemoryInfo> {
        self.machine.memory_info()
    }

    fn error_text(&mut self, error: CudaError) -> Answer<ErrorText> {
        self.machine.error_text(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_values() {
        let record = SharedRecord::default();
        record.lock().tensors = vec![(FIRST, 4096), (FIRST + APART, 16)];
        record.lock().modules = vec![(3, "ptx".to_owned())];
        let bytes = |value: u64| value.to_le_bytes().to_vec();
        let launch =
            |params| Launch { module: 3, kernel: "k".to_owned(), params, ..Launch::default() };
        let own = vec![bytes(FIRST + 128), bytes(FIRST + APART), bytes(77), vec![1, 0, 0, 0]];
        record.lock().launches = vec![launch(own)];
        let recorded = record.recording().unwrap();
        assert_eq!(
            recorded.launches[0].params,
            [
                RecordedParam::Address(0, 128),
                RecordedParam::Address(1, 0),
                RecordedParam::Bytes(bytes(77)),
                RecordedParam::Bytes(vec![1, 0, 0, 0]),
            ]
        );
        record.lock().launches = vec![launch(vec![[bytes(1), bytes(FIRST)].concat()])];
        assert_eq!(record.recording().unwrap_err(), "it passes an address inside a structure");
        let mut device = Recorder::new(None, record.clone());
        device.alloc(8).unwrap_err();
        device.read(FIRST, 8).unwrap_err();
        let why = record.recording().unwrap_err();
        assert!(why.ends_with("launch kernels: it allocates memory of the device"), "{why}");
    }
}
