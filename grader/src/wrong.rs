//! The wrong kernels of a puzzle: replacements in its solution, each with the test or finding that must catch it; and
//! changes of the solution that its author has found to be equivalent to it.

use diagnostic::{Diagnostic, Mark, Severity, Source};
use diagnostic::{Failure, FailureKind};
use judge::verdict::TestVerdict;
use puzzle::spec::{DRAWN, Spec};
use serde::Deserialize;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// A kernel with a mistake that a student could make.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongKernel {
    /// The mistake, in a few words.
    pub name: String,
    /// The test that must fail, or the finding ([`device::finding::Problem::name`]) that must be reported.
    pub caught_by: String,
    /// Words that the report of the test which catches it must contain, if the file gives them.
    pub says: Option<String>,
    /// The complete source.
    pub source: String,
}

/// What holds a report to naming the cause of a wrong kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// The finding that must catch it: its message is the cause.
    Finding,
    /// The words that the report must contain.
    Words,
}

impl WrongKernel {
    /// What holds the report to naming the cause; `None` if a test must fail, whatever the report says.
    pub fn named_by(&self, spec: &Spec) -> Option<NamedBy> {
        let is_test =
            self.caught_by == DRAWN || spec.tests.iter().any(|test| test.name == self.caught_by);
        match &self.says {
            Some(_) => Some(NamedBy::Words),
            None => (!is_test).then_some(NamedBy::Finding),
        }
    }

    /// Whether the test or finding that must catch this kernel did so.
    pub fn is_caught(&self, verdicts: &[TestVerdict]) -> bool {
        verdicts.iter().any(|verdict| {
            (verdict.test == self.caught_by && !verdict.passed())
                || verdict.findings.iter().any(|finding| finding.problem.name() == self.caught_by)
                || (self.caught_by == "unwritten"
                    && verdict.diffs.iter().any(|diff| diff.unwritten_count > 0))
        })
    }
}

/// A change of the solution without effect, which mutation testing must not report.
#[derive(Clone, Debug, PartialEq)]
pub struct Equivalent {
    /// Why it has no effect.
    pub reason: String,
    /// The complete source.
    pub source: String,
}

