//! Small specs and kernels through the whole way of a verdict, on the virtual machine.

use judge::grade::{self, Detail, Machine};
use judge::verdict::TestVerdict;
use puzzle::case::Case;
use puzzle::oracle;
use puzzle::spec::Spec;
use puzzle::workbook::Workbook;
use std::ops::Range;
use std::path::Path;
use tempfile::TempDir;
use toolchain::Toolchain;
use toolchain::env::Env;

/// A compiler and a file of kernels; compiling it again is free.
pub struct Bench {
    workbook: Workbook,
    toolchain: Toolchain,
    folder: TempDir,
}

impl Bench {
    pub fn new(kernels: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let workbook = Workbook::open(&root).unwrap_or_else(|f| panic!("{}", f.render(false)));
        let toolchain = Toolchain::locate(&Env::current(), None);
        let toolchain = toolchain.unwrap_or_else(|f| panic!("{}", f.render(false)));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("kernels.cu"), kernels).unwrap();
        Self { workbook, toolchain, folder }
    }

    /// With a header of the submission's own beside the file.
    pub fn with_header(self, name: &str, text: &str) -> Self {
        std::fs::write(self.folder.path().join(name), text).unwrap();
        self
    }

    /// The case of the spec's first test, and what became of it, for each seed.
    pub fn judge(&self, spec: &str, seeds: Range<u64>) -> Vec<(Case, TestVerdict)> {
        self.judge_with(Detail::Full, spec, seeds)
    }

    /// As [`Self::judge`], in as much detail as is needed.
    pub fn judge_with(
        &self,
        detail: Detail,
        spec: &str,
        seeds: Range<u64>,
    ) -> Vec<(Case, TestVerdict)> {
        let spec = Spec::parse(spec, Path::new("mini.toml"));
        let spec = spec.unwrap_or_else(|f| panic!("{}", f.render(false)));
        let file = self.folder.path().join("kernels.cu");
        let program = grade::compile(&self.toolchain, &self.workbook, &spec, &file, None);
        let program = program.unwrap_or_else(|f| panic!("{}", f.render(false)));
        let machine = Machine::new(&program, None).unwrap();
        let judge = |seed| {
            let case = oracle::build_case(&spec, &spec.tests[0], seed);
            let case = case.unwrap_or_else(|f| panic!("{}", f.render(false)));
            let (_, verdict) = grade::judge_case(&machine, &program, &case, detail).unwrap();
            (case, verdict)
        };
        seeds.map(judge).collect()
    }
}
