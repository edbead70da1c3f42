//! Work that git does not commit is found with the reason.

use rstest::rstest;
use superstep::workspace::{OmissionReason, OmittedFile, Workspace, WorkspaceOptions};

use crate::repo::Repo;
use crate::turns::{noted, turn};

/// A repository with ignored files, flagged files and a submodule; `plan.md` is apart.
async fn prepared() -> (Repo, Repo, Workspace) {
    let (repo, other) = (Repo::new(), Repo::new());
    repo.git(&["submodule", "--quiet", "add", other.root().to_str().unwrap(), "sub"]);
    repo.write(".gitignore", "*.log\nbuild/\n").write("plan.md", "plan").write("flagged.txt", "x").commit_all("files");
    repo.write("old.log", "x").write("build/old.o", "x");
    repo.write(".git/info/exclude", "/mine/\n").write("mine/old.txt", "x");
    std::fs::write(repo.beside("shared.txt"), "x").unwrap();
    std::os::unix::fs::symlink("../shared.txt", repo.root().join("shared")).unwrap();
    repo.git(&["add", "shared"]);
    repo.git(&["commit", "--quiet", "--message", "a link"]);
    repo.git(&["config", "core.fileMode", "false"]);
    repo.git(&["config", "core.ignoreCase", "true"]);
    repo.git(&["update-index", "--assume-unchanged", "flagged.txt"]);
    repo.git(&["update-index", "--skip-worktree", "src/b.txt"]);
    let options: WorkspaceOptions = repo.options().exclude("plan.md");
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
#[case::stashed(|repo: &Repo| { repo.write("a.txt", "new").git(&["stash", "--quiet"]); }, &["`stash@{0}` is left out: `git stash` put it there during the work"])]
#[case::a_link_out(|repo: &Repo| { std::os::unix::fs::symlink("../home", repo.root().join("out")).unwrap(); }, &["`out` is left out: it is a link to `../home`, and git has the link alone"])]
#[case::a_link_inside(|repo: &Repo| { std::os::unix::fs::symlink("src", repo.root().join("in")).unwrap(); }, &[])]
#[case::through_a_link(|repo: &Repo| { std::fs::write(repo.root().join("shared"), "new").unwrap(); }, &["`shared` is left out: it is a link to `../shared.txt`, and git has the link alone"])]
#[case::a_mode(|repo: &Repo| { crate::program::make_executable(repo.root().join("a.txt")); }, &["`a.txt` is left out: whether it is executable was changed, which `core.fileMode=false` hides from git"])]
#[case::another_case(|repo: &Repo| { std::fs::rename(repo.root().join("a.txt"), repo.root().join("A.txt")).unwrap(); }, &["`A.txt` is left out: git knows it as `a.txt`, and `core.ignoreCase` hides the other spelling"])]
#[tokio::test]
async fn what_git_does_not_commit_is_named_with_the_reason(#[case] act: fn(&Repo), #[case] expected: &[&str]) {
    let (repo, _other, workspace) = prepared().await;
    let standing = turn(&workspace, &[]).await;
    act(&repo);
    let found = workspace.unseen_files(standing.started.unwrap()).await.unwrap();
    assert_eq!(found.iter().map(OmittedFile::to_string).collect::<Vec<_>>(), expected);
}

fn act(repo: &Repo, acts: &[&str]) {
    for act in acts {
        match *act {
            "COMMIT" => drop(repo.write("a.txt", repo.tip().as_str()).commit_all("own")),
            act => drop(repo.git(&act.split(' ').collect::<Vec<_>>())),
        }
    }
}

#[rstest]
#[case::nothing(&[], &[])]
#[case::a_branch(&["switch --quiet --create side", "COMMIT", "COMMIT", "switch --quiet main"], &["`side` is left out: it is a branch that the work made and left again, with 2 commit(s)"])]
#[case::without_commits(&["switch --quiet --create side", "switch --quiet main"], &[])]
#[case::no_branch(&["switch --quiet --detach", "COMMIT", "switch --quiet main"], &["`ID` is left out: it is a commit on no branch, made during the work and left again"])]
#[case::merged(&["switch --quiet --create side", "COMMIT", "switch --quiet main", "merge --quiet side", "branch --delete side"], &[])]
#[case::on_its_branch(&["COMMIT"], &[])]
#[case::on_a_known_one(&["switch --quiet known", "COMMIT", "switch --quiet main"], &[])]
#[tokio::test]
async fn commits_that_an_agent_left_are_named(#[case] acts: &[&str], #[case] expected: &[&str]) {
    let repo = Repo::new();
    repo.git(&["branch", "known"]);
    let workspace = repo.open().await;
    let standing = turn(&workspace, &[]).await;
    act(&repo, acts);
    let found = workspace.unseen_commits(&standing).await.unwrap();
    let id = found.iter().find(|one| one.reason == OmissionReason::Detached).map_or("", |one| &one.path);
    let expected: Vec<String> = expected.iter().map(|line| line.replace("ID", id)).collect();
    assert_eq!(found.iter().map(OmittedFile::to_string).collect::<Vec<_>>(), expected);
}

#[rstest]
#[case::on_a_branch(&["switch --quiet --create side", "COMMIT", "switch --quiet main"])]
#[case::on_no_branch(&["switch --quiet --detach", "COMMIT", "switch --quiet main"])]
#[tokio::test]
async fn commits_that_a_person_leaves_before_or_after_a_turn_are_not_named(
    #[case] acts: &[&str],
    #[values(false, true)] is_before: bool,
) {
    let repo = Repo::new();
    let workspace = repo.open().await;
    let start = workspace.with_all_branches(workspace.branch_positions(&[]).await.unwrap()).await.unwrap();
    act(&repo, if is_before { acts } else { &[] });
    let watch = workspace.watch_turn("t", "task").await.unwrap();
    act(&repo, &["switch --quiet --detach", "switch --quiet main"]);
    drop(watch);
    act(&repo, if is_before { &[] } else { acts });
    let standing = noted(&workspace, &start).await;
    assert_eq!(standing.turns.len(), 1);
    assert_eq!(workspace.unseen_commits(&standing).await.unwrap(), []);
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
        matches!(&left.reason, OmissionReason::Refused { why } if why == "its path is not allowed in a repository"),
        "{left}"
    );
}

#[test]
fn ignored_files_share_a_line() {
    let one = |path: &str| OmittedFile { path: path.into(), reason: OmissionReason::Ignored };
    let all = [one("a.log"), OmittedFile { path: ".env".into(), reason: OmissionReason::Environment }, one("b.log")];
    insta::assert_snapshot!(OmittedFile::lines(&all).join("\n"), @r"
    `.env` is left out: files of this name hold secrets
    changed, but ignored by git and so in no commit: `a.log`, `b.log`
    ");
}
