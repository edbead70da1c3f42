//! Reflog of a work tree's HEAD: which branches were checked out there, and how they moved meanwhile. Git writes it in
//! the work tree in which a branch is moved and in no other, so it shows who moved a branch.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use git2::{Oid, Repository};

use super::history;
use super::place::{Fault, Place};

/// Message of a move by [`fold`](super::Workspace::fold).
pub(super) const FOLD: &str = "superstep: fold";

/// Move of a branch or of HEAD: the commits before and after; `None`: it did not exist.
#[derive(Clone, Copy, Debug)]
struct Move {
    old: Option<Oid>,
    new: Option<Oid>,
    /// Set if it was made in one of the parts that were asked for.
    is_inside: bool,
    is_fold: bool,
}

/// Moves in a work tree, newest first.
#[derive(Debug, Default)]
pub(super) struct HeadLog {
    /// Moves of each branch while it was checked out.
    branches: BTreeMap<String, Vec<Move>>,
    /// All lines, with those that move nothing.
    head: Vec<Move>,
    /// Branches that HEAD was switched to inside of the parts.
    switched: BTreeSet<String>,
    /// Commits that were made there.
    made: Vec<Oid>,
    /// Commits at which HEAD was on no branch, and from which it went elsewhere inside of the parts.
    left_detached: Vec<Oid>,
    /// Set if the whole log was asked for: earlier moves may be missing.
    is_whole: bool,
}

/// A line of the log: `OLD NEW WHO TIME`, a tab, and the action.
struct Line<'a> {
    old: Option<Oid>,
    new: Option<Oid>,
    action: &'a str,
}

impl HeadLog {
    /// Reads the whole log. `branch` is the branch that HEAD is on now.
    pub(super) fn whole(place: &Place, branch: Option<&str>) -> Self {
        Self { is_whole: true, ..Self::inside_of(&place.git_dir, &[[0, u64::MAX]], branch) }
    }

    /// Reads the log from the first of these parts on; each part is the bytes from one position to another. Lines
    /// elsewhere were written by somebody else. `branch` is the branch that HEAD is on now.
    pub(super) fn inside(place: &Place, parts: &[[u64; 2]], branch: Option<&str>) -> Self {
        Self::inside_of(&place.git_dir, parts, branch)
    }

    /// Reads the log of the work tree that has this folder of git's.
    pub(super) fn inside_of(git_dir: &Path, parts: &[[u64; 2]], branch: Option<&str>) -> Self {
        let Some([start, _]) = parts.first() else { return Self::default() };
        let text = fs::read(file(git_dir)).unwrap_or_default();
        let start = usize::try_from(*start).unwrap_or(usize::MAX);
        // A log in which the part does not begin with a line was rewritten: nothing is known then.
        let is_as_noted = start == 0 || text.get(start - 1).is_some_and(|byte| *byte == b'\n');
        let Some(new) = text.get(start..).filter(|_| is_as_noted) else { return Self::default() };
        let mut at = start as u64;
        let mut lines = vec![];
        for line in new.split_inclusive(|byte| *byte == b'\n') {
            let is_inside = parts.iter().any(|[from, to]| (*from..*to).contains(&at));
            lines.push((String::from_utf8_lossy(line.trim_ascii_end()).into_owned(), is_inside));
            at += line.len() as u64;
        }
        Self::of(lines.iter().map(|(line, is_inside)| (line.as_str(), *is_inside)), branch)
    }

