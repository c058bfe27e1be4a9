//! The files of a new puzzle. They make up a small puzzle that passes every check, to be changed step by step.

use diagnostic::{Failure, FailureKind};
use puzzle::workbook::{Workbook, number_of};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What a new puzzle starts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Template {
    /// One thread per element: a product.
    Product,
    /// Blocks that add up in shared memory: two launches with a workspace, a constant, gates and bit-equal runs.
    Sum,
}

impl Template {
    /// The texts of stub, spec, solution, wrong kernels and chapter.
    fn texts(self) -> [&'static str; 5] {
        match self {
            Self::Product => [
                include_str!("stub.cu"),
                include_str!("spec.toml"),
                include_str!("solution.cu"),
                include_str!("wrong.toml"),
                include_str!("chapter.md"),
            ],
            Self::Sum => [
                include_str!("sum/stub.cu"),
                include_str!("sum/spec.toml"),
                include_str!("sum/solution.cu"),
                include_str!("sum/wrong.toml"),
                include_str!("sum/chapter.md"),
            ],
        }
    }
}

/// The names of a new puzzle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The name of its files, such as `51_my_puzzle`.
    pub stem: String,
    /// The title, such as "My puzzle".
    pub title: String,
    /// The name of the `__global__` function.
    pub kernel: String,
}

impl Names {
    /// The names of a puzzle. If title or kernel is `None`, it is derived from the stem.
    ///
    /// # Errors
    /// The stem does not have the form `NN_name`, or a name is not valid in CUDA and TOML.
    pub fn new(stem: &str, title: Option<&str>, kernel: Option<&str>) -> Result<Self, Failure> {
        let name = stem.split_once('_').map_or("", |(_, name)| name);
        let is_word = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if number_of(stem).is_none() || !is_word(name) {
            return Err(usage(
                format!("`{stem}` is not a valid name for a puzzle"),
                "a name is a number of two or more digits and a word, such as 51_my_puzzle",
            ));
        }
        let kernel = kernel.unwrap_or(name);
        if !is_word(kernel) || kernel.is_empty() || kernel.starts_with(|c: char| c.is_ascii_digit())
        {
            return Err(usage(
                format!("`{kernel}` is not a valid name for a kernel"),
                "use letters, digits and underscores, as in --kernel my_kernel",
            ));
        }
        let title = title.map_or_else(|| title_of(name), |title| title.trim().to_owned());
        if title.is_empty() || title.contains(['"', '\\', '\n']) {
            return Err(usage(
                format!("`{title}` is not a valid title"),
                "use a few words, without quotes and backslashes",
            ));
        }
        Ok(Self { stem: stem.to_owned(), title, kernel: kernel.to_owned() })
    }

    fn fill(&self, text: &str) -> String {
        let (number, name) = self.stem.split_once('_').unwrap_or((&self.stem, &self.stem));
        let plain = number.trim_start_matches('0');
        text.replace("@STEM@", &self.stem)
            .replace("@NUMBER@", number)
            .replace("@PLAIN@", plain)
            .replace("@NAME@", name)
            .replace("@TITLE@", &self.title)
            .replace("@KERNEL@", &self.kernel)
    }
}

/// The title for a name: "My puzzle" for `my_puzzle`.
fn title_of(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}

