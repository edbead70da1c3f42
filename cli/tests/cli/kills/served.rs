//! `superstep` killed while a model's server has its request: the unanswered request is sent again unchanged, and no
//! other.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::Place;
use crate::model_server::{Answer, Hang, How, ModelServer, Request, When};

fn when(offers: &str, result: Option<&str>, contains: Option<&str>) -> When {
    let text = |text: &str| text.to_owned();
    When { offers: Some(text(offers)), result: result.map(text), contains: contains.map(text), ..When::default() }
}

/// A developer who writes a file and submits it; a reviewer who approves.
fn answers() -> Vec<Answer> {
    let done = json!({"status": "done", "summary": "did", "files": []});
    let fine = json!({"approved": true, "severity": "none", "summary": "fine"});
    let part = |task: u32| {
        let call = json!({"path": format!("part-{task}.txt"), "content": "x\n"});
        let first = format!("Task {task}, {task} of 2");
        Answer::call("write", call).when(when("submit_work", None, Some(&first)))
    };
    let submit = |tool: &str, result, value: &Value| Answer::call(tool, value.clone()).when(when(tool, result, None));
    let all = [
        submit("submit_work", Some(""), &done),
        part(1),
        part(2),
        submit("submit_review", None, &fine),
        submit("submit_final_review", None, &fine),
    ];
    all.map(Answer::always).into()
}

/// Starts a server that leaves every other request without an answer, starting with the first.
async fn silent_every_other_time() -> ModelServer {
    let deaf = |nth: usize| {
        let how = How { hang: Some(Hang::Silent), ..How::default() };
        Answer::default().how(how).when(When { nth: Some(2 * nth), ..When::default() })
    };
    let answers = (0..50).map(deaf).chain(answers()).collect();
    ModelServer::start(crate::model_server::Scenario { answers }).await
}

struct ServedRun {
    place: Place,
    server: ModelServer,
}

impl ServedRun {
    fn by(server: ModelServer) -> Self {
        let place = Place::new("");
        place.write("p.toml", "driver = 'api'\nmodel = 'm'\n");
        Self { place, server }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.place.command(words);
        command.env("OPENAI_BASE_URL", self.server.url()).env("OPENAI_API_KEY", "sk-x");
        command
    }

    async fn code(&self, words: &[&str]) -> Option<i32> {
        let mut command = self.command(words);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        output.status.code()
    }

    async fn begin(&self) {
        let words = ["run", "tasks", "--dir", "repo", "--profile", "p.toml", "--thread", "t", "--plan", "PLAN.md"];
        assert_eq!(self.code(&words).await, Some(10));
    }

    fn spawn(&self, words: &[&str]) -> Child {
        self.command(words).stdout(Stdio::null()).spawn().unwrap()
    }

    fn end(&self) -> String {
        self.place.git(&["log", "--format=%T %B", "superstep/t"])
    }

    /// Returns the requests as they were sent, in order.
    fn requests(&self) -> Vec<Value> {
        let steady = |request: Request| {
            let text = request.body.to_string().replace(&self.place.0.path().display().to_string(), "PLACE");
            serde_json::from_str(&text).unwrap()
        };
        self.server.requests().into_iter().map(steady).collect()
    }
}

#[tokio::test]
async fn the_request_without_an_answer_is_sent_again_and_no_other() {
    let whole = ServedRun::by(ModelServer::start(crate::model_server::Scenario { answers: answers() }).await);
    whole.begin().await;
    assert_eq!(whole.code(&["approve", "t"]).await, Some(0));
    let expected = whole.requests();
    assert_eq!(expected.len(), 7);

    let run = ServedRun::by(silent_every_other_time().await);
    run.begin().await;
    let mut words = ["approve", "t"];
    for nth in 0..expected.len() {
        let mut child = run.spawn(&words);
        let received = tokio::time::timeout(Duration::from_secs(120), run.server.wait_for(2 * nth + 1)).await;
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(received.is_ok(), "request {nth} was not made");
        words[0] = "proceed";
    }
    assert_eq!(run.code(&words).await, Some(0));
    let twice: Vec<Value> = expected.iter().flat_map(|request| [request.clone(), request.clone()]).collect();
    assert_eq!(run.requests(), twice);
    assert_eq!(run.end(), whole.end());
}
