//! The instruction set as data. What the machine knows of an operation stands in its row; everything else follows from there.

mod lanes;

pub(crate) use lanes::with_lane_operations;
