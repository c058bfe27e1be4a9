//! What a source uses of CUDA and C++, as far as its words and includes tell: what it cannot use need not be compiled.

use super::libraries::LIBRARIES;
use super::supplied_headers::SUPPLIED;
use cpptext::tokens::words;
use std::path::Path;

/// Headers that do not bring any of the C++ standard library's namespace into a kernel's text.
const PLAIN_HEADERS: [&str; 16] = [
    "cuda_runtime.h",
    "cuda.h",
    "device_launch_parameters.h",
    "cuda_fp16.h",
    "cuda_bf16.h",
    "mma.h",
    "math_constants.h",
    "math.h",
    "stdio.h",
    "float.h",
    "limits.h",
    "assert.h",
    "stdint.h",
    "stddef.h",
    "stdlib.h",
    "string.h",
];

/// How the names of libstdc++'s special functions start (`std::beta`, `std::sph_bessel`, `__gnu_cxx::hyperg`).
const SPECIAL_FUNCTIONS: [&str; 14] = [
    "airy_",
    "assoc_",
    "beta",
    "comp_ellint_",
    "conf_hyperg",
    "cyl_",
    "ellint_",
    "expint",
    "hermite",
    "hyperg",
    "laguerre",
    "legendre",
    "riemann_zeta",
    "sph_",
];

/// Words without which nothing is compiled for the device, or otherwise than for the host. `##` can make any word.
const DEVICE_WORDS: [&str; 6] =
    ["__global__", "__device__", "__constant__", "__shared__", "__managed__", "__CUDA_ARCH__"];

/// Words without which there is no PTX in a source itself.
const INLINE_PTX: [&str; 3] = ["asm", "__asm", "__asm__"];

/// Parts of the names of what CUDA's headers make asynchronous from `VirtualArch::FIRST_ASYNCHRONOUS` on.
const ASYNCHRONOUS: [&str; 3] = ["memcpy_async", "cuda_pipeline", "cuda/pipeline"];

/// What a source can name of the C++ standard library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandardLibrary {
    /// None of it: nothing says `std`, and only CUDA's and C's own headers are included.
    Unnamed,
    /// All but the special functions: only headers of CUDA, C and C++ are included, and no name could be theirs.
    WithoutSpecialFunctions,
    /// Perhaps all of it.
    Whole,
}

/// What was seen so far of a source and its headers.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says whether one thing was seen")]
pub struct Usage {
    standard: bool,
    special: bool,
    foreign: bool,
    device: bool,
    inline_ptx: bool,
    asynchronous: bool,
    supplied: bool,
    library_headers: bool,
    libraries: [bool; LIBRARIES.len()],
}

impl Usage {
    /// Reads a text, in which lines are joined that end in a backslash.
    pub fn read(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        for word in words(&text) {
            self.standard |= word == "std" || word.contains("__gnu");
            self.special |= SPECIAL_FUNCTIONS.iter().any(|start| word.starts_with(start));
            self.device |= DEVICE_WORDS.contains(&word);
            self.inline_ptx |= INLINE_PTX.contains(&word);
            for (used, library) in self.libraries.iter_mut().zip(LIBRARIES) {
                *used |= library.begins_with(word);
            }
        }
        self.asynchronous |= ASYNCHRONOUS.iter().any(|name| text.contains(name));
        let pastes = text.contains("##") || text.contains("%:%:");
        self.device |= pastes;
        self.inline_ptx |= pastes;
    }

    /// Sees that a header of CUDA or of the host compiler is included.
    pub fn include(&mut self, header: &Path) {
        let is_header = |(name, _): &(&str, &str)| Path::new(name) == header;
        self.supplied |= SUPPLIED.iter().any(is_header);
        self.library_headers |= LIBRARIES.iter().any(|of| of.headers.iter().any(is_header));
        let plain = PLAIN_HEADERS.iter().any(|plain| Path::new(plain) == header);
        self.standard |= !plain;
        // C++'s own headers have neither a folder nor an extension; C's are its `c...`.
        self.foreign |= !plain && (header.extension().is_some() || header.components().count() > 1);
    }

    /// Sees an include whose header is not written out.
    pub fn include_unknown(&mut self) {
        self.foreign = true;
    }

    /// What all this can name of the standard library.
    pub fn library(self) -> StandardLibrary {
        if self.foreign || self.standard && self.special {
            StandardLibrary::Whole
        } else if self.standard {
            StandardLibrary::WithoutSpecialFunctions
        } else {
            StandardLibrary::Unnamed
        }
    }

    /// May there be PTX in it? The compiler copies that without a look.
    pub fn inline_ptx(self) -> bool {
        self.inline_ptx
    }

