//! Launches, and functions about kernels.

use super::c::{Dim3, put};
use super::streams::meant;
use super::table::table;
use crate::client::{Client, Work, complain, enter, registry};
use crate::device::{Device, KernelInfo, Launch};
use crate::error::CudaError;
use crate::names::source_name;
use hardware::{MAX_BLOCK, MAX_GRID, MAX_THREADS, Multiprocessor, SHARED_WITHOUT_OPT_IN};
use std::ffi::{CString, c_char, c_int, c_uint, c_void};

table![
    cudaLaunchKernel,
    __cudaLaunchKernel,
    cudaLaunchCooperativeKernel,
    cudaLaunchKernelExC,
    cudaFuncGetName,
    cudaFuncSetAttribute,
    cudaFuncGetAttributes,
    cudaFuncSetCacheConfig,
    cudaFuncSetSharedMemConfig,
    cudaOccupancyMaxActiveBlocksPerMultiprocessor,
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
    cudaOccupancyAvailableDynamicSMemPerBlock,
    cudaOccupancyMaxActiveClusters,
    cudaOccupancyMaxPotentialClusterSize,
];

/// A kernel that the program names by the address of its host function.
struct Named {
    module: u64,
    name: String,
    info: KernelInfo,
    opted_in: u32,
    large_clusters: bool,
}

impl Named {
    /// The static and dynamic shared memory that a block may have.
    fn most_shared(&self) -> u64 {
        let (own, opted_in) = (u64::from(self.info.shared), u64::from(self.opted_in));
        u64::from(SHARED_WITHOUT_OPT_IN).max(own + opted_in)
    }
}

fn find(client: &mut Client, host: *const c_void) -> Result<Named, CudaError> {
    if host.is_null() {
        return Err(CudaError::INVALID_DEVICE_FUNCTION);
    }
    let function = registry().functions.get(&(host as usize)).cloned();
    // As an H200 says of an address that is no kernel, though the documentation has `cudaErrorInvalidDeviceFunction`.
    let function = function.ok_or(CudaError::INVALID_RESOURCE_HANDLE)?;
    let module = client.module(function.module)?;
    let name = function.name;
    let info = client.kernel(module, &name)?;
    let (opted_in, large_clusters) = (function.opted_in, function.large_clusters);
    Ok(Named { module, name, info, opted_in, large_clusters })
}

/// The size of each parameter of a kernel, and where each begins in a buffer of all, if known.
pub(super) fn parameters(
    client: &mut Client,
    host: *const c_void,
) -> Result<(Vec<u32>, Option<Vec<u32>>), CudaError> {
    let info = find(client, host)?.info;
    Ok((info.params, info.param_starts))
}

fn multiprocessor(client: &mut Client) -> Result<Multiprocessor, CudaError> {
    Ok(Multiprocessor::of(client.known_properties()?.capability))
}

/// Which size of a grid or block that cannot start is impossible, in words.
fn why_not(grid: [u32; 3], block: [u32; 3]) -> String {
    let ([_, _, z], [x, _, most]) = (MAX_BLOCK, MAX_GRID);
    let threads = block.iter().fold(1u64, |all, &size| all.saturating_mul(size.into()));
    if grid.contains(&0) {
        "a grid has at least 1 block along each axis".into()
    } else if block.contains(&0) {
        "a block has at least 1 thread along each axis".into()
    } else if threads > u64::from(MAX_THREADS) {
        format!("a block has at most {MAX_THREADS} threads")
    } else {
        format!(
            "a block has at most {z} threads in z, and a grid {x} blocks in x and {most} in y and in z"
        )
    }
}

/// What a launch is asked for.
pub(super) struct Asked {
    /// The kernel, by the address of its host function.
    pub host: *const c_void,
    pub grid: Dim3,
    pub block: Dim3,
    pub args: *const *const c_void,
    pub shared: usize,
    pub cooperative: bool,
    /// Blocks of a cluster in x, y and z, if the launch says so.
    pub cluster: Option<[u32; 3]>,
}

