//! The log of a run, recorded by a small subscriber.

use std::cell::RefCell;
use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, Once};

use rstest::rstest;
use superstep::checkpoint::FailingCheckpointer;
use superstep::graph::RetryPolicy;
use superstep::prelude::*;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event as LogEvent, Metadata, Subscriber};

use crate::pad::*;
use crate::stores::Store;

/// Recorded spans and events, in order, each with its parent span.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Recording>>);

#[derive(Default)]
struct Recording {
    /// Each with its parent span.
    lines: Vec<(Option<u64>, String)>,
    entered: Vec<u64>,
}

impl Log {
    fn add(&self, parent: Option<u64>, line: String) -> u64 {
        let mut recording = self.0.lock().unwrap();
        let parent = parent.or(recording.entered.last().copied());
        recording.lines.push((parent, line));
        recording.lines.len() as u64
    }

    fn tree(&self) -> String {
        let (recording, mut out) = (self.0.lock().unwrap(), String::new());
        write(&recording.lines, None, 0, &mut out);
        assert!(recording.entered.is_empty(), "{:?} were never left", recording.entered);
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
            "id" => write!(self.0, " id").unwrap(), // depends on the thread's incarnation
            name => write!(self.0, " {name}={value:?}").unwrap(),
        }
    }
}

impl Log {
    /// Records the log of this thread until the guard is dropped.  One subscriber serves the whole program: `tracing`
    /// caches globally whether a subscriber is interested, and subscribers that come and go on several threads would
    /// change that for each other.
    fn listen(&self) -> Guard {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| tracing::subscriber::set_global_default(Dispatcher).unwrap());
        CURRENT.set(Some(self.clone()));
        Guard
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Log>> = const { RefCell::new(None) };
}

struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

/// Passes spans and events to the log of the current thread.
struct Dispatcher;

fn with_log<T>(record: impl FnOnce(&Log) -> T) -> Option<T> {
    CURRENT.with_borrow(|log| log.as_ref().map(record))
}

