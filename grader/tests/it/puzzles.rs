//! Every puzzle proves that its verdicts are right: what `grader check` looks at, without its mutants.

use grader::check::report::{Checked, page};
use grader::check::{self, Bench};
use puzzle::workbook::Workbook;
use report::style::Style;
use std::path::Path;
use toolchain::Toolchain;
use toolchain::env::Env;

#[test]
fn every_puzzle_is_in_order() {
    // Not this program, which has no hidden commands.
    device::host::set_program(env!("CARGO_BIN_EXE_grader"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let workbook = Workbook::open(&root).unwrap_or_else(|f| panic!("{}", f.render(false)));
    let toolchain = Toolchain::locate(&Env::current(), None);
    let toolchain = toolchain.unwrap_or_else(|f| panic!("{}", f.render(false)));
    let bench = Bench { workbook: &workbook, toolchain: &toolchain, on_gpu: false };
    let mut bad = String::new();
    for puzzle in workbook.puzzles() {
        let checked = Checked::of(&bench, puzzle, false);
        let checked = checked.unwrap_or_else(|f| panic!("{}", f.render(false)));
        if !checked.is_good() {
            bad.push_str(&page(&checked, Style::PLAIN));
        }
        let loaded =
            check::load(&workbook, puzzle).unwrap_or_else(|f| panic!("{}", f.render(false)));
        let wrong = loaded.wrongs.kernels.len();
        assert!(wrong >= 10, "{} has only {wrong} wrong kernels", puzzle.stem);
    }
    assert!(bad.is_empty(), "\n{bad}");
}
