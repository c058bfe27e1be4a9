//! All variants with one slip: each slip at each place, at all places that are alike at once, and in a whole part.

use std::collections::BTreeMap;

use crate::integer::evaluate::Dims;
use crate::program::node::IndexId;
use crate::syntax::int_expr::IntExpr;
use crate::syntax::operators::{Comparison, Condition, Op};
use crate::variants::machine::{Machine, Replacement};
use crate::variants::slips::{Edit, Place, edits, whole};
use crate::variants::tree::{Access, Model, Part, TensorId, Tree};

/// Parts in place of those of the model.
pub(crate) type Changed = Vec<(TensorId, Tree)>;

/// A formula with a slip.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// The trees that are replaced: the part, the path in its body, and what stands there.
    pub edits: Vec<(usize, Vec<usize>, Tree)>,
    pub says: String,
    pub rank: u8,
}

/// A place in the model: the part, and the path in its body.
struct Site<'a> {
    part: usize,
    path: Vec<usize>,
    tree: &'a Tree,
    /// Where it is, in words; empty in the result's own statement, outside of reductions.
    whereabouts: String,
    edits: Vec<Edit>,
}

impl Draft {
    /// The parts of the model that the draft changes, with their new bodies.
    pub(crate) fn changed(&self, model: &Model) -> Changed {
        let mut bodies: BTreeMap<usize, Tree> = BTreeMap::new();
        for (part, path, tree) in &self.edits {
            let body = bodies.entry(*part).or_insert_with(|| model.parts[*part].body.clone());
            *body = body.with(path, tree);
        }
        bodies.into_iter().map(|(part, body)| (model.parts[part].target, body)).collect()
    }

    /// The replacements in a machine that change something at its sizes; `None` if one has no value there.
    pub(crate) fn replacements<'m>(&self, machine: &'m Machine) -> Option<Vec<Replacement<'m>>> {
        let edits = self.edits.iter();
        let all = edits.map(|(part, path, tree)| machine.replacement(*part, path, tree));
        let mut all = all.collect::<Option<Vec<_>>>()?;
        all.retain(Replacement::changes_something);
        Some(all)
    }

    /// Whether both can be made: none changes what the other has replaced.
    pub(crate) fn is_apart_from(&self, other: &Self) -> bool {
        let apart = |a: &(usize, Vec<usize>, Tree), b: &(usize, Vec<usize>, Tree)| {
            a.0 != b.0 || !(a.1.starts_with(&b.1) || b.1.starts_with(&a.1))
        };
        self.edits.iter().all(|a| other.edits.iter().all(|b| apart(a, b)))
    }
}

/// The variants of `model` with one slip, the simplest first. `constants` are numbers that a kernel may confuse with sizes: those of
/// its launch. `products` are those of two sizes. `dims` has the values of both.
pub(crate) fn drafts(
    model: &Model,
    dims: &Dims,
    constants: &[String],
    products: &[String],
) -> Vec<Draft> {
    let mut names = model.sizes.clone();
    names.extend(constants.iter().cloned());
    let mut places = Vec::new();
    let mut drafts = Vec::new();
    // The result's own statement first.
    for (part, own) in model.parts.iter().enumerate().rev() {
        let readable = readable(model, part);
        let last = part + 1 == model.parts.len();
        let sizes = &names[..];
        let readable = &readable[..];
        let others = &reads_of(model, &own.body)[..];
        let target = &model.tensors[own.target].name;
        for edit in whole::edits(
            &Place {
                model,
                dims,
                sizes,
                products,
                readable,
                scope: &own.axes,
                tree: &own.body,
                others,
            },
            target,
            last,
        ) {
            let within = if last || edit.says.contains(target.as_str()) {
                String::new()
            } else {
                format!(" in `{target}`")
            };
            let says = format!("{}{within}", edit.says);
            drafts.push(Draft {
                edits: vec![(part, Vec::new(), edit.tree)],
                says,
                rank: edit.rank,
            });
        }
        let mut found = Vec::new();
        own.body.visit(&mut Vec::new(), &mut |path, tree| found.push((path.to_vec(), tree)));
        for (path, tree) in found {
            let scope = scope(own, &path);
            let edits = edits(&Place {
                model,
                dims,
                sizes,
                products,
                readable,
                scope: &scope,
                tree,
                others,
            });
            let whereabouts = whereabouts(model, part, &path);
            places.push(Site { part, path, tree, whereabouts, edits });
        }
    }
    for site in &places {
        drafts.extend(site.edits.iter().map(|edit| one(site, edit)));
    }
    drafts.extend(everywhere(&places));
    drafts.sort_by_key(|draft| draft.rank);
    drafts
}

