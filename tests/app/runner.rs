//! A runner over a store: the threads it resumes, those it leaves alone, and its report.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use superstep::checkpoint::Checkpointer;
use superstep::graph::runner::{RunnerReport, Until};
use superstep::graph::{CancellationToken, StatusKind, runner};
use superstep::prelude::*;

use crate::place::Place;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Job {
    kind: String,
    #[channel(append)]
    log: Vec<String>,
}

#[derive(NodeId)]
enum Step {
    Begin,
    Left,
    Right,
    End,
}

#[derive(Serialize, Deserialize)]
struct Sure(String);
impl Interrupt for Sure {
    type Resume = bool;
    const NAME: &'static str = "sure";
}

async fn begin(job: Arc<Job>, ctx: Ctx) -> Result<JobUpdate, NodeError> {
    match job.kind.as_str() {
        "fails" => return Err("it fails".into()),
        "naps" => ctx.sleep(Duration::from_secs(3600)).await?,
        "hangs" => std::future::pending().await,
        "slow" => tokio::time::sleep(Duration::from_secs(5)).await,
        _ => {}
    }
    Ok(Job::update().log(["began".to_owned()]))
}
async fn left(job: Arc<Job>, ctx: Ctx) -> Result<JobUpdate, NodeError> {
    ask(job, ctx, "left").await
}
async fn right(job: Arc<Job>, ctx: Ctx) -> Result<JobUpdate, NodeError> {
    ask(job, ctx, "right").await
}
async fn ask(job: Arc<Job>, ctx: Ctx, side: &str) -> Result<JobUpdate, NodeError> {
    if job.kind != "asks" {
        return Ok(Job::update());
    }
    let sure = ctx.interrupt(Sure(side.into()))?;
    Ok(Job::update().log([format!("{side}: {sure}")]))
}
async fn end(_: Arc<Job>, _: Ctx) -> Result<JobUpdate, NodeError> {
    Ok(Job::update().log(["ended".to_owned()]))
}

type Jobs = CompiledGraph<Job, Step>;

fn jobs() -> Jobs {
    let graph = StateGraph::new()
        .add_node(Step::Begin, begin)
        .add_node(Step::Left, left.asks::<Sure>())
        .add_node(Step::Right, right.asks::<Sure>())
        .add_node(Step::End, end)
        .add_edge(START, Step::Begin)
        .add_edge(Step::Begin, [Step::Left, Step::Right])
        .add_edge([Step::Left, Step::Right], Step::End);
    let store: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
    graph.compile().unwrap().named("job").with_shared_checkpointer(store)
}

/// Starts a thread and leaves it after one superstep, as a crash does.
async fn crashed(graph: &Jobs, name: &str, kind: &str) {
    let _ = graph.thread(name).max_supersteps(1).invoke(Job::update().kind(kind)).await;
}

async fn standing(graph: &Jobs, name: &str) -> StatusKind {
    graph.thread(name).status().await.unwrap().kind()
}

fn counts(report: &RunnerReport) -> (u64, u64, Vec<(StatusKind, u64)>) {
    (report.turns, report.errors, report.ended.clone().into_iter().collect())
}

#[tokio::test]
async fn crashed_threads_are_resumed() {
    let graph = jobs();
    for number in 0..20 {
        crashed(&graph, &format!("t{number}"), "ends").await;
    }
    let report = runner([graph.clone()]).max_threads(3).run(Until::Idle).await.unwrap();
    assert_eq!(counts(&report), (20, 0, vec![(StatusKind::Finished, 20)]));
    assert_eq!(standing(&graph, "t19").await, StatusKind::Finished);
    let again = runner([graph]).run(Until::Idle).await.unwrap();
    assert_eq!(again, RunnerReport::default());
}

