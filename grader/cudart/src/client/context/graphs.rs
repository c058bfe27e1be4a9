//! CUDA graphs: work that was captured from streams, to be launched again and again.
//!
//! A graph keeps its work in the order in which the program issued it, which is one of the orders that its dependences allow.

use super::{Client, Handle};
use crate::device::Answer;
use crate::error::CudaError;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;
use std::sync::Arc;

/// The C type `cudaHostFn_t`.
pub(crate) type HostFunction = extern "C" fn(data: *mut c_void);

/// What a launch of a graph has the device do.
pub(crate) type DeviceWork = Arc<dyn Fn(&mut Client) -> Answer<()> + Send + Sync>;

/// One piece of the work of a graph.
#[derive(Clone)]
pub(crate) enum Node {
    /// Work of the device: a launch, a copy, a fill.
    Device(DeviceWork),
    /// A function of the program, and the address that it is given.
    Host(HostFunction, usize),
}

/// The graphs that exist, and the streams that capture some.
#[derive(Default)]
pub(crate) struct Graphs {
    /// The work of each graph, by handle.
    nodes: BTreeMap<u64, Vec<Node>>,
    /// The graph that each capturing stream adds to, and the streams that began.
    capturing: BTreeMap<u64, u64>,
    origins: BTreeMap<u64, u64>,
    /// The graph that each event was recorded in.
    recorded: BTreeMap<u64, u64>,
    /// The graphs whose capture a forbidden call has spoilt.
    spoilt: BTreeSet<u64>,
}

impl Graphs {
    /// Whether a stream captures.
    pub fn is_capturing(&self, stream: u64) -> bool {
        self.capturing.contains_key(&stream)
    }

    /// Adds to the graph that a stream captures. False if it captures none.
    ///
    /// # Errors
    /// A capture that is spoilt.
    pub fn capture(&mut self, stream: u64, nodes: impl IntoIterator<Item = Node>) -> Answer<bool> {
        let Some(graph) = self.capturing.get(&stream) else { return Ok(false) };
        if self.spoilt.contains(graph) {
            return Err(CudaError::STREAM_CAPTURE_INVALIDATED);
        }
        self.nodes.entry(*graph).or_default().extend(nodes);
        Ok(true)
    }

    /// Refuses to wait for a stream that captures, or to ask whether it is done: nothing of it runs. This spoils the capture
    /// in every mode (CUDA Programming Guide, "Prohibited and Unhandled Operations").
    ///
    /// # Errors
    /// A stream that captures.
    pub fn check_stream(&mut self, stream: u64) -> Answer<()> {
        let graph = self.capturing.get(&stream).copied();
        self.spoil(graph)
    }

    /// As [`Self::check_stream`], for an event that was recorded in a capture.
    ///
    /// # Errors
    /// An event of a capture.
    pub fn check_event(&mut self, event: u64) -> Answer<()> {
        let graph = self.recorded.get(&event).copied();
        self.spoil(graph).map_err(|_| CudaError::CAPTURED_EVENT)
    }

    /// As [`Self::check_stream`], for the whole device: no stream may capture.
    ///
    /// # Errors
    /// A stream that captures.
    pub fn check_device(&mut self) -> Answer<()> {
        let graphs: Vec<u64> = self.origins.values().copied().collect();
        self.spoil(graphs)
    }

    /// Spoils the captures of some graphs.
    ///
    /// # Errors
    /// If there are any.
    fn spoil(&mut self, graphs: impl IntoIterator<Item = u64>) -> Answer<()> {
        let mut graphs = graphs.into_iter().peekable();
        if graphs.peek().is_none() {
            return Ok(());
        }
        self.spoilt.extend(graphs);
        Err(CudaError::STREAM_CAPTURE_UNSUPPORTED)
    }

    /// An event is recorded: in the graph that the stream captures, if there is one.
    pub fn record(&mut self, event: u64, stream: u64) {
        match self.capturing.get(&stream) {
            Some(&graph) => self.recorded.insert(event, graph),
            None => self.recorded.remove(&event),
        };
    }

    /// A stream waits for an event. If that was recorded in a graph, the stream captures the same graph from here on.
    pub fn wait(&mut self, stream: u64, event: u64) {
        if let Some(&graph) = self.recorded.get(&event) {
            self.capturing.insert(stream, graph);
        }
    }
}

impl Client {
    /// Does the work of a stream, or adds it to the graph that the stream captures.
    pub fn issue(
        &mut self,
        stream: u64,
        work: impl Fn(&mut Self) -> Answer<()> + Send + Sync + 'static,
    ) -> Answer<()> {
        if !self.graphs.is_capturing(stream) {
            return work(self);
        }
        self.graphs.capture(stream, [Node::Device(Arc::new(work))]).map(|_| ())
    }

    /// Begins to capture what a stream does.
    pub fn begin_capture(&mut self, stream: u64) -> Answer<()> {
        if self.graphs.is_capturing(stream) {
            return Err(CudaError::ILLEGAL_STATE);
        }
        let graph = self.new_graph(Vec::new());
        self.graphs.capturing.insert(stream, graph);
        self.graphs.origins.insert(stream, graph);
        Ok(())
    }

    /// Ends a capture where it began; the graph.
    ///
    /// # Errors
    /// A stream where none began, and a capture that is spoilt: there is no graph of it.
    pub fn end_capture(&mut self, stream: u64) -> Answer<u64> {
        let graph = self.graphs.origins.remove(&stream).ok_or(CudaError::ILLEGAL_STATE)?;
        self.graphs.capturing.retain(|_, captured| *captured != graph);
        self.graphs.recorded.retain(|_, captured| *captured != graph);
        if self.graphs.spoilt.remove(&graph) {
            self.destroy_graph(graph)?;
            return Err(CudaError::STREAM_CAPTURE_INVALIDATED);
        }
        Ok(graph)
    }

    /// Creates a graph of this work.
    pub fn new_graph(&mut self, nodes: Vec<Node>) -> u64 {
        let graph = self.new_handle(Handle::Graph);
        self.graphs.nodes.insert(graph, nodes);
        graph
    }

    /// The work of a graph.
    pub fn graph(&self, graph: u64) -> Answer<Vec<Node>> {
        self.graphs.nodes.get(&graph).cloned().ok_or(CudaError::INVALID_VALUE)
    }

    /// Forgets a graph, as `cudaGraphDestroy` does.
    pub fn destroy_graph(&mut self, graph: u64) -> Answer<()> {
        self.handles.remove(&graph);
        self.graphs.nodes.remove(&graph).map(|_| ()).ok_or(CudaError::INVALID_VALUE)
    }
}
