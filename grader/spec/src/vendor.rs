//! What a vendor's library would compute in the place of a bench's kernels.

use super::arg::Purpose;
use super::bench_sizes::At;
use super::fault::{Checked, Fault};
use super::test::Test;
use specfile::{RawBench, RawConv, RawGemm, RawPool};
use tensor::{DType, Tensor};
use toml::Spanned;

/// A function of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// A product of matrices: cuBLAS.
    Gemm(Gemm),
    /// A pass of a convolution: cuDNN.
    Conv(Conv),
    /// The backward pass of a pooling: cuDNN.
    Pool(Pool),
}

/// A product of row-major matrices: `c[m,n] = a[m,k] * b[k,n]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gemm {
    /// The tensor of the first factor.
    pub a: String,
    /// The tensor of the second factor.
    pub b: String,
    /// The tensor of the product.
    pub c: String,
    /// The rows of the product, its columns, and the terms of each element.
    pub sizes: [u64; 3],
    /// Whether each factor is stored transposed.
    pub transposed: [bool; 2],
}

/// A pass of a convolution with square padding and stride 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conv {
    /// What the pass computes.
    pub pass: Pass,
    /// The names of the tensors that it takes: images, filters, results; of gradients where the pass has these.
    pub tensors: [String; 3],
    /// The tensor of a number that is added to each map, if there is one.
    pub bias: Option<String>,
    /// Images, channels, rows and columns of the images.
    pub images: [u64; 4],
    /// Filters, channels, rows and columns of the filters.
    pub filters: [u64; 4],
    /// The rows of zeros on every side of an image.
    pub pad: u64,
    /// Whether channels vary fastest, and not columns.
    pub channels_last: bool,
}

/// The backward pass of a pooling of maxima, whose windows, steps and padding are the same along rows and columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The input of the formula that is pooled. The launches need not read it.
    pub x: String,
    /// The names of the gradients: of the results, which is read, and of the images, which is computed.
    pub gradients: [String; 2],
    /// Planes, rows and columns of the images.
    pub images: [u64; 3],
    /// Planes, rows and columns of the results.
    pub results: [u64; 3],
    /// Rows and columns of a window.
    pub window: u64,
    /// The rows from a window to the next.
    pub stride: u64,
    /// The rows on every side of an image that win against no element.
    pub pad: u64,
}

/// What is computed of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// The results of the forward pass.
    Forward,
    /// The gradient of the images.
    Data,
    /// The gradient of the filters.
    Weights,
}

impl Vendor {
    pub(super) fn read(at: &At<'_>, raw: &RawBench, test: &Test) -> Checked<Option<Self>> {
        match (&raw.gemm, &raw.conv, &raw.pool) {
            (None, None, None) => Ok(None),
            (Some(gemm), None, None) => Ok(Some(Self::Gemm(product(at, gemm, test)?))),
            (None, Some(conv), None) => Ok(Some(Self::Conv(convolution(conv, test)?))),
            (None, None, Some(pool)) => Ok(Some(Self::Pool(pooling(at, pool, test)?))),
            _ => {
                let title = "a bench has one of `gemm`, `conv` and `pool`";
                Err(Fault::at(raw.name.span(), title).help("leave out the others"))
            }
        }
    }
}

fn product(at: &At<'_>, raw: &RawGemm, test: &Test) -> Checked<Gemm> {
    let sizes = [at.count(&raw.m, 1)?, at.count(&raw.n, 1)?, at.count(&raw.k, 1)?];
    let [rows, columns, terms] = sizes;
    let a = matrix(test, &raw.a, [rows, terms], false)?;
    let b = matrix(test, &raw.b, [terms, columns], false)?;
    let c = matrix(test, &raw.c, [rows, columns], true)?;
    if a.dtype != b.dtype || !a.dtype.is_float() {
        let title = format!("`{}` is {}, but `{}` is {}", a.name, a.dtype, b.name, b.dtype);
        return Err(Fault::at(raw.b.span(), title)
            .help("both factors of a matrix product have the same type, which is not i32"));
    }
    if c.dtype != a.dtype && c.dtype != DType::F32 {
        let title = format!("a product of {} matrices cannot be {}", a.dtype, c.dtype);
        return Err(Fault::at(raw.c.span(), title).help("it has their type, or f32"));
    }
    let transposed = match &raw.transposed {
        None => [false, false],
        Some(word) => match word.get_ref().as_str() {
            "" => [false, false],
            "a" => [true, false],
            "b" => [false, true],
            "ab" => [true, true],
            _ => {
                return Err(Fault::at(
                    word.span(),
                    "`transposed` names the factors that are stored transposed",
                )
                .help("write \"a\", \"b\", \"ab\" or \"\""));
            }
        },
    };
    let name = |of: &Tensor| of.name.clone();
    Ok(Gemm { a: name(a), b: name(b), c: name(c), sizes, transposed })
}

