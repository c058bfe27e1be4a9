//! `[[picture]]`: a picture that the report draws of a function's results.

use super::fault::{Checked, Fault};
use super::require::Scope;
use super::tensors::Tensors;
use super::test::Test;
use specfile::RawPicture;
use std::ops::Range;

/// A picture of a result, or of a tensor that the formula computes from results.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The name of the tensor.
    pub tensor: String,
    /// The kind of picture and its labels.
    pub style: PictureStyle,
    scope: Scope,
    place: Range<usize>,
}

/// The kind of a picture and its labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureStyle {
    /// The kind of picture.
    pub kind: PictureKind,
    /// The title above the picture.
    pub title: String,
    /// The label of the horizontal axis.
    pub x: String,
    /// The label of the vertical axis.
    pub y: String,
}

/// How a tensor is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureKind {
    /// One line for each row: the elements over their positions in the row.
    Curve,
    /// One field for each element, with its value; larger values are darker.
    Matrix,
}

/// The values of `kind`.
const KINDS: [(&str, PictureKind); 2] =
    [("curve", PictureKind::Curve), ("matrix", PictureKind::Matrix)];

impl Picture {
    pub(crate) fn read(raw: &RawPicture, tensors: &Tensors) -> Checked<Self> {
        let tensor = raw.of.get_ref();
        let place = raw.of.span();
        let Some(ty) = tensors.type_of(tensor).filter(|_| tensors.names().any(|n| n == tensor))
        else {
            let title = format!("unknown tensor `{}`", tensor.escape_debug());
            return Err(Fault::at(place, title).suggest(tensor, tensors.names(), "tensor"));
        };
        let word = raw.kind.get_ref();
        let Some(&(_, kind)) = KINDS.iter().find(|(name, _)| name == word) else {
            let title = format!("unknown kind of picture \"{}\"", word.escape_debug());
            let known = KINDS.iter().map(|(name, _)| *name);
            return Err(Fault::at(raw.kind.span(), title).suggest(word, known, "kind"));
        };
        let axes = ty.shape.len();
        let (fits, help) = match kind {
            PictureKind::Curve => {
                (axes == 1 || axes == 2, "a curve has one axis, or two: several curves")
            }
            PictureKind::Matrix => (axes == 2, "a matrix has two axes"),
        };
        if !fits {
            return Err(Fault::at(place, format!("`{tensor}` has {axes} axes")).help(help));
        }
        let title = raw.title.get_ref().trim().to_owned();
        if title.is_empty() {
            return Err(Fault::at(raw.title.span(), "the title is empty"));
        }
        let style = PictureStyle { kind, title, x: raw.x.clone(), y: raw.y.clone() };
        let scope = Scope::new(raw.tests.as_ref(), tensors.formula.sources(tensor));
        Ok(Self { tensor: tensor.clone(), style, scope, place })
    }

    /// Whether it is drawn after `test`.
    pub fn counts_in(&self, test: &Test) -> bool {
        self.scope.holds(test)
    }
}

/// Checks that each picture is drawn after some test.
pub(crate) fn check(raw: &[RawPicture], pictures: &[Picture], tests: &[Test]) -> Checked<()> {
    for (raw, picture) in raw.iter().zip(pictures) {
        picture.scope.check(
            raw.tests.as_ref(),
            &picture.place,
            ("picture", &picture.tensor),
            tests,
        )?;
    }
    Ok(())
}
