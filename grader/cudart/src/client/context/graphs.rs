//! The graphs of a program: those that it builds or captures from streams, and those that it launches.

use super::graph::{Choice, Conditional, Graph, HostFunction, Node, Work};
use super::{Client, Handle};
use crate::device::{AccessedRange, Answer, Device, Due, Launch, OrderStep, StreamKind};
use crate::error::CudaError;
use crate::frame::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a stream captures.
#[derive(Clone)]
struct Capture {
    graph: u64,
    /// The nodes that the next one comes after.
    last: BTreeSet<u64>,
}

/// A step of the launch of a graph. Streams and events are those of the graph's branches.
#[derive(Clone)]
pub(crate) struct GraphStep {
    pub work: Work,
    /// The branch; `None` if the graph has a single one, which is done in the stream of the launch.
    branch: Option<u64>,
    waits: Vec<u64>,
    record: Option<u64>,
    /// Whether its work is done: the program may disable a step, which then is like an empty node.
    pub enabled: bool,
}

/// A graph that can be launched.
#[derive(Clone)]
struct Executable {
    graph: Graph,
    /// The values that its conditions have at each launch, and those of the graphs that they choose.
    defaults: Vec<(u64, u32)>,
    steps: Vec<(u64, GraphStep)>,
    /// The event that its branches begin after, and the events that its end comes after.
    begin: u64,
    ends: Vec<u64>,
}

/// The arguments of a kernel node, where the program can read them: their bytes, and the addresses of these.
type ShownArguments = (Vec<Vec<u8>>, Vec<usize>);

/// The graphs that exist, and the streams that capture some.
#[derive(Default)]
pub(crate) struct Graphs {
    pub all: BTreeMap<u64, Graph>,
    executables: BTreeMap<u64, Executable>,
    capturing: BTreeMap<u64, Capture>,
    /// The streams in which a capture began, with their graphs, and whether the graph was there before.
    origins: BTreeMap<u64, (u64, bool)>,
    /// The graph that each event was recorded in, and the nodes before it.
    recorded: BTreeMap<u64, Capture>,
    /// The graphs whose capture a forbidden call has spoilt.
    spoilt: BTreeSet<u64>,
    /// The node of a clone, by the clone and the node that it was copied from.
    pub copies: BTreeMap<(u64, u64), u64>,
    shown: BTreeMap<u64, ShownArguments>,
    /// The values that conditions have at each launch of their graph, if they are given one.
    conditions: BTreeMap<u64, Vec<(u64, Option<u32>)>>,
    /// The graphs of conditional nodes, where the program can read them.
    bodies: BTreeMap<u64, Arc<[u64]>>,
    /// The addresses of the memory of graphs. It stays where it is, because a graph may be launched again.
    pub memory: BTreeSet<u64>,
    /// The nodes that the program was last told of.
    told: Vec<u64>,
}

impl Graphs {
    /// Whether a stream captures.
    pub fn is_capturing(&self, stream: u64) -> bool {
        self.capturing.contains_key(&stream)
    }

    /// Whether a capture began in a stream that goes into a graph which was there before.
    pub fn captures_into_graph(&self, stream: u64) -> bool {
        self.origins.get(&stream).is_some_and(|&(_, was_there)| was_there)
    }

    /// The graph that a stream captures, and the nodes that the next one comes after.
    pub fn capture_of(&self, stream: u64) -> Option<(u64, &BTreeSet<u64>)> {
        self.capturing.get(&stream).map(|capture| (capture.graph, &capture.last))
    }

    /// Refuses to wait for a stream that captures, or to ask whether it is done: nothing of it runs. This spoils the capture
    /// in every mode (CUDA Programming Guide, "Prohibited and Unhandled Operations").
    ///
    /// # Errors
    /// A stream that captures.
    pub fn check_stream(&mut self, stream: u64) -> Answer<()> {
        let graph = self.capturing.get(&stream).map(|capture| capture.graph);
        self.spoil(graph)
    }