/// The tensor with this name, if it has as many elements as the matrix.
fn matrix<'t>(
    test: &'t Test,
    name: &Spanned<String>,
    [rows, columns]: [u64; 2],
    computed: bool,
) -> Checked<&'t Tensor> {
    let found = taken(test, name.get_ref(), name, computed)?;
    if found.len() as u64 == rows.saturating_mul(columns) {
        return Ok(found);
    }
    let title = format!("`{}` has {} elements, not {rows} x {columns}", found.name, found.len());
    Err(Fault::at(name.span(), title).help("c has m x n elements, a has m x k, and b has k x n"))
}

/// The tensor `name` that the launches compute, or read.
fn taken<'t>(
    test: &'t Test,
    name: &str,
    place: &Spanned<String>,
    computed: bool,
) -> Checked<&'t Tensor> {
    let fits = |purpose| (purpose == Purpose::Output) == computed;
    let known = || test.buffers.iter().filter(|b| fits(b.purpose)).map(|b| &b.tensor);
    known().find(|tensor| tensor.name == *name).ok_or_else(|| {
        let role = if computed { "computes" } else { "reads" };
        let title = format!("no launch of this bench {role} `{}`", name.escape_debug());
        let names = known().map(|tensor| tensor.name.as_str());
        Fault::at(place.span(), title).suggest(name, names, "tensor")
    })
}

fn convolution(raw: &RawConv, test: &Test) -> Checked<Conv> {
    let word = |raw: &Option<Spanned<String>>, words: &[&str]| -> Checked<usize> {
        let Some(raw) = raw else { return Ok(0) };
        words.iter().position(|word| word == raw.get_ref()).ok_or_else(|| {
            let title = format!("`{}` is not possible here", raw.get_ref().escape_debug());
            Fault::at(raw.span(), title).help(format!("write one of {}", words.join(", ")))
        })
    };
    let pass = [Pass::Forward, Pass::Data, Pass::Weights]
        [word(&raw.pass, &["forward", "data", "weights"])?];
    let channels_last = word(&raw.layout, &["nchw", "nhwc"])? == 1;
    let computed = |which: Pass| which == pass;
    // Gradients stand in the place of what is computed, and of the results that they come from.
    let name = |raw: &Spanned<String>, of: Pass| match pass {
        Pass::Forward => raw.get_ref().clone(),
        _ if computed(of) || of == Pass::Forward => format!("grad({})", raw.get_ref()),
        _ => raw.get_ref().clone(),
    };
    let all = [(&raw.x, Pass::Data), (&raw.w, Pass::Weights), (&raw.y, Pass::Forward)];
    let mut tensors = Vec::new();
    for (raw, of) in all {
        tensors.push(taken(test, &name(raw, of), raw, computed(of))?);
    }
    let bias = raw.bias.as_ref().map(|raw| taken(test, raw.get_ref(), raw, false)).transpose()?;
    let axes = |tensor: &Tensor, place: &Spanned<String>| -> Checked<[u64; 4]> {
        let shape: Vec<u64> = tensor.shape.iter().map(|size| *size as u64).collect();
        match (shape.as_slice(), channels_last) {
            (&[n, c, h, w], false) | (&[n, h, w, c], true) => Ok([n, c, h, w]),
            _ => Err(Fault::at(place.span(), format!("`{}` has not four axes", tensor.name))),
        }
    };
    let images = axes(tensors[0], &raw.x)?;
    let filters = axes(tensors[1], &raw.w)?;
    let results = axes(tensors[2], &raw.y)?;
    let pad = raw.pad.as_ref().map_or(0, |pad| *pad.get_ref());
    let size = |axis: usize| (images[axis] + 2 * pad + 1).checked_sub(filters[axis]);
    let expected = [Some(images[0]), Some(filters[0]), size(2), size(3)];
    if filters[1] != images[1] || results.map(Some) != expected {
        let title = format!("a convolution of these tensors does not give `{}`", tensors[2].name);
        return Err(Fault::at(raw.y.span(), title)
            .help("check `pad` and `layout`; the stride is 1, and filters lie in windows inside the padding"));
    }
    if let Some(other) = tensors.iter().find(|tensor| tensor.dtype != tensors[0].dtype) {
        let title =
            format!("`{}` is {}, but `{}` is not", other.name, other.dtype, tensors[0].name);
        return Err(Fault::at(raw.x.span(), title).help("the library computes in one type"));
    }
    let tensors = [0, 1, 2].map(|i| tensors[i].name.clone());
    let bias = bias.map(|bias| bias.name.clone());
    Ok(Conv { pass, tensors, bias, images, filters, pad, channels_last })
}