/// Checks a launch, and takes its arguments.
///
/// # Safety
/// `args` points to as many pointers as the kernel has parameters, each to a value of the parameter's size.
pub(super) unsafe fn prepare(client: &mut Client, asked: &Asked) -> Result<Launch, CudaError> {
    let &Asked { host, grid, block, args, shared, cooperative, cluster } = asked;
    let kernel = find(client, host)?;
    if let Some(cluster) = cluster {
        let grid = [grid.x, grid.y, grid.z];
        let most = if kernel.large_clusters { MOST_BLOCKS } else { PORTABLE_BLOCKS };
        let blocks = cluster.iter().fold(1u64, |all, &size| all.saturating_mul(size.into()));
        let divides = (0..3).all(|axis| grid[axis].checked_rem(cluster[axis]) == Some(0));
        if blocks > most || !divides {
            client.not_started(&kernel.name)?;
            return Err(CudaError::INVALID_CLUSTER_SIZE);
        }
    }
    if let Some(refusal) = &kernel.info.refusal {
        let name = source_name(&kernel.name);
        complain(&format!("{name} cannot run on the virtual device: {refusal}"));
        client.not_started(&kernel.name)?;
        return Err(CudaError::NOT_SUPPORTED);
    }
    if !hardware::can_launch([grid.x, grid.y, grid.z], [block.x, block.y, block.z]) {
        // "invalid argument" alone would not say which one.
        complain(&format!(
            "a launch of {} x {} x {} blocks of {} x {} x {} threads cannot start: {}",
            grid.x,
            grid.y,
            grid.z,
            block.x,
            block.y,
            block.z,
            why_not([grid.x, grid.y, grid.z], [block.x, block.y, block.z])
        ));
        client.not_started(&kernel.name)?;
        return Err(CudaError::INVALID_VALUE);
    }
    let threads = block.x * block.y * block.z;
    if threads > kernel.info.max_threads {
        complain(&format!(
            "a launch of {} with blocks of {threads} threads cannot start: its launch bounds allow {}",
            source_name(&kernel.name),
            kernel.info.max_threads
        ));
        client.not_started(&kernel.name)?;
        // As an H200 says.
        return Err(CudaError::INVALID_VALUE);
    }
    let shared = shared as u64;
    let own = u64::from(kernel.info.shared);
    if own.saturating_add(shared) > kernel.most_shared() {
        client.not_started(&kernel.name)?;
        let too_large = CudaError::COOPERATIVE_LAUNCH_TOO_LARGE;
        return Err(if cooperative { too_large } else { CudaError::INVALID_VALUE });
    }
    let mut params = Vec::new();
    for (index, &size) in kernel.info.params.iter().enumerate() {
        // SAFETY: nvcc's code passes a pointer to each argument; see above.
        let value = unsafe {
            let at = *args.add(index);
            std::slice::from_raw_parts(at.cast::<u8>(), size as usize)
        };
        params.push(value.to_vec());
    }
    Ok(Launch {
        module: kernel.module,
        kernel: kernel.name,
        grid: [grid.x, grid.y, grid.z],
        block: [block.x, block.y, block.z],
        shared: shared as u32,
        cooperative,
        cluster,
        params,
        stream: 0,
    })
}

/// # Safety
/// As for `prepare`.
pub(super) unsafe fn launch(asked: &Asked, stream: u64) -> u32 {
    enter(|client| {
        let stream = meant(client, stream)?;
        // SAFETY: the same contract.
        let launch = unsafe { prepare(client, asked)? };
        if client.has_failed() {
            return Ok(());
        }
        let work = Work::Kernel { host: asked.host as usize, launch };
        client.issue_later(stream, "a launch", Vec::new(), work)
    })
}

/// Entry points that take a launch apart. `cooperative`: the blocks may wait for each other.
macro_rules! launches {
    ($($name:ident cooperative: $cooperative:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            host: *const c_void,
            grid: Dim3,
            block: Dim3,
            args: *const *const c_void,
            shared: usize,
            stream: u64,
        ) -> u32 {
            let (cooperative, cluster) = ($cooperative, None);
            let asked = Asked { host, grid, block, args, shared, cooperative, cluster };
            // SAFETY: as for `launch`. What `__cudaGetKernel` gives is the address of the kernel's host side too.
            unsafe { launch(&asked, stream) }
        }
    )*};
}

launches! {
    cudaLaunchKernel cooperative: false;
    __cudaLaunchKernel cooperative: false;
    cudaLaunchCooperativeKernel cooperative: true;
}

/// The C type `cudaLaunchConfig_t`.
#[repr(C)]
struct Config {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: u64,
    attributes: *const Attribute,
    count: c_uint,
}

/// The C type `cudaLaunchAttribute`: a value of 64 bytes, after an identifier padded to 8.
#[repr(C)]
struct Attribute {
    id: c_uint,
    padding: [u8; 4],
    value: [u8; 64],
}

const ATTRIBUTE_COOPERATIVE: c_uint = 2;
const ATTRIBUTE_CLUSTER: c_uint = 4;

/// Blocks of a cluster that every device takes, and those that a kernel may have which asks for more (CUDA C++ Programming Guide,
/// "Thread Block Clusters").
const PORTABLE_BLOCKS: u64 = 8;
const MOST_BLOCKS: u64 = 16;

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaLaunchKernelExC(
    config: *const Config,
    host: *const c_void,
    args: *const *const c_void,
) -> u32 {
    if config.is_null() {
        return enter(|_| Err(CudaError::INVALID_VALUE));
    }
    // SAFETY: not null, and the program says it is a configuration with so many attributes.
    unsafe {
        let (asked, stream) = (*config).read(host, args);
        launch(&asked, stream)
    }
}

