//! Many subtasks in one phase, and two concurrent runs in one repository.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use superstep::checkpoint::BoxFuture;
use superstep::drivers::{
    AgentEvents, AgentRequest, Capabilities, Driver, DriverError, Finished, SessionRef, TurnStatus as TurnResult,
    Usage, events,
};
use superstep::nodes::ApprovePlan;
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep_workflows::phased::{PhaseStep, graph};
use superstep_workflows::task_based::{ExecutionState, RunOutcome};
use superstep_workflows::{PhasedSettings, Profile};
use tokio::sync::Barrier;

use crate::agent::{approved, part};
use crate::repository::Repository;

/// Developers who wait for each other in groups; the reviewer approves everything.
struct Crowd {
    barrier: Barrier,
    now: AtomicUsize,
    most: AtomicUsize,
    ended: Mutex<HashMap<String, Finished>>,
}

impl Crowd {
    fn of(together: usize) -> Arc<Self> {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { barrier: Barrier::new(together), now, most, ended: Mutex::default() })
    }

    /// Works once as many others are at work as `together`.
    async fn develop(&self, folder: &Path, task: &str) -> serde_json::Value {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.barrier.wait().await;
        let done = part(folder, task);
        self.now.fetch_sub(1, Ordering::SeqCst);
        done
    }
}

/// The driver of a crowd.
struct Member(Arc<Crowd>);

impl Driver for Member {
    fn name(&self) -> &str {
        "crowd"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { sessions: true, submits: true, ..Capabilities::default() }
    }

    fn run(&self, request: AgentRequest) -> AgentEvents {
        let crowd = Arc::clone(&self.0);
        events(move |_| async move {
            let submitted = match request.role.as_str() {
                "developer" => crowd.develop(&request.directory, &request.place.task).await,
                _ => approved(),
            };
            let session = Some(SessionRef { id: request.turn.clone(), turn: request.turn.clone() });
            let (text, usage) = (String::new(), Usage { requests: 1, ..Usage::default() });
            let finished = Finished { status: TurnResult::Done, text, submitted: Some(submitted), session, usage };
            crowd.ended.lock().unwrap().insert(request.turn, finished.clone());
            Ok(finished)
        })
    }

    fn finished_turn<'a>(
        &'a self,
        _: Option<&'a SessionRef>,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
        let ended = self.0.ended.lock().unwrap().get(turn).cloned();
        Box::pin(std::future::ready(Ok(ended)))
    }
}

/// A plan of one phase with this many subtasks.
fn plan(subtasks: usize) -> String {
    let task = |n: usize| format!("### Task {n}: Part {n}\n\nWrite it.\n\n**Depends on:** none\n\n");
    format!("# Clock\n\n{}", (1..=subtasks).map(task).collect::<String>())
}

type Phases = Thread<ExecutionState, PhaseStep, Arc<Member>>;

fn thread(name: &str, crowd: &Arc<Crowd>) -> Phases {
    let graph = graph::<Arc<Member>>().unwrap().with_checkpointer(MemoryCheckpointer::new());
    graph.thread_with(name, Arc::new(Arc::new(Member(Arc::clone(crowd)))))
}

/// Runs a plan in a folder to its end.
async fn run(thread: &Phases, folder: &Path, subtasks: usize, max_parallel: u32) -> Arc<ExecutionState> {
    let profile = Profile {
        final_review: false,
        phased: PhasedSettings { max_parallel, ..PhasedSettings::default() },
        ..Profile::default()
    };
    let input =
        ExecutionState::update().working_dir(folder.to_owned()).plan_markdown(Some(plan(subtasks))).profile(profile);
    thread.invoke(input).await.unwrap();
    let ended = thread.resume::<ApprovePlan>(Decision::approve());
    // With too few at work it would wait for ever.
    let ended = tokio::time::timeout(Duration::from_secs(300), ended).await.unwrap();
    ended.unwrap().finished().unwrap()
}

fn subjects(subtasks: usize) -> Vec<String> {
    let begin = std::iter::once("begin".to_owned());
    begin.chain((1..=subtasks).map(|n| format!("feat: Part {n} (task {n})"))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forty_subtasks_run_eight_at_a_time_and_are_integrated_in_order() {
    let (repository, crowd) = (Repository::new(), Crowd::of(8));
    let thread = thread("clock", &crowd);
    let state = run(&thread, &repository.path(), 40, 8).await;
    assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
    assert_eq!(crowd.most.load(Ordering::SeqCst), 8);
    assert_eq!(repository.subjects("superstep/clock"), subjects(40));
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1);
    assert!(thread.verify().await.unwrap().agrees());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_runs_in_two_linked_worktrees_of_a_repository_are_independent() {
    let repository = Repository::new();
    let other = repository.path().with_extension("other");
    repository.git(&["worktree", "add", "-q", "-b", "beside", &other.display().to_string()]);
    let crowd = Crowd::of(6); // three subtasks of each run
    let (one, two) = (thread("one", &crowd), thread("two", &crowd));
    let path = repository.path();
    let (first, second) = tokio::join!(run(&one, &path, 6, 3), run(&two, &other, 6, 3));
    assert_eq!(
        [first.result.outcome, second.result.outcome],
        [Some(RunOutcome::Completed), Some(RunOutcome::Completed)]
    );
    assert_eq!(crowd.most.load(Ordering::SeqCst), 6, "each run has its own places");
    assert_eq!(repository.subjects("superstep/one"), subjects(6));
    assert_eq!(repository.subjects("superstep/two"), subjects(6));
    assert_eq!(repository.subjects("beside"), ["begin"]);
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 2);
    let kept = repository.git(&["for-each-ref", "--format=%(refname)", "refs/superstep"]);
    assert_eq!(crate::scene::for_people(&kept), "");
    repository.git(&["worktree", "remove", "--force", &other.display().to_string()]);
}
