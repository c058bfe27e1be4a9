use super::*;
use crate::fake;
use crate::find::{Origin, Version};
use std::fs;

const KERNEL: &str = "__global__ void k(float* x, int n)\n{\n    x[n] = 1.0f;\n}\n";

/// What the stand-in for nvcc makes: the source, with a `.file` directive as nvcc writes it.
const COPIES: &str = r#"cat $src > $out; printf '\t.file\t1 "%s/%s"\n' "$PWD" $src >> $out"#;

struct Bench {
    dir: tempfile::TempDir,
    toolchain: Toolchain,
}

impl Bench {
    /// The real nvcc, with an empty cache.
    fn real() -> Self {
        let env = Env::current();
        let located = Toolchain::locate(&env, None).expect("the tests need an nvcc");
        Self::new(|_| located.nvcc, &env)
    }

    /// A stand-in for nvcc, which is fast and counts its calls.
    fn fake(body: &str) -> Self {
        let version = Version { major: 13, minor: 0, patch: 88 };
        let nvcc = |dir: &Path| Nvcc {
            path: fake::nvcc(dir, "13.0", body),
            version,
            origin: Origin::Path,
        };
        Self::new(nvcc, &Env::default().with("PATH", "/usr/bin:/bin"))
    }

    fn new(nvcc: impl FnOnce(&Path) -> Nvcc, env: &Env) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["src", "copy", "inc1", "inc2"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let cache = Cache::new(dir.path().join("cache"));
        let toolchain = Toolchain::new(nvcc(dir.path()), env, cache);
        Self { dir, toolchain }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn compile_for(&self, source: &Path, gpu: Option<u32>) -> Result<Compiled, Failure> {
        let include_dirs = ["inc1", "inc2"].map(|f| self.dir.path().join(f));
        self.toolchain.compile(&Request {
            source,
            include_dirs: &include_dirs,
            headers: Headers::Any,
            base: self.dir.path(),
            arch: VirtualArch::default(),
            asynchronous: false,
            debugger: false,
            gpu,
        })
    }

    fn compile(&self, source: &Path) -> Result<Compiled, Failure> {
        self.compile_for(source, None)
    }

    fn calls(&self) -> usize {
        fake::calls(self.dir.path()).len()
    }
}

#[test]
fn a_kernel_compiles_once() {
    let bench = Bench::real();
    let source = bench.write("src/a.cu", KERNEL);
    let first = bench.compile(&source).unwrap();
    assert!(!first.from_cache && first.warnings.is_empty());
    assert!(first.ptx.contains(".file\t1 \"src/a.cu\""), "{}", first.ptx);
    let second = bench.compile(&source).unwrap();
    assert!(second.from_cache);
    assert_eq!(first.ptx, second.ptx);
}

#[test]
fn leaving_the_special_functions_out_changes_no_ptx() {
    let bench = Bench::real();
    let body =
        "__global__ void k(float* x, int n) { x[0] = expf(x[1]) + powf(x[2], 3) + max(n, 3); }\n";
    let plain = bench.compile(&bench.write("src/a.cu", &format!("// lean\n{body}"))).unwrap();
    let whole = bench.compile(&bench.write("src/a.cu", &format!("// std\n{body}"))).unwrap();
    assert!(!whole.from_cache);
    assert_eq!(plain.ptx, whole.ptx);
}

#[test]
fn headers_count_by_contents_and_by_place() {
    let bench = Bench::real();
    let value = |value: &str| {
        format!("#pragma once\n__device__ inline float value() {{ return {value}; }}\n")
    };
    let source = bench.write(
        "src/a.cu",
        "#include <value.cuh>\n__global__ void k(float* x) { x[0] = value(); }\n",
    );
    let constant = |bits: &str| format!("0f{bits}"); // as PTX writes floats
    let check = |bits: &str, from_cache| {
        let compiled = bench.compile(&source).unwrap();
        assert_eq!(compiled.from_cache, from_cache);
        let found = compiled.ptx.contains(&constant(bits))
            || compiled.ptx.contains(&u32::from_str_radix(bits, 16).unwrap().to_string());
        assert!(found, "{bits}: {}", compiled.ptx);
    };
    bench.write("inc2/value.cuh", &value("1.0f"));
    check("3F800000", false);
    check("3F800000", true);
    bench.write("inc2/value.cuh", &value("2.0f"));
    check("40000000", false);
    bench.write("inc1/value.cuh", &value("4.0f"));
    check("40800000", false);
    fs::remove_file(bench.dir.path().join("inc1/value.cuh")).unwrap();
    check("40000000", true);
}

#[test]
fn errors_stand_in_the_students_file() {
    let bench = Bench::real();
    let source = bench.write("src/a.cu", &KERNEL.replace("x[n]", "x[m]"));
    let failure = bench.compile(&source).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Kernel);
    let diagnostic = &failure.diagnostics[0];
    assert_eq!(diagnostic.title, "identifier \"m\" is undefined");
    let place = diagnostic.source.as_ref().unwrap();
    assert_eq!(place.path, Path::new("src/a.cu"));
    assert_eq!(&place.text[place.marks[0].span.clone()], "m");
    assert!(bench.compile(&source).is_err(), "a failure is no entry of the cache");
}

