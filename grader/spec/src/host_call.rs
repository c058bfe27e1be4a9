//! The call of a host function: everything except its name and arguments.

/// The call of a host function: everything except its name and arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCall {
    /// The declaration of the function, without a semicolon.
    pub signature: String,
    /// The headers that the declaration and the code need.
    pub includes: Vec<String>,
    /// The C++ code, in which every tensor is an identifier.
    pub code: String,
    /// The line of the spec on which the code starts, from 1.
    pub line: u32,
    /// The time limit in seconds, without the time of the device.
    pub seconds: u64,
    /// Results in the host's memory that are displayed while they are written: a label, and the tensor's name.
    pub progress: Vec<(String, String)>,
    /// For each argument of the launch, its name in the code and the memory that it is in.
    pub params: Vec<HostParam>,
}

/// A parameter of the code of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostParam {
    /// Its name in C++.
    pub name: String,
    /// The memory that a tensor is in; a number is passed by value.
    pub space: MemorySpace,
}

/// The memory that a tensor is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemorySpace {
    /// The memory of the device.
    Device,
    /// The memory of the host.
    Host,
}
