//! Immediate post-dominators: where diverged lanes reconverge.
//!
//! Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001), on the reversed control flow graph.

use super::cfg::Cfg;

/// For each block its immediate post-dominator; the exit node where there is none inside.
pub fn immediate(cfg: &Cfg) -> Vec<usize> {
    let exit = cfg.exit();
    let mut predecessors = vec![Vec::new(); exit + 1];
    for (block, successors) in cfg.successors.iter().enumerate() {
        for &next in successors {
            predecessors[next].push(block);
        }
    }
    let order = reverse_postorder(&mut predecessors, exit);
    let mut rank = vec![0; exit + 1];
    for (position, &node) in order.iter().enumerate() {
        rank[node] = position;
    }
    // Blocks that were tied to the exit because no path of theirs ends have it among their successors.
    let mut successors = cfg.successors.clone();
    for &block in &predecessors[exit] {
        if !successors[block].contains(&exit) {
            successors[block].push(exit);
        }
    }
    let mut idom: Vec<Option<usize>> = vec![None; exit + 1];
    idom[exit] = Some(exit);
    let mut changed = true;
    while changed {
        changed = false;
        for &node in order.iter().skip(1) {
            let mut new = None;
            for &next in &successors[node] {
                if idom[next].is_some() {
                    new = Some(new.map_or(next, |other| intersect(&idom, &rank, next, other)));
                }
            }
            if new.is_some() && idom[node] != new {
                idom[node] = new;
                changed = true;
            }
        }
    }
    idom.truncate(exit);
    idom.into_iter().map(|node| node.unwrap_or(exit)).collect()
}

fn intersect(idom: &[Option<usize>], rank: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        let later = if rank[a] > rank[b] { &mut a } else { &mut b };
        // Every node that was reached has a dominator of lower rank.
        *later = idom[*later].unwrap_or(0);
    }
    a
}

/// Order of the reversed graph from the exit. Blocks that cannot reach it (endless loops) are tied to it first.
fn reverse_postorder(predecessors: &mut [Vec<usize>], exit: usize) -> Vec<usize> {
    let mut seen = vec![false; exit + 1];
    let mut postorder = Vec::with_capacity(exit + 1);
    visit(predecessors, exit, &mut seen, &mut postorder);
    // The exit comes first in the reversed order whatever is tied to it, so it is put last here.
    let mut tied = Vec::new();
    for block in (0..exit).rev() {
        if !seen[block] {
            tied.push(block);
            visit(predecessors, block, &mut seen, &mut postorder);
        }
    }
    predecessors[exit].extend(tied);
    postorder.retain(|&node| node != exit);
    postorder.push(exit);
    postorder.reverse();
    postorder
}

/// Depth first without recursion: the depth is bounded by the program, not by our stack.
fn visit(edges: &[Vec<usize>], root: usize, seen: &mut [bool], postorder: &mut Vec<usize>) {
    seen[root] = true;
    let mut stack = vec![(root, 0)];
    while let Some((node, next)) = stack.last_mut() {
        if let Some(&child) = edges[*node].get(*next) {
            *next += 1;
            if !seen[child] {
                seen[child] = true;
                stack.push((child, 0));
            }
        } else {
            postorder.push(*node);
            stack.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cfg(successors: &[&[usize]]) -> Cfg {
        Cfg {
            starts: (0..successors.len() as u32).collect(),
            successors: successors.iter().map(|all| all.to_vec()).collect(),
        }
    }

    #[test]
    fn if_else_meets_behind_both_sides() {
        assert_eq!(immediate(&cfg(&[&[1, 2], &[3], &[3], &[4]])), [3, 3, 3, 4]);
    }

    #[test]
    fn loops_meet_at_their_exit() {
        // 0: head, 1: body with a continue to 0 and a break to 3, 2: latch, 3: after.
        assert_eq!(immediate(&cfg(&[&[1, 3], &[2, 3], &[0], &[4]])), [3, 3, 0, 4]);
        // do-while: the block after it is no branch's target.
        assert_eq!(immediate(&cfg(&[&[1], &[1, 2], &[3]])), [1, 2, 3]);
    }

    #[test]
    fn early_returns_meet_nowhere() {
        assert_eq!(immediate(&cfg(&[&[1, 2], &[3], &[3]])), [3, 3, 3]);
    }

    #[test]
    fn endless_loops_do_not_confuse_it() {
        // 1 and 2 circle for ever; 0 may leave by 3.
        let found = immediate(&cfg(&[&[1, 3], &[2], &[1], &[4]]));
        assert_eq!(found[3], 4);
        assert_eq!(found[0], 4);
        assert!(found[1] <= 4 && found[2] <= 4);
    }

    #[test]
    fn agrees_with_the_definition_on_random_graphs() {
        let mut state = 1u32;
        let mut random = |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as usize % below
        };
        for _ in 0..300 {
            let count = 2 + random(7);
            let successors: Vec<Vec<usize>> = (0..count)
                .map(|_| {
                    let mut all: Vec<usize> = (0..=random(2)).map(|_| random(count + 1)).collect();
                    all.dedup();
                    all
                })
                .collect();
            let cfg = Cfg { starts: (0..count as u32).collect(), successors };
            if (0..count).any(|block| !reaches_exit(&cfg, block, usize::MAX)) {
                continue;
            }
            for (block, found) in immediate(&cfg).into_iter().enumerate() {
                // A node post-dominates the block if no path to the exit avoids it.
                let dominators: Vec<usize> = (0..count)
                    .filter(|&node| node != block && !reaches_exit(&cfg, block, node))
                    .collect();
                // The nearest is the one that all the others post-dominate.
                let nearest = dominators.iter().copied().find(|&node| {
                    dominators
                        .iter()
                        .all(|&other| other == node || !reaches_exit(&cfg, node, other))
                });
                assert_eq!(found, nearest.unwrap_or(count), "block {block} of {cfg:?}");
            }
        }
    }

    fn reaches_exit(cfg: &Cfg, from: usize, without: usize) -> bool {
        let mut seen = vec![false; cfg.exit() + 1];
        let mut stack = vec![from];
        while let Some(node) = stack.pop() {
            if node == cfg.exit() {
                return true;
            }
            if !seen[node] && node != without {
                seen[node] = true;
                stack.extend(&cfg.successors[node]);
            }
        }
        false
    }
}