/// Writes the five files of a puzzle, and its line in the book's summary; returns their paths. Never overwrites a file.
///
/// # Errors
/// The number is taken, or one of the files exists already or cannot be written.
pub fn write(
    workbook: &Workbook,
    names: &Names,
    template: Template,
) -> Result<Vec<PathBuf>, Failure> {
    let number = number_of(&names.stem);
    if let Some(other) = workbook.puzzles().iter().find(|p| Some(p.number) == number) {
        let highest = workbook.puzzles().iter().map(|p| p.number).max().unwrap_or(0);
        return Err(usage(
            format!("puzzle {} exists already: {}", other.number, other.stem),
            &format!("choose another number; {} is free", highest + 1),
        ));
    }
    let stem = &names.stem;
    let [stub, spec, solution, wrong, chapter] = template.texts();
    let files = [
        (format!("puzzles/{stem}.cu"), stub),
        (format!("puzzles/{stem}.toml"), spec),
        (format!("solutions/{stem}.cu"), solution),
        (format!("solutions/{stem}.toml"), wrong),
        (format!("book/src/{stem}.md"), chapter),
    ];
    if let Some((taken, _)) = files.iter().find(|(path, _)| workbook.root().join(path).exists()) {
        return Err(usage(
            format!("{taken} exists already"),
            "move it away, or choose another name",
        ));
    }
    let mut written = Vec::new();
    for (path, text) in files {
        create(&workbook.root().join(&path), &names.fill(text))
            .map_err(|e| unwritable(Path::new(&path), &e))?;
        written.push(PathBuf::from(path));
    }
    let summary = PathBuf::from("book/src/SUMMARY.md");
    let path = workbook.root().join(&summary);
    match std::fs::read_to_string(&path) {
        Ok(text) => replace(&path, &with_chapter(&text, names)),
        // The first puzzle of an empty workbook.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            create(&path, &with_chapter("# Summary\n\n", names))
        }
        Err(e) => Err(e),
    }
    .map_err(|e| unwritable(&summary, &e))?;
    written.push(summary);
    Ok(written)
}

fn create(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

/// Replaces a file atomically.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let mut new = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    new.write_all(text.as_bytes())?;
    new.as_file().set_permissions(std::fs::metadata(path)?.permissions())?;
    new.persist(path)?;
    Ok(())
}

/// The summary with a line for the chapter: after the last puzzle with a smaller number, else before the first one.
fn with_chapter(summary: &str, names: &Names) -> String {
    let number = names.stem.split('_').next().unwrap_or_default();
    let new = format!("- [{number} {}]({}.md)", names.title, names.stem);
    let of_line = |line: &str| {
        let stem = line.split_once("](")?.1.split_once(".md)")?.0;
        number_of(stem)
    };
    let own = number_of(&names.stem);
    let lines: Vec<&str> = summary.lines().collect();
    let after = lines.iter().rposition(|line| of_line(line).is_some_and(|n| Some(n) < own));
    let before = lines.iter().position(|line| of_line(line).is_some());
    let at = after.map(|i| i + 1).or(before).unwrap_or(lines.len());
    let mut lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
    lines.insert(at, new);
    lines.join("\n") + "\n"
}

fn usage(title: String, help: &str) -> Failure {
    Failure::new(FailureKind::Usage, title, help)
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let title = format!("cannot write {}: {error}", path.display());
    Failure::new(
        FailureKind::Environment,
        title,
        "make the workbook's folders writable, and free some disk space",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_the_stem() {
        let names = Names::new("51_my_puzzle", None, None).unwrap();
        assert_eq!((names.title.as_str(), names.kernel.as_str()), ("My puzzle", "my_puzzle"));
        let given = Names::new("51_my_puzzle", Some(" Ours "), Some("k")).unwrap();
        assert_eq!((given.title.as_str(), given.kernel.as_str()), ("Ours", "k"));
        for (stem, title, kernel) in [
            ("my_puzzle", None, None),
            ("5_x", None, None),
            ("51_", None, None),
            ("51_my puzzle", None, None),
            ("51_../x", None, None),
            ("51_x", Some(" "), None),
            ("51_x", Some("a \"b\""), None),
            ("51_x", None, Some("1k")),
            ("51_3d", None, None),
        ] {
            assert!(Names::new(stem, title, kernel).is_err(), "{stem} {title:?} {kernel:?}");
        }
    }

    #[test]
    fn the_summary_stays_in_the_order_of_numbers() {
        let names = Names::new("05_five", None, None).unwrap();
        let line = "- [05 Five](05_five.md)";
        for (summary, expected) in [
            (
                "# S\n- [04](04_a.md)\n- [06](06_b.md)\n# T\n",
                vec!["# S", "- [04](04_a.md)", line, "- [06](06_b.md)", "# T"],
            ),
            ("# S\n- [06](06_b.md)\n", vec!["# S", line, "- [06](06_b.md)"]),
            ("# S\n", vec!["# S", line]),
        ] {
            assert_eq!(with_chapter(summary, &names).lines().collect::<Vec<_>>(), expected);
        }
    }
}
