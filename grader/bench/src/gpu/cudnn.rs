//! NVIDIA's cuDNN, loaded at run time where it is installed. With `unsafe` code, and in the child process only.
//! `cudnn/pooling.rs` has the poolings.
//!
//! Convolutions run in the library's classic interface, by the first algorithm of its own choice that adds up the products of
//! the formula: those of Winograd and Fourier round otherwise, and pass no bound of a sum.
#![allow(unsafe_code)]

mod pooling;

pub use pooling::Pooling;

use crate::job::ConvJob;
use indexmath::DType;
use libloading::Library;
use std::env;
use std::ffi::{c_float, c_int, c_void};
use std::path::PathBuf;
use std::ptr;

/// The name of the library.
const NAME: &str = "libcudnn.so.9";

/// `CUDNN_CROSS_CORRELATION`: filters are not turned.
const CROSS_CORRELATION: c_int = 1;
/// `CUDNN_DATA_FLOAT`: the type of all sums.
const FLOAT: c_int = 0;
/// Algorithms that the library is asked for.
const ALGORITHMS: usize = 8;

type Handle = *mut c_void;
type Descriptor = *mut c_void;
type Create = unsafe extern "C" fn(*mut Handle) -> c_int;
type SetStream = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;
type GetVersion = unsafe extern "C" fn() -> usize;
type SetTensor =
    unsafe extern "C" fn(Descriptor, c_int, c_int, *const c_int, *const c_int) -> c_int;
type SetFilter = unsafe extern "C" fn(Descriptor, c_int, c_int, c_int, *const c_int) -> c_int;
type SetConvolution = unsafe extern "C" fn(
    Descriptor,
    c_int,
    *const c_int,
    *const c_int,
    *const c_int,
    c_int,
    c_int,
) -> c_int;
type SetMathType = unsafe extern "C" fn(Descriptor, c_int) -> c_int;
type Choose = unsafe extern "C" fn(
    Handle,
    Descriptor,
    Descriptor,
    Descriptor,
    Descriptor,
    c_int,
    *mut c_int,
    *mut Algorithm,
) -> c_int;
/// All three passes have two operands, with a descriptor each, and a result.
type Compute = unsafe extern "C" fn(
    Handle,
    *const c_void,
    Descriptor,
    u64,
    Descriptor,
    u64,
    Descriptor,
    c_int,
    u64,
    usize,
    *const c_void,
    Descriptor,
    u64,
) -> c_int;
type AddTensor = unsafe extern "C" fn(
    Handle,
    *const c_void,
    Descriptor,
    u64,
    *const c_void,
    Descriptor,
    u64,
) -> c_int;

/// `cudnnConvolutionFwdAlgoPerf_t`, and those of the other passes, which are alike.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Algorithm {
    number: c_int,
    status: c_int,
    time: c_float,
    memory: usize,
    determinism: c_int,
    math: c_int,
    reserved: [c_int; 3],
}

/// How a pass is called, by the position of what it computes among images, filters and results.
struct PassNames {
    choose: &'static [u8],
    compute: &'static [u8],
    /// The algorithms of Winograd and Fourier.
    other_sums: &'static [c_int],
}

const PASSES: [PassNames; 3] = [
    PassNames {
        choose: b"cudnnGetConvolutionBackwardDataAlgorithm_v7\0",
        compute: b"cudnnConvolutionBackwardData\0",
        other_sums: &[2, 3, 4, 5],
    },
    PassNames {
        choose: b"cudnnGetConvolutionBackwardFilterAlgorithm_v7\0",
        compute: b"cudnnConvolutionBackwardFilter\0",
        other_sums: &[2, 4, 5, 6],
    },
    PassNames {
        choose: b"cudnnGetConvolutionForwardAlgorithm_v7\0",
        compute: b"cudnnConvolutionForward\0",
        other_sums: &[4, 5, 6, 7],
    },
];

/// The library with a handle of it.
pub struct Cudnn {
    library: Library,
    handle: Handle,
    /// The name of the library and its version.
    pub description: String,
}

/// A pass that is ready to start.
pub struct Convolution {
    /// The index of the pass in [`PASSES`].
    computed: usize,
    /// Of images, filters and results.
    descriptors: [Descriptor; 3],
    of_bias: Descriptor,
    options: Descriptor,
    algorithm: c_int,
    workspace: u64,
    workspace_bytes: usize,
}

