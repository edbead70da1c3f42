//! Restate as the engine: `runner --restate` and `--dispatch`, against a Restate server and a PostgreSQL of the tests' own.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rstest::rstest;
use serde_json::Value;

use crate::engine::{Restate, free_ports};
use crate::place::{Place, RunOutput};
use crate::server;

/// The longest time for something to happen.
const SOON: Duration = Duration::from_secs(30);

/// A program whose threads Restate runs.
struct Site {
    place: Place,
    restate: Restate,
}

/// A worker, which is killed at the end of the test.
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

impl Worker {
    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.0.id().to_string()]).status().unwrap().success());
    }
}

impl Site {
    /// Returns a site; `None` if the machine lacks a server.
    fn new() -> Option<Self> {
        Some(Self { restate: Restate::start()?, place: Place::on(server::new_store()?) })
    }

    fn worker(&self, name: &str) -> Worker {
        let [port] = free_ports();
        let (address, admin) = (format!("127.0.0.1:{port}"), self.restate.admin());
        let words = ["runner", "--restate", &address, "--admin", &admin, "--name", name];
        let worker = Worker(self.place.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let end = Instant::now() + SOON;
        while !self.deployments().contains(&format!("//{address}/")) {
            assert!(Instant::now() < end, "{name} does not register");
            std::thread::sleep(Duration::from_millis(20));
        }
        worker
    }

    /// Returns what Restate says of the workers that have registered.
    fn deployments(&self) -> String {
        let admin = self.restate.admin();
        let admin = admin.trim_start_matches("http://").trim_end_matches('/');
        let ask = || {
            let mut stream = TcpStream::connect(admin)?;
            write!(stream, "GET /deployments HTTP/1.1\r\nhost: {admin}\r\nconnection: close\r\n\r\n")?;
            let mut answer = vec![];
            stream.read_to_end(&mut answer)?;
            Ok::<_, std::io::Error>(String::from_utf8_lossy(&answer).into_owned())
        };
        ask().unwrap_or_default()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.place.command(words);
        command.env("SUPERSTEP_DISPATCH", format!("restate:{}", self.restate.ingress()));
        command
    }

    fn call(&self, words: &[&str]) -> RunOutput {
        RunOutput(self.command(words).output().unwrap())
    }

    /// Starts a run that waits in its first node, and returns once a worker runs it.
    fn begin(&self, thread: &str) -> Child {
        std::fs::write(self.place.path("busy"), "").unwrap();
        let mut command = self.command(&["run", "release", "1.2.0", "--thread", thread]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // The command itself holds the thread while it stores the request.
        self.wait_for(thread, |line| line["owner"]["pid"].as_u64().is_some_and(|pid| pid != u64::from(child.id())));
        child
    }

    /// Waits until the list shows a thread in some way.
    fn wait_for(&self, thread: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + SOON;
        loop {
            let list = self.place.json(0, &["threads"]);
            let found = list.as_array().unwrap().iter().find(|line| line["thread"] == thread).cloned();
            if let Some(line) = found.as_ref().filter(|line| is_so(line)) {
                return line.clone();
            }
            assert!(Instant::now() < end, "{thread}: {found:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn owner(&self, thread: &str) -> u64 {
        self.wait_for(thread, |line| line["owner"]["pid"].is_u64())["owner"]["pid"].as_u64().unwrap()
    }
}

#[test]
fn commands_have_the_same_ends_as_here() {
    let Some(site) = Site::new() else { return };
    let worker = site.worker("w1");
    let asked = site.call(&["run", "release", "1.2.0", "--thread", "r1"]);
    let here = Place::new().call(&["run", "release", "1.2.0", "--thread", "r1"]);
    assert_eq!(asked.code(), 10, "{}", asked.err());
    let report = |output: &RunOutput| {
        output.out().lines().skip_while(|line| !line.starts_with("r1:")).take(6).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(report(&asked), report(&here));
    let revised = site.call(&["revise", "r1", "--feedback", "less code"]);
    assert_eq!((revised.code(), revised.out().contains("built 1.2.0 with less code")), (10, true), "{}", revised.err());
    let dropped = site.call(&["reject", "r1", "--feedback", "no"]);
    assert_eq!(dropped.code(), 12, "{}{}", dropped.out(), dropped.err());

    std::fs::write(site.place.path("broken"), "").unwrap();
    let failed = site.call(&["run", "release", "1.2.0", "--thread", "r2"]);
    assert_eq!((failed.code(), failed.err().contains("broken is in the way")), (1, true), "{}", failed.err());
    std::fs::remove_file(site.place.path("broken")).unwrap();
    assert_eq!(site.call(&["proceed", "r2"]).code(), 10);
    let resumed = site.call(&["resume", "r2", "--answer", "\"ship\""]);
    assert_eq!((resumed.code(), resumed.out().contains("shipped 1.2.0")), (0, true), "{}", resumed.err());
    drop(worker);
}

#[test]
fn a_sleep_is_a_later_call_and_a_signal_wakes() {
    let Some(site) = Site::new() else { return };
    let worker = site.worker("w1");
    let nap = |thread: &str, input: &str| site.call(&["run", "nap", "--input", input, "--thread", thread]).code();
    assert_eq!(nap("short", r#"{"millis": 700, "rested": false, "on_call": false}"#), 14);
    assert_eq!(nap("long", r#"{"millis": 3600000, "rested": false, "on_call": true}"#), 14);
    site.wait_for("short", |line| line["status"] == "finished");
    let sent = site.call(&["signal", "long", "call", r#"{"by": "ada"}"#]);
    assert_eq!(sent.code(), 0, "{}", sent.err());
    site.wait_for("long", |line| line["status"] == "finished");
    drop(worker);
}

#[test]
fn a_run_is_cancelled_through_restate() {
    let Some(site) = Site::new() else { return };
    let worker = site.worker("w1");
    let mut run = site.begin("r1");
    let cancelled = site.call(&["cancel", "r1"]);
    assert_eq!(cancelled.code(), 0, "{}", cancelled.err());
    assert_eq!(run.wait().unwrap().code(), Some(13));
    site.place.idle();
    assert_eq!(site.place.json(0, &["status", "r1"])["status"], "pending");
    assert_eq!(site.call(&["proceed", "r1"]).code(), 10);
    drop(worker);
}

#[rstest]
#[case::killed("-KILL")]
#[case::asked_to_end("-TERM")]
fn another_worker_continues_a_run(#[case] signal: &str) {
    let Some(site) = Site::new() else { return };
    let first = site.worker("w1");
    let mut run = site.begin("r1");
    let owner = site.owner("r1");
    assert_eq!(owner, u64::from(first.0.id()));
    let second = site.worker("w2");
    site.wait_for_workers(2);
    first.signal(signal);
    if signal == "-KILL" {
        let taken = site.wait_for("r1", |line| line["owner"]["pid"].as_u64().is_some_and(|pid| pid != owner));
        assert_eq!(taken["owner"]["pid"].as_u64(), Some(u64::from(second.0.id())));
    }
    site.place.idle();
    assert_eq!(run.wait().unwrap().code(), Some(10));
    let shown = site.place.json(0, &["status", "r1"]);
    assert_eq!(shown["state"]["log"], serde_json::json!(["built 1.2.0"]));
}

impl Site {
    fn wait_for_workers(&self, count: usize) {
        let end = Instant::now() + SOON;
        while self.place.json(0, &["workers"]).as_array().unwrap().len() < count {
            assert!(Instant::now() < end);
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_question_and_a_sleep_outlive_worker_and_server() {
    let Some(mut site) = Site::new() else { return };
    let worker = site.worker("w1");
    assert_eq!(site.call(&["run", "release", "1.2.0", "--thread", "r1"]).code(), 10);
    let input = r#"{"millis": 1500, "rested": false, "on_call": false}"#;
    assert_eq!(site.call(&["run", "nap", "--input", input, "--thread", "n1"]).code(), 14);
    drop(worker);
    site.restate.kill();
    let lost = site.call(&["approve", "r1", "--json"]);
    assert_eq!((lost.code(), lost.err().contains("dispatch_failed")), (1, true), "{}{}", lost.out(), lost.err());
    site.restate.run();
    let worker = site.worker("w2");
    // The answer was stored, and a worker looks for calls that were lost.
    site.wait_for("r1", |line| line["status"] == "finished");
    site.wait_for("n1", |line| line["status"] == "finished");
    drop(worker);
}

#[test]
fn what_restate_needs_is_said() {
    let place = Place::new();
    let to = ["--dispatch", "restate:http://127.0.0.1:1"];
    let embedded = place.call(&[&["run", "release", "1.2.0"][..], &to].concat());
    assert_eq!((embedded.code(), embedded.err().contains("share")), (2, true), "{}", embedded.err());
    let embedded = place.call(&["runner", "--restate", "127.0.0.1:0"]);
    assert_eq!((embedded.code(), embedded.err().contains("share")), (2, true), "{}", embedded.err());
    for wrong in ["http://127.0.0.1:8080", "restate:"] {
        assert_eq!(place.call(&["threads", "--dispatch", wrong]).code(), 2, "{wrong}");
    }
    assert_eq!(place.call(&["runner", "--admin", "http://127.0.0.1:1"]).code(), 2);
    let Some(address) = server::new_store() else { return };
    let place = Place::on(address);
    let away = place.call(&[&["run", "release", "1.2.0", "--thread", "r1"][..], &to].concat());
    assert_eq!(away.code(), 1, "{}", away.err());
    insta::assert_snapshot!(away.err(), @r"
    error: Restate at http://127.0.0.1:1/ cannot be reached: Connection refused (os error 111)
     help: what you asked for is stored: a worker finds it within half a minute once it can be reached
    ");
    assert_eq!(place.json(0, &["status", "r1"])["status"], "pending");
    let tls = place.call(&["proceed", "r1", "--dispatch", "restate:https://restate.example"]);
    assert!(tls.err().contains("only `http://` is supported"), "{}", tls.err());
}
