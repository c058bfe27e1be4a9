use super::*;
use crate::cache::Cache;
use crate::env::Env;
use crate::fake::{nvcc, program};
use crate::find::{Nvcc, Origin, Version};
use crate::usage::StandardLibrary;
use diagnostic::FailureKind;
use std::ffi::OsStr;
use std::fs;
use std::time::Duration;

/// The plan that the stand-in for nvcc answers with, for the folders of `$T` (scratch) and `$D` (the programs').
const PLAN: &str = r#"#$ PATH=$D/bin:/usr/bin:/bin
#$ CICC_PATH=$D/bin
#$ gcc -E "k.cu" -o "$T/k.cpp4.ii"
#$ cudafe++ --gen_c_file_name "$T/k.cudafe1.cpp" --stub_file_name "k.stub.c" --gen_module_id_file --module_id_file_name "$T/k.module_id" "$T/k.cpp4.ii"
#$ gcc -E "k.cu" -o "$T/k.cpp1.ii"
#$ "$CICC_PATH/cicc" --module_id_file_name "$T/k.module_id" --stub_file_name "$T/k.stub.c" "$T/k.cpp1.ii" -o "$T/k.ptx"
#$ fatbinary --image=$T/k.ptx --embedded-fatbin="$T/k.fatbin.c"
#$ gcc -c -x c++ "$T/k.cudafe1.cpp" -o "$T/k.o"
#$ gcc -c -x c++ "$T/glue.cpp" -o "$T/glue.o"
#$ g++ "$T/k.o" "$T/glue.o" -o "$T/out""#;

/// A stand-in for nvcc and the programs that it would run. Each writes its name and the file that it makes to `log`; a
/// program does what stands in a file `NAME.OUTPUT` first.
struct Bench {
    dir: tempfile::TempDir,
    nvcc: NvccFrontEnd,
    device_code: bool,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().display().to_string();
        let plan = PLAN.replace("$D", &root).replace("#$ ", "#\\$ ").replace("$CICC", "\\$CICC");
        let body = format!(
            "if [ \"$1\" = --dryrun ]; then\nT=$4\n[ -e {root}/stray ] && echo 'nvcc warning : x' >&2\n\
             cat >&2 <<EOF\n{plan}\nEOF\nexit; fi\necho nvcc >> {root}/log; echo plain > $out; echo 'plain nvcc' >&2"
        );
        let version = Version { major: 13, minor: 0, patch: 88 };
        let nvcc = Nvcc { path: nvcc(dir.path(), "13.0", &body), version, origin: Origin::Path };
        // The host compiler makes the source and the kernels its object, and the linker joins objects.
        for (name, action) in [
            (
                "gcc",
                "case \"$*\" in *cudafe1*) cat $in ${in%.cudafe1.cpp}.fatbin.c > $out;; *) echo $in > $out;; esac",
            ),
            ("cudafe++", "out=$2; tail -n +2 source/*.cu > $out"),
            ("cicc", "echo stub > $4; echo ptx > $out"),
            ("fatbinary", "out=${2#*=}; cp KERNELS $out"),
            ("g++", "cat $1 $2 > $out"),
        ] {
            let script = format!(
                "#!/bin/sh\nfor a; do\n[ \"$last\" = -o ] && out=$a\n[ \"$last\" = c++ ] && in=$a\nlast=$a\ndone\n\
                 made=${{out##*/}}; before={root}/{name}.$made\n[ -e $before ] && . $before\n{}\n\
                 echo {name} ${{out##*/}} >> {root}/log\n",
                action.replace("KERNELS", &format!("{root}/kernels"))
            );
            program(&dir.path().join("bin").join(name), &script);
        }
        let env = Env::default().with("PATH", "/usr/bin:/bin");
        let nvcc = NvccFrontEnd::new(nvcc, env, Cache::new(dir.path().join("cache/compiled")));
        let bench = Self { dir, nvcc, device_code: true };
        bench.write("k.cu", "host");
        bench.write("kernels", "kernels");
        bench
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.path().join(name), format!("{text}\n")).unwrap();
    }

    fn run(&self) -> Result<(Finished, String), Failure> {
        let _ = fs::remove_file(self.dir.path().join("log"));
        let scratch = tempfile::tempdir().unwrap();
        let text = fs::read(self.dir.path().join("k.cu")).unwrap();
        let job = Job {
            library: StandardLibrary::Unnamed,
            device_code: self.device_code,
            ..Job::new(self.dir.path(), OsStr::new("k.cu"), &text)
        };
        let inputs = Some(crate::cache::Key::of("glue", []));
        let glue = Glue { text: "", inputs };
        let file = scratch.path().join("glue.cpp");
        let out = scratch.path().join("out");
        let stage = Stage::new(&job, scratch.path()).unwrap();
        let arguments = [Stage::source(), "-o".into(), out.clone().into_os_string()];
        let done = self.nvcc.run_side_by_side(&job, &stage, &glue, &file, &arguments)?;
        Ok((done, fs::read_to_string(out).unwrap_or_default()))
    }

    /// What ran, in no order: what runs side by side ends in any.
    fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    }

    fn ran(&self, line: &str) -> usize {
        self.log().iter().filter(|l| *l == line).count()
    }
}

