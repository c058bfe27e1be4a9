//! Windows with stride, padding and dilation, in NCHW and in NHWC, against naive loops: values, places of the winners, and
//! gradients of overlapping windows with ties. Padding is the reduction's identity, never a silent zero.

use crate::common::{Random, dims, tensors, values};
use indexmath::{Formula, SizedFormula, Values};

/// Along one axis: size of the image and of the window, stride, padding, dilation.
#[derive(Clone, Copy, Debug)]
struct Axis {
    size: i64,
    window: i64,
    stride: i64,
    pad: i64,
    dilation: i64,
}

impl Axis {
    fn outputs(&self) -> i64 {
        (self.size + 2 * self.pad - self.dilation * (self.window - 1) - 1) / self.stride + 1
    }

    /// Where element `p` of window `o` lies, if in the image.
    fn at(&self, o: i64, p: i64) -> Option<i64> {
        let place = self.stride * o + self.dilation * p - self.pad;
        (0..self.size).contains(&place).then_some(place)
    }
}

#[derive(Clone, Copy, Debug)]
struct Windows {
    n: i64,
    c: i64,
    rows: Axis,
    columns: Axis,
    channels_last: bool,
}

/// Padding up to half of the window, as the frameworks allow, and more than that; windows that overlap, touch, and leave
/// gaps; sizes at which the last rows and columns lie in no window.
fn shapes() -> Vec<Windows> {
    let axis = |size, window, stride, pad, dilation| Axis { size, window, stride, pad, dilation };
    let mut shapes = Vec::new();
    for (rows, columns) in [
        (axis(4, 2, 2, 0, 1), axis(6, 2, 2, 0, 1)),
        (axis(5, 3, 1, 1, 1), axis(7, 3, 1, 1, 1)),
        (axis(7, 3, 2, 1, 1), axis(6, 2, 3, 1, 1)),
        (axis(9, 3, 1, 2, 2), axis(8, 2, 2, 1, 3)),
        (axis(6, 3, 2, 0, 2), axis(5, 3, 1, 1, 1)),
        (axis(3, 3, 1, 1, 1), axis(1, 3, 1, 1, 1)),
        (axis(3, 2, 1, 2, 1), axis(4, 1, 3, 1, 1)),
    ] {
        for channels_last in [false, true] {
            shapes.push(Windows { n: 2, c: 3, rows, columns, channels_last });
        }
    }
    shapes
}

impl Windows {
    fn text(&self, image: &str) -> String {
        let (oh, ow) = ("SH*oh + DH*p - PH", "SW*ow + DW*q - PW");
        if self.channels_last {
            format!("{image}[n, {oh}, {ow}, c]")
        } else {
            format!("{image}[n, c, {oh}, {ow}]")
        }
    }

    fn place(&self, n: i64, c: i64, h: i64, w: i64, [height, width]: [i64; 2]) -> usize {
        let flat = if self.channels_last {
            ((n * height + h) * width + w) * self.c + c
        } else {
            ((n * self.c + c) * height + h) * width + w
        };
        usize::try_from(flat).unwrap()
    }

    fn input(&self) -> [i64; 2] {
        [self.rows.size, self.columns.size]
    }

    fn output(&self) -> [i64; 2] {
        [self.rows.outputs(), self.columns.outputs()]
    }

    fn elements(&self, [height, width]: [i64; 2]) -> usize {
        usize::try_from(self.n * self.c * height * width).unwrap()
    }

    /// `y = REDUCTION x?[...]`, and its gradient; of `argmax` and `argmin`, the place.
    fn concrete(&self, statement: &str, out: &str) -> SizedFormula {
        let shape = |dtype: &str, h: &str, w: &str| {
            if self.channels_last {
                format!("{dtype}[N, {h}, {w}, C]")
            } else {
                format!("{dtype}[N, C, {h}, {w}]")
            }
        };
        let types = [
            ("x", shape("f32", "H", "W")),
            ("f", "f32[KH, KW]".into()),
            ("y", shape(out, "HO", "WO")),
            ("place", shape("i32", "HO", "WO")),
        ];
        let used: Vec<(&str, &str)> = types
            .iter()
            .filter(|(name, _)| {
                statement.contains(&format!("{name}[")) || statement.contains(&format!("{name}?["))
            })
            .map(|(name, ty)| (*name, ty.as_str()))
            .collect();
        let sizes = ["H", "W", "KH", "KW", "SH", "SW", "PH", "PW", "DH", "DW"];
        let formula = Formula::parse_with(statement, &tensors(&used), &sizes);
        let formula = formula.unwrap_or_else(|e| panic!("{statement}: {e:?}"));
        let (r, q) = (self.rows, self.columns);
        formula
            .differentiate()
            .unwrap()
            .at(&dims(&[
                ("N", self.n),
                ("C", self.c),
                ("H", r.size),
                ("W", q.size),
                ("HO", r.outputs()),
                ("WO", q.outputs()),
                ("KH", r.window),
                ("KW", q.window),
                ("SH", r.stride),
                ("SW", q.stride),
                ("PH", r.pad),
                ("PW", q.pad),
                ("DH", r.dilation),
                ("DW", q.dilation),
            ]))
            .unwrap_or_else(|e| panic!("{self:?}: {e:?}"))
    }

