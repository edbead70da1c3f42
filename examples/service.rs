//! Letters as a service: many users in one process, interrupts over HTTP, sleeping threads.
//! `service [ADDRESS] [STORE]`; see `docs/guide/service.md`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State as Shared};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use superstep::checkpoint::Checkpointer;
use superstep::graph::runner::{RunnerQuestion, RunnerReport, RunnerWaker};
use superstep::graph::{Runner, StatusKind, ThreadFilter, ThreadInfo, runner};
use superstep::prelude::*;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::task::TaskTracker;

/// The maximum time that a request waits for a letter to stop, and that requests and runs may take at shutdown.
const PATIENCE: Duration = Duration::from_secs(20);

// --- the graph ---

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Letter {
    to: String,
    text: String,
    delay_ms: u64,
    is_approved: bool,
    is_sent: bool,
}

#[derive(NodeId)]
enum Step {
    Write,
    Approve,
    Send,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "send_it")]
struct SendIt {
    text: String,
}

#[derive(Route)]
enum AfterApprove {
    #[to(Step::Send)]
    Approved,
    #[to(END)]
    Rejected,
}

fn after_approve(letter: &Letter) -> AfterApprove {
    if letter.is_approved { AfterApprove::Approved } else { AfterApprove::Rejected }
}

async fn write(letter: Arc<Letter>, _: Ctx) -> Result<LetterUpdate, NodeError> {
    Ok(Letter::update().text(format!("Dear {}, the tide is at nine.", letter.to)))
}

async fn approve(letter: Arc<Letter>, ctx: Ctx) -> Result<LetterUpdate, NodeError> {
    let is_approved = ctx.interrupt(SendIt { text: letter.text.clone() })?;
    Ok(Letter::update().is_approved(is_approved))
}

async fn send(letter: Arc<Letter>, ctx: Ctx) -> Result<LetterUpdate, NodeError> {
    ctx.sleep(Duration::from_millis(letter.delay_ms)).await?; // ends the run; the runner resumes it when it is time
    ctx.effect("send", &letter.text, |_key| post_letter(&letter.text)).await?;
    Ok(Letter::update().is_sent(true))
}

async fn post_letter(text: &str) -> Result<(), NodeError> {
    println!("sent: {text}");
    Ok(())
}

fn graph() -> Result<CompiledGraph<Letter, Step>, CompileError> {
    let graph = StateGraph::new()
        .add_node(Step::Write, write)
        .add_node(Step::Approve, approve.asks::<SendIt>())
        .add_node(Step::Send, send)
        .add_sequence([Step::Write, Step::Approve])
        .add_conditional_edges(Step::Approve, after_approve)
        .add_edge(Step::Send, END);
    Ok(graph.compile()?.named("letter"))
}

// --- the service ---

// <service>
/// The state that all requests share.
#[derive(Clone)]
struct Service {
    graph: CompiledGraph<Letter, Step>,
    store: Arc<dyn Checkpointer>,
    runner: RunnerWaker,
    /// Counts the times that a thread stopped.
    stops: watch::Sender<u64>,
    /// The requests that are being stored.
    writes: TaskTracker,
    /// Cancelled once the service is to end.
    stop: CancellationToken,
}
// </service>

impl Service {
    // <store>
    /// Stores a request of a user and runs nothing: that is up to the runner.
    async fn store(&self, id: ThreadId, request: Request<Letter, Step>) -> Result<(), Refusal> {
        let (thread, runner) = (self.graph.thread(id).max_supersteps(0), self.runner.clone());
        // A client that hangs up takes its handler along, not this task.
        let stored = self.writes.spawn(async move {
            thread.run(request).await?;
            runner.wake();
            Ok::<_, RunError>(())
        });
        Ok(stored.await.map_err(Refusal::internal)??)
    }
    // </store>

    async fn show(&self, id: ThreadId) -> Result<Json<Value>, Refusal> {
        let thread = self.graph.thread(id);
        let status = thread.status().await?;
        let Some(snapshot) = thread.state().await? else {
            return Err(Refusal::new(StatusCode::NOT_FOUND, "there is no such letter"));
        };
        let mut shown = json!(status);
        shown["state"] = json!(snapshot)["state"].take();
        Ok(Json(shown))
    }

