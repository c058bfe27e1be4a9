//! Numbers and sizes that are others.

use super::{Edit, Place, integers};
use crate::variants::tree::Tree;

pub(super) fn edits(place: &Place) -> Vec<Edit> {
    match place.tree {
        Tree::Number(value) => numbers(*value),
        Tree::Int(int) => {
            let right = place.size_text(int);
            let of = |(key, rank, int): (String, u8, _)| {
                let now = place.size_text(&int);
                Edit::new(
                    key,
                    rank,
                    Tree::Int(int),
                    format!("{now} stands in the place of {right}"),
                )
            };
            integers::edits(place, int).into_iter().map(of).collect()
        }
        _ => Vec::new(),
    }
}

fn numbers(value: f64) -> Vec<Edit> {
    let others = [
        0.0,
        1.0,
        -value,
        2.0 * value,
        value / 2.0,
        10.0 * value,
        value / 10.0,
        value + 1.0,
        value - 1.0,
    ];
    let of = |other: f64| {
        Edit::new(
            format!("{other}"),
            2,
            Tree::Number(other),
            format!("the constant {value} is {other}"),
        )
    };
    others.into_iter().filter(|other| *other != value).map(of).collect()
}
