//! Poolings of maxima.

use super::{Cudnn, Descriptor, Handle, data_type, done};
use crate::job::PoolJob;
use indexmath::DType;
use std::ffi::{c_int, c_void};
use std::ptr;

/// `CUDNN_POOLING_MAX` and `CUDNN_PROPAGATE_NAN`.
const MAX: [c_int; 2] = [0, 1];

type SetPooling = unsafe extern "C" fn(
    Descriptor,
    c_int,
    c_int,
    c_int,
    *const c_int,
    *const c_int,
    *const c_int,
) -> c_int;
type Forward = unsafe extern "C" fn(
    Handle,
    Descriptor,
    *const c_void,
    Descriptor,
    u64,
    *const c_void,
    Descriptor,
    u64,
) -> c_int;
type Backward = unsafe extern "C" fn(
    Handle,
    Descriptor,
    *const c_void,
    Descriptor,
    u64,
    Descriptor,
    u64,
    Descriptor,
    u64,
    *const c_void,
    Descriptor,
    u64,
) -> c_int;

/// A pooling that is ready to start.
pub struct Pooling {
    options: Descriptor,
    of_images: Descriptor,
    of_results: Descriptor,
}

impl Cudnn {
    /// Makes a pooling ready.
    ///
    /// # Errors
    /// The library refuses it.
    pub fn pooling(&self, of: &PoolJob, dtype: DType) -> Result<Pooling, String> {
        let data = data_type(dtype)?;
        let planes = |[planes, rows, columns]: [i32; 3]| {
            self.tensor(data, [planes, 1, rows, columns], false)
        };
        let [images, results] = of.sizes;
        let (of_images, of_results) = (planes(images)?, planes(results)?);
        let options = self.create(b"cudnnCreatePoolingDescriptor\0")?;
        let [window, pad, stride] = [of.window, of.pad, of.stride].map(|size| [size; 2]);
        let (window, pad, stride) = (window.as_ptr(), pad.as_ptr(), stride.as_ptr());
        let [mode, nan] = MAX;
        // SAFETY: the signature is that of cudnn_ops.h, and the arrays have two elements.
        unsafe {
            let set = self.get::<SetPooling>(b"cudnnSetPoolingNdDescriptor\0")?;
            let status = set(options, mode, nan, 2, window, pad, stride);
            done("cudnnSetPoolingNdDescriptor", status)?;
        }
        Ok(Pooling { options, of_images, of_results })
    }

    /// Starts the forward pass from the images to the results.
    ///
    /// # Errors
    /// The library refuses it.
    pub fn pool(&self, of: &Pooling, [x, y, ..]: [u64; 4]) -> Result<(), String> {
        let Pooling { options, of_images, of_results } = *of;
        let (one, zero) = (ptr::from_ref(&1.0_f32).cast(), ptr::from_ref(&0.0_f32).cast());
        // SAFETY: the signature is that of cudnn_ops.h; the tensors are as large as the descriptors say.
        unsafe {
            let forward = self.get::<Forward>(b"cudnnPoolingForward\0")?;
            let status = forward(self.handle, options, one, of_images, x, zero, of_results, y);
            done("cudnnPoolingForward", status)
        }
    }

    /// Starts the backward pass of images, results, and the gradients of both at these addresses.
    ///
    /// # Errors
    /// The library refuses it.
    pub fn pool_back(&self, of: &Pooling, [x, y, dy, dx]: [u64; 4]) -> Result<(), String> {
        let Pooling { options, of_images: images, of_results: results } = *of;
        let (one, zero) = (ptr::from_ref(&1.0_f32).cast(), ptr::from_ref(&0.0_f32).cast());
        let handle = self.handle;
        // SAFETY: the signature is that of cudnn_ops.h; the tensors are as large as the descriptors say.
        unsafe {
            let backward = self.get::<Backward>(b"cudnnPoolingBackward\0")?;
            let status = backward(
                handle, options, one, results, y, results, dy, images, x, zero, images, dx,
            );
            done("cudnnPoolingBackward", status)
        }
    }
}
