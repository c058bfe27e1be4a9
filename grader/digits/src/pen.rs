//! From strokes to pixels.
//!
//! No sine, logarithm or power is used: their last bits differ between systems.

use crate::SIDE;
use crate::chance::Chance;
use crate::glyphs::{Point, Way};

/// Straight pieces between two points of a stroke.
const PIECES: usize = 8;
/// Pixels between the image's border and the middle of any stroke, at least: the outermost pixels stay paper.
const MARGIN: f64 = 3.6;

/// A piece of a stroke in pixels, and the pen's radius along it.
struct Piece {
    from: Point,
    to: Point,
    radius: f64,
}

/// Writes a digit once, as nobody will write it again: [`SIDE`] x [`SIDE`] pixels, rows from the top.
pub fn write(way: Way, chance: &mut Chance) -> Vec<u8> {
    let hand = Hand::new(chance);
    let curves: Vec<Vec<Point>> = way
        .iter()
        .map(|stroke| {
            let moved: Vec<Point> = stroke
                .iter()
                .map(|&(x, y)| hand.bend((x + chance.bell(0.022), y + chance.bell(0.022))))
                .collect();
            smooth(&moved)
        })
        .collect();
    let placed = place(&curves, chance);
    let width = chance.uniform(0.85, 1.75);
    let mut pieces = Vec::new();
    for curve in &placed {
        // The pen is pressed harder at one end.
        let (start, end) = (width * chance.uniform(0.8, 1.15), width * chance.uniform(0.8, 1.15));
        let last = (curve.len() - 1) as f64;
        pieces.extend(curve.windows(2).enumerate().map(|(i, two)| Piece {
            from: two[0],
            to: two[1],
            radius: start + (end - start) * (i as f64 / last),
        }));
    }
    let ink = chance.uniform(0.85, 1.0);
    (0..SIDE * SIDE)
        .map(|i| {
            let centre = ((i % SIDE) as f64 + 0.5, (i / SIDE) as f64 + 0.5);
            let cover = pieces.iter().map(|p| p.cover(centre)).fold(0.0, f64::max);
            (255.0 * ink * cover).round() as u8
        })
        .collect()
}

/// What is the same in all strokes of a digit: slant, turn, proportions and two bends.
struct Hand {
    slant: f64,
    cos: f64,
    sin: f64,
    wide: f64,
    bends: (f64, f64),
}

impl Hand {
    fn new(chance: &mut Chance) -> Self {
        // A turn by 2 atan(t).
        let t = chance.bell(0.05);
        Self {
            slant: chance.bell(0.17) + 0.08,
            cos: (1.0 - t * t) / (1.0 + t * t),
            sin: 2.0 * t / (1.0 + t * t),
            wide: chance.uniform(0.62, 1.0),
            bends: (chance.bell(0.16), chance.bell(0.16)),
        }
    }

    /// The point after all that, about the middle of the unit square.
    fn bend(&self, (x, y): Point) -> Point {
        let (x, y) = (x - 0.5, y - 0.5);
        let (x, y) = (x + self.bends.0 * (y * y - 0.1), y + self.bends.1 * (x * x - 0.1));
        let x = self.wide * x - self.slant * y;
        (self.cos * x - self.sin * y, self.sin * x + self.cos * y)
    }
}

/// A curve through all points (Catmull and Rom's spline), as straight pieces.
fn smooth(points: &[Point]) -> Vec<Point> {
    let last = points.len() - 1;
    let closed = points[0] == points[last];
    let mut curve = Vec::with_capacity(last * PIECES + 1);
    for i in 0..last {
        let before = match i {
            0 if closed => points[last - 1],
            0 => points[0],
            _ => points[i - 1],
        };
        let after = match i + 2 {
            n if n <= last => points[n],
            _ if closed => points[1],
            _ => points[last],
        };
        let (here, next) = (points[i], points[i + 1]);
        curve.extend((0..PIECES).map(|step| {
            let at = step as f64 / PIECES as f64;
            (
                spline(at, before.0, here.0, next.0, after.0),
                spline(at, before.1, here.1, next.1, after.1),
            )
        }));
    }
    curve.push(points[last]);
    curve
}

/// A coordinate of the curve between `here` (at 0) and `next` (at 1).
fn spline(at: f64, before: f64, here: f64, next: f64, after: f64) -> f64 {
    let (linear, square) = (next - before, 2.0 * before - 5.0 * here + 4.0 * next - after);
    here + 0.5 * at * (linear + at * (square + at * (3.0 * (here - next) + after - before)))
}

/// The curves in pixels: the longer side fills 16.5 to 19.5 of them, and the middle of the ink lies near the image's.
fn place(curves: &[Vec<Point>], chance: &mut Chance) -> Vec<Vec<Point>> {
    let xs: Vec<f64> = curves.iter().flatten().map(|p| p.0).collect();
    let ys: Vec<f64> = curves.iter().flatten().map(|p| p.1).collect();
    let longer = extent(&xs).max(extent(&ys));
    let scale = chance.uniform(16.5, 19.5) / longer;
    let right = shift(&xs, scale, chance.bell(0.5));
    let down = shift(&ys, scale, chance.bell(0.5));
    let one = |&(x, y): &Point| (right + scale * x, down + scale * y);
    curves.iter().map(|curve| curve.iter().map(one).collect()).collect()
}

fn range(values: &[f64]) -> (f64, f64) {
    let wider = |(low, high): (f64, f64), &v: &f64| (low.min(v), high.max(v));
    values.iter().fold((f64::MAX, f64::MIN), wider)
}

fn extent(values: &[f64]) -> f64 {
    let (low, high) = range(values);
    high - low
}

/// What to add to the scaled values: their mean comes `off` the image's middle, or as near to it as the margin allows.
fn shift(values: &[f64], scale: f64, off: f64) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let (low, high) = range(values);
    let side = SIDE as f64;
    (side / 2.0 + off - scale * mean).clamp(MARGIN - scale * low, side - MARGIN - scale * high)
}

impl Piece {
    /// How much of the pixel with this centre the pen covers, 0 to 1.
    fn cover(&self, (x, y): Point) -> f64 {
        let (dx, dy) = (self.to.0 - self.from.0, self.to.1 - self.from.1);
        let (px, py) = (x - self.from.0, y - self.from.1);
        let length = dx * dx + dy * dy;
        let t = if length > 0.0 { ((px * dx + py * dy) / length).clamp(0.0, 1.0) } else { 0.0 };
        let (ex, ey) = (px - t * dx, py - t * dy);
        (self.radius + 0.5 - (ex * ex + ey * ey).sqrt()).clamp(0.0, 1.0)
    }
}