#[tokio::test(start_paused = true)]
async fn a_token_ends_a_runner_that_waits_for_idle() {
    let graph = jobs();
    let hangs = graph.thread("t");
    let _ = tokio::time::timeout(Duration::from_secs(5), hangs.invoke(Job::update().kind("hangs"))).await;
    let (stop, run) = (CancellationToken::new(), runner([graph.clone()]).grace(Duration::from_secs(1)));
    let (run, soon) = (run.stop_with(stop.clone()), stop.clone());
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        soon.cancel();
    });
    let report = tokio::time::timeout(Duration::from_secs(60), run.run(Until::Idle)).await.expect("it does not end");
    assert_eq!(report.unwrap().turns, 1);
}

#[rstest::rstest]
#[case::in_time("slow", 5, 1)]
#[case::never("hangs", 11, 0)]
#[tokio::test(start_paused = true)]
async fn runs_may_end_their_superstep_in_the_grace_period(
    #[case] kind: &str,
    #[case] seconds: u64,
    #[case] supersteps: usize,
) {
    let (graph, start) = (jobs(), tokio::time::Instant::now());
    graph.thread("t").max_supersteps(0).invoke(Job::update().kind(kind)).await.unwrap();
    let run = runner([graph.clone()]).grace(Duration::from_secs(10));
    let report = run.run(Until::For(Duration::from_secs(1))).await.unwrap();
    assert_eq!((counts(&report), start.elapsed().as_secs()), ((1, 0, vec![(StatusKind::Pending, 1)]), seconds));
    assert_eq!(graph.thread("t").state().await.unwrap().unwrap().values.log.len(), supersteps);
}

#[tokio::test]
async fn a_stored_answer_is_used_while_another_question_is_open() {
    let graph = jobs();
    crashed(&graph, "t", "asks").await;
    let reported = Arc::new(Mutex::new(vec![]));
    let sink = Arc::clone(&reported);
    let run = runner([graph.clone()]).on_question(move |question| {
        sink.lock().unwrap().push(question.question);
        async {}
    });
    assert_eq!(counts(&run.run(Until::Idle).await.unwrap()), (1, 0, vec![(StatusKind::Interrupted, 1)]));
    let questions = std::mem::take(&mut *reported.lock().unwrap());
    assert_eq!(questions.len(), 2);
    let store_only = graph.thread("t").max_supersteps(0);
    store_only.answer(Answer::json(&true.into()).to(questions[0].id())).await.unwrap();
    let report = run.run(Until::Idle).await.unwrap();
    assert_eq!(report.turns, 1, "its task runs although the other still asks");
    assert_eq!(reported.lock().unwrap().len(), 1);
    store_only.answer(Answer::json(&false.into()).to(questions[1].id())).await.unwrap();
    assert_eq!(counts(&run.run(Until::Idle).await.unwrap()), (1, 0, vec![(StatusKind::Finished, 1)]));
    let state = graph.thread("t").state().await.unwrap().unwrap();
    assert_eq!(state.values.log, ["began", "left: true", "right: false", "ended"]);
}

#[tokio::test]
async fn a_sleeping_thread_resumes_at_its_wake_time() {
    let graph = jobs();
    let millis = Arc::new(AtomicU64::new(1_000_000));
    let clock = {
        let millis = Arc::clone(&millis);
        move || -> SystemTime { UNIX_EPOCH + Duration::from_millis(millis.load(Ordering::SeqCst)) }
    };
    graph.thread("t").clock(clock.clone()).invoke(Job::update().kind("naps")).await.unwrap();
    let run = runner([graph.clone()]).clock(clock);
    let report = run.run(Until::Idle).await.unwrap();
    assert_eq!((report.turns, report.wake), (0, Some(UNIX_EPOCH + Duration::from_millis(4_600_000))));
    millis.store(4_600_001, Ordering::SeqCst);
    let report = run.run(Until::Idle).await.unwrap();
    assert_eq!(counts(&report), (1, 0, vec![(StatusKind::Finished, 1)]));
}

