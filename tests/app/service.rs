//! The service of the guide, as its users use it: a process with an HTTP interface, killed and restarted.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rstest::rstest;
use serde_json::{Value, json};

use crate::place::example;

/// A service on a free port; killed when dropped.
struct Service {
    child: Child,
    output: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Service {
    /// Starts the service over a store.
    fn start(place: &Path) -> Self {
        let mut command = example("service");
        let words = ["127.0.0.1:0", "letters.sled"];
        let mut child = command.args(words).current_dir(place).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("it said {line:?}"));
        Self { address: address.parse().unwrap(), child, output }
    }

    /// Sends a request and returns the connection, which is not read yet.
    fn send(&self, request: &str, body: &Value) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head =
            format!("{request} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json");
        write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        stream
    }

    fn ask(&self, request: &str, body: Value) -> (u16, Value) {
        let mut answer = String::new();
        self.send(request, &body).read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or_else(|_| body.into()))
    }

    fn get(&self, path: &str) -> Value {
        self.ask(&format!("GET {path}"), Value::Null).1
    }

    /// Waits until a letter interrupts, and returns the id of its question.
    fn question(&self, letter: &str) -> String {
        let waiting = self.get(&format!("{letter}/wait"));
        waiting["questions"][0]["id"].as_str().unwrap_or_else(|| panic!("no question: {waiting}")).to_owned()
    }

    fn answer(&self, letter: &str, question: &str, answer: Value) -> (u16, Value) {
        self.ask(&format!("POST {letter}/answers"), json!({ "question": question, "answer": answer }))
    }

    /// Terminates the service and returns its output.
    fn stop(mut self) -> String {
        assert!(Command::new("kill").arg(self.child.id().to_string()).status().unwrap().success());
        let mut output = String::new();
        self.output.read_to_string(&mut output).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{output}");
        output
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const ADA: &str = "/users/ada/letters/first";
const BOB: &str = "/users/bob/letters/first";

fn create(service: &Service, letter: &str, delay_ms: u64) -> u16 {
    service.ask(&format!("PUT {letter}"), json!({ "to": "Grace", "delay_ms": delay_ms })).0
}

#[test]
fn each_user_is_asked_and_answers_over_http() {
    let place = tempfile::tempdir().unwrap();
    let service = Service::start(place.path());
    assert_eq!((create(&service, ADA, 0), create(&service, BOB, 0), create(&service, BOB, 0)), (202, 202, 200));
    let (ada, bob) = (service.question(ADA), service.question(BOB));
    assert_eq!(service.get(ADA)["questions"][0]["payload"], json!({ "text": "Dear Grace, the tide is at nine." }));
    assert_eq!(service.answer(ADA, &ada, true.into()).0, 202);
    assert_eq!(service.answer(BOB, &bob, false.into()).0, 202);
    let letters = [ADA, BOB].map(|letter| service.get(&format!("{letter}/wait")));
    assert_eq!(
        letters.map(|letter| (letter["status"].clone(), letter["state"]["is_sent"].clone())),
        [("finished".into(), true.into()), ("finished".into(), false.into())]
    );
    let listed = service.get("/users/ada/letters");
    assert_eq!(
        listed.as_array().unwrap().iter().map(|letter| letter["thread"].clone()).collect::<Vec<_>>(),
        ["ada/first"]
    );
    let output = service.stop();
    assert_eq!(output.lines().filter(|line| line.starts_with("sent: ")).count(), 1, "{output}");
}

#[test]
fn accepted_letters_survive_a_kill_and_a_sleeper_resumes() {
    let place = tempfile::tempdir().unwrap();
    for delay_ms in [0, 700] {
        let letter = format!("/users/ada/letters/{delay_ms}");
        let killed = Service::start(place.path());
        assert_eq!(create(&killed, &letter, delay_ms), 202);
        drop(killed);
        let killed = Service::start(place.path());
        let question = killed.question(&letter);
        assert_eq!(killed.answer(&letter, &question, true.into()).0, 202);
        drop(killed);
        let service = Service::start(place.path());
        let sent = service.get(&format!("{letter}/wait"));
        assert_eq!((&sent["status"], &sent["state"]["is_sent"]), (&"finished".into(), &true.into()), "{sent}");
        service.stop();
    }
}

#[test]
fn a_client_that_hangs_up_cancels_nothing() {
    let place = tempfile::tempdir().unwrap();
    let service = Service::start(place.path());
    let letters: Vec<String> = (0..20).map(|number| format!("/users/ada/letters/{number}")).collect();
    for letter in &letters {
        // Until the server has read the whole request, a client cannot know that it was accepted, and repeats it.
        until(|| {
            drop(service.send(&format!("PUT {letter}"), &json!({ "to": "Grace" })));
            service.ask(&format!("GET {letter}"), Value::Null).0 == 200
        });
        drop(service.send(&format!("GET {letter}/wait"), &Value::Null));
    }
    for letter in &letters {
        let question = service.question(letter);
        until(|| {
            let body = json!({ "question": question, "answer": true });
            drop(service.send(&format!("POST {letter}/answers"), &body));
            service.get(letter)["status"] != "interrupted"
        });
    }
    for letter in &letters {
        assert_eq!(service.get(&format!("{letter}/wait"))["state"]["is_sent"], true);
    }
    let output = service.stop();
    assert_eq!(output.lines().filter(|line| line.starts_with("sent: ")).count(), letters.len(), "{output}");
}

#[test]
fn a_service_that_ends_answers_waiting_clients_and_keeps_its_threads() {
    let place = tempfile::tempdir().unwrap();
    let service = Service::start(place.path());
    create(&service, ADA, 3_600_000);
    let question = service.question(ADA);
    service.answer(ADA, &question, true.into());
    until(|| service.get(ADA)["status"] == "waiting");
    service.stop();
    let mut answer = String::new();
    // A connection is reset if the service ends before it has read the request.
    until(|| {
        let service = Service::start(place.path());
        let mut waits = service.send(&format!("GET {ADA}/wait"), &Value::Null);
        service.stop();
        waits.read_to_string(&mut answer).is_ok_and(|bytes| bytes > 0)
    });
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains(r#""status":"waiting""#), "{answer}");
    assert_eq!(Service::start(place.path()).get(ADA)["status"], "waiting");
}

#[rstest]
#[case::no_letter("GET /users/ada/letters/none", Value::Null, 404, "there is no such letter")]
#[case::no_letter_to_wait_for("GET /users/ada/letters/none/wait", Value::Null, 404, "there is no such letter")]
#[case::a_slash("GET /users/ada%2Fx/letters/first", Value::Null, 400, "names have 1 to 100 bytes and no slash")]
#[case::no_id(
    "POST /users/ada/letters/first/answers",
    json!({ "question": "q", "answer": true }),
    400,
    "`q` is not the id of a question"
)]
#[case::no_question(
    "POST /users/ada/letters/first/answers",
    json!({ "question": "00000000-3-0-0", "answer": true }),
    404,
    "there is no pending question 00000000-3-0-0"
)]
fn a_refused_request_has_a_reason(
    #[case] request: &str,
    #[case] body: Value,
    #[case] status: u16,
    #[case] error: &str,
) {
    let place = tempfile::tempdir().unwrap();
    let service = Service::start(place.path());
    create(&service, ADA, 0);
    service.question(ADA);
    let (code, answer) = service.ask(request, body);
    assert_eq!((code, &answer["error"]), (status, &error.into()), "{answer}");
}

#[test]
fn an_answer_is_taken_once_and_only_of_its_type() {
    let place = tempfile::tempdir().unwrap();
    let service = Service::start(place.path());
    create(&service, ADA, 0);
    let question = service.question(ADA);
    let (status, refused) = service.answer(ADA, &question, "perhaps".into());
    assert_eq!((status, &refused["kind"]), (422, &"mistyped_answer".into()), "{refused}");
    assert_eq!(service.answer(ADA, &question, true.into()).0, 202);
    service.get(&format!("{ADA}/wait"));
    let (status, refused) = service.answer(ADA, &question, true.into());
    assert_eq!((status, &refused["kind"]), (409, &"already_answered".into()), "{refused}");
}

fn until(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(Instant::now() < deadline, "it did not come to pass");
        std::thread::sleep(Duration::from_millis(1));
    }
}
