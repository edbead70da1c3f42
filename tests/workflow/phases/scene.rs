//! A repository, an agent, and a thread of the workflow of phases.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use superstep::nodes::{AfterHalt, ApprovePlan, Halted};
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep_workflows::Profile;
use superstep_workflows::phased::{PhaseState, PhaseStatus, PhaseStep, graph};
use superstep_workflows::task_based::{ExecutionState, ExecutionStateUpdate};

use crate::agent::Agent;
use crate::repository::Repository;
pub(crate) use crate::scene::profile;

use crate::scene::RunResult;

/// A task of a plan: its id, the tasks that it depends on, and the rest of its section.
pub(crate) fn task(id: &str, needs: &str, rest: &str) -> String {
    format!("### Task {id}: Part {id}\n\nWrite part {id}.\n\n**Depends on:** {needs}\n\n{rest}\n\n")
}

pub(crate) fn plan(tasks: &[String]) -> String {
    format!("# Clock\n\n**Goal:** A clock.\n\n{}", tasks.concat())
}

/// The plan of the request: 1; 2a, 2b, 2c; 3 after 2a and 2b.
pub(crate) fn three_phases() -> String {
    let tasks = [("1", "none"), ("2a", "1"), ("2b", "1"), ("2c", "1"), ("3", "2a, 2b")];
    plan(&tasks.map(|(id, needs)| task(id, needs, "")))
}

/// A plan of independent tasks.
pub(crate) fn independent(ids: &[&str]) -> String {
    plan(&ids.iter().map(|id| task(id, "none", "")).collect::<Vec<_>>())
}

pub(crate) struct Phases {
    pub(crate) repository: Repository,
    pub(crate) agent: Arc<Agent>,
    pub(crate) thread: Thread<ExecutionState, PhaseStep, Arc<Agent>>,
}

impl Phases {
    pub(crate) fn new(agent: Arc<Agent>) -> Self {
        Self::with(Repository::new(), agent)
    }

    pub(crate) fn with(repository: Repository, agent: Arc<Agent>) -> Self {
        let graph = graph::<Arc<Agent>>().unwrap().with_checkpointer(MemoryCheckpointer::new());
        let thread = graph.thread_with("clock", Arc::new(Arc::clone(&agent)));
        Self { repository, agent, thread }
    }

    pub(crate) fn input(&self, plan: &str, profile: Profile) -> ExecutionStateUpdate {
        let input = ExecutionState::update().working_dir(self.repository.path());
        input.plan_markdown(Some(plan.to_owned())).profile(profile)
    }

    pub(crate) async fn approve(&self) -> Result<RunResult, RunError> {
        self.thread.resume::<ApprovePlan>(Decision::approve()).await
    }

    /// Runs to the approval, and approves.
    pub(crate) async fn run(&self, plan: &str, profile: Profile) -> RunResult {
        self.try_run(plan, profile).await.unwrap()
    }

    pub(crate) async fn try_run(&self, plan: &str, profile: Profile) -> Result<RunResult, RunError> {
        self.thread.invoke(self.input(plan, profile)).await.unwrap();
        self.approve().await
    }

    pub(crate) async fn answer(&self, answer: AfterHalt) -> RunResult {
        self.thread.resume::<Halted>(answer).await.unwrap()
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.repository.git(args).trim().to_owned()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        self.repository.write(name, text);
    }

    /// Returns the subjects on the branch of the work, oldest first, without the first.
    pub(crate) fn commits(&self) -> Vec<String> {
        self.repository.subjects("superstep/clock").split_off(1)
    }

    /// Returns the values of a trailer on the branch of the work, oldest first.
    pub(crate) fn trailers(&self, key: &str) -> Vec<String> {
        let format = format!("--format=%(trailers:key={key},valueonly,separator=%x2C)");
        self.git(&["log", "--reverse", &format, "main..superstep/clock"]).lines().map(str::to_owned).collect()
    }

