//! Many variants of one kernel file, compiled together: nearly all of nvcc's time goes into its headers.
//!
//! Each variant stands in a namespace of its own in one file; the headers are included once, before all of them.

use crate::grade::{self, Program};
use cpptext::directives::{definition, directive};
use device::{arch, host};
use diagnostic::{Failure, FailureKind};
use hardware::CONSTANT_MEMORY;
use puzzle::spec::Spec;
use puzzle::workbook::Workbook;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use toolchain::module::{self, KernelDecl, VariableDecl};
use toolchain::ptx;
use toolchain::scratch::Scratch;
use toolchain::{Headers, Request, Toolchain};

/// Variants of one compilation: more save little, and would keep the other cores idle.
pub const SIZE: usize = 32;

/// What became of one variant.
#[derive(Clone, Debug)]
pub enum Variant {
    /// It compiles, and has the kernels of the spec.
    Compiled(Program),
    /// The program does not compile.
    Rejected,
}

/// Compiles `variants` of a kernel file, in their order. Use [`SIZE`] of them at a time.
///
/// # Errors
/// The compiler cannot work, or the folder for temporary files cannot be written.
pub fn compile(
    toolchain: &Toolchain,
    workbook: &Workbook,
    spec: &Spec,
    variants: &[&str],
) -> Result<Vec<Variant>, Failure> {
    let folder = Scratch::new("variants").map_err(|e| unwritable(&std::env::temp_dir(), &e))?;
    let path = folder.path().join("variants.cu");
    let include_dirs = [workbook.include_dir()];
    let request = Request {
        source: &path,
        include_dirs: &include_dirs,
        headers: Headers::Offered { names: &spec.headers, workbook: workbook.root() },
        base: folder.path(),
        arch: arch::of(spec),
        asynchronous: true,
        debugger: false,
        gpu: None,
    };
    let mut all = vec![Variant::Rejected; variants.len()];
    // Parts whose constants do not fit into one module are halved.
    let mut parts: Vec<Range<usize>> = std::iter::once(0..variants.len()).collect();
    while let Some(part) = parts.pop() {
        let tools = (toolchain, workbook, spec);
        if let Some(of_part) = compile_part(tools, &request, variants, &part)? {
            for (variant, found) in all.iter_mut().zip(of_part) {
                if let Variant::Compiled(_) = found {
                    *variant = found;
                }
            }
        } else {
            let middle = usize::midpoint(part.start, part.end);
            parts.extend([part.start..middle, middle..part.end]);
        }
    }
    Ok(all)
}

/// Compiles the variants of `part` in one file; the others count as rejected. `None` if the constants of several are too large
/// for one module.
///
/// # Errors
/// As [`compile`].
fn compile_part(
    (toolchain, workbook, spec): (&Toolchain, &Workbook, &Spec),
    request: &Request<'_>,
    variants: &[&str],
    part: &Range<usize>,
) -> Result<Option<Vec<Variant>>, Failure> {
    let path = request.source;
    let mut rejected: BTreeSet<usize> = (0..variants.len()).filter(|i| !part.contains(i)).collect();
    loop {
        let unit = TranslationUnit::new(variants, &rejected);
        std::fs::write(path, &unit.text).map_err(|e| unwritable(path, &e))?;
        let failure = match compiled(toolchain, workbook, spec, request, variants.len(), &rejected)
        {
            Ok(all) => return Ok(all),
            Err(failure) if failure.kind == FailureKind::Kernel => failure,
            Err(failure) => return Err(failure),
        };
        let lines = toolchain.rejected_lines(request)?;
        let more: BTreeSet<usize> =
            lines.into_iter().filter_map(|line| unit.variant_at(line)).collect();
        if more.is_empty() {
            return Err(failure);
        }
        rejected.extend(more);
    }
}

/// All variants but the rejected ones, or why the file does not compile; `None` if there are several, and their constants are too
/// large for one module.
fn compiled(
    toolchain: &Toolchain,
    workbook: &Workbook,
    spec: &Spec,
    request: &Request<'_>,
    count: usize,
    rejected: &BTreeSet<usize>,
) -> Result<Option<Vec<Variant>>, Failure> {
    let mut variants = vec![Variant::Rejected; count];
    let kept: Vec<usize> = (0..count).filter(|i| !rejected.contains(i)).collect();
    if spec.is_host() {
        let names: Vec<String> = kept.iter().map(|&i| Namespace(i).to_string()).collect();
        let (library, programs) =
            host::compile_variants(toolchain, workbook, spec, request.source, &names)?;
        let compiled = Arc::new(grade::without_kernels(library));
        for (i, program) in kept.into_iter().zip(programs) {
            if let Some(program) = program {
                variants[i] = Variant::Compiled(Program::of_host(Arc::clone(&compiled), program));
            }
        }
        return Ok(Some(variants));
    }
    let compiled = Arc::new(toolchain.compile(request)?);
    let declared = (module::kernels(&compiled.ptx), module::variables(&compiled.ptx));
    let constants = declared.1.iter().filter(|v| v.constant).map(|v| v.bytes).sum::<u64>();
    if kept.len() > 1 && constants > u64::from(CONSTANT_MEMORY) {
        return Ok(None);
    }
    // All variants share the module that the first of them loads.
    let all = Program::without_kernels(Arc::clone(&compiled));
    for i in kept {
        if let Some(program) = program(spec, &declared, toolchain, all.clone(), i) {
            variants[i] = Variant::Compiled(program);
        }
    }
    Ok(Some(variants))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let title = format!("cannot write {}: {error}", path.display());
    Failure::new(FailureKind::Environment, title, "set TMPDIR to another folder")
}

