//! Repositories of runs that are not where they were: which one is the run's, and what cannot be known.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use superstep::workspace::{RecordedRun, RepositoryLocation, RepositoryOrigin, Workspace, mend_worktrees};
use superstep_base::moved::FolderMove;

use crate::repo::Repo;

/// A run in a repository, with references of its own, unless it has not begun.
struct Run {
    repo: Repo,
    commit: Option<String>,
    origin: Option<RepositoryOrigin>,
}

impl Run {
    fn new(is_begun: bool) -> Self {
        let repo = Repo::new();
        let commit = is_begun.then(|| repo.tip().to_string());
        if is_begun {
            repo.git(&["update-ref", "refs/superstep/t/objects", "HEAD"]);
        }
        repo.git(&["branch", "other"]);
        fs::create_dir_all(repo.root().join(".superstep/store")).unwrap();
        let origin = RepositoryOrigin::of(&repo.root(), &repo.root());
        Self { repo, commit, origin }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.repo.beside(name)
    }

    /// Looks for the run with the store in one folder, from another.
    fn find(&self, store: &str, current: &str) -> RepositoryLocation {
        let store = self.at(store).join(".superstep/store");
        let (commit, current) = (self.commit.clone(), self.at(current));
        let origin = self.origin.clone();
        RecordedRun { folder: self.at("repo"), commit, origin, thread: "t".into(), store, current }.find()
    }

    fn copies(&self, to: &str) {
        assert!(Command::new("cp").arg("-a").args([self.at("repo"), self.at(to)]).status().unwrap().success());
    }

    fn moves(&self, to: &str) {
        fs::rename(self.at("repo"), self.at(to)).unwrap();
    }

    fn clones(&self, from: &str, to: &str) {
        self.repo.git_in(&self.at(from), &["clone", "--quiet", ".", self.at(to).to_str().unwrap()]);
    }

    fn is_at(&self, found: &RepositoryLocation, to: &str) -> bool {
        matches!(found, RepositoryLocation::Moved(moved) if moved.from == self.at("repo") && moved.to == self.at(to))
    }
}

#[rstest]
fn a_run_is_found_where_its_store_or_the_person_is(
    #[values(false, true)] is_begun: bool,
    #[values(("new", "new"), ("outside", "new"), ("new", "outside"))] places: (&str, &str),
) {
    let run = Run::new(is_begun);
    run.moves("new");
    fs::create_dir(run.at("outside")).unwrap();
    let found = run.find(places.0, places.1);
    assert!(run.is_at(&found, "new"), "{found:?}");
}

#[rstest]
fn a_run_stays_where_it_is_though_the_person_is_in_another_work_tree_or_a_clone(#[values(false, true)] is_begun: bool) {
    let run = Run::new(is_begun);
    run.clones("repo", "clone");
    run.repo.git(&["worktree", "add", "--quiet", run.at("tree").to_str().unwrap(), "other"]);
    for (store, current) in
        [("repo", "clone"), ("clone", "clone"), ("outside", "clone"), ("tree", "tree"), ("outside", "tree")]
    {
        assert_eq!(run.find(store, current), RepositoryLocation::Unmoved, "store in {store}, called in {current}");
    }
}

#[rstest]
fn a_copy_is_used_with_the_store_in_it_and_refused_without(#[values(false, true)] is_begun: bool) {
    let run = Run::new(is_begun);
    run.copies("copy");
    fs::create_dir(run.at("outside")).unwrap();
    assert!(run.is_at(&run.find("copy", "copy"), "copy"));
    assert_eq!(run.find("outside", "copy"), RepositoryLocation::Copied { copy: run.at("copy") });
    assert_eq!(run.find("outside", "repo"), RepositoryLocation::Unmoved);
    assert_eq!(run.find("outside", "outside"), RepositoryLocation::Unmoved);
}

#[test]
fn a_begun_run_is_not_taken_for_one_in_another_repository() {
    let run = Run::new(true);
    run.moves("new");
    let other = Repo::unborn();
    other.write("c.txt", "c").commit_all("another");
    fs::rename(other.root(), run.at("other")).unwrap();
    assert!(run.is_at(&run.find("other", "other"), "new"), "it lies beside");
    fs::create_dir(run.at("far")).unwrap();
    fs::rename(run.at("new"), run.at("far/new")).unwrap();
    assert_eq!(run.find("other", "other"), RepositoryLocation::Gone);
    fs::rename(run.at("far/new"), run.at("new")).unwrap();
    let found = run.find("other", "new");
    assert!(run.is_at(&found, "new"), "{found:?}");
    // A new clone is at the old place.
    run.clones("new", "repo");
    let found = run.find("outside", "new");
    assert!(run.is_at(&found, "new"), "{found:?}");
    assert_eq!(run.find("outside", "repo"), RepositoryLocation::Unmoved);
}