#[test]
fn all_commands_of_the_plan_run() {
    let bench = Bench::new();
    bench.write("gcc.k.cpp4.ii", "echo from the host >&2");
    bench.write("gcc.k.cpp1.ii", "echo from the device >&2");
    let (done, library) = bench.run().unwrap();
    assert!(done.success());
    // In nvcc's order, whichever comes first.
    assert_eq!(done.stderr_text(), "from the host\nfrom the device\n");
    assert!(library.starts_with("host\nkernels\n") && library.ends_with("glue.cpp\n"), "{library}");
    let all = [
        "cicc k.ptx",
        "cudafe++ k.cudafe1.cpp",
        "fatbinary k.fatbin.c",
        "g++ out",
        "gcc glue.o",
        "gcc k.cpp1.ii",
        "gcc k.cpp4.ii",
        "gcc k.o",
    ];
    assert_eq!(bench.log(), all);
}

#[test]
fn the_glue_is_compiled_once() {
    let bench = Bench::new();
    let first = bench.run().unwrap().1;
    bench.write("k.cu", "edited");
    let second = bench.run().unwrap().1;
    assert_eq!(bench.ran("gcc glue.o"), 0);
    assert_eq!(
        first.lines().last(),
        second.lines().last().filter(|line| line.ends_with("glue.cpp"))
    );
}

/// The second host compilation starts before the kernels are there, and counts only if they are the same.
#[test]
fn the_host_compiler_starts_early() {
    let bench = Bench::new();
    bench.run().unwrap();
    bench.write("k.cu", "edited");
    bench.write("cicc.k.ptx", "sleep 0.5");
    let (done, library) = bench.run().unwrap();
    assert!(done.success() && library.starts_with("edited\nkernels\n"), "{library}");
    assert_eq!(bench.ran("gcc k.o"), 1);
    bench.write("kernels", "other kernels");
    let (done, library) = bench.run().unwrap();
    assert!(done.success() && library.starts_with("edited\nother kernels\n"), "{library}");
    assert_eq!(bench.ran("gcc k.o"), 2);
    // What failed early may succeed with the kernels that are there now.
    bench.write("gcc.k.o", "[ \"${out%early/k.o}\" = \"$out\" ] || exit 1");
    bench.write("kernels", "third kernels");
    let (done, library) = bench.run().unwrap();
    assert!(done.success() && library.starts_with("edited\nthird kernels\n"), "{library}");
}

#[test]
fn the_first_failure_in_nvccs_order_counts() {
    let bench = Bench::new();
    bench.write("cudafe++.", "sleep 0.3; echo host error >&2; exit 2");
    bench.write("cicc.k.ptx", "echo device error >&2; exit 3");
    let (done, _) = bench.run().unwrap();
    assert_eq!((done.ending, done.stderr_text()), (Termination::Code(2), "host error\n".into()));
    assert_eq!(bench.ran("gcc k.o") + bench.ran("g++ out"), 0);
}

#[test]
fn what_is_in_vain_is_stopped() {
    let bench = Bench::new();
    bench.write("cudafe++.", "echo host error >&2; exit 2");
    bench.write("cicc.k.ptx", "sleep 60");
    bench.write("gcc.glue.o", "sleep 60");
    let (done, _) = bench.run().unwrap();
    assert_eq!((done.ending, done.stderr_text()), (Termination::Code(2), "host error\n".into()));
    assert!(done.time < Duration::from_secs(30), "{:?}", done.time);
}

#[test]
fn without_device_code_there_is_no_device_compiler() {
    let bench = Bench { device_code: false, ..Bench::new() };
    let (done, library) = bench.run().unwrap();
    assert!(done.success() && library.starts_with("host\n"), "{library}");
    assert_eq!(bench.ran("cicc k.ptx") + bench.ran("gcc k.cpp1.ii"), 0);
    // The front end's errors are the student's; what the host compiler does not know may be device code after all.
    bench.write("cudafe++.", "echo host error >&2; exit 2");
    assert_eq!(bench.run().unwrap().0.stderr_text(), "host error\n");
    fs::remove_file(bench.dir.path().join("cudafe++.")).unwrap();
    bench.write("gcc.k.o", "exit 1");
    assert_eq!(bench.run().unwrap().1, "plain\n");
}

#[test]
fn the_unexpected_is_left_to_nvcc() {
    let bench = Bench::new();
    bench.write("stray", "");
    let (done, library) = bench.run().unwrap();
    assert_eq!((library, done.stderr_text()), ("plain\n".into(), "plain nvcc\n".into()));
    assert_eq!(bench.log(), ["nvcc"]);
    fs::remove_file(bench.dir.path().join("stray")).unwrap();
    // A crash, which nvcc words better.
    bench.write("cicc.k.ptx", "exit 139");
    assert_eq!(bench.run().unwrap().1, "plain\n");
    bench.write("cicc.k.ptx", "kill -SEGV $$");
    assert_eq!(bench.run().unwrap().1, "plain\n");
}

#[test]
fn the_time_is_that_of_one_compilation() {
    let mut bench = Bench::new();
    bench.nvcc.bounds.time = Duration::from_millis(700);
    bench.write("cicc.k.ptx", "sleep 60");
    let (done, _) = bench.run().unwrap();
    assert_eq!(done.ending, Termination::TimedOut);
    assert!(done.time < Duration::from_secs(30), "{:?}", done.time);
}

#[test]
fn a_full_disk_is_told() {
    let bench = Bench::new();
    // The scratch folder is gone when the module's name is to be written.
    let body = "#!/bin/sh\n[ \"$1\" = --dryrun ] && rm -r \"$4\"\n";
    let script = fs::read_to_string(bench.dir.path().join("nvcc")).unwrap();
    let script = script.replacen("#!/bin/sh\n", body, 1);
    program(&bench.dir.path().join("nvcc"), &script);
    let failure = bench.run().unwrap_err();
    assert_eq!(failure.kind, FailureKind::Environment);
    assert!(failure.diagnostics[0].title.contains("temporary files"));
}
