//! Ancestry of commits, also in a shallow clone, whose history ends before its first commit.

use std::collections::HashSet;

use git2::{Error, Oid, Repository, Sort};

/// Returns whether `tip` is a descendant of `base`; a commit is none of its own.
pub(super) fn descends(repository: &Repository, tip: Oid, base: Oid) -> Result<bool, Error> {
    // libgit2 fails at the parents that a shallow clone lacks.
    if !is_shallow(repository) {
        return repository.graph_descendant_of(tip, base);
    }
    Ok(tip != base && ancestors(repository, tip, &HashSet::new()).contains(&base))
}

/// Returns the commits that are reachable from `tip` and not from `base`, parents first.
pub(super) fn commits_since(repository: &Repository, tip: Oid, base: Option<Oid>) -> Result<Vec<Oid>, Error> {
    if is_shallow(repository) {
        let hidden =
            base.map_or_else(HashSet::new, |base| ancestors(repository, base, &HashSet::new()).into_iter().collect());
        return Ok(ancestors(repository, tip, &hidden));
    }
    let mut walk = repository.revwalk()?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
    walk.push(tip)?;
    base.map(|base| walk.hide(base)).transpose()?;
    walk.collect()
}

/// Returns whether the history is cut off; libgit2 does not see it in a linked work tree.
fn is_shallow(repository: &Repository) -> bool {
    std::fs::metadata(repository.commondir().join("shallow")).is_ok_and(|about| about.len() > 0)
}

/// Returns a commit and its ancestors that exist and are not hidden, parents first.
fn ancestors(repository: &Repository, tip: Oid, hidden: &HashSet<Oid>) -> Vec<Oid> {
    let (mut seen, mut order, mut open) = (hidden.clone(), Vec::new(), vec![(tip, false)]);
    while let Some((id, is_done)) = open.pop() {
        if is_done {
            order.push(id);
            continue;
        }
        let Ok(commit) = repository.find_commit(id) else { continue };
        if seen.insert(id) {
            open.push((id, true));
            open.extend(commit.parent_ids().map(|parent| (parent, false)));
        }
    }
    order
}
