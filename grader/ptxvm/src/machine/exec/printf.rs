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
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of C")]
struct Spec {
    left: bool,
    zero: bool,
    plus: bool,
    space: bool,
    /// `#`: with the prefix of the base, and with all zeros of `%g`.
    alternate: bool,
    width: usize,
    precision: Option<usize>,
    /// 8 for `ll`, `l`, `z`, `j`, `t`, else 4.
    bytes: u32,
    /// Bits of an integer that are shown: 16 for `h`, 8 for `hh`.
    bits: u32,
    conversion: char,
    /// Whether a GPU knows it: neither a precision from an argument nor the length `z` (as on an H100).
    is_known: bool,
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
        let begin = rest.clone();
        let Some(spec) = Spec::parse(&mut rest, || next(4) as i32) else {
            text.push('%');
            break;
        };
        if !spec.is_known {
            text.push('%');
            text.extend(begin.clone().take(begin.count() - rest.clone().count()));
            continue;
        }
        let body = match spec.conversion {
            'd' | 'i' => spec.integer(next(spec.bytes)),
            'u' | 'x' | 'X' | 'o' => spec.unsigned(spec.sized(next(spec.bytes))),
            'c' => char::from(next(spec.bytes) as u8).to_string(),
            'p' => match next(8) {
                0 => "(nil)".to_owned(),
                address => format!("{address:#x}"),
            },
            's' => {
                let address = next(8);
                let all = if address == 0 { "(null)".to_owned() } else { string(address) };
                all.chars().take(spec.precision.unwrap_or(usize::MAX)).collect()
            }
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => spec.float(f64::from_bits(next(8))),
            // Also of `%5%` and of what is no conversion, `%q`, no more is left.
            _ => {
                text.push('%');
                continue;
            }
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
            space: false,
            alternate: false,
            width: 0,
            precision: None,
            bytes: 4,
            bits: u64::BITS,
            conversion: ' ',
            is_known: true,
        };
        while let Some(flag) = rest.next_if(|c| "-0+ #".contains(*c)) {
            spec.left |= flag == '-';
            spec.zero |= flag == '0';
            spec.plus |= flag == '+';
            spec.space |= flag == ' ';
            spec.alternate |= flag == '#';
        }
        let mut number = |rest: &mut std::iter::Peekable<std::str::Chars>| {
            if rest.next_if_eq(&'*').is_some() {
                return i64::from(star());
            }
            let mut value = 0;
            while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                value = (value * 10 + i64::from(digit as u32 - '0' as u32)).min(MAX_WIDTH as i64);
            }
            value
        };
        let width = number(rest);
        // A negative width from an argument is the flag `-` and a width.
        spec.left |= width < 0;
        spec.width = (width.unsigned_abs() as usize).min(MAX_WIDTH);
        if rest.next_if_eq(&'.').is_some() {
            if rest.next_if_eq(&'*').is_some() {
                spec.is_known = false;
            } else {
                let precision = usize::try_from(number(rest)).ok();
                spec.precision = precision.map(|precision| precision.min(MAX_WIDTH));
            }
        }
        while let Some(length) = rest.next_if(|c| "hljztL".contains(*c)) {
            spec.is_known &= length != 'z';
            if length == 'h' {
                spec.bits = if spec.bits == 16 { 8 } else { 16 };
            } else {
                spec.bytes = 8;
            }
        }
        spec.conversion = rest.next()?;
        Some(spec)
    }

    /// Bits of an integer that count.
    fn shown_bits(&self) -> u32 {
        self.bits.min(self.bytes * 8)
    }

    fn sized(&self, value: u64) -> u64 {
        value & (u64::MAX >> (u64::BITS - self.shown_bits()))
    }

    fn integer(&self, value: u64) -> String {
        let unused = u64::BITS - self.shown_bits();
        let value = (value << unused) as i64 >> unused;
        let digits = self.at_least(value.unsigned_abs().to_string());
        self.signed(value < 0, &digits)
    }

    fn unsigned(&self, value: u64) -> String {
        let (digits, prefix) = match self.conversion {
            'x' => (format!("{value:x}"), "0x"),
            'X' => (format!("{value:X}"), "0X"),
            'o' => (format!("{value:o}"), "0"),
            _ => (value.to_string(), ""),
        };
        let digits = self.at_least(digits);
        let is_there = value == 0 || self.conversion == 'o' && digits.starts_with('0');
        if self.alternate && !is_there { format!("{prefix}{digits}") } else { digits }
    }

    /// The digits of an integer, of which there are as many as its precision says.
    fn at_least(&self, digits: String) -> String {
        match self.precision {
            Some(0) if digits == "0" => String::new(),
            Some(precision) => format!("{digits:0>precision$}"),
            None => digits,
        }
    }

    fn signed(&self, negative: bool, text: &str) -> String {
        let sign = match () {
            () if negative => "-",
            () if self.plus => "+",
            () if self.space => " ",
            () => "",
        };
        format!("{sign}{text}")
    }

    fn float(&self, value: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        let size = value.abs();
        let text = match self.conversion {
            _ if value.is_nan() => "nan".to_owned(),
            _ if value.is_infinite() => "inf".to_owned(),
            'f' | 'F' => {
                let point = if self.alternate && precision == 0 { "." } else { "" };
                format!("{size:.precision$}{point}")
            }
            'e' | 'E' => exponential(size, precision),
            'a' | 'A' => hexadecimal(size, self.precision),
            _ => general(size, precision.max(1), self.alternate),
        };
        let text = if self.conversion.is_ascii_uppercase() { text.to_uppercase() } else { text };
        self.signed(value.is_sign_negative(), &text)
    }

    fn pad(&self, body: &str, text: &mut String) {
        let missing = self.width.saturating_sub(body.chars().count());
        // Zeros stand behind the sign and the prefix; words and integers with a precision have none.
        let has_precision = "diuxXo".contains(self.conversion) && self.precision.is_some();
        let has_zeros = !has_precision
            && self.conversion != 's'
            && !["nan", "inf"].iter().any(|word| body.to_ascii_lowercase().ends_with(word));
        let mut digits = body.trim_start_matches(['-', '+', ' ']);
        if "xXaA".contains(self.conversion) {
            digits = digits.strip_prefix("0x").or(digits.strip_prefix("0X")).unwrap_or(digits);
        }
        if self.left {
            text.push_str(body);
            text.extend(std::iter::repeat_n(' ', missing));
        } else if self.zero && has_zeros {
            text.push_str(&body[..body.len() - digits.len()]);
            text.extend(std::iter::repeat_n('0', missing));
            text.push_str(digits);
        } else {
            text.extend(std::iter::repeat_n(' ', missing));
            text.push_str(body);
        }
    }
}

