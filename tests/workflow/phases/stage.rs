//! Plans in phases on a real repository, with agents that work at the same time: what tests of failures, budgets and confinement share.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use superstep::checkpoint::BoxFuture;
use superstep::drivers::{
    AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverError, ErrorClass, Finished, Session,
    SessionRef, Status as TurnStatus, Usage, events,
};
use superstep::nodes::{AfterHalt, Agents, ApprovePlan, Halted};
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep::workflows::phased::{PhaseStep, SubtaskState, graph};
use superstep::workflows::task_based::{ExecutionState, ExecutionStateUpdate};
use superstep::workflows::{Phased, Profile};

use crate::agent::{approved, work};
use crate::phases::scene;
use crate::repository::{Repository, write};
pub(crate) use crate::scene::profile;

pub(crate) type Ran = Outcome<ExecutionState>;
type Acted = Result<Value, DriverError>;

/// What each turn takes and costs.
pub(crate) fn used() -> Usage {
    Usage { input: 10, output: 5, cost: 100, requests: 1, ..Usage::default() }
}

/// A turn of an agent.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) request: AgentRequest,
    /// The id of the task.
    pub(crate) task: String,
    /// The id of the session.
    pub(crate) session: String,
    /// The number of the turn on this task in this role, from 0.
    pub(crate) nth: usize,
}

impl Asked {
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

    /// Writes the file of the task, and does nothing more until the turn is cancelled.
    pub(crate) async fn hangs(&self) -> Acted {
        self.part();
        self.request.cancel.cancelled().await;
        Err(DriverError::new(ErrorClass::Cancelled, "the turn was cancelled"))
    }
}

type Act = dyn Fn(Asked) -> BoxFuture<'static, Acted> + Send + Sync;

/// Agents that do what a function says, at the same time.
#[derive(Clone)]
pub(crate) struct Cast {
    act: Arc<Act>,
    log: Arc<Mutex<Vec<Asked>>>,
    ended: Arc<Mutex<Vec<(String, Finished)>>>,
}

impl Cast {
    pub(crate) fn new<F>(act: impl Fn(Asked) -> F + Send + Sync + 'static) -> Arc<Self>
    where
        F: Future<Output = Acted> + Send + 'static,
    {
        let act = move |asked| -> BoxFuture<'static, Acted> { Box::pin(act(asked)) };
        Arc::new(Self { act: Arc::new(act), log: Arc::default(), ended: Arc::default() })
    }

    /// Developers do what a function says; reviewers approve.
    pub(crate) fn developers<F>(act: impl Fn(Asked) -> F + Send + Sync + 'static) -> Arc<Self>
    where
        F: Future<Output = Acted> + Send + 'static,
    {
        Self::new(move |asked| {
            let developed = asked.is_developer().then(|| act(asked));
            async move {
                match developed {
                    Some(developed) => developed.await,
                    None => Ok(approved()),
                }
            }
        })
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.log.lock().unwrap().clone()
    }

    /// The tasks that developers were asked about, sorted.
    pub(crate) fn tasks(&self) -> Vec<String> {
        let asked = self.asked().into_iter().filter(Asked::is_developer);
        let mut tasks: Vec<_> = asked.map(|asked| asked.task).collect();
        tasks.sort();
        tasks
    }

    /// The turns of developers on a task.
    pub(crate) fn turns(&self, task: &str) -> Vec<Asked> {
        self.asked().into_iter().filter(|asked| asked.is_developer() && asked.task == task).collect()
    }

    fn begin(&self, request: AgentRequest) -> Asked {
        let mut log = self.log.lock().unwrap();
        let task = request.place.task.clone();
        let nth = log.iter().filter(|one| one.task == task && one.request.role == request.role).count();
        let session = match &request.session {
            Session::New => format!("{}-{task}-{nth}", request.role),
            Session::Resume(session) => session.id.clone(),
        };
        let asked = Asked { request, task, session, nth };
        log.push(asked.clone());
        asked
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
            let asked = this.begin(request);
            let turn = asked.request.turn.clone();
            let session = Some(SessionRef { id: asked.session.clone(), turn: turn.clone() });
            tell.tell(AgentEvent::Usage(used())).await;
            let submitted = Some((this.act)(asked).await?).filter(|value| !value.is_null());
            let finished =
                Finished { status: TurnStatus::Done, text: String::new(), submitted, session, usage: used() };
            this.ended.lock().unwrap().push((turn, finished.clone()));
            Ok(finished)
        })
    }

