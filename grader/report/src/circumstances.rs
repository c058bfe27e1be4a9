//! Where an output is wrong, and where it is not: for which sizes, in which places, by which threads, and which elements of a search. Each is
//! one sentence.

use super::number::count;
use judge::verdict::{
    CorrectSizes, PlaceKind, SizeLimit, ThreadGroup, WrongChoice, WrongPlaces, WrongThreads,
};
use puzzle::tensor::Tensor;
use std::cmp::Ordering;

/// Which other element of a search the wrong positions name.
pub(super) fn of_choice(choice: &WrongChoice) -> String {
    match choice {
        WrongChoice::Tie => "each wrong position is that of an element as large as the right one: of equal elements the first in row-major order counts.".into(),
        WrongChoice::InTensor(tensor) => format!(
            "each wrong position is that of the right element in all of {tensor}, and should be that among the elements of the search."
        ),
        WrongChoice::InSlice(tensor) => format!(
            "each wrong position is that of the right element in its slice of {tensor} over the last two axes, and should be that among the elements of the search."
        ),
    }
}

/// For which sizes an output is correct.
pub(super) fn of_size_limit(limit: &SizeLimit, tensor: &Tensor) -> String {
    let SizeLimit { size, correct, threads, tried } = limit;
    let name = tensor.name.trim_end_matches('\'');
    let threads = threads.map(|n| format!("; a block has {n} threads")).unwrap_or_default();
    let when = match correct {
        CorrectSizes::UpTo(largest) => {
            format!("for {size} up to {largest} and wrong from {} on", largest + 1)
        }
        CorrectSizes::MultiplesOf(step) => {
            format!("where {size} is a multiple of {step} and wrong in between")
        }
    };
    format!(
        "{name} is correct {when}, with all other sizes as they are here ({} were tried{threads}).",
        count(*tried, "case")
    )
}

/// Where the wrong elements lie, in other cases too.
pub(super) fn of_places(places: &WrongPlaces) -> String {
    let WrongPlaces { place, exactly, cases } = places;
    let which = match place {
        PlaceKind::EveryNth { step: 2, remainder: 0 } => "its position in memory is even".into(),
        PlaceKind::EveryNth { step: 2, .. } => "its position in memory is odd".into(),
        PlaceKind::EveryNth { step, remainder } => {
            format!("its position in memory is {remainder}, or a multiple of {step} farther")
        }
        PlaceKind::Sign { tensor, signs } => {
            let sign = |sign: &Ordering| match sign {
                Ordering::Less => "negative",
                Ordering::Equal => "0",
                Ordering::Greater => "positive",
            };
            let signs: Vec<&str> = signs.iter().map(sign).collect();
            format!("{tensor} is {}", signs.join(" or "))
        }
    };
    let how = if *exactly { "exactly" } else { "only" };
    format!(
        "an element is wrong {how} where {which}, here and in {}.",
        count(*cases, "further case")
    )
}

/// Which threads store what is wrong.
pub(super) fn of_threads(threads: WrongThreads) -> String {
    let WrongThreads { group, number, correct } = threads;
    let who = match group {
        ThreadGroup::Thread => format!("thread {number} of its block"),
        ThreadGroup::Warp => format!("warp {number} of its block"),
        ThreadGroup::Lane => format!("lane {number} of its warp"),
    };
    if correct {
        format!(
            "an element is correct exactly where {who} stores it: do the others have all that it computes with?"
        )
    } else {
        format!("an element is wrong exactly where {who} stores it.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use puzzle::tensor::DType;

    #[test]
    fn each_circumstance_is_one_sentence() {
        let tensor = Tensor { name: "y".into(), dtype: DType::F32, shape: vec![4] };
        let limit = |correct, threads| {
            let limit = SizeLimit { size: "H".into(), correct, threads, tried: 20 };
            of_size_limit(&limit, &tensor)
        };
        let places = |place, exactly| of_places(&WrongPlaces { place, exactly, cases: 4 });
        let signs = vec![Ordering::Less, Ordering::Equal];
        let threads = |group, correct| of_threads(WrongThreads { group, number: 0, correct });
        let texts = [
            limit(CorrectSizes::MultiplesOf(16), None),
            limit(CorrectSizes::UpTo(127), Some(128)),
            places(PlaceKind::EveryNth { step: 2, remainder: 1 }, true),
            places(PlaceKind::EveryNth { step: 4, remainder: 3 }, true),
            places(PlaceKind::Sign { tensor: "z".into(), signs }, false),
            threads(ThreadGroup::Thread, true),
            threads(ThreadGroup::Lane, false),
            of_choice(&WrongChoice::Tie),
            of_choice(&WrongChoice::InSlice("x".into())),
        ];
        insta::assert_snapshot!(texts.join("\n"), @r"
        y is correct where H is a multiple of 16 and wrong in between, with all other sizes as they are here (20 cases were tried).
        y is correct for H up to 127 and wrong from 128 on, with all other sizes as they are here (20 cases were tried; a block has 128 threads).
        an element is wrong exactly where its position in memory is odd, here and in 4 further cases.
        an element is wrong exactly where its position in memory is 3, or a multiple of 4 farther, here and in 4 further cases.
        an element is wrong only where z is negative or 0, here and in 4 further cases.
        an element is correct exactly where thread 0 of its block stores it: do the others have all that it computes with?
        an element is wrong exactly where lane 0 of its warp stores it.
        each wrong position is that of an element as large as the right one: of equal elements the first in row-major order counts.
        each wrong position is that of the right element in its slice of x over the last two axes, and should be that among the elements of the search.
        ");
    }
}
