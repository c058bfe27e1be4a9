//! The driver's linker: PTX of several files becomes one module.

use super::c::{put, string};
use super::libraries::{ErrorLog, image, image_of_file, load, unload};
use super::table::table;
use crate::client::{Client, Image, complain, enter};
use crate::device::Answer;
use crate::error::CudaError;
use crate::fatbin;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};

/// Defines `TABLE`, as [`table!`] does, and the addresses by name.
macro_rules! functions {
    ($($name:ident),* $(,)?) => {
        table![$($name),*];
        /// All of them, by name.
        pub(super) const FUNCTIONS: &[(&str, *const ())] = &[$((stringify!($name), $name as *const ())),*];
    };
}

functions![cuLinkCreate_v2, cuLinkAddData_v2, cuLinkAddFile_v2, cuLinkComplete, cuLinkDestroy];

/// What is linked. The program has its address as a handle.
struct Link {
    texts: Vec<String>,
    log: ErrorLog<'static>,
    /// The result, which the program may read until it destroys this.
    linked: CString,
}

/// Values of `CUjitInputType`: PTX, or a container of it.
const PTX: c_int = 1;
const CONTAINER: c_int = 2;
/// A library of NVIDIA's. Of these only the device runtime is known, which all modules have.
const LIBRARY: c_int = 4;

#[unsafe(no_mangle)]
unsafe extern "C" fn cuLinkCreate_v2(
    count: c_uint,
    options: *const c_int,
    values: *const *mut c_void,
    to: *mut *mut Link,
) -> u32 {
    enter(|_| {
        if to.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: the program says that so many options are there.
        let log = unsafe { ErrorLog::of(count, options, values) };
        let link = Link { texts: Vec::new(), log, linked: CString::default() };
        // SAFETY: not null; the program says it is the place of a handle.
        unsafe { put(to, Box::into_raw(Box::new(link))) }
    })
}

impl Link {
    /// Adds a part.
    fn add(&mut self, client: &mut Client, part: Image) -> Answer<()> {
        let (major, minor) = client.known_properties()?.capability;
        self.texts.push(match part {
            Image::Ptx(text) => text,
            Image::Container(bytes) => {
                fatbin::ptx(&bytes, major * 10 + minor).map_err(|_| CudaError::NO_KERNEL_IMAGE)?
            }
        });
        Ok(())
    }

    /// The parts as one text, which begins with the one for the newest architecture.
    fn text(&self) -> String {
        let mut parts: Vec<&str> = self.texts.iter().map(String::as_str).collect();
        parts.sort_by_key(|part| std::cmp::Reverse(fatbin::target(part)));
        let mut all = String::new();
        for (index, part) in parts.into_iter().enumerate() {
            let is_header = |line: &str| {
                [".version", ".target", ".address_size"].iter().any(|word| line.starts_with(word))
            };
            for line in part.trim_end_matches('\0').lines() {
                if index == 0 || !is_header(line.trim_start()) {
                    all.push_str(line);
                    all.push('\n');
                }
            }
        }
        all
    }
}

/// # Safety
/// `link` is null or a handle.
unsafe fn linking<'a>(link: *mut Link) -> Answer<&'a mut Link> {
    // SAFETY: by contract.
    unsafe { link.as_mut() }.ok_or(CudaError::INVALID_RESOURCE_HANDLE)
}

fn known(kind: c_int) -> Answer<()> {
    if matches!(kind, PTX | CONTAINER) {
        return Ok(());
    }
    complain("the virtual device links PTX and fat binaries alone");
    Err(CudaError::NOT_SUPPORTED)
}

/// Options of a single part change nothing.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuLinkAddData_v2(
    link: *mut Link,
    kind: c_int,
    data: *const c_void,
    _bytes: usize,
    _name: *const c_char,
    _count: c_uint,
    _options: *const c_int,
    _values: *const *mut c_void,
) -> u32 {
    enter(|client| {
        known(kind)?;
        // SAFETY: the program passes a handle, and code that ends by itself.
        let (link, part) = unsafe { (linking(link)?, image(data)) };
        link.add(client, part?)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuLinkAddFile_v2(
    link: *mut Link,
    kind: c_int,
    path: *const c_char,
    _count: c_uint,
    _options: *const c_int,
    _values: *const *mut c_void,
) -> u32 {
    enter(|client| {
        // SAFETY: the program passes a handle and a C string.
        let (link, path) = unsafe { (linking(link)?, string(path)) };
        if kind == LIBRARY && path.contains("cudadevrt") {
            return Ok(());
        }
        known(kind)?;
        let bytes = std::fs::read(path).map_err(|_| CudaError::FILE_NOT_FOUND)?;
        link.add(client, image_of_file(bytes)?)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuLinkComplete(
    link: *mut Link,
    to: *mut *const c_char,
    bytes: *mut usize,
) -> u32 {
    enter(|client| {
        // SAFETY: the program passes a handle.
        let link = unsafe { linking(link)? };
        let text = link.text();
        // What is wrong is said now.
        let loaded = load(client, Image::Ptx(text.clone()), &mut link.log)?;
        unload(client, loaded)?;
        link.linked = CString::new(text).map_err(|_| CudaError::INVALID_PTX)?;
        // SAFETY: null is refused; else the program says what they are.
        unsafe {
            put(bytes, link.linked.as_bytes_with_nul().len())?;
            put(to, link.linked.as_ptr())
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuLinkDestroy(link: *mut Link) -> u32 {
    enter(|_| {
        if link.is_null() {
            return Err(CudaError::INVALID_RESOURCE_HANDLE);
        }
        // SAFETY: a handle that `cuLinkCreate` gave, which the program does not use any more.
        drop(unsafe { Box::from_raw(link) });
        Ok(())
    })
}