    /// As [`Self::check_stream`], for an event that was recorded in a capture.
    ///
    /// # Errors
    /// An event of a capture.
    pub fn check_event(&mut self, event: u64) -> Answer<()> {
        let graph = self.recorded.get(&event).map(|capture| capture.graph);
        self.spoil(graph).map_err(|_| CudaError::CAPTURED_EVENT)
    }

    /// As [`Self::check_stream`], for the whole device: no stream may capture.
    ///
    /// # Errors
    /// A stream that captures.
    pub fn check_device(&mut self) -> Answer<()> {
        let graphs: Vec<u64> = self.origins.values().map(|&(graph, _)| graph).collect();
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

    /// A graph that the program has.
    ///
    /// # Errors
    /// There is none with this handle.
    pub fn graph(&mut self, graph: u64) -> Answer<&mut Graph> {
        self.all.get_mut(&graph).ok_or(CudaError::INVALID_VALUE)
    }

    /// The graph that has a node.
    ///
    /// # Errors
    /// There is none.
    pub fn graph_of(&mut self, node: u64) -> Answer<&mut Graph> {
        let mut all = self.all.values_mut();
        all.find(|graph| graph.0.contains_key(&node)).ok_or(CudaError::INVALID_VALUE)
    }

    /// Replaces the work of a node by other work of its kind.
    ///
    /// # Errors
    /// There is no such node, or it is of another kind.
    pub fn set_work(&mut self, node: u64, work: Work) -> Answer<()> {
        let found = self.graph_of(node)?.0.get_mut(&node);
        let same = found.filter(|node| node.work.node_type() == work.node_type());
        same.ok_or(CudaError::INVALID_VALUE)?.work = work;
        Ok(())
    }

    /// As [`Self::set_work`], in a graph that can be launched.
    ///
    /// # Errors
    /// It has no such node.
    pub fn set_step(&mut self, executable: u64, node: u64, work: Work) -> Answer<()> {
        let found = self.executables.get_mut(&executable).ok_or(CudaError::INVALID_VALUE)?;
        let kind = work.node_type();
        let mut steps = found.steps.iter_mut();
        let step = steps.find(|(handle, step)| *handle == node && step.work.node_type() == kind);
        step.ok_or(CudaError::INVALID_VALUE)?.1.work = work;
        Ok(())
    }

    /// Whether a kernel, copy or fill of a graph that can be launched is done at its launches. No other node can be disabled (CUDA Runtime
    /// API, "cudaGraphNodeSetEnabled").
    ///
    /// # Errors
    /// It has no such node.
    pub fn enabled(&mut self, executable: u64, node: u64) -> Answer<&mut bool> {
        let found = self.executables.get_mut(&executable).ok_or(CudaError::INVALID_VALUE)?;
        let mut steps = found.steps.iter_mut();
        let (_, step) =
            steps.find(|(handle, _)| *handle == node).ok_or(CudaError::INVALID_VALUE)?;
        match step.work {
            Work::Kernel { .. } | Work::Copy(_) | Work::Fill(_) => Ok(&mut step.enabled),
            _ => Err(CudaError::INVALID_VALUE),
        }
    }

    /// Keeps nodes where the program can read them, until it is told of others.
    pub fn tell(&mut self, nodes: Vec<u64>) -> *const u64 {
        self.told = nodes;
        self.told.as_ptr()
    }

    /// Keeps the arguments of a kernel node where the program can read them: the address of the list of their addresses.
    pub fn show_arguments(&mut self, node: u64, params: Vec<Vec<u8>>) -> u64 {
        let addresses = params.iter().map(|bytes| bytes.as_ptr() as usize).collect();
        let shown = self.shown.entry(node).or_default();
        *shown = (params, addresses);
        shown.1.as_ptr() as u64
    }
}

impl Client {
    /// As [`Self::issue`] of a copy.
    pub fn issue_copy(
        &mut self,
        stream: u64,
        copy: impl Fn(&mut Self, u64) -> Answer<()> + Send + Sync + 'static,
    ) -> Answer<()> {
        self.issue(stream, Work::Copy(Arc::new(copy)))
    }

