//! Which kernel of a compiled file answers to a name.

use super::declaration::{KernelDecl, without_arguments, without_namespaces};
use super::missing;
use crate::SourceFile;
use diagnostic::Failure;

/// Bytes of static shared memory that a block can have on every GPU, also where dynamic shared memory may be larger.
const MAX_STATIC_SHARED: u64 = hardware::SHARED_WITHOUT_OPT_IN as u64;

/// The kernel that is called `wanted` in the source: plain or `extern "C"`, in any namespace, and an instantiation of
/// a template under its full name (`scale<float>`) or, if there is only one, under the template's.
///
/// # Errors
/// There is none, or there are several: a kernel failure that lists what there is. Or its static shared memory is more
/// than a block can have.
pub fn find_kernel<'a>(
    kernels: &'a [KernelDecl],
    wanted: &str,
    source: &SourceFile,
) -> Result<&'a KernelDecl, Failure> {
    let rules: [fn(&str) -> String; 4] = [
        |name| squeeze(name),
        |name| squeeze(without_namespaces(name)),
        |name| squeeze(without_arguments(name)),
        |name| squeeze(without_arguments(without_namespaces(name))),
    ];
    for rule in rules {
        let found: Vec<&KernelDecl> =
            kernels.iter().filter(|k| rule(&k.name) == squeeze(wanted)).collect();
        match found[..] {
            [] => {}
            [kernel] if kernel.shared > MAX_STATIC_SHARED => {
                return Err(missing::too_much_shared(kernel, MAX_STATIC_SHARED, source));
            }
            [kernel] => return Ok(kernel),
            _ => return Err(missing::several(&found, wanted, source)),
        }
    }
    Err(missing::none(kernels, wanted, source))
}

fn squeeze(name: &str) -> String {
    name.replace(' ', "")
}