#[tokio::test]
async fn a_failed_thread_is_not_retried() {
    let graph = jobs();
    graph.thread("t").max_supersteps(0).invoke(Job::update().kind("fails")).await.unwrap();
    let stops = Arc::new(Mutex::new(vec![]));
    let sink = Arc::clone(&stops);
    let run = runner([graph.clone()]).on_stop(move |stop| {
        sink.lock().unwrap().push(serde_json::to_value(&stop).unwrap());
        async {}
    });
    assert_eq!(counts(&run.run(Until::Idle).await.unwrap()), (1, 1, vec![(StatusKind::Failed, 1)]));
    assert_eq!(run.run(Until::Idle).await.unwrap().turns, 0);
    let stops = stops.lock().unwrap();
    assert_eq!((&stops[0]["thread"], &stops[0]["status"]), (&"t".into(), &"failed".into()));
    assert_eq!(stops[0]["error"]["error"], "node `Begin` failed in superstep 1: it fails");
}

#[tokio::test]
async fn a_thread_at_a_breakpoint_is_not_resumed() {
    let store: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
    let graph = StateGraph::new().add_node(Step::Begin, begin).add_node(Step::Left, left.asks::<Sure>());
    let graph = graph.add_node(Step::Right, right.asks::<Sure>()).add_node(Step::End, end);
    let graph = graph.add_sequence([Step::Begin, Step::Left, Step::Right, Step::End]).interrupt_before([Step::Left]);
    let graph = graph.compile().unwrap().named("job").with_shared_checkpointer(store);
    graph.thread("t").invoke(Job::update().kind("ends")).await.unwrap();
    let report = runner([graph.clone()]).run(Until::Idle).await.unwrap();
    assert_eq!((report.turns, standing(&graph, "t").await), (0, StatusKind::Stopped));
}

#[tokio::test]
async fn a_thread_without_progress_is_given_up() {
    let graph = jobs();
    crashed(&graph, "t", "ends").await;
    let stuck = graph.clone().recursion_limit(0);
    let report = runner([stuck]).max_resumes(2).run(Until::Idle).await.unwrap();
    assert_eq!((report.turns, report.errors, report.given_up), (2, 2, vec!["t".into()]));
    assert_eq!(runner([graph]).run(Until::Idle).await.unwrap().turns, 1);
}

#[tokio::test]
async fn a_runner_takes_new_work_until_it_is_stopped() {
    let graph = jobs();
    let ends = CancellationToken::new();
    let finished = ends.clone();
    let run = runner([graph.clone()]).poll_every(Duration::from_secs(3600)).on_stop(move |stop| {
        assert_eq!(stop.status.kind(), StatusKind::Finished);
        finished.cancel();
        async {}
    });
    let waker = run.waker();
    let running = tokio::spawn(async move { run.run(ends).await });
    crashed(&graph, "t", "ends").await;
    waker.wake();
    let report = running.await.unwrap().unwrap();
    assert_eq!(counts(&report), (1, 0, vec![(StatusKind::Finished, 1)]));
}

#[tokio::test]
async fn a_graph_without_a_store_is_refused() {
    let graph = StateGraph::<Job, Step>::new().add_node(Step::Begin, begin).add_node(Step::Left, left.asks::<Sure>());
    let graph = graph.add_node(Step::Right, right.asks::<Sure>()).add_node(Step::End, end);
    let graph = graph.add_sequence([Step::Begin, Step::Left, Step::Right, Step::End]).compile().unwrap();
    let error = runner([graph]).run(Until::Idle).await.unwrap_err();
    assert_eq!(error.to_string(), "a runner needs a checkpointer");
}

