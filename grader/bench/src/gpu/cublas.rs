//! NVIDIA's cuBLAS, loaded at run time where it is installed. With `unsafe` code, and in the child process only.
#![allow(unsafe_code)]

use crate::job::GemmJob;
use indexmath::DType;
use libloading::Library;
use std::ffi::{c_int, c_void};
use std::ptr;

/// Names under which the library is found, newest first.
const NAMES: [&str; 4] = ["libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"];

/// `cublasGemmAlgo_t`: the library chooses.
const ALGORITHM: c_int = -1;

type Handle = *mut c_void;
type Create = unsafe extern "C" fn(*mut Handle) -> c_int;
type SetStream = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;
type GetVersion = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type GemmEx = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    u64,
    c_int,
    c_int,
    u64,
    c_int,
    c_int,
    *const c_void,
    u64,
    c_int,
    c_int,
    c_int,
    c_int,
) -> c_int;

/// The library with a handle of it.
pub struct Cublas {
    library: Library,
    handle: Handle,
    /// The name of the library and its version.
    pub description: String,
}

impl Cublas {
    /// Loads the library, whose products then run on `stream`.
    ///
    /// # Errors
    /// It is not installed, or does not start.
    pub fn open(stream: *mut c_void) -> Result<Self, String> {
        // SAFETY: loads a library of NVIDIA's and runs its start-up code.
        let library = NAMES.iter().find_map(|name| unsafe { Library::new(*name) }.ok());
        let library = library.ok_or("cuBLAS is not installed (libcublas.so)")?;
        let mut handle: Handle = ptr::null_mut();
        let mut version = 0;
        // SAFETY: the signatures are those of cublas_api.h; the pointers live until the calls return.
        unsafe {
            let create = library.get::<Create>(b"cublasCreate_v2\0").map_err(|e| e.to_string())?;
            done("cublasCreate", create(&raw mut handle))?;
            let set = library.get::<SetStream>(b"cublasSetStream_v2\0");
            done("cublasSetStream", set.map_err(|e| e.to_string())?(handle, stream))?;
            let get = library.get::<GetVersion>(b"cublasGetVersion_v2\0");
            done("cublasGetVersion", get.map_err(|e| e.to_string())?(handle, &raw mut version))?;
        }
        let (major, minor) = (version / 10_000, version % 10_000 / 100);
        Ok(Self { library, handle, description: format!("cuBLAS {major}.{minor}") })
    }

    /// Starts a product of matrices at these addresses, of these types. It accumulates in f32, without TF32, or in f64.
    ///
    /// # Errors
    /// The library refuses it.
    pub fn gemm(
        &self,
        of: &GemmJob,
        addresses: [u64; 3],
        [factor, product]: [DType; 2],
    ) -> Result<(), String> {
        let [rows, columns, terms] = of.sizes;
        let [left, right, product_at] = addresses;
        let [a_transposed, b_transposed] = of.transposed.map(c_int::from);
        // A row-major matrix is a transposed one for the library, so it computes c^T = b^T a^T.
        let lead_a = if of.transposed[0] { rows } else { terms };
        let lead_b = if of.transposed[1] { terms } else { columns };
        let (one, zero) = (1.0_f32, 0.0_f32);
        let (one_wide, zero_wide) = (1.0_f64, 0.0_f64);
        let wide = factor == DType::F64;
        let pointer = |narrow: &f32, of_wide: &f64| -> *const c_void {
            if wide { ptr::from_ref(of_wide).cast() } else { ptr::from_ref(narrow).cast() }
        };
        // CUBLAS_COMPUTE_64F and CUBLAS_COMPUTE_32F.
        let compute = if wide { 70 } else { 68 };
        let (factor, product) = (data_type(factor), data_type(product));
        // SAFETY: the signature is that of cublas_api.h, and the matrices are as large as their tensors.
        unsafe {
            let gemm = self.library.get::<GemmEx>(b"cublasGemmEx\0").map_err(|e| e.to_string())?;
            let status = gemm(
                self.handle,
                b_transposed,
                a_transposed,
                columns,
                rows,
                terms,
                pointer(&one, &one_wide),
                right,
                factor,
                lead_b,
                left,
                factor,
                lead_a,
                pointer(&zero, &zero_wide),
                product_at,
                product,
                columns,
                compute,
                ALGORITHM,
            );
            done("cublasGemmEx", status)
        }
    }
}

/// `cudaDataType` of an element type.
fn data_type(dtype: DType) -> c_int {
    match dtype {
        DType::F32 | DType::I32 | DType::I64 | DType::U8 => 0,
        DType::F64 => 1,
        DType::F16 => 2,
        DType::BF16 => 14,
    }
}

fn done(what: &str, status: c_int) -> Result<(), String> {
    if status == 0 { Ok(()) } else { Err(format!("{what} answers with status {status}")) }
}
