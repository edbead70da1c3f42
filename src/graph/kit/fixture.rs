//! Recorded threads in files, for tests: written by `superstep export THREAD --fixture FILE`, compared with the current
//! graph. Knows files and the checks of imports; runs nothing but replays.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::checkpoint::{
    CheckpointError, ImportOptions, ImportReport, MemoryCheckpointer, ThreadArchive, ThreadId, trust,
};
use crate::graph::build::CompiledGraph;
use crate::graph::context::{DefaultContext, Stage, StagedResult, VerifyReport, VerifyVerdict};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::state::State;
use crate::graph::thread::Thread;

/// A recorded thread that a test compares with its graph.
///
/// ```no_run
/// # use superstep::graph::kit::Fixture;
/// # use superstep::graph::{CompiledGraph, NodeId, State};
/// # async fn example<S: State, N: NodeId>(graph: CompiledGraph<S, N>) -> Result<(), Box<dyn std::error::Error>> {
/// let fixture = Fixture::load("tests/fixtures/order-7.superstep")?;
/// let report = fixture.verify(&graph).await?;
/// assert!(report.agrees(), "{report}");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Fixture {
    path: PathBuf,
    thread: ThreadArchive,
}

/// The error of a fixture that cannot be compared with a graph.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FixtureError {
    /// The file cannot be opened.
    #[error("the fixture {} cannot be opened: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is not a complete thread: truncated, damaged, of another kind, or of a later release.
    #[error("the fixture {} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Box<CheckpointError>,
    },
    /// Another graph recorded it.
    #[error("the fixture {} was recorded by the graph `{recorded}`, and this one is `{graph}`", path.display())]
    OtherGraph {
        /// The file.
        path: PathBuf,
        /// The name of the graph that recorded it.
        recorded: String,
        /// The name of the graph that it is compared with.
        graph: String,
    },
    /// The graph cannot read it, or the comparison failed.
    #[error("the fixture {}: {source}", path.display())]
    Run {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Box<RunError>,
    },
    /// No body and no router of the graph ran over the records, so the comparison is empty.
    #[error("the fixture {} has nothing to compare: no body is `.replayable()`, and no router ran", path.display())]
    NothingCompared {
        /// The file.
        path: PathBuf,
    },
}

/// Fails every effect that was not recorded.
struct SealedStage;

impl Stage for SealedStage {
    fn result(&self, key: &str, _: &str, _: &str) -> Result<Option<StagedResult<Vec<u8>>>, RunError> {
        Err(RunError::InvalidConfig { what: format!("the fixture has no result of effect `{key}`") })
    }
}

impl FixtureError {
    /// Returns the suggested fix.
    pub fn help(&self) -> String {
        match self {
            Self::Open { .. } => {
                "create it with `superstep export THREAD --fixture FILE`; a relative path is relative to the folder of the package"
                    .into()
            }
            Self::Unreadable { source, .. } => match **source {
                CheckpointError::Format { .. } => "update superstep here, or export the thread with this release".into(),
                _ => "export it again: `superstep export THREAD --fixture FILE`".into(),
            },
            Self::OtherGraph { recorded, .. } => {
                format!("compare it with `{recorded}`; after a rename, give the graph that name in the test")
            }
            Self::Run { source, .. } => source.help().unwrap_or_else(|| "see the cause".into()),
            Self::NothingCompared { .. } => "mark bodies whose side effects all go through `ctx` as `.replayable()`".into(),
        }
    }
}

impl Fixture {
    /// Reads and checks a fixture.
    ///
    /// # Errors
    /// [`FixtureError::Open`] and [`FixtureError::Unreadable`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FixtureError> {
        let path = path.as_ref().to_path_buf();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(source) => return Err(FixtureError::Open { path, source }),
        };
        match ThreadArchive::read(file, &ImportOptions::new()) {
            Ok(thread) => Ok(Self { path, thread }),
            Err(source) => Err(FixtureError::Unreadable { path, source: Box::new(source) }),
        }
    }

    /// Returns the file's metadata: the thread's name, its graph, the release that wrote it, what was left out.
    pub fn about(&self) -> &ImportReport {
        self.thread.about()
    }

    /// Compares the thread with the current graph, like [`Thread::verify`]: no effect happens. The report has the first
    /// difference, if any, and the parts that were not compared.
    ///
    /// # Errors
    /// [`FixtureError::OtherGraph`], [`FixtureError::Run`]; [`FixtureError::NothingCompared`], since a test that compares
    /// nothing always passes.
    pub async fn verify<S: State, N: NodeId, C: DefaultContext + Send + Sync + 'static>(
        &self,
        graph: &CompiledGraph<S, N, C>,
    ) -> Result<VerifyReport, FixtureError> {
        self.verify_with(graph, C::default_context()).await
    }

    /// Takes the context of the thread.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub async fn verify_with<S: State, N: NodeId, C: Send + Sync + 'static>(
        &self,
        graph: &CompiledGraph<S, N, C>,
        context: impl Into<Arc<C>>,
    ) -> Result<VerifyReport, FixtureError> {
        let thread = self.thread_with(graph, context).await?;
        let report = thread.verify().await.map_err(|error| self.run_error(error))?;
        match report.verdict() {
            VerifyVerdict::NothingCompared => Err(FixtureError::NothingCompared { path: self.path.clone() }),
            VerifyVerdict::Same | VerifyVerdict::SameInPart | VerifyVerdict::Different => Ok(report),
        }
    }

    /// Returns the thread, in its own in-memory store: for its state, its history, [`Thread::what_if`], or to resume it,
    /// for example with a fixed body. Recorded effects return their results; any other effect fails with
    /// [`RunError::InvalidConfig`], so a test has no real effects.
    ///
    /// # Errors
    /// [`FixtureError::OtherGraph`], [`FixtureError::Run`].
    pub async fn thread<S: State, N: NodeId, C: DefaultContext + Send + Sync + 'static>(
        &self,
        graph: &CompiledGraph<S, N, C>,
    ) -> Result<Thread<S, N, C>, FixtureError> {
        self.thread_with(graph, C::default_context()).await
    }

    /// Takes the context of the thread.
    ///
    /// # Errors
    /// As [`thread`](Self::thread).
    pub async fn thread_with<S: State, N: NodeId, C: Send + Sync + 'static>(
        &self,
        graph: &CompiledGraph<S, N, C>,
        context: impl Into<Arc<C>>,
    ) -> Result<Thread<S, N, C>, FixtureError> {
        self.check_graph(graph.name())?;
        let store = MemoryCheckpointer::new();
        let id = self.about().thread.clone();
        self.store_in(&store, &id).await.map_err(|error| self.run_error(error.into()))?;
        let mut thread = graph.clone().with_checkpointer(store).thread_with(id, context);
        thread.core.environment.stage = Some(Arc::new(SealedStage));
        Ok(thread)
    }

    async fn store_in(&self, store: &MemoryCheckpointer, id: &ThreadId) -> Result<(), CheckpointError> {
        self.thread.clone().store_in(store).await?;
        trust(store, id).await.map(drop)
    }

    fn check_graph(&self, name: &str) -> Result<(), FixtureError> {
        match &self.about().graph {
            Some(recorded) if recorded != name => Err(FixtureError::OtherGraph {
                path: self.path.clone(),
                recorded: recorded.clone(),
                graph: name.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    fn run_error(&self, source: RunError) -> FixtureError {
        FixtureError::Run { path: self.path.clone(), source: Box::new(source) }
    }
}
