//! `superstep serve` in the directory of a project: plans that are started and approved over HTTP.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use rstest::rstest;
use serde_json::{Value, json};

use crate::place::Place;

/// A server in a folder, which ends with it.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn at(place: &Place) -> Self {
        let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, address: line.trim().strip_prefix("listening on ").unwrap().to_owned() }
    }

    /// Runs a graph on the thread `t` until it stops; returns the status and the body.
    async fn wait(&self, request: Value) -> (u16, Value) {
        let url = format!("{}/threads/t/runs/wait", self.address);
        let sent = reqwest::Client::new().post(url).json(&request).send().await.unwrap();
        (sent.status().as_u16(), sent.json().await.unwrap())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn start(graph: &str, input: &Value) -> Value {
    json!({ "assistant_id": graph, "if_not_exists": "create", "input": input })
}

#[rstest]
#[case("tasks")]
#[case("phases")]
#[tokio::test]
async fn a_plan_is_started_and_approved_over_http(#[case] graph: &str) {
    let place = Place::new("");
    let server = Served::at(&place);
    let input = json!({ "plan": "PLAN.md", "profile": "p.toml", "dir": "repo" });
    let (status, stopped) = server.wait(start(graph, &input)).await;
    assert_eq!((status, &stopped["__interrupt__"][0]["superstep"]["name"]), (200, &json!("approval")), "{stopped}");
    assert_eq!(place.json(&["status", "t"])["status"], "interrupted");

    let (_, done) = server.wait(json!({ "assistant_id": graph, "command": { "resume": "approve" } })).await;
    assert_eq!(done["outcome"], "completed", "{done}");
    assert!(place.subjects("superstep/t").iter().any(|subject| subject.contains("Hands")));
    assert_eq!(place.json(&["threads"])[0]["status"], "finished");

    let (status, refused) = server.wait(start(graph, &input)).await;
    let detail = format!("the thread `t` has its input, and the graph `{graph}` takes one: create another thread");
    assert_eq!((status, refused), (409, json!({ "detail": detail })));
}

#[tokio::test]
async fn an_answer_stored_by_a_command_resumes_a_thread_of_the_server() {
    let place = Place::new("");
    let server = Served::at(&place);
    server.wait(start("tasks", &json!({ "plan": "PLAN.md", "profile": "p.toml", "dir": "repo" }))).await;
    let stored = place.call(&["approve", "t", "--record-only"]);
    assert_eq!(stored.code(), 0, "{}", stored.text());
    // The server picks the thread up by itself; a run without input waits behind that.
    while place.json(&["status", "t"])["status"] != "finished" {
        tokio::task::yield_now().await;
    }
    let (_, done) = server.wait(json!({ "assistant_id": "tasks", "input": null })).await;
    assert_eq!(done["outcome"], "completed", "{done}");
}

#[rstest]
#[case::unknown("tasks", json!({ "plna": "PLAN.md" }), "input: there is no field `plna`: the fields are plan, issue, profile,")]
#[case::no_file("tasks", json!({ "plan": "NONE.md", "profile": "p.toml" }), "input: NONE.md: ")]
#[case::not_a_flag("tasks", json!({ "stay": "yes" }), "input: `stay` is true or false")]
#[case::no_text("tasks", json!({ "profile": {} }), "input: `profile` is a text or a number")]
#[case::dry("tasks", json!({ "plan": "PLAN.md", "dir": "repo", "dry_run": true }), "input: it asks for a text in the place of a run")]
#[case::missing("code-task", json!({}), "input: the following required arguments were not provided: --task <FILE>")]
#[tokio::test]
async fn an_input_that_is_no_command_line_is_refused(#[case] graph: &str, #[case] input: Value, #[case] detail: &str) {
    let place = Place::new("");
    let (status, refused) = Served::at(&place).wait(start(graph, &input)).await;
    let shown = refused["detail"].as_str().unwrap();
    assert_eq!((status, &shown[..detail.len().min(shown.len())]), (422, detail), "{refused}");
    assert_eq!(place.json(&["threads"]), json!([]));
}
