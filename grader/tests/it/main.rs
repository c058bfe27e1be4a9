//! Tests of the whole: the workbook through the grader's library and its binary.

mod cli;
mod docs;
mod layers;
mod puzzles;
mod terms;
