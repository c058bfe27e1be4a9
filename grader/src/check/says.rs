//! What the report says of a wrong kernel: `says` in `solutions/NN_name.toml`.

use super::bench::{Loaded, SEED};
use crate::wrong::WrongKernel;
use judge::grade::Program;
use judge::verdict::TestVerdict;
use report::style::Style;
use report::{Compile, Reporter, RunInfo, Summary, TextReporter};
use std::time::Duration;

/// A problem if the report on `verdict`, of the test that caught `kernel`, does not contain what it must say.
pub(super) fn unsaid(
    loaded: &Loaded<'_>,
    kernel: &WrongKernel,
    program: &Program,
    verdict: &TestVerdict,
) -> Option<String> {
    let says = kernel.says.as_ref()?;
    let text = one_line(&report(loaded, program, verdict, usize::MAX));
    let problem = || format!("the report of {:?} does not say {says:?}", kernel.name);
    (!text.contains(&one_line(says))).then(problem)
}

/// The text of the report on one test, for a screen of so many columns. Lines count in the file that was compiled, which may hold
/// other kernels too.
pub(super) fn report(
    loaded: &Loaded<'_>,
    program: &Program,
    verdict: &TestVerdict,
    columns: usize,
) -> String {
    let run = RunInfo {
        puzzle: loaded.puzzle.number,
        title: loaded.spec.title.clone(),
        file: program.compiled.source.path.clone(),
        source: program.compiled.source.text.clone(),
        warnings: Vec::new(),
        backend: "vm".to_owned(),
        backend_description: String::new(),
        seed: SEED,
        compile: Compile { cached: true, time: Duration::ZERO },
        tests: vec![verdict.test.clone()],
        command: String::new(),
        replay: None,
        chapter: loaded.puzzle.chapter.clone(),
    };
    let mut text = Vec::new();
    let mut reporter = TextReporter::new(&mut text, Style::PLAIN).for_screen(columns);
    let written = reporter
        .start(&run)
        .and_then(|()| reporter.test_finished(verdict))
        .and_then(|()| reporter.finish(&Summary { total: 1, passed: 0 }));
    // Memory takes everything.
    debug_assert!(written.is_ok());
    String::from_utf8_lossy(&text).into_owned()
}

/// The text with single spaces between its words: where a line breaks does not matter.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
