use super::*;
use crate::Toolchain;
use crate::cache::Cache;
use crate::env::Env;
use crate::fake::program;
use crate::find::Nvcc;

#[test]
fn macros_are_those_that_are_left() {
    let before = "#define A 1\n#define B 2\n#define C(x) x\n";
    let after = "# 1 \"a.h\" 1\n#define D(x) x\n#define E 5\n#undef E\n# 1 \"s.h\" 1 3 4\n#define F 6\n\
                 #define A 1\n#define C(x) 7\n# 2 \"a.h\" 2\nint x;\n#define G\n";
    let [own, system] = macros(before, after);
    assert_eq!(own, "#undef B\n#define D(x) x\n#define G\n");
    assert_eq!(system, "#pragma GCC system_header\n#undef C\n#define C(x) 7\n#define F 6\n");
}

#[test]
fn other_commands_are_nvccs_own_business() {
    let lines = [
        "#$ CICC_PATH=/c",
        "#$ gcc -E -include \"cuda_runtime.h\" -m64 \"source/gradient_puzzles.cu\" -o \"g.cpp1.ii\" ",
        "#$ \"$CICC_PATH/cicc\" --orig_src_path_name \"/f/source/g.cu\" \"g.cpp1.ii\" -o \"/t/out.ptx\"",
    ];
    let read = |lines: &[&str]| Commands::read(&lines.join("\n"), "/f".as_ref(), "/t".as_ref());
    let commands = read(&lines).unwrap();
    assert_eq!(commands.preprocess, "gcc -E -m64 \"source/gradient_puzzles.cu\" -o \"g.cpp1.ii\"");
    assert_eq!(commands.includes, " -include \"cuda_runtime.h\"");
    assert!(
        commands
            .compile
            .ends_with("\"@folder@/source/g.cu\" \"g.cpp1.ii\" -o \"@folder@/out.ptx\"")
    );
    assert_eq!(commands.preprocessed, "g.cpp1.ii");
    assert_eq!(read(&lines[..2]), None);
    assert_eq!(read(&[lines[0], lines[2], lines[1]]), None);
    assert_eq!(read(&[&lines[..], &["#$ ptxas x"]].concat()), None);
}

/// A kernel file in a folder.
fn job(folder: &Path) -> Job<'_> {
    Job { library: StandardLibrary::Unnamed, ..Job::new(folder, "k.cu".as_ref(), b"") }
}

/// The PTX and the messages of nvcc, and those of its commands run here; `None` where this is left to nvcc.
fn both_ways(
    text: &str,
    library: StandardLibrary,
    beside: &[&str],
) -> [Option<(String, String)>; 2] {
    let env = Env::current();
    let nvcc = Toolchain::locate(&env, None).expect("the tests need an nvcc").nvcc().clone();
    let dir = tempfile::tempdir().unwrap();
    let nvcc = NvccFrontEnd::new(nvcc, env, Cache::new(dir.path().join("cache")));
    let folder = dir.path().join("own");
    fs::create_dir(&folder).unwrap();
    for name in beside {
        fs::write(folder.join(name), "").unwrap();
    }
    let job = Job { text: text.as_bytes(), library, ..job(&folder) };
    // The same folder for both: it is a part of the names of what only this source can see.
    let scratch = scratch().unwrap();
    let stage = Stage::new(&job, scratch.path()).unwrap();
    let ptx = scratch.path().join("out.ptx");
    let arguments = nvcc.arguments(&job, &stage, &ptx);
    [false, true].map(|direct| {
        let done = if direct {
            // The second time as it was kept the first time.
            run(&nvcc, &job, &stage, &arguments).unwrap()?;
            run(&nvcc, &job, &stage, &arguments).unwrap()?
        } else {
            nvcc.run(Place::of(&job, scratch.path()), &arguments).unwrap()
        };
        let made = fs::read_to_string(&ptx).unwrap_or_default();
        // What fails leaves nothing.
        let _ = fs::remove_file(&ptx);
        Some((made, done.stderr_text()))
    })
}

#[test]
fn ptx_and_messages_are_those_of_nvcc() {
    let plain = "#include <math.h>\n#include <float.h>\n#include \"cuda_runtime.h\"\n#include <stdio.h>\n\
                 __global__ void k(float* x) {\n  int unused;\n  float m = x == NULL ? FLT_MAX : -INFINITY;\n\
                   printf(\"%d\", __LINE__);\n  x[threadIdx.x] = fmaxf(m, (float)M_PI) * __expf(*x);\n}\n";
    let half =
        "#include <cuda_fp16.h>\n__global__ void k(__half2* x) { *x = __hmul2(*x, x[1]); }\n";
    let standard = "#include <algorithm>\n__global__ void k(int* x) { *x = std::min(*x, 3); }\n";
    let wrong = "#include <assert.h>\n__global__ void k(float* x) { assert(x); *x = y; }\n";
    for (text, library) in [
        (plain, StandardLibrary::Unnamed),
        (half, StandardLibrary::Unnamed),
        (standard, StandardLibrary::WithoutSpecialFunctions),
        (wrong, StandardLibrary::Unnamed),
    ] {
        let [nvcc, direct] = both_ways(text, library, &[]);
        assert!(direct.is_some() && nvcc == direct, "{text}\n{nvcc:?}\n{direct:?}");
    }
}

