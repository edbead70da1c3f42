//! Branches created in a linked work tree. All work trees share branches, and a branch does not record its origin; the
//! reflog of the work tree's HEAD does, and only that work tree writes it.

use std::fs;
use std::path::Path;

use git2::{BranchType, Oid, Repository};

use super::error::WorkspaceError;
use super::history;
use super::id::CommitId;
use super::place::{Fault, Place, Workspace};
use super::references::{delete, put, reference_name};
use super::standing::Standing;
use super::worktree::{entries, entries_of};

impl Workspace {
    /// Removes the branches created in the linked work tree at `path` since `standing`, and returns their names. A
    /// branch with commits after `standing` is first stored as `refs/superstep/THREAD/branches/NAME-COMMIT`. `path` is
    /// relative to the top of this work tree.
    ///
    /// A branch counts as created there if it is new, it is checked out in no other work tree, and either HEAD was
    /// switched to it there, or it is at a commit made there, or after one. All other branches remain: they may have
    /// been created elsewhere meanwhile.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if a branch cannot be read or removed.
    pub async fn remove_branches_of(
        &self,
        path: impl AsRef<Path>,
        standing: &Standing,
        thread: &str,
    ) -> Result<Vec<String>, WorkspaceError> {
        let path = self.worktree_path(path.as_ref()).await?;
        let (standing, thread) = (standing.clone(), thread.to_owned());
        self.objects("remove branches", move |repository, place| {
            let log = HeadLog::of(place, &path);
            let mut gone = vec![];
            for (name, tip) in new_branches(repository, &standing)? {
                if log.knows(repository, &name, tip)? && !is_used(place, &path, &name) {
                    store((repository, place), &standing, (&thread, &name), tip)?;
                    delete(repository, place, &format!("refs/heads/{name}"))?;
                    gone.push(name);
                }
            }
            Ok(gone)
        })
        .await
    }
}

/// Returns the branches that are not in `standing.known`. If that is empty, new ones cannot be recognized.
fn new_branches(repository: &Repository, standing: &Standing) -> Result<Vec<(String, Oid)>, Fault> {
    let mut found = vec![];
    for branch in repository.branches(Some(BranchType::Local))? {
        let (branch, _) = branch?;
        let Some(name) = branch.name().ok().flatten() else { continue };
        if !standing.known.is_empty() && !standing.known.contains(name) {
            found.push((name.to_owned(), branch.get().peel_to_commit()?.id()));
        }
    }
    Ok(found)
}

/// Returns whether the branch is checked out in another work tree than that at `path`.
fn is_used(place: &Place, path: &Path, name: &str) -> bool {
    let own = entries_of(place, path);
    let others = entries(place).into_iter().filter(|entry| !own.contains(entry));
    let mut heads = others.chain([place.common_dir.clone()]).filter_map(|folder| fs::read(folder.join("HEAD")).ok());
    heads.any(|head| head.trim_ascii() == format!("ref: refs/heads/{name}").as_bytes())
}

/// Stores commits newer than the start of the task.
fn store(
    (repository, place): (&Repository, &Place),
    standing: &Standing,
    (thread, name): (&str, &str),
    tip: Oid,
) -> Result<(), Fault> {
    let Some(base) = standing.commit.as_ref().map(CommitId::oid).transpose()? else { return Ok(()) };
    if tip != base && !history::descends(repository, base, tip)? {
        let short = &tip.to_string()[..12];
        let kept = reference_name(thread, &["branches", &format!("{name}-{short}")]);
        put(repository, place, &kept, (tip, "superstep: salvage"))?;
    }
    Ok(())
}

/// Reflog of a work tree's HEAD: lines of `OLD NEW WHO TIME`, a tab, and the action.
#[derive(Debug, Default)]
struct HeadLog {
    /// Commits made there.
    made: Vec<Oid>,
    /// Branches and commits HEAD was switched to.
    switched: Vec<String>,
}

impl HeadLog {
    fn of(place: &Place, path: &Path) -> Self {
        let mut log = Self::default();
        for entry in entries_of(place, path) {
            let text = fs::read(entry.join("logs").join("HEAD")).unwrap_or_default();
            String::from_utf8_lossy(&text).lines().for_each(|line| log.add(line));
        }
        log
    }

    fn add(&mut self, line: &str) {
        const MAKES: [&str; 3] = ["commit", "cherry-pick: ", "revert"];
        let Some((about, what)) = line.split_once('\t') else { return };
        if let Some((_, to)) = what.strip_prefix("checkout: moving from ").and_then(|moves| moves.split_once(" to ")) {
            self.switched.push(to.to_owned());
        }
        let new = about.split(' ').nth(1).and_then(|id| Oid::from_str(id).ok());
        self.made.extend(new.filter(|_| MAKES.iter().any(|makes| what.starts_with(makes))));
    }

    fn knows(&self, repository: &Repository, name: &str, tip: Oid) -> Result<bool, Fault> {
        if self.made.contains(&tip) || self.switched.iter().any(|to| to == name) {
            return Ok(true);
        }
        for made in self.made.iter().filter(|made| repository.find_commit(**made).is_ok()) {
            if history::descends(repository, tip, *made)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
