//! The spec of a puzzle as it is written in the TOML file: keys, types and places, not yet checked.
//!
//! A crate of its own, because its parser is much code that never needs to be fast: it is compiled without optimisation.

#![expect(
    missing_docs,
    reason = "the keys are documented where people read of them, in the book's spec_reference.md"
)]

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use toml::Spanned;

/// Parses the text of a spec.
///
/// # Errors
/// The text is no TOML, or has keys or types that a spec does not have.
pub fn parse(text: &str) -> Result<RawSpec, toml::de::Error> {
    // Only an escape can bring a control character in: TOML allows none as it is.
    if ["\\u", "\\U", "\\x", "\\e"].iter().any(|escape| text.contains(escape)) {
        refuse_control(&toml::Value::Table(toml::from_str(text)?))?;
    }
    toml::from_str(text)
}

/// Refuses texts that would do something to the terminal that shows them.
fn refuse_control(value: &toml::Value) -> Result<(), toml::de::Error> {
    match value {
        toml::Value::String(text) => {
            match text.chars().find(|c| c.is_control() && !"\n\t\r".contains(*c)) {
                Some(c) => Err(serde::de::Error::custom(format!(
                    "a text contains the control character {}: remove it",
                    u32::from(c)
                ))),
                None => Ok(()),
            }
        }
        toml::Value::Array(all) => all.iter().try_for_each(refuse_control),
        toml::Value::Table(all) => all.values().try_for_each(refuse_control),
        _ => Ok(()),
    }
}

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawSpec {
    pub title: Spanned<String>,
    /// The numbers of the puzzles to solve before this one.
    #[serde(default)]
    pub needs: Vec<u32>,
    /// The architecture that the kernels need, such as `"sm_80"`.
    pub arch: Option<Spanned<String>>,
    #[serde(default)]
    pub differences: bool,
    /// The headers of `kernels/include` that the student's file may include.
    #[serde(default)]
    pub headers: Vec<Spanned<String>>,
    pub dims: Spanned<Table>,
    pub tensors: Spanned<BTreeMap<Spanned<String>, Spanned<String>>>,
    /// Memory that launches share and no formula knows: element types and shapes, as in `tensors`.
    #[serde(default)]
    pub workspace: BTreeMap<Spanned<String>, Spanned<String>>,
    pub math: RawMath,
    /// The kernel launches. A spec has either these or `call`.
    #[serde(default)]
    pub launch: Vec<RawLaunch>,
    /// The calls of host functions.
    #[serde(default)]
    pub call: Vec<RawCall>,
    /// Weaknesses of the tests, such as "H = W", each with the reason why it does not matter.
    #[serde(default)]
    pub untested: BTreeMap<String, String>,
    #[serde(default)]
    pub gate: Vec<RawGate>,
    #[serde(default)]
    pub broken: Vec<RawBroken>,
    #[serde(default)]
    pub require: Vec<RawRequire>,
    #[serde(default)]
    pub picture: Vec<RawPicture>,
    pub draw: Option<Spanned<RawDraw>>,
    pub test: Vec<RawTest>,
    /// The sizes at which `grader bench` times the kernels.
    #[serde(default)]
    pub bench: Vec<RawBench>,
    /// The steps of a ladder. The spec of a puzzle has none.
    #[serde(default)]
    pub step: Vec<RawStep>,
}

/// The table `[math]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawMath {
    pub forward: Spanned<String>,
    /// Gradients as a person would write them.
    pub closed: Option<Spanned<String>>,
}

/// A table `[[launch]]`: a kernel with its arguments and numbers of threads.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawLaunch {
    pub kernel: Spanned<String>,
    pub args: Vec<Spanned<String>>,
    pub block: Spanned<Value>,
    pub grid: Spanned<Value>,
    pub shared: Option<Spanned<Value>>,
    /// Constants of the kernels' file, each with the tensor that is copied into it before the launch.
    #[serde(default)]
    pub constants: BTreeMap<Spanned<String>, Spanned<String>>,
    pub repeat: Option<Spanned<String>>,
    #[serde(default)]
    pub cooperative: bool,
}

/// The options of a launch: keys of `[[launch]]` that reach the device unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchOptions {
    /// True if all blocks run at once and may wait for each other (`this_grid().sync()`).
    pub cooperative: bool,
}

