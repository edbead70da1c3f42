//! Reflog of a work tree's HEAD: which branches were checked out there, and how they moved meanwhile. Git writes it in
//! the work tree in which a branch is moved and in no other, so it shows who moved a branch.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

use git2::{Oid, Repository};

use super::history;
use super::place::{Fault, Place};

/// Message of a move by [`fold`](super::Workspace::fold).
pub(super) const FOLD: &str = "superstep: fold";

/// Moves of a branch while it was checked out, newest first.
type Moves = Vec<Move>;

/// The commits of a branch before and after a move; `None`: it did not exist.
#[derive(Debug)]
struct Move {
    old: Option<Oid>,
    new: Option<Oid>,
    is_fold: bool,
}

/// Moves of branches in a work tree.
#[derive(Debug, Default)]
pub(super) struct HeadLog {
    moves: BTreeMap<String, Moves>,
    /// Branches that HEAD was switched to.
    switched: BTreeSet<String>,
    /// Commits that were made.
    made: Vec<Oid>,
    last: Option<Oid>,
    /// Set if the log is read from its first line on, so that earlier moves may be missing.
    is_whole: bool,
}

/// A line of the log: `OLD NEW WHO TIME`, a tab, and the action.
struct Line<'a> {
    old: Option<Oid>,
    new: Option<Oid>,
    action: &'a str,
}

impl HeadLog {
    /// Reads the lines after the first `since` bytes, up to the first `until` bytes. `branch` is the branch that HEAD is
    /// on now.
    pub(super) fn read(place: &Place, range: [Option<u64>; 2], branch: Option<&str>) -> Self {
        Self::read_in(&place.git_dir, range, branch)
    }

    /// Reads the log of the work tree that has this folder of git's.
    pub(super) fn read_in(git_dir: &Path, [since, until]: [Option<u64>; 2], branch: Option<&str>) -> Self {
        let text = fs::read(git_dir.join("logs").join("HEAD")).unwrap_or_default();
        // A log that became shorter was rewritten.
        let within = |at: Option<u64>| at.and_then(|at| usize::try_from(at).ok()).filter(|at| *at <= text.len());
        let since = within(since);
        let later = within(until).map_or(0, |until| String::from_utf8_lossy(&text[until..]).lines().count());
        let new = String::from_utf8_lossy(&text[since.unwrap_or(0)..]).into_owned();
        let last = new.lines().rev().nth(later).and_then(parse).and_then(|line| line.new);
        let mut log = Self { moves: moves(&new, later, branch), last, is_whole: since.is_none(), ..Self::default() };
        let within = new.lines().count().saturating_sub(later);
        new.lines().take(within).filter_map(parse).for_each(|line| log.add(&line));
        log
    }

    fn add(&mut self, line: &Line<'_>) {
        const MAKES: [&str; 3] = ["commit", "cherry-pick: ", "revert"];
        let moves = ["checkout: moving from ", "Branch: renamed refs/heads/"];
        let ends = moves.iter().find_map(|moves| line.action.strip_prefix(moves)?.split_once(" to "));
        if let Some((_, to)) = ends {
            self.switched.insert(to.trim_start_matches("refs/heads/").to_owned());
        }
        self.made.extend(line.new.filter(|_| MAKES.iter().any(|makes| line.action.starts_with(makes))));
    }

