//! Element types of tensors in C++.

use puzzle::tensor::{DType, size_of};
use toolchain::module::Scalar;

/// The C++ type of an element.
pub fn scalar(dtype: DType) -> Scalar {
    let name = match dtype {
        DType::F64 => "double",
        DType::F32 => "float",
        DType::F16 => "__half",
        DType::BF16 => "__nv_bfloat16",
        DType::I32 => "int",
        DType::I64 => "long long",
        DType::U8 => "unsigned char",
    };
    Scalar { name, bytes: size_of(dtype) as u64 }
}

/// The header that declares the type, if one must be included.
pub fn header(dtype: DType) -> Option<&'static str> {
    match dtype {
        DType::F16 => Some("cuda_fp16.h"),
        DType::BF16 => Some("cuda_bf16.h"),
        DType::F64 | DType::F32 | DType::I32 | DType::I64 | DType::U8 => None,
    }
}