    /// May there be copies in it that a kernel must wait for?
    pub fn asynchronous(self) -> bool {
        self.asynchronous
    }

    /// Does it include headers that not every CUDA has?
    pub fn supplied(self) -> bool {
        self.supplied
    }

    /// Does it include a header of one of NVIDIA's [`LIBRARIES`]?
    pub fn library_headers(self) -> bool {
        self.library_headers
    }

    /// Which of NVIDIA's [`LIBRARIES`] does it call on the host?
    pub fn libraries(self) -> [bool; LIBRARIES.len()] {
        self.libraries
    }

    /// False if nothing of it can be a kernel, or compiled otherwise for the device than for the host.
    pub fn device_code(self) -> bool {
        self.foreign || self.device
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_decides() {
        for (text, headers, library) in [
            ("__global__ void k(float beta) {}", &["cuda_fp16.h"][..], StandardLibrary::Unnamed),
            ("int stdev;", &["math.h"], StandardLibrary::Unnamed),
            ("int x = std :: max(1, 2);", &[], StandardLibrary::WithoutSpecialFunctions),
            ("__gnu_cxx::power(2, 3)", &[], StandardLibrary::WithoutSpecialFunctions),
            ("", &["vector", "cstdio"], StandardLibrary::WithoutSpecialFunctions),
            ("using namespace std; beta(1, 2);", &[], StandardLibrary::Whole),
            ("float gamma, beta;", &["cmath"], StandardLibrary::Whole),
            ("std::sph_legendre(1, 2, 3)", &[], StandardLibrary::Whole),
            ("", &["cub/cub.cuh"], StandardLibrary::Whole),
            ("", &["tr1/cmath"], StandardLibrary::Whole),
            ("", &["cooperative_groups.h"], StandardLibrary::Whole),
        ] {
            assert_eq!(usage(text, headers).library(), library, "{text} {headers:?}");
        }
        let mut unknown = Usage::default();
        unknown.include_unknown();
        assert_eq!(unknown.library(), StandardLibrary::Whole);
        assert!(unknown.device_code());
    }

    #[test]
    fn device_code_needs_one_of_a_few_words() {
        for (text, headers, device_code) in [
            ("void f() { cudaMalloc(0, 1); }", &["vector", "cuda_fp16.h"][..], false),
            ("#define my__global__ 1", &[], false),
            ("__global__ void k() {}", &[], true),
            ("// __device__", &[], true),
            ("#ifdef __CUDA_ARCH__", &[], true),
            ("#define k(x) __##x##__", &[], true),
            ("void f() {}", &["thrust/sort.h"], true),
        ] {
            assert_eq!(usage(text, headers).device_code(), device_code, "{text} {headers:?}");
        }
    }

    #[test]
    fn copies_that_may_be_waited_for_are_seen() {
        for text in
            ["#include <cuda_pipeline.h>", "cg::memcpy_async(b, s, x, n);", "<cuda/pipeline>"]
        {
            assert!(usage(text, &[]).asynchronous(), "{text}");
        }
        assert!(!usage("cudaMemcpyAsync(to, from, n, kind);", &[]).asynchronous());
    }

    #[test]
    fn inline_ptx_is_seen_however_it_is_written() {
        for text in ["asm(\"ret;\");", "__asm__ volatile", "a##b", "a %:%: b"] {
            assert!(usage(text, &[]).inline_ptx(), "{text}");
        }
        assert!(!usage("int plasma; // asm_", &[]).inline_ptx());
    }

    #[test]
    fn libraries_are_seen_by_their_headers_and_first_functions() {
        for (text, header, headers, called) in [
            ("cublasCreate_v2(&h);", "cublas_v2.h", true, [true, false, false]),
            ("curandCreateGeneratorHost(&g, t);", "curand.h", true, [false, true, false]),
            ("curand_init(1, 2, 3, &s);", "curand_kernel.h", true, [false; 3]),
            ("nvrtcCreateProgram(&p, s, n, 0, 0, 0);", "nvrtc.h", true, [false, false, true]),
            ("mycublasCreate();", "cufft.h", false, [false; 3]),
        ] {
            let usage = usage(text, &[header]);
            assert_eq!((usage.library_headers(), usage.libraries()), (headers, called), "{text}");
        }
        assert!(usage("", &["nvtx3/nvToolsExt.h"]).supplied());
        assert!(!usage("", &["cublas_v2.h"]).supplied());
    }

    fn usage(text: &str, headers: &[&str]) -> Usage {
        let mut usage = Usage::default();
        usage.read(text.as_bytes());
        for header in headers {
            usage.include(Path::new(header));
        }
        usage
    }
}
