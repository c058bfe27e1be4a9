//! Results that are not good enough.

use super::super::number::number;
use super::name;
use device::finding::FindingKind;

/// Title, no label, help.
pub(super) fn words(kind: &FindingKind) -> (String, String, Vec<String>) {
    let (title, help) = match kind {
        FindingKind::Unwritten { place } => (format!("{} was never written", name(place)), None),
        FindingKind::UnmetRequirement { place, value, relation, bound, about } => {
            let what =
                if place.shape.is_empty() { format!("`{}`", place.tensor) } else { name(place) };
            let title = format!(
                "{what} is {}, and must be {} {}",
                number(*value),
                relation.words(),
                number(*bound)
            );
            (title, about.clone())
        }
        FindingKind::NotMeasurable { tensor, message } => {
            let help = "the values that your function gave lead outside a tensor";
            (format!("`{tensor}` cannot be computed: {message}"), Some(help.to_owned()))
        }
        _ => (String::new(), None),
    };
    (title, String::new(), help.into_iter().collect())
}