#[test]
fn the_command_resumes_answered_threads_and_calls_its_hooks() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    place.json(0, &["revise", "r1", "--feedback", "less code", "--record-only"]);
    let question_hook = "echo \"$SUPERSTEP_THREAD $SUPERSTEP_NAME: $SUPERSTEP_ANSWER\" > vars; cat > question";
    let hooks = ["--on-question", question_hook, "--on-stop", "cat >> stopped; exit 3"];
    let called = place.call(&[&["runner", "--until-idle"], &hooks[..]].concat());
    assert_eq!(called.code(), 0, "{}", called.err());
    assert_eq!(called.out(), "r1: interrupted\nresumed once\n  interrupted: 1\n");
    assert!(called.err().contains("exit status: 3"), "{}", called.err());
    let vars = std::fs::read_to_string(place.path("vars")).unwrap();
    assert!(vars.starts_with("r1 may_ship: ") && vars.trim().ends_with("approve r1 --record-only"), "{vars}");
    let question: Value = serde_json::from_str(&std::fs::read_to_string(place.path("question")).unwrap()).unwrap();
    assert_eq!((&question["thread"], &question["question"]["payload"]["version"]), (&"r1".into(), &"1.2.0".into()));
    let stopped: Value = serde_json::from_str(&std::fs::read_to_string(place.path("stopped")).unwrap()).unwrap();
    assert_eq!(stopped["status"], "interrupted");
    let idle = place.json(0, &["runner", "--until-idle"]);
    assert_eq!((&idle["turns"], &idle["wake"]), (&0.into(), &Value::Null));
}

#[test]
fn the_command_leaves_threads_of_unknown_graphs_alone_and_says_so_once() {
    let place = Place::new();
    place.store_foreign_thread("f1", 0);
    place.store_foreign_thread("f2", 0);
    let called = place.call(&["runner", "--for", "1s"]);
    assert_eq!((called.code(), called.out().as_str()), (0, "resumed 0 times\n"), "{}", called.err());
    let note = "note: this program has no graph `elsewhere`: its threads are left to other runners\n";
    assert_eq!(called.err(), note);
    let report = place.json(0, &["runner", "--until-idle"]);
    assert_eq!(report["unknown_graphs"], serde_json::json!({"elsewhere": 0}));
}

/// Serves one HTTP request with this status; returns the address and the received body.
fn web_hook(status: &'static str) -> (String, std::thread::JoinHandle<Value>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/secret-path", listener.local_addr().unwrap());
    let received = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut line, mut length) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).unwrap();
            if let Some(bytes) = line.to_lowercase().strip_prefix("content-length: ") {
                length = bytes.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        serde_json::from_slice(&body).unwrap()
    });
    (address, received)
}

#[test]
fn the_command_posts_to_web_addresses() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    place.json(0, &["revise", "r1", "--feedback", "less code", "--record-only"]);
    let ((question_hook, question), (stop_hook, stop)) =
        (web_hook("204 No Content"), web_hook("500 Internal Server Error"));
    let called = place.call(&["runner", "--until-idle", "--on-question", &question_hook, "--on-stop", &stop_hook]);
    assert_eq!((called.code(), called.out().lines().next()), (0, Some("r1: interrupted")), "{}", called.err());
    let (question, stop) = (question.join().unwrap(), stop.join().unwrap());
    assert_eq!((&question["thread"], &question["question"]["name"]), (&"r1".into(), &"may_ship".into()), "{question}");
    assert!(question["question"]["commands"][0].as_str().unwrap().contains("approve r1"), "{question}");
    assert_eq!((&stop["thread"], &stop["status"]), (&"r1".into(), &"interrupted".into()), "{stop}");
    let log = called.err();
    assert!(log.contains("hook") && log.contains("500") && !log.contains("secret-path"), "{log}");
}

#[test]
fn the_command_stops_after_a_time() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    assert_eq!(place.json(0, &["runner", "--for", "1s"])["turns"], 0);
    for wrong in [&["--for", "soon"][..], &["--for", "1s", "--until-idle"]] {
        assert_eq!(place.call(&[&["runner"], wrong].concat()).code(), 2, "{wrong:?}");
    }
}

