//! Kinds of data that the oracle generates, such as `"integers"` or `{ kind = "normal", scale = 100.0 }`.

use super::fault::{Checked, Fault};
use super::sizes::Sizes;
use indexmath::{DimExpr, Dims};
use specfile::{Table, Value};
use std::ops::Range;
use tensor::{DType, Tensor, decode, encode};
use toml::Spanned;

/// A kind of data that the oracle generates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DataKind {
    /// Small random integers other than 0. The oracle chooses the range so that sums of products are exact.
    Integers,
    /// Random integers in a range.
    IntegersIn {
        /// The smallest integer.
        min: i64,
        /// The largest integer; less than 2^32 - 1 above `min`.
        max: i64,
    },
    /// Random real numbers with a normal distribution.
    Normal {
        /// The standard deviation.
        scale: f64,
        /// The mean of the distribution.
        shift: f64,
    },
    /// Every element is 1.
    Ones,
    /// Every element is 0.
    Zeros,
    /// The elements are 0, 1, 2, ... in row-major order.
    Arange,
    /// The elements are 0, 1, 2, ... in random order, so no two are equal.
    ShuffledArange,
    /// Along the last axis, one random element is 1 and the others are 0.
    OneHot,
    /// Random handwriting-like digits of 28 x 28 pixels: bytes in an integer tensor, else values from 0 to 1.
    Digits {
        /// The number of digits that are skipped at the start.
        skip: u32,
    },
    /// The classes of these digits: 0 to 9 in an integer tensor, else one-hot vectors of length ten.
    DigitLabels {
        /// The number of labels that are skipped at the start, as for the digits.
        skip: u32,
    },
}

/// The largest absolute value of `puzzle::rng::Stream::normal`.
const NORMAL_REACH: f64 = 6.0;

impl DataKind {
    const WORDS: [(&str, Self); 9] = [
        ("integers", Self::Integers),
        ("normal", Self::Normal { scale: 1.0, shift: 0.0 }),
        ("ones", Self::Ones),
        ("zeros", Self::Zeros),
        ("arange", Self::Arange),
        ("shuffled-arange", Self::ShuffledArange),
        ("one-hot", Self::OneHot),
        ("digits", Self::Digits { skip: 0 }),
        ("digit-labels", Self::DigitLabels { skip: 0 }),
    ];

    /// The kind with this name.
    pub(crate) fn named(word: &str, place: &Range<usize>) -> Checked<Self> {
        let found = Self::WORDS.iter().find(|(name, _)| *name == word);
        found.map(|&(_, kind)| kind).ok_or_else(|| {
            Fault::at(place.clone(), format!("unknown kind of data `{}`", word.escape_debug()))
                .suggest(word, Self::WORDS.iter().map(|(name, _)| *name), "kind")
        })
    }

    /// Checks whether `tensor` can hold such data.
    pub(crate) fn check(self, tensor: &Tensor, place: &Range<usize>) -> Checked<()> {
        let name = &tensor.name;
        match self {
            Self::Normal { .. } if !tensor.dtype.is_float() => {
                let title = format!("`{name}` holds integers, but normal values are not integers");
                Err(Fault::at(place.clone(), title).help("write \"integers\""))
            }
            Self::Normal { scale, shift } => {
                let farthest = shift.abs() + NORMAL_REACH * scale;
                if decode(tensor.dtype, &encode(tensor.dtype, &[farthest]))[0].is_finite() {
                    return Ok(());
                }
                let title = format!("`{name}` cannot hold values up to {farthest:?}");
                Err(Fault::at(place.clone(), title).help(format!(
                    "its type is {}; values reach {NORMAL_REACH} times `scale` on both sides of `shift`",
                    tensor.dtype
                )))
            }
            Self::IntegersIn { min, max } => {
                let (least, greatest) = whole(tensor.dtype);
                let inside = |value: &i64| (least..=greatest).contains(value);
                let Some(far) = [max, min].into_iter().find(|value| !inside(value)) else {
                    return Ok(());
                };
                let title = format!("`{name}` cannot hold {far} exactly");
                Err(Fault::at(place.clone(), title).help(format!(
                    "its type is {}: it holds all integers from {least} to {greatest}",
                    tensor.dtype,
                )))
            }
            Self::OneHot if tensor.shape.is_empty() => {
                let title = format!("`{name}` has no axis along which one element could be 1");
                Err(Fault::at(place.clone(), title).help("write \"ones\" or a number"))
            }
            Self::Digits { .. } => {
                let pixels = digits::SIDE * digits::SIDE;
                let last = tensor.shape.last().copied();
                let square = tensor.shape.ends_with(&[digits::SIDE; 2]) || last == Some(pixels);
                if square && tensor.dtype != DType::BF16 {
                    return Ok(());
                }
                let title = format!("`{name}` cannot hold images of digits");
                Err(Fault::at(place.clone(), title)
                    .help("its last axes must be [28, 28] or [784], its type f16, f32, f64 or one of integers"))
            }
            Self::DigitLabels { .. } => {
                if !tensor.dtype.is_float() || tensor.shape.last() == Some(&10) {
                    return Ok(());
                }
                let title = format!("`{name}` cannot hold the classes of digits");
                let help = "its type must be one of integers, for classes 0 to 9, or its last axis must have size 10";
                Err(Fault::at(place.clone(), title).help(help))
            }
            _ => Ok(()),
        }
    }
}