fn pooling(at: &At<'_>, raw: &RawPool, test: &Test) -> Checked<Pool> {
    let gradient = |of: &Spanned<String>| format!("grad({})", of.get_ref());
    let dy = taken(test, &gradient(&raw.y), &raw.y, false)?;
    let dx = taken(test, &gradient(&raw.x), &raw.x, true)?;
    let x = test.inputs.iter().find(|input| input.name == *raw.x.get_ref()).ok_or_else(|| {
        let title = format!("`{}` is not an input of the formula", raw.x.get_ref().escape_debug());
        Fault::at(raw.x.span(), title).help("name the tensor that is pooled")
    })?;
    if let Some(other) = [dx, dy].into_iter().find(|tensor| tensor.dtype != x.dtype) {
        let title = format!("`{}` is {}, but `{}` is not", x.name, x.dtype, other.name);
        return Err(Fault::at(raw.x.span(), title).help("the library computes in one type"));
    }
    let planes = |tensor: &Tensor, place: &Spanned<String>| -> Checked<[u64; 3]> {
        let shape: Vec<u64> = tensor.shape.iter().map(|size| *size as u64).collect();
        match shape[..] {
            [ref all @ .., rows, columns] if !all.is_empty() => {
                Ok([all.iter().product(), rows, columns])
            }
            _ => Err(Fault::at(place.span(), format!("`{}` has no planes", tensor.name))),
        }
    };
    let images = planes(x, &raw.x)?;
    let results = planes(dy, &raw.y)?;
    let (window, stride) = (at.count(&raw.window, 1)?, at.count(&raw.stride, 1)?);
    let pad = at.count(&raw.pad, 0)?;
    let windows = |size: u64| Some((size + 2 * pad).checked_sub(window)? / stride + 1);
    let expected = [Some(images[0]), windows(images[1]), windows(images[2])];
    if results.map(Some) != expected {
        let title = format!("a pooling of `{}` does not give `{}`", x.name, raw.y.get_ref());
        return Err(Fault::at(raw.y.span(), title)
            .help("check `window`, `stride` and `pad`, which hold for rows and columns"));
    }
    let gradients = [dy, dx].map(|tensor| tensor.name.clone());
    Ok(Pool { x: x.name.clone(), gradients, images, results, window, stride, pad })
}

#[cfg(test)]
mod tests {
    use super::super::Spec;
    use super::super::errors::error_in;
    use super::{Conv, Pass, Vendor};
    use std::path::Path;

    const SPEC: &str = r#"
title = "Convolution"
[dims]
free = ["N", "C", "H", "W", "M", "K"]
[tensors]
x = "f32[N, C, H, W]"
w = "f32[M, C, K, K]"
b = "f32[M]"
y = "f32[N, M, H-K+1, W-K+1]"
[math]
forward = "y[n,m,i,j] = b[m] + sum[c,p,q] x[n,c,i+p,j+q] * w[m,c,p,q]"
[[launch]]
kernel = "forward"
args   = ["x", "w", "b", "y"]
block  = 1
grid   = 1
[[launch]]
kernel = "backward"
args   = ["x", "grad(y)", "grad(w)"]
block  = 1
grid   = 1
[[test]]
name = "small"
dims = { N = 1, C = 2, H = 5, W = 4, M = 3, K = 2 }
[[bench]]
name    = "forward"
kernels = ["forward"]
dims    = { N = 2, C = 3, H = 9, W = 8, M = 4, K = 3 }
flops   = "1"
bytes   = "1"
conv    = { x = "x", w = "w", y = "y", bias = "b" }
[[bench]]
name    = "weights"
kernels = ["backward"]
dims    = { N = 2, C = 3, H = 9, W = 8, M = 4, K = 3 }
flops   = "1"
bytes   = "1"
conv    = { x = "x", w = "w", y = "y", pass = "weights" }
"#;