    /// Returns the references of kept work, without their common part.
    pub(crate) fn salvage(&self) -> Vec<String> {
        let refs = self.git(&["for-each-ref", "--format=%(refname)", "refs/superstep/clock"]);
        refs.lines()
            .filter(|name| !crate::scene::of_run(name))
            .map(|name| name.trim_start_matches("refs/superstep/clock/").to_owned())
            .collect()
    }

    /// Returns a file of a reference, or `None` if there is none.
    pub(crate) fn at(&self, reference: &str, file: &str) -> Option<String> {
        let files = self.git(&["ls-tree", "-r", "--name-only", reference]);
        files.lines().any(|name| name == file).then(|| self.repository.git(&["show", &format!("{reference}:{file}")]))
    }

    pub(crate) fn salvaged(&self, name: &str, file: &str) -> Option<String> {
        self.at(&format!("refs/superstep/clock/{name}"), file)
    }

    pub(crate) fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.repository.path().join(name)).ok()
    }

    /// Returns the prompts of the developers of a task, in order.
    pub(crate) fn prompts(&self, task: &str) -> Vec<String> {
        let calls = self.agent.calls("developer").into_iter().filter(|call| call.task == task);
        calls.map(|call| call.prompt).collect()
    }

    /// Checks a run that ended or halted: one work tree, one new branch, the user's files; a replay decides the same.
    pub(crate) async fn is_tidy(&self) {
        is_tidy(&self.repository);
        assert_eq!(self.repository.subjects("main"), ["begin"]);
        let verified = self.thread.verify().await.unwrap();
        assert!(verified.agrees(), "{verified:?}");
    }

    /// Checks a run that ended in the same way, and that no private reference is left.
    pub(crate) async fn is_over(&self) {
        self.is_tidy().await;
        assert_eq!(self.git(&["for-each-ref", "refs/superstep/clock/integrated"]), "");
        assert_eq!(self.git(&["status", "--porcelain"]), "");
    }
}

/// Checks that only the run's branch is left: no worktree, no other branch.
pub(crate) fn is_tidy(repository: &Repository) {
    let worktrees = repository.git(&["worktree", "list"]);
    assert_eq!(worktrees.lines().count(), 1, "{worktrees}");
    let heads = repository.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    assert_eq!(heads, "main\nsuperstep/clock\n");
    let left: Vec<_> =
        std::fs::read_dir(repository.path().join(".superstep/worktrees")).into_iter().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Runs git in the repository of a folder, and returns its output.
pub(crate) fn git_in(folder: &Path, args: &[&str]) -> String {
    let output = std::process::Command::new("git").args(args).current_dir(folder).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Returns the payload of the only question, which is about a phase, as JSON.
pub(crate) fn halted(outcome: &RunResult) -> Value {
    match outcome.questions() {
        [question] if question.name() == "halted" => question.json(),
        questions => panic!("{questions:?}\n{:?}", outcome.state().result.outcome),
    }
}

/// Describes each phase with its subtasks: `2 completed: 2a completed, 2b failed`.
pub(crate) fn statuses(state: &ExecutionState) -> Vec<String> {
    state.phased.phases.iter().map(line).collect()
}

fn line(phase: &PhaseState) -> String {
    let subtasks = phase.subtasks.iter().map(|subtask| format!("{} {}", subtask.subtask_id, word(subtask.status)));
    let subtasks = subtasks.collect::<Vec<_>>().join(", ");
    format!("{} {}: {subtasks}", phase.phase_index + 1, word(phase.status))
}

fn word(status: PhaseStatus) -> &'static str {
    match status {
        PhaseStatus::Pending => "pending",
        PhaseStatus::Running => "running",
        PhaseStatus::Completed => "completed",
        PhaseStatus::Failed => "failed",
        PhaseStatus::Retrying => "retrying",
    }
}

pub(crate) fn done(id: &str) -> String {
    format!("feat: Part {id} (task {id})")
}
