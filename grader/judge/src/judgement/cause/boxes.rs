//! Boxes around elements: ranges of coordinates, one for each axis.

use super::view::View;

/// So many correct elements outside of a part make it one that means something.
const MIN_OUTSIDE: usize = 3;

/// The box of all wrong elements, if no other lies in it.
pub(super) fn part_wrong(view: &View) -> Option<Vec<Option<(usize, usize)>>> {
    let ranges = around(view, &mut view.wrong_places());
    (volume(&ranges) == view.wrong_count()).then(|| named(view, &ranges))
}

/// The box around all errors, where it is at most half of the tensor.
pub(super) fn around_wrong(view: &View) -> Option<Vec<Option<(usize, usize)>>> {
    if view.wrong_count() < 2 {
        return None;
    }
    let ranges = around(view, &mut view.wrong_places());
    let volume = volume(&ranges);
    if 2 * volume > view.wrong.len() || view.wrong.len() - volume < MIN_OUTSIDE {
        return None;
    }
    Some(named(view, &ranges))
}

/// First and last coordinate of these places on each axis.
pub(super) fn around(view: &View, places: &mut dyn Iterator<Item = usize>) -> Vec<(usize, usize)> {
    let mut ranges: Vec<(usize, usize)> = view.shape.iter().map(|&size| (size, 0)).collect();
    for i in places {
        for (range, coord) in ranges.iter_mut().zip(view.coords(i)) {
            *range = (range.0.min(coord), range.1.max(coord));
        }
    }
    ranges
}

/// How many elements a box has.
pub(super) fn volume(ranges: &[(usize, usize)]) -> usize {
    ranges.iter().map(|(first, last)| last + 1 - first).product()
}

/// The ranges that are not the whole axis.
pub(super) fn named(view: &View, ranges: &[(usize, usize)]) -> Vec<Option<(usize, usize)>> {
    let whole =
        |(&range, &size): (&(usize, usize), &usize)| (range != (0, size - 1)).then_some(range);
    ranges.iter().zip(view.shape).map(whole).collect()
}