/// The reads of real numbers in a body, each once.
fn reads_of(model: &Model, body: &Tree) -> Vec<Access> {
    let mut all: Vec<Access> = Vec::new();
    body.visit(&mut Vec::new(), &mut |_, tree| {
        if let Tree::Read(access) = tree
            && model.tensors[access.tensor].dtype.is_float()
            && access.checks.is_empty()
            && !all.contains(access)
        {
            all.push(access.clone());
        }
    });
    all
}

/// Tensors that a part may read: those that are given, also where the formula does without them, and those of parts before it.
fn readable(model: &Model, part: usize) -> Vec<usize> {
    let later = |id: &usize| model.parts[part..].iter().any(|other| other.target == *id);
    let mut used = vec![false; model.tensors.len()];
    for other in &model.parts {
        used[other.target] = true;
        other.body.visit(&mut Vec::new(), &mut |_, tree| {
            if let Tree::Read(access) = tree {
                used[access.tensor] = true;
            }
        });
    }
    let known = |id: &usize| used[*id] || model.tensors[*id].given;
    (0..model.tensors.len()).filter(|id| !later(id) && known(id)).collect()
}

/// The reductions around a place, outermost first, with the trees on the way.
fn walk<'a>(part: &'a Part, path: &[usize], f: &mut dyn FnMut(&'a Tree)) {
    let mut tree = &part.body;
    for &step in path {
        f(tree);
        let Some(child) = tree.children().get(step).copied() else { break };
        tree = child;
    }
}

/// The indices that are bound at a place.
fn scope(part: &Part, path: &[usize]) -> Vec<IndexId> {
    let mut scope = part.axes.clone();
    walk(part, path, &mut |tree| {
        if let Tree::Reduce(_, ranges, _) = tree {
            scope.extend(ranges.iter().map(|range| range.index));
        }
    });
    scope
}

/// Where a place is: in which reduction, in which part, and outside of reductions in which term.
fn whereabouts(model: &Model, part: usize, path: &[usize]) -> String {
    let mut inside = String::new();
    let mut term = None;
    walk(&model.parts[part], path, &mut |tree| {
        if let Tree::Reduce(kind, ranges, _) = tree {
            let names: Vec<&str> = ranges.iter().map(|range| model.name(range.index)).collect();
            inside = format!(" inside `{}[{}]`", kind.name(), names.join(","));
        }
    });
    walk_terms(&model.parts[part].body, path, &mut |tree| term = Some(tree));
    if let Some(comparison) = comparison_around(model, &model.parts[part].body, path) {
        inside = format!(", in {comparison}{inside}");
        term = None;
    }
    let term = term.filter(|_| inside.is_empty());
    if part + 1 < model.parts.len() {
        let target = &model.tensors[model.parts[part].target].name;
        inside = format!("{inside} in `{target}`");
    }
    match term.map(|tree| model.text(tree)) {
        Some(text) => format!("{inside}, in the term {text}"),
        None => inside,
    }
}

/// The comparison of which a constant is a side, in words.
fn comparison_around(model: &Model, body: &Tree, path: &[usize]) -> Option<String> {
    let (&side, above) = path.split_last()?;
    let Tree::Select(condition, ..) = body.at(above)? else { return None };
    matches!(body.at(path)?, Tree::Number(_)).then_some(())?;
    let mut all = Vec::new();
    comparisons(condition, &mut all);
    let (comparison, left, right) = all.get(side / 2)?;
    Some(model.comparison_text(*comparison, left, right))
}

