//! Numbers and sizes that are others.

use super::{Edit, Place, integers};
use crate::syntax::int_expr::{IntExpr, IntKind};
use crate::variants::text::number;
use crate::variants::tree::Tree;

pub(super) fn edits(place: &Place) -> Vec<Edit> {
    match place.tree {
        Tree::Number(value) => numbers(*value),
        Tree::Int(int) => {
            let correct = place.size_text(int);
            let of = |(key, rank, changed): (String, u8, _)| {
                let says =
                    format!("{} stands in the place of {correct}", place.size_text(&changed));
                Edit::new(key.clone(), rank, Tree::Int(changed), says).of_int(int, &key)
            };
            let mut all = integers::edits(place, int);
            all.extend(place.products.iter().map(|name| {
                let product = IntExpr::new(IntKind::Name(name.clone()), crate::Span::default());
                (format!("size {name}"), 2, product)
            }));
            all.into_iter().map(of).collect()
        }
        _ => Vec::new(),
    }
}

fn numbers(value: f64) -> Vec<Edit> {
    let near = [0.0, 1.0, -value, 2.0 * value, value / 2.0];
    // Nobody counts from a fraction.
    let next = [value + 1.0, value - 1.0].into_iter().filter(|_| value.fract() == 0.0);
    // Of a small constant, a floor for example, any power of ten.
    let powers = if value.abs() < 0.1 { 20 } else { 1 };
    let scaled = (1..=powers).flat_map(|n| [value * 10_f64.powi(n), value / 10_f64.powi(n)]);
    let others = near.into_iter().chain(next).chain(scaled);
    let of = |other: f64| {
        Edit::new(
            format!("{other}"),
            2,
            Tree::Number(other),
            format!("the constant {} is {}", number(value), number(other)),
        )
    };
    others.filter(|other| *other != value).map(of).collect()
}