/// The contents of `solutions/NN_name.toml`.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongKernels {
    /// The wrong kernels, each of which must be caught.
    pub kernels: Vec<WrongKernel>,
    /// The equivalent changes, which no test can catch.
    pub equivalents: Vec<Equivalent>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    wrong: Vec<RawWrong>,
    #[serde(default)]
    equivalent: Vec<RawEquivalent>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEquivalent {
    reason: Spanned<String>,
    mutants: Vec<RawReplace>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWrong {
    name: Spanned<String>,
    caught_by: String,
    says: Option<String>,
    from: Option<Spanned<String>>,
    to: Option<String>,
    #[serde(default)]
    replace: Vec<RawReplace>,
}

impl RawWrong {
    /// All replacements in order: the one that stands in the kernel itself, and those of its list. `None` if one of `from` and `to`
    /// is missing.
    fn replacements(&mut self) -> Option<Vec<RawReplace>> {
        let own = match (self.from.take(), self.to.take()) {
            (Some(from), Some(to)) => Some(RawReplace { from, to }),
            (None, None) => None,
            _ => return None,
        };
        Some(own.into_iter().chain(std::mem::take(&mut self.replace)).collect())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReplace {
    from: Spanned<String>,
    to: String,
}

/// Reads `text` (the contents of `solutions/NN_name.toml`, shown as `path`) and applies it to `solution`.
///
/// # Errors
/// The file does not have the form described in the book, a name occurs twice, a reason is missing, or a `from` does
/// not occur exactly once in the solution.
pub fn parse(text: &str, path: &Path, solution: &str) -> Result<WrongKernels, Failure> {
    let error = |span: Range<usize>, title: String, help: &str| {
        Failure::at(
            FailureKind::Usage,
            Diagnostic {
                severity: Severity::Error,
                title,
                source: Some(Source {
                    path: path.to_path_buf(),
                    text: text.to_owned(),
                    marks: vec![Mark { span, label: String::new() }],
                }),
                help: vec![help.to_owned()],
            },
        )
    };
    let file: RawFile = toml::from_str(text).map_err(|e| {
        let help = "each wrong kernel is a [[wrong]] with name, caught_by, from and to, or [[wrong.replace]] tables of from and to; \
                    changes that do the same are an [[equivalent]] with reason and mutants, a list of { from, to }";
        error(e.span().unwrap_or(0..0), e.message().to_owned(), help)
    })?;
    let apply = |source: &str, replace: &RawReplace| {
        let from = replace.from.get_ref();
        match source.matches(from.as_str()).count() {
            1 => Ok(source.replacen(from.as_str(), &replace.to, 1)),
            n => Err(error(
                replace.from.span(),
                format!("this text occurs {n} times in the solution"),
                "write more of the line, so that it occurs exactly once",
            )),
        }
    };
    let mut kernels: Vec<WrongKernel> = Vec::new();
    for mut raw in file.wrong {
        if kernels.iter().any(|k| k.name == *raw.name.get_ref()) {
            return Err(error(
                raw.name.span(),
                format!("`{}` occurs twice", raw.name.get_ref()),
                "give each its own name",
            ));
        }
        let Some(replacements) = raw.replacements() else {
            let help = "a replacement has both";
            return Err(error(raw.name.span(), "one of `from` and `to` is missing".into(), help));
        };
        let mut source = solution.to_owned();
        for replace in &replacements {
            source = apply(&source, replace)?;
        }
        if source == solution {
            return Err(error(
                raw.name.span(),
                "this kernel is the solution itself".into(),
                "replace at least one thing",
            ));
        }
        let (name, caught_by, says) = (raw.name.into_inner(), raw.caught_by, raw.says);
        kernels.push(WrongKernel { name, caught_by, says, source });
    }
    let mut equivalents = Vec::new();
    for raw in file.equivalent {
        if raw.reason.get_ref().trim().is_empty() {
            let help = "say why no input distinguishes these kernels from the solution";
            return Err(error(raw.reason.span(), "a reason is missing".into(), help));
        }
        for replace in &raw.mutants {
            let source = apply(solution, replace)?;
            equivalents.push(Equivalent { reason: raw.reason.get_ref().clone(), source });
        }
    }
    Ok(WrongKernels { kernels, equivalents })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn title(text: &str) -> String {
        parse(text, Path::new("w.toml"), "a + b + b").unwrap_err().diagnostics[0].title.clone()
    }

    #[test]
    fn replacements_are_applied_in_order() {
        let text = "[[wrong]]\nname = 'n'\ncaught_by = 't'\n\
                    replace = [{ from = 'a +', to = 'c -' }, { from = 'c', to = 'd' }]";
        let wrong_kernels = parse(text, Path::new("w.toml"), "a + b").unwrap();
        assert_eq!(
            wrong_kernels.kernels,
            [WrongKernel {
                name: "n".into(),
                caught_by: "t".into(),
                says: None,
                source: "d - b".into()
            }]
        );
    }

    #[test]
    fn a_single_replacement_stands_in_the_kernel_itself() {
        let short = "[[wrong]]\nname = 'n'\ncaught_by = 't'\nfrom = 'a'\nto = 'c'";
        let long =
            "[[wrong]]\nname = 'n'\ncaught_by = 't'\n[[wrong.replace]]\nfrom = 'a'\nto = 'c'";
        let parsed = |text: &str| parse(text, Path::new("w.toml"), "a + b").unwrap();
        assert_eq!(parsed(short), parsed(long));
        let half = "[[wrong]]\nname = 'n'\ncaught_by = 't'\nfrom = 'a'";
        assert_eq!(title(half), "one of `from` and `to` is missing");
    }

    #[test]
    fn a_text_that_occurs_twice_or_never_is_an_error() {
        let one = |from: &str| {
            format!("[[wrong]]\nname='n'\ncaught_by='t'\nreplace=[{{from='{from}', to='x'}}]")
        };
        assert_eq!(title(&one("b")), "this text occurs 2 times in the solution");
        assert_eq!(title(&one("z")), "this text occurs 0 times in the solution");
    }

    #[test]
    fn the_solution_itself_is_no_wrong_kernel() {
        assert_eq!(
            title("[[wrong]]\nname='n'\ncaught_by='t'\nreplace=[]"),
            "this kernel is the solution itself"
        );
    }

    #[test]
    fn equivalents_need_a_reason() {
        let text = |reason: &str| {
            format!(
                "wrong = []\n[[equivalent]]\nreason = '{reason}'\nmutants = [{{ from = 'a', to = 'c' }}]"
            )
        };
        assert_eq!(title(&text(" ")), "a reason is missing");
        let wrong_kernels = parse(&text("same"), Path::new("w.toml"), "a + b").unwrap();
        let expected = Equivalent { reason: "same".into(), source: "c + b".into() };
        assert_eq!(wrong_kernels.equivalents, [expected]);
    }
}
