//! Where an output is wrong, and where it is not: for which sizes, in which places, by which threads, and which elements of a search. Each is
//! one sentence.

use super::number::{count, number};
use judge::verdict::{
    AlwaysSame, CorrectSizes, LeastSizes, Origin, PlaceKind, SizeLimit, ThreadGroup, WrongChoice,
    WrongPlaces, WrongThreads,
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
        WrongChoice::AcrossSlices(tensor) => format!(
            "each wrong position counts through all of {tensor}, and should start at 0 in each of its slices over the last two axes."
        ),
        WrongChoice::InSlice(tensor) => format!(
            "each wrong position is that of the right element in its slice of {tensor} over the last two axes, and should be that among the elements of the search."
        ),
    }
}

/// For which sizes an output is correct.
pub(super) fn of_size_limit(limit: &SizeLimit, tensor: &Tensor) -> String {
    let SizeLimit { correct, tried } = limit;
    let name = tensor.name.trim_end_matches('\'');
    let mut block = String::new();
    let when = match correct {
        CorrectSizes::UpTo { size, largest, threads } => {
            block = threads.map(|n| format!("; a block has {n} threads")).unwrap_or_default();
            format!("for {size} up to {largest} and wrong from {} on", largest + 1)
        }
        CorrectSizes::MultiplesOf { size, step } => {
            format!("where {size} is a multiple of {step} and wrong in between")
        }
        CorrectSizes::Least(groups) => {
            let group = |LeastSizes { sizes, value }: &LeastSizes| {
                let verb = if sizes.len() == 1 { "is" } else { "are" };
                format!("where {} {verb} {value}", sizes.join(" and "))
            };
            let groups: Vec<String> = groups.iter().map(group).collect();
            format!("{}, and wrong for larger ones", groups.join(" or "))
        }
    };
    format!(
        "{name} is correct {when}, with all other sizes as they are here ({} were tried{block}).",
        count(*tried, "case")
    )
}

/// Values that are listed.
const MOST_ORIGINS: usize = 5;

/// What an element is computed from.
pub(super) fn of_origins(origins: &[Origin], tensor: &Tensor, flat: usize) -> String {
    let listed: Vec<String> = origins
        .iter()
        .take(MOST_ORIGINS)
        .map(|Origin { text, value }| format!("{text} is {}", number(*value)))
        .collect();
    format!("in {}, {}.", tensor.element_name(flat), listed.join(", "))
}

/// A number that comes out always.
pub(super) fn of_always(always: &AlwaysSame, tensor: &Tensor) -> String {
    format!(
        "{} is {} here and in {}, whatever is expected.",
        tensor.name.trim_end_matches('\''),
        number(always.value),
        count(always.cases, "further case")
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
        let limit = |correct| of_size_limit(&SizeLimit { correct, tried: 20 }, &tensor);
        let size = || "H".to_owned();
        let least = |sizes: &[&str]| LeastSizes {
            sizes: sizes.iter().map(|&size| size.to_owned()).collect(),
            value: 1,
        };
        let places = |place, exactly| of_places(&WrongPlaces { place, exactly, cases: 4 });
        let signs = vec![Ordering::Less, Ordering::Equal];
        let threads = |group, correct| of_threads(WrongThreads { group, number: 0, correct });
        let texts = [
            limit(CorrectSizes::MultiplesOf { size: size(), step: 16 }),
            limit(CorrectSizes::UpTo { size: size(), largest: 127, threads: Some(128) }),
            limit(CorrectSizes::Least(vec![least(&["pad"])])),
            limit(CorrectSizes::Least(vec![least(&["dil_h", "dil_w"]), least(&["K"])])),
            places(PlaceKind::EveryNth { step: 2, remainder: 1 }, true),
            places(PlaceKind::EveryNth { step: 4, remainder: 3 }, true),
            places(PlaceKind::Sign { tensor: "z".into(), signs }, false),
            threads(ThreadGroup::Thread, true),
            threads(ThreadGroup::Lane, false),
            of_origins(&[Origin { text: "k[2]".into(), value: 15.0 }], &tensor, 2),
            of_choice(&WrongChoice::Tie),
            of_choice(&WrongChoice::InSlice("x".into())),
        ];
        insta::assert_snapshot!(texts.join("\n"), @r"
        y is correct where H is a multiple of 16 and wrong in between, with all other sizes as they are here (20 cases were tried).
        y is correct for H up to 127 and wrong from 128 on, with all other sizes as they are here (20 cases were tried; a block has 128 threads).
        y is correct where pad is 1, and wrong for larger ones, with all other sizes as they are here (20 cases were tried).
        y is correct where dil_h and dil_w are 1 or where K is 1, and wrong for larger ones, with all other sizes as they are here (20 cases were tried).
        an element is wrong exactly where its position in memory is odd, here and in 4 further cases.
        an element is wrong exactly where its position in memory is 3, or a multiple of 4 farther, here and in 4 further cases.
        an element is wrong only where z is negative or 0, here and in 4 further cases.
        an element is correct exactly where thread 0 of its block stores it: do the others have all that it computes with?
        an element is wrong exactly where lane 0 of its warp stores it.
        in y[2], k[2] is 15.
        each wrong position is that of an element as large as the right one: of equal elements the first in row-major order counts.
        each wrong position is that of the right element in its slice of x over the last two axes, and should be that among the elements of the search.
        ");
    }

    #[test]
    fn a_flag_that_never_changes_is_told_with_its_cases() {
        let tensor = Tensor { name: "ok".into(), dtype: DType::I32, shape: vec![3] };
        let said = of_always(&AlwaysSame { value: 0.0, cases: 7 }, &tensor);
        assert_eq!(said, "ok is 0 here and in 7 further cases, whatever is expected.");
    }
}