impl Cudnn {
    /// Loads the library, whose work then runs on `stream`.
    ///
    /// # Errors
    /// It is not installed, or does not start.
    pub fn open(stream: *mut c_void) -> Result<Self, String> {
        let folder = env::var_os("CUDNN_PATH").map(PathBuf::from);
        let folders = folder.iter().flat_map(|path| [path.join("lib"), path.join("lib64")]);
        let mut files = folders.map(|folder| folder.join(NAME)).chain([PathBuf::from(NAME)]);
        // SAFETY: loads a library of NVIDIA's and runs its start-up code.
        let library = files.find_map(|file| unsafe { Library::new(file) }.ok());
        let library = library.ok_or_else(|| {
            format!("cuDNN is not installed ({NAME}); if Python has it, set CUDNN_PATH to its folder nvidia/cudnn")
        })?;
        let mut handle: Handle = ptr::null_mut();
        // SAFETY: the signatures are those of cudnn_ops.h; the pointers live until the calls return.
        let version = unsafe {
            let create = library.get::<Create>(b"cudnnCreate\0").map_err(|e| e.to_string())?;
            done("cudnnCreate", create(&raw mut handle))?;
            let set = library.get::<SetStream>(b"cudnnSetStream\0").map_err(|e| e.to_string())?;
            done("cudnnSetStream", set(handle, stream))?;
            library.get::<GetVersion>(b"cudnnGetVersion\0").map_err(|e| e.to_string())?()
        };
        let description = format!("cuDNN {}.{}", version / 10_000, version % 10_000 / 100);
        Ok(Self { library, handle, description })
    }

    /// Makes a pass ready; `room` takes memory for it.
    ///
    /// # Errors
    /// The library refuses it, or has no algorithm.
    pub fn convolution(
        &self,
        of: &ConvJob,
        dtype: DType,
        room: impl Fn(usize) -> Result<u64, String>,
    ) -> Result<Convolution, String> {
        let data = data_type(dtype)?;
        let math = if dtype == DType::F32 { FMA_MATH } else { TENSOR_OP_MATH };
        let [images, filters, results] = of.sizes;
        let descriptors = [
            self.tensor(data, images, of.channels_last)?,
            self.filters(data, filters, of.channels_last)?,
            self.tensor(data, results, of.channels_last)?,
        ];
        let of_bias = self.tensor(data, [1, results[1], 1, 1], of.channels_last)?;
        let options = self.create(b"cudnnCreateConvolutionDescriptor\0")?;
        let (pad, ones) = ([of.pad; 2], [1; 2]);
        let PassNames { choose, other_sums, .. } = &PASSES[of.computed];
        let [x, w, y] = descriptors;
        // In the order of the functions: the operands, then the convolution, then the result.
        let [first, second, result] = operands(of.computed, [x, w, y]);
        let mut found = [Algorithm::default(); ALGORITHMS];
        let mut count = 0;
        // SAFETY: the signatures are those of cudnn_cnn.h, and the arrays have the lengths that are told.
        unsafe {
            let set = self.get::<SetConvolution>(b"cudnnSetConvolutionNdDescriptor\0")?;
            let (pad, ones) = (pad.as_ptr(), ones.as_ptr());
            let status = set(options, 2, pad, ones, ones, CROSS_CORRELATION, FLOAT);
            done("cudnnSetConvolutionNdDescriptor", status)?;
            let set = self.get::<SetMathType>(b"cudnnSetConvolutionMathType\0")?;
            done("cudnnSetConvolutionMathType", set(options, math))?;
            let choose = self.get::<Choose>(choose)?;
            let (most, found) = (ALGORITHMS as c_int, found.as_mut_ptr());
            let status =
                choose(self.handle, first, second, options, result, most, &raw mut count, found);
            done("the choice of an algorithm", status)?;
        }
        let mut found = found.iter().take(usize::try_from(count).unwrap_or(0));
        let fits = |found: &&Algorithm| found.status == 0 && !other_sums.contains(&found.number);
        let Algorithm { number, memory, .. } = *found
            .find(fits)
            .ok_or("cuDNN has no algorithm that adds up the formula's products")?;
        Ok(Convolution {
            computed: of.computed,
            descriptors,
            of_bias,
            options,
            algorithm: number,
            workspace: room(memory)?,
            workspace_bytes: memory,
        })
    }