#[test]
fn the_command_takes_answers_while_it_runs() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    let mut command = place.command(&["runner", "--max-threads", "2"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    place.json(0, &["approve", "r1", "--record-only"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "r1: finished");
    assert_eq!(place.json(0, &["status", "r1"])["status"], "finished");
    interrupt(&child);
    assert_eq!(lines.next().unwrap(), "resumed once");
    assert!(child.wait().unwrap().success());
}

/// Sends SIGINT, as Ctrl-C does.
fn interrupt(child: &Child) {
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn requests_are_stored_for_a_runner() {
    let place = Place::new();
    let queued = place.call(&["run", "release", "1.2.0", "--thread", "q", "--queue"]);
    assert_eq!((queued.code(), queued.out().lines().last()), (0, Some("q")), "{}", queued.err());
    assert_eq!(place.json(0, &["status", "q"])["status"], "pending");
    assert_eq!(place.call(&["runner", "--until-idle"]).out().lines().next(), Some("q: interrupted"));

    let refused = place.call(&["resume", "q", "--answer", "7", "--queue"]);
    assert_ne!(refused.code(), 0, "{}", refused.out());
    let queued = place.call(&["revise", "q", "--feedback", "less code", "--queue"]);
    assert_eq!((queued.code(), queued.out().lines().last()), (0, Some("q")), "{}", queued.err());
    assert_eq!(place.call(&["runner", "--until-idle"]).out().lines().next(), Some("q: interrupted"));

    place.json(0, &["approve", "q", "--queue"]);
    assert_eq!(place.call(&["runner", "--until-idle"]).out().lines().next(), Some("q: finished"));
    assert_eq!(place.json(0, &["threads"])[0].get("requested_at"), None);
    place.json(0, &["proceed", "q", "--queue"]); // as without it: there is nothing to run
    assert_eq!(place.json(0, &["runner", "--until-idle"])["turns"], 0);
    assert_eq!(place.call(&["proceed", "q", "--wait"]).code(), 2);
}

/// Sends an HTTP request, and returns the answer.
fn request(address: &str, request: &str) -> String {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nhost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_command_serves_its_numbers() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    let mut command = place.command(&["runner", "--metrics", "127.0.0.1:0"]);
    let mut runner = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let note = BufReader::new(runner.stderr.take().unwrap()).lines().next().unwrap().unwrap();
    let address = note.strip_prefix("metrics: http://").unwrap().strip_suffix("/metrics").unwrap();
    let before = request(address, "GET /metrics");
    assert!(before.starts_with("HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4"), "{before}");
    assert!(before.contains("superstep_claims_total{graph=\"release\"} 0\n"), "{before}");

    place.json(0, &["approve", "r1", "--record-only"]);
    let mut lines = BufReader::new(runner.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "r1: finished");
    let after = request(address, "GET /metrics?now");
    for line in [
        "superstep_threads_running{graph=\"release\"} 0",
        "superstep_claims_total{graph=\"release\"} 1",
        "superstep_turns_total{graph=\"release\",status=\"finished\"} 1",
        "superstep_supersteps_total{graph=\"release\"} 2",
        "superstep_leases_lost_total{graph=\"release\"} 0",
        "superstep_due_delay_seconds_count{graph=\"release\"} 1",
        "superstep_commit_seconds_bucket{graph=\"release\",le=\"+Inf\"} 2",
        "superstep_claims_total{graph=\"nap\"} 0",
    ] {
        assert!(after.contains(&format!("\n{line}\n")), "{line}: {after}");
    }
    assert!(request(address, "GET /").starts_with("HTTP/1.1 404 "));
    assert!(request(address, "POST /metrics").starts_with("HTTP/1.1 405 "));
    assert!(request(address, "HEAD /metrics").ends_with("\r\n\r\n"));

    let taken = place.call(&["runner", "--until-idle", "--metrics", address, "--store", "other"]);
    assert!(taken.code() == 1 && taken.err().contains("cannot listen at 127.0.0.1:"), "{}", taken.err());
    interrupt(&runner);
    assert!(runner.wait().unwrap().success());
}
