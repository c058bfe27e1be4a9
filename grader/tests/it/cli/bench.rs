//! A workbook of two small puzzles in a folder of its own, with a cache of its own.

use super::{Output, output};
use judge::grade;
use puzzle::oracle;
use puzzle::workbook::Workbook;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use toolchain::Toolchain;
use toolchain::env::Env;

/// Fails: it writes nothing.
pub const STUB: &str = "\
__global__ void double_all(const float* x, float* y, int n)
{
    // TODO: y is twice x
}
";

/// Passes: it doubles every element.
pub const RIGHT: &str = "\
__global__ void double_all(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + x[i];
}
";

const SPEC: &str = r#"
[dims]
free = ["n"]
[tensors]
x = "f32[n]"
y = "f32[n]"
[math]
forward = "y[i] = x[i] + x[i]"
[[launch]]
kernel = "double_all"
args = ["x", "y", "n"]
block = 32
grid = "ceil_div(n, 32)"
[[test]]
name = "small"
dims = { n = 5 }
[[test]]
name = "large"
dims = { n = 100 }
"#;

const CHAPTER: &str = "\
# Doubling

<details>
<summary>Hint 1 (mild): think of one thread</summary>

Every thread has *one* element, number $`i \\ge 0`$.

</details>

<details>
<summary>Hint 2 (medium): the number</summary>

```cpp
{{#include ../../solutions/02_double.cu:3}}
```

</details>

<details>
<summary>Hint 3 (strong): the sum</summary>

`y[i] = x[i] + x[i]`

</details>
";

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

pub struct Bench {
    pub dir: tempfile::TempDir,
    nvcc: PathBuf,
}

impl Bench {
    pub fn new() -> Self {
        let bench = Self::before_the_first_run();
        copy(bench.cuda_headers(), &bench.path("cache"));
        bench
    }

    /// Without a cache.
    pub fn before_the_first_run() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["puzzles", "solutions", "book/src", "kernels/include", "home"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        let toolchain = Toolchain::locate(&Env::current(), None);
        let toolchain = toolchain.unwrap_or_else(|f| panic!("{}", f.render(false)));
        let bench = Self { dir, nvcc: toolchain.nvcc().path.clone() };
        for (stem, title) in [("02_double", "Doubling"), ("05_again", "Doubling again")] {
            bench.write(&format!("puzzles/{stem}.cu"), STUB);
            bench.write(&format!("puzzles/{stem}.toml"), &format!("title = \"{title}\"{SPEC}"));
            bench.write(&format!("solutions/{stem}.cu"), RIGHT);
        }
        bench.write("book/src/02_double.md", CHAPTER);
        bench.write(
            "book/src/SUMMARY.md",
            "# Summary\n\n# First steps\n- [02](02_double.md)\n- [05](05_again.md)\n",
        );
        bench
    }

    /// A cache with the text of CUDA's headers, and nothing that another kernel could take from it: to preprocess them takes twice as long
    /// as to compile a kernel of these puzzles.
    fn cuda_headers(&self) -> &'static Path {
        static CACHE: OnceLock<tempfile::TempDir> = OnceLock::new();
        let make = || {
            let cache = tempfile::tempdir().unwrap();
            let env = Env::current().with("GRADER_CACHE", cache.path()).with("NVCC", &self.nvcc);
            let toolchain =
                Toolchain::locate(&env, None).unwrap_or_else(|f| panic!("{}", f.render(false)));
            let workbook = Workbook::open(self.dir.path()).unwrap();
            let spec = self.path("puzzles/02_double.toml");
            let spec = oracle::load(&spec, &spec).unwrap();
            let other = self.path("puzzles/02_other.cu");
            fs::write(&other, format!("{STUB}// None of the tests has this text.\n")).unwrap();
            grade::compile(&toolchain, &workbook, &spec, &other, None).unwrap();
            fs::remove_file(other).unwrap();
            cache
        };
        CACHE.get_or_init(make).path()
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.dir.path().join(file)
    }

    pub fn write(&self, file: &str, text: &str) {
        fs::write(self.path(file), text).unwrap();
    }

    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    /// The grader in the workbook, with an environment that is the same everywhere.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_grader"));
        command.args(args).current_dir(self.dir.path()).env_clear();
        for name in ["PATH", "LD_LIBRARY_PATH"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.env("HOME", self.path("home")).env("GRADER_CACHE", self.path("cache"));
        command.env("NVCC", &self.nvcc).env("LANG", "C.UTF-8").env("TERM", "xterm");
        // No repository around the folder for temporary files is meant.
        command.env("GIT_CEILING_DIRECTORIES", self.dir.path().parent().unwrap_or(Path::new("/")));
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        output(&mut self.command(args))
    }

    /// Runs what must succeed, and shows its output with this machine's paths taken out.
    pub fn page(&self, args: &[&str]) -> String {
        let out = self.run(args);
        assert_eq!(out.code, 0, "{args:?}: {}{}", out.stdout, out.stderr);
        self.redact(&out.stdout)
    }

    pub fn redact(&self, text: &str) -> String {
        let root = self.dir.path().canonicalize().unwrap();
        let text = text.replace(&root.display().to_string(), "[workbook]");
        text.replace(&self.dir.path().display().to_string(), "[workbook]")
    }

    /// Grades puzzle 2 and gives the exit code.
    pub fn grade(&self, more: &[&str]) -> i32 {
        self.run(&[&["puzzle", "2", "--backend", "vm"], more].concat()).code
    }

    /// What `grader list` says of puzzle 2, behind its title.
    pub fn state(&self) -> String {
        let list = self.page(&["list"]);
        let line = list.lines().find(|line| line.starts_with("  02")).unwrap();
        line.trim_start_matches("  02  Doubling").trim().to_owned()
    }

    /// Makes it a git repository with one commit.
    pub fn commit(&self) {
        for args in ["init -q", "add .", "-c user.name=x -c user.email=x@y commit -q -m Begin"] {
            let mut git = Command::new("git");
            git.args(args.split(' ')).current_dir(self.dir.path());
            git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
            assert!(git.status().unwrap().success());
        }
    }
}
