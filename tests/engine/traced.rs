//! What a run tells a log, heard by a small subscriber of our own.

use std::cell::RefCell;
use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, Once};

use superstep::checkpoint::FailingCheckpointer;
use superstep::graph::RetryPolicy;
use superstep::prelude::*;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event as LogEvent, Metadata, Subscriber};

use crate::pad::*;
use crate::stores::Store;

/// What was told: spans and events in the order of their beginnings, each under the span it is in.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Told>>);

#[derive(Default)]
struct Told {
    /// Each with the span it is in.
    lines: Vec<(Option<u64>, String)>,
    entered: Vec<u64>,
}

impl Log {
    fn add(&self, parent: Option<u64>, line: String) -> u64 {
        let mut told = self.0.lock().unwrap();
        let parent = parent.or(told.entered.last().copied());
        told.lines.push((parent, line));
        told.lines.len() as u64
    }

    fn tree(&self) -> String {
        let (told, mut out) = (self.0.lock().unwrap(), String::new());
        write(&told.lines, None, 0, &mut out);
        assert!(told.entered.is_empty(), "{:?} were never left", told.entered);
        out
    }
}

fn write(lines: &[(Option<u64>, String)], under: Option<u64>, depth: usize, out: &mut String) {
    for (number, (_, line)) in (1..).zip(lines).filter(|(_, (parent, _))| *parent == under) {
        writeln!(out, "{}{line}", "  ".repeat(depth)).unwrap();
        write(lines, Some(number), depth + 1, out);
    }
}

struct Words(String);

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => write!(self.0, " {value:?}:").unwrap(),
            "id" => write!(self.0, " id").unwrap(), // tells of the thread's birth
            name => write!(self.0, " {name}={value:?}").unwrap(),
        }
    }
}

impl Log {
    /// Hears what is told on this thread until the guard is dropped.
    ///
    /// One subscriber serves the whole program: whether anybody listens is a global that subscribers which come and go on
    /// several threads would set for each other.
    fn listen(&self) -> Listening {
        static EAR: Once = Once::new();
        EAR.call_once(|| tracing::subscriber::set_global_default(Ear).unwrap());
        HEARD.set(Some(self.clone()));
        Listening
    }
}

thread_local! {
    static HEARD: RefCell<Option<Log>> = const { RefCell::new(None) };
}

struct Listening;

impl Drop for Listening {
    fn drop(&mut self) {
        HEARD.set(None);
    }
}

/// Passes on what is told to the log of the thread it is told on.
struct Ear;

fn heard<T>(tell: impl FnOnce(&Log) -> T) -> Option<T> {
    HEARD.with_borrow(|log| log.as_ref().map(tell))
}

impl Subscriber for Ear {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let is_ours = metadata.target().starts_with("superstep") && *metadata.level() <= tracing::Level::INFO;
        is_ours && heard(|_| ()).is_some()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut words = Words(span.metadata().name().to_owned());
        span.record(&mut words);
        Id::from_u64(heard(|log| log.add(span.parent().map(Id::into_u64), words.0)).unwrap_or(u64::MAX))
    }

    fn event(&self, event: &LogEvent<'_>) {
        let mut words = Words(format!("{}", event.metadata().level()));
        event.record(&mut words);
        heard(|log| log.add(event.parent().map(Id::into_u64), words.0));
    }

    fn enter(&self, span: &Id) {
        heard(|log| log.0.lock().unwrap().entered.push(span.into_u64()));
    }

    fn exit(&self, span: &Id) {
        heard(|log| {
            let mut told = log.0.lock().unwrap();
            let at = told.entered.iter().rposition(|entered| *entered == span.into_u64()).unwrap();
            told.entered.remove(at);
        });
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
}

/// Fails once, with a pause, so that it ends on the pool.
async fn stubborn(_: Arc<Pad>, ctx: Ctx) -> Ended {
    tokio::task::yield_now().await;
    if ctx.attempt() < 2 { Err("not yet".into()) } else { Ok(Pad::update().notes(["stubborn"])) }
}

