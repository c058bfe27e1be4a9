//! The report for machines: one JSON document, written when the run has ended.
//!
//! Numbers that JSON lacks are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`. A change that breaks readers raises
//! `schema_version`.

use crate::reporter::{Reporter, RunInfo, Summary};
use crate::{calls, cause, circumstances, drawn, findings, inputs};
use device::finding::{Finding, SourceLoc, ThreadId};
use device::provenance::ElementRead;
use device::provenance::Factor;
use diagnostic::{Diagnostic, Severity};
use diagnostic::{Failure, FailureKind};
use indexmath::{DType, ElementRef, Term};
use judge::expansion::{ElementTerms, Row, RowKind};
use judge::verdict::{Largest, Mismatch, TensorDiff, TestVerdict, ThreadReads};
use puzzle::tensor::Tensor;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

pub(crate) const SCHEMA_VERSION: u32 = 1;
/// Wrong elements listed of a tensor.
const MAX_MISMATCHES: usize = 20;
/// Terms and elements listed of an expansion.
const MAX_TERMS: usize = 100;

/// Gathers the events and writes the document at the end.
#[derive(Debug)]
pub struct JsonReporter<W> {
    out: W,
    run: Option<RunInfo>,
    tests: Vec<Value>,
}

impl<W: Write> JsonReporter<W> {
    /// A reporter that writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, run: None, tests: Vec::new() }
    }

    fn write(&mut self, passed: bool, exit_code: u8, error: Option<Value>) -> io::Result<()> {
        let document = Document {
            schema_version: SCHEMA_VERSION,
            run: self.run.as_ref().map(RunFields::new),
            tests: std::mem::take(&mut self.tests),
            error,
            passed,
            exit_code,
        };
        serde_json::to_writer_pretty(&mut self.out, &document)?;
        writeln!(self.out)?;
        self.out.flush()
    }
}

impl<W: Write> Reporter for JsonReporter<W> {
    fn start(&mut self, run: &RunInfo) -> io::Result<()> {
        self.run = Some(run.clone());
        Ok(())
    }

    fn test_finished(&mut self, verdict: &TestVerdict) -> io::Result<()> {
        let empty = (Path::new(""), "");
        let (file, source) =
            self.run.as_ref().map_or(empty, |r| (r.file.as_path(), r.source.as_str()));
        self.tests.push(test(verdict, file, source));
        Ok(())
    }

    fn not_run(&mut self, test: &str, why: &str) -> io::Result<()> {
        self.tests.push(json!({ "name": test, "passed": false, "not_run": why }));
        Ok(())
    }

    fn finish(&mut self, summary: &Summary) -> io::Result<()> {
        let exit_code = summary.exit_code();
        self.write(exit_code == diagnostic::EXIT_PASS, exit_code, None)
    }

    fn failed(&mut self, failure: &Failure) -> io::Result<()> {
        let kind = match failure.kind {
            FailureKind::Kernel => "kernel",
            FailureKind::Usage => "usage",
            FailureKind::Environment => "environment",
        };
        let diagnostics: Vec<Value> = failure.diagnostics.iter().map(diagnostic).collect();
        let error = json!({ "kind": kind, "diagnostics": diagnostics });
        self.write(false, failure.kind.exit_code(), Some(error))
    }
}

/// Fields in the order in which they are written.
#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    #[serde(flatten)]
    run: Option<RunFields<'a>>,
    tests: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    passed: bool,
    exit_code: u8,
}

#[derive(Serialize)]
struct RunFields<'a> {
    puzzle: u32,
    title: &'a str,
    file: String,
    backend: &'a str,
    backend_description: &'a str,
    seed: u64,
    compile: Value,
    warnings: Vec<Value>,
}

impl<'a> RunFields<'a> {
    fn new(run: &'a RunInfo) -> Self {
        Self {
            puzzle: run.puzzle,
            title: &run.title,
            file: run.file.display().to_string(),
            backend: &run.backend,
            backend_description: &run.backend_description,
            seed: run.seed,
            warnings: run.warnings.iter().map(diagnostic).collect(),
            compile: json!({ "cached": run.compile.cached, "millis": millis(run.compile.time) }),
        }
    }
}