    /// Follows the log back from the present branch, because a line names only the branch that HEAD left.
    fn of<'a>(lines: impl DoubleEndedIterator<Item = (&'a str, bool)>, branch: Option<&str>) -> Self {
        let mut found = Self::default();
        let mut branch = branch.map(str::to_owned);
        let mut rebased: Option<(String, Option<Oid>, bool)> = None;
        for (line, is_inside) in lines.rev() {
            let Some(Line { old, new, action }) = parse(line) else { continue };
            found.head.push(Move { old, new, is_inside, is_fold: action == FOLD });
            if is_inside {
                found.note((old, new), action);
            }
            let renamed = action.strip_prefix("Branch: renamed refs/heads/").and_then(|names| names.split_once(" to "));
            let is_rebase = action.starts_with("rebase") || action.starts_with("pull");
            if let Some((from, _)) =
                action.strip_prefix("checkout: moving from ").and_then(|names| names.split_once(" to "))
            {
                branch = (!is_id(from)).then(|| from.to_owned());
            } else if let Some((from, _)) = renamed {
                branch = Some(from.to_owned());
            } else if let Some((_, to)) = action.split_once(": returning to refs/heads/").filter(|_| is_rebase) {
                rebased = Some((to.to_owned(), new, is_inside));
                branch = None;
            } else if is_rebase && (action.contains("(start): ") || action.starts_with("rebase: checkout")) {
                if let Some((name, end, was_inside)) = rebased.take() {
                    found.add(&name, Move { old, new: end, is_inside: is_inside && was_inside, is_fold: false });
                    branch = Some(name);
                }
            } else if let Some(name) = &branch {
                found.add(name, Move { old, new, is_inside, is_fold: action == FOLD });
            }
        }
        found
    }

    fn note(&mut self, (old, new): (Option<Oid>, Option<Oid>), action: &str) {
        const MAKES: [&str; 3] = ["commit", "cherry-pick: ", "revert"];
        let moves = ["checkout: moving from ", "Branch: renamed refs/heads/"];
        let ends = moves.iter().find_map(|moves| action.strip_prefix(moves)?.split_once(" to "));
        if let Some((from, to)) = ends {
            self.switched.insert(to.trim_start_matches("refs/heads/").to_owned());
            self.left_detached.extend(old.filter(|_| is_id(from)));
        }
        self.made.extend(new.filter(|_| MAKES.iter().any(|makes| action.starts_with(makes))));
    }

    /// Returns the commits that HEAD left inside of the parts, and at which it was on no branch.
    pub(super) fn left_detached(&self) -> &[Oid] {
        &self.left_detached
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

    fn add(&mut self, name: &str, moved: Move) {
        if moved.old != moved.new {
            self.branches.entry(name.to_owned()).or_default().push(moved);
        }
    }

    /// Returns whether the newest line is inside of the parts: nobody else has touched HEAD since.
    pub(super) fn ends_inside(&self) -> bool {
        self.head.first().is_some_and(|newest| newest.is_inside)
    }

    /// Returns the commit of a branch before the newest moves that were made inside (`None`: it did not exist), if these
    /// brought it to `tip`. They are followed back to `from`, the commit of the branch at the start, or to the first move
    /// of somebody else.
    pub(super) fn origin(&self, name: &str, from: Option<Oid>, tip: Option<Oid>) -> Option<Option<Oid>> {
        self.followed(self.branches.get(name)?, from, tip)
    }

    /// Returns the same for HEAD itself, whichever branches it was on.
    pub(super) fn head_origin(&self, from: Option<Oid>, tip: Option<Oid>) -> Option<Option<Oid>> {
        self.followed(&self.head, from, tip)
    }

    fn followed(&self, moves: &[Move], from: Option<Oid>, tip: Option<Oid>) -> Option<Option<Oid>> {
        let mut at = tip;
        let mut origin = None;
        for moved in moves {
            if moved.is_fold && moved.new != at && moved.old == at {
                continue; // killed after it had written the line, and before it moved the branch
            }
            if !moved.is_inside || moved.new != at {
                break;
            }
            at = moved.old;
            origin = Some(at);
            if at == from {
                return origin;
            }
        }
        origin.filter(|_| !self.is_whole)
    }
}

/// Returns the length of the log, which is created if it does not exist: git writes only to one that does where reflogs
/// are turned off.
pub(super) fn length(place: &Place) -> io::Result<u64> {
    let file = file(&place.git_dir);
    fs::create_dir_all(file.parent().unwrap_or(&file))?;
    Ok(fs::File::options().append(true).create(true).open(&file)?.metadata()?.len())
}

/// Returns whether the newest line that leads to a commit is an amend.
pub(super) fn is_amended(place: &Place, commit: Oid) -> bool {
    let text = fs::read(file(&place.git_dir)).unwrap_or_default();
    let log = String::from_utf8_lossy(&text);
    let newest = log.lines().rev().filter_map(parse).find(|line| line.new == Some(commit));
    newest.is_some_and(|line| line.action.starts_with("commit (amend)"))
}

/// Returns the log of HEAD in the work tree that has this folder of git's.
pub(super) fn file(git_dir: &Path) -> PathBuf {
    git_dir.join("logs").join("HEAD")
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
