//! All variants with one slip: each slip at each place, and at all places that are alike at once.

use std::collections::BTreeMap;

use crate::integer::evaluate::Dims;
use crate::program::node::IndexId;
use crate::syntax::operators::Op;
use crate::variants::machine::Changed;
use crate::variants::slips::{Edit, Place, edits};
use crate::variants::tree::{Model, Part, Tree};

/// A formula with a slip.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub changed: Changed,
    pub says: String,
    pub rank: u8,
}

/// A place in the model: the part, and the path in its body.
struct Site<'a> {
    part: usize,
    path: Vec<usize>,
    tree: &'a Tree,
    edits: Vec<Edit>,
}

/// The variants of `model` with one slip. `constants` are numbers that a kernel may confuse with sizes: those of its launch.
/// `dims` has their values too.
pub(crate) fn drafts(model: &Model, dims: &Dims, constants: &[String]) -> Vec<Draft> {
    let mut names = model.sizes.clone();
    names.extend(constants.iter().cloned());
    let mut sites = Vec::new();
    // The result's own statement first.
    for part in (0..model.parts.len()).rev() {
        let readable = readable(model, part);
        let mut found = Vec::new();
        let body = &model.parts[part].body;
        body.visit(&mut Vec::new(), &mut |path, tree| found.push((path.to_vec(), tree)));
        for (path, tree) in found {
            let scope = scope(&model.parts[part], &path);
            let place =
                Place { model, dims, sizes: &names, readable: &readable, scope: &scope, tree };
            let edits = edits(&place);
            sites.push(Site { part, path, tree, edits });
        }
    }
    let mut drafts = whole_parts(model);
    for site in &sites {
        drafts.extend(site.edits.iter().map(|edit| one(model, site, edit)));
    }
    drafts.extend(everywhere(model, &sites));
    drafts.sort_by_key(|draft| draft.rank);
    drafts
}

/// Tensors that a part may read: those that are given, and those of parts before it.
fn readable(model: &Model, part: usize) -> Vec<usize> {
    let later = |id: &usize| model.parts[part..].iter().any(|other| other.target == *id);
    let assigned_or_read = |id: &usize| {
        let mut read = false;
        for other in &model.parts {
            read |= other.target == *id;
            other.body.visit(&mut Vec::new(), &mut |_, tree| {
                read |= matches!(tree, Tree::Read(access) if access.tensor == *id);
            });
        }
        read
    };
    (0..model.tensors.len()).filter(|id| !later(id) && assigned_or_read(id)).collect()
}

/// The indices that are bound at a place.
fn scope(part: &Part, path: &[usize]) -> Vec<IndexId> {
    let mut scope = part.axes.clone();
    let mut tree = &part.body;
    for &step in path {
        if let Tree::Reduce(_, ranges, _) = tree {
            scope.extend(ranges.iter().map(|range| range.index));
        }
        let Some(child) = tree.children().get(step).copied() else { break };
        tree = child;
    }
    scope
}

/// Where the slip is, unless it is in the statement of the result.
fn whereabouts(model: &Model, part: usize) -> String {
    if part + 1 == model.parts.len() {
        return String::new();
    }
    format!(" in `{}`", model.tensors[model.parts[part].target].name)
}

fn one(model: &Model, site: &Site, edit: &Edit) -> Draft {
    let part = &model.parts[site.part];
    Draft {
        changed: vec![(part.target, part.body.with(&site.path, &edit.tree))],
        says: format!("{}{}", edit.says, whereabouts(model, site.part)),
        rank: edit.rank,
    }
}

/// Slips of a whole part: its sign, and a derivative that stops at a named part.
fn whole_parts(model: &Model) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (at, part) in model.parts.iter().enumerate() {
        let target = &model.tensors[part.target].name;
        let last = at + 1 == model.parts.len();
        if last {
            drafts.push(Draft {
                changed: vec![(part.target, Tree::Neg(Box::new(part.body.clone())))],
                says: format!("`{target}` has the other sign"),
                rank: 1,
            });
        } else if let Some(of) =
            target.strip_prefix("grad(").and_then(|rest| rest.strip_suffix(')'))
        {
            drafts.push(Draft {
                changed: vec![(part.target, Tree::Number(0.0))],
                says: format!(
                    "`{of}` is taken as a constant, so that nothing flows back through it"
                ),
                rank: 1,
            });
        }
    }
    drafts
}

/// The same slip at all places that are alike: whoever gets a part of the formula wrong does so in each use of it.
fn everywhere(model: &Model, sites: &[Site]) -> Vec<Draft> {
    let mut groups: Vec<(Tree, Vec<&Site>)> = Vec::new();
    for site in sites.iter().filter(|site| !site.edits.is_empty()) {
        let renamed = site.tree.renamed();
        match groups.iter_mut().find(|(tree, _)| *tree == renamed) {
            Some((_, group)) => group.push(site),
            None => groups.push((renamed, vec![site])),
        }
    }
    let mut drafts = Vec::new();
    for (_, group) in groups.iter().filter(|(_, group)| group.len() > 1) {
        let count = match group.len() {
            2 => "in both places".to_owned(),
            n => format!("in all {n} places"),
        };
        for edit in &group[0].edits {
            let same = group.iter().map(|site| {
                let edit = site.edits.iter().find(|other| other.key == edit.key)?;
                Some((*site, edit))
            });
            let Some(same) = same.collect::<Option<Vec<_>>>() else { continue };
            let mut bodies: BTreeMap<usize, Tree> = BTreeMap::new();
            for (site, edit) in same {
                let body =
                    bodies.entry(site.part).or_insert_with(|| model.parts[site.part].body.clone());
                *body = body.with(&site.path, &edit.tree);
            }
            let changed = bodies.into_iter().map(|(part, body)| (model.parts[part].target, body));
            let says = format!("{}, {count}", edit.says);
            drafts.push(Draft { changed: changed.collect(), says, rank: edit.rank });
        }
    }
    drafts.extend(additive(model));
    drafts
}

/// The terms of the result's sum: each pair of them dropped at once is still one slip where the sum is a chain of three and more.
fn additive(model: &Model) -> Vec<Draft> {
    fn terms(tree: &Tree, path: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
        match tree {
            Tree::Binary(Op::Add | Op::Sub, left, right) => {
                for (at, child) in [left, right].into_iter().enumerate() {
                    path.push(at);
                    terms(child, path, all);
                    path.pop();
                }
            }
            _ => all.push(path.clone()),
        }
    }
    let Some(part) = model.parts.last() else { return Vec::new() };
    let mut all = Vec::new();
    terms(&part.body, &mut Vec::new(), &mut all);
    if all.len() < 3 {
        return Vec::new();
    }
    let at = |path: &[usize]| path.iter().fold(&part.body, |tree, &step| tree.children()[step]);
    let kept = |path: &Vec<usize>| {
        let mut body = part.body.clone();
        for other in all.iter().filter(|other| *other != path) {
            body = body.with(other, &Tree::Number(0.0));
        }
        let says = format!("only the term {} is there", model.text(at(path)));
        Draft { changed: vec![(part.target, body)], says, rank: 2 }
    };
    all.iter().map(kept).collect()
}
