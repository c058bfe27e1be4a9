//! Patterns in the order: the expected values, each once, at other places along an axis.

use super::boxes::around_wrong;
use super::view::View;
use crate::verdict::Cause;
use puzzle::comparison::is_within_bound;

/// The expected values are stored with two axes exchanged, or with one of them moved between others: NHWC in the place of NCHW.
pub(super) fn layout(view: &View) -> Option<Cause> {
    let rank = view.shape.len();
    if rank < 3 || !view.varied(view.wrong_places()) {
        return None;
    }
    let pairs = || (0..rank).flat_map(move |from| (0..rank).map(move |to| (from, to)));
    let swapped = pairs().filter(|(a, b)| a < b).map(|(a, b)| {
        let mut order: Vec<usize> = (0..rank).collect();
        order.swap(a, b);
        order
    });
    let moved = pairs().filter(|(from, to)| from.abs_diff(*to) > 1).map(|(from, to)| {
        let mut order: Vec<usize> = (0..rank).collect();
        let axis = order.remove(from);
        order.insert(to, axis);
        order
    });
    // Where all axes but one have a size of 1, every order is the same.
    let changes_places = |order: &Vec<usize>| {
        let long = |axis: &&usize| view.shape[**axis] > 1;
        !order.iter().filter(long).is_sorted()
    };
    let holds = |order: &Vec<usize>| {
        let mut strides = vec![0; rank];
        let mut stride = 1;
        for &axis in order.iter().rev() {
            strides[axis] = stride;
            stride *= view.shape[axis];
        }
        (0..view.got.len()).all(|i| {
            let places = view.coords(i).into_iter().zip(&strides);
            view.fits(places.map(|(coord, stride)| coord * stride).sum(), i)
        })
    };
    let order = swapped.chain(moved).filter(changes_places).find(holds)?;
    Some(Cause::Layout { order })
}

/// A longer axis than this has an order that nobody reads.
const MAX_PERMUTED: usize = 16;
/// With fewer elements along an axis there is no order.
const MIN_ORDERED: usize = 3;

/// Along one axis the expected values stand in another order, the same everywhere: the bytes of a number, the channels of a pixel.
pub(super) fn permuted(view: &View) -> Option<Cause> {
    if !view.varied(view.wrong_places()) {
        return None;
    }
    sources(view).find_map(|(axis, order)| {
        let is_whole = (0..order.len()).all(|place| order.contains(&place));
        is_whole.then_some(Cause::Permuted { axis, order })
    })
}

/// Along one axis the expected values stand at other places, the same everywhere, some of them more than once and others nowhere: what is
/// overwritten before it is read.
pub(super) fn repeated(view: &View) -> Option<Cause> {
    // A few values are equal by chance.
    let row = |axis: usize| view.shape[axis + 1..].iter().product::<usize>();
    let is_long = |axis: usize| view.varied(0..view.got.len()) && row(axis) >= MIN_ORDERED;
    sources(view).find_map(|(axis, order)| {
        let is_whole = (0..order.len()).all(|place| order.contains(&place));
        let (size, stride) = axes(view)[axis];
        // Rows of zeros hold the values of every other row of zeros.
        let moved = (0..view.got.len()).filter_map(|i| {
            let to = i / stride % size;
            (order[to] != to).then(|| i - to * stride + order[to] * stride)
        });
        let is_told = is_long(axis) && view.varied(moved);
        (!is_whole && is_told).then_some(Cause::Repeated { axis, order })
    })
}

/// Elements that change places are so far apart along an axis, at most.
const MAX_APART: usize = 16;
/// With fewer wrong elements than this no pairs are seen.
const MIN_PAIRED: usize = 4;

