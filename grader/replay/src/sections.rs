//! Reads the debug sections of PTX, which are written as bytes with names of labels and variables among them.

use std::collections::HashMap;

/// An address that stands for a name: this plus its index in [`Sections::names`].
const NAMED: u64 = 1 << 62;

/// The debug sections of a PTX file.
#[derive(Debug, Default)]
pub struct Sections {
    bytes: HashMap<String, Vec<u8>>,
    /// The labels, variables and parameters that the sections name.
    names: Vec<String>,
}

impl Sections {
    /// The sections of a PTX file; what is not understood is left out.
    pub fn of(ptx: &str) -> Self {
        let mut sections = Self::default();
        let mut current = None;
        for line in ptx.lines() {
            let line = line.trim();
            if let Some(name) = line.strip_prefix(".section") {
                current = Some(name.trim().to_owned());
            } else if line == "}" {
                current = None;
            } else if let (Some(name), Some((width, values))) = (&current, data(line)) {
                let mut bytes = Vec::new();
                for value in values.split(',') {
                    let value = sections.value(value.trim()).to_le_bytes();
                    bytes.extend_from_slice(&value[..width]);
                }
                sections.bytes.entry(name.clone()).or_default().extend(bytes);
            }
        }
        sections
    }

    /// The bytes of a section; none if it is missing.
    pub fn bytes(&self, name: &str) -> &[u8] {
        self.bytes.get(name).map_or(&[], Vec::as_slice)
    }

    /// The name that an address stands for.
    pub fn name(&self, address: u64) -> Option<&str> {
        self.names.get(usize::try_from(address.checked_sub(NAMED)?).ok()?).map(String::as_str)
    }

    /// A number; the offset in a section, `.debug_loc+12`; or a name.
    fn value(&mut self, text: &str) -> u64 {
        let number = |text: &str| text.parse::<i64>().map(|value| value as u64);
        if let Ok(value) = number(text) {
            return value;
        }
        if text.starts_with('.') {
            return text.split_once('+').and_then(|(_, offset)| number(offset).ok()).unwrap_or(0);
        }
        let index = self.names.iter().position(|name| name == text).unwrap_or_else(|| {
            self.names.push(text.to_owned());
            self.names.len() - 1
        });
        NAMED + index as u64
    }
}

/// Bytes of a value, and the values, of `.b8 1, 2`.
fn data(line: &str) -> Option<(usize, &str)> {
    let (width, values) = line.strip_prefix(".b")?.split_once(char::is_whitespace)?;
    let bits: usize = width.parse().ok().filter(|bits| [8, 16, 32, 64].contains(bits))?;
    Some((bits / 8, values.trim_end_matches(';')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_offsets_and_names() {
        let sections = Sections::of(
            ".section\t.debug_info\n{\n.b8 1,255\n.b32 .debug_loc+3\n.b64 $L__tmp0\n.b16 -1\n}\n.b8 9",
        );
        let bytes = sections.bytes(".debug_info");
        assert_eq!(bytes[..6], [1, 255, 3, 0, 0, 0]);
        let address = u64::from_le_bytes(bytes[6..14].try_into().unwrap());
        assert_eq!(sections.name(address), Some("$L__tmp0"));
        assert_eq!(bytes[14..], [255, 255]);
        assert_eq!(sections.name(5), None);
    }
}