fn graph() -> Graph {
    let inner = Builder::new().add_node(id("ask"), approval.asks::<Approve>());
    let inner = inner.add_sequence([id("ask")]).compile().unwrap().named("inner");
    let builder = Builder::new()
        .add_node(id("a"), stubborn.retry(RetryPolicy::attempts(2)))
        .add_subgraph(id("child"), inner)
        .add_node(id("fails"), |_: Arc<Pad>, _: Ctx| async { Err::<PadUpdate, _>(NodeError::permanent("gone")) });
    let builder = builder.add_edge(START, [id("a"), id("child")]).add_edge([id("a"), id("child")], id("fails"));
    builder.compile().unwrap().named("outer")
}

#[tokio::test(start_paused = true)]
async fn a_log_hears_runs_supersteps_and_tasks_and_what_goes_wrong() {
    let (log, store) = (Log::default(), Store::memory());
    let listening = log.listen();
    store.thread(&graph()).invoke(start()).await.unwrap();
    store.thread(&graph()).resume::<Approve>(true).await.unwrap_err();
    drop(listening);
    store.thread(&graph()).proceed().await.unwrap_err();

    insta::assert_snapshot!(log.tree(), @r#"
    run thread="t" graph="outer"
      superstep step=0 checkpoint=1 tasks=1
      superstep step=1 checkpoint=2 tasks=2
        task node="a" task="2-0" attempt=1
        task node="child" task="2-1" attempt=1
          run thread="t" graph="inner" namespace="child"
            superstep step=0 checkpoint=3 tasks=1
            superstep step=1 checkpoint=4 tasks=1
              task node="ask" task="4-0" attempt=1
              INFO a task asks: node="ask" question="approve" id
        WARN an attempt failed; the task is tried again: node="a" attempt=1 error=not yet
        task node="a" task="2-0" attempt=2
      INFO the run came to rest: outcome="interrupted"
    run thread="t" graph="outer"
      superstep step=1 checkpoint=2 tasks=2
        task node="child" task="2-1" attempt=1
          run thread="t" graph="inner" namespace="child"
            superstep step=1 checkpoint=4 tasks=1
              task node="ask" task="4-0" attempt=1
      superstep step=2 checkpoint=7 tasks=1
        task node="fails" task="7-2" attempt=1
        WARN a task failed: node="fails" error=node `fails` failed in superstep 2: gone
      ERROR the run failed: error=node `fails` failed in superstep 2: gone
    "#);
    assert!(!log.tree().contains("tides"), "the state is nobody's business");
}

#[tokio::test]
async fn a_log_hears_of_cancelled_runs_and_commits_that_fail() {
    let (log, token) = (Log::default(), CancellationToken::new());
    let _listening = log.listen();
    let cancels = {
        let token = token.clone();
        move |_: Arc<Pad>, _: Ctx| {
            let token = token.clone();
            async move {
                token.cancel();
                std::future::pending::<Ended>().await
            }
        }
    };
    let graph = chain(Builder::new().add_node(id("cancels"), cancels), &["cancels"]);
    store_thread(&graph).cancel_with(token).invoke(start()).await.unwrap();
    let store = FailingCheckpointer::new(Arc::new(MemoryCheckpointer::new()), 2);
    let graph = chain(Builder::new().add_node(id("a"), note("a")), &["a"]);
    graph.with_checkpointer(store).thread("t").invoke(start()).await.unwrap_err();

    insta::assert_snapshot!(log.tree(), @r#"
    run thread="t" graph="graph"
      superstep step=0 checkpoint=1 tasks=1
      superstep step=1 checkpoint=2 tasks=1
        task node="cancels" task="2-0" attempt=1
      WARN the run was cancelled:
    run thread="t" graph="graph"
      superstep step=0 checkpoint=1 tasks=1
      superstep step=1 checkpoint=2 tasks=1
        task node="a" task="2-0" attempt=1
        ERROR a commit failed: thread="t" error=the store stopped after a failed commit: this commit was chosen to fail
      ERROR the run failed: error=the store stopped after a failed commit: this commit was chosen to fail
    "#);
}

fn store_thread(graph: &Graph) -> PadThread {
    Store::memory().thread(graph)
}