    /// Starts a pass with images, filters and results at these addresses.
    ///
    /// # Errors
    /// The library refuses it.
    pub fn start(
        &self,
        of: &Convolution,
        addresses: [u64; 3],
        bias: Option<u64>,
    ) -> Result<(), String> {
        let [first, second, result] = operands(of.computed, of.descriptors);
        let [first_at, second_at, result_at] = operands(of.computed, addresses);
        let (one, zero) = (1.0_f32, 0.0_f32);
        let (one, zero) = (ptr::from_ref(&one).cast(), ptr::from_ref(&zero).cast());
        // SAFETY: the signatures are those of cudnn_cnn.h and cudnn_ops.h; the tensors are as large as the descriptors say.
        unsafe {
            let compute = self.get::<Compute>(PASSES[of.computed].compute)?;
            let status = compute(
                self.handle,
                one,
                first,
                first_at,
                second,
                second_at,
                of.options,
                of.algorithm,
                of.workspace,
                of.workspace_bytes,
                zero,
                result,
                result_at,
            );
            done("the convolution", status)?;
            if let Some(bias) = bias {
                let add = self.get::<AddTensor>(b"cudnnAddTensor\0")?;
                let status = add(self.handle, one, of.of_bias, bias, one, result, result_at);
                done("cudnnAddTensor", status)?;
            }
        }
        Ok(())
    }

    /// A function of the library.
    ///
    /// # Safety
    /// It must have this type.
    unsafe fn get<T>(&self, name: &[u8]) -> Result<libloading::Symbol<'_, T>, String> {
        // SAFETY: the caller knows its type.
        unsafe { self.library.get::<T>(name) }.map_err(|error| error.to_string())
    }

    fn create(&self, name: &[u8]) -> Result<Descriptor, String> {
        let mut descriptor = ptr::null_mut();
        // SAFETY: all functions that create a descriptor have this signature.
        let status = unsafe { self.get::<Create>(name)?(&raw mut descriptor) };
        done("a descriptor", status)?;
        Ok(descriptor)
    }

    /// The descriptor of images or results.
    fn tensor(&self, data: c_int, sizes: [i32; 4], last: bool) -> Result<Descriptor, String> {
        let [_, c, h, w] = sizes;
        let strides = if last { [h * w * c, 1, w * c, c] } else { [c * h * w, h * w, w, 1] };
        let descriptor = self.create(b"cudnnCreateTensorDescriptor\0")?;
        // SAFETY: the signature is that of cudnn_ops.h, and both arrays have four elements.
        unsafe {
            let set = self.get::<SetTensor>(b"cudnnSetTensorNdDescriptor\0")?;
            let status = set(descriptor, data, 4, sizes.as_ptr(), strides.as_ptr());
            done("cudnnSetTensorNdDescriptor", status)?;
        }
        Ok(descriptor)
    }

    fn filters(&self, data: c_int, sizes: [i32; 4], last: bool) -> Result<Descriptor, String> {
        let descriptor = self.create(b"cudnnCreateFilterDescriptor\0")?;
        // SAFETY: the signature is that of cudnn_ops.h, and the array has four elements.
        unsafe {
            let set = self.get::<SetFilter>(b"cudnnSetFilterNdDescriptor\0")?;
            let status = set(descriptor, data, c_int::from(last), 4, sizes.as_ptr());
            done("cudnnSetFilterNdDescriptor", status)?;
        }
        Ok(descriptor)
    }
}

/// `CUDNN_TENSOR_OP_MATH`: products on tensor cores.
const TENSOR_OP_MATH: c_int = 1;
/// `CUDNN_FMA_MATH`: products as precise as their type, and not as TF32.
const FMA_MATH: c_int = 3;

/// Images, filters and results in the order in which a function takes them: what it computes is the last.
fn operands<T>(computed: usize, [x, w, y]: [T; 3]) -> [T; 3] {
    match computed {
        0 => [w, y, x],
        1 => [x, y, w],
        _ => [x, w, y],
    }
}

/// `cudnnDataType_t` of an element type.
fn data_type(dtype: DType) -> Result<c_int, String> {
    match dtype {
        DType::F32 => Ok(FLOAT),
        DType::F16 => Ok(2),
        DType::BF16 => Ok(9),
        DType::F64 | DType::I32 | DType::I64 | DType::U8 => {
            Err(format!("nothing in {dtype} is asked of cuDNN"))
        }
    }
}

fn done(what: &str, status: c_int) -> Result<(), String> {
    if status == 0 { Ok(()) } else { Err(format!("{what}: cuDNN answers with status {status}")) }
}
