//! A person commits on the run's branch at any moment: between two writes of a run, and while a command, a verifier, a review
//! or a hook runs. The commit stays as it is, beneath the run's own.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use rstest::rstest;
use superstep::checkpoint::{Checkpointer, FailingCheckpointer};
use superstep::drivers::{DriverError, DriverErrorClass};
use superstep::nodes::{AfterMove, ApprovePlan, BranchMoved};
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep::spec::Flags;
use superstep_workflows::code_task::TaskOutcome;
use superstep_workflows::task_based::{ExecutionState, RunOutcome, graph};

use crate::agent::{Agent, approved, part, rejected};
use crate::code_task::desk::{Desk, developers, spec, writes};
use crate::people::{OWN, git, merge};
use crate::phases::stage::{self, Cast, Stage};
use crate::repository::{Repository, write};
use crate::scene::{Scene, Tasks, plan, profile};

/// The shell commands by which a person commits, without any hook.
const COMMITS: &str = "echo \"a person's\" > mine.txt; git add mine.txt; git -c core.hooksPath=/dev/null -c user.name=Grace \
                       -c user.email=grace@example.org commit -q -m 'person: mine' mine.txt";

fn sh(folder: &Path, script: &str) {
    let output = std::process::Command::new("sh").args(["-ec", script]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
}

fn commit(folder: &Path) -> String {
    sh(folder, COMMITS);
    git(folder, &["rev-parse", "HEAD"])
}

fn merged(folder: &Path) -> String {
    let merge = merge(folder);
    sh(folder, COMMITS);
    merge
}

/// Returns whether a person finds the run's branch in the checkout.
fn is_there(repository: &Repository) -> bool {
    repository.git(&["branch", "--show-current"]).trim() == OWN
}

/// Checks that the commit of a person is part of the result as it is, and in no commit of the run.
fn assert_kept(repository: &Repository, mine: &str) {
    let log = repository.git(&["log", "--graph", "--name-only", "--format=%s by %an", OWN]);
    let found = repository.git(&["rev-list", OWN]);
    assert!(found.lines().any(|commit| commit == mine), "{log}");
    assert_eq!(repository.git(&["show", &format!("{OWN}:mine.txt")]), "a person's\n", "{log}");
    assert_eq!(std::fs::read_to_string(repository.path().join("mine.txt")).unwrap(), "a person's\n", "{log}");
    let own =
        repository.git(&["log", "--author=Ada", "--no-merges", "--format=", "--name-only", &format!("main..{OWN}")]);
    assert!(!own.contains("mine.txt"), "{log}");
    assert_eq!(repository.git(&["status", "--porcelain"]), "", "{log}");
}

// --- between two writes ---

/// Two tasks with a check that changes files; the first is rejected once.
fn agent() -> Arc<Agent> {
    Agent::crew(
        |call, folder, _| part(folder, format!("{}-{}", call.task, call.attempt)),
        |call, _| if call.task == "1" && call.attempt == 1 { rejected("no") } else { approved() },
    )
}

fn tasks(store: Arc<dyn Checkpointer>, agent: &Arc<Agent>) -> Tasks {
    let graph = graph::<Arc<Agent>>().unwrap().with_shared_checkpointer(store);
    graph.thread_with("clock", Arc::new(Arc::clone(agent)))
}

/// Starts, resumes or answers, whichever is next, until the run ends.
async fn advance(thread: &Tasks, repository: &Repository) -> Result<Option<Arc<ExecutionState>>, RunError> {
    let mut outcome = match thread.state().await? {
        None => {
            let plan = plan(2).replace("Write part 1.", "Write part 1.\n\n**Verify:** `echo x > left.txt`");
            let input = ExecutionState::update().working_dir(repository.path());
            thread.invoke(input.plan_markdown(Some(plan)).profile(profile())).await?
        }
        Some(_) => thread.proceed().await?,
    };
    while let [question] = outcome.questions() {
        outcome = match question.name() {
            "approval" => thread.resume::<ApprovePlan>(Decision::approve()).await?,
            _ => thread.resume::<BranchMoved>(AfterMove::Keep).await?,
        };
    }
    Ok(outcome.finished())
}

#[rstest]
#[case::a_commit(commit, 9)]
#[case::a_merge(merged, 23)]
#[ignore = "minutes: by hand"]
#[case::each(commit, 1)]
#[tokio::test]
async fn a_commit_between_any_two_writes_of_a_run_stays(#[case] person: fn(&Path) -> String, #[case] stride: usize) {
    let mut tried = 0;
    for at in (1..).step_by(stride) {
        let (repository, agent, store) = (Repository::new(), agent(), Arc::new(MemoryCheckpointer::new()));
        let failing = Arc::new(FailingCheckpointer::new(store.clone(), at));
        let cut = advance(&tasks(failing, &agent), &repository).await;
        if cut.is_ok_and(|ended| ended.is_some()) {
            break;
        }
        if !is_there(&repository) {
            continue;
        }
        let mine = person(&repository.path());
        let thread = tasks(store, &agent);
        let ended = advance(&thread, &repository).await.unwrap_or_else(|error| panic!("write {at}: {error}"));
        assert_eq!(ended.unwrap().result.outcome, Some(RunOutcome::Completed), "write {at}");
        assert_kept(&repository, &mine);
        let shown = agent.calls("reviewer").into_iter().filter(|call| call.prompt.contains("mine.txt")).count();
        assert_eq!(shown, 0, "write {at}: the review begins after the commit");
        assert!(thread.verify().await.unwrap().agrees(), "write {at}");
        tried += 1;
    }
    assert!(tried > 1, "{tried}");
}

/// A code task whose command fails after its first attempt.
fn desk() -> (Desk, Arc<Cast>) {
    let cast = developers(|call| writes(call, "tides.txt", if call.nth > 0 { "in\n" } else { "error: late\n" }));
    (Desk::new(cast.clone()), cast)
}

#[rstest]
#[case::some(13)]
#[ignore = "minutes: by hand"]
#[case::each(1)]
#[tokio::test]
async fn a_commit_between_any_two_writes_of_a_code_task_stays(#[case] stride: usize) {
    let mut tried = 0;
    for at in (1..).step_by(stride) {
        let store = Arc::new(MemoryCheckpointer::new());
        let (desk, cast) = desk();
        let failing = Arc::new(FailingCheckpointer::new(store.clone(), at));
        let desk = desk.stored_in(failing, &cast);
        if desk.thread.invoke(desk.input()).await.is_ok_and(|outcome| outcome.questions().is_empty()) {
            break;
        }
        let desk = desk.stored_in(store, &cast);
        if !is_there(&desk.repository) {
            continue;
        }
        let mine = commit(&desk.repository.path());
        let outcome = desk.thread.proceed().await.unwrap_or_else(|error| panic!("write {at}: {error}"));
        assert_eq!(desk.outcome().await, Some(TaskOutcome::Done), "write {at}: {:?}", outcome.questions());
        assert_kept(&desk.repository, &mine);
        assert!(desk.thread.verify().await.unwrap().agrees(), "write {at}");
        tried += 1;
    }
    assert!(tried > 1, "{tried}");
}

// --- while something of the run works ---

/// A place where a person commits once, in the checkout of a run.
#[derive(Clone, Default)]
struct Desired {
    folder: Arc<OnceLock<PathBuf>>,
    made: Arc<Mutex<Option<String>>>,
}

impl Desired {
    fn commit(&self) {
        let mut made = self.made.lock().unwrap();
        if made.is_none() {
            *made = Some(commit(self.folder.get().unwrap()));
        }
    }

    fn made(&self) -> String {
        self.made.lock().unwrap().clone().unwrap()
    }
}

fn hook(repository: &Repository, name: &str, body: &str) {
    let file = format!(".git/hooks/{name}");
    repository.write(&file, &format!("#!/bin/sh\n{body}\n"));
    crate::program::make_executable(repository.path().join(file));
}

/// Commits once, from a command or a hook.
fn once() -> String {
    format!("[ -e .git/once ] || {{ touch .git/once; unset GIT_INDEX_FILE GIT_DIR; {COMMITS}; }}")
}

fn mine(repository: &Repository) -> String {
    repository.git(&["log", "--grep=^person: mine", "--format=%H", "--all"]).trim().to_owned()
}

#[tokio::test]
async fn a_commit_made_while_a_check_runs_stays() {
    let scene = Scene::new(agent());
    let command = format!("{}; echo x > left.txt; rm README.md", once());
    scene.repository.write(".git/check.sh", &command);
    let plan = plan(2).replace("Write part 1.", "Write part 1.\n\n**Verify:** `sh .git/check.sh`");
    let state = scene.run(&plan, profile()).await.finished().unwrap();
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    assert_kept(&scene.repository, &mine(&scene.repository));
    assert!(scene.file("README.md").is_some(), "what the check changed is undone");
    let shown = scene.agent.calls("reviewer").into_iter().filter(|call| call.prompt.contains("mine.txt")).count();
    assert_eq!(shown, 0);
    assert!(scene.thread.verify().await.unwrap().agrees());
}

#[tokio::test]
async fn a_commit_made_while_a_review_runs_stays() {
    let person = Desired::default();
    let reviewing = person.clone();
    let agent = Agent::crew(
        |call, folder, _| part(folder, &call.task),
        move |_, _| {
            reviewing.commit();
            approved()
        },
    );
    let scene = Scene::new(agent);
    person.folder.set(scene.repository.path()).unwrap();
    let state = scene.run(&plan(2), profile()).await.finished().unwrap();
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    assert_kept(&scene.repository, &person.made());
    assert!(scene.thread.verify().await.unwrap().agrees());
}

#[rstest]
#[case::before("pre-commit")]
#[case::with_its_message("commit-msg")]
#[case::after("post-commit")]
#[tokio::test]
async fn a_commit_made_while_a_hook_runs_stays(#[case] name: &str, #[values(false, true)] formats: bool) {
    let scene = Scene::new(agent());
    let formats = if formats { "; for file in part-*; do echo neat > $file; done" } else { "" };
    hook(&scene.repository, name, &format!("{}{formats}", once()));
    let state = scene.run(&plan(2), profile()).await.finished().unwrap();
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    assert_eq!(state.run.tasks.iter().filter(|task| task.commit.is_some()).count(), 2);
    let mine = mine(&scene.repository);
    assert_eq!(scene.repository.git(&["show", "--format=", "--name-only", &mine]), "mine.txt\n");
    let found = scene.repository.git(&["rev-list", OWN]);
    assert!(found.lines().any(|commit| commit == mine), "{:?}", scene.repository.subjects(OWN));
    assert_eq!(scene.file("mine.txt").as_deref(), Some("a person's\n"));
    assert_eq!(scene.commits().iter().filter(|subject| subject.starts_with("feat")).count(), 2);
}

#[tokio::test]
async fn a_commit_made_while_a_verifier_runs_stays() {
    let cast = developers(|call| writes(call, "tides.txt", if call.nth > 0 { "in\n" } else { "error: late\n" }));
    let check = "verifiers:\n- {id: build, config: {command: \"sh .git/check.sh; ! grep -h '^error' *.txt\"}}\n\
                 - {id: test, enabled: false}\n- {id: bigpicture, enabled: false}\n";
    let desk = Desk::with(cast, check, spec(), &Flags::default());
    desk.repository.write(".git/check.sh", &once());
    desk.run().await;
    assert_eq!(desk.outcome().await, Some(TaskOutcome::Done));
    assert_kept(&desk.repository, &mine(&desk.repository));
    for attempt in [1, 2] {
        let patch = desk.repository.path().join(format!("runs/clock/attempt-{attempt}/diff.patch"));
        let patch = std::fs::read_to_string(patch).unwrap();
        assert!(patch.contains("tides.txt") && !patch.contains("mine.txt"), "{patch}");
    }
    assert!(desk.thread.verify().await.unwrap().agrees());
}

#[tokio::test]
async fn a_commit_made_in_the_worktree_of_a_subtask_while_its_check_runs_is_integrated_as_it_is() {
    let stage = Stage::new(&Cast::developers(|call| std::future::ready(Ok(call.part()))));
    let common = stage.repository.path().join(".git");
    let script = format!("[ -e {0}/once ] || {{ touch {0}/once; {COMMITS}; }}", common.display());
    std::fs::write(common.join("check.sh"), script).unwrap();
    let plan = stage::plan(&[("1", "none"), ("2", "1")]);
    let plan = stage::verified(&plan, "1", &format!("sh {}/check.sh", common.display()));
    stage::done(stage.run(&plan, profile()).await);
    assert_kept(&stage.repository, &mine(&stage.repository));
    stage.tidy();
    stage.agrees().await;
}

// --- a turn that was killed ---

#[tokio::test]
async fn a_commit_made_after_a_turn_failed_is_a_persons_and_those_of_the_turn_are_the_agents() {
    let agent = Agent::new(|call, folder, nth| {
        let commits = |name: &str| {
            write(folder, name, "x\n");
            git(folder, &["add", name]);
            git(folder, &["commit", "-q", "-m", &format!("by the agent: {name}")]);
        };
        Ok(match (call.tool.as_str(), nth) {
            ("submit_work", 0) => {
                commits("first.txt");
                return Err(DriverError::new(DriverErrorClass::Fatal, "it crashed"));
            }
            ("submit_work", _) => {
                commits("second.txt");
                part(folder, &call.task)
            }
            _ => approved(),
        })
    });
    let scene = Scene::new(agent);
    scene.thread.invoke(scene.input(&plan(1), profile())).await.unwrap();
    assert!(scene.thread.resume::<ApprovePlan>(Decision::approve()).await.is_err());
    let mine = commit(&scene.repository.path());
    let state = scene.thread.proceed().await.unwrap().finished().unwrap();
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    assert_eq!(scene.repository.subjects(OWN), ["begin", "person: mine", "feat: Part 1 (task 1)"]);
    assert_eq!(scene.repository.git(&["rev-parse", &format!("{OWN}^")]).trim(), mine);
    let files = scene.repository.git(&["show", "--format=", "--name-only", OWN]);
    assert_eq!(files, "first.txt\npart-1.txt\nsecond.txt\n");
    assert!(scene.thread.verify().await.unwrap().agrees());
}
