//! The pen: from strokes to pixels. Nothing here needs a sine, logarithm or power, whose last bits differ between systems.

use crate::allographs::{Allograph, Point};
use crate::image::SIDE;
use crate::random::RandomStream;

/// The number of straight pieces between two points of a stroke.
const PIECES: usize = 8;
/// The distance in pixels between the image's border and the middle of any stroke, at least: the outermost pixels stay paper.
const MARGIN: f64 = 3.6;

/// A straight piece of a stroke, and the pen's radius along it; in pixels.
struct Piece {
    from: Point,
    to: Point,
    radius: f64,
}

/// Draws a digit, each time in a different hand: [`SIDE`] x [`SIDE`] pixels, rows from the top.
pub(crate) fn draw(allograph: Allograph, random: &mut RandomStream) -> Vec<u8> {
    let hand = Hand::new(random);
    let curves: Vec<Vec<Point>> = allograph
        .iter()
        .map(|stroke| {
            let moved: Vec<Point> = stroke
                .iter()
                .map(|&(x, y)| {
                    hand.bend((x + random.about_normal(0.022), y + random.about_normal(0.022)))
                })
                .collect();
            smooth(&moved)
        })
        .collect();
    let placed = place(&curves, random);
    let width = random.uniform(0.85, 1.75);
    let mut pieces = Vec::new();
    for curve in &placed {
        // The pen is pressed harder at one end.
        let (start, end) = (width * random.uniform(0.8, 1.15), width * random.uniform(0.8, 1.15));
        let last = (curve.len() - 1) as f64;
        pieces.extend(curve.windows(2).enumerate().map(|(i, two)| Piece {
            from: two[0],
            to: two[1],
            radius: start + (end - start) * (i as f64 / last),
        }));
    }
    let ink = random.uniform(0.85, 1.0);
    (0..SIDE * SIDE)
        .map(|i| {
            let centre = ((i % SIDE) as f64 + 0.5, (i / SIDE) as f64 + 0.5);
            let cover = pieces.iter().map(|p| p.cover(centre)).fold(0.0, f64::max);
            (255.0 * ink * cover).round() as u8
        })
        .collect()
}

/// A hand: the parameters that all strokes of a digit share.
struct Hand {
    /// How far the top leans to the right, per unit of height.
    slant: f64,
    /// The cosine and the sine of the angle by which the digit is turned.
    cos: f64,
    sin: f64,
    /// The width relative to the height.
    aspect: f64,
    /// By how much vertical and horizontal lines are bent into parabolas.
    bends: (f64, f64),
}

impl Hand {
    fn new(random: &mut RandomStream) -> Self {
        // A turn by 2 atan(t).
        let t = random.about_normal(0.05);
        Self {
            slant: random.about_normal(0.17) + 0.08,
            cos: (1.0 - t * t) / (1.0 + t * t),
            sin: 2.0 * t / (1.0 + t * t),
            aspect: random.uniform(0.62, 1.0),
            bends: (random.about_normal(0.16), random.about_normal(0.16)),
        }
    }

    /// Where this hand puts a point of the unit square, relative to the middle.
    fn bend(&self, (x, y): Point) -> Point {
        let (x, y) = (x - 0.5, y - 0.5);
        let (x, y) = (x + self.bends.0 * (y * y - 0.1), y + self.bends.1 * (x * x - 0.1));
        let x = self.aspect * x - self.slant * y;
        (self.cos * x - self.sin * y, self.sin * x + self.cos * y)
    }
}

/// A smooth curve through all points, as straight pieces: a Catmull-Rom spline (Catmull and Rom, "A Class of Local
/// Interpolating Splines", 1974).
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

/// A coordinate of the spline between `here` (at 0) and `next` (at 1).
fn spline(at: f64, before: f64, here: f64, next: f64, after: f64) -> f64 {
    let (linear, square) = (next - before, 2.0 * before - 5.0 * here + 4.0 * next - after);
    here + 0.5 * at * (linear + at * (square + at * (3.0 * (here - next) + after - before)))
}

/// Moves and scales the curves to pixels: the longer side fills 16.5 to 19.5 of them, and the middle of the ink lies near the image's.
fn place(curves: &[Vec<Point>], random: &mut RandomStream) -> Vec<Vec<Point>> {
    let xs: Vec<f64> = curves.iter().flatten().map(|p| p.0).collect();
    let ys: Vec<f64> = curves.iter().flatten().map(|p| p.1).collect();
    let longer = extent(&xs).max(extent(&ys));
    let scale = random.uniform(16.5, 19.5) / longer;
    let right = shift(&xs, scale, random.about_normal(0.5));
    let down = shift(&ys, scale, random.about_normal(0.5));
    let one = |&(x, y): &Point| (right + scale * x, down + scale * y);
    curves.iter().map(|curve| curve.iter().map(one).collect()).collect()
}

/// The least and the greatest value.
fn range(values: &[f64]) -> (f64, f64) {
    let wider = |(low, high): (f64, f64), &v: &f64| (low.min(v), high.max(v));
    values.iter().fold((f64::MAX, f64::MIN), wider)
}

/// The distance between the least and the greatest value.
fn extent(values: &[f64]) -> f64 {
    let (low, high) = range(values);
    high - low
}

/// What to add to the scaled values so that their mean comes to `off` from the image's middle, or as near to that as the
/// margin allows.
fn shift(values: &[f64], scale: f64, off: f64) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let (low, high) = range(values);
    let side = SIDE as f64;
    (side / 2.0 + off - scale * mean).clamp(MARGIN - scale * low, side - MARGIN - scale * high)
}

impl Piece {
    /// The part of the pixel with this centre that the pen covers, 0 to 1.
    fn cover(&self, (x, y): Point) -> f64 {
        let (dx, dy) = (self.to.0 - self.from.0, self.to.1 - self.from.1);
        let (px, py) = (x - self.from.0, y - self.from.1);
        let length = dx * dx + dy * dy;
        let t = if length > 0.0 { ((px * dx + py * dy) / length).clamp(0.0, 1.0) } else { 0.0 };
        let (ex, ey) = (px - t * dx, py - t * dy);
        (self.radius + 0.5 - (ex * ex + ey * ey).sqrt()).clamp(0.0, 1.0)
    }
}
