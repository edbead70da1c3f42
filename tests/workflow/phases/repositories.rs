//! Phases in unusual repositories: submodules, filters, links, linked work trees, spaces, no commit.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use superstep::nodes::ApprovePlan;
use superstep::plan::Decision;
use superstep_workflows::task_based::RunOutcome;

use crate::phases::stage::{Cast, Stage, done, profile, three};
use crate::repository::{Repository, write};

const COMMITS: [&str; 4] = ["2a 1", "2b 1", "2c 1", "3 1"];

fn willing() -> Arc<Cast> {
    Cast::developers(|call| async move { Ok(call.part()) })
}

/// Runs to the end, and checks that there is the work and nothing else.
async fn runs(repository: Repository, cast: &Arc<Cast>) -> Stage {
    let stage = Stage::with(repository, Arc::clone(cast));
    let state = done(stage.run(&three(), profile()).await);
    assert_eq!(
        (state.result.outcome, stage.commits()),
        (Some(RunOutcome::Completed), COMMITS.map(str::to_owned).to_vec())
    );
    assert_eq!(stage.files("superstep/clock"), "part-2a.txt part-2b.txt part-2c.txt part-3.txt");
    stage.tidy();
    stage.agrees().await;
    stage
}

fn commit(repository: &Repository) {
    repository.git(&["add", "."]);
    repository.git(&["commit", "-q", "--amend", "--no-edit"]);
}

#[tokio::test]
async fn a_submodule_stays_where_it_is() {
    let (repository, other) = (Repository::new(), Repository::new());
    let other_path = other.path().display().to_string();
    repository.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &other_path, "lib"]);
    commit(&repository);
    let stage = runs(repository, &willing()).await;
    assert!(stage.path().join("lib/README.md").exists());
    assert!(stage.repository.git(&["ls-tree", "superstep/clock", "lib"]).starts_with("160000 commit"));
}

/// A filter that stores the content elsewhere, as LFS does: the repository has a pointer.
#[tokio::test]
async fn files_behind_a_filter_are_the_content_in_worktrees_and_pointers_in_commits() {
    let (repository, store) = (Repository::new(), tempfile::tempdir().unwrap());
    let place = store.path().display();
    let clean =
        format!("f=$(mktemp {place}/tmp.XXXXXX); cat > $f; h=$(git hash-object $f); mv $f {place}/$h; echo pointer $h");
    let smudge = format!("read word h; cat {place}/$h");
    repository.git(&["config", "filter.big.clean", &clean]);
    repository.git(&["config", "filter.big.smudge", &smudge]);
    repository.git(&["config", "filter.big.required", "true"]);
    repository.write(".gitattributes", "*.bin filter=big\n");
    repository.write("one.bin", "the content\n");
    commit(&repository);
    let cast = Cast::developers(|call| async move {
        assert_eq!(std::fs::read_to_string(call.folder().join("one.bin")).unwrap(), "the content\n");
        if call.task == "2b" {
            write(call.folder(), "two.bin", "more content\n");
        }
        if call.task == "3" {
            assert_eq!(std::fs::read_to_string(call.folder().join("two.bin")).unwrap(), "more content\n");
        }
        Ok(call.part())
    });
    let stage = Stage::with(repository, Arc::clone(&cast));
    done(stage.run(&three(), profile()).await);
    assert_eq!(stage.commits(), COMMITS);
    assert!(stage.repository.git(&["cat-file", "blob", "superstep/clock:two.bin"]).starts_with("pointer "));
    assert_eq!(std::fs::read_to_string(stage.path().join("two.bin")).unwrap(), "more content\n");
    stage.tidy();
}

#[tokio::test]
async fn links_in_the_repository_stay_links() {
    let repository = Repository::new();
    std::os::unix::fs::symlink("README.md", repository.path().join("link")).unwrap();
    std::os::unix::fs::symlink("/etc", repository.path().join("away")).unwrap();
    commit(&repository);
    let cast = Cast::developers(|call| async move {
        assert!(call.folder().join("link").symlink_metadata().unwrap().is_symlink());
        Ok(call.part())
    });
    let stage = runs(repository, &cast).await;
    assert!(stage.repository.git(&["ls-tree", "superstep/clock", "link"]).starts_with("120000"));
}

#[tokio::test]
async fn paths_may_have_spaces_and_other_signs() {
    let repository = Repository::new();
    repository.write("a folder/some \"file\" with ä.txt", "x\n");
    commit(&repository);
    let place = tempfile::Builder::new().prefix("with spaces & 'signs' ").tempdir().unwrap();
    let copied = Command::new("cp").arg("-a").arg(repository.path().join(".")).arg(place.path()).status().unwrap();
    assert!(copied.success());
    runs(Repository { folder: place }, &willing()).await;
}

#[tokio::test]
async fn a_repository_without_a_commit_is_refused_with_what_to_do() {
    let cast = willing();
    let repository = Repository { folder: tempfile::tempdir().unwrap() };
    repository.git(&["init", "-q", "-b", "main"]);
    let stage = Stage::with(repository, Arc::clone(&cast));
    stage.thread.invoke(stage.input(&three(), profile())).await.unwrap();
    let error = stage.thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap_err();
    assert!(error.to_string().contains("needs a commit") || error.to_string().contains("commit once"), "{error}");
    assert_eq!(cast.tasks(), Vec::<String>::new());
}

/// Returns a linked work tree as a repository.
fn linked(main: &Repository, place: &Path) {
    main.git(&["worktree", "add", "-q", "-b", "mine", &place.display().to_string()]);
}

#[tokio::test]
async fn a_repository_may_itself_be_a_linked_work_tree() {
    let (main, place) = (Repository::new(), tempfile::tempdir().unwrap());
    linked(&main, place.path());
    let stage = Stage::with(Repository { folder: place }, willing());
    let state = done(stage.run(&three(), profile()).await);
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    assert_eq!(stage.commits(), COMMITS);
    assert_eq!(main.git(&["worktree", "list"]).lines().count(), 2, "the user's two");
    assert_eq!(main.subjects("mine"), ["begin"]);
    assert_eq!(main.git(&["status", "--porcelain"]), "");
    assert!(stage.path().join("part-3.txt").exists() && !main.path().join("part-3.txt").exists());
    stage.agrees().await;
}
