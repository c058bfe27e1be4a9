//! CUDA graphs that a program builds node by node, and questions about graphs.

use super::c::{Dim3, HandleValue, Kind, put, string, values};
use super::launch::{Asked, prepare};
use super::memory::{CopyForm, Fill, Sides, alloc, copy_in, copy_rows, fill_elements};
use super::table::table;
use crate::client::{Choice, Client, Graph, HostFunction, Work, enter};
use crate::device::Answer;
use crate::error::CudaError;
use std::collections::BTreeSet;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::fmt::Write;
use std::sync::Arc;

table![
    cudaGraphCreate,
    cudaGraphDestroy,
    cudaGraphClone,
    cudaGraphNodeFindInClone,
    cudaGraphAddNode,
    cudaGraphAddKernelNode,
    cudaGraphAddMemcpyNode,
    cudaGraphAddMemcpyNode1D,
    cudaGraphAddMemsetNode,
    cudaGraphAddHostNode,
    cudaGraphAddChildGraphNode,
    cudaGraphAddEmptyNode,
    cudaGraphAddEventRecordNode,
    cudaGraphAddEventWaitNode,
    cudaGraphAddMemAllocNode,
    cudaGraphAddMemFreeNode,
    cudaDeviceGraphMemTrim,
    cudaDeviceGetGraphMemAttribute,
    cudaGraphAddDependencies,
    cudaGraphRemoveDependencies,
    cudaGraphDestroyNode,
    cudaGraphGetNodes,
    cudaGraphGetRootNodes,
    cudaGraphGetEdges,
    cudaGraphNodeGetType,
    cudaGraphNodeGetDependencies,
    cudaGraphNodeGetDependentNodes,
    cudaGraphKernelNodeGetParams,
    cudaGraphKernelNodeSetParams,
    cudaGraphExecKernelNodeSetParams,
    cudaGraphMemcpyNodeSetParams,
    cudaGraphExecMemcpyNodeSetParams,
    cudaGraphMemcpyNodeSetParams1D,
    cudaGraphExecMemcpyNodeSetParams1D,
    cudaGraphMemsetNodeSetParams,
    cudaGraphExecMemsetNodeSetParams,
    cudaGraphHostNodeGetParams,
    cudaGraphHostNodeSetParams,
    cudaGraphExecHostNodeSetParams,
    cudaGraphNodeSetEnabled,
    cudaGraphNodeGetEnabled,
    cudaGraphDebugDotPrint,
];

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphCreate(to: *mut HandleValue, flags: c_uint) -> u32 {
    enter(|client| {
        if to.is_null() || flags != 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        let graph = client.new_graph(Graph::default());
        // SAFETY: not null; the program says it is a graph.
        unsafe { put(to, graph) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaGraphDestroy(graph: HandleValue) -> u32 {
    enter(|client| client.destroy_graph(graph))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphClone(to: *mut HandleValue, graph: HandleValue) -> u32 {
    enter(|client| {
        let original = client.graphs.graph(graph)?.clone();
        let (copy, nodes) = client.copied(&original)?;
        let clone = client.new_graph(copy);
        client.graphs.copies.extend(nodes.into_iter().map(|(old, new)| ((clone, old), new)));
        // SAFETY: null is refused; else the program says it is a graph.
        unsafe { put(to, clone) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphNodeFindInClone(
    to: *mut HandleValue,
    original: HandleValue,
    clone: HandleValue,
) -> u32 {
    enter(|client| {
        let node = client.graphs.copies.get(&(clone, original)).copied();
        // SAFETY: null is refused; else the program says it is a node.
        unsafe { put(to, node.ok_or(CudaError::INVALID_VALUE)?) }
    })
}

/// Adds a node whose work `make` describes.
///
/// # Safety
/// `to` is null or may be written, and `after` points to so many nodes.
unsafe fn add(
    to: *mut HandleValue,
    graph: HandleValue,
    (after, count): (*const HandleValue, usize),
    make: impl FnOnce(&mut Client) -> Answer<Work>,
) -> u32 {
    enter(|client| {
        if to.is_null() || (after.is_null() && count > 0) {
            return Err(CudaError::INVALID_VALUE);
        }
        let work = make(client)?;
        // SAFETY: the same contract.
        let after = unsafe { values(after, count) };
        let node = client.add_node(graph, after.into_iter().collect(), work)?;
        // SAFETY: not null; the program says it is a node.
        unsafe { put(to, node) }
    })
}

/// The C types `cudaKernelNodeParams` and `cudaKernelNodeParamsV2`.
#[repr(C)]
#[derive(Clone, Copy)]
struct KernelParams {
    function: *const c_void,
    grid: Dim3,
    block: Dim3,
    shared: c_uint,
    args: *const *const c_void,
    extra: *const *const c_void,
}

impl KernelParams {
    /// # Safety
    /// As for `prepare`.
    unsafe fn work(self, client: &mut Client) -> Answer<Work> {
        let Self { function, grid, block, shared, args, .. } = self;
        let shared = shared as usize;
        let (cooperative, cluster) = (false, None);
        let asked = Asked { host: function, grid, block, args, shared, cooperative, cluster };
        // SAFETY: the same contract.
        let launch = unsafe { prepare(client, &asked)? };
        Ok(Work::Kernel { host: function as usize, launch })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphAddKernelNode(
    to: *mut HandleValue,
    graph: HandleValue,
    after: *const HandleValue,
    count: usize,
    params: *const KernelParams,
) -> u32 {
    // SAFETY: the program says that they are what CUDA asks for.
    unsafe { add(to, graph, (after, count), |client| given(params)?.work(client)) }
}

/// What a pointer of the program points to, unless it is null.
///
/// # Safety
/// It is null, or valid for reads.
unsafe fn given<T: Copy>(from: *const T) -> Answer<T> {
    // SAFETY: the same contract.
    unsafe { from.as_ref() }.copied().ok_or(CudaError::INVALID_VALUE)
}

/// The C type `cudaPos`, and `cudaExtent`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Triple {
    x: usize,
    y: usize,
    z: usize,
}

/// The C type `cudaPitchedPtr`.
#[repr(C)]
#[derive(Clone, Copy)]
struct PitchedPointer {
    start: u64,
    pitch: usize,
    width: usize,
    height: usize,
}

/// The C type `cudaMemcpy3DParms`.
#[repr(C)]
#[derive(Clone, Copy)]
struct CopyParams {
    from_array: u64,
    from_position: Triple,
    from: PitchedPointer,
    to_array: u64,
    to_position: Triple,
    to: PitchedPointer,
    extent: Triple,
    kind: Kind,
}

impl CopyParams {
    /// The copy of memory, slice by slice.
    fn work(self) -> Answer<Work> {
        if self.from_array != 0 || self.to_array != 0 {
            return Err(CudaError::NOT_SUPPORTED);
        }
        let place = |pointer: PitchedPointer, position: Triple, slice: usize| {
            let rows = (position.z + slice) * pointer.height + position.y;
            pointer.start + (rows * pointer.pitch + position.x) as u64
        };
        let sides = move |slice| Sides {
            to: place(self.to, self.to_position, slice),
            to_pitch: self.to.pitch,
            from: place(self.from, self.from_position, slice),
            from_pitch: self.from.pitch,
        };
        let Triple { x: width, y: height, z: depth } = self.extent;
        let call = ("a memcpy node", CopyForm::Asynchronous);
        Ok(Work::Copy(Arc::new(move |client, stream| {
            (0..depth).try_for_each(|slice| {
                // SAFETY: the program says that so many bytes are there, until the last launch of the graph.
                unsafe { copy_rows(client, call, stream, sides(slice), (width, height), self.kind) }
            })
        })))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphAddMemcpyNode(
    to: *mut HandleValue,
    graph: HandleValue,
    after: *const HandleValue,
    count: usize,
    params: *const CopyParams,
) -> u32 {
    // SAFETY: the program says that they are what CUDA asks for.
    unsafe { add(to, graph, (after, count), |_| given(params)?.work()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphAddMemcpyNode1D(
    node: *mut HandleValue,
    graph: HandleValue,
    after: *const HandleValue,
    count: usize,
    to: u64,
    from: u64,
    bytes: usize,
    kind: Kind,
) -> u32 {
    // SAFETY: the program says that they are what CUDA asks for.
    unsafe { add(node, graph, (after, count), |_| Ok(copy_of_bytes(to, from, bytes, kind))) }
}

/// A copy of bytes that are there until the last launch of the graph.
fn copy_of_bytes(to: u64, from: u64, bytes: usize, kind: Kind) -> Work {
    let call = ("a memcpy node", CopyForm::Asynchronous);
    Work::Copy(Arc::new(move |client, stream| {
        // SAFETY: the program says so.
        unsafe { copy_in(client, call, stream, (to, from, bytes, kind)) }
    }))
}

/// The C types `cudaMemsetParams` and `cudaMemsetParamsV2`.
#[repr(C)]
#[derive(Clone, Copy)]
struct FillParams {
    to: u64,
    pitch: usize,
    value: c_uint,
    element: c_uint,
    width: usize,
    height: usize,
}

impl FillParams {
    fn work(self) -> Answer<Work> {
        let Self { to, pitch, value, element, width, height } = self;
        if ![1, 2, 4].contains(&element) {
            return Err(CudaError::INVALID_VALUE);
        }
        let fill = Fill { address: to, pitch, value, element: element as usize, width, height };
        Ok(Work::Fill(Arc::new(move |client, stream| {
            // SAFETY: the program says that there is room, until the last launch of the graph.
            unsafe { fill_elements(client, "a memset node", stream, fill) }
        })))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphAddMemsetNode(
    to: *mut HandleValue,
    graph: HandleValue,
    after: *const HandleValue,
    count: usize,
    params: *const FillParams,
) -> u32 {
    // SAFETY: the program says that they are what CUDA asks for.
    unsafe { add(to, graph, (after, count), |_| given(params)?.work()) }
}

/// The C types `cudaHostNodeParams` and `cudaHostNodeParamsV2`.
#[repr(C)]
#[derive(Clone, Copy)]
struct HostParams {
    function: Option<HostFunction>,
    data: usize,
}

impl HostParams {
    fn work(self) -> Answer<Work> {
        let function = self.function.ok_or(CudaError::INVALID_VALUE)?;
        Ok(Work::Host(function, self.data))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphAddHostNode(
    to: *mut HandleValue,
    graph: HandleValue,
    after: *const HandleValue,
    count: usize,
    params: *const HostParams,
) -> u32 {
    // SAFETY: the program says that they are what CUDA asks for.
    unsafe { add(to, graph, (after, count), |_| given(params)?.work()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphAddChildGraphNode(
    to: *mut HandleValue,
    graph: HandleValue,
    after: *const HandleValue,
    count: usize,
    child: HandleValue,
) -> u32 {
    // SAFETY: the program says that they are what CUDA asks for.
    unsafe {
        add(to, graph, (after, count), |client| {
            Ok(Work::Child(client.graphs.graph(child)?.clone()))
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphAddEmptyNode(
    to: *mut HandleValue,
    graph: HandleValue,
    after: *const HandleValue,
    count: usize,
) -> u32 {
    // SAFETY: the program says that they are what CUDA asks for.
    unsafe { add(to, graph, (after, count), |_| Ok(Work::Empty)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphAddEventRecordNode(
    to: *mut HandleValue,
    graph: HandleValue,
    after: *const HandleValue,
    count: usize,
    event: HandleValue,
) -> u32 {
    // SAFETY: the program says that they are what CUDA asks for.
    unsafe { add(to, graph, (after, count), |_| Ok(Work::Record(event))) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphAddEventWaitNode(
    to: *mut HandleValue,
    graph: HandleValue,
    after: *const HandleValue,
    count: usize,
    event: HandleValue,
) -> u32 {
    // SAFETY: the program says that they are what CUDA asks for.
    unsafe { add(to, graph, (after, count), |_| Ok(Work::Wait(event))) }
}

/// The C types `cudaMemAllocNodeParams` and `cudaMemAllocNodeParamsV2`.
#[repr(C)]
struct AllocationParams {
    pool: [u64; 11],
    access: *const c_void,
    access_count: usize,
    bytes: usize,
    address: u64,
}

impl AllocationParams {
    /// Allocates the memory. It has an address from here on, and not only once the node runs.
    fn work(&mut self, client: &mut Client) -> Answer<Work> {
        if self.bytes == 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        self.address = alloc(client, self.bytes as u64)?;
        client.graphs.memory.insert(self.address);
        Ok(Work::Allocate(self.address))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphAddMemAllocNode(
    to: *mut HandleValue,
    graph: HandleValue,
    after: *const HandleValue,
    count: usize,
    params: *mut AllocationParams,
) -> u32 {
    // SAFETY: the program says that they are what CUDA asks for.
    unsafe {
        add(to, graph, (after, count), |client| {
            params.as_mut().ok_or(CudaError::INVALID_VALUE)?.work(client)
        })
    }
}

/// The work of a node that frees memory of a graph.
fn free_work(client: &Client, address: u64) -> Answer<Work> {
    let is_there = client.graphs.memory.contains(&address);
    is_there.then_some(Work::Free(address)).ok_or(CudaError::INVALID_VALUE)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphAddMemFreeNode(
    to: *mut HandleValue,
    graph: HandleValue,
    after: *const HandleValue,
    count: usize,
    address: u64,
) -> u32 {
    // SAFETY: the program says that they are what CUDA asks for.
    unsafe { add(to, graph, (after, count), |client| free_work(client, address)) }
}

/// Memory of graphs stays where it is, so that there is nothing to trim.
#[unsafe(no_mangle)]
extern "C" fn cudaDeviceGraphMemTrim(device: c_int) -> u32 {
    enter(|_| if device == 0 { Ok(()) } else { Err(CudaError::INVALID_DEVICE) })
}

/// Attributes of the memory of graphs: used now and at most, reserved now and at most. They are the same here.
const MEMORY_ATTRIBUTES: c_uint = 4;

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetGraphMemAttribute(
    device: c_int,
    attribute: c_uint,
    to: *mut u64,
) -> u32 {
    enter(|client| {
        if device != 0 {
            return Err(CudaError::INVALID_DEVICE);
        }
        if attribute >= MEMORY_ATTRIBUTES {
            return Err(CudaError::INVALID_VALUE);
        }
        let memory = client.graphs.memory.iter();
        let bytes = memory.filter_map(|address| client.allocations.get(address)).sum();
        // SAFETY: null is refused; else the program says it is a number.
        unsafe { put(to, bytes) }
    })
}

/// The C type `cudaGraphNodeParams`: the kind, and the parameters of one of them.
#[repr(C)]
struct NodeParams {
    kind: c_uint,
    reserved: [c_int; 3],
    params: [u64; 29],
    reserved_2: u64,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphAddNode(
    to: *mut HandleValue,
    graph: HandleValue,
    after: *const HandleValue,
    _edges: *const c_void,
    count: usize,
    params: *mut NodeParams,
) -> u32 {
    if params.is_null() {
        return enter(|_| Err(CudaError::INVALID_VALUE));
    }
    // SAFETY: not null; the program says that it is such a structure, and of the kind that it names.
    unsafe {
        let kind = (*params).kind;
        let inner = (&raw mut (*params).params).cast::<u64>().cast_const();
        if kind == CONDITIONAL {
            let params = (&raw mut (*params).params).cast();
            return add_conditional(to, graph, (after, count), params);
        }
        add(to, graph, (after, count), |client| match kind {
            0 => given(inner.cast::<KernelParams>())?.work(client),
            // The parameters of the copy follow flags of 16 bytes.
            1 => given(inner.add(2).cast::<CopyParams>())?.work(),
            2 => given(inner.cast::<FillParams>())?.work(),
            3 => given(inner.cast::<HostParams>())?.work(),
            4 => Ok(Work::Child(client.graphs.graph(*inner)?.clone())),
            5 => Ok(Work::Empty),
            6 => Ok(Work::Wait(*inner)),
            7 => Ok(Work::Record(*inner)),
            10 => (*inner.cast_mut().cast::<AllocationParams>()).work(client),
            11 => free_work(client, *inner),
            _ => Err(CudaError::NOT_SUPPORTED),
        })
    }
}

/// `cudaGraphNodeTypeConditional`.
const CONDITIONAL: c_uint = 13;

/// The C type `cudaConditionalNodeParams`.
#[repr(C)]
struct ConditionalParams {
    condition: u64,
    kind: c_uint,
    graphs: c_uint,
    bodies: *const HandleValue,
}

/// Graphs of one node, at most: more is a mistake of the caller.
const MAX_BODIES: c_uint = 1 << 16;

/// # Safety
/// `to` is null or may be written, `after` points to so many nodes, and `params` may be read and written.
unsafe fn add_conditional(
    to: *mut HandleValue,
    graph: HandleValue,
    (after, count): (*const HandleValue, usize),
    params: *mut ConditionalParams,
) -> u32 {
    enter(|client| {
        if to.is_null() || (after.is_null() && count > 0) {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: the same contract.
        let (after, &ConditionalParams { condition, kind, graphs, .. }) =
            unsafe { (values(after, count), &*params) };
        let choice = Choice::of(kind, graphs).filter(|_| graphs <= MAX_BODIES);
        let asked = (condition, choice.ok_or(CudaError::INVALID_VALUE)?, graphs);
        let (node, bodies) = client.add_conditional(graph, after.into_iter().collect(), asked)?;
        // SAFETY: the same contract.
        unsafe {
            (*params).bodies = bodies;
            put(to, node)
        }
    })
}

/// Changes edges of a graph, each by `change`.
///
/// # Safety
/// `from` and `to` point to so many nodes.
unsafe fn change_edges(
    graph: HandleValue,
    (from, to, count): (*const HandleValue, *const HandleValue, usize),
    change: impl Fn(&mut BTreeSet<u64>, u64) -> bool,
) -> u32 {
    enter(|client| {
        // SAFETY: the same contract.
        let (from, to) = unsafe { (values(from, count), values(to, count)) };
        let graph = client.graphs.graph(graph)?;
        let mut changed = graph.clone();
        for (from, to) in from.into_iter().zip(to) {
            let known = changed.0.contains_key(&from);
            let node = changed.0.get_mut(&to).filter(|_| known).ok_or(CudaError::INVALID_VALUE)?;
            if !change(&mut node.after, from) {
                return Err(CudaError::INVALID_VALUE);
            }
        }
        if !changed.is_acyclic() {
            return Err(CudaError::INVALID_VALUE);
        }
        *graph = changed;
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphAddDependencies(
    graph: HandleValue,
    from: *const HandleValue,
    to: *const HandleValue,
    _edges: *const c_void,
    count: usize,
) -> u32 {
    // SAFETY: the program says that so many nodes are there.
    unsafe { change_edges(graph, (from, to, count), BTreeSet::insert) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphRemoveDependencies(
    graph: HandleValue,
    from: *const HandleValue,
    to: *const HandleValue,
    _edges: *const c_void,
    count: usize,
) -> u32 {
    // SAFETY: the program says that so many nodes are there.
    unsafe { change_edges(graph, (from, to, count), |after, from| after.remove(&from)) }
}

#[unsafe(no_mangle)]
extern "C" fn cudaGraphDestroyNode(node: HandleValue) -> u32 {
    enter(|client| {
        let graph = client.graphs.graph_of(node)?;
        graph.0.remove(&node);
        for other in graph.0.values_mut() {
            other.after.remove(&node);
        }
        Ok(())
    })
}

/// Stores as many values as there is room for, and 0 behind them; how many there are, if nothing is to be stored.
///
/// # Safety
/// `count` is null or valid, and `to` is null or has room for so many.
unsafe fn list(all: &[u64], to: *mut u64, count: *mut usize) -> Answer<()> {
    if count.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: the same contract.
    unsafe {
        if to.is_null() {
            return put(count, all.len());
        }
        let room = *count;
        for index in 0..room {
            put(to.add(index), all.get(index).copied().unwrap_or(0))?;
        }
        put(count, all.len().min(room))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphGetNodes(
    graph: HandleValue,
    to: *mut HandleValue,
    count: *mut usize,
) -> u32 {
    enter(|client| {
        let nodes: Vec<u64> = client.graphs.graph(graph)?.0.keys().copied().collect();
        // SAFETY: the program says what they point to.
        unsafe { list(&nodes, to, count) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphGetRootNodes(
    graph: HandleValue,
    to: *mut HandleValue,
    count: *mut usize,
) -> u32 {
    enter(|client| {
        let graph = client.graphs.graph(graph)?;
        let roots = graph.0.iter().filter(|(_, node)| node.after.is_empty());
        let roots: Vec<u64> = roots.map(|(&handle, _)| handle).collect();
        // SAFETY: the program says what they point to.
        unsafe { list(&roots, to, count) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphGetEdges(
    graph: HandleValue,
    from: *mut HandleValue,
    to: *mut HandleValue,
    _edges: *mut c_void,
    count: *mut usize,
) -> u32 {
    enter(|client| {
        let (starts, ends): (Vec<u64>, Vec<u64>) = client.graphs.graph(graph)?.edges().unzip();
        if from.is_null() != to.is_null() || count.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: the program says what they point to.
        unsafe {
            let mut room = *count;
            list(&starts, from, &raw mut room)?;
            list(&ends, to, count)
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphNodeGetType(node: HandleValue, to: *mut c_uint) -> u32 {
    enter(|client| {
        let kind = client.graphs.graph_of(node)?.0[&node].work.node_type();
        // SAFETY: null is refused; else the program says it is a kind.
        unsafe { put(to, kind) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphNodeGetDependencies(
    node: HandleValue,
    to: *mut HandleValue,
    _edges: *mut c_void,
    count: *mut usize,
) -> u32 {
    enter(|client| {
        let after = &client.graphs.graph_of(node)?.0[&node].after;
        let after: Vec<u64> = after.iter().copied().collect();
        // SAFETY: the program says what they point to.
        unsafe { list(&after, to, count) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphNodeGetDependentNodes(
    node: HandleValue,
    to: *mut HandleValue,
    _edges: *mut c_void,
    count: *mut usize,
) -> u32 {
    enter(|client| {
        let edges = client.graphs.graph_of(node)?.edges();
        let later: Vec<u64> = edges.filter(|&(from, _)| from == node).map(|(_, to)| to).collect();
        // SAFETY: the program says what they point to.
        unsafe { list(&later, to, count) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphKernelNodeGetParams(node: HandleValue, to: *mut KernelParams) -> u32 {
    enter(|client| {
        let Work::Kernel { host, launch } = client.graphs.graph_of(node)?.0[&node].work.clone()
        else {
            return Err(CudaError::INVALID_VALUE);
        };
        let dim = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
        let params = KernelParams {
            function: host as *const c_void,
            grid: dim(launch.grid),
            block: dim(launch.block),
            shared: launch.shared,
            args: client.graphs.show_arguments(node, launch.params) as *const *const c_void,
            extra: std::ptr::null(),
        };
        // SAFETY: null is refused; else the program says it is such a structure.
        unsafe { put(to, params) }
    })
}

/// Each entry: the functions that give other parameters to a node of a graph, and to one of a graph that can be launched; their type, and
/// the work that becomes of them.
macro_rules! setters {
    ($($of_node:ident, $of_executable:ident: $params:ty, |$client:ident, $given:ident| $work:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $of_node(node: HandleValue, params: *const $params) -> u32 {
            enter(|$client| {
                // SAFETY: the program says that they are what CUDA asks for.
                let work = unsafe {
                    let $given = given(params)?;
                    $work?
                };
                $client.graphs.set_work(node, work)
            })
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $of_executable(
            executable: HandleValue,
            node: HandleValue,
            params: *const $params,
        ) -> u32 {
            enter(|$client| {
                // SAFETY: the program says that they are what CUDA asks for.
                let work = unsafe {
                    let $given = given(params)?;
                    $work?
                };
                $client.graphs.set_step(executable, node, work)
            })
        }
    )*};
}

setters! {
    cudaGraphKernelNodeSetParams, cudaGraphExecKernelNodeSetParams: KernelParams, |client, params| params.work(client);
    cudaGraphMemcpyNodeSetParams, cudaGraphExecMemcpyNodeSetParams: CopyParams, |client, params| params.work();
    cudaGraphMemsetNodeSetParams, cudaGraphExecMemsetNodeSetParams: FillParams, |client, params| params.work();
    cudaGraphHostNodeSetParams, cudaGraphExecHostNodeSetParams: HostParams, |client, params| params.work();
}

#[unsafe(no_mangle)]
extern "C" fn cudaGraphMemcpyNodeSetParams1D(
    node: HandleValue,
    to: u64,
    from: u64,
    bytes: usize,
    kind: Kind,
) -> u32 {
    enter(|client| client.graphs.set_work(node, copy_of_bytes(to, from, bytes, kind)))
}

#[unsafe(no_mangle)]
extern "C" fn cudaGraphExecMemcpyNodeSetParams1D(
    executable: HandleValue,
    node: HandleValue,
    to: u64,
    from: u64,
    bytes: usize,
    kind: Kind,
) -> u32 {
    enter(|client| client.graphs.set_step(executable, node, copy_of_bytes(to, from, bytes, kind)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphHostNodeGetParams(node: HandleValue, to: *mut HostParams) -> u32 {
    enter(|client| {
        let Work::Host(function, data) = client.graphs.graph_of(node)?.0[&node].work else {
            return Err(CudaError::INVALID_VALUE);
        };
        // SAFETY: null is refused; else the program says it is such a structure.
        unsafe { put(to, HostParams { function: Some(function), data }) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaGraphNodeSetEnabled(
    executable: HandleValue,
    node: HandleValue,
    enabled: c_uint,
) -> u32 {
    enter(|client| {
        *client.graphs.enabled(executable, node)? = enabled != 0;
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphNodeGetEnabled(
    executable: HandleValue,
    node: HandleValue,
    to: *mut c_uint,
) -> u32 {
    enter(|client| {
        let enabled = *client.graphs.enabled(executable, node)?;
        // SAFETY: null is refused; else the program says it is an unsigned int.
        unsafe { put(to, enabled.into()) }
    })
}

/// Writes a drawing of the graph in the language DOT: its nodes by number and kind, and its edges.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGraphDebugDotPrint(
    graph: HandleValue,
    path: *const c_char,
    _flags: c_uint,
) -> u32 {
    enter(|client| {
        let graph = client.graphs.graph(graph)?;
        let mut text = String::from("digraph dot {\n");
        let numbers: Vec<u64> = graph.0.keys().copied().collect();
        let number = |node: u64| numbers.iter().position(|&other| other == node).unwrap_or(0);
        for (&handle, node) in &graph.0 {
            let label = match &node.work {
                Work::Kernel { launch, .. } => launch.kernel.clone(),
                Work::Copy(_) => "MEMCPY".into(),
                Work::Fill(_) => "MEMSET".into(),
                Work::Host(..) => "HOST".into(),
                Work::Empty => "EMPTY".into(),
                Work::Child(_) => "CHILD_GRAPH".into(),
                Work::Allocate(_) => "MEM_ALLOC".into(),
                Work::Free(_) => "MEM_FREE".into(),
                Work::Record(_) => "EVENT_RECORD".into(),
                Work::Wait(_) => "EVENT_WAIT".into(),
                Work::Conditional(_) => "CONDITIONAL".into(),
            };
            // Writing into a string cannot fail, here and below.
            let _ = writeln!(text, "  node_{} [label=\"{label}\"];", number(handle));
        }
        for (from, to) in graph.edges() {
            let _ = writeln!(text, "  node_{} -> node_{};", number(from), number(to));
        }
        text.push_str("}\n");
        // SAFETY: the program passes a C string.
        let path = unsafe { string(path) };
        std::fs::write(path, text).map_err(|_| CudaError::OPERATING_SYSTEM)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_have_the_sizes_of_cuda_13() {
        assert_eq!(size_of::<KernelParams>(), 56);
        assert_eq!(size_of::<CopyParams>(), 160);
        assert_eq!(size_of::<FillParams>(), 40);
        assert_eq!(size_of::<NodeParams>(), 256);
        assert_eq!(size_of::<AllocationParams>(), 120);
        assert_eq!(size_of::<ConditionalParams>(), 24);
    }
}
