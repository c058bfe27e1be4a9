//! Tests of the whole: the workbook through the grader's library and its binary.

mod cli;
mod docs;
mod host;
mod layers;
mod puzzles;
mod terms;
