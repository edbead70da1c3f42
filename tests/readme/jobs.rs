//! The snippets of the guide's pages on failures, streaming and contexts, between marks: compiled and run.

mod failures {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::time::Duration;

    use superstep::graph::ErrorClass;
    use superstep::prelude::*;

    #[derive(Default)]
    struct Shop {
        closed: AtomicBool,
        calls: AtomicU32,
        refunds: AtomicU32,
    }

    impl Shop {
        async fn charge(&self, cents: u32) -> Result<String, std::io::Error> {
            if self.closed.load(Ordering::Relaxed) {
                return Err(std::io::ErrorKind::PermissionDenied.into());
            }
            match self.calls.fetch_add(1, Ordering::Relaxed) {
                0 => Err(std::io::ErrorKind::TimedOut.into()),
                _ => Ok(format!("{cents} charged")),
            }
        }
        async fn refund(&self, _receipt: &str) -> Result<(), NodeError> {
            self.refunds.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
        async fn ship(&self) -> Result<(), NodeError> {
            Err(NodeError::permanent("no such address"))
        }
    }

    // <shop>
    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    struct Order {
        cents: u32,
        receipt: String,
        why: String,
    }

    #[derive(NodeId)]
    enum Step {
        Pay,
        Ship,
        Refund,
    }

    async fn pay(order: Arc<Order>, ctx: Ctx<Shop>) -> Result<OrderUpdate, NodeError> {
        if order.cents == 0 {
            return Err(NodeError::permanent("there is nothing to pay")); // never tried again
        }
        let receipt = ctx.effect("charge", &order.cents, |_key| ctx.context().charge(order.cents)).await?;
        Ok(Order::update().receipt(receipt))
    }
    // </shop>

    // <compensate>
    async fn ship(_: Arc<Order>, ctx: Ctx<Shop>) -> Result<(), NodeError> {
        ctx.effect("ship", &(), |_key| ctx.context().ship()).await
    }

    async fn not_shipped(_: Arc<Order>, failure: Failure, _: Ctx<Shop>) -> Result<Command<Order, Step>, NodeError> {
        let why = Order::update().why(failure.error.to_string());
        Ok(Command::update(why).goto(Step::Refund))
    }

    async fn refund(order: Arc<Order>, ctx: Ctx<Shop>) -> Result<(), NodeError> {
        ctx.effect("refund", &order.receipt, |_key| ctx.context().refund(&order.receipt)).await
    }

    fn graph() -> Result<CompiledGraph<Order, Step, Shop>, CompileError> {
        let busy = RetryPolicy::attempts(5)
            .pause(Duration::from_millis(10))
            .backoff(2.0, Duration::from_secs(30))
            .when_error(|error: &std::io::Error| error.kind() == std::io::ErrorKind::TimedOut);
        StateGraph::new()
            .add_node(Step::Pay, pay.retry(busy).timeout(Duration::from_secs(60)))
            .add_node(Step::Ship, ship.on_error(not_shipped).goes_to(Step::Refund))
            .add_node(Step::Refund, refund)
            .add_sequence([Step::Pay, Step::Ship])
            .compile()
    }
    // </compensate>

    #[tokio::test(start_paused = true)]
    async fn a_busy_bank_is_asked_again_and_what_cannot_be_shipped_is_refunded() {
        let (shop, graph) = (Arc::new(Shop::default()), graph().unwrap());
        let graph = graph.with_checkpointer(MemoryCheckpointer::new());
        let outcome = graph.thread_with("t", Arc::clone(&shop)).invoke(Order::update().cents(700u32)).await.unwrap();
        let order = outcome.finished().unwrap();
        assert_eq!((order.receipt.as_str(), order.why.as_str()), ("700 charged", "no such address"));
        assert_eq!((shop.calls.load(Ordering::Relaxed), shop.refunds.load(Ordering::Relaxed)), (2, 1));
    }

    #[tokio::test]
    async fn a_failed_thread_is_read_and_run_again() -> Result<(), RunError> {
        let (shop, graph) = (Arc::new(Shop::default()), graph().unwrap());
        shop.closed.store(true, Ordering::Relaxed);
        let graph = graph.with_checkpointer(MemoryCheckpointer::new());
        let thread = graph.thread_with("t", Arc::clone(&shop));
        // <failed>
        let ended = thread.invoke(Order::update().cents(700u32)).await;
        if let Err(RunError::Node { node, error, .. }) = &ended {
            println!("{node}: {error}, {:?}", error.class()); // Pay: permission denied, Unclassified
        }
        if let Status::Failed { reason } = thread.status().await? {
            println!("{reason}"); // in any process, at any time
        }
        // </failed>
        assert!(matches!(ended, Err(RunError::Node { error, .. }) if error.class() == ErrorClass::Unclassified));
        shop.closed.store(false, Ordering::Relaxed);
        // <again>
        let outcome = thread.proceed().await?; // once the cause is fixed: only the failed task runs again
        // </again>
        assert_eq!(outcome.state().receipt, "700 charged");
        Ok(())
    }
}

mod streaming {
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use axum::Router;
    use axum::extract::State as Shared;
    use axum::http::HeaderMap;
    use axum::response::Sse;
    use axum::response::sse;
    use axum::routing::get;
    use futures::Stream;
    use serde_json::json;
    use superstep::graph::Replay;
    use superstep::prelude::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::watch;

    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    struct Draft {
        text: String,
    }

    #[derive(NodeId)]
    enum Step {
        Write,
    }

    // <emit>
    async fn write(_: Arc<Draft>, ctx: Ctx) -> Result<DraftUpdate, NodeError> {
        ctx.emit(json!({ "progress": 0.5 })).await; // Mode::Custom: any value
        for word in ["The ", "tide ", "turns."] {
            ctx.emit_message(json!({ "text": word })).await; // Mode::Messages: a piece of a message
        }
        Ok(Draft::update().text("The tide turns."))
    }
    // </emit>