/// The program of a variant, if its kernels are those of the spec; `program` is the file with all variants.
fn program(
    spec: &Spec,
    (declared, variables): &(Vec<KernelDecl>, Vec<VariableDecl>),
    toolchain: &Toolchain,
    mut program: Program,
    variant: usize,
) -> Option<Program> {
    let prefix = format!("{}::", Namespace(variant));
    let own: Vec<KernelDecl> =
        declared.iter().filter(|k| k.name.starts_with(&prefix)).cloned().collect();
    for launch in &spec.launches {
        let kernel = module::find_kernel(&own, &launch.kernel, &program.compiled.source).ok()?;
        program.add(&launch.kernel, kernel, toolchain);
    }
    let own: Vec<VariableDecl> =
        variables.iter().filter(|v| v.name.starts_with(&prefix)).cloned().collect();
    program.kernels.extend(grade::constants(spec, &own, &program.compiled).ok()?);
    Some(program)
}

/// The namespace of a variant, by its number, in the file that holds them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Namespace(pub usize);

impl Namespace {
    /// The line, from 1, of `file` that opens it; `None` if none does.
    pub fn line(self, file: &str) -> Option<u32> {
        let opens = format!("namespace {self} {{");
        file.lines().position(|line| line == opens).map(|above| above as u32 + 1)
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "variant{:04}", self.0)
    }
}

/// The PTX of one variant, without what differs between equal kernels of different variants. Two variants with the same
/// text do the same.
pub fn fingerprint(ptx: &str, variant: usize) -> String {
    ptx::without_names(ptx, &Namespace(variant).to_string())
}

/// The file with all variants.
struct TranslationUnit {
    text: String,
    /// First line and number of each variant in it.
    starts: Vec<(u32, usize)>,
}

impl TranslationUnit {
    fn new(variants: &[&str], left_out: &BTreeSet<usize>) -> Self {
        let mut includes: Vec<&str> = Vec::new();
        for line in variants.iter().flat_map(|text| text.lines()) {
            if directive(line).is_some_and(|rest| rest.starts_with("include"))
                && !includes.contains(&line)
            {
                includes.push(line);
            }
        }
        let mut text = includes.join("\n") + "\n";
        let mut starts = Vec::new();
        for (i, variant) in variants.iter().enumerate().filter(|(i, _)| !left_out.contains(i)) {
            starts.push((text.matches('\n').count() as u32 + 1, i));
            text.extend(["namespace ", &Namespace(i).to_string(), " {\n"]);
            let mut defined = Vec::new();
            for line in variant.lines() {
                match directive(line) {
                    Some(rest)
                        if rest.starts_with("include") || rest.starts_with("pragma once") => {}
                    Some(rest) => {
                        defined.extend(definition(rest).map(|(name, _)| name));
                        text.push_str(line);
                    }
                    None => text.push_str(line),
                }
                text.push('\n');
            }
            text.push_str("}\n");
            for name in defined {
                text.extend(["#undef ", name, "\n"]);
            }
        }
        Self { text, starts }
    }

    fn variant_at(&self, line: u32) -> Option<usize> {
        self.starts.iter().rev().find(|(start, _)| *start <= line).map(|(_, variant)| *variant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variant_has_its_namespace_and_its_macros() {
        let source = "#include <cuda_fp16.h>\n#define TILE 4\n__global__ void k() {}\n";
        let other = source.replace('4', "5");
        let unit = TranslationUnit::new(&[source, "broken", &other], &BTreeSet::from([1]));
        let expected = "\
#include <cuda_fp16.h>
namespace variant0000 {

#define TILE 4
__global__ void k() {}
}
#undef TILE
namespace variant0002 {

#define TILE 5
__global__ void k() {}
}
#undef TILE
";
        assert_eq!(unit.text, expected);
        assert_eq!([0, 1, 2].map(|i| Namespace(i).line(&unit.text)), [Some(2), None, Some(8)]);
        assert_eq!(
            [1, 2, 6, 8, 12].map(|line| unit.variant_at(line)),
            [None, Some(0), Some(0), Some(2), Some(2)]
        );
    }
}