/// As an editor does that saves at the wrong moment, or somebody who wants one file's verdict for another.
#[test]
fn what_changes_while_it_is_compiled_is_not_kept_for_another() {
    let swaps = "echo '#include \"a.cuh\"\nint second;' > ${0%nvcc}src/a.cu; echo 'int late;' > ${0%nvcc}src/a.cuh\n";
    let bench = Bench::fake(&format!("{swaps}{COPIES}; cat ${{0%nvcc}}src/a.cuh >> $out"));
    let source = bench.write("src/a.cu", "#include \"a.cuh\"\nint first;\n");
    bench.write("src/a.cuh", "int early;\n");
    let first = bench.compile(&source).unwrap().ptx;
    assert!(first.contains("int first;") && first.contains("int late;"), "{first}");
    let second = bench.compile(&source).unwrap();
    assert!(!second.from_cache && second.ptx.contains("int second;"), "{}", second.ptx);
    bench.write("src/a.cu", "#include \"a.cuh\"\nint first;\n");
    bench.write("src/a.cuh", "int early;\n");
    assert!(!bench.compile(&source).unwrap().from_cache, "it was compiled with another header");
}

/// nvcc copies inline PTX; only a GPU, or its assembler, would notice.
#[test]
fn inline_ptx_must_be_what_the_architecture_has() {
    let bench = Bench::real();
    let source = |line: &str| {
        bench.write("src/a.cu", &KERNEL.replace("{\n", &format!("{{\n    asm(\"{line}\");\n")))
    };
    for (line, words) in [
        ("cp.async.wait_all;", "requires .target sm_80"),
        ("frobnicate;", "Not a name of any known instruction"),
    ] {
        let failure = bench.compile(&source(line)).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Kernel);
        let diagnostic = &failure.diagnostics[0];
        assert!(diagnostic.title.contains(words), "{}", diagnostic.title);
        let place = diagnostic.source.as_ref().unwrap();
        assert_eq!(&place.text[place.marks[0].span.clone()], format!("asm(\"{line}\");"));
    }
    assert!(bench.compile(&source("membar.gl;")).unwrap().ptx.contains("membar.gl;"));
}

#[test]
fn a_comma_subscript_is_a_warning_also_from_the_cache() {
    let bench = Bench::real();
    let source = bench.write("src/a.cu", &KERNEL.replace("x[n]", "x[n, n + 1]"));
    for from_cache in [false, true] {
        let compiled = bench.compile(&source).unwrap();
        assert_eq!(compiled.from_cache, from_cache);
        let [warning] = &compiled.warnings[..] else { panic!("{:?}", compiled.warnings) };
        let place = warning.source.as_ref().unwrap();
        assert_eq!(&place.text[place.marks[0].span.clone()], "x[n, n + 1]");
    }
}

#[test]
fn machine_code_is_made_once_and_from_the_same_ptx() {
    let bench = Bench::real();
    let source = bench.write("src/a.cu", KERNEL);
    let vm = bench.compile(&source).unwrap();
    assert_eq!(vm.machine_code, None);
    let gpu = bench.compile_for(&source, Some(90)).unwrap();
    assert!(!gpu.from_cache && gpu.ptx == vm.ptx);
    assert!(gpu.machine_code.as_ref().unwrap().starts_with(b"\x7fELF"));
    let again = bench.compile_for(&source, Some(90)).unwrap();
    assert!(again.from_cache && again.machine_code == gpu.machine_code);
}

#[test]
fn a_copy_elsewhere_is_known_and_named_by_its_own_path() {
    let bench = Bench::fake(COPIES);
    let first = bench.compile(&bench.write("src/a.cu", KERNEL)).unwrap();
    let copy = bench.compile(&bench.write("copy/a.cu", KERNEL)).unwrap();
    assert!(copy.from_cache);
    assert!(first.ptx.contains("\"src/a.cu\"") && copy.ptx.contains("\"copy/a.cu\""));
    let renamed = bench.compile(&bench.write("src/b.cu", KERNEL)).unwrap();
    assert!(!renamed.from_cache && renamed.ptx.contains("\"src/b.cu\""));
}

#[test]
fn damaged_entries_are_compiled_again() {
    let bench = Bench::fake(COPIES);
    let source = bench.write("src/a.cu", KERNEL);
    let first = bench.compile(&source).unwrap();
    let shelf = |path: &Path| fs::read_dir(path).unwrap().next().unwrap().unwrap().path();
    let entry = shelf(&shelf(&bench.dir.path().join("cache")));
    let whole = fs::read(&entry).unwrap();
    for damaged in [&whole[..whole.len() / 2], b"", &[whole.as_slice(), b"x"].concat()] {
        fs::write(&entry, damaged).unwrap();
        let again = bench.compile(&source).unwrap();
        assert!(!again.from_cache && again.ptx == first.ptx);
    }
    assert!(bench.compile(&source).unwrap().from_cache);
}