    /// As [`Self::issue`] of a fill.
    pub fn issue_fill(
        &mut self,
        stream: u64,
        fill: impl Fn(&mut Self, u64) -> Answer<()> + Send + Sync + 'static,
    ) -> Answer<()> {
        self.issue(stream, Work::Fill(Arc::new(fill)))
    }

    /// Does work of the device in a stream. Functions of the host are called elsewhere, without the context.
    pub fn run(&mut self, work: &Work, stream: u64) -> Answer<()> {
        match work {
            Work::Kernel { launch, .. } => self.start(Launch { stream, ..launch.clone() }),
            Work::Copy(work) | Work::Fill(work) => work(self, stream),
            Work::Record(event) => {
                self.set_time(*event);
                self.note(OrderStep::Record { event: *event, stream });
                Ok(())
            }
            Work::Wait(event) => {
                self.note(OrderStep::Wait { stream, event: *event });
                Ok(())
            }
            Work::Allocate(address) => {
                self.note_whole("an allocation node", stream, *address);
                Ok(())
            }
            Work::Free(address) => {
                self.note_whole("a free node", stream, *address);
                Ok(())
            }
            Work::Host(..) | Work::Empty | Work::Child(_) | Work::Conditional(_) => Ok(()),
        }
    }

    /// Tells that a call in a stream gives or takes memory: only what the stream's order puts between the two may use it (CUDA
    /// Programming Guide, "Stream-Ordered Memory Allocator").
    pub fn note_whole(&mut self, call: &str, stream: u64, address: u64) {
        if let Some(&bytes) = self.allocations.get(&address) {
            self.note_work(stream, call, [AccessedRange { address, bytes, writes: true }]);
        }
    }

    /// Changes the nodes that the next one of a capture comes after: those are added to them, or take their place.
    ///
    /// # Errors
    /// The stream does not capture, or its graph does not have these nodes.
    pub fn continue_capture(
        &mut self,
        stream: u64,
        after: BTreeSet<u64>,
        replaces: bool,
    ) -> Answer<()> {
        let (graph, last) = self.graphs.capture_of(stream).ok_or(CudaError::ILLEGAL_STATE)?;
        let last = if replaces { after } else { last | &after };
        if !last
            .iter()
            .all(|node| self.graphs.all.get(&graph).is_some_and(|all| all.0.contains_key(node)))
        {
            return Err(CudaError::INVALID_VALUE);
        }
        self.graphs.capturing.insert(stream, Capture { graph, last });
        Ok(())
    }

    /// Adds to the graph that a stream captures; false if it captures none.
    ///
    /// # Errors
    /// A capture that is spoilt.
    pub fn capture(&mut self, stream: u64, work: Work) -> Answer<bool> {
        let Some(Capture { graph, last }) = self.graphs.capturing.get(&stream).cloned() else {
            return Ok(false);
        };
        if self.graphs.spoilt.contains(&graph) {
            return Err(CudaError::STREAM_CAPTURE_INVALIDATED);
        }
        let node = self.add_node(graph, last, work)?;
        if let Some(capture) = self.graphs.capturing.get_mut(&stream) {
            capture.last = BTreeSet::from([node]);
        }
        Ok(true)
    }

    /// Adds a node to a graph, after others of it.
    ///
    /// # Errors
    /// There is no such graph, or no such node in it.
    pub fn add_node(&mut self, graph: u64, after: BTreeSet<u64>, work: Work) -> Answer<u64> {
        let work = match work {
            Work::Child(child) => Work::Child(self.copied(&child)?.0),
            work => work,
        };
        let node = self.fresh_number();
        let graph = self.graphs.graph(graph)?;
        if !after.iter().all(|node| graph.0.contains_key(node)) {
            return Err(CudaError::INVALID_VALUE);
        }
        graph.0.insert(node, Node { work, after });
        Ok(node)
    }