/// The comparisons of a condition, in the order of their sides.
fn comparisons<'a>(
    condition: &'a Condition<Tree>,
    all: &mut Vec<(Comparison, &'a Tree, &'a Tree)>,
) {
    match condition {
        Condition::Compare(comparison, left, right) => all.push((*comparison, left, right)),
        Condition::Join(_, left, right) => {
            comparisons(left, all);
            comparisons(right, all);
        }
    }
}

/// The terms of sums and differences on the way to a place, without that which is the place itself.
fn walk_terms<'a>(body: &'a Tree, path: &[usize], f: &mut dyn FnMut(&'a Tree)) {
    let mut tree = body;
    for &step in path {
        let Some(child) = tree.children().get(step).copied() else { break };
        let is_sum = matches!(tree, Tree::Binary(Op::Add | Op::Sub, ..));
        // A term of one name says nothing more, and that of a sum among others is no term of its own.
        let is_product = matches!(child, Tree::Binary(Op::Mul | Op::Div, ..));
        if is_sum && is_product {
            f(child);
        }
        tree = child;
    }
}

fn one(site: &Site, edit: &Edit) -> Draft {
    Draft {
        edits: vec![(site.part, site.path.clone(), edit.tree.clone())],
        says: format!("{}{}", edit.says, site.whereabouts),
        rank: edit.rank,
    }
}

/// The same slip at all places that are alike: whoever gets a part of the formula wrong does so in each use of it. Alike are equal
/// trees, and slips that are about equal operands.
fn everywhere(sites: &[Site]) -> Vec<Draft> {
    let mut groups: BTreeMap<(String, String), Vec<(&Site, &Edit)>> = BTreeMap::new();
    let mut windows: BTreeMap<(String, String), Vec<(&Site, &Edit)>> = BTreeMap::new();
    // A window is where a value is read, and where its gradient goes: whoever gets it wrong does so in subscripts and in conditions.
    let has_numbers = sites.iter().any(|site| matches!(site.tree, Tree::Int(_)));
    for site in sites {
        let own = format!("{:?}", site.tree.renamed());
        let mut window: Option<(&IntExpr, String)> = None;
        for edit in &site.edits {
            let mut add = |about: String| {
                let within = format!("{} {about}", site.part);
                // A loop of sums is another one than that of the maximum before it.
                let of_kind = match site.tree {
                    Tree::Reduce(kind, ..) => Some(format!("{} {about}", kind.name())),
                    _ => None,
                };
                for about in [about, within].into_iter().chain(of_kind) {
                    groups.entry((about, edit.key.clone())).or_default().push((site, edit));
                }
            };
            if let Some(about) = &edit.about {
                add(format!("about {:?}", about.renamed()));
            }
            if let Some((int, key)) = edit.int.as_ref().filter(|_| has_numbers) {
                let known = window.take().filter(|(known, _)| *known == int);
                let of = || (int, format!("{:?}", Tree::Int(int.clone()).renamed()));
                let (_, about) = window.insert(known.unwrap_or_else(of));
                windows.entry((about.clone(), key.clone())).or_default().push((site, edit));
            }
            add(own.clone());
        }
    }
    let is_window = |group: &Vec<(&Site, &Edit)>| {
        let is_number = |(site, _): &(&Site, &Edit)| matches!(site.tree, Tree::Int(_));
        group.iter().any(is_number) && !group.iter().all(is_number)
    };
    let windows = windows.into_values().filter(is_window).map(|mut group| {
        group.sort_by_key(|(site, _)| !matches!(site.tree, Tree::Int(_)));
        group
    });
    let mut drafts = Vec::new();
    for group in groups.into_values().filter(|group| group.len() > 1).chain(windows) {
        let mut draft = Draft { edits: Vec::new(), says: String::new(), rank: 0 };
        for (site, edit) in &group {
            let next = one(site, edit);
            // Of a place in another the outer one has it.
            if draft.is_apart_from(&next) {
                draft.edits.extend(next.edits);
                draft.rank = draft.rank.max(edit.rank);
            }
        }
        let count = match draft.edits.len() {
            0 | 1 => continue,
            2 => "in both places".to_owned(),
            n => format!("in all {n} places"),
        };
        draft.says = format!("{}, {count}", group[0].1.says);
        drafts.push(draft);
    }
    drafts
}
