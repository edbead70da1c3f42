//! Application of a change to another tree, which keeps the user's own changes out of commits, and commits that are
//! made again on top of others. No work tree is needed, and no hook runs.

use std::collections::HashMap;
use std::path::Path;

use async_recursion::async_recursion as boxed;
use git2::build::TreeUpdateBuilder;
use git2::{
    Commit, DiffFile, DiffOptions, ErrorCode, FileFavor, FileMode, IndexConflict, IndexEntry, MergeOptions, Oid,
    Repository, Sort, Tree,
};

use crate::workspace::error::WorkspaceError;
use crate::workspace::id::{CommitId, TreeId};
use crate::workspace::place::{Fault, Place, Workspace, as_bytes, as_path, lossy_path, tree};

/// Bits of the stage in the flags of an entry of the index.
const STAGE: u16 = 0x3000;

impl Workspace {
    /// Returns HEAD's tree with the change from `from` to `to` applied. `from` is a snapshot of the start of a task,
    /// `to` one of now: changes by the user before the task are in both, and so in no commit. In a work tree that was
    /// clean, this is `to`.
    ///
    /// # Errors
    /// [`Conflict`](WorkspaceError::Conflict) if lines were changed that the user had changed too.
    #[boxed]
    pub async fn onto_head(&self, from: &TreeId, to: &TreeId) -> Result<TreeId, WorkspaceError> {
        let head = match self.head_tree().await? {
            Some(head) => head,
            None => self.empty_tree().await?,
        };
        self.apply_change(from, &head, to).await
    }

    /// Returns the empty tree.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if it cannot be written.
    #[boxed]
    pub async fn empty_tree(&self) -> Result<TreeId, WorkspaceError> {
        self.objects("write a tree", |repository, _| Ok(repository.treebuilder(None)?.write()?.into())).await
    }

    /// Returns the tree `onto` with the change from `from` to `to` applied.
    ///
    /// # Errors
    /// [`Conflict`](WorkspaceError::Conflict) with the files in which both sides changed the same lines.
    #[boxed]
    pub async fn apply_change(&self, from: &TreeId, onto: &TreeId, to: &TreeId) -> Result<TreeId, WorkspaceError> {
        if from == onto || onto == to {
            return Ok(to.clone());
        }
        if from == to {
            return Ok(onto.clone());
        }
        let (from, onto, to) = (from.clone(), onto.clone(), to.clone());
        let merge = move |repository: &Repository, _: &Place| change_tree(repository, [&from, &onto, &to]);
        let tree = self.new_objects("merge trees", merge).await?;
        self.keep_made(tree.as_str()).await?;
        Ok(tree)
    }

    /// Returns the tree `onto` with the changes between two commits applied; `from` is `None` before the first. Where both
    /// sides changed the same lines, those of the later commit win, and so does its file where both cannot be merged, such
    /// as a binary one, or one that a side removed.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if tree or commits do not exist.
    #[boxed]
    pub async fn with_commits(
        &self,
        onto: &TreeId,
        from: Option<&CommitId>,
        to: &CommitId,
    ) -> Result<TreeId, WorkspaceError> {
        let from = match from {
            Some(from) => self.tree_of(from).await?,
            None => self.empty_tree().await?,
        };
        let to = self.tree_of(to).await?;
        match self.apply_change(&from, onto, &to).await {
            Err(WorkspaceError::Conflict { .. }) => {}
            carried => return carried,
        }
        let trees = [from, onto.clone(), to];
        let tree = self.new_objects("merge trees", move |repository, _| favoring_later(repository, &trees)).await?;
        self.keep_made(tree.as_str()).await?;
        Ok(tree)
    }

    /// Returns a tree with a file added or replaced. `path` is relative to the top of the work tree.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if the tree does not exist.
    #[boxed]
    pub async fn with_file(&self, onto: &TreeId, path: &Path, text: &str) -> Result<TreeId, WorkspaceError> {
        let (onto, path, text) = (onto.clone(), path.to_owned(), text.to_owned());
        let write = move |repository: &Repository, _: &Place| {
            let blob = repository.blob(text.as_bytes())?;
            let mut update = TreeUpdateBuilder::new();
            update.upsert(as_bytes(&path), blob, FileMode::Blob);
            Ok(TreeId::from(update.create_updated(repository, &tree(repository, &onto)?)?))
        };
        let tree = self.new_objects("write a tree", write).await?;
        self.keep_made(tree.as_str()).await?;
        Ok(tree)
    }
}