    /// A copy of a graph with nodes of its own, and for each old node the new one.
    ///
    /// # Errors
    /// Graphs with conditional nodes or memory cannot be copied, nor be a part of another (`cudaGraphNodeTypeConditional`, and CUDA
    /// Programming Guide, "Graph Memory Nodes").
    pub fn copied(&mut self, graph: &Graph) -> Answer<(Graph, BTreeMap<u64, u64>)> {
        if graph.is_unique() {
            return Err(CudaError::NOT_SUPPORTED);
        }
        let new: BTreeMap<u64, u64> =
            graph.0.keys().map(|&old| (old, self.fresh_number())).collect();
        let mut copy = Graph::default();
        for (old, Node { work, after }) in &graph.0 {
            let work = match work {
                Work::Child(child) => Work::Child(self.copied(child)?.0),
                work => work.clone(),
            };
            let after = after.iter().map(|old| new[old]).collect();
            copy.0.insert(new[old], Node { work, after });
        }
        Ok((copy, new))
    }

    /// An event is recorded in a stream, or in the graph that the stream captures.
    pub fn record_event(&mut self, event: u64, stream: u64) {
        if let Some(capture) = self.graphs.capturing.get(&stream).cloned() {
            self.graphs.recorded.insert(event, capture);
        } else {
            self.graphs.recorded.remove(&event);
            self.note(OrderStep::Record { event, stream });
        }
    }

    /// A stream waits for an event. If that was recorded in a graph, the stream captures the same graph from here on.
    pub fn wait_for_event(&mut self, stream: u64, event: u64) {
        if let Some(Capture { graph, last }) = self.graphs.recorded.get(&event).cloned() {
            let none = Capture { graph, last: BTreeSet::new() };
            self.graphs.capturing.entry(stream).or_insert(none).last.extend(last);
        } else if !self.graphs.is_capturing(stream) {
            self.note(OrderStep::Wait { stream, event });
        }
    }

    /// Begins to capture what a stream does: into a new graph, or behind nodes of one that is there.
    ///
    /// # Errors
    /// The stream captures already, or the graph does not have these nodes.
    pub fn begin_capture(&mut self, stream: u64, into: Option<(u64, BTreeSet<u64>)>) -> Answer<()> {
        if self.graphs.is_capturing(stream) {
            return Err(CudaError::ILLEGAL_STATE);
        }
        let is_there = into.is_some();
        let (graph, last) =
            into.unwrap_or_else(|| (self.new_graph(Graph::default()), BTreeSet::new()));
        let nodes = &self.graphs.graph(graph)?.0;
        if !last.iter().all(|node| nodes.contains_key(node)) {
            return Err(CudaError::INVALID_VALUE);
        }
        self.graphs.capturing.insert(stream, Capture { graph, last });
        self.graphs.origins.insert(stream, (graph, is_there));
        Ok(())
    }

    /// Ends a capture where it began; the graph.
    ///
    /// # Errors
    /// A stream where none began, a capture that is spoilt, and one in which another stream takes part whose work this one has not
    /// waited for: there is no graph of these.
    pub fn end_capture(&mut self, stream: u64) -> Answer<u64> {
        let origin = self.graphs.origins.remove(&stream);
        let (graph, was_there) = origin.ok_or(CudaError::ILLEGAL_STATE)?;
        let mut others = BTreeSet::new();
        let mut joined = BTreeSet::new();
        self.graphs.capturing.retain(|&other, capture| {
            let ends = capture.graph == graph;
            if ends {
                let last = if other == stream { &mut joined } else { &mut others };
                last.append(&mut capture.last);
            }
            !ends
        });
        self.graphs.recorded.retain(|_, capture| capture.graph != graph);
        let leaves = self.graphs.graph(graph)?.leaves();
        let is_joined = others.iter().all(|node| joined.contains(node) || !leaves.contains(node));
        let error = if self.graphs.spoilt.remove(&graph) {
            CudaError::STREAM_CAPTURE_INVALIDATED
        } else if is_joined {
            return Ok(graph);
        } else {
            CudaError::STREAM_CAPTURE_UNJOINED
        };
        if !was_there {
            self.destroy_graph(graph)?;
        }
        Err(error)
    }

