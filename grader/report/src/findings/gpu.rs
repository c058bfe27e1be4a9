//! What goes wrong on a GPU, which sees less than the virtual machine.

use device::finding::{Element, Place};
use ptxvm::finding::Words;

/// The backend that sees more.
const SEE_THE_LINE: &str = "`--backend vm` shows the line";

pub(super) fn guard_overwritten(place: &Element) -> Words {
    let words = Words::new(format!("out-of-bounds write to {}", place.outside()));
    place.extent().into_iter().fold(words, Words::help).help(SEE_THE_LINE)
}

pub(super) fn input_changed(place: &Element) -> Words {
    Words::new(format!("the input {} is not what it was before the launch", place.name())).help(
        "a kernel must leave its inputs as they are: does it store through the right pointer?",
    )
}

pub(super) fn time_out(seconds: f64) -> Words {
    Words::new(format!("the kernel was still running after {seconds} s and was stopped"))
        .help(format!("a loop that never ends is likely; {SEE_THE_LINE}"))
}

pub(super) fn driver(code: &str, meaning: &str) -> Words {
    Words::new(format!("the GPU's driver stopped the kernel: {meaning}")).help(code)
}
