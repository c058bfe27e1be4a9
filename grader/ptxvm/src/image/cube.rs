//! The face of a cube map that a direction meets (CUDA C++ Programming Guide, "Cubemap Textures").

/// A place on a face: its number, and coordinates from 0 to 1 on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Face {
    pub number: u32,
    pub coordinates: [f32; 2],
}

/// Steps of half a face's length.
const STEPS: f64 = (1u32 << 20) as f64;

/// Where a direction meets the cube. Of equal magnitudes z comes before y, and y before x.
pub(super) fn face([x, y, z]: [f32; 3]) -> Face {
    let (number, m, s, t) = if z.abs() >= x.abs() && z.abs() >= y.abs() {
        if z.is_sign_negative() { (5, -z, -x, -y) } else { (4, z, x, -y) }
    } else if y.abs() >= x.abs() {
        if y.is_sign_negative() { (3, -y, x, -z) } else { (2, y, x, z) }
    } else if x.is_sign_negative() {
        (1, -x, z, -y)
    } else {
        (0, x, -z, -y)
    };
    // 21 bits of fraction, as of any normalised coordinate; they are exact in f32.
    let coordinate = |along: f32| {
        let steps = (f64::from(along) / f64::from(m) * STEPS).floor();
        ((steps + STEPS) / (2.0 * STEPS)) as f32
    };
    Face { number, coordinates: [coordinate(s), coordinate(t)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faces_are_those_of_the_guide() {
        let of = |x, y, z| face([x, y, z]);
        assert_eq!(of(2.0, 1.0, 0.0), Face { number: 0, coordinates: [0.5, 0.25] });
        assert_eq!(of(-2.0, 0.0, 1.0), Face { number: 1, coordinates: [0.75, 0.5] });
        assert_eq!(of(1.0, 2.0, 1.0), Face { number: 2, coordinates: [0.75, 0.75] });
        assert_eq!(of(1.0, -2.0, 1.0), Face { number: 3, coordinates: [0.75, 0.25] });
        assert_eq!(of(1.0, 1.0, 2.0), Face { number: 4, coordinates: [0.75, 0.25] });
        assert_eq!(of(1.0, 1.0, -2.0), Face { number: 5, coordinates: [0.25, 0.25] });
    }
}
