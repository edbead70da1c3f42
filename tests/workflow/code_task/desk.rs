//! A repository with a task, and a thread of the workflow.

use std::future::{Future, ready};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use superstep::checkpoint::Checkpointer;
use superstep::nodes::{AfterGivingUp, Agents, WrittenOverride};
use superstep::prelude::*;
use superstep::spec::{Flags, RunSettings, SpecId, TaskSpec, VerifierConfig};
use superstep_workflows::Profile;
use superstep_workflows::code_task::{CodeStep, CodeTaskState, CodeTaskStateUpdate, Settings, TaskOutcome, graph};

use crate::agent::work;
use crate::phases::stage::{Call, Cast};
use crate::repository::Repository;

pub(crate) type RunResult = Outcome<CodeTaskState>;

/// The verifiers of most tests: one command, which fails while a file has lines that start with `error`.
pub(crate) const CHECK: &str = "
verifiers:
- {id: build, config: {command: \"! grep -h '^error' *.txt\"}}
- {id: test, enabled: false}
- {id: bigpicture, enabled: false}
";

pub(crate) struct Desk<C: Agents = Arc<Cast>> {
    pub(crate) repository: Repository,
    pub(crate) thread: Thread<CodeTaskState, CodeStep, C>,
    pub(crate) spec: TaskSpec,
    pub(crate) settings: Settings,
}

/// A task without acceptance criteria.
pub(crate) fn spec() -> TaskSpec {
    let id: SpecId = "tides".parse().unwrap();
    TaskSpec::new(id, "Tides", "Write down when the tides come in and go out, for every day of the year.")
}

/// Agents whose developers run a function in each turn; the others submit nothing.
pub(crate) fn developers(act: impl Fn(&Call) -> Value + Send + Sync + 'static) -> Arc<Cast> {
    Cast::new(move |call| {
        let submitted = if call.is_developer() { act(&call) } else { Value::Null };
        ready(Ok(submitted))
    })
}

/// Agents that run a function.
pub(crate) fn agents<F>(act: impl Fn(Call) -> F + Send + Sync + 'static) -> Arc<Cast>
where
    F: Future<Output = Value> + Send + 'static,
{
    Cast::new(move |call| {
        let submitted = act(call);
        async move { Ok(submitted.await) }
    })
}

/// Writes a file, and submits the work.
pub(crate) fn writes(call: &Call, name: &str, text: &str) -> Value {
    crate::repository::write(call.folder(), name, text);
    work()
}

impl Desk {
    pub(crate) fn new(agents: Arc<Cast>) -> Self {
        Self::with(agents, CHECK, spec(), &Flags::default())
    }

    pub(crate) fn with(agents: Arc<Cast>, verifiers: &str, mut spec: TaskSpec, flags: &Flags) -> Self {
        let repository = Repository::new();
        let config = VerifierConfig::parse(verifiers, "verifiers.yml").unwrap();
        let run = RunSettings::merge(&config, &spec, "tides.md", flags).unwrap();
        spec.policy = run.policy.clone();
        let profile = Profile::default();
        let (records, apart, allow_dirty) = (PathBuf::from("runs"), vec![], false);
        let settings = Settings { profile, run, repository: repository.path(), records, apart, allow_dirty };
        let graph = graph::<Arc<Cast>>().unwrap().with_checkpointer(MemoryCheckpointer::new());
        let thread = graph.thread_with("clock", Arc::new(agents));
        Self { repository, thread, spec, settings }
    }

    /// Returns the same repository with another store.
    pub(crate) fn stored_in(self, store: Arc<dyn Checkpointer>, cast: &Arc<Cast>) -> Desk {
        let graph = graph::<Arc<Cast>>().unwrap().with_shared_checkpointer(store);
        Desk { thread: graph.thread_with("clock", Arc::new(Arc::clone(cast))), ..self }
    }

    pub(crate) fn input(&self) -> CodeTaskStateUpdate {
        CodeTaskState::update().spec(Some(self.spec.clone())).settings(self.settings.clone())
    }

    pub(crate) async fn run(&self) -> RunResult {
        self.thread.invoke(self.input()).await.unwrap()
    }

    pub(crate) async fn state(&self) -> CodeTaskState {
        self.thread.state().await.unwrap().unwrap().values.as_ref().clone()
    }

    /// Returns the decisions with their rules.
    pub(crate) async fn decisions(&self) -> Vec<String> {
        let state = self.state().await;
        state.attempts.iter().map(|line| format!("{} by {}", line.decision, line.rule)).collect()
    }

    pub(crate) async fn outcome(&self) -> Option<TaskOutcome> {
        self.state().await.outcome
    }

    /// Returns a file of a record as JSON.
    pub(crate) fn json(&self, path: &str) -> Value {
        let text = std::fs::read_to_string(self.repository.path().join("runs/clock").join(path)).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Returns the files of the records, in order.
    pub(crate) fn records(&self) -> Vec<String> {
        let root = self.repository.path().join("runs");
        let (mut folders, mut files) = (vec![root.clone()], vec![]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                match entry.path() {
                    path if path.is_dir() => folders.push(path),
                    path => files.push(path.strip_prefix(&root).unwrap().display().to_string()),
                }
            }
        }
        files.sort();
        files
    }

    /// Returns the private references without their common part, each with the subject of its commit.
    pub(crate) fn refs(&self) -> Vec<String> {
        let refs = self.repository.git(&["for-each-ref", "--format=%(refname) %(subject)", "refs/superstep"]);
        refs.lines()
            .filter(|name| !crate::scene::of_run(name))
            .map(|name| name.trim_start_matches("refs/superstep/clock/").to_owned())
            .collect()
    }

    /// Returns the subjects on the branch of the run, oldest first, without the first.
    pub(crate) fn commits(&self) -> Vec<String> {
        self.repository.subjects("superstep/clock").split_off(1)
    }

    /// Checks that only the run's branch is left.
    pub(crate) fn tidy(&self) {
        let worktrees = self.repository.git(&["worktree", "list"]);
        assert_eq!(worktrees.lines().count(), 1, "{worktrees}");
        let branches = self.repository.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        assert_eq!(branches, "main\nsuperstep/clock\n");
        assert_eq!(self.repository.git(&["status", "--porcelain"]), "");
    }
}

/// A proposal of a splitter: each child with its title, its goal and the errors it covers.
pub(crate) fn proposal(order: &str, children: &[(&str, &str, &[&str])]) -> Value {
    let child = |(title, goal, covers): &(&str, &str, &[&str])| json!({"title": title, "goal": goal, "acceptance": [], "files": [], "covers_fingerprints": covers});
    json!({"order": order, "children": children.iter().map(child).collect::<Vec<_>>()})
}

/// An override by Ada.
pub(crate) fn overriding(decision: &str, why: &str) -> AfterGivingUp {
    AfterGivingUp::Override(WrittenOverride { decision: decision.into(), why: why.into(), by: Some("Ada".into()) })
}

/// Returns the name of the only question.
pub(crate) fn asks(ended: &RunResult) -> &str {
    match ended.questions() {
        [question] => question.name(),
        _ => panic!("{ended:?}"),
    }
}