impl Subscriber for Dispatcher {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let is_ours = metadata.target().starts_with("superstep") && *metadata.level() <= tracing::Level::INFO;
        is_ours && with_log(|_| ()).is_some()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut words = Words(span.metadata().name().to_owned());
        span.record(&mut words);
        Id::from_u64(with_log(|log| log.add(span.parent().map(Id::into_u64), words.0)).unwrap_or(u64::MAX))
    }

    fn event(&self, event: &LogEvent<'_>) {
        let mut words = Words(format!("{}", event.metadata().level()));
        event.record(&mut words);
        with_log(|log| log.add(event.parent().map(Id::into_u64), words.0));
    }

    fn enter(&self, span: &Id) {
        with_log(|log| log.0.lock().unwrap().entered.push(span.into_u64()));
    }

    fn exit(&self, span: &Id) {
        with_log(|log| {
            let mut recording = log.0.lock().unwrap();
            let at = recording.entered.iter().rposition(|entered| *entered == span.into_u64()).unwrap();
            recording.entered.remove(at);
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
async fn a_log_has_runs_supersteps_tasks_and_errors() {
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
              INFO a task asked a question: node="ask" question="approve" id
        WARN an attempt failed; the task is tried again: node="a" attempt=1 error=not yet
        task node="a" task="2-0" attempt=2
      INFO the run ended: outcome="interrupted"
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
async fn a_log_has_cancelled_runs_and_failed_commits() {
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

/// A state with a secret.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Safe {
    #[channel(secret)]
    token: String,
    copy: String,
}

/// Fails with the secret of a channel, or with its copy in a channel that is not secret.
async fn tell(safe: Arc<Safe>, ctx: Ctx) -> Result<SafeUpdate, NodeError> {
    let text = format!("{}{} is refused", safe.token, safe.copy);
    if ctx.attempt() < 2 { Err(NodeError::transient(text)) } else { Err(NodeError::permanent(text)) }
}

fn telling() -> StateGraph<Safe, Name> {
    let builder = StateGraph::<Safe, Name>::new().add_node(id("tell"), tell.retry(RetryPolicy::attempts(2)));
    builder.add_sequence([id("tell")])
}

/// Returns a graph that passes its secret on to a subgraph, in whose state it is none.
fn passing() -> StateGraph<Safe, Name> {
    let inner = telling().compile().unwrap();
    let pass = move |safe: Arc<Safe>, ctx: Ctx| {
        let inner = inner.clone();
        async move {
            ctx.call(&inner, Safe::update().copy(safe.token.clone())).await?;
            Ok::<_, NodeError>(Safe::update())
        }
    };
    StateGraph::<Safe, Name>::new().add_node(id("pass"), pass).add_sequence([id("pass")])
}

#[rstest]
#[case::of_a_node(telling())]
#[case::of_a_subgraph(passing())]
#[tokio::test(start_paused = true)]
async fn a_log_has_no_secret_of_an_error(#[case] graph: StateGraph<Safe, Name>) {
    let log = Log::default();
    let listening = log.listen();
    let secret = "correct \"horse\"";
    graph.compile().unwrap().invoke(Safe::update().token(secret)).await.unwrap_err();
    drop(listening);
    let tree = log.tree();
    assert!(!tree.contains("horse"), "{tree}");
    for message in ["an attempt failed", "a task failed", "the run failed"] {
        assert!(tree.lines().any(|line| line.contains(message) && line.contains("[secret] is refused")), "{tree}");
    }
}

#[rstest]
#[case::alone(&["write"])]
#[case::beside_another(&["write", "idle"])]
#[tokio::test]
async fn no_log_and_no_record_has_a_secret_that_a_router_puts_into_its_panic(#[case] nodes: &[&str]) {
    let write = |_: Arc<Safe>, _: Ctx| async { Ok::<_, NodeError>(Safe::update().token("correct-horse")) };
    let idle = |_: Arc<Safe>, _: Ctx| async { Ok::<_, NodeError>(Safe::update()) };
    let builder = StateGraph::<Safe, Name>::new().add_node(id("write"), write).add_node(id("idle"), idle);
    let route = |safe: &Safe| -> Name { panic!("no way for {}", safe.token) };
    let builder = builder.add_edge(START, nodes.iter().map(|node| id(node)).collect::<Vec<_>>());
    let builder = builder.add_conditional_edges_to(id("write"), route, [id("idle")]);
    let graph = builder.compile().unwrap().with_checkpointer(MemoryCheckpointer::new());
    let log = Log::default();
    let listening = log.listen();
    let mut run = graph.thread("t").stream(Request::input(Safe::update()), [Mode::Tasks]);
    let mut shown = String::new();
    while let Some(event) = run.next().await {
        shown += &format!("{:?}\n", event.kind);
    }
    let secrets = run.secrets();
    let mut error = run.outcome().await.unwrap_err().to_string();
    drop(listening);
    secrets.hide_in_text(&mut error);
    let status = format!("{:?}", graph.thread("t").status().await.unwrap());
    for text in [log.tree(), error] {
        assert!(text.contains("its router: no way for [secret]") && !text.contains("horse"), "{text}");
    }
    assert!(!shown.contains("horse") && !status.contains("horse"), "{shown} {status}");
}

#[tokio::test]
async fn a_reader_of_events_is_given_the_secrets_of_subgraphs() {
    let write = |_: Arc<Safe>, _: Ctx| async { Ok::<_, NodeError>(Safe::update().token("correct-horse")) };
    let show = |safe: Arc<Safe>, ctx: Ctx| async move {
        ctx.emit(serde_json::json!({ "copy": safe.token, "more": [format!("it is {}", safe.token)] })).await;
        Ok::<_, NodeError>(Safe::update())
    };
    let inner = StateGraph::<Safe, Name>::new().add_node(id("write"), write).add_node(id("show"), show);
    let inner = inner.add_sequence([id("write"), id("show")]).compile().unwrap();
    let call = move |_: Arc<Safe>, ctx: Ctx| {
        let inner = inner.clone();
        async move {
            ctx.call(&inner, Safe::update()).await?;
            Ok::<_, NodeError>(Safe::update())
        }
    };
    let outer = StateGraph::<Safe, Name>::new().add_node(id("call"), call).add_sequence([id("call")]);
    let graph = outer.compile().unwrap().with_checkpointer(MemoryCheckpointer::new());
    let mut run = graph.thread("t").stream_deep(Request::input(Safe::update()), [Mode::Custom]);
    let secrets = run.secrets();
    let mut copies = vec![];
    while let Some(event) = run.next().await {
        let EventKind::Custom { value: mut shown } = event.kind else { continue };
        secrets.hide(&mut shown);
        copies.push(shown);
    }
    assert_eq!(copies, [serde_json::json!({ "copy": "[secret]", "more": ["it is [secret]"] })]);
}