/// A number, or its name where JSON has none.
pub(crate) struct Number(pub(crate) f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            x if x.is_nan() => serializer.serialize_str("NaN"),
            x if x.is_infinite() => {
                serializer.serialize_str(if x > 0.0 { "Infinity" } else { "-Infinity" })
            }
            x => serializer.serialize_f64(x),
        }
    }
}

/// Milliseconds with three decimals.
fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

fn test(verdict: &TestVerdict, file: &Path, source: &str) -> Value {
    let findings: Vec<Value> = verdict.findings.iter().map(|f| finding(f, file, source)).collect();
    let tensors: Vec<Value> = verdict.diffs.iter().map(|d| tensor(d, source)).collect();
    let mut test = json!({
        "name": verdict.test,
        "about": verdict.about,
        "passed": verdict.passed(),
        "millis": millis(verdict.time),
        "seed": verdict.seed,
        "dims": verdict.dims,
        "printed": verdict.printed,
        "findings": findings,
        "tensors": tensors,
    });
    if !verdict.largest.is_empty() {
        let one = |l: &Largest| {
            json!({
                "name": l.tensor.name,
                "element": l.tensor.coords(l.flat),
                "difference": l.off,
                "allowed": l.allowed,
            })
        };
        test["largest_differences"] = verdict.largest.iter().map(one).collect();
    }
    if verdict.cases != 1 {
        test["cases"] = json!(verdict.cases);
    }
    if verdict.smallest.is_some() {
        test["about"] = json!(drawn::smallest(verdict));
    }
    if !verdict.notes.is_empty() {
        test["notes"] = json!(verdict.notes);
    }
    test
}

fn finding(finding: &Finding, file: &Path, source: &str) -> Value {
    let worded = findings::diagnostic(finding, file, source);
    json!({
        "kind": finding.problem.name(),
        "message": worded.title,
        "help": worded.help,
        "kernel": finding.kernel,
        "line": finding.line.as_ref().map(line),
        "thread": finding.thread.map(thread),
        "count": finding.count,
    })
}

fn line(line: &SourceLoc) -> Value {
    json!({ "file": &*line.file, "line": line.line, "column": line.column })
}

fn thread(id: ThreadId) -> Value {
    json!({ "block": id.block, "thread": id.thread })
}

/// An output with wrong elements.
fn tensor(diff: &TensorDiff, source: &str) -> Value {
    let listed = diff.mismatches.iter().take(MAX_MISMATCHES);
    let mismatches: Vec<Value> = listed.map(|m| mismatch(&diff.tensor, m)).collect();
    json!({
        "name": diff.tensor.name,
        "dtype": dtype(diff.tensor.dtype),
        "shape": diff.tensor.shape,
        "elements": diff.tensor.len(),
        "wrong": diff.wrong_count,
        "unwritten": diff.unwritten_count,
        "nan": diff.nan_count,
        "mismatches": mismatches,
        "variant": diff.variant.as_ref().map(|v| cause::of_variant(v, &diff.tensor)),
        "part": diff.part.as_ref().map(|p| cause::of_part(p, &diff.tensor, diff.terms.mismatch.flat)),
        "condition": diff.branch.as_ref().map(cause::of_branch),
        "positions": diff.choice.as_ref().map(circumstances::of_choice),
        "threads": diff.threads.map(circumstances::of_threads),
        "places": diff.places.as_ref().map(circumstances::of_places),
        "sizes": diff.size_limit.as_ref().map(|limit| circumstances::of_size_limit(limit, &diff.tensor)),
        "origins": diff.origins.iter().map(|part| json!({ "part": part.text, "value": part.value })).collect::<Vec<_>>(),
        "always": diff.always.as_ref().map(|always| circumstances::of_always(always, &diff.tensor)),
        "returned": diff.returned.as_ref().map(|of| json!({ "function": of.function, "line": of.line })),
        "launches": diff.host_steps.as_ref().map(calls::of_steps),
        "calls": diff.calls.as_ref().map(|all| calls::sentence(all, &diff.tensor)),
        "half_step": diff.half_step.as_ref().map(|line| cause::of_half_step(line, &diff.tensor)),
        "inputs": diff.inputs.as_ref().map(|all| inputs::sentence(all, &diff.tensor)),
        "likely_cause": diff.cause.as_ref().map(|c| cause::sentence(c, &diff.tensor, source)),
        "terms": {
            "element": diff.tensor.coords(diff.terms.mismatch.flat),
            "formula_terms": diff.terms.formula.as_ref().map(Vec::len),
            "formula": diff.terms.formula.as_ref().map(|terms| terms.iter().take(MAX_TERMS).map(term).collect::<Vec<_>>()),
            "thread": diff.terms.thread.as_ref().map(reads),
            "comparison": diff.terms.compared.as_ref().map(compared),
        },
    })
}

