//! Channel formats: how the bytes of a texel become values, and back.

/// What the bits of a channel are (`cudaChannelFormatKind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChannelKind {
    /// Integers with a sign.
    Signed,
    /// Integers without a sign.
    Unsigned,
    /// IEEE 754 floats of 16 or 32 bits.
    Float,
}

/// A channel format that a texture or surface can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    kind: ChannelKind,
    /// 8, 16 or 32.
    bits: u32,
    /// 1, 2 or 4.
    channels: u32,
}

/// All formats: the kinds, and the widths of each. Each has 1, 2 or 4 channels.
const WIDTHS: [(ChannelKind, &[u32]); 3] = [
    (ChannelKind::Signed, &[8, 16, 32]),
    (ChannelKind::Unsigned, &[8, 16, 32]),
    (ChannelKind::Float, &[16, 32]),
];

/// The bytes of a texel, as words; at most 16 bytes.
pub type TexelBits = [u32; 4];

impl Format {
    /// A format with this many channels of this many bits, if there is one.
    pub fn new(kind: ChannelKind, bits: u32, channels: u32) -> Option<Self> {
        let (_, widths) = WIDTHS.iter().find(|(other, _)| *other == kind)?;
        (widths.contains(&bits) && matches!(channels, 1 | 2 | 4)).then_some(Self {
            kind,
            bits,
            channels,
        })
    }

    /// What the bits of a channel are.
    pub fn kind(self) -> ChannelKind {
        self.kind
    }

    /// The bits of a channel.
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// The number of channels.
    pub fn channels(self) -> u32 {
        self.channels
    }

    /// The size of a channel in bytes.
    pub fn channel_bytes(self) -> u32 {
        self.bits / 8
    }

    /// The size of a texel in bytes.
    pub fn texel_bytes(self) -> u32 {
        self.channel_bytes() * self.channels
    }

    /// Whether a fetch gives floats, if it does not convert to any other type.
    pub fn is_float(self) -> bool {
        self.kind == ChannelKind::Float
    }

    /// The bits of a channel of a texel, extended to 32 as its kind asks; 0 of a channel that the format lacks.
    pub fn channel(self, texel: &TexelBits, channel: u32) -> u32 {
        if channel >= self.channels {
            return 0;
        }
        let at = channel * self.bits;
        let bits = texel[(at / 32) as usize] >> (at % 32);
        match (self.kind, self.bits) {
            (_, 32) => bits,
            (ChannelKind::Float, _) => widened_half(bits & 0xFFFF),
            (ChannelKind::Unsigned, width) => bits & ((1 << width) - 1),
            (ChannelKind::Signed, 8) => i32::from(bits as i8) as u32,
            (ChannelKind::Signed, _) => i32::from(bits as i16) as u32,
        }
    }

    /// The value of a channel of integers that are mapped to [0, 1] or [-1, 1] (`cudaReadModeNormalizedFloat`), as numerator and
    /// denominator.
    pub fn normalized_channel(self, texel: &TexelBits, channel: u32) -> (i32, i32) {
        let bits = self.channel(texel, channel) as i32;
        // The smallest number of a sign is -1, too.
        let most = self.most();
        (bits.max(-most), most)
    }

    /// The integer of 8 or 16 bits that stands for 1.
    fn most(self) -> i32 {
        (1 << (self.bits - u32::from(self.kind == ChannelKind::Signed))) - 1
    }

    /// The texel that holds a border colour: rounded to the steps of integers that are read as floats; with all but the lowest bits cut
    /// off for other integers, and all but the highest for floats of 16 bits. So an H100 does.
    pub fn border(self, colour: [f32; 4], reads_normalized: bool) -> TexelBits {
        let mut texel = [0; 4];
        for (channel, value) in (0..self.channels).zip(colour) {
            let bits = match (self.kind, self.bits) {
                (ChannelKind::Float, 16) => truncated_half(value),
                (kind, 8 | 16) if reads_normalized => {
                    let least = if kind == ChannelKind::Signed { -1.0 } else { 0.0 };
                    let steps = value.clamp(least, 1.0) * self.most() as f32;
                    steps.round_ties_even() as i32 as u32
                }
                _ => value.to_bits(),
            };
            let at = channel * self.bits;
            let kept = u32::MAX >> (32 - self.bits);
            texel[(at / 32) as usize] |= (bits & kept) << (at % 32);
        }
        texel
    }