impl Config {
    /// What is asked for, and the stream.
    ///
    /// # Safety
    /// There are so many attributes.
    unsafe fn read(&self, host: *const c_void, args: *const *const c_void) -> (Asked, u64) {
        let &Self { grid, block, shared, stream, attributes, count } = self;
        let (mut cooperative, mut cluster) = (false, None);
        for index in 0..count as usize {
            // SAFETY: by contract.
            let attribute = unsafe { &*attributes.add(index) };
            match attribute.id {
                ATTRIBUTE_COOPERATIVE => cooperative = attribute.value[0] != 0,
                ATTRIBUTE_CLUSTER => {
                    let of = |axis: usize| attribute.value.as_chunks::<4>().0[axis];
                    cluster = Some([of(0), of(1), of(2)].map(u32::from_ne_bytes));
                }
                // The others only affect speed.
                _ => {}
            }
        }
        (Asked { host, grid, block, args, shared, cooperative, cluster }, stream)
    }
}

/// The kernel's name in the PTX, as C++ encodes it.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaFuncGetName(to: *mut *const c_char, host: *const c_void) -> u32 {
    enter(|client| {
        let name = find(client, host)?.name;
        let name = CString::new(name).map_err(|_| CudaError::INVALID_VALUE)?;
        // The program keeps the pointer.
        let name = client.names.entry(host as usize).or_insert(name).as_ptr();
        // SAFETY: null is refused; else the program says it is a pointer to a string.
        unsafe { put(to, name) }
    })
}

const MAX_DYNAMIC_SHARED_SIZE: c_int = 8;
const PREFERRED_CARVEOUT: c_int = 9;
const NON_PORTABLE_CLUSTERS: c_int = 14;

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaFuncSetAttribute(
    host: *const c_void,
    attribute: c_int,
    value: c_int,
) -> u32 {
    enter(|client| {
        let kernel = find(client, host)?;
        match attribute {
            MAX_DYNAMIC_SHARED_SIZE => {
                let bytes = u32::try_from(value).map_err(|_| CudaError::INVALID_VALUE)?;
                let most = multiprocessor(client)?.block_shared();
                if u64::from(bytes) + u64::from(kernel.info.shared) > u64::from(most) {
                    return Err(CudaError::INVALID_VALUE);
                }
                if let Some(function) = registry().functions.get_mut(&(host as usize)) {
                    function.opted_in = bytes;
                }
                Ok(())
            }
            PREFERRED_CARVEOUT if (-1..=100).contains(&value) => Ok(()),
            NON_PORTABLE_CLUSTERS if (0..=1).contains(&value) => {
                if let Some(function) = registry().functions.get_mut(&(host as usize)) {
                    function.large_clusters = value == 1;
                }
                Ok(())
            }
            _ => Err(CudaError::INVALID_VALUE),
        }
    })
}

/// The C type `cudaFuncAttributes` of CUDA 13.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    shared: usize,
    constant: usize,
    local: usize,
    max_threads: c_int,
    registers: c_int,
    ptx_version: c_int,
    binary_version: c_int,
    cache_mode: c_int,
    max_dynamic_shared: c_int,
    preferred_carveout: c_int,
    clusters: [c_int; 6],
    reserved: [c_int; 16],
}