    fn ended<'a>(
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

/// A profile with settings of phases.
pub(crate) fn phased(change: impl FnOnce(&mut Phased)) -> Profile {
    let mut profile = profile();
    change(&mut profile.phased);
    profile
}

/// A plan of tasks: each the id, and what it depends on.
pub(crate) fn plan(tasks: &[(&str, &str)]) -> String {
    scene::plan(&tasks.iter().map(|(id, on)| scene::task(id, on, "")).collect::<Vec<_>>())
}

/// Three siblings, and one that depends on two of them.
pub(crate) fn three() -> String {
    plan(&[("2a", "none"), ("2b", "none"), ("2c", "none"), ("3", "2a, 2b")])
}

/// The same with a command for a task.
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
    pub(crate) async fn run(&self, plan: &str, profile: Profile) -> Ran {
        self.thread.invoke(self.input(plan, profile)).await.unwrap();
        self.thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap()
    }

    pub(crate) async fn halted(&self, answer: AfterHalt) -> Ran {
        self.thread.resume::<Halted>(answer).await.unwrap()
    }

    pub(crate) async fn state(&self) -> ExecutionState {
        self.thread.state().await.unwrap().unwrap().values.as_ref().clone()
    }

    /// The subtasks as `ID STATUS ATTEMPT (ERROR)`.
    pub(crate) async fn lines(&self) -> Vec<String> {
        let line = |subtask: &SubtaskState| {
            let status = serde_json::to_value(subtask.status).unwrap();
            let error = subtask.error.as_deref().map(|error| format!(" ({error})")).unwrap_or_default();
            format!("{} {} {}{error}", subtask.subtask_id, status.as_str().unwrap(), subtask.attempt)
        };
        self.state().await.phases.iter().flat_map(|phase| &phase.subtasks).map(line).collect()
    }

    /// The commits of the run's branch as `TASK ATTEMPT`, oldest first.
    pub(crate) fn commits(&self) -> Vec<String> {
        let value = |key: &str| format!("%(trailers:key=Superstep-{key},valueonly,separator=%x2C)");
        let format = format!("--format={} {}", value("Task"), value("Attempt"));
        let log = self.repository.git(&["log", "--reverse", &format, "main..superstep/clock"]);
        log.lines().map(str::to_owned).collect()
    }

    /// The references that keep work, without their common part.
    pub(crate) fn refs(&self) -> Vec<String> {
        let refs = self.repository.git(&["for-each-ref", "--format=%(refname)", "refs/superstep"]);
        refs.lines().map(|name| name.trim_start_matches("refs/superstep/clock/").to_owned()).collect()
    }

    /// The files that differ from those of `main`.
    pub(crate) fn files(&self, reference: &str) -> String {
        self.repository.git(&["diff", "--name-only", "main", reference]).trim().replace('\n', " ")
    }

    /// Checks that nothing is left but the run's branch: no worktree, no other branch, no change of the user's files.
    pub(crate) fn tidy(&self) {
        scene::is_tidy(&self.repository);
        assert_eq!(self.repository.git(&["status", "--porcelain"]), "");
    }

    /// Checks that a replay decides alike.
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

/// The one question.
pub(crate) fn question(outcome: &Ran) -> &Question {
    match outcome.questions() {
        [question] => question,
        _ => panic!("{outcome:?}"),
    }
}

pub(crate) fn halt(outcome: &Ran) -> Halted {
    let question = question(outcome);
    assert_eq!(question.name(), "halted", "{question:?}");
    question.payload().unwrap()
}

pub(crate) fn done(outcome: Ran) -> Arc<ExecutionState> {
    match outcome {
        Outcome::Finished(state) => state,
        other => panic!("{other:?}"),
    }
}

/// A failure that nothing mends.
pub(crate) fn broken() -> DriverError {
    DriverError::new(ErrorClass::Fatal, "the agent broke")
}
