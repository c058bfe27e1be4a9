use super::*;
use crate::cache::Cache;
use crate::env::Env;
use crate::find::{Nvcc, Origin, Version};
use std::sync::Mutex;
use std::time::Duration;

/// A front end's output, and a compiler that only notes what it is asked.
struct Bench {
    dir: tempfile::TempDir,
    nvcc: NvccFrontEnd,
    files: Files,
    calls: Mutex<Vec<String>>,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let version = Version { major: 13, minor: 0, patch: 88 };
        let nvcc = Nvcc { path: dir.path().join("nvcc"), version, origin: Origin::Path };
        let cache = Cache::new(dir.path().join("cache/compiled"));
        let nvcc = NvccFrontEnd::new(nvcc, Env::default(), cache);
        let work = dir.path().join("work");
        fs::create_dir(&work).unwrap();
        let files = Files { source: work.join("k.cudafe1.cpp"), object: work.join("k.o") };
        let bench = Self { dir, nvcc, files, calls: Mutex::default() };
        bench.write("int header;", "int own;");
        bench
    }

    /// The output of the front end: a header that is long enough, and the source's own text.
    fn write(&self, header: &str, own: &str) {
        let long = " ".repeat(SHORT);
        let text = format!(
            "# 1 \"k.cu\"\n#pragma GCC diagnostic ignored \"-Wx\"\n# 1 \"h.h\"\n#pragma GCC diagnostic pop\n{header}{long}\n# 3 \"k.cu\"\n{own}\n"
        );
        fs::write(&self.files.source, text).unwrap();
    }

    fn command(&self) -> String {
        let Files { source, object } = &self.files;
        format!("gcc -Og -c -x c++ \"{}\" -o \"{}\"", source.display(), object.display())
    }

    /// Compiles, with these endings of the compiler where the command has the word; what it was asked, in short.
    fn compile(&self, answers: &[(&str, Termination, &str)]) -> Vec<&'static str> {
        let run = |command: &str| {
            let kind = if command.contains("-x c++-header") {
                "header"
            } else if command.contains("k.cudafe1.own.cpp") {
                "own"
            } else {
                "whole"
            };
            let answer = answers.iter().find(|(word, ..)| *word == kind);
            let (ending, stderr) = answer.map_or((Termination::Code(0), ""), |a| (a.1, a.2));
            self.calls.lock().unwrap().push(command.to_owned());
            let stderr = stderr.as_bytes().to_vec();
            let time = Duration::ZERO;
            Ok(Finished { ending, stdout: kind.into(), stderr, truncated: false, time })
        };
        let done = compile(&self.nvcc, "k.cu", &self.command(), &self.files, &run).unwrap();
        let calls = std::mem::take(&mut *self.calls.lock().unwrap());
        let kind = |call: &String| match call {
            call if call.contains("-x c++-header") => "header",
            call if call.contains("own.cpp") => "own",
            _ => "whole",
        };
        let mut kinds: Vec<_> = calls.iter().map(kind).collect();
        // The header is parsed beside the source.
        kinds.sort_unstable();
        // The messages are those of the whole text, unless there are none.
        assert!(done.stdout == b"whole" || kinds == ["own"], "{kinds:?}");
        kinds
    }

    fn kept(&self) -> Vec<PathBuf> {
        let folder = fs::read_dir(self.nvcc.precompiled_headers()).into_iter().flatten();
        folder.map(|entry| entry.unwrap().path()).collect()
    }
}

#[test]
fn a_header_is_parsed_when_it_comes_again() {
    let bench = Bench::new();
    assert_eq!(bench.compile(&[]), ["whole"]);
    bench.write("int header;", "int other;");
    assert_eq!(bench.compile(&[]), ["header", "whole"]);
    bench.write("int header;", "int third;");
    assert_eq!(bench.compile(&[]), ["own"]);
    let own = fs::read_to_string(bench.dir.path().join("work/k.cudafe1.own.cpp")).unwrap();
    let (include, rest) = own.split_once('\n').unwrap();
    assert!(include.starts_with("#include \"") && include.ends_with(".h\""), "{include}");
    assert_eq!(
        rest,
        "#pragma GCC diagnostic ignored \"-Wx\"\n#pragma GCC diagnostic pop\n# 3 \"k.cu\"\nint third;\n"
    );
    // Another header, compiler or option is another first time.
    bench.write("int changed;", "int third;");
    assert_eq!(bench.compile(&[]), ["whole"]);
    bench.write("int header;", "int third;");
    let name = |compiler| header_name("text", &bench.command(), &bench.files, compiler);
    assert_ne!(name(b"12"), name(b"13"));
    let optimised = bench.command().replace("-Og", "-O2");
    assert_ne!(name(b"12"), header_name("text", &optimised, &bench.files, b"12"));
    assert_eq!(bench.compile(&[]), ["own"]);
}

#[test]
fn messages_are_those_of_the_whole_text() {
    let bench = Bench::new();
    bench.compile(&[]);
    bench.compile(&[]);
    let error = ("own", Termination::Code(1), "/cache/x.h:1: error");
    assert_eq!(bench.compile(&[error]), ["own", "whole"]);
    let warning = ("own", Termination::Code(0), "/cache/x.h:1: warning");
    assert_eq!(bench.compile(&[warning]), ["own", "whole"]);
    assert_eq!(bench.compile(&[]), ["own"]);
}

#[test]
fn little_text_is_compiled_as_it_is() {
    let bench = Bench::new();
    fs::write(&bench.files.source, "# 1 \"k.cu\"\n# 1 \"h.h\"\nint x;\n# 2 \"k.cu\"\n").unwrap();
    for _ in 0..3 {
        assert_eq!(bench.compile(&[]), ["whole"]);
    }
    fs::remove_file(&bench.files.source).unwrap();
    assert_eq!(bench.compile(&[]), ["whole"]);
    assert!(bench.kept().is_empty());
}

#[test]
fn a_header_that_cannot_be_parsed_is_not_tried_again() {
    let bench = Bench::new();
    bench.compile(&[]);
    // Stopped from outside, as by the end of the time: the next time is worth another try.
    assert_eq!(bench.compile(&[("header", Termination::TimedOut, "")]), ["header", "whole"]);
    assert_eq!(bench.compile(&[("header", Termination::Code(1), "")]), ["header", "whole"]);
    assert_eq!(bench.compile(&[]), ["own"]);
}

#[test]
fn one_grader_parses_while_others_go_on() {
    let bench = Bench::new();
    bench.compile(&[]);
    let header = bench.kept().pop().unwrap();
    let lock = File::open(header).unwrap();
    lock.lock().unwrap();
    assert_eq!(bench.compile(&[]), ["whole"]);
    drop(lock);
    assert_eq!(bench.compile(&[]), ["header", "whole"]);
}

#[test]
fn a_folder_that_cannot_be_written_costs_nothing_but_time() {
    let bench = Bench::new();
    fs::create_dir_all(bench.dir.path().join("cache")).unwrap();
    fs::write(bench.nvcc.precompiled_headers(), "a file").unwrap();
    for _ in 0..3 {
        assert_eq!(bench.compile(&[]), ["whole"]);
    }
}

#[test]
fn headers_unused_for_longest_go() {
    let bench = Bench::new();
    for i in 0..MAX_FILES {
        bench.write(&format!("int header{i};"), "");
        bench.compile(&[]);
        bench.compile(&[]);
    }
    assert!(bench.kept().len() <= MAX_FILES);
    assert_eq!(bench.compile(&[]), ["own"]);
}
