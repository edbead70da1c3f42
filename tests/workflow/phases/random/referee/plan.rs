//! The phases of a plan, and its dependencies. Pure.

use std::collections::BTreeSet;

use crate::phases::random::script::Script;

/// Returns the phases of the plan: by dependencies, with a separate phase for tasks with overlapping files.
pub(super) fn phases(script: &Script) -> Vec<Vec<usize>> {
    let depth = |at: usize| depth(script, at);
    let all = 0..script.tasks.len();
    let levels = all.clone().map(depth).max().map_or(0, |deepest| deepest + 1);
    (0..levels).flat_map(|level| apart(script, all.clone().filter(|at| depth(*at) == level))).collect()
}

fn depth(script: &Script, at: usize) -> usize {
    script.tasks[at].needs.iter().map(|need| depth(script, *need) + 1).max().unwrap_or(0)
}

fn apart(script: &Script, level: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
    let (mut together, mut alone): (Vec<usize>, _) = (vec![], vec![]);
    for at in level {
        let files = script.declared(at).unwrap_or_default();
        let overlaps =
            |other: &usize| script.declared(*other).unwrap_or_default().iter().any(|file| files.contains(file));
        if together.iter().any(overlaps) { alone.push(vec![at]) } else { together.push(at) }
    }
    [vec![together], alone].concat()
}

/// Returns everything that is reachable from a task, without the task.
pub(super) fn reachable(from: usize, next: impl Fn(usize) -> Vec<usize>) -> BTreeSet<usize> {
    let (mut all, mut queue) = (BTreeSet::new(), next(from));
    while let Some(at) = queue.pop() {
        if all.insert(at) {
            queue.extend(next(at));
        }
    }
    all
}
