//! `vprintf`: formats what the threads of a block print, in the order of lanes.

use crate::finding::Trap;
use crate::isa::names::Pc;
use crate::isa::window::Window;
use crate::lanes::lanes;
use crate::machine::exec::Machine;
use crate::machine::monitor::Monitor;
use crate::memory::lane_memory::LaneMemory;

/// Once a block has printed so many bytes, it prints no more; the hardware's buffer is limited too.
const MAX_PRINTED: usize = 1 << 16;
/// What a call counts besides its bytes.
const CALL: u64 = 16;
/// Longest string that is read from memory.
const MAX_STRING: u64 = 1 << 12;

/// A conversion specification such as `%-8.3f`.
#[derive(Debug, PartialEq)]
struct Spec {
    left: bool,
    zero: bool,
    plus: bool,
    width: usize,
    precision: Option<usize>,
    /// 8 for `ll`, `l`, `z`, `j`, `t`, else 4.
    bytes: u32,
    conversion: char,
}

impl<M: Monitor> Machine<'_, '_, M> {
    /// False if the block has printed more than it may: then it does not go on.
    pub(super) fn printf(
        &mut self,
        mask: u32,
        format: u32,
        arguments: u32,
        result: Option<u32>,
    ) -> bool {
        for lane in lanes(mask) {
            self.state.printing += CALL;
            if self.state.printed.len() >= MAX_PRINTED {
                // As where the hardware's buffer cannot take the text.
                if let Some(result) = result {
                    self.set_argument(lane, result, 4, u64::from(u32::MAX));
                }
                continue;
            }
            let format = self.string(lane, self.argument(lane, format, 8));
            let mut at = self.argument(lane, arguments, 8);
            let mut count = 0;
            let next = |bytes: u32| {
                // Arguments lie one behind the other, each aligned to its size.
                let size = u64::from(bytes);
                at = at.wrapping_add(at.wrapping_neg() & (size - 1));
                let value = self.peek(lane, at, bytes).unwrap_or(0);
                at = at.wrapping_add(size);
                count += 1;
                value
            };
            let mut read = format.len();
            let text = expand(&format, next, |address| {
                let text = self.string(lane, address);
                read += text.len();
                text
            });
            self.state.printing += (read + text.len()) as u64;
            self.state.printed.push_str(&text);
            if let Some(result) = result {
                self.set_argument(lane, result, 4, count);
            }
        }
        self.state.printing <= self.env.printed
    }

    /// Reads through a generic address; None if the address is invalid.
    fn peek(&self, lane: usize, address: u64, bytes: u32) -> Option<u64> {
        fn read(memory: &impl LaneMemory, lane: usize, address: u64, bytes: u32) -> Option<u64> {
            let place = memory.check(lane, address, bytes, false).ok()?;
            Some(memory.get(lane, place, bytes).0)
        }
        let window = Window::of(address);
        let inside = address.wrapping_sub(window.base());
        match window {
            Window::Global => read(&self.env.memory, lane, inside, bytes),
            Window::Shared | Window::Cluster => read(&self.state.shared, lane, inside, bytes),
            Window::Local => read(&self.warp.local, lane, inside, bytes),
            Window::Const => read(self.env.constants, lane, inside, bytes),
            Window::Param => read(self.env.params, lane, inside, bytes),
        }
    }

    /// Reports a failed `assert` with its text.
    pub(super) fn assert_fail(&mut self, pc: Pc, mask: u32, message: u32) {
        let lane = mask.trailing_zeros() as usize;
        let text = self.string(lane, self.argument(lane, message, 8));
        self.record(Trap { message: Some(text) }, pc, mask);
    }

