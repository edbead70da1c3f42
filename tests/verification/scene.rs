//! A repository with an attempt at a task, and a graph of one node that runs a verifier.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use superstep::checkpoint::Checkpointer;
use superstep::findings::{Fingerprint, VerifierOutput};
use superstep::graph::CompiledGraph;
use superstep::nodes::{AgentSpec, Base, Crew, Folder, RunVerifier, VerifierHost, VerifierRun, run_verifier};
use superstep::prelude::*;
use superstep::spec::VerifierEntry;
use superstep::verifiers::VerifierTask;
use superstep::workspace::Workspace;

use crate::agent::Agent;
use crate::repository::Repository;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Judged {
    pub(crate) output: Option<VerifierOutput>,
}

#[derive(NodeId)]
pub(crate) enum Step {
    Verify,
}

/// A task whose attempt wrote `src/tides.rs`.
pub(crate) struct Scene {
    pub(crate) repository: Repository,
    pub(crate) job: RunVerifier,
    _home: tempfile::TempDir,
}

/// A verifier with settings in the stored JSON form.
pub(crate) fn entry(id: &str, mode: &str, config: Value) -> VerifierEntry {
    let entry = json!({
        "id": id, "stakeholder": "architecture", "mode": mode, "stage": "build", "after": [], "criticality": "standard",
        "required": "if_command", "warn_triggers_retry": null, "on_fail": "retry", "config": config,
    });
    serde_json::from_value(entry).unwrap()
}

pub(crate) fn task() -> VerifierTask {
    VerifierTask { id: "tides".into(), title: "Know the tides".into(), ..VerifierTask::default() }
}

impl Scene {
    pub(crate) async fn new(entry: VerifierEntry) -> Self {
        Self::with(entry, &[("src/tides.rs", "pub fn high() -> u32 {\n    9\n}\n")]).await
    }

    /// A scene whose attempt wrote these files.
    pub(crate) async fn with(entry: VerifierEntry, files: &[(&str, &str)]) -> Self {
        let (repository, home) = (Repository::new(), tempfile::tempdir().unwrap());
        repository.write(".gitignore", "target/\n");
        let workspace = Workspace::open(repository.path()).await.unwrap();
        let at = workspace.branch_positions(&[]).await.unwrap();
        let base = Base { at, tree: workspace.snapshot().await.unwrap().tree };
        files.iter().for_each(|(name, text)| repository.write(name, text));
        let job = RunVerifier {
            entry,
            task: task(),
            attempt: 2,
            folder: Folder { directory: repository.path(), apart: vec![] },
            base,
            tree: workspace.snapshot().await.unwrap().tree,
            agent: AgentSpec { driver: "agent".into(), home: Some(home.path().to_owned()), ..AgentSpec::default() },
            host: VerifierHost { long_diffs: home.path().join("diffs"), ..VerifierHost::default() },
            expected: vec![],
        };
        Self { repository, job, _home: home }
    }

    pub(crate) fn for_task(mut self, task: VerifierTask) -> Self {
        self.job.task = task;
        self
    }

    /// Runs the verifier with a crew, then replays the run without the repository.
    pub(crate) async fn run_with(self, crew: Crew) -> (VerifierRun, Self) {
        let ran = Arc::default();
        let thread = graph(&self.job, &ran, Arc::new(MemoryCheckpointer::new())).thread_with("t", Arc::new(crew));
        thread.invoke(Judged::update()).await.unwrap_or_else(|error| panic!("{error}"));
        let ran = ran.lock().unwrap().take().unwrap();
        let hidden = self.repository.path().with_extension("hidden");
        std::fs::rename(self.repository.path(), &hidden).unwrap();
        let verified = thread.verify().await.unwrap();
        std::fs::rename(hidden, &self.job.folder.directory).unwrap();
        assert!(verified.agrees() && verified.not_verified.is_empty(), "{verified}");
        (ran, self)
    }

    pub(crate) async fn run(self) -> (VerifierRun, Self) {
        self.run_with(Crew::new()).await
    }

    /// Runs a model verifier.
    pub(crate) async fn ask(self, agent: &Arc<Agent>) -> (VerifierRun, Self) {
        let crew = Crew::new().with("agent", Arc::clone(agent));
        self.run_with(crew).await
    }

    pub(crate) async fn output(self) -> VerifierOutput {
        self.run().await.0.output
    }

    /// Returns the text of a file, or `None` if there is no such file.
    pub(crate) fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.repository.path().join(name)).ok()
    }
}

type Slot = Arc<Mutex<Option<VerifierRun>>>;

/// A graph that runs a verifier, and stores the result in `ran` too.
pub(crate) fn graph(job: &RunVerifier, ran: &Slot, store: Arc<dyn Checkpointer>) -> CompiledGraph<Judged, Step, Crew> {
    let (job, ran) = (Arc::new(job.clone()), Arc::clone(ran));
    let body = move |_: Arc<Judged>, ctx: Ctx<Crew>| {
        let (job, ran) = (Arc::clone(&job), Arc::clone(&ran));
        async move {
            let result = run_verifier(&job, &ctx).await?;
            let update = Judged::update().output(Some(result.output.clone()));
            *ran.lock().unwrap() = Some(result);
            Ok::<JudgedUpdate, NodeError>(update)
        }
    };
    let node = body.replayable();
    let graph = StateGraph::new().add_node(Step::Verify, node).add_edge(START, Step::Verify).compile();
    graph.unwrap_or_else(|error| panic!("{error}")).with_shared_checkpointer(store)
}

/// Formats an output: its severity and verdict, then severity, type, place and message of each finding.
pub(crate) fn text(output: &VerifierOutput) -> String {
    let line = |finding: &superstep::findings::Finding| {
        let kind = serde_json::to_value(&finding.kind).unwrap();
        let place = finding.evidence.file.as_deref().unwrap_or("-");
        let lines = finding.evidence.lines.map(|lines| format!(":{lines}")).unwrap_or_default();
        assert_eq!(finding.fingerprint.as_str().len(), 32, "{finding:?}");
        format!("{} {} {place}{lines} {}", finding.severity, kind.as_str().unwrap(), finding.message)
    };
    let verdict = output.verdict.map_or_else(|| "-".to_owned(), |verdict| verdict.to_string());
    let head = format!("{} {verdict}", output.severity);
    std::iter::once(head).chain(output.findings.iter().map(line)).collect::<Vec<_>>().join("\n")
}

pub(crate) fn fingerprints(output: &VerifierOutput) -> Vec<Fingerprint> {
    output.findings.iter().map(|finding| finding.fingerprint.clone()).collect()
}
