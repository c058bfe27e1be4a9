//! Wires the command line to the library. One file for each command.

pub mod args;