    /// Creates a graph.
    pub fn new_graph(&mut self, graph: Graph) -> u64 {
        let handle = self.new_handle(Handle::Graph);
        self.graphs.all.insert(handle, graph);
        handle
    }

    /// Forgets a graph with those of its conditional nodes, as `cudaGraphDestroy` does.
    pub fn destroy_graph(&mut self, graph: u64) -> Answer<()> {
        self.handles.remove(&graph);
        let graph = self.graphs.all.remove(&graph).ok_or(CudaError::INVALID_VALUE)?;
        for (node, Node { work, .. }) in graph.0 {
            self.graphs.bodies.remove(&node);
            if let Work::Conditional(Conditional { bodies, .. }) = work {
                bodies.into_iter().try_for_each(|body| self.destroy_graph(body))?;
            }
        }
        Ok(())
    }

    /// Makes a condition of a graph, whose handle is the address of its value, and which has this value at each launch.
    ///
    /// # Errors
    /// There is no such graph, or no memory.
    pub fn new_condition(&mut self, graph: u64, default: Option<u32>) -> Answer<u64> {
        self.graphs.graph(graph)?;
        let condition = Device::alloc(self, 4)?;
        self.set_condition(condition, default.unwrap_or(0))?;
        self.graphs.conditions.entry(graph).or_default().push((condition, default));
        Ok(condition)
    }

    fn set_condition(&mut self, condition: u64, value: u32) -> Answer<()> {
        self.write(condition, Bytes(&value.to_le_bytes()))
    }

    /// Frees the memory of all conditions.
    ///
    /// # Errors
    /// The device's own.
    pub fn free_conditions(&mut self) -> Answer<()> {
        let all = std::mem::take(&mut self.graphs.conditions);
        all.into_values().flatten().try_for_each(|(condition, _)| self.free(condition))
    }

    /// Adds a node of which a condition chooses the graph, and new graphs for it; where the program can read their handles.
    ///
    /// # Errors
    /// As [`Self::add_node`].
    pub fn add_conditional(
        &mut self,
        graph: u64,
        after: BTreeSet<u64>,
        (condition, kind, graphs): (u64, Choice, u32),
    ) -> Answer<(u64, *const u64)> {
        let mut known = self.graphs.conditions.values().flatten();
        if !known.any(|&(known, _)| known == condition) {
            return Err(CudaError::INVALID_VALUE);
        }
        let work = Work::Conditional(Conditional { condition, kind, bodies: Vec::new() });
        let node = self.add_node(graph, after, work)?;
        let bodies: Arc<[u64]> = (0..graphs).map(|_| self.new_graph(Graph::default())).collect();
        if let Some(Node { work: Work::Conditional(conditional), .. }) =
            self.graphs.graph(graph)?.0.get_mut(&node)
        {
            conditional.bodies = bodies.to_vec();
        }
        let shown = bodies.as_ptr();
        self.graphs.bodies.insert(node, bodies);
        Ok((node, shown))
    }

