//! Tests of the whole: the workbook through the grader's library and its binary.

mod book;
mod cli;
mod constants;
mod docs;
mod drawn;
mod gates;
mod half;
mod host;
mod integers;
mod intrinsics;
mod launch_limits;
mod map;
mod mini;
mod named_lines;
mod programs;
mod puzzles;
mod repeat;
mod require;
mod right;
mod workspace;