    /// The bits of a channel that a formatted store (`sust.p`) makes of a word: a float, or an integer, which is clamped to the range
    /// of the channel.
    pub fn encode(self, word: u32) -> u32 {
        match (self.kind, self.bits) {
            (_, 32) => word,
            (ChannelKind::Float, _) => half::f16::from_f32(f32::from_bits(word)).to_bits().into(),
            (ChannelKind::Unsigned, width) => word.min((1 << width) - 1),
            (ChannelKind::Signed, width) => {
                let most = (1i32 << (width - 1)) - 1;
                (word as i32).clamp(-most - 1, most) as u32 & ((1 << width) - 1)
            }
        }
    }
}

/// A float of 16 bits as one of 32. NaNs keep their bits, signalling ones, too.
fn widened_half(bits: u32) -> u32 {
    if bits & 0x7FFF > 0x7C00 {
        return (bits & 0x8000) << 16 | 0x7F80_0000 | (bits & 0x3FF) << 13;
    }
    half::f16::from_bits(bits as u16).to_f32().to_bits()
}

/// A float of 16 bits, the nearest one towards zero.
fn truncated_half(value: f32) -> u32 {
    let nearest = half::f16::from_f32(value);
    let is_too_large = nearest.to_f32().abs() > value.abs();
    u32::from(nearest.to_bits()) - u32::from(is_too_large)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(kind: ChannelKind, bits: u32, channels: u32) -> Format {
        Format::new(kind, bits, channels).unwrap()
    }

    #[test]
    fn there_are_formats_of_certain_widths() {
        assert_eq!(Format::new(ChannelKind::Float, 8, 1), None);
        assert_eq!(Format::new(ChannelKind::Signed, 8, 3), None);
        assert_eq!(format(ChannelKind::Float, 16, 4).texel_bytes(), 8);
    }

    #[test]
    fn channels_are_extended_by_their_kind() {
        let texel = [0x80FF_7F01, 0, 0, 0];
        let signed = format(ChannelKind::Signed, 8, 4);
        let all = |format: Format| [0, 1, 2, 3].map(|channel| format.channel(&texel, channel));
        assert_eq!(all(signed), [1, 127, u32::MAX, -128i32 as u32]);
        assert_eq!(all(format(ChannelKind::Unsigned, 8, 4)), [1, 127, 255, 128]);
        assert_eq!(all(format(ChannelKind::Unsigned, 16, 2)), [0x7F01, 0x80FF, 0, 0]);
        assert_eq!(format(ChannelKind::Float, 16, 1).channel(&[0x3C00, 0, 0, 0], 0), 0x3F80_0000);
        assert_eq!(signed.normalized_channel(&texel, 3), (-127, 127));
    }

    #[test]
    fn borders_have_the_format() {
        let border = |kind, bits, normalized| {
            let [word, ..] = format(kind, bits, 1).border([0.3, 0.0, 0.0, 0.0], normalized);
            word
        };
        // As measured on an H100.
        assert_eq!(border(ChannelKind::Unsigned, 8, true), 76);
        assert_eq!(border(ChannelKind::Signed, 16, true), 9830);
        assert_eq!(border(ChannelKind::Unsigned, 16, false), 0x999A);
        assert_eq!(border(ChannelKind::Float, 16, false), 0x34CC);
        assert_eq!(border(ChannelKind::Float, 32, false), 0x3E99_999A);
    }

    #[test]
    fn formatted_stores_clamp() {
        let signed = format(ChannelKind::Signed, 8, 1);
        assert_eq!(
            [200, -200i32 as u32, -3i32 as u32].map(|word| signed.encode(word)),
            [127, 128, 253]
        );
        assert_eq!(format(ChannelKind::Unsigned, 16, 1).encode(70_000), 0xFFFF);
        assert_eq!(format(ChannelKind::Float, 16, 1).encode(1.0f32.to_bits()), 0x3C00);
    }
}
