//! Whole programs: what they print and return on the virtual machine is what they print and return on an NVIDIA H200
//! (`tests/programs/compare.sh` compares the two where there is a GPU).

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_grader"));
    command.arg("run").args(args).current_dir(folder()).env("NO_COLOR", "1");
    command.output().unwrap()
}

/// What follows `name` in the first line of a program.
fn note<'a>(source: &'a str, name: &str) -> Option<&'a str> {
    let first = source.lines().next()?;
    Some(first.split_once(name)?.1.split(" exit:").next()?.trim())
}

#[test]
fn programs_do_what_they_do_on_a_gpu() {
    let mut sources: Vec<PathBuf> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    sources.retain(|path| path.extension().is_some_and(|e| e == "cu"));
    assert!(sources.len() >= 15, "{sources:?}");
    let mut wrong = Vec::new();
    for path in sources {
        let source = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let mut args = vec!["--backend", "vm", name, "--"];
        args.extend(
            note(&source, " args:")
                .map_or(vec![], |text| text.split('"').enumerate().flat_map(arguments).collect()),
        );
        let exit = note(&source, " exit:").map_or(0, |code| code.parse().unwrap());
        let out = run(&args);
        let expected = std::fs::read_to_string(path.with_extension("out")).unwrap();
        let printed = String::from_utf8_lossy(&out.stdout);
        if printed != expected || out.status.code() != Some(exit) {
            let stderr = String::from_utf8_lossy(&out.stderr);
            wrong.push(format!("{name} ({}):\n{printed}--\n{expected}--\n{stderr}", out.status));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The words of a part of a command line; every second part stood in quotes.
fn arguments((number, part): (usize, &str)) -> Vec<&str> {
    if number % 2 == 1 { vec![part] } else { part.split_whitespace().collect() }
}

#[test]
fn findings_are_shown_with_their_line_and_fail_the_check() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("race.cu");
    let source = "#include <cstdio>\n\
        __global__ void race(int* x) {\n\
        \x20   __shared__ int s[64];\n\
        \x20   s[threadIdx.x] = threadIdx.x;\n\
        \x20   x[threadIdx.x] = s[63 - threadIdx.x];\n\
        }\n\
        int main() {\n\
        \x20   int* x;\n\
        \x20   cudaMalloc(&x, 256);\n\
        \x20   race<<<1, 64>>>(x);\n\
        \x20   std::printf(\"%d\\n\", cudaDeviceSynchronize());\n\
        }\n";
    std::fs::write(&path, source).unwrap();
    let path = path.to_str().unwrap();
    let out = run(&["--backend", "vm", path]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!((out.status.code(), text(&out.stdout)), (Some(0), "0\n".into()));
    assert!(text(&out.stderr).contains("--check shows them"), "{}", text(&out.stderr));
    let out = run(&["--check", path]);
    let stderr = text(&out.stderr);
    assert_eq!((out.status.code(), text(&out.stdout)), (Some(1), "0\n".into()));
    assert!(stderr.contains("race.cu:4:5") && stderr.contains("shared-memory race"), "{stderr}");
    assert!(stderr.contains("1 allocation of device memory never freed, 256 bytes"), "{stderr}");
}

/// The files of `grader digits`, read by the solution of puzzle 14: what it is given is what it hands out.
#[test]
fn digits_are_loaded_as_they_were_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let data = dir.path().join("data");
    let mut draw = Command::new(env!("CARGO_BIN_EXE_grader"));
    draw.args(["digits", "--train", "30", "--test", "7", "--seed", "5"]).arg(&data);
    assert!(draw.output().unwrap().status.success());
    let solution = root.join("solutions/14_mnist_pipeline.cu");
    let program = format!(
        "#include {solution:?}
        #include <string>
        int main(int, char** argv)
        {{
            std::string data = argv[1];
            for (std::string name : {{\"/train\", \"/t10k\"}}) {{
                MnistSet set;
                if (!load_mnist_images((data + name + \"-images-idx3-ubyte\").c_str(), set)) return 1;
                if (!load_mnist_labels((data + name + \"-labels-idx1-ubyte\").c_str(), set)) return 2;
                for (int i = 0; i < set.count; i++) {{
                    long sum = 0;
                    for (int p = 0; p < 784; p++)
                        sum = (sum * 31 + int(set.images[784 * i + p] * 255 + 0.5f)) % 1000003;
                    printf(\"%d %ld\\n\", set.labels[i], sum);
                }}
            }}
        }}
"
    );
    let path = dir.path().join("look.cu");
    std::fs::write(&path, program).unwrap();
    let workbook = root.to_str().unwrap();
    let (path, data) = (path.to_str().unwrap(), data.to_str().unwrap());
    let out = run(&["--workbook", workbook, "--backend", "vm", path, "--", data]);
    let mut expected = String::new();
    for digit in digits::Writer::new(5).take(37) {
        let add = |sum: u64, &pixel: &u8| (sum * 31 + u64::from(pixel)) % 1_000_003;
        writeln!(expected, "{} {}", digit.label, digit.pixels.iter().fold(0, add)).unwrap();
    }
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert_eq!(String::from_utf8_lossy(&out.stdout), expected, "{stderr}");
}

#[test]
fn what_cannot_be_run_gets_one_message() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    for (path, code, words) in [
        ("missing.cu".to_owned(), 2, "cannot read missing.cu"),
        (file("broken.cu", "int main() { retrun 0; }\n"), 1, "retrun"),
        (file("none.cu", "__global__ void k() {}\n"), 3, "it has no function `main`"),
        (file("lost.cu", "int f(int);\nint main() { return f(1); }\n"), 1, "`f(int)` is declared"),
        (file("crash.cu", "int main() { *(volatile int*)8 = 1; }\n"), 139, ""),
    ] {
        let out = run(&["--backend", "vm", &path]);
        let stderr = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(code), "{path}: {stderr}");
        assert!(stderr.contains(words), "{path}: {stderr}");
    }
}
