//! The graphs that the workers run: `hangs` stays in its node in the process that runs it first, `asks` waits for an answer, `sleeps`
//! for an hour. Nodes append what they do, and when, to a file.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use superstep::checkpoint::Checkpointer;
use superstep::graph::Name;
use superstep::prelude::*;
use superstep_app::App;

/// Environment variable: the file.
pub(crate) const FILE: &str = "SUPERSTEP_BENCH_FILE";

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) name: String,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "sure")]
pub(crate) struct Sure {
    name: String,
}

/// The file to which nodes append.
#[derive(Debug, Default)]
pub(crate) struct Notes(PathBuf);

impl Notes {
    pub(crate) fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    fn note(&self, name: &str) {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0).unwrap();
        file.write_all(format!("{name} {}\n", since_1970().as_nanos()).as_bytes()).unwrap();
    }

    /// Returns the times of a name's notes, since 1970.
    pub(crate) fn times(&self, name: &str) -> Vec<Duration> {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        let time = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
        text.lines().filter_map(time).map(Duration::from_nanos).collect()
    }
}

pub(crate) fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap()
}

async fn hang(job: Arc<Job>, ctx: Ctx<Notes>) -> Result<(), NodeError> {
    let notes = ctx.context();
    notes.note(&job.name);
    if notes.times(&job.name).len() % 2 == 1 {
        std::future::pending::<()>().await;
    }
    Ok(())
}

async fn ask(job: Arc<Job>, ctx: Ctx<Notes>) -> Result<(), NodeError> {
    ctx.interrupt(Sure { name: job.name.clone() })?;
    ctx.context().note(&job.name);
    Ok(())
}

async fn sleep(_: Arc<Job>, ctx: Ctx<Notes>) -> Result<(), NodeError> {
    Ok(ctx.sleep(Duration::from_secs(3600)).await?)
}

pub(crate) type JobGraph = CompiledGraph<Job, Name, Notes>;

fn hangs() -> Result<JobGraph, CompileError> {
    StateGraph::new().add_node(Name::from("work"), hang).add_sequence([Name::from("work")]).compile()
}

fn asks() -> Result<JobGraph, CompileError> {
    StateGraph::new().add_node(Name::from("work"), ask.asks::<Sure>()).add_sequence([Name::from("work")]).compile()
}

fn sleeps() -> Result<JobGraph, CompileError> {
    StateGraph::new().add_node(Name::from("work"), sleep).add_sequence([Name::from("work")]).compile()
}

/// Returns a graph over a store.
pub(crate) fn graph(name: &str, store: &Arc<dyn Checkpointer>) -> JobGraph {
    let build = if name == "hangs" {
        hangs
    } else if name == "asks" {
        asks
    } else {
        sleeps
    };
    build().unwrap().named(name).with_shared_checkpointer(Arc::clone(store))
}

/// Performs a command of the program that workers are; returns its exit code.
pub(crate) fn program(words: &str) -> u8 {
    let notes = Arc::new(Notes::at(std::env::var_os(FILE).unwrap()));
    let app = App::new().graph_with("hangs", hangs().unwrap(), Arc::clone(&notes));
    let app = app.graph_with("asks", asks().unwrap(), Arc::clone(&notes));
    app.graph_with("sleeps", sleeps().unwrap(), notes).run_with(["machines"].into_iter().chain(words.split(' ')))
}