    #[test]
    fn a_pass_takes_tensors_or_their_gradients() {
        let spec = Spec::parse(SPEC, Path::new("x.toml")).unwrap();
        let conv = |i: usize| match &spec.benches[i].vendor {
            Some(Vendor::Conv(conv)) => conv.clone(),
            other => panic!("{other:?}"),
        };
        let Conv { pass, tensors, bias, images, filters, .. } = conv(0);
        assert_eq!((pass, bias), (Pass::Forward, Some("b".to_owned())));
        assert_eq!(
            (tensors, images, filters),
            (["x", "w", "y"].map(str::to_owned), [2, 3, 9, 8], [4, 3, 3, 3])
        );
        let Conv { pass, tensors, .. } = conv(1);
        assert_eq!(
            (pass, tensors),
            (Pass::Weights, ["x", "grad(w)", "grad(y)"].map(str::to_owned))
        );
    }

    #[test]
    fn mistakes_in_a_convolution_are_named() {
        for (from, to, said) in [
            (
                "bias = \"b\" }",
                "bias = \"b\" }\npool = { x = \"x\", y = \"y\", window = \"2\", stride = \"2\", pad = \"0\" }",
                "one of `gemm`, `conv` and `pool`",
            ),
            ("bias = \"b\" }", "pad = 1 }", "does not give `y`"),
            ("bias = \"b\" }", "layout = \"nhwc\" }", "does not give `y`"),
            ("bias = \"b\" }", "layout = \"chw\" }", "write one of nchw, nhwc"),
            ("bias = \"b\" }", "pass = \"data\" }", "no launch of this bench"),
            ("bias = \"b\" }", "bias = \"c\" }", "no launch of this bench reads `c`"),
            ("w = \"w\", y = \"y\", bias", "w = \"b\", y = \"y\", bias", "`b` has not four axes"),
        ] {
            let message = error_in(SPEC, from, to);
            assert!(message.contains(said), "{from} -> {to}\n{message}");
        }
    }

    const POOLING: &str = r#"
title = "Pooling"
[dims]
free = ["N", "H", "K"]
O = "(H + 2 - K) / 2 + 1"
[tensors]
x = "f32[N, H, H]"
y = "f32[N, O, O]"
place = "i32[N, O, O]"
[math]
forward = """
y[n,i,j] = max[p < K, q < K] x?[n,2*i+p-1,2*j+q-1]
place[n,i,j] = argmax[p < K, q < K] x?[n,2*i+p-1,2*j+q-1]
"""
[[launch]]
kernel = "backward"
args   = ["grad(y)", "given(place)", "grad(x)"]
block  = 1
grid   = 1
[[test]]
name = "small"
dims = { N = 1, H = 4, K = 3 }
[[bench]]
name  = "large"
dims  = { N = 2, H = 8, K = 3 }
flops = "1"
bytes = "1"
pool  = { x = "x", y = "y", window = "K", stride = "2", pad = "1" }
"#;

    #[test]
    fn mistakes_in_a_pooling_are_named() {
        for (from, to, said) in [
            ("pad = \"1\"", "pad = \"0\"", "a pooling of `x` does not give `y`"),
            ("window = \"K\"", "window = \"11\"", "a pooling of `x` does not give `y`"),
            ("stride = \"2\"", "stride = \"0\"", "it must be 1 at least"),
            (
                "y = \"y\", window",
                "y = \"place\", window",
                "no launch of this bench reads `grad(place)`",
            ),
        ] {
            let message = error_in(POOLING, from, to);
            assert!(message.contains(said), "{from} -> {to}\n{message}");
        }
    }
}
