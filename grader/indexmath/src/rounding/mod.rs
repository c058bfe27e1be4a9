//! How far a correct kernel may be from the exact value: rounding error analysis.
//!
//! - [`format`](mod@format): number formats, and what storing and accumulating in them does to a value;
//! - [`enclosure`]: a value with a bound of its error;
//! - [`functions`]: values of functions, and how errors pass through them;
//! - [`profile`]: what is known of all values of an expression before any is computed: how many roundings, how regular;
//! - [`product`](mod@product): error bounds of products of many factors;
//! - [`bound`]: error bounds of sums, in the course of a computation and of stored elements.
//!
//! The sources are Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, 2002 (running error analysis,
//! section 3.3; summation, chapter 4), and Higham and Mary, "A New Approach to Probabilistic Rounding Error Analysis", SIAM
//! Journal on Scientific Computing 41(5), 2019.

pub(crate) mod bound;
pub(crate) mod enclosure;
pub(crate) mod format;
pub(crate) mod functions;
pub(crate) mod product;
pub(crate) mod profile;
