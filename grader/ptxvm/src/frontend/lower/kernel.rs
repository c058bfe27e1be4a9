//! Lowers one kernel: its own code, then that of every function that it calls.

use super::Body;
use super::body::Result;
use super::builder::KernelBuilder;
use super::context::Context;
use crate::error::LoadError;
use crate::frontend::syntax::ast::Function;
use crate::program::module::{Kernel, ParamType};
use hardware::MAX_THREADS;

/// Bytes of parameters that a kernel may have (PTX ISA 5.1.6.1, since PTX 8.1).
const MAX_PARAMETERS: u64 = 32_764;

/// Lowers a kernel with everything that it calls.
pub(super) fn kernel<'f, 'a>(
    context: &Context<'f, 'a>,
    function: &'f Function<'a>,
) -> Result<Kernel> {
    let mut builder = KernelBuilder::new(context, function);
    builder.program.cluster.size = function.cluster;
    let (params, param_offsets) = parameters(function)?;
    let (code, places) = Body::lower(&mut builder, function, None, &param_offsets)?;
    builder.append(code, places, function.line)?;
    while let Some((function, callee)) = builder.next_callee() {
        let before = builder.register_counts();
        let (code, places) = Body::lower(&mut builder, function, Some(&callee), &[])?;
        if let Some(frame) = callee.frame {
            builder.finish_frame(frame, before);
        }
        builder.append(code, places, function.line)?;
    }
    let (name, program) = (function.name.to_owned(), builder.finish());
    let bound = function.block.map_or(MAX_THREADS, |block| {
        block.iter().fold(1, |all: u32, &threads| all.saturating_mul(threads)).min(MAX_THREADS)
    });
    // Every function has one.
    let address = context.addresses.get(function.name).copied().unwrap_or(0);
    Ok(Kernel { name, address, bound, params, param_offsets, program, refusal: None })
}

/// The parameters of a kernel, and the offset of each in the parameter window.
fn parameters(function: &Function) -> Result<(Vec<ParamType>, Vec<u32>)> {
    let (mut params, mut offsets, mut end) = (Vec::new(), Vec::new(), 0u64);
    for param in &function.params {
        let align = param.align.max(1);
        end = end.next_multiple_of(align);
        offsets.push(end as u32);
        end += param.size;
        if end > MAX_PARAMETERS {
            return Err(LoadError::malformed(param.line, "parameters of more than 32,764 bytes"));
        }
        params.push(ParamType { size: param.size as usize, align: align as usize });
    }
    Ok((params, offsets))
}