fn dtype(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "f32",
        DType::F64 => "f64",
        DType::F16 => "f16",
        DType::BF16 => "bf16",
        DType::I32 => "i32",
        DType::I64 => "i64",
        DType::U8 => "u8",
    }
}

/// `got` and `difference` are null where the element was never written.
fn mismatch(tensor: &Tensor, m: &Mismatch) -> Value {
    json!({
        "element": tensor.coords(m.flat),
        "expected": Number(m.expected),
        "got": m.got.map(Number),
        "difference": m.got.map(|got| Number(got - m.expected)),
        "allowed": Number(m.allowed),
    })
}

fn term(term: &Term) -> Value {
    let factors: Vec<Value> = term.factors.iter().map(element).collect();
    let indices: serde_json::Map<String, Value> =
        term.indices.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "coefficient": Number(term.coefficient),
        "factors": factors,
        "value": Number(term.value),
        "indices": indices,
    })
}

fn element(element: &ElementRef) -> Value {
    json!({ "tensor": element.tensor, "element": element.coords })
}

/// The products of an element, formula and kernel side by side.
pub(crate) fn compared(terms: &ElementTerms) -> Value {
    let factor = |factor: &Factor| match factor {
        Factor::Element(at) => element(at),
        Factor::Outside(outside) => json!({ "tensor": outside.tensor, "outside": outside.flat }),
        Factor::Function(text) => json!({ "function": text }),
    };
    let row = |row: &Row| {
        let indices: serde_json::Map<String, Value> =
            row.indices.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        json!({
            "kind": match row.kind {
                RowKind::Extra => "extra",
                RowKind::Missing => "missing",
                RowKind::Repeated => "repeated",
                RowKind::Coefficient => "coefficient",
                RowKind::Correct => "right",
            },
            "formula": Number(row.formula),
            "kernel": Number(row.kernel),
            "factors": row.factors.iter().map(factor).collect::<Vec<_>>(),
            "value": row.value.map(Number),
            "indices": indices,
            "line": row.line.as_ref().map(line),
        })
    };
    json!({
        "rows": terms.rows.iter().take(MAX_TERMS).map(row).collect::<Vec<_>>(),
        "line": terms.certain_line().map(line),
        "written_by": thread(terms.writer),
    })
}

fn reads(reads: &ThreadReads) -> Value {
    let read = |read: &ElementRead| {
        json!({
            "tensor": read.tensor,
            "flat": read.flat,
            "count": read.count,
            "line": read.line.as_ref().map(line),
        })
    };
    let list = |items: &[ElementRead]| items.iter().take(MAX_TERMS).map(read).collect::<Vec<_>>();
    json!({
        "id": thread(reads.id),
        "line": reads.line.as_ref().map(line),
        "reads": reads.total,
        "extra": list(&reads.extra),
        "missing": reads.missing.iter().take(MAX_TERMS).map(element).collect::<Vec<_>>(),
        "outside": list(&reads.outside),
    })
}

fn diagnostic(diagnostic: &Diagnostic) -> Value {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let source = diagnostic.source.as_ref().map(|source| {
        let start = source.marks.first().map_or(0, |mark| mark.span.start);
        let before = source.text.get(..start).unwrap_or(&source.text);
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        json!({
            "file": source.path.display().to_string(),
            "line": before.matches('\n').count() + 1,
            "column": column,
        })
    });
    json!({
        "severity": severity,
        "message": diagnostic.title,
        "source": source,
        "help": diagnostic.help,
    })
}

#[cfg(test)]
mod tests;