    /// Waits until a thread is finished, failed or interrupted.
    async fn stopped(&self, id: &ThreadId) -> Result<(), RunError> {
        let (mut stops, thread) = (self.stops.subscribe(), self.graph.thread(id.clone()));
        while matches!(thread.status().await?, Status::Pending { .. } | Status::Running { .. } | Status::Waiting { .. })
        {
            _ = stops.changed().await;
        }
        Ok(())
    }
}

/// Returns the thread of a user's letter. Names contain no slash, so no user can reach another one's.
fn thread_id(user: &str, name: &str) -> Result<ThreadId, Refusal> {
    let is_name = |name: &str| !name.is_empty() && name.len() <= 100 && !name.contains('/');
    if is_name(user) && is_name(name) {
        return Ok(format!("{user}/{name}").into());
    }
    Err(Refusal::new(StatusCode::BAD_REQUEST, "names have 1 to 100 bytes and no slash"))
}

// --- the handlers ---

#[derive(Deserialize)]
struct NewLetter {
    to: String,
    #[serde(default)]
    delay_ms: u64,
}

#[derive(Deserialize)]
struct NewAnswer {
    question: String,
    answer: Value,
}

// <handlers>
/// `PUT /users/ada/letters/first {"to": "Grace"}`. A client that does not know whether it was heard sends it again.
async fn begin(
    Shared(service): Shared<Service>,
    Path((user, name)): Path<(String, String)>,
    Json(new): Json<NewLetter>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let id = thread_id(&user, &name)?;
    let known = ThreadInfo::read(&*service.store, &id).await?;
    if known.is_some_and(|info| info.status != StatusKind::New) {
        return Ok((StatusCode::OK, service.show(id).await?));
    }
    service.store(id.clone(), Request::input(Letter::update().to(new.to).delay_ms(new.delay_ms))).await?;
    Ok((StatusCode::ACCEPTED, service.show(id).await?))
}

/// `POST /users/ada/letters/first/answers {"question": "35b63513-3-0-0", "answer": true}`
async fn answer(
    Shared(service): Shared<Service>,
    Path((user, name)): Path<(String, String)>,
    Json(new): Json<NewAnswer>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let id = thread_id(&user, &name)?;
    let question = new.question.parse().map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, error))?;
    let answer = Answer::json(&new.answer).to(question).by(user);
    service.store(id.clone(), Request::answers([answer])).await?;
    Ok((StatusCode::ACCEPTED, service.show(id).await?))
}
// </handlers>

/// `GET /users/ada/letters`
async fn list(Shared(service): Shared<Service>, Path(user): Path<String>) -> Result<Json<Vec<ThreadInfo>>, Refusal> {
    thread_id(&user, "any")?;
    Ok(Json(ThreadFilter::new().prefix(format!("{user}/")).page(&*service.store).await?.threads))
}

/// `GET /users/ada/letters/first`
async fn show(
    Shared(service): Shared<Service>,
    Path((user, name)): Path<(String, String)>,
) -> Result<Json<Value>, Refusal> {
    service.show(thread_id(&user, &name)?).await
}

/// `GET /users/ada/letters/first/wait`
async fn wait(
    Shared(service): Shared<Service>,
    Path((user, name)): Path<(String, String)>,
) -> Result<Json<Value>, Refusal> {
    let id = thread_id(&user, &name)?;
    tokio::select! {
        stopped = service.stopped(&id) => stopped?,
        () = service.stop.cancelled() => {}
        () = sleep(PATIENCE) => {}
    }
    service.show(id).await
}

fn routes(service: Service) -> Router {
    Router::new()
        .route("/users/{user}/letters", get(list))
        .route("/users/{user}/letters/{name}", get(show).put(begin))
        .route("/users/{user}/letters/{name}/wait", get(wait))
        .route("/users/{user}/letters/{name}/answers", post(answer))
        .with_state(service)
}

// <refusal>
/// The reason why a request is refused.
struct Refusal(StatusCode, Value);