/// The ends of the range in which the type holds all integers.
fn whole(dtype: DType) -> (i64, i64) {
    let bits = match dtype {
        DType::F64 => 53,
        DType::F32 => 24,
        DType::F16 => 11,
        DType::BF16 => 8,
        DType::I32 | DType::I64 | DType::U8 => return dtype.integers().unwrap_or_default(),
    };
    (-(1 << bits), 1 << bits)
}

/// The sizes of a test, with which expressions in a kind of data are evaluated.
pub(crate) struct At<'a> {
    /// The text of the spec.
    pub text: &'a str,
    pub sizes: &'a Sizes,
    pub dims: &'a Dims,
    /// Where the test gives its sizes.
    pub place: &'a Range<usize>,
}

impl At<'_> {
    /// Reads a kind of data with parameters, `{ kind = ..., ... }`.
    pub(crate) fn read_table(&self, table: &Table, place: &Range<usize>) -> Checked<DataKind> {
        let get = |name: &str| table.iter().find(|(key, _)| key.get_ref() == name);
        let Some((_, kind)) = get("kind") else {
            return Err(Fault::at(place.clone(), "the key `kind` is missing")
                .help("write { kind = \"integers\", min = 0, max = 9 }"));
        };
        let Value::Text(word) = kind.get_ref() else {
            let title = format!("`kind` must be a word, but this is {}", kind.get_ref().kind());
            return Err(Fault::at(kind.span(), title).help("write kind = \"normal\""));
        };
        let named = DataKind::named(word, &kind.span())?;
        let keys: &[&str] = match named {
            DataKind::Integers => &["kind", "min", "max"],
            DataKind::Normal { .. } => &["kind", "scale", "shift"],
            DataKind::Digits { .. } | DataKind::DigitLabels { .. } => &["kind", "skip"],
            _ => &["kind"],
        };
        if let Some(key) = table.keys().find(|key| !keys.contains(&key.get_ref().as_str())) {
            let name = key.get_ref();
            let title = format!("`{word}` data have no `{}`", name.escape_debug());
            return Err(Fault::at(key.span(), title).suggest(name, keys.iter().copied(), "key"));
        }
        match named {
            DataKind::Integers => match (get("min"), get("max")) {
                (None, None) => Ok(DataKind::Integers),
                (Some((_, min)), Some((_, max))) => self.range(min, max, place),
                (min, _) => {
                    let missing = if min.is_some() { "max" } else { "min" };
                    Err(Fault::at(place.clone(), format!("the key `{missing}` is missing"))
                        .help("a range has two ends: { kind = \"integers\", min = 0, max = 9 }"))
                }
            },
            DataKind::Normal { scale, shift } => Ok(DataKind::Normal {
                scale: real(get("scale").map(|(_, v)| v), scale, "scale", |v| v > 0.0)?,
                shift: real(get("shift").map(|(_, v)| v), shift, "shift", |_| true)?,
            }),
            DataKind::Digits { .. } => Ok(DataKind::Digits { skip: self.skip(get("skip"))? }),
            DataKind::DigitLabels { .. } => {
                Ok(DataKind::DigitLabels { skip: self.skip(get("skip"))? })
            }
            other => Ok(other),
        }
    }

    fn skip(&self, given: Option<(&Spanned<String>, &Spanned<Value>)>) -> Checked<u32> {
        let Some((_, value)) = given else { return Ok(0) };
        let count = self.integer(value, "skip")?;
        u32::try_from(count).map_err(|_| {
            Fault::at(value.span(), format!("`skip` cannot be {count}"))
                .help("it is a number of digits, 0 or more")
        })
    }

    fn range(
        &self,
        min: &Spanned<Value>,
        max: &Spanned<Value>,
        place: &Range<usize>,
    ) -> Checked<DataKind> {
        let (min, max) = (self.integer(min, "min")?, self.integer(max, "max")?);
        let values = i128::from(max) - i128::from(min) + 1;
        if values < 1 {
            return Err(Fault::at(
                place.clone(),
                format!("there is no integer from {min} to {max}"),
            )
            .also(self.place.clone(), "at these sizes")
            .help("the range includes both `min` and `max`"));
        }
        if values > i128::from(u32::MAX) {
            return Err(Fault::at(place.clone(), format!("{values} integers are too many"))
                .help(format!("a range has {} at most", u32::MAX)));
        }
        Ok(DataKind::IntegersIn { min, max })
    }

    /// Reads a number, or an expression of sizes.
    fn integer(&self, value: &Spanned<Value>, key: &str) -> Checked<i64> {
        let place = value.span();
        match value.get_ref() {
            Value::Int(number) => Ok(*number),
            Value::Text(expr) => {
                let math = |e| Fault::math(self.text, &place, e);
                let expr = DimExpr::parse(expr).map_err(math)?;
                self.sizes.check_names(self.text, &expr, &place)?;
                let at = |e| math(e).also(self.place.clone(), "at these sizes");
                expr.eval(self.dims).map_err(at)
            }
            other => {
                let title = format!("`{key}` must be an integer, but this is {}", other.kind());
                Err(Fault::at(place, title)
                    .help(format!("write {key} = 9 or an expression of sizes, {key} = \"N - 1\"")))
            }
        }
    }
}