#[test]
fn what_the_preprocessor_says_and_headers_of_the_users_are_left_to_nvcc() {
    let said = "#warning here\n__global__ void k() {}\n";
    let kernel = "__global__ void k() {}\n";
    for (text, beside) in [(said, &[][..]), (kernel, &["builtin_types.h"]), (kernel, &["crt"])] {
        assert_eq!(both_ways(text, StandardLibrary::Unnamed, beside)[1], None);
    }
}

/// A front end with these seconds for each of its programs, and its cache's folder.
fn bounded(seconds: u64) -> (tempfile::TempDir, NvccFrontEnd) {
    let env = Env::current();
    let nvcc = Toolchain::locate(&env, None).expect("the tests need an nvcc").nvcc().clone();
    let dir = tempfile::tempdir().unwrap();
    let mut nvcc = NvccFrontEnd::new(nvcc, env, Cache::new(dir.path().join("cache")));
    let scratch = scratch().unwrap();
    let job = Job { text: b"", ..job(dir.path()) };
    let stage = Stage::new(&job, scratch.path()).unwrap();
    let arguments = nvcc.arguments(&job, &stage, &scratch.path().join("out.ptx"));
    kept(&nvcc, scratch.path(), &arguments).unwrap().expect("this nvcc is known");
    nvcc.bounds.own_cpu_seconds = seconds;
    (dir, nvcc)
}

#[test]
fn what_the_preprocessor_never_ends_is_not_begun_again() {
    let (dir, nvcc) = bounded(1);
    let folder = dir.path().join("own");
    fs::create_dir(&folder).unwrap();
    let twice = "#if __INCLUDE_LEVEL__ < 60\n#include \"a.cuh\"\n#include \"a.cuh\"\n#endif\n";
    fs::write(folder.join("a.cuh"), twice).unwrap();
    let job = Job { text: b"#include \"a.cuh\"\n", ..job(&folder) };
    let scratch = scratch().unwrap();
    let stage = Stage::new(&job, scratch.path()).unwrap();
    let arguments = nvcc.arguments(&job, &stage, &scratch.path().join("out.ptx"));
    let done = run(&nvcc, &job, &stage, &arguments).unwrap().expect("nvcc is not asked");
    assert!(!done.success(), "{}", done.stderr_text());
}

/// Templates that instantiate each other 2^28 times, and a front end that has two seconds: the source is at fault, not the machine.
#[test]
fn a_template_bomb_ends_with_its_processor_time() {
    let (dir, nvcc) = bounded(2);
    let text = "template <int N, int M> struct B { static const int v = B<N - 1, 2 * M>::v + B<N - 1, 2 * M + 1>::v; };\n\
                template <int M> struct B<0, M> { static const int v = M; };\n\
                __global__ void k(int* p) { *p = B<28, 0>::v; }\n";
    let failure = nvcc.ptx(&Job { text: text.as_bytes(), ..job(dir.path()) }).unwrap_err();
    assert_eq!(failure.kind, diagnostic::FailureKind::Kernel);
    let said = failure.render(false);
    assert!(said.contains("still compiling after 2 s of processor time"), "{said}");
}

/// Programs that are killed or have no memory once, a header that is not there, a half of what was kept: the next time all is well.
#[test]
fn a_fault_that_passes_is_not_remembered() {
    let env = Env::current();
    let real = Toolchain::locate(&env, None).expect("the tests need an nvcc").nvcc().clone();
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let faults = [at("nvcc is killed"), at("gcc has no memory"), at("gcc is killed")];
    let [nvcc_killed, no_memory, gcc_killed] = faults.each_ref().map(|path| path.display());
    let script = |body: String| format!("#!/bin/sh\n{body} \"$@\"\n");
    let gcc = env.find_program("gcc").expect("the tests need gcc");
    let path = program(
        &at("bin/nvcc"),
        &script(format!("[ -e '{nvcc_killed}' ] && kill -9 $$\nexec {}", real.path.display())),
    );
    program(
        &at("bin/gcc"),
        &script(format!(
            "[ -e '{no_memory}' ] && {{ echo 'cc1plus: out of memory' >&2; exit 1; }}\n\
             [ -e '{gcc_killed}' ] && kill -9 $$\nexec {}",
            gcc.display()
        )),
    );
    let folders = [vec![at("bin")], env.folders("PATH")].concat();
    let env = env.with("PATH", std::env::join_paths(folders).unwrap());
    let nvcc = NvccFrontEnd::new(Nvcc { path, ..real }, env, Cache::new(at("cache")));
    let job = Job { text: b"", ..job(dir.path()) };
    let scratch = scratch().unwrap();
    let stage = Stage::new(&job, scratch.path()).unwrap();
    let arguments = nvcc.arguments(&job, &stage, &scratch.path().join("out.ptx"));
    let is_possible = || kept(&nvcc, scratch.path(), &arguments).unwrap().is_some();
    for fault in &faults {
        fs::write(fault, "").unwrap();
        assert!(!is_possible(), "{}", fault.display());
        fs::remove_file(fault).unwrap();
    }
    assert!(is_possible());
    for fault in &faults {
        fs::write(fault, "").unwrap();
    }
    assert!(is_possible(), "it was kept");
    // The headers' text is by far the larger entry.
    let folders = fs::read_dir(at("cache")).unwrap().map(|folder| folder.unwrap().path());
    let entries = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    let entries = entries.map(|entry| entry.unwrap().path());
    fs::remove_file(entries.max_by_key(|path| path.metadata().unwrap().len()).unwrap()).unwrap();
    assert!(!is_possible());
    for fault in &faults {
        fs::remove_file(fault).unwrap();
    }
    assert!(is_possible());
}