#[rstest]
#[case::where_it_was("renamed", "outside")]
#[case::in_the_current_directory("outside/renamed", "outside")]
fn a_begun_run_is_found_under_another_name(#[case] to: &str, #[case] current: &str) {
    let run = Run::new(true);
    fs::create_dir(run.at("outside")).unwrap();
    run.clones("repo", "clone");
    run.moves(to);
    let found = run.find("outside", current);
    assert!(run.is_at(&found, to), "{found:?}");
    Command::new("cp").arg("-a").args([run.at(to), run.at("copy")]).status().unwrap();
    let mut both = vec![run.at("copy"), run.at(to)];
    both.sort();
    assert_eq!(run.find("outside", current), RepositoryLocation::Unclear(both));
}

#[test]
fn a_run_that_has_not_begun_is_not_taken_for_one_in_another_repository() {
    let mut run = Run::new(false);
    run.clones("repo", "clone");
    let other = Repo::unborn();
    other.write("c.txt", "c").commit_all("another");
    fs::rename(other.root(), run.at("other")).unwrap();
    fs::create_dir(run.at("far")).unwrap();
    run.moves("far/new");
    for near in ["other", "clone"] {
        assert_eq!(run.find(near, near), RepositoryLocation::Gone, "{near}");
    }
    assert!(run.is_at(&run.find("other", "far/new"), "far/new"));
    run.origin = None;
    assert_eq!(run.find("far/new", "far/new"), RepositoryLocation::Gone, "nothing tells that it is the same");
}

#[rstest]
fn a_run_that_was_started_from_another_checkout_stays_in_its_own(#[values(false, true)] is_begun: bool) {
    let mut run = Run::new(false);
    run.copies("checkout");
    if is_begun {
        run.commit = Some(run.repo.tip().to_string());
        run.repo.git(&["update-ref", "refs/superstep/t/objects", "HEAD"]);
    }
    run.origin = RepositoryOrigin::of(&run.repo.root(), &run.at("checkout"));
    assert!(run.origin.as_ref().unwrap().is_elsewhere);
    assert_eq!(run.find("checkout", "checkout"), RepositoryLocation::Unmoved);
    fs::create_dir(run.at("far")).unwrap();
    run.moves("far/new");
    let found = run.find("checkout", "far/new");
    assert_eq!(run.is_at(&found, "far/new"), is_begun, "{found:?}");
    assert!(is_begun || found == RepositoryLocation::Gone);
}

#[test]
fn a_run_that_has_not_begun_may_be_in_several() {
    let run = Run::new(false);
    run.copies("copy");
    run.moves("new");
    assert_eq!(run.find("new", "copy"), RepositoryLocation::Unclear(vec![run.at("new"), run.at("copy")]));
    let found = run.find("copy", "copy");
    assert!(run.is_at(&found, "copy"), "{found:?}");
    assert_eq!(run.find("nowhere", "nowhere"), RepositoryLocation::Unclear(vec![run.at("copy"), run.at("new")]));
}

#[test]
fn a_fork_is_found_with_the_repository_around_its_work_tree() {
    let run = Run::new(true);
    let inside = Path::new(".superstep/forks/u");
    let folder = run.at("repo").join(inside);
    run.repo.git(&["worktree", "add", "--quiet", folder.to_str().unwrap(), "other"]);
    run.moves("new");
    let (commit, store) = (run.commit.clone(), run.at("new").join(".superstep/store"));
    let current = run.at("new").join(inside);
    let found = RecordedRun { folder, commit, origin: None, thread: "t".into(), current, store }.find();
    assert!(run.is_at(&found, "new"), "{found:?}");
}

const TREE: &str = ".superstep/worktrees/t/1";

/// Leaves a work tree as a kill does.
fn interrupt(run: &Run, how: &str) {
    run.repo.git(&["worktree", "add", "--quiet", "--detach", TREE]);
    let tree = run.at("repo").join(TREE);
    match how {
        "without its mark" => {}
        "without files" => fs::remove_dir_all(&tree).unwrap(),
        "without its link" => fs::remove_file(tree.join(".git")).unwrap(),
        _ => fs::write(run.at("repo/.git/worktrees/1/locked"), "initializing").unwrap(),
    }
}

#[rstest]
#[tokio::test]
async fn a_work_tree_that_a_kill_left_incomplete_is_removed_where_the_repository_was_moved(
    #[values("without its mark", "without files", "without its link", "locked")] how: &str,
    #[values("moved", "moved twice", "copied")] places: &str,
    #[values(false, true)] is_made_again: bool,
) {
    let run = Run::new(true);
    let tip = run.repo.tip();
    interrupt(&run, how);
    match places {
        "moved" => run.moves("new"),
        "moved twice" => {
            run.moves("between");
            fs::rename(run.at("between"), run.at("new")).unwrap();
        }
        _ => run.copies("new"),
    }
    let new = run.at("new");
    mend_worktrees(&FolderMove { from: run.at("repo"), to: new.clone() }).unwrap();
    let workspace = Workspace::open(&new).await.unwrap();
    if is_made_again {
        workspace.detached_worktree(TREE, &tip).await.unwrap();
        assert!(workspace.has_worktree(TREE).await.unwrap());
    }
    workspace.remove_worktree(TREE).await.unwrap();
    assert_eq!(run.repo.git_in(&new, &["worktree", "list"]).lines().count(), 1);
    assert!(!new.join(TREE).exists());
    if places == "copied" {
        assert_eq!(run.at("repo").join(TREE).exists(), how != "without files");
    }
}
