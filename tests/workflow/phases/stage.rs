//! Plans in phases in a real repository, with parallel agents: shared by tests of failures, budgets and confinement.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use superstep::checkpoint::BoxFuture;
use superstep::drivers::{
    AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverError, DriverErrorClass, Finished, Session,
    SessionRef, TurnStatus, Usage, events,
};
use superstep::nodes::{AfterHalt, Agents, ApprovePlan, Halted};
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep_workflows::phased::{PhaseStep, SubtaskState, graph};
use superstep_workflows::task_based::{ExecutionState, ExecutionStateUpdate};
use superstep_workflows::{PhasedSettings, Profile};

use crate::agent::{approved, work};
use crate::phases::scene;
use crate::repository::{Repository, write};
pub(crate) use crate::scene::profile;

pub(crate) type RunResult = Outcome<ExecutionState>;
type ActResult = Result<Value, DriverError>;

/// The usage of each turn.
pub(crate) fn turn_usage() -> Usage {
    Usage { input: 10, output: 5, cost: 100, requests: 1, ..Usage::default() }
}

/// A turn of an agent.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) request: AgentRequest,
    /// The id of the task.
    pub(crate) task: String,
    /// The id of the session.
    pub(crate) session: String,
    /// The number of the turn on this task in this role, from 0.
    pub(crate) nth: usize,
}

impl Call {
    pub(crate) fn folder(&self) -> &Path {
        &self.request.directory
    }

    pub(crate) fn is_developer(&self) -> bool {
        self.request.role == "developer"
    }

    /// Writes the file of the task.
    pub(crate) fn part(&self) -> Value {
        write(self.folder(), &format!("part-{}.txt", self.task), "x\n");
        work()
    }

    /// Writes the file of the task, then hangs until the turn is cancelled.
    pub(crate) async fn hangs(&self) -> ActResult {
        self.part();
        self.request.cancel.cancelled().await;
        Err(DriverError::new(DriverErrorClass::Cancelled, "the turn was cancelled"))
    }
}

type Act = dyn Fn(Call) -> BoxFuture<'static, ActResult> + Send + Sync;

/// Parallel agents that run a function.
#[derive(Clone)]
pub(crate) struct Cast {
    act: Arc<Act>,
    log: Arc<Mutex<Vec<Call>>>,
    ended: Arc<Mutex<Vec<(String, Finished)>>>,
}

impl Cast {
    pub(crate) fn new<F>(act: impl Fn(Call) -> F + Send + Sync + 'static) -> Arc<Self>
    where
        F: Future<Output = ActResult> + Send + 'static,
    {
        let act = move |call| -> BoxFuture<'static, ActResult> { Box::pin(act(call)) };
        Arc::new(Self { act: Arc::new(act), log: Arc::default(), ended: Arc::default() })
    }

    /// Creates agents whose developers run a function and whose reviewers approve.
    pub(crate) fn developers<F>(act: impl Fn(Call) -> F + Send + Sync + 'static) -> Arc<Self>
    where
        F: Future<Output = ActResult> + Send + 'static,
    {
        Self::new(move |call| {
            let developer = call.is_developer().then(|| act(call));
            async move {
                match developer {
                    Some(developer) => developer.await,
                    None => Ok(approved()),
                }
            }
        })
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.log.lock().unwrap().clone()
    }

    /// Returns the tasks of the developers' turns, sorted.
    pub(crate) fn tasks(&self) -> Vec<String> {
        let calls = self.calls().into_iter().filter(Call::is_developer);
        let mut tasks: Vec<_> = calls.map(|call| call.task).collect();
        tasks.sort();
        tasks
    }

    /// Returns the turns of developers on a task.
    pub(crate) fn turns(&self, task: &str) -> Vec<Call> {
        self.calls().into_iter().filter(|call| call.is_developer() && call.task == task).collect()
    }

    fn begin(&self, request: AgentRequest) -> Call {
        let mut log = self.log.lock().unwrap();
        let task = request.place.task.clone();
        let nth = log.iter().filter(|one| one.task == task && one.request.role == request.role).count();
        let session = match &request.session {
            Session::New => format!("{}-{task}-{nth}", request.role),
            Session::Resume(session) => session.id.clone(),
        };
        let call = Call { request, task, session, nth };
        log.push(call.clone());
        call
    }
}

impl Driver for Cast {
    fn name(&self) -> &str {
        "cast"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { sessions: true, submits: true, usage: true, cost: true, ..Capabilities::default() }
    }

    fn run(&self, request: AgentRequest) -> AgentEvents {
        let this = self.clone();
        events(move |tell| async move {
            let call = this.begin(request);
            let turn = call.request.turn.clone();
            let session = Some(SessionRef { id: call.session.clone(), turn: turn.clone() });
            tell.send(AgentEvent::Usage(turn_usage())).await;
            let submitted = Some((this.act)(call).await?).filter(|value| !value.is_null());
            let finished =
                Finished { status: TurnStatus::Done, text: String::new(), submitted, session, usage: turn_usage() };
            this.ended.lock().unwrap().push((turn, finished.clone()));
            Ok(finished)
        })
    }

    fn finished_turn<'a>(
        &'a self,
        _: Option<&'a SessionRef>,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
        let ended = self.ended.lock().unwrap();
        let ended = ended.iter().find(|(name, _)| name == turn).map(|(_, ended)| ended.clone());
        Box::pin(std::future::ready(Ok(ended)))
    }
}

/// A repository, and a thread of the workflow in it.
pub(crate) struct Stage<C: Agents = Arc<Cast>> {
    pub(crate) repository: Repository,
    pub(crate) thread: Thread<ExecutionState, PhaseStep, C>,
}

/// Returns a profile with settings of phases.
pub(crate) fn phased(change: impl FnOnce(&mut PhasedSettings)) -> Profile {
    let mut profile = profile();
    change(&mut profile.phased);
    profile
}

/// A plan of tasks: each with its id and its dependencies.
pub(crate) fn plan(tasks: &[(&str, &str)]) -> String {
    scene::plan(&tasks.iter().map(|(id, on)| scene::task(id, on, "")).collect::<Vec<_>>())
}

/// Three siblings, and one task that depends on two of them.
pub(crate) fn three() -> String {
    plan(&[("2a", "none"), ("2b", "none"), ("2c", "none"), ("3", "2a, 2b")])
}

/// Adds a command to a task of a plan.
pub(crate) fn verified(plan: &str, task: &str, command: &str) -> String {
    let section = format!("Write part {task}.");
    plan.replace(&section, &format!("{section}\n\n**Verify:** `{command}`"))
}

impl<C: Agents> Stage<C> {
    pub(crate) fn with(repository: Repository, agents: C) -> Self {
        let graph = graph::<C>().unwrap().with_checkpointer(MemoryCheckpointer::new());
        Self { repository, thread: graph.thread_with("clock", agents) }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.repository.path()
    }

