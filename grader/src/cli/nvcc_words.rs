//! The options of nvcc as `grader run` takes them: spelled as nvcc does, so that the words of a command line of nvcc can be used as they are.

use std::ffi::{OsStr, OsString};

/// The long options of `grader run` that nvcc also knows with one `-`.
const SHARED: [&str; 5] =
    ["std", "extended-lambda", "expt-extended-lambda", "expt-relaxed-constexpr", "use_fast_math"];

/// Options of nvcc without a value, which it is handed; `OPTION=VALUE` is one, too.
const ALONE: [&str; 22] = [
    "O",
    "O0",
    "O1",
    "O2",
    "O3",
    "g",
    "G",
    "w",
    "m64",
    "c",
    "dc",
    "dlto",
    "ptx",
    "cubin",
    "shared",
    "lineinfo",
    "generate-line-info",
    "device-debug",
    "restrict",
    "res-usage",
    "device-c",
    "src-in-ptx",
];

/// Options of nvcc whose value may be a word of its own.
const WITH_VALUE: [&str; 25] = [
    "Xcompiler",
    "compiler-options",
    "Xptxas",
    "ptxas-options",
    "Xlinker",
    "linker-options",
    "Xcudafe",
    "maxrregcount",
    "ftz",
    "fmad",
    "prec-div",
    "prec-sqrt",
    "default-stream",
    "diag-suppress",
    "Werror",
    "ccbin",
    "gencode",
    "generate-code",
    "rdc",
    "relocatable-device-code",
    "cudart",
    "o",
    "x",
    "L",
    "l",
];

/// The words of the command line, in which nvcc's options are those of `grader run` that mean the same.
pub fn understood(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let words: Vec<OsString> = words.collect();
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    if !words[..end].iter().any(|word| word == "run") {
        return words;
    }
    let mut all = Vec::new();
    let mut own = words[..end].iter();
    while let Some(word) = own.next() {
        let Some(option) = word.to_str().and_then(|word| word.strip_prefix('-')) else {
            all.push(word.clone());
            continue;
        };
        if option == "-nvcc-option" {
            // Whatever follows is its value, though it looks like an option.
            all.push(own.next().map_or_else(|| word.clone(), |value| handed(value)));
            continue;
        }
        let long = option.strip_prefix('-');
        let option = long.unwrap_or(option);
        let name = option.split('=').next().unwrap_or(option);
        let has_value = option.contains('=');
        // `-lcublas` and `-L/some/folder`, but not `-lineinfo`.
        let is_joined = long.is_none()
            && !ALONE.contains(&name)
            && ["l", "L"].iter().any(|start| option.starts_with(start) && option.len() > 1);
        if long.is_none() && matches!(name, "arch" | "gpu-architecture")
            || name == "gpu-architecture"
        {
            all.push(["--arch", &option[name.len()..]].concat().into());
        } else if long.is_none() && SHARED.contains(&name) {
            all.push(["--", option].concat().into());
        } else if ALONE.contains(&name) || is_joined || has_value && WITH_VALUE.contains(&name) {
            all.push(handed(word));
        } else if WITH_VALUE.contains(&name)
            && let Some(value) = own.next()
        {
            // nvcc wants `-lm` and `-L/folder` joined.
            let joint = if matches!(name, "l" | "L") { "" } else { "=" };
            all.push(handed(
                &[word.as_os_str(), OsStr::new(joint), value].into_iter().collect::<OsString>(),
            ));
        } else {
            all.push(word.clone());
        }
    }
    all.extend_from_slice(&words[end..]);
    all
}

fn handed(option: &OsStr) -> OsString {
    [OsStr::new("--nvcc-option="), option].into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_nvcc_are_those_of_the_grader() {
        for (words, expected) in [
            (
                "grader run x.cu -O3 -lineinfo",
                "grader run x.cu --nvcc-option=-O3 --nvcc-option=-lineinfo",
            ),
            ("grader run -arch=sm_80 x.cu", "grader run --arch=sm_80 x.cu"),
            ("grader run -arch sm_80 x.cu", "grader run --arch sm_80 x.cu"),
            ("grader run --gpu-architecture=sm_80 x.cu", "grader run --arch=sm_80 x.cu"),
            (
                "grader run -std=c++20 -use_fast_math x.cu",
                "grader run --std=c++20 --use_fast_math x.cu",
            ),
            (
                "grader run x.cu -lcublas -l m -L /x",
                "grader run x.cu --nvcc-option=-lcublas --nvcc-option=-lm --nvcc-option=-L/x",
            ),
            (
                "grader run x.cu -Xcompiler -fopenmp",
                "grader run x.cu --nvcc-option=-Xcompiler=-fopenmp",
            ),
            ("grader run x.cu -Xcompiler=-Wall", "grader run x.cu --nvcc-option=-Xcompiler=-Wall"),
            ("grader run -rdc=true x.cu", "grader run --nvcc-option=-rdc=true x.cu"),
            ("grader run --nvcc-option -lcuda x.cu", "grader run --nvcc-option=-lcuda x.cu"),
            (
                "grader run x.cu --maxrregcount 32",
                "grader run x.cu --nvcc-option=--maxrregcount=32",
            ),
            ("grader run x.cu -I inc -DN=3 --check", "grader run x.cu -I inc -DN=3 --check"),
            ("grader run x.cu -- -O3 -arch=x", "grader run x.cu -- -O3 -arch=x"),
            ("grader list -O3", "grader list -O3"),
        ] {
            let words = understood(words.split(' ').map(OsString::from));
            assert_eq!(words.join(OsStr::new(" ")), expected);
        }
    }
}