impl From<RunError> for Refusal {
    fn from(error: RunError) -> Self {
        let status = match &error {
            RunError::UnknownQuestion { .. } => StatusCode::NOT_FOUND,
            RunError::AlreadyAnswered { .. } | RunError::Unfinished { .. } => StatusCode::CONFLICT,
            RunError::Checkpoint(CheckpointError::ThreadBusy { .. }) => StatusCode::CONFLICT,
            RunError::MistypedAnswer { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            _ => return Self::internal(error),
        };
        Self(status, json!(error)) // error, kind, causes, help
    }
}
// </refusal>

impl Refusal {
    fn new(status: StatusCode, error: impl ToString) -> Self {
        Self(status, json!({ "error": error.to_string() }))
    }

    /// Logs an internal error without showing its details to the client.
    fn internal(error: impl Error) -> Self {
        eprintln!("error: {error}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the service failed")
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, Json(self.1)).into_response()
    }
}

// --- the process ---

// <process>
/// Notifies the user: a service of your own sends mail here, or pushes.
async fn notify(asked: RunnerQuestion) {
    println!("{} asks {}: {}", asked.thread, asked.question.id(), asked.question.json());
}

async fn serve(address: &str, store: &str) -> Result<(), Box<dyn Error>> {
    let store: Arc<dyn Checkpointer> = Arc::new(SledCheckpointer::open(store).map_err(RunError::from)?);
    let graph = graph()?.with_shared_checkpointer(Arc::clone(&store));
    let (stops, stop) = (watch::Sender::new(0), CancellationToken::new());
    let counted = stops.clone();
    let runner = runner([graph.clone()]).max_threads(64).grace(PATIENCE).on_question(notify).on_stop(move |_| {
        counted.send_modify(|count| *count += 1);
        std::future::ready(())
    });
    let writes = TaskTracker::new();
    let service = Service { graph, store, runner: runner.waker(), stops, writes: writes.clone(), stop: stop.clone() };
    let listener = TcpListener::bind(address).await?;
    cancel_on_signal(stop.clone())?;
    println!("listening on {}", listener.local_addr()?);
    let (served, ran) = tokio::join!(listen(listener, routes(service), stop.clone()), run(runner, stop));
    writes.close();
    writes.wait().await;
    println!("stopped after {} turns", ran?.turns);
    Ok(served?)
}

/// Takes no new connections once the token is cancelled, and gives requests under way some time.
async fn listen(listener: TcpListener, routes: Router, stop: CancellationToken) -> std::io::Result<()> {
    let _guard = stop.clone().drop_guard();
    let served = axum::serve(listener, routes).with_graceful_shutdown(stop.clone().cancelled_owned());
    tokio::select! {
        served = served.into_future() => served,
        () = async { stop.cancelled().await; sleep(PATIENCE).await } => Ok(()),
    }
}

/// Runs the threads until the token is cancelled. A store that cannot be read ends the service.
async fn run(runner: Runner, stop: CancellationToken) -> Result<RunnerReport, RunError> {
    let _guard = stop.clone().drop_guard();
    runner.run(stop).await
}
// </process>

/// Cancels the token on Ctrl-C, and on SIGTERM where there is one. From the return on, neither ends the process at once.
#[cfg(unix)]
fn cancel_on_signal(stop: CancellationToken) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::spawn(async move {
        tokio::select! { _ = terminate.recv() => {} _ = interrupt.recv() => {} }
        stop.cancel();
    });
    Ok(())
}

#[cfg(windows)]
fn cancel_on_signal(stop: CancellationToken) -> std::io::Result<()> {
    let mut interrupt = tokio::signal::windows::ctrl_c()?;
    tokio::spawn(async move {
        interrupt.recv().await;
        stop.cancel();
    });
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (address, store) = (words.next(), words.next());
    let address = address.as_deref().unwrap_or("127.0.0.1:8080");
    let Err(error) = serve(address, store.as_deref().unwrap_or("letters.sled")).await else { return ExitCode::SUCCESS };
    eprintln!("error: {error}");
    if let Some(help) = error.downcast_ref::<RunError>().and_then(RunError::help) {
        eprintln!(" help: {help}");
    }
    ExitCode::FAILURE
}