impl From<&RawLaunch> for LaunchOptions {
    fn from(raw: &RawLaunch) -> Self {
        Self { cooperative: raw.cooperative }
    }
}

impl LaunchOptions {
    /// The options of a launch by host code, which the CUDA runtime only tells whether it is cooperative.
    pub fn of_runtime(cooperative: bool) -> Self {
        Self { cooperative }
    }
}

/// What the report shows: keys of the spec that reach the judge unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportOptions {
    /// True if the report shows, for each output of a test, its largest difference from the expected values.
    pub differences: bool,
}

impl From<&RawSpec> for ReportOptions {
    fn from(raw: &RawSpec) -> Self {
        Self { differences: raw.differences }
    }
}

/// A table `[[call]]`: a host function and the C++ code that calls it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawCall {
    /// The declaration of the function.
    pub function: Spanned<String>,
    /// The headers that the declaration and `code` need.
    #[serde(default)]
    pub include: Vec<Spanned<String>>,
    /// The C++ code that calls it.
    pub code: Spanned<String>,
    /// The time limit for the host code in seconds, without the time of the device.
    pub seconds: Option<Spanned<u64>>,
    /// Results that are displayed while they are written, by label.
    #[serde(default)]
    pub progress: BTreeMap<Spanned<String>, Spanned<String>>,
}

/// A table `[[gate]]`: a bound on a counter, or on the time.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawGate {
    pub bound: Spanned<String>,
    /// The kernel. Optional if there is only one launch.
    pub kernel: Option<Spanned<String>>,
    /// The tests to which it applies. If absent, all.
    pub tests: Option<Vec<Spanned<String>>>,
    /// The benches to which a bound on the time applies. If absent, all.
    pub benches: Option<Vec<Spanned<String>>>,
    pub about: Option<String>,
}

/// A table `[[broken]]`: a kernel that the stub gives with a mistake.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawBroken {
    pub kernel: Spanned<String>,
    /// The name of the finding that it must have.
    pub finding: Spanned<String>,
}

/// A table `[[require]]`: a bound on a result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawRequire {
    pub holds: Spanned<String>,
    /// The tests to which it applies. If absent, all that have its results.
    pub tests: Option<Vec<Spanned<String>>>,
    pub about: Option<String>,
}

/// A table `[[picture]]`: a picture of a result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawPicture {
    pub of: Spanned<String>,
    pub kind: Spanned<String>,
    pub title: Spanned<String>,
    pub x: String,
    pub y: String,
    /// The tests to which it applies. If absent, all that have its results.
    pub tests: Option<Vec<Spanned<String>>>,
}

/// The table `[draw]`: ranges of sizes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawDraw {
    /// Why nothing is drawn, in the place of everything else.
    pub fixed: Option<Spanned<String>>,
    /// The smallest and the largest value of each free size.
    pub dims: Option<Spanned<BySize<[i64; 2]>>>,
    /// The largest value of a size in the case in which it is long.
    pub longest: Option<Spanned<BySize<i64>>>,
    /// What must hold between sizes.
    #[serde(default)]
    pub r#where: Vec<Spanned<String>>,
    pub data: Option<Spanned<Value>>,
    /// Data of the cases that launch a kernel.
    #[serde(default)]
    pub data_with: BTreeMap<Spanned<String>, Spanned<Table>>,
    /// Whether the result of a sum with an infinite term must be what adding the terms up gives.
    #[serde(default)]
    pub infinite_terms: bool,
}

/// A table `[[test]]`: sizes, kernels and data.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawTest {
    pub name: Spanned<String>,
    pub about: Option<String>,
    /// The kernels to launch. If absent, all.
    pub kernels: Option<Spanned<Vec<Spanned<String>>>>,
    pub dims: Spanned<BTreeMap<Spanned<String>, Spanned<i64>>>,
    /// The sizes at which the launches run before, on other data. If absent, they do not.
    pub before: Option<Spanned<BTreeMap<Spanned<String>, Spanned<i64>>>>,
    pub data: Option<Spanned<Value>>,
    #[serde(default)]
    pub expect: BTreeMap<Spanned<String>, Spanned<Value>>,
    pub check: Option<Spanned<RawCheck>>,
    pub tolerance: Option<Spanned<RawTolerance>>,
}

