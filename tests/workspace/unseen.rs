//! Work that git does not commit is found with the reason.

use rstest::rstest;
use superstep::workspace::{LeftOut, Reason, Workspace, WorkspaceOptions};

use crate::repo::Repo;

/// A repository with ignored files, flagged files and a submodule; `plan.md` is apart.
async fn prepared() -> (Repo, Repo, Workspace) {
    let (repo, other) = (Repo::new(), Repo::new());
    repo.git(&["submodule", "--quiet", "add", other.root().to_str().unwrap(), "sub"]);
    repo.write(".gitignore", "*.log\nbuild/\n").write("plan.md", "plan").write("flagged.txt", "x").commit_all("files");
    repo.write("old.log", "x").write("build/old.o", "x");
    repo.write(".git/info/exclude", "/mine/\n").write("mine/old.txt", "x");
    repo.git(&["update-index", "--assume-unchanged", "flagged.txt"]);
    repo.git(&["update-index", "--skip-worktree", "src/b.txt"]);
    let options: WorkspaceOptions = repo.options().apart("plan.md");
    let workspace = Workspace::open_with(repo.root(), options).await.unwrap();
    (repo, other, workspace)
}

#[rstest]
#[case::nothing(|_: &Repo| {}, &[])]
#[case::a_committed_file(|repo: &Repo| { repo.write("a.txt", "new"); }, &[])]
#[case::a_new_ignored_file(|repo: &Repo| { repo.write("new.log", "x"); }, &["`new.log` is left out: git ignores it"])]
#[case::an_old_ignored_file(|repo: &Repo| { repo.write("old.log", "new"); }, &["`old.log` is left out: git ignores it"])]
#[case::in_an_ignored_folder(|repo: &Repo| { repo.write("build/deep/new.o", "x"); }, &["`build/` is left out: git ignores it"])]
#[case::excluded(|repo: &Repo| { repo.write("mine/old.txt", "new"); }, &["`mine/` is left out: git ignores it"])]
#[case::moved_with_its_time(|repo: &Repo| { std::fs::rename(repo.root().join("old.log"), repo.root().join("other.log")).unwrap(); }, &["`other.log` is left out: git ignores it"])]
#[case::assumed_unchanged(|repo: &Repo| { repo.write("flagged.txt", "new"); }, &["`flagged.txt` is left out: its flag `assume-unchanged` in the index hides changes from git"])]
#[case::skipped(|repo: &Repo| { repo.write("src/b.txt", "new"); }, &["`src/b.txt` is left out: its flag `skip-worktree` in the index hides changes from git"])]
#[case::in_a_submodule(|repo: &Repo| { repo.write("sub/a.txt", "new"); }, &["`sub/a.txt` is left out: it is inside the submodule `sub`, which has commits of its own"])]
#[case::the_plan(|repo: &Repo| { repo.write("plan.md", "other"); }, &["`plan.md` is left out: it is the plan of the run or a file that the profile brings, no part of the work"])]
#[tokio::test]
async fn what_git_does_not_commit_is_named_with_the_reason(#[case] act: fn(&Repo), #[case] expected: &[&str]) {
    let (repo, _other, workspace) = prepared().await;
    let standing = workspace.watched(workspace.standing(&[]).await.unwrap()).await.unwrap();
    act(&repo);
    let found = workspace.unseen(standing.started.unwrap()).await.unwrap();
    assert_eq!(found.iter().map(LeftOut::to_string).collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_path_that_git_refuses_is_left_out_of_a_snapshot_and_the_rest_is_not() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    repo.write("good.txt", "x").write("git~1", "x").write("z/more.txt", "x");
    let snapshot = workspace.snapshot().await.unwrap();
    assert_eq!(repo.files(snapshot.tree.as_str()), ["a.txt", "good.txt", "src/b.txt", "z/more.txt"]);
    let [left] = snapshot.left_out.as_slice() else { panic!("{:?}", snapshot.left_out) };
    assert_eq!(left.path, "git~1");
    assert!(
        matches!(&left.reason, Reason::Refused { why } if why == "its path is not allowed in a repository"),
        "{left}"
    );
}

#[test]
fn ignored_files_share_a_line() {
    let one = |path: &str| LeftOut { path: path.into(), reason: Reason::Ignored };
    let all = [one("a.log"), LeftOut { path: ".env".into(), reason: Reason::Environment }, one("b.log")];
    insta::assert_snapshot!(LeftOut::lines(&all).join("\n"), @r"
    `.env` is left out: files of this name hold secrets
    changed, but ignored by git and so in no commit: `a.log`, `b.log`
    ");
}
