use super::*;
use crate::settings::Settings;
use puzzle::workbook::Workbook;

#[test]
fn the_students_workbook_has_no_solution_and_no_hidden_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let workbook = Workbook::open(&root).unwrap();
    let text = "title = \"C\"\nsecret = \"0123456789abcdef\"\nchapters = true\n\
                [[puzzle]]\nnumber = 10\nhidden_sizes = [{ F = 77 }]\n[[puzzle]]\nnumber = 12\n";
    let settings = Settings::parse(text, Path::new("class.toml")).unwrap();
    let class = Class { settings: &settings, workbook: &workbook, out: Path::new("") };
    let stub = |puzzle: &Puzzle| read(&puzzle.stub);
    let files = students_files(&class, &stub).unwrap();
    assert!(files.contains_key("puzzles/10_conv_backward_input.cu"));
    assert!(
        files.contains_key("book/src/figures/conv_backward_input.svg")
            || files.keys().any(|f| f.contains("figures/"))
    );
    // 12 builds on the kernels of earlier puzzles.
    assert!(files.contains_key("puzzles/03_fc_forward.cu"));
    let solution = read(&root.join("solutions/10_conv_backward_input.cu")).unwrap();
    let solution = String::from_utf8(solution).unwrap();
    let line = solution.lines().find(|line| line.contains("int oh = h - fh")).unwrap();
    for (name, bytes) in &files {
        let text = String::from_utf8_lossy(bytes);
        assert!(!name.starts_with("solutions") && !name.contains(".."), "{name}");
        assert!(!text.contains(line.trim()), "{name} has a line of the solution");
        assert!(!text.contains("{{#include ../../solutions"), "{name}");
        assert!(!text.contains("hidden_sizes") && !text.contains("0123456789abcdef"), "{name}");
    }
}