    fn graph() -> CompiledGraph<Draft, Step> {
        let graph = StateGraph::new().add_node(Step::Write, write).add_sequence([Step::Write]).compile().unwrap();
        graph.with_checkpointer(MemoryCheckpointer::new())
    }

    // <feed>
    /// The events of one run, for any number of readers, who may come late and come back.
    #[derive(Default)]
    struct Feed {
        events: Mutex<Vec<String>>,
        changes: watch::Sender<bool>, // true once the run has ended
    }

    impl Feed {
        /// Runs a request to its end, and keeps its events.
        async fn follow<S: State>(&self, mut run: RunStream<S>) -> Result<Outcome<S>, RunError> {
            while let Some(event) = run.next().await {
                self.events.lock().unwrap().push(json!(event).to_string());
                self.changes.send_replace(false);
            }
            self.changes.send_replace(true);
            run.outcome().await
        }

        /// Returns an event as soon as it is there; none if the run ended before it.
        async fn event(&self, at: usize) -> Option<String> {
            let mut changes = self.changes.subscribe();
            let is_there = |ended: &bool| *ended || self.events.lock().unwrap().len() > at;
            changes.wait_for(is_there).await.ok()?;
            self.events.lock().unwrap().get(at).cloned()
        }
    }
    // </feed>

    // <sse>
    /// `GET /events`. A browser that lost its connection says which event it has seen last, and gets those after it.
    async fn events(
        Shared(feed): Shared<Arc<Feed>>,
        headers: HeaderMap,
    ) -> Sse<impl Stream<Item = Result<sse::Event, Infallible>>> {
        let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse::<usize>().ok());
        let events = futures::stream::unfold((feed, seen.map_or(0, |id| id + 1)), |(feed, at)| async move {
            let event = sse::Event::default().id(at.to_string()).data(feed.event(at).await?);
            Some((Ok(event), (feed, at + 1)))
        });
        Sse::new(events).keep_alive(sse::KeepAlive::default())
    }
    // </sse>

    /// Reads the events of a finished run over HTTP.
    async fn read(feed: &Arc<Feed>, header: &str) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let routes = Router::new().route("/events", get(events)).with_state(Arc::clone(feed));
        let served = tokio::spawn(async move { axum::serve(listener, routes).await });
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = format!("GET /events HTTP/1.1\r\nhost: here\r\nconnection: close\r\n{header}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        served.abort();
        answer
    }

    #[tokio::test]
    async fn late_readers_and_those_who_come_back_miss_nothing() -> Result<(), RunError> {
        let (graph, feed) = (graph(), Arc::new(Feed::default()));
        // <follow>
        let thread = graph.thread("essay-1").record_events();
        let run = thread.stream(Request::input(Draft::update()), [Mode::Updates, Mode::Custom, Mode::Messages]);
        let running = tokio::spawn({
            let feed = Arc::clone(&feed);
            async move { feed.follow(run).await }
        });
        // </follow>
        assert!(feed.event(0).await.unwrap().contains("progress"), "a reader from the beginning");
        let outcome = running.await.unwrap()?;
        assert_eq!((outcome.state().text.as_str(), feed.event(5).await), ("The tide turns.", None));
        let late = read(&feed, "").await;
        assert_eq!(late.matches("data:").count(), 5, "{late}");
        let again = read(&feed, "last-event-id: 2\r\n").await;
        assert!(!again.contains("tide \"") && again.contains("turns.") && again.contains("id: 4"), "{again}");

        let mut told = vec![];
        // <recorded>
        let mut events = thread.replay(Replay::Recorded).stream([Mode::Custom, Mode::Messages]);
        while let Some(event) = events.next().await {
            told.push(json!(event)); // what `record_events` stored: in another process, after the run
        }
        // </recorded>
        assert_eq!(told.len(), 4);
        Ok(())
    }
}

mod context {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use superstep::graph::runner;
    use superstep::graph::runner::{RunnerGraph, Until};
    use superstep::prelude::*;

    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    struct Letter {
        sent: bool,
    }

    #[derive(NodeId)]
    enum Step {
        Send,
    }

    // <context>
    /// Clients and settings: made once for each process, never stored.
    struct Post {
        sent: AtomicU32,
    }

    async fn send(_: Arc<Letter>, ctx: Ctx<Post>) -> Result<LetterUpdate, NodeError> {
        let post = ctx.context();
        ctx.effect("send", &(), |_key| async { Ok::<_, NodeError>(post.sent.fetch_add(1, Ordering::Relaxed)) }).await?;
        Ok(Letter::update().sent(true))
    }

    fn graph() -> Result<CompiledGraph<Letter, Step, Post>, CompileError> {
        Ok(StateGraph::new().add_node(Step::Send, send).add_sequence([Step::Send]).compile()?.named("letter"))
    }
    // </context>

    #[tokio::test]
    async fn a_runner_hands_its_context_to_every_thread() -> Result<(), Box<dyn std::error::Error>> {
        let store = MemoryCheckpointer::new();
        // <runner>
        let post = Arc::new(Post { sent: AtomicU32::new(0) });
        let graph = graph()?.with_checkpointer(store);
        for name in ["ada", "grace"] {
            let thread = graph.thread_with(name, Arc::clone(&post)).max_supersteps(0); // stores, and runs nothing
            thread.run(Request::input(Letter::update())).await?;
        }
        let report = runner([RunnerGraph::with(graph, Arc::clone(&post))]).run(Until::Idle).await?;
        // </runner>
        assert_eq!((report.turns, post.sent.load(Ordering::Relaxed)), (2, 2));
        Ok(())
    }
}
