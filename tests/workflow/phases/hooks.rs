//! Hooks of the repository that reject the commits of subtasks, or change them.

use superstep_workflows::task_based::RunOutcome;

use crate::agent::Agent;
use crate::phases::scene::{Phases, done, independent, profile, three_phases};
use crate::repository::Repository;

fn hook(repository: &Repository, script: &str) {
    let path = repository.path().join(".git/hooks/pre-commit");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    crate::program::make_executable(path);
}

#[tokio::test]
async fn a_rejecting_hook_ends_the_run_and_a_retry_commits_without_an_agent() {
    let repository = Repository::new();
    let gate = tempfile::tempdir().unwrap();
    let open = gate.path().join("open");
    hook(&repository, &format!("test -e {} || {{ echo not today; exit 1; }}", open.display()));
    let scene = Phases::with(repository, Agent::willing());
    let refused = scene.try_run(&three_phases(), profile()).await.unwrap_err();
    assert!(format!("{refused:?}").contains("not today"), "{refused:?}");
    assert_eq!((scene.commits(), scene.agent.count("developer")), (vec![], 1));
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
    std::fs::write(&open, "").unwrap();
    let state = scene.thread.retry().await.unwrap().finished().unwrap();
    assert_eq!((state.result.outcome, scene.agent.tasks("developer").len()), (Some(RunOutcome::Completed), 5));
    assert_eq!(scene.commits(), ["1", "2a", "2b", "2c", "3"].map(done));
    scene.is_over().await;
}

#[tokio::test]
async fn a_hook_that_rejects_a_later_commit_keeps_the_earlier_ones() {
    let repository = Repository::new();
    let gate = tempfile::tempdir().unwrap();
    let open = gate.path().join("open");
    let script = format!("git diff --cached --name-only | grep -q part-2 || exit 0\ntest -e {}", open.display());
    hook(&repository, &script);
    let scene = Phases::with(repository, Agent::willing());
    scene.try_run(&independent(&["1", "2", "3"]), profile()).await.unwrap_err();
    let before = scene.git(&["log", "--format=%H", "refs/superstep/clock/integrated/phase"]);
    std::fs::write(&open, "").unwrap();
    scene.thread.retry().await.unwrap().finished().unwrap();
    assert_eq!((scene.commits(), scene.agent.count("developer")), (["1", "2", "3"].map(done).to_vec(), 3));
    let first = before.lines().next().unwrap();
    assert_eq!(scene.git(&["rev-parse", "superstep/clock~2"]), first, "the first commit is not made twice");
    scene.is_over().await;
}

#[tokio::test]
async fn the_next_commit_builds_on_the_changes_of_a_hook() {
    let repository = Repository::new();
    hook(&repository, "for f in part-*.txt; do echo formatted > $f; git add $f; done");
    let scene = Phases::with(repository, Agent::willing());
    let state = scene.run(&three_phases(), profile()).await.finished().unwrap();
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    assert_eq!(scene.commits(), ["1", "2a", "2b", "2c", "3"].map(done));
    for part in ["1", "2a", "2c", "3"] {
        assert_eq!(scene.file(&format!("part-{part}.txt")).as_deref(), Some("formatted\n"));
    }
    scene.is_over().await;
}