    /// The graph that a condition chooses now, and whether it chooses again after it.
    ///
    /// # Errors
    /// The value cannot be read.
    pub fn choose(
        &mut self,
        Conditional { condition, kind, bodies }: &Conditional,
        stream: u64,
    ) -> Answer<Option<(u64, bool)>> {
        let value = self.in_stream(stream, |client| Device::read(client, *condition, 4))?.0;
        let value = value.try_into().map(u32::from_le_bytes).map_err(|_| CudaError::UNKNOWN)?;
        let body = bodies.get(kind.body(value)).copied();
        Ok(body.map(|body| (body, *kind == Choice::While)))
    }

    /// Makes a graph that can be launched.
    ///
    /// # Errors
    /// There is no such graph.
    pub fn instantiate(&mut self, graph: u64) -> Answer<u64> {
        let executable = self.executable(graph)?;
        let handle = self.new_handle(Handle::Graph);
        self.graphs.executables.insert(handle, executable);
        Ok(handle)
    }

    /// Gives a graph that can be launched the work of another one of the same shape; false if the shapes differ.
    ///
    /// # Errors
    /// One of them does not exist.
    pub fn update(&mut self, executable: u64, graph: u64) -> Answer<bool> {
        let old = self.graphs.executables.get(&executable).ok_or(CudaError::INVALID_VALUE)?;
        let old = old.graph.shape();
        if self.graphs.graph(graph)?.shape() != old {
            return Ok(false);
        }
        let new = self.executable(graph)?;
        self.destroy_executable(executable)?;
        self.graphs.executables.insert(executable, new);
        Ok(true)
    }

    /// Forgets a graph that can be launched.
    ///
    /// # Errors
    /// There is none.
    pub fn destroy_executable(&mut self, executable: u64) -> Answer<()> {
        let found = self.graphs.executables.remove(&executable);
        let steps = found.ok_or(CudaError::INVALID_VALUE)?.steps;
        let branches: BTreeSet<u64> = steps.iter().filter_map(|(_, step)| step.branch).collect();
        for (_, step) in steps {
            if let Work::Conditional(Conditional { bodies, .. }) = step.work {
                bodies.into_iter().try_for_each(|body| self.destroy_executable(body))?;
            }
        }
        for handle in branches {
            self.note(OrderStep::Destroy { handle });
        }
        Ok(())
    }

    /// Divides a graph into branches, in each of which one node comes after the other.
    fn executable(&mut self, graph: u64) -> Answer<Executable> {
        let defaults = self.graphs.conditions.get(&graph).into_iter().flatten();
        let defaults = defaults.filter_map(|&(condition, default)| Some((condition, default?)));
        let mut defaults: Vec<(u64, u32)> = defaults.collect();
        let graph = self.graphs.graph(graph)?.clone();
        let flat = graph.flattened();
        // For each node its branch, and the last node of each branch so far.
        let (mut branches, mut last) = (BTreeMap::new(), Vec::new());
        let order = flat.in_order();
        for &node in &order {
            let before = |&end: &u64| flat.0[&node].after.contains(&end);
            let branch = last.iter().position(before).unwrap_or_else(|| {
                last.push(node);
                last.len() - 1
            });
            last[branch] = node;
            branches.insert(node, branch);
        }
        let streams: Vec<Option<u64>> = match last.len() {
            0 | 1 => vec![None],
            count => (0..count).map(|_| Some(self.new_branch())).collect(),
        };
        let events: BTreeMap<u64, u64> =
            order.iter().map(|&node| (node, self.fresh_number())).collect();
        let begin = self.fresh_number();
        let mut entered = BTreeSet::new();
        let mut steps = Vec::new();
        let is_branched = last.len() > 1;
        for node in order {
            let (branch, Node { work, after }) = (branches[&node], &flat.0[&node]);
            let elsewhere = after.iter().filter(|before| branches[before] != branch);
            let mut waits: Vec<u64> = elsewhere.map(|before| events[before]).collect();
            if entered.insert(branch) && is_branched {
                waits.push(begin);
            }
            let work = match work {
                Work::Conditional(conditional) => {
                    let bodies = conditional.bodies.iter().map(|&body| self.instantiate(body));
                    let bodies: Vec<u64> = bodies.collect::<Answer<_>>()?;
                    let inner = bodies.iter().filter_map(|body| self.graphs.executables.get(body));
                    defaults.extend(inner.flat_map(|inner| &inner.defaults));
                    Work::Conditional(Conditional { bodies, ..conditional.clone() })
                }
                work => work.clone(),
            };
            let step = GraphStep {
                work,
                branch: streams[branch],
                waits,
                record: is_branched.then(|| events[&node]),
                enabled: true,
            };
            steps.push((node, step));
        }
        let ends = last.iter().filter(|_| is_branched).map(|node| events[node]).collect();
        Ok(Executable { graph, defaults, steps, begin, ends })
    }