/// A table `[[bench]]`: sizes at which kernels are timed, and the work that they do there.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawBench {
    pub name: Spanned<String>,
    /// The kernels to time. If absent, all.
    pub kernels: Option<Spanned<Vec<Spanned<String>>>>,
    pub dims: Spanned<BTreeMap<Spanned<String>, Spanned<i64>>>,
    pub data: Option<Spanned<Value>>,
    /// Floating-point operations, an expression of sizes.
    pub flops: Spanned<String>,
    /// Bytes that must go to and from memory at least, an expression of sizes.
    pub bytes: Spanned<String>,
    /// The number of the puzzle whose solution this one improves on.
    pub improves: Option<Spanned<u32>>,
    /// The matrix product that a vendor's library would compute in the kernels' place.
    pub gemm: Option<RawGemm>,
    /// The pass of a convolution that a vendor's library would compute in the kernels' place.
    pub conv: Option<RawConv>,
    /// The pooling whose backward pass a vendor's library would compute in the kernels' place.
    pub pool: Option<RawPool>,
}

/// The value of `gemm`: `c[m,n] = a[m,k] * b[k,n]`, all row-major, where `a` and `b` may be stored transposed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawGemm {
    pub a: Spanned<String>,
    pub b: Spanned<String>,
    pub c: Spanned<String>,
    pub m: Spanned<String>,
    pub n: Spanned<String>,
    pub k: Spanned<String>,
    /// The factors that are stored transposed: `""`, `"a"`, `"b"` or `"ab"`.
    pub transposed: Option<Spanned<String>>,
}

/// The value of `conv`: `y` is the convolution of the images `x` with the filters `w`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawConv {
    pub x: Spanned<String>,
    pub w: Spanned<String>,
    pub y: Spanned<String>,
    pub bias: Option<Spanned<String>>,
    /// `"forward"`, `"data"` or `"weights"`.
    pub pass: Option<Spanned<String>>,
    pub pad: Option<Spanned<u64>>,
    /// `"nchw"` or `"nhwc"`.
    pub layout: Option<Spanned<String>>,
}

/// The value of `pool`: `y` has the largest elements of square windows of the images `x`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawPool {
    pub x: Spanned<String>,
    pub y: Spanned<String>,
    /// Expressions of sizes.
    pub window: Spanned<String>,
    pub stride: Spanned<String>,
    pub pad: Spanned<String>,
}

/// A table `[[step]]` of a ladder: a file with kernels, and how it is launched.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawStep {
    /// The stem of the file, such as `01_atomic_scatter`.
    pub file: Spanned<String>,
    /// What changed, in a few words.
    pub about: Spanned<String>,
    /// `sm_90a`, if it has instructions that no other architecture has.
    pub arch: Option<Spanned<String>>,
    pub launch: Vec<RawLaunch>,
}

/// Values of sizes, by name.
pub type BySize<T> = BTreeMap<Spanned<String>, Spanned<T>>;

/// The value of `check`, such as `{ kind = "numerical-gradient", epsilon = 0.5, rtol = 1e-2 }`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawCheck {
    pub kind: Spanned<String>,
    pub epsilon: Option<Spanned<f64>>,
    pub rtol: Option<Spanned<f64>>,
}

/// The value of `tolerance`, such as `{ rtol = 1e-3, atol = 1e-6, reason = "..." }`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawTolerance {
    pub rtol: Spanned<f64>,
    pub atol: Spanned<f64>,
    pub reason: Spanned<String>,
}

/// Keys and values with their places.
pub type Table = BTreeMap<Spanned<String>, Spanned<Value>>;

/// The value of a key that takes several forms.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Spanned<Value>>),
    Table(Table),
}

impl Value {
    /// The type of the value for messages, such as "a list".
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bool(_) => "true or false",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a floating-point number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, a string, a list or a table")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(Value::Bool(v))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(Value::Int(v))
    }

    fn visit_f64<E>(self, v: f64) -> Result<Value, E> {
        Ok(Value::Float(v))
    }

    fn visit_str<E>(self, v: &str) -> Result<Value, E> {
        Ok(Value::Text(v.to_owned()))
    }

    fn visit_string<E>(self, v: String) -> Result<Value, E> {
        Ok(Value::Text(v))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut table = BTreeMap::new();
        while let Some((key, value)) = map.next_entry()? {
            table.insert(key, value);
        }
        Ok(Value::Table(table))
    }
}