/// The attributes of a kernel.
fn attributes(client: &mut Client, host: *const c_void) -> Result<Attributes, CudaError> {
    let kernel = find(client, host)?;
    let (major, minor) = client.known_properties()?.capability;
    let dynamic = if kernel.opted_in > 0 {
        kernel.opted_in
    } else {
        SHARED_WITHOUT_OPT_IN.saturating_sub(kernel.info.shared)
    };
    Ok(Attributes {
        shared: kernel.info.shared as usize,
        constant: kernel.info.constant as usize,
        max_threads: kernel.info.max_threads as c_int,
        registers: kernel.info.registers as c_int,
        ptx_version: kernel.info.ptx_version as c_int,
        binary_version: (major * 10 + minor) as c_int,
        max_dynamic_shared: dynamic as c_int,
        preferred_carveout: -1,
        // `clusterDimMustBeSet` and the size that is required.
        clusters: kernel
            .info
            .cluster
            .map_or([0; 6], |[x, y, z]| [1, x as c_int, y as c_int, z as c_int, 0, 0]),
        ..Attributes::default()
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaFuncGetAttributes(to: *mut Attributes, host: *const c_void) -> u32 {
    enter(|client| {
        let attributes = attributes(client, host)?;
        // SAFETY: null is refused; else the program says that it is such a structure.
        unsafe { put(to, attributes) }
    })
}

/// The same in the order of the driver's numbers for them (`CUfunction_attribute`), the first ten.
pub(super) fn function_attributes(
    client: &mut Client,
    host: *const c_void,
) -> Result<[c_int; 10], CudaError> {
    let all = attributes(client, host)?;
    let [shared, constant, local] =
        [all.shared, all.constant, all.local].map(|bytes| bytes as c_int);
    Ok([
        all.max_threads,
        shared,
        constant,
        local,
        all.registers,
        all.ptx_version,
        all.binary_version,
        all.cache_mode,
        all.max_dynamic_shared,
        all.preferred_carveout,
    ])
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cudaFuncSetCacheConfig(host: *const c_void, _config: c_int) -> u32 {
    enter(|client| find(client, host).map(|_| ()))
}

#[unsafe(no_mangle)]
extern "C" fn cudaFuncSetSharedMemConfig(host: *const c_void, _config: c_int) -> u32 {
    enter(|client| find(client, host).map(|_| ()))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    to: *mut c_int,
    host: *const c_void,
    block: c_int,
    shared: usize,
) -> u32 {
    // SAFETY: as for the other.
    unsafe { cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(to, host, block, shared, 0) }
}

/// Blocks that fit on a multiprocessor, by threads and shared memory; the machine has no registers to run out of.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    to: *mut c_int,
    host: *const c_void,
    block: c_int,
    shared: usize,
    _flags: c_uint,
) -> u32 {
    enter(|client| {
        let kernel = find(client, host)?;
        let threads = u32::try_from(block).ok().filter(|&threads| threads > 0);
        let threads = threads.ok_or(CudaError::INVALID_VALUE)?;
        let bytes = u64::from(kernel.info.shared).saturating_add(shared as u64);
        let resident =
            multiprocessor(client)?.resident_blocks(threads, bytes.min(u64::from(u32::MAX)));
        // What a launch could not have (see `prepare`) does not fit once.
        let blocks = if bytes > kernel.most_shared() { 0 } else { resident };
        // SAFETY: null is refused; else the program says it is an int.
        unsafe { put(to, blocks as c_int) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaOccupancyAvailableDynamicSMemPerBlock(
    to: *mut usize,
    host: *const c_void,
    blocks: c_int,
    _block: c_int,
) -> u32 {
    enter(|client| {
        let kernel = find(client, host)?;
        let blocks = u64::try_from(blocks).ok().filter(|&blocks| blocks > 0);
        let multiprocessor = multiprocessor(client)?;
        let each = u64::from(multiprocessor.shared) / blocks.ok_or(CudaError::INVALID_VALUE)?;
        let own = u64::from(kernel.info.shared) + u64::from(multiprocessor.reserved);
        // More than that a launch gets only if the program has opted in.
        let allowed = kernel.most_shared().saturating_sub(kernel.info.shared.into());
        let left = each.saturating_sub(own).min(allowed);
        // SAFETY: null is refused; else the program says it is a size.
        unsafe { put(to, left as usize) }
    })
}

/// Clusters that the device has room for at once, by threads and shared memory.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaOccupancyMaxActiveClusters(
    to: *mut c_int,
    host: *const c_void,
    config: *const Config,
) -> u32 {
    enter(|client| {
        if config.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        let kernel = find(client, host)?;
        // SAFETY: not null, and the program says it is a configuration.
        let (asked, _) = unsafe { (*config).read(host, std::ptr::null()) };
        let Dim3 { x, y, z } = asked.block;
        let threads = x.saturating_mul(y).saturating_mul(z);
        let bytes = u64::from(kernel.info.shared).saturating_add(asked.shared as u64);
        let multiprocessors = u64::from(client.known_properties()?.multiprocessors);
        let resident =
            multiprocessor(client)?.resident_blocks(threads, bytes.min(u64::from(u32::MAX)));
        let room = multiprocessors * u64::from(resident);
        let clusters = match asked.cluster {
            Some(cluster) => {
                let blocks =
                    cluster.iter().fold(1u64, |all, &size| all.saturating_mul(size.into()));
                room.checked_div(blocks).ok_or(CudaError::INVALID_CLUSTER_SIZE)?
            }
            // As an H200 says.
            None => 0,
        };
        // SAFETY: null is refused; else the program says it is an int.
        unsafe { put(to, clusters as c_int) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaOccupancyMaxPotentialClusterSize(
    to: *mut c_int,
    host: *const c_void,
    _config: *const Config,
) -> u32 {
    enter(|client| {
        let kernel = find(client, host)?;
        let most = if kernel.large_clusters { MOST_BLOCKS } else { PORTABLE_BLOCKS };
        // SAFETY: null is refused; else the program says it is an int.
        unsafe { put(to, most as c_int) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_have_the_sizes_of_cuda_13() {
        assert_eq!(size_of::<Attributes>(), 144);
        assert_eq!(size_of::<Attribute>(), 72);
    }
}