/// Applies the change between the first and the last tree to the second.
fn merge_change(repository: &Repository, trees: [Oid; 3]) -> Result<TreeId, Fault> {
    let [from, onto, to] = trees.map(TreeId::from);
    if from == onto {
        return Ok(to);
    }
    change_tree(repository, [&from, &onto, &to])
}

fn change_tree(repository: &Repository, [from, onto, to]: [&TreeId; 3]) -> Result<TreeId, Fault> {
    let trees = [&tree(repository, from)?, &tree(repository, onto)?, &tree(repository, to)?];
    match update_directly(repository, trees)? {
        Some(tree) => Ok(tree),
        None => merge_trees(repository, trees),
    }
}

/// Returns the result if all changing files are the same in `onto` and `from`, so that no merge is needed; otherwise
/// `None`. Only the folders of these files are read, not all files of three trees.
fn update_directly(repository: &Repository, [from, onto, to]: [&Tree<'_>; 3]) -> Result<Option<TreeId>, Fault> {
    let mut options = DiffOptions::new();
    options.include_typechange(true);
    let diff = repository.diff_tree_to_tree(Some(from), Some(to), Some(&mut options))?;
    let mut update = TreeUpdateBuilder::new();
    for delta in diff.deltas() {
        let (before, after) = (delta.old_file(), delta.new_file());
        let path = after.path_bytes().or(before.path_bytes()).unwrap_or_default();
        if !is_as_in(onto, &as_path(path), &before)? {
            return Ok(None);
        }
        match after.exists() {
            true => update.upsert(path, after.id(), after.mode()),
            false => update.remove(path),
        };
    }
    // On a failure, such as a file in place of a folder, the merge reports the conflict.
    Ok(update.create_updated(repository, onto).ok().map(TreeId::from))
}

/// Returns whether a tree has a file in its earlier state, which may be missing.
fn is_as_in(onto: &Tree<'_>, path: &Path, before: &DiffFile<'_>) -> Result<bool, Fault> {
    let before = before.exists().then(|| (before.mode().into(), before.id()));
    Ok(entry(onto, path)? == before)
}

/// Returns mode and id of a file or folder.
fn entry(tree: &Tree<'_>, path: &Path) -> Result<Option<(i32, Oid)>, Fault> {
    match tree.get_path(path) {
        Ok(entry) => Ok(Some((entry.filemode_raw(), entry.id()))),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn merge_trees(repository: &Repository, [from, onto, to]: [&Tree<'_>; 3]) -> Result<TreeId, Fault> {
    let mut options = MergeOptions::new();
    options.find_renames(false);
    let mut index = repository.merge_trees(from, onto, to, Some(&options))?;
    if !index.has_conflicts() {
        return Ok(index.write_tree_to(repository)?.into());
    }
    let conflicts = index.conflicts()?.collect::<Result<Vec<_>, _>>()?;
    let mut files: Vec<_> = conflicts.iter().filter_map(name_of).collect();
    files.sort();
    files.dedup();
    Err(WorkspaceError::Conflict { files }.into())
}

/// Merges trees, with the lines of `to` where both sides changed the same, and its files where whole files conflict.
fn favoring_later(repository: &Repository, [from, onto, to]: &[TreeId; 3]) -> Result<TreeId, Fault> {
    let mut options = MergeOptions::new();
    options.find_renames(false).file_favor(FileFavor::Theirs);
    let trees = [&tree(repository, from)?, &tree(repository, onto)?, &tree(repository, to)?];
    let mut index = repository.merge_trees(trees[0], trees[1], trees[2], Some(&options))?;
    let conflicts = index.conflicts()?.collect::<Result<Vec<_>, _>>()?;
    for conflict in conflicts {
        let IndexConflict { ancestor, our, their } = conflict;
        for path in [&ancestor, &our, &their].into_iter().flatten().map(|entry| as_path(&entry.path)) {
            for stage in 1..=3 {
                // Only some of the stages are there.
                let _ = index.remove(&path, stage);
            }
        }
        if let Some(their) = their {
            // It replaces a folder that is in its place, and files in the place of its folders.
            index.add(&IndexEntry { flags: their.flags & !STAGE, ..their })?;
        }
    }
    Ok(index.write_tree_to(repository)?.into())
}

fn name_of(conflict: &IndexConflict) -> Option<String> {
    let entry = conflict.our.as_ref().or(conflict.their.as_ref()).or(conflict.ancestor.as_ref());
    entry.map(|entry| lossy_path(&entry.path))
}

impl Workspace {
    /// Makes the commits after `from`, up to `to`, again on top of `onto`, with their authors, times and messages; merges
    /// stay merges. Repeating the call creates the same commits. Returns the last one.
    ///
    /// # Errors
    /// [`Conflict`](WorkspaceError::Conflict) if both sides changed the same lines,
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if a commit does not exist.
    #[boxed]
    pub async fn rebase(&self, from: &CommitId, to: &CommitId, onto: &CommitId) -> Result<CommitId, WorkspaceError> {
        let [from, to, onto] = [from, to, onto].map(Clone::clone);
        let rebase = self.new_objects("rebase commits", move |repository, _| {
            for commit in [&from, &to, &onto] {
                repository.find_commit(commit.oid()?).map_err(|_| commit.missing())?;
            }
            rebase_commits(repository, from.oid()?, to.oid()?, onto.oid()?).map(CommitId::from)
        });
        let last = rebase.await?;
        self.keep_made(last.as_str()).await?;
        Ok(last)
    }

    /// Returns a commit that has the history of both: `commit` itself if it comes after `tip`, `tip` if it contains
    /// `commit`, otherwise a new merge of them.
    ///
    /// # Errors
    /// [`Conflict`](WorkspaceError::Conflict) if both sides changed the same lines.
    #[boxed]
    pub async fn merge_commits(
        &self,
        tip: &CommitId,
        commit: &CommitId,
        message: &str,
    ) -> Result<CommitId, WorkspaceError> {
        if self.descends(commit, tip).await? {
            return Ok(commit.clone());
        }
        if self.descends(tip, commit).await? {
            return Ok(tip.clone());
        }
        let (tip, commit, message) = (tip.clone(), commit.clone(), message.to_owned());
        let merge = self.new_objects("merge commits", move |repository, _| {
            let [ours, theirs] = [&tip, &commit].map(|id| id.oid().map(|id| repository.find_commit(id)));
            let (ours, theirs) = (ours??, theirs??);
            let base = repository.find_commit(repository.merge_base(ours.id(), theirs.id())?)?;
            let merged = merge_change(repository, [base.tree_id(), ours.tree_id(), theirs.tree_id()])?;
            let who = theirs.committer();
            let parents = [&ours, &theirs];
            Ok(repository.commit(None, &who, &who, &message, &tree(repository, &merged)?, &parents)?.into())
        });
        let merged: CommitId = merge.await?;
        self.keep_made(merged.as_str()).await?;
        Ok(merged)
    }
}

fn rebase_commits(repository: &Repository, from: Oid, to: Oid, onto: Oid) -> Result<Oid, Fault> {
    let mut walk = repository.revwalk()?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
    walk.push(to)?;
    walk.hide(from)?;
    let mut made = HashMap::from([(from, onto)]);
    for id in walk {
        let commit = repository.find_commit(id?)?;
        let new = copy_commit(repository, &commit, &made)?;
        made.insert(commit.id(), new);
    }
    Ok(made.get(&to).copied().unwrap_or(to))
}

/// Makes a commit again with the new commits in place of its parents.
fn copy_commit(repository: &Repository, commit: &Commit<'_>, made: &HashMap<Oid, Oid>) -> Result<Oid, Fault> {
    let parents = commit.parents().map(|parent| match made.get(&parent.id()) {
        Some(new) => repository.find_commit(*new),
        None => Ok(parent),
    });
    let parents = parents.collect::<Result<Vec<_>, _>>()?;
    let tree_id = match (commit.parents().next(), parents.first()) {
        (Some(old), Some(new)) => merge_change(repository, [old.tree_id(), new.tree_id(), commit.tree_id()])?,
        _ => commit.tree_id().into(),
    };
    let message = String::from_utf8_lossy(commit.message_raw_bytes()).into_owned();
    let parents: Vec<_> = parents.iter().collect();
    let (author, committer) = (commit.author(), commit.committer());
    Ok(repository.commit(None, &author, &committer, &message, &tree(repository, &tree_id)?, &parents)?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Files by path: mode and content.
    type Files = BTreeMap<&'static str, (FileMode, u8)>;

    const PATHS: [&str; 8] = ["a", "a/x", "b", "d/a", "d/b", "d/e/a", "d/e", "d.x"];
    const MODES: [FileMode; 4] = [FileMode::Blob, FileMode::BlobExecutable, FileMode::Link, FileMode::Commit];

    fn place() -> (tempfile::TempDir, Repository) {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::init_bare(folder.path()).unwrap();
        (folder, repository)
    }

    /// Returns a tree of the files whose paths do not collide.
    fn written<'a>(repository: &'a Repository, files: &Files) -> Tree<'a> {
        let mut update = TreeUpdateBuilder::new();
        for (path, (mode, content)) in files {
            if !PATHS.iter().any(|other| files.contains_key(other) && other.starts_with(&format!("{path}/"))) {
                update.upsert(*path, repository.blob(&[*content]).unwrap(), *mode);
            }
        }
        let empty = repository.treebuilder(None).unwrap().write().unwrap();
        let id = update.create_updated(repository, &repository.find_tree(empty).unwrap()).unwrap();
        repository.find_tree(id).unwrap()
    }

    fn file() -> impl Strategy<Value = (FileMode, u8)> {
        (prop::sample::select(&MODES[..]), 0..3_u8)
    }

    fn files() -> impl Strategy<Value = Files> {
        prop::collection::btree_map(prop::sample::select(&PATHS[..]), file(), 0..6)
    }

    /// Returns files with a few changes.
    fn changed(files: Files) -> impl Strategy<Value = Files> {
        let changes = prop::collection::vec((prop::sample::select(&PATHS[..]), prop::option::of(file())), 0..4);
        changes.prop_map(move |changes| {
            let mut files = files.clone();
            for (path, file) in changes {
                files.remove(path);
                files.extend(file.map(|file| (path, file)));
            }
            files
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn what_is_updated_is_what_would_be_merged(
            [from, onto, to] in files().prop_flat_map(|from| (Just(from.clone()), changed(from.clone()), changed(from)))
                .prop_map(|(from, onto, to)| [from, onto, to])
        ) {
            let (_folder, repository) = place();
            let trees = [&from, &onto, &to].map(|files| written(&repository, files));
            let trees = [&trees[0], &trees[1], &trees[2]];
            if let Some(updated) = update_directly(&repository, trees).ok().unwrap() {
                prop_assert_eq!(Some(updated), merge_trees(&repository, trees).ok());
            }
        }
    }

    #[rstest::rstest]
    #[case::changed_on_both_sides(&[("a", 0)], &[("a", 1)], &[("a", 2)], &[("a", 2)])]
    #[case::added_on_both_sides(&[], &[("a", 1)], &[("a", 2)], &[("a", 2)])]
    #[case::removed_later(&[("a", 0)], &[("a", 1)], &[], &[])]
    #[case::removed_before(&[("a", 0)], &[], &[("a", 2)], &[("a", 2)])]
    #[case::a_folder_is_in_the_way(&[], &[("a/x", 1)], &[("a", 2)], &[("a", 2)])]
    #[case::a_file_is_in_the_way(&[], &[("a", 1)], &[("a/x", 2)], &[("a/x", 2)])]
    fn of_files_that_cannot_be_merged_only_these_are_the_later_ones(
        #[case] from: &[(&'static str, u8)],
        #[case] onto: &[(&'static str, u8)],
        #[case] to: &[(&'static str, u8)],
        #[case] expected: &[(&'static str, u8)],
    ) {
        let (_folder, repository) = place();
        let tree = |files: &[(&'static str, u8)], more: &[(&'static str, u8)]| -> TreeId {
            let files = files.iter().chain(more).map(|(path, content)| (*path, (FileMode::Blob, *content)));
            written(&repository, &files.collect()).id().into()
        };
        let same = [("d/b", 0)];
        let trees = [tree(from, &same), tree(onto, &[same[0], ("b", 1)]), tree(to, &[same[0], ("d.x", 2)])];
        let merged = favoring_later(&repository, &trees).ok().unwrap();
        assert_eq!(merged, tree(expected, &[same[0], ("b", 1), ("d.x", 2)]));
    }

    #[rstest::rstest]
    #[case::added(&[], &["d/a"], &["b"], true)]
    #[case::removed(&["d/a", "b"], &["d/a", "b", "a"], &["b"], true)]
    #[case::the_last_of_a_folder(&["d/e/a"], &["d/e/a", "a"], &[], true)]
    #[case::changed_on_both_sides(&["b"], &[], &["b", "a/x"], true)]
    #[case::removed_on_both_sides(&["b", "a"], &["a"], &["a"], false)]
    #[case::a_folder_is_in_the_way(&[], &["a/x"], &["a"], false)]
    #[case::a_file_is_in_the_way(&[], &["a"], &["a/x"], false)]
    fn nothing_is_merged_where_nothing_meets(
        #[case] from: &[&'static str],
        #[case] onto: &[&'static str],
        #[case] to: &[&'static str],
        #[case] is_updated: bool,
    ) {
        let (_folder, repository) = place();
        let files = |paths: &[&'static str]| paths.iter().map(|path| (*path, (FileMode::Blob, 0))).collect::<Files>();
        let trees = [from, onto, to].map(|paths| written(&repository, &files(paths)));
        let updated = update_directly(&repository, [&trees[0], &trees[1], &trees[2]]).ok().unwrap();
        assert_eq!(updated.is_some(), is_updated);
    }
}