    /// Returns whether a branch that is new at `tip` was created here: HEAD was switched to it, or it is at a commit that
    /// was made here, or after one.
    pub(super) fn has_created(&self, repository: &Repository, name: &str, tip: Oid) -> Result<bool, Fault> {
        if self.made.contains(&tip) || self.switched.contains(name) {
            return Ok(true);
        }
        for made in self.made.iter().filter(|made| repository.find_commit(**made).is_ok()) {
            if history::descends(repository, tip, *made)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the commit of HEAD after the last line.
    pub(super) fn last(&self) -> Option<Oid> {
        self.last
    }

    /// Returns the commit of a branch before the moves seen here (`None`: it did not exist), if these alone moved it from
    /// there to `tip`. The moves are followed back to `from`, the commit of the branch at the start, or to the first.
    pub(super) fn origin(&self, name: &str, from: Option<Oid>, tip: Option<Oid>) -> Option<Option<Oid>> {
        let mut at = tip;
        let moves = self.moves.get(name).filter(|moves| !moves.is_empty())?;
        for Move { old, new, is_fold } in moves {
            if *is_fold && *new != at && *old == at {
                continue; // killed after it had written the line, and before it moved the branch
            }
            if *new != at {
                return None;
            }
            at = *old;
            if at == from {
                return Some(from);
            }
        }
        (!self.is_whole).then_some(at)
    }
}

/// Returns the commits at which HEAD was on no branch, and from which it went elsewhere, in the lines after the first
/// `since` bytes, up to the first `until` bytes.
pub(super) fn left_detached(place: &Place, [since, until]: [Option<u64>; 2]) -> Vec<Oid> {
    let text = fs::read(place.git_dir.join("logs").join("HEAD")).unwrap_or_default();
    let within = |at: Option<u64>| at.and_then(|at| usize::try_from(at).ok()).filter(|at| *at <= text.len());
    let (since, until) = (within(since).unwrap_or(0), within(until).unwrap_or(text.len()));
    let text = String::from_utf8_lossy(text.get(since..until).unwrap_or_default()).into_owned();
    let left = |line: &str| {
        let Line { old, action, .. } = parse(line)?;
        let (from, _) = action.strip_prefix("checkout: moving from ")?.split_once(" to ")?;
        old.filter(|_| is_id(from))
    };
    text.lines().filter_map(left).collect()
}

/// Returns the length of the log, which is created if it does not exist: git writes only to one that does where reflogs
/// are turned off.
pub(super) fn length(place: &Place) -> io::Result<u64> {
    let file = place.git_dir.join("logs").join("HEAD");
    fs::create_dir_all(file.parent().unwrap_or(&file))?;
    Ok(fs::File::options().append(true).create(true).open(&file)?.metadata()?.len())
}

/// Follows the log back from the present branch, because a line names only the branch that HEAD left. Moves in the last
/// `later` lines are left out.
fn moves(log: &str, later: usize, branch: Option<&str>) -> BTreeMap<String, Moves> {
    let mut found: BTreeMap<String, Moves> = BTreeMap::new();
    let mut branch = branch.map(str::to_owned);
    let mut rebased: Option<(String, Option<Oid>)> = None;
    for (nth, line) in log.lines().rev().enumerate() {
        let Some(Line { old, new, action }) = parse(line) else { continue };
        let renamed = action.strip_prefix("Branch: renamed refs/heads/").and_then(|names| names.split_once(" to "));
        let is_rebase = action.starts_with("rebase") || action.starts_with("pull");
        if let Some((from, _)) =
            action.strip_prefix("checkout: moving from ").and_then(|names| names.split_once(" to "))
        {
            branch = (!is_id(from)).then(|| from.to_owned());
        } else if let Some((from, _)) = renamed {
            branch = Some(from.to_owned());
        } else if let Some((_, to)) = action.split_once(": returning to refs/heads/").filter(|_| is_rebase) {
            rebased = Some((to.to_owned(), new));
            branch = None;
        } else if is_rebase && (action.contains("(start): ") || action.starts_with("rebase: checkout")) {
            if let Some((name, end)) = rebased.take() {
                if nth >= later {
                    add(&mut found, &name, Move { old, new: end, is_fold: false });
                }
                branch = Some(name);
            }
        } else if let Some(name) = branch.as_ref().filter(|_| nth >= later) {
            add(&mut found, name, Move { old, new, is_fold: action == FOLD });
        }
    }
    found
}

fn add(found: &mut BTreeMap<String, Moves>, name: &str, step: Move) {
    if step.old != step.new {
        found.entry(name.to_owned()).or_default().push(step);
    }
}

fn is_id(name: &str) -> bool {
    name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn parse(line: &str) -> Option<Line<'_>> {
    let (about, action) = line.split_once('\t').unwrap_or((line, ""));
    let mut ids = about.split(' ').map(|id| Oid::from_str(id).ok());
    let mut next = || ids.next()?.map(|id| (!id.is_zero()).then_some(id));
    Some(Line { old: next()?, new: next()?, action })
}