    fn left(&self) -> &'static str {
        if self.channels_last { "[n,oh,ow,c]" } else { "[n,c,oh,ow]" }
    }

    /// Every output: its place, its channel, and the elements of its window that are in the image, with their places.
    fn each(&self, mut see: impl FnMut(usize, &[(i64, usize, [i64; 2])])) {
        for n in 0..self.n {
            for c in 0..self.c {
                for oh in 0..self.rows.outputs() {
                    for ow in 0..self.columns.outputs() {
                        let mut found = Vec::new();
                        for p in 0..self.rows.window {
                            for q in 0..self.columns.window {
                                if let (Some(h), Some(w)) =
                                    (self.rows.at(oh, p), self.columns.at(ow, q))
                                {
                                    let at = self.place(n, c, h, w, self.input());
                                    found.push((p * self.columns.window + q, at, [h, w]));
                                }
                            }
                        }
                        see(self.place(n, c, oh, ow, self.output()), &found);
                    }
                }
            }
        }
    }
}

/// Small integers: most windows have ties. All below zero, so that a padding of 0 would win each maximum.
fn draw(random: &mut Random, count: usize, low: i64, high: i64) -> Vec<f64> {
    (0..count).map(|_| random.integer(low, high)).collect()
}

#[test]
fn the_first_of_the_largest_wins_and_padding_never_does() {
    let mut random = Random::new(3);
    for shape in shapes() {
        for (word, sign, [low, high]) in [("max", 1.0, [-4, -1]), ("min", -1.0, [1, 4])] {
            let left = shape.left();
            let statement = format!(
                "y{left} = {word}[p < KH, q < KW] {image}\nplace{left} = arg{word}[p < KH, q < KW] {image}",
                image = shape.text("x?")
            );
            let concrete = shape.concrete(&statement, "f32");
            let x = draw(&mut random, shape.elements(shape.input()), low, high);
            let g = draw(&mut random, shape.elements(shape.output()), -9, 9);
            let known =
                Values::from([("x".to_owned(), x.clone()), ("grad(y)".to_owned(), g.clone())]);
            let got = concrete.evaluate(&known, &["y", "place", "grad(x)"]).unwrap();
            let mut gradient = vec![0.0; x.len()];
            shape.each(|o, window| {
                let mut best: Option<(i64, usize)> = None;
                for &(place, at, _) in window {
                    if best.is_none_or(|(_, other)| sign * x[at] > sign * x[other]) {
                        best = Some((place, at));
                    }
                }
                // A window that lies in the padding alone has no element: only its value is told.
                let (value, place) = match best {
                    Some((place, at)) => (x[at], Some(place)),
                    None => (-sign * f64::INFINITY, None),
                };
                assert_eq!(got["y"][o].value, value, "{shape:?}, output {o}");
                if let (Some(place), Some((_, at))) = (place, best) {
                    assert_eq!(got["place"][o].value, place as f64, "{shape:?}, output {o}");
                    gradient[at] += g[o];
                }
            });
            assert_eq!(values(&got["grad(x)"]), gradient, "{shape:?}, {word}");
            assert!(got["grad(x)"].iter().all(|a| a.bound == 0.0));
        }
    }
}

#[test]
fn sums_over_windows_have_the_gradients_of_naive_loops() {
    let mut random = Random::new(4);
    for shape in shapes() {
        let statement = format!("y{} = sum[p,q] {} * f[p,q]", shape.left(), shape.text("x?"));
        let concrete = shape.concrete(&statement, "f32");
        let x = draw(&mut random, shape.elements(shape.input()), -5, 5);
        let g = draw(&mut random, shape.elements(shape.output()), -5, 5);
        let taps = usize::try_from(shape.rows.window * shape.columns.window).unwrap();
        let f = draw(&mut random, taps, -5, 5);
        let known = Values::from([
            ("x".to_owned(), x.clone()),
            ("f".to_owned(), f.clone()),
            ("grad(y)".to_owned(), g.clone()),
        ]);
        let got = concrete.evaluate(&known, &["y", "grad(x)", "grad(f)"]).unwrap();
        let (mut y, mut dx, mut df) = (vec![0.0; g.len()], vec![0.0; x.len()], vec![0.0; taps]);
        shape.each(|o, window| {
            for &(tap, at, _) in window {
                let tap = usize::try_from(tap).unwrap();
                y[o] += x[at] * f[tap];
                dx[at] += g[o] * f[tap];
                df[tap] += g[o] * x[at];
            }
        });
        for (name, naive) in [("y", y), ("grad(x)", dx), ("grad(f)", df)] {
            assert_eq!(values(&got[name]), naive, "{shape:?}, {name}");
        }
    }
}

#[test]
fn the_place_in_the_plane_follows_from_the_place_in_the_window() {
    let mut random = Random::new(5);
    // Windows that lie in the padding alone have no place.
    for shape in shapes().into_iter().filter(|s| s.rows.pad < s.rows.window) {
        let left = shape.left();
        let at = format!("place{left}");
        let statement = format!(
            "place{left} = argmax[p < KH, q < KW] {image}\n\
             y{left} = index((SH*oh + DH*div({at}, KW) - PH) * W + SW*ow + DW*mod({at}, KW) - PW)",
            image = shape.text("x?")
        );
        let concrete = shape.concrete(&statement, "i32");
        let x = draw(&mut random, shape.elements(shape.input()), -3, 3);
        let got = concrete.evaluate(&Values::from([("x".to_owned(), x.clone())]), &["y"]).unwrap();
        shape.each(|o, window| {
            let first = |best: (usize, [i64; 2]), &(_, at, place): &(i64, usize, [i64; 2])| {
                if x[at] > x[best.0] { (at, place) } else { best }
            };
            let Some(&(_, at, place)) = window.first() else { return };
            let (_, [h, w]) = window.iter().fold((at, place), first);
            assert_eq!(got["y"][o].value, (h * shape.columns.size + w) as f64, "{shape:?}");
        });
    }
}
