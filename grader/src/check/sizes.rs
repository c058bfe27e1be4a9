//! Finds sizes that let mistakes pass, such as a batch of one, or an image as high as it is wide.
//!
//! A rule of the spec itself requires that some size is not divisible by its block.

use super::item::Item;
use puzzle::spec::Spec;

pub fn check(spec: &Spec) -> Item {
    let free = &spec.sizes.free;
    let values = |name: &str| -> Vec<_> {
        spec.tests.iter().filter_map(|test| test.dims.get(name).copied()).collect()
    };
    let mut problems = Vec::new();
    let mut excused = 0;
    let mut complain = |weakness: String, help: String| {
        if spec.untested.contains_key(&weakness) {
            excused += 1;
        } else {
            let excuse = format!("or say why not: [untested] \"{weakness}\" = \"...\"");
            problems.push(format!("every test has {weakness}: {help}, {excuse}"));
        }
    };
    for name in free {
        if values(name).iter().all(|&value| value <= 1) {
            complain(format!("{name} = 1"), "add one with more".to_owned());
        }
    }
    for (i, a) in free.iter().enumerate() {
        for b in &free[i + 1..] {
            if values(a) == values(b) {
                complain(
                    format!("{a} = {b}"),
                    "add one where they differ, because a kernel may mix them up".to_owned(),
                );
            }
        }
    }
    if let Some(unused) = spec.untested.len().checked_sub(excused).filter(|&n| n > 0) {
        problems.push(format!(
            "[untested] has {unused} lines for cases that the tests cover: remove them"
        ));
    }
    let summary = match excused {
        0 => "each above 1, no two always equal".to_owned(),
        n => format!("each above 1, no two always equal, but for {n} with a reason"),
    };
    Item::new("sizes", summary, problems)
}
