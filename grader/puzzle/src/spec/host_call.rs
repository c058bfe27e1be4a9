//! The call of a host function, besides its name and arguments.

/// What a call is, besides its name and arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCall {
    /// Declaration of the function, without a semicolon.
    pub signature: String,
    /// Headers that the declaration and the code need.
    pub includes: Vec<String>,
    /// C++ in which every tensor is an identifier.
    pub code: String,
    /// Line of the spec on which the code starts, from 1.
    pub line: u32,
    /// Seconds that it may take, without the time of the device.
    pub seconds: u64,
    /// Results in the host's memory that are shown while they are written: what each is called, and its name.
    pub progress: Vec<(String, String)>,
    /// What each argument of the launch is called in the code, and where it lies.
    pub params: Vec<HostParam>,
}

/// A name in the code of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostParam {
    /// A C++ identifier.
    pub name: String,
    /// Where a tensor lies; a number is passed by value.
    pub home: Home,
}

/// Where a tensor lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// In device memory.
    Device,
    /// In the host's memory.
    Host,
}
