//! Numbers, times and counts as people read them.

use std::time::Duration;

/// Significant digits where nothing asks for more.
const DIGITS: usize = 6;
/// With these every f64 is told apart.
const MAX_DIGITS: usize = 17;

/// Six significant digits; integers in full.
pub(super) fn number(x: f64) -> String {
    digits(x, DIGITS)
}

/// Both with as few digits as tell them apart.
pub(super) fn pair(a: f64, b: f64) -> (String, String) {
    let mut count = DIGITS;
    loop {
        let texts = (digits(a, count), digits(b, count));
        if texts.0 != texts.1 || a == b || count == MAX_DIGITS {
            return texts;
        }
        count += 1;
    }
}

/// With its sign, also where it is positive.
pub(super) fn signed(x: f64) -> String {
    let text = number(x);
    if x > 0.0 { format!("+{text}") } else { text }
}

fn digits(x: f64, count: usize) -> String {
    if x.is_nan() {
        return "NaN".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf".into() } else { "-inf".into() };
    }
    if x == 0.0 {
        return "0".into(); // also -0.0, which is equal
    }
    if x.fract() == 0.0 && x.abs() < 1e15 {
        return format!("{x:.0}");
    }
    let scientific = format!("{x:.*e}", count - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    if (-4..=count as i64).contains(&exponent) {
        let decimals = (count as i64 - 1 - exponent).max(0) as usize;
        trim(&format!("{x:.decimals$}")).to_owned()
    } else {
        format!("{}e{exponent}", trim(mantissa))
    }
}

/// Without zeros at the end of a fraction.
fn trim(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// `0.4 ms`, `12 ms`, `1.25 s`.
pub(super) fn time(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    match ms {
        ..10.0 => format!("{ms:.1} ms"),
        ..1000.0 => format!("{ms:.0} ms"),
        _ => format!("{:.2} s", ms / 1e3),
    }
}

/// A count with its noun: `1 element`, `3 elements`.
pub(super) fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// The items in brackets: `[0, 0, 2, 1]`.
pub(super) fn list<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    format!("[{}]", items.join(", "))
}

/// `part / whole`; `None` of nothing.
pub fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// A number in a column, with one digit behind the point; `-` where there is none.
pub fn cell(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.1}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_but_exact_enough() {
        let shown =
            [0.0, -0.0, 1.0, -3.0, 16_777_217.0, 0.1, f64::from(0.1f32), 1.0 / 3.0, 12_345.678_9]
                .map(number);
        assert_eq!(shown, ["0", "0", "1", "-3", "16777217", "0.1", "0.1", "0.333333", "12345.7"]);
        let shown =
            [1e-5 / 3.0, 1e300, -2.5e-10, f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(number);
        assert_eq!(shown, ["3.33333e-6", "1e300", "-2.5e-10", "NaN", "inf", "-inf"]);
    }

    #[test]
    fn a_pair_is_told_apart() {
        assert_eq!(pair(1.0, 2.5), ("1".into(), "2.5".into()));
        assert_eq!(pair(0.1, f64::from(0.1f32)), ("0.1".into(), "0.100000001".into()));
        assert_eq!(pair(1.5, 1.5), ("1.5".into(), "1.5".into()));
        let (a, b) = pair(1.1, 1.1 + f64::EPSILON);
        assert_ne!(a, b);
    }

    #[test]
    fn times_have_three_digits() {
        let shown = [400, 12_300, 1_250_000].map(|us| time(Duration::from_micros(us)));
        assert_eq!(shown, ["0.4 ms", "12 ms", "1.25 s"]);
    }
}