/// `%a`: the bits of the significand in base 16, as many as there are or, rounded to even, as the precision says.
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let (bits, wide) = (value.to_bits(), 52);
    let (field, fraction) = (bits >> wide, bits & ((1 << wide) - 1));
    let exponent = if field == 0 { -1022 } else { field as i64 - 1023 };
    let exponent = if bits == 0 { 0 } else { exponent };
    let mut significand = u64::from(field > 0) << wide | fraction;
    let digits = precision.unwrap_or(13);
    if digits < 13 {
        let cut = wide - 4 * digits as u64;
        let (rest, half) = (significand & ((1 << cut) - 1), 1 << (cut - 1));
        significand >>= cut;
        significand += u64::from(rest > half || rest == half && significand & 1 == 1);
        significand <<= cut;
    }
    let all = format!("{:013x}", significand & ((1 << wide) - 1));
    let shown = match precision {
        None => all.trim_end_matches('0').to_owned(),
        Some(digits) => format!("{:0<digits$}", &all[..digits.min(13)]),
    };
    let point = if shown.is_empty() { "" } else { "." };
    format!("0x{}{point}{shown}p{exponent:+}", significand >> wide)
}

/// `%e`: C writes at least two digits of the exponent, and its sign.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// `%g`: the shorter notation, without zeros at the end unless they are asked for.
fn general(value: f64, precision: usize, zeros: bool) -> String {
    let scientific = exponential(value, precision - 1);
    let exponent: i32 =
        scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let trim = |text: &str| {
        if text.contains('.') && !zeros {
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
    fn what_a_gpu_does_not_know_is_printed_as_it_stands() {
        // As an H100 prints them, where C has a number.
        assert_eq!(printed("%.*f", &[3, 2.5f64.to_bits()]), "%.*f");
        assert_eq!(printed("%d %zu\n", &[37, 99]), "37 %zu\n");
        assert_eq!(printed("%-5zx|%%", &[99]), "%-5zx|%");
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
        assert_eq!(printed("100%", &[]), "100%");
        assert_eq!(
            printed("%*d|%#.0f|%5%|%q", &[(-6i64) as u64, 42, 3f64.to_bits()]),
            "42    |3.|%|%"
        );
        assert_eq!(printed("%hu %hd %hhd %hhu", &[70000, 40000, 200, 511]), "4464 -25536 -56 255");
        assert_eq!(printed("%p %8p %s", &[0, 16, 0]), "(nil)     0x10 (null)");
        assert_eq!(
            printed(
                "%#x %#o %#X %#x|%#06x|% d|% d|%.3d|%5.2u|%.0d|",
                &[255, 8, 255, 0, 255, 5, (-5i64) as u64, 7, 3, 0]
            ),
            "0xff 010 0XFF 0|0x00ff| 5|-5|007|   03||"
        );
        let bits = f64::to_bits;
        assert_eq!(
            printed("%a %A %.2a %a %a|%.0a", &[1.5, -0.1, 1.999, 0.0, 5e-324, 1.5].map(bits)),
            "0x1.8p+0 -0X1.999999999999AP-4 0x2.00p+0 0x0p+0 0x0.0000000000001p-1022|0x2p+0"
        );
        assert_eq!(
            printed(
                "%f %05f|%5.1f|%+f|%#g|% .1f",
                &[
                    bits(f64::NAN) | 1 << 63,
                    bits(f64::INFINITY),
                    bits(-0.04),
                    bits(f64::NAN),
                    bits(1.0),
                    bits(2.0)
                ]
            ),
            "-nan   inf| -0.0|+nan|1.00000| 2.0"
        );
    }
}