    /// A string that ends in a zero byte.
    fn string(&self, lane: usize, address: u64) -> String {
        let bytes: Vec<u8> = (0..MAX_STRING)
            .map_while(|offset| self.peek(lane, address.wrapping_add(offset), 1))
            .map(|byte| byte as u8)
            .take_while(|&byte| byte != 0)
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Expands the format. `next` gives the next argument, of so many bytes.
fn expand(
    format: &str,
    mut next: impl FnMut(u32) -> u64,
    mut string: impl FnMut(u64) -> String,
) -> String {
    let mut text = String::new();
    let mut rest = format.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        if rest.next_if_eq(&'%').is_some() {
            text.push('%');
            continue;
        }
        let Some(spec) = Spec::parse(&mut rest, || next(4) as i32) else { break };
        let body = match spec.conversion {
            'd' | 'i' => spec.integer(next(spec.bytes)),
            'u' => spec.sized(next(spec.bytes)).to_string(),
            'x' => format!("{:x}", spec.sized(next(spec.bytes))),
            'X' => format!("{:X}", spec.sized(next(spec.bytes))),
            'o' => format!("{:o}", spec.sized(next(spec.bytes))),
            'c' => char::from(next(4) as u8).to_string(),
            'p' => format!("{:#x}", next(8)),
            's' => {
                let all = string(next(8));
                all.chars().take(spec.precision.unwrap_or(usize::MAX)).collect()
            }
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' => spec.float(f64::from_bits(next(8))),
            other => format!("%{other}"),
        };
        spec.pad(&body, &mut text);
    }
    text
}

/// No printed number is padded further than this.
const MAX_WIDTH: usize = 1 << 10;

impl Spec {
    fn parse(
        rest: &mut std::iter::Peekable<std::str::Chars>,
        mut star: impl FnMut() -> i32,
    ) -> Option<Self> {
        let mut spec = Self {
            left: false,
            zero: false,
            plus: false,
            width: 0,
            precision: None,
            bytes: 4,
            conversion: ' ',
        };
        while let Some(flag) = rest.next_if(|c| "-0+ #".contains(*c)) {
            spec.left |= flag == '-';
            spec.zero |= flag == '0';
            spec.plus |= flag == '+';
        }
        let mut number = |rest: &mut std::iter::Peekable<std::str::Chars>| {
            if rest.next_if_eq(&'*').is_some() {
                return usize::try_from(star()).unwrap_or(0).min(MAX_WIDTH);
            }
            let mut value = 0usize;
            while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                value = (value * 10 + digit as usize - '0' as usize).min(MAX_WIDTH);
            }
            value
        };
        spec.width = number(rest);
        if rest.next_if_eq(&'.').is_some() {
            spec.precision = Some(number(rest));
        }
        while let Some(length) = rest.next_if(|c| "hljztL".contains(*c)) {
            if length != 'h' {
                spec.bytes = 8;
            }
        }
        spec.conversion = rest.next()?;
        Some(spec)
    }

    fn sized(&self, value: u64) -> u64 {
        if self.bytes == 8 { value } else { value & u64::from(u32::MAX) }
    }

    fn integer(&self, value: u64) -> String {
        let value = if self.bytes == 8 { value as i64 } else { i64::from(value as i32) };
        if self.plus { format!("{value:+}") } else { value.to_string() }
    }

    fn float(&self, value: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        let text = match self.conversion {
            _ if value.is_nan() => "nan".to_owned(),
            _ if value.is_infinite() => format!("{value}"),
            'f' | 'F' => format!("{value:.precision$}"),
            'e' | 'E' => exponential(value, precision),
            _ => general(value, precision.max(1)),
        };
        let text = if self.conversion.is_ascii_uppercase() { text.to_uppercase() } else { text };
        if self.plus && !text.starts_with('-') { format!("+{text}") } else { text }
    }

    fn pad(&self, body: &str, text: &mut String) {
        let missing = self.width.saturating_sub(body.chars().count());
        let digits = body.trim_start_matches(['-', '+']);
        if self.left {
            text.push_str(body);
            text.extend(std::iter::repeat_n(' ', missing));
        } else if self.zero && self.conversion != 's' {
            text.push_str(&body[..body.len() - digits.len()]);
            text.extend(std::iter::repeat_n('0', missing));
            text.push_str(digits);
        } else {
            text.extend(std::iter::repeat_n(' ', missing));
            text.push_str(body);
        }
    }
}

/// `%e`: C writes at least two digits of the exponent, and its sign.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// `%g`: the shorter notation, without zeros at the end.
fn general(value: f64, precision: usize) -> String {
    let scientific = exponential(value, precision - 1);
    let exponent: i32 =
        scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let trim = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if exponent < -4 || exponent >= precision as i32 {
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
        return format!("{}e{exponent}", trim(mantissa));
    }
    let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
    trim(&format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(format: &str, arguments: &[u64]) -> String {
        let mut arguments = arguments.iter();
        expand(format, |_| arguments.next().copied().unwrap_or(0), |address| format!("s{address}"))
    }

    #[test]
    fn as_c_does() {
        let half = 0.5f64.to_bits();
        assert_eq!(
            printed("i=%d %f %s%%\n", &[u64::from(u32::MAX), half, 7]),
            "i=-1 0.500000 s7%\n"
        );
        assert_eq!(
            printed("[%5d|%-5d|%05d|%+d]", &[7, 7, (-7i64) as u64, 7]),
            "[    7|7    |-0007|+7]"
        );
        assert_eq!(
            printed("%8.3f|%.2e|%g|%g", &[half, half, half, 1e10f64.to_bits()]),
            "   0.500|5.00e-01|0.5|1e+10"
        );
        assert_eq!(
            printed("%llu %x %c %*d", &[u64::MAX, 255, 65, 4, 9]),
            "18446744073709551615 ff A    9"
        );
        assert_eq!(printed("100%", &[]), "100");
    }
}