    fn new_branch(&mut self) -> u64 {
        let stream = self.fresh_number();
        self.note(OrderStep::Create { stream, kind: StreamKind::Branch });
        stream
    }

    /// Gives the conditions of a graph that is launched in a stream their values.
    ///
    /// # Errors
    /// There is no such graph.
    pub fn set_conditions(&mut self, executable: u64, stream: u64) -> Answer<()> {
        let found = self.graphs.executables.get(&executable);
        let defaults = found.ok_or(CudaError::INVALID_VALUE)?.defaults.clone();
        self.in_stream(stream, |client| {
            let mut defaults = defaults.into_iter();
            defaults.try_for_each(|(condition, value)| client.set_condition(condition, value))
        })
    }

    /// Begins to run a graph in a stream: its steps, in an order that it allows.
    ///
    /// # Errors
    /// There is no such graph.
    pub fn begin_launch(&mut self, executable: u64, stream: u64) -> Answer<Vec<GraphStep>> {
        let found = self.graphs.executables.get(&executable);
        let Executable { steps, begin, .. } = found.ok_or(CudaError::INVALID_VALUE)?.clone();
        self.catch_up(Due::Stream(stream))?;
        self.note(OrderStep::Record { event: begin, stream });
        Ok(steps.into_iter().map(|(_, step)| step).collect())
    }

    /// Does the part of a step that is the device's, but for the graphs that a condition chooses. The stream that it is done in.
    ///
    /// # Errors
    /// The work's own.
    pub fn begin_step(&mut self, step: &GraphStep, stream: u64) -> Answer<u64> {
        let stream = step.branch.unwrap_or(stream);
        for &event in &step.waits {
            self.note(OrderStep::Wait { stream, event });
        }
        if step.enabled {
            self.in_stream(stream, |client| client.run(&step.work, stream))?;
        }
        if matches!(step.work, Work::Wait(_)) {
            // The host's function that may come next is called elsewhere.
            self.catch_up(Due::Stream(stream))?;
        }
        Ok(stream)
    }

    /// Ends a step, whose stream this is.
    pub fn end_step(&mut self, step: &GraphStep, stream: u64) {
        if let Some(event) = step.record {
            self.note(OrderStep::Record { event, stream });
        }
    }

    /// Ends the launch of a graph: the stream goes on behind all of its branches.
    pub fn end_launch(&mut self, executable: u64, stream: u64) {
        let found = self.graphs.executables.get(&executable);
        for event in found.map_or_else(Vec::new, |found| found.ends.clone()) {
            self.note(OrderStep::Wait { stream, event });
        }
    }

    /// The graph that an executable one was made of, to be a part of another one.
    ///
    /// # Errors
    /// There is none.
    pub fn graph_of_executable(&self, executable: u64) -> Answer<Graph> {
        let found = self.graphs.executables.get(&executable);
        found.map(|found| found.graph.clone()).ok_or(CudaError::INVALID_VALUE)
    }
}

/// A function of the host that a step calls.
pub(crate) fn host_function(step: &GraphStep) -> Option<(HostFunction, usize)> {
    match step.work {
        Work::Host(function, data) => Some((function, data)),
        _ => None,
    }
}