#[test]
fn a_cache_that_cannot_be_written_is_a_warning() {
    let mut bench = Bench::fake(COPIES);
    let file = bench.write("file", "");
    bench.toolchain.cache = Cache::new(file.join("cache"));
    let source = bench.write("src/a.cu", KERNEL);
    for _ in 0..2 {
        let compiled = bench.compile(&source).unwrap();
        assert!(!compiled.from_cache && compiled.ptx.contains(KERNEL));
        assert!(compiled.warnings[0].title.starts_with("cannot keep the compiled kernel"));
    }
}

#[test]
fn many_graders_at_once_get_the_same() {
    let bench = Bench::fake(&format!("sleep 0.1; {COPIES}"));
    let source = bench.write("src/a.cu", KERNEL);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| assert!(bench.compile(&source).unwrap().ptx.contains(KERNEL)));
        }
    });
    let calls = bench.calls();
    assert!(bench.compile(&source).unwrap().from_cache && bench.calls() == calls);
}

#[test]
fn a_changed_compiler_compiles_again() {
    let bench = Bench::fake(COPIES);
    let source = bench.write("src/a.cu", KERNEL);
    bench.compile(&source).unwrap();
    fake::nvcc(bench.dir.path(), "13.0", &format!("# changed\n{COPIES}"));
    assert!(!bench.compile(&source).unwrap().from_cache);
}

#[test]
fn a_file_that_cannot_be_read_is_a_mistake_of_the_command() {
    let bench = Bench::fake(COPIES);
    for path in ["src/none.cu", "src"] {
        let failure = bench.compile(&bench.dir.path().join(path)).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Usage);
        assert!(failure.diagnostics[0].title.starts_with(&format!("cannot read {path}: ")));
    }
    assert_eq!(bench.calls(), 0);
}

/// Entries of the cache are hashed. These are as if somebody had written them so: they are used, or the file is compiled again.
#[test]
fn mutated_entries_of_the_cache_are_read() {
    let bench = Bench::fake(COPIES);
    let source = bench.write("src/a.cu", KERNEL);
    bench.compile(&source).unwrap();
    let shelf = fs::read_dir(bench.dir.path().join("cache")).unwrap().flatten().next().unwrap();
    let entry = fs::read_dir(shelf.path()).unwrap().flatten().next().unwrap().path();
    let whole = fs::read(&entry).unwrap()[32..].to_vec();
    let texts = [
        "",
        "{}",
        "null",
        "{\"ptx\":\"\",\"messages\":[{}]}",
        "{\"ptx\":\".file 1 \\\"#9/x\\\"\",\"messages\":[]}",
    ];
    let mut mutants: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    for place in 0..whole.len() {
        mutants.push([&whole[..place], b"\"", &whole[place + 1..]].concat());
    }
    for mutant in mutants {
        let hash = *blake3::hash(&mutant).as_bytes();
        fs::write(&entry, [&hash[..], &mutant].concat()).unwrap();
        bench.compile(&source).unwrap();
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(4000))]

    /// Several bytes of an entry at once. What can still be read is used: its paths and messages may say anything.
    #[test]
    fn much_mutated_entries_of_the_cache_are_used(
        edits in proptest::collection::vec((0..9999_usize, proptest::sample::select(&b"\"{}[]#:,/.0199-\\ n\t"[..])), 1..6),
    ) {
        static BENCH: std::sync::OnceLock<(Bench, PathBuf, PathBuf, Vec<u8>)> = std::sync::OnceLock::new();
        let (bench, source, entry, whole) = BENCH.get_or_init(|| {
            let warns = "echo 'source/gradient_puzzles.cu(2): warning #174-D: x' >&2";
            let bench = Bench::fake(&format!("{COPIES}; {warns}"));
            let source = bench.write("src/a.cu", KERNEL);
            bench.compile(&source).unwrap();
            let shelf = fs::read_dir(bench.dir.path().join("cache")).unwrap().flatten().next();
            let entry = fs::read_dir(shelf.unwrap().path()).unwrap().flatten().next().unwrap().path();
            let whole = fs::read(&entry).unwrap()[32..].to_vec();
            (bench, source, entry, whole)
        });
        let mut mutant = whole.clone();
        for (place, byte) in edits {
            let at = place % mutant.len();
            mutant[at] = byte;
        }
        if serde_json::from_slice::<CachedPtx>(&mutant).is_ok() {
            fs::write(entry, [&blake3::hash(&mutant).as_bytes()[..], &mutant].concat()).unwrap();
            assert!(bench.compile(source).unwrap().from_cache);
        }
    }
}