/// Along one axis each wrong element holds what is expected at the other place of its pair: the two halves of a vector that are swapped.
pub(super) fn paired(view: &View) -> Option<Cause> {
    if view.wrong_count() < MIN_PAIRED || !view.varied(view.wrong_places()) {
        return None;
    }
    let axes = axes(view).into_iter().enumerate().rev();
    let mut all = axes.flat_map(|(axis, (size, stride))| {
        let apart =
            (0..).map(|power| 1 << power).take_while(move |by| *by <= MAX_APART.min(size / 2));
        apart.map(move |by: usize| (axis, size, stride, by))
    });
    all.find_map(|(axis, size, stride, by)| {
        let partner = |i: usize| {
            let place = i / stride % size;
            let other = place ^ by;
            (other < size).then(|| i - place * stride + other * stride)
        };
        let fits =
            |i: usize| partner(i).is_some_and(|other| view.fits(i, other) && view.fits(other, i));
        view.wrong_places().all(fits).then_some(Cause::Paired { axis, by })
    })
}

/// Axes along which each place holds the values that are expected at one place, and that one.
fn sources<'a>(view: &'a View) -> impl Iterator<Item = (usize, Vec<usize>)> + 'a {
    axes(view).into_iter().enumerate().filter_map(|(axis, (size, stride))| {
        let is_possible =
            (MIN_ORDERED..=MAX_PERMUTED).contains(&size) && view.got.len() >= 2 * size;
        let starts: Vec<usize> = (0..view.got.len()).filter(|i| i / stride % size == 0).collect();
        let holds = |to: usize, from: usize| {
            starts.iter().all(|start| view.fits(start + to * stride, start + from * stride))
        };
        // A place that may hold the values of two others shows no order.
        let from = |to: usize| {
            let mut all = (0..size).filter(|&from| holds(to, from));
            all.next().filter(|_| all.next().is_none())
        };
        let order = (0..size).filter(|_| is_possible).map(from).collect::<Option<Vec<usize>>>()?;
        is_possible.then_some((axis, order))
    })
}

/// Along one axis everything holds its expected values, but not in their order.
pub(super) fn reordered(view: &View) -> Option<Cause> {
    let wrong: Vec<usize> = view.wrong_places().take(3).collect();
    let axis = axes(view).into_iter().enumerate().rev().find(|(_, (size, stride))| {
        let starts = (0..view.got.len()).filter(|i| i / stride % size == 0);
        *size >= MIN_ORDERED
            && starts.into_iter().all(|start| {
                let places: Vec<usize> = (0..*size).map(|step| start + step * stride).collect();
                holds_the_same(view, &places)
            })
    })?;
    match wrong[..] {
        [first, second] => {
            let (size, stride) = axis.1;
            let row = |i: usize| (i / (size * stride), i % stride);
            let mut others =
                (0..view.got.len()).filter(|&i| row(i) == row(first) && i != first && i != second);
            // Where others are the same, either value may come from there: a 1 among zeros has only moved.
            let is_alone = others.all(|i| !view.fits(first, i) && !view.fits(second, i));
            is_alone.then_some(Cause::Exchanged { first, second })
        }
        _ => view.varied(view.wrong_places()).then(|| Cause::Reordered {
            axis: axis.0,
            ranges: around_wrong(view).unwrap_or_default(),
        }),
    }
}

/// Whether these places hold the values expected there, in whatever order.
fn holds_the_same(view: &View, places: &[usize]) -> bool {
    let mut got: Vec<f64> = places.iter().map(|&place| view.got[place]).collect();
    let mut expected: Vec<usize> = places.to_vec();
    got.sort_by(f64::total_cmp);
    expected.sort_by(|&a, &b| view.expected[a].value.total_cmp(&view.expected[b].value));
    let written = places.iter().all(|&place| view.written[place]);
    written && got.iter().zip(expected).all(|(got, at)| is_within_bound(*got, &view.expected[at]))
}

/// Axes with their sizes and strides.
pub(super) fn axes(view: &View) -> Vec<(usize, usize)> {
    let mut stride = view.got.len();
    let axis = |&size: &usize| {
        stride /= size.max(1);
        (size, stride.max(1))
    };
    view.shape.iter().map(axis).collect()
}