    pub(crate) fn input(&self, plan: &str, profile: Profile) -> ExecutionStateUpdate {
        let input = ExecutionState::update().working_dir(self.path());
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

    pub(crate) async fn state(&self) -> ExecutionState {
        self.thread.state().await.unwrap().unwrap().values.as_ref().clone()
    }

    /// Returns the subtasks as `ID STATUS ATTEMPT (ERROR)`.
    pub(crate) async fn lines(&self) -> Vec<String> {
        let line = |subtask: &SubtaskState| {
            let status = serde_json::to_value(subtask.status).unwrap();
            let error = subtask.error.as_deref().map(|error| format!(" ({error})")).unwrap_or_default();
            format!("{} {} {}{error}", subtask.subtask_id, status.as_str().unwrap(), subtask.attempt)
        };
        self.state().await.phased.phases.iter().flat_map(|phase| &phase.subtasks).map(line).collect()
    }

    /// Returns the commits of the run's branch as `TASK ATTEMPT`, oldest first.
    pub(crate) fn commits(&self) -> Vec<String> {
        let value = |key: &str| format!("%(trailers:key=Superstep-{key},valueonly,separator=%x2C)");
        let format = format!("--format={} {}", value("Task"), value("Attempt"));
        let log = self.repository.git(&["log", "--reverse", &format, "main..superstep/clock"]);
        log.lines().map(str::to_owned).collect()
    }

    /// Returns the references that keep work, without their common part.
    pub(crate) fn refs(&self) -> Vec<String> {
        let refs = self.repository.git(&["for-each-ref", "--format=%(refname)", "refs/superstep"]);
        refs.lines()
            .filter(|name| !crate::scene::of_run(name))
            .map(|name| name.trim_start_matches("refs/superstep/clock/").to_owned())
            .collect()
    }

    /// Returns the files that differ from those of `main`.
    pub(crate) fn files(&self, reference: &str) -> String {
        self.repository.git(&["diff", "--name-only", "main", reference]).trim().replace('\n', " ")
    }

    /// Checks that only the run's branch is left: no worktree, no other branch, no change of the user's files.
    pub(crate) fn tidy(&self) {
        scene::is_tidy(&self.repository);
        assert_eq!(self.repository.git(&["status", "--porcelain"]), "");
    }

    /// Checks that a replay decides the same.
    pub(crate) async fn agrees(&self) {
        let verified = self.thread.verify().await.unwrap();
        assert!(verified.agrees(), "{verified:?}");
    }
}

impl Stage {
    pub(crate) fn new(agents: &Arc<Cast>) -> Self {
        Self::with(Repository::new(), Arc::clone(agents))
    }
}

/// Returns the only question.
pub(crate) fn question(outcome: &RunResult) -> &Question {
    match outcome.questions() {
        [question] => question,
        _ => panic!("{outcome:?}"),
    }
}

pub(crate) fn halt(outcome: &RunResult) -> Halted {
    let question = question(outcome);
    assert_eq!(question.name(), "halted", "{question:?}");
    question.payload().unwrap()
}

pub(crate) fn done(outcome: RunResult) -> Arc<ExecutionState> {
    match outcome {
        Outcome::Finished(state) => state,
        other => panic!("{other:?}"),
    }
}

/// A permanent failure.
pub(crate) fn broken() -> DriverError {
    DriverError::new(DriverErrorClass::Fatal, "the agent broke")
}