fn real(
    value: Option<&Spanned<Value>>,
    default: f64,
    key: &str,
    fits: impl Fn(f64) -> bool,
) -> Checked<f64> {
    let Some(value) = value else { return Ok(default) };
    let number = match *value.get_ref() {
        Value::Int(v) => v as f64,
        Value::Float(v) => v,
        ref other => {
            let title = format!("`{key}` must be a number, but this is {}", other.kind());
            return Err(Fault::at(value.span(), title).help(format!("write {key} = 10.0")));
        }
    };
    if number.is_finite() && fits(number) {
        return Ok(number);
    }
    Err(Fault::at(value.span(), format!("`{key}` cannot be {number:?}"))
        .help("`scale` must be a number above 0, `shift` any number"))
}

#[cfg(test)]
mod tests {
    use crate::Spec;
    use std::path::Path;

    /// The message for a spec that gives these data to `images`; empty if they are valid.
    fn message(dtype: &str, data: &str) -> String {
        let text = format!(
            r#"title = "Ink"
[dims]
free = ["N"]
[tensors]
images = "{dtype}"
ink    = "f32[N]"
[math]
forward = "ink[n] = images[n, 0]"
[[launch]]
kernel = "ink"
args   = ["images", "ink", "N"]
block  = 64
grid   = "ceil_div(N, 64)"
[[test]]
name = "one"
dims = {{ N = 3 }}
data = {{ images = {data} }}
"#
        );
        match Spec::parse(&text, Path::new("x.toml")) {
            Ok(_) => String::new(),
            Err(failure) => failure.render(false),
        }
    }

    #[test]
    fn digits_need_their_shape() {
        for (dtype, data) in [
            ("f32[N, 784]", "\"digits\""),
            ("i32[N, 784]", "{ kind = \"digits\", skip = \"2*N\" }"),
            ("f32[N, 10]", "\"digit-labels\""),
        ] {
            let message = message(dtype, data);
            assert!(!message.contains("digit"), "{message}");
        }
        for (dtype, data, title) in [
            ("f32[N, 783]", "\"digits\"", "`images` cannot hold images of digits"),
            ("f32[N, 11]", "\"digit-labels\"", "`images` cannot hold the classes of digits"),
            ("f32[N, 784]", "{ kind = \"digits\", skip = -1 }", "`skip` cannot be -1"),
            ("f32[N, 784]", "{ kind = \"digits\", min = 1 }", "`digits` data have no `min`"),
        ] {
            let message = message(dtype, data);
            assert!(message.contains(title), "{message}");
        }
    }
}
