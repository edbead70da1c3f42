//! A repository, an agent, and a thread of the workflow.

use std::sync::Arc;

use superstep::drivers::Session;
use superstep::graph::Outcome;
use superstep::nodes::{AfterHalt, ApprovePlan, Halted};
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep_workflows::Profile;
use superstep_workflows::task_based::{ExecutionState, ExecutionStateUpdate, Mark, Step, graph};

use crate::agent::Agent;
use crate::repository::Repository;

pub(crate) type Tasks = Thread<ExecutionState, Step, Arc<Agent>>;
pub(crate) type RunResult = Outcome<ExecutionState>;

/// Two attempts for each task, no final review.
pub(crate) fn profile() -> Profile {
    Profile { max_task_review_iterations: 2, final_review: false, ..Profile::default() }
}

/// A plan of this many tasks.
pub(crate) fn plan(tasks: usize) -> String {
    let task = |n: usize| format!("### Task {n}: Part {n}\n\nWrite part {n}.\n\n");
    format!("# Clock\n\n**Goal:** A clock.\n\n{}", (1..=tasks).map(task).collect::<String>())
}

pub(crate) struct Scene {
    pub(crate) repository: Repository,
    pub(crate) agent: Arc<Agent>,
    pub(crate) thread: Tasks,
}

impl Scene {
    pub(crate) fn new(agent: Arc<Agent>) -> Self {
        let graph = graph::<Arc<Agent>>().unwrap().with_checkpointer(MemoryCheckpointer::new());
        let thread = graph.thread_with("clock", Arc::new(Arc::clone(&agent)));
        Self { repository: Repository::new(), agent, thread }
    }

    pub(crate) fn input(&self, plan: &str, profile: Profile) -> ExecutionStateUpdate {
        let input = ExecutionState::update().working_dir(self.repository.path());
        input.plan_markdown(Some(plan.to_owned())).profile(profile)
    }

    /// Runs to the approval, and approves.
    pub(crate) async fn run(&self, plan: &str, profile: Profile) -> RunResult {
        self.thread.invoke(self.input(plan, profile)).await.unwrap();
        self.thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap()
    }

    pub(crate) async fn halted(&self, answer: AfterHalt) -> RunResult {
        self.thread.resume::<Halted>(answer).await.unwrap()
    }

    /// Returns the subjects on the branch of the work, oldest first, without the first.
    pub(crate) fn commits(&self) -> Vec<String> {
        self.repository.subjects("superstep/clock").split_off(1)
    }

    pub(crate) fn refs(&self) -> Vec<String> {
        let refs = self.repository.git(&["for-each-ref", "--format=%(refname)", "refs/superstep"]);
        refs.lines()
            .filter(|name| !of_run(name))
            .map(|name| name.trim_start_matches("refs/superstep/clock/").to_owned())
            .collect()
    }

    pub(crate) fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.repository.path().join(name)).ok()
    }

    /// Returns the sessions of a role's calls: with a star if resumed.
    pub(crate) fn sessions(&self, role: &str) -> Vec<String> {
        let session = |call: crate::agent::Call| match call.session {
            Session::New => format!("{}:{}", call.task, call.answered_in),
            Session::Resume(session) => format!("{}:{}*", call.task, session.id),
        };
        self.agent.calls(role).into_iter().map(session).collect()
    }
}

pub(crate) fn retry(attempts: u32, note: &str) -> AfterHalt {
    AfterHalt::Retry { attempts, note: note.to_owned() }
}

pub(crate) fn done(task: usize) -> String {
    format!("feat: Part {task} (task {task})")
}

pub(crate) fn marks(state: &ExecutionState) -> Vec<Mark> {
    state.run.tasks.iter().map(|line| line.mark).collect()
}

/// Returns the name of the only question.
pub(crate) fn asks(outcome: &RunResult) -> &str {
    match outcome.questions() {
        [question] => question.name(),
        _ => panic!("{outcome:?}"),
    }
}

/// Returns whether a reference keeps what a thread still needs, and no work for a person.
pub(crate) fn of_run(reference: &str) -> bool {
    let name = reference.split(' ').next().unwrap_or_default();
    name.ends_with("/objects") || name.contains("/worktrees/") || name.contains("/integrated/")
}

/// Returns the lines about references that keep work for a person.
pub(crate) fn for_people(references: &str) -> String {
    references.lines().filter(|line| !of_run(line)).collect::<Vec<_>>().join("\n")
}
