//! Clocks and throttling by NVIDIA's management library, loaded at run time. With `unsafe` code, and in the child process only.
#![allow(unsafe_code)]

use crate::outcome::Clocks;
use libloading::Library;
use std::ffi::{CString, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ptr;

const NAME: &str = "libnvidia-ml.so.1";

/// `NVML_CLOCK_SM` of nvml.h: the clock of the multiprocessors.
const SM: c_int = 1;

/// `nvmlClocksThrottleReason...` of nvml.h. That the GPU is idle is none.
const REASONS: [(u64, &str); 8] = [
    (0x2, "application clocks"),
    (0x4, "power limit"),
    (0x8, "hardware slowdown"),
    (0x10, "sync boost"),
    (0x20, "software thermal limit"),
    (0x40, "hardware thermal limit"),
    (0x80, "hardware power brake"),
    (0x100, "display clocks"),
];

type Device = *mut c_void;
type Init = unsafe extern "C" fn() -> c_int;
type ByUuid = unsafe extern "C" fn(*const c_char, *mut Device) -> c_int;
type Clock = unsafe extern "C" fn(Device, c_int, *mut c_uint) -> c_int;
type Throttle = unsafe extern "C" fn(Device, *mut c_ulonglong) -> c_int;

/// Watches a GPU's clock.
pub struct Nvml {
    library: Library,
    device: Device,
    seen: Clocks,
}

impl Nvml {
    /// Loads the library, and finds the GPU with this number.
    ///
    /// # Errors
    /// The library is not installed, or does not know the GPU.
    pub fn open(uuid: &str) -> Result<Self, String> {
        // SAFETY: loads a library of NVIDIA's and runs its start-up code.
        let library = unsafe { Library::new(NAME) }.map_err(|_| format!("{NAME} is missing"))?;
        let name = CString::new(uuid).unwrap_or_default();
        let mut device: Device = ptr::null_mut();
        let mut most = 0;
        // SAFETY: the signatures are those of nvml.h; the pointers live until the calls return.
        unsafe {
            let init = library.get::<Init>(b"nvmlInit_v2\0").map_err(|e| e.to_string())?;
            done("nvmlInit", init())?;
            let find = library.get::<ByUuid>(b"nvmlDeviceGetHandleByUUID\0");
            let found = find.map_err(|e| e.to_string())?(name.as_ptr(), &raw mut device);
            done("nvmlDeviceGetHandleByUUID", found)?;
            let clock = library.get::<Clock>(b"nvmlDeviceGetMaxClockInfo\0");
            let asked = clock.map_err(|e| e.to_string())?(device, SM, &raw mut most);
            done("nvmlDeviceGetMaxClockInfo", asked)?;
        }
        Ok(Self { library, device, seen: Clocks { sm: (u32::MAX, 0), most, ..Clocks::default() } })
    }

    /// Notes the clock of now. What NVML does not answer is left out.
    pub fn look(&mut self) {
        let (mut clock, mut reasons) = (0, 0);
        // SAFETY: as in `open`.
        let (has_clock, has_reasons) = unsafe {
            let get = self.library.get::<Clock>(b"nvmlDeviceGetClockInfo\0");
            let ask = self.library.get::<Throttle>(b"nvmlDeviceGetCurrentClocksThrottleReasons\0");
            (
                get.is_ok_and(|get| get(self.device, SM, &raw mut clock) == 0),
                ask.is_ok_and(|ask| ask(self.device, &raw mut reasons) == 0),
            )
        };
        if has_clock {
            let (low, high) = self.seen.sm;
            self.seen.sm = (low.min(clock), high.max(clock));
        }
        for (bit, name) in REASONS {
            if has_reasons && reasons & bit != 0 && !self.seen.throttled.iter().any(|n| n == name) {
                self.seen.throttled.push(name.to_owned());
            }
        }
    }

    /// What was noted.
    ///
    /// # Errors
    /// NVML told no clock.
    pub fn seen(self) -> Result<Clocks, String> {
        if self.seen.sm.1 == 0 { Err("NVML tells no clock".to_owned()) } else { Ok(self.seen) }
    }
}

fn done(what: &str, status: c_int) -> Result<(), String> {
    if status == 0 { Ok(()) } else { Err(format!("{what} answers with status {status}")) }
}
