//! Scenarios: the choice of a turn for a request, its steps, its state after a kill, and invalid scenarios.

use std::fs;
use std::path::Path;
use std::time::Duration;

use insta::assert_snapshot;
use rstest::rstest;
use serde_json::json;
use superstep::drivers::{
    AgentEvent, AgentRequest, Driver, DriverError, DriverErrorClass, DriverExt, Finished, Scripted, Session,
    SubmitTool, TurnStatus,
};

fn request(role: &str, folder: &Path) -> AgentRequest {
    let mut request = AgentRequest::new(role, "do it", folder);
    let schema = json!({"type": "object"});
    request.submit = Some(SubmitTool { name: "submit".into(), description: String::new(), schema });
    request.access.write = true;
    request
}

fn at(request: AgentRequest, task: &str, attempt: u32) -> AgentRequest {
    let mut request = request;
    request.turn = format!("{}-{task}-{attempt}", request.role);
    (request.place.task, request.place.attempt) = (task.into(), attempt);
    request
}

async fn finish(driver: &Scripted, request: AgentRequest) -> Result<Finished, DriverError> {
    driver.finish(request, |_| ()).await
}

async fn events_of(driver: &Scripted, request: AgentRequest) -> Vec<AgentEvent> {
    let mut events = vec![];
    let finished = driver.finish(request, |event| events.push(event.clone())).await.unwrap();
    events.push(AgentEvent::Finished(finished));
    events
}

fn turn(number: u32) -> String {
    format!("turn {number}")
}

fn example() -> Scripted {
    let page = fs::read_to_string("docs/scenarios.md").unwrap();
    let yaml = page.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    Scripted::parse("tides.yaml", yaml).unwrap()
}

#[tokio::test]
async fn the_documented_example_plays() {
    let (place, driver) = (tempfile::tempdir().unwrap(), example());
    let folder = place.path();
    let plan = finish(&driver, request("architect", folder)).await.unwrap();
    assert_eq!((plan.submitted.unwrap()["tasks"].as_array().unwrap().len(), plan.usage.cost), (2, 11_000));

    let first = finish(&driver, at(request("developer", folder), "1", 1)).await.unwrap();
    assert_eq!(fs::read_to_string(folder.join("src/tides.txt")).unwrap(), "high 06:12\n");
    let review = finish(&driver, at(request("reviewer", folder), "1", 1)).await.unwrap();
    assert_eq!(review.submitted.unwrap()["approved"], json!(false));
    let mut again = at(request("developer", folder), "1", 2);
    (again.session, again.prompt) = (Session::Resume(first.session.clone().unwrap()), "Low tide is missing".into());
    let second = finish(&driver, again).await.unwrap();
    assert_eq!(second.session.unwrap().id, first.session.unwrap().id);

    let limited = finish(&driver, at(request("developer", folder), "2", 1)).await.unwrap_err();
    assert_eq!((limited.class, limited.retry_after), (DriverErrorClass::RateLimited, Some(Duration::from_secs(2))));
    finish(&driver, at(request("developer", folder), "2", 1)).await.unwrap();
    assert_eq!(fs::read_to_string(folder.join("data/tides.txt")).unwrap(), "high 06:12\nlow 12:25\n");
    assert!(!folder.join("src/tides.txt").exists());
    for attempt in 1..4 {
        finish(&driver, at(request("reviewer", folder), "2", attempt)).await.unwrap();
    }
}

#[tokio::test]
async fn a_turn_emits_its_steps_in_order() {
    let place = tempfile::tempdir().unwrap();
    let scenario = "
turns:
- steps:
  - think: hm
  - tool: {name: shell, arguments: {command: make}, ok: false, result: no makefile}
  - write: {path: a/b.txt, content: x}
  - delete: a
  - usage: {input: 5, cost: 0.5}
  - say: done
  submit: 7
";
    let driver = Scripted::parse("s.yaml", scenario).unwrap();
    let events = events_of(&driver, request("developer", place.path())).await;
    let events: Vec<String> = events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    assert_snapshot!(events.join("\n"), @r#"
    {"started":{"id":"scripted-32a8774e69ccb375","turn":""}}
    {"thinking":"hm"}
    {"tool_call":{"id":"step-2","name":"shell","arguments":{"command":"make"}}}
    {"tool_result":{"id":"step-2","ok":false,"text":"no makefile"}}
    {"tool_call":{"id":"step-3","name":"write","arguments":{"path":"a/b.txt"}}}
    {"tool_result":{"id":"step-3","ok":true,"text":"done"}}
    {"tool_call":{"id":"step-4","name":"delete","arguments":{"path":"a"}}}
    {"tool_result":{"id":"step-4","ok":true,"text":"done"}}
    {"usage":{"input":5,"output":0,"cache_read":0,"cache_write":0,"cost":500000,"requests":0,"ms":0,"estimated":false}}
    {"text":"done"}
    {"finished":{"status":"done","text":"done","submitted":7,"session":{"id":"scripted-32a8774e69ccb375","turn":""},"usage":{"input":5,"output":0,"cache_read":0,"cache_write":0,"cost":500000,"requests":0,"ms":0,"estimated":false}}}
    "#);
    assert!(!place.path().join("a").exists());
}

const NUMBERED: &str = "
turns:
- {role: developer, steps: [say: turn 1]}
- {role: developer, times: 2, steps: [say: turn 2]}
- {role: developer, steps: [say: turn 3, fail: {class: transient}]}
- {role: developer, steps: [say: turn 4]}
";

async fn run(driver: &Scripted, key: &str) -> Result<String, DriverErrorClass> {
    let mut request = request("developer", Path::new("."));
    (request.turn, request.place.run) = (key.into(), "run".into());
    finish(driver, request).await.map(|finished| finished.text).map_err(|error| error.class)
}

#[rstest]
#[case::in_memory(false)]
#[case::in_a_folder(true)]
#[tokio::test]
async fn turns_are_chosen_in_order_and_as_often_as_they_declare(#[case] logged: bool) {
    let place = tempfile::tempdir().unwrap();
    let driver = Scripted::parse("s.yaml", NUMBERED).unwrap();
    let driver = if logged { driver.logged_in(place.path().join("logs")) } else { driver };
    for (key, text) in [("a", 1), ("b", 2), ("c", 2)] {
        assert_eq!(run(&driver, key).await, Ok(turn(text)));
    }
    assert_eq!(run(&driver, "d").await, Err(DriverErrorClass::Transient));
    assert_eq!(run(&driver, "d").await, Ok(turn(4)), "a turn that failed has ended");
    assert_eq!(run(&driver, "e").await, Err(DriverErrorClass::Fatal));
}

#[tokio::test]
async fn another_process_continues_the_count_and_finds_ended_turns() {
    let place = tempfile::tempdir().unwrap();
    let open = || Scripted::parse("s.yaml", NUMBERED).unwrap().logged_in(place.path());
    assert_eq!(run(&open(), "a").await, Ok(turn(1)));
    let ended = open().finished_turn(None, "a").await.unwrap().unwrap();
    assert_eq!((ended.text, ended.status), (turn(1), TurnStatus::Done));
    assert_eq!(open().finished_turn(None, "b").await, Ok(None));
    assert_eq!(run(&open(), "b").await, Ok(turn(2)));

    let torn = fs::read_dir(place.path()).unwrap().next().unwrap().unwrap().path();
    let bytes = fs::read(&torn).unwrap();
    fs::write(&torn, &bytes[..bytes.len() - 9]).unwrap();
    assert_eq!(open().finished_turn(None, "b").await, Ok(None), "the line was torn");
    assert_eq!(run(&open(), "b").await, Ok(turn(2)), "so the turn has only begun");
    assert_eq!(run(&open(), "c").await, Ok(turn(2)));

    let mut other = request("developer", Path::new("."));
    (other.turn, other.place.run) = ("x".into(), "other run".into());
    assert_eq!(finish(&open(), other).await.unwrap().text, turn(1), "each run has its own turns");
}

#[rstest]
#[case::killed(false)]
#[case::cancelled(true)]
#[tokio::test]
async fn an_unfinished_turn_is_chosen_again(#[case] cancelled: bool) {
    let (place, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let scenario = "
turns:
- steps:
  - write: {path: a.txt, content: \"one\\n\"}
  - edit: {path: a.txt, old: one, new: one and two}
  - move: {from: a.txt, to: b.txt}
  - hang
- steps: [say: turn 2]
";
    let open = || Scripted::parse("s.yaml", scenario).unwrap().logged_in(logs.path());
    for _ in 0..2 {
        let request = at(request("developer", place.path()), "1", 1);
        let cancel = request.cancel.clone();
        let mut events = open().run(request);
        let mut moved = 0;
        while moved < 3 {
            moved += u32::from(matches!(events.next().await.unwrap().unwrap(), AgentEvent::ToolResult { .. }));
        }
        assert_eq!(fs::read_to_string(place.path().join("b.txt")).unwrap(), "one and two\n");
        if cancelled {
            cancel.cancel();
            assert_eq!(events.next().await.unwrap().unwrap_err().class, DriverErrorClass::Cancelled);
        }
    }
    let other = at(request("developer", place.path()), "1", 2);
    assert_eq!(finish(&open(), other).await.unwrap().text, turn(2), "another turn does not get one that is under way");
}

#[tokio::test]
async fn an_edit_is_made_once_even_if_it_is_repeated() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("a.txt");
    fs::write(&file, "fn main() {}\n").unwrap();
    let scenario = "
turns:
- times: always
  steps:
  - edit: {path: a.txt, old: main, new: main_loop}
  - edit: {path: a.txt, old: \"{}\", new: \"\"}
";
    let driver = Scripted::parse("s.yaml", scenario).unwrap();
    finish(&driver, request("developer", place.path())).await.unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "fn main_loop() \n");
    let error = finish(&driver, request("developer", place.path())).await.unwrap_err();
    assert_snapshot!(error, @r#"turn 1 of s.yaml: step 2 (`edit` {"path":"a.txt"}): `{}` is not there"#);
    assert_eq!(fs::read_to_string(&file).unwrap(), "fn main_loop() \n");
}

#[tokio::test(start_paused = true)]
async fn a_hanging_turn_ends_at_its_time_limit() {
    let driver = Scripted::parse("s.yaml", "turns: [{steps: [say: begun, hang]}]").unwrap();
    let error = finish(&driver, request("developer", Path::new("."))).await.unwrap_err();
    assert_eq!((error.class, error.transcript.as_str()), (DriverErrorClass::Budget, "begun\n"));
}

#[tokio::test]
async fn a_turn_ends_at_its_limit_of_tokens() {
    let driver = Scripted::parse("s.yaml", "turns: [{steps: [usage: {output: 11}, say: no], submit: 1}]").unwrap();
    let mut request = request("developer", Path::new("."));
    request.limits.tokens = Some(10);
    let finished = finish(&driver, request).await.unwrap();
    assert_eq!((finished.status, finished.submitted, finished.text.as_str()), (TurnStatus::TokenLimit, None, ""));
}

#[tokio::test]
async fn links_are_not_followed_and_read_only_roles_cannot_write() {
    let (place, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::os::unix::fs::symlink(outside.path(), place.path().join("out")).unwrap();
    let driver =
        Scripted::parse("s.yaml", "turns: [{times: always, steps: [write: {path: out/a, content: x}]}]").unwrap();
    let linked = finish(&driver, request("developer", place.path())).await.unwrap_err();
    let mut reader = request("reviewer", place.path());
    reader.access.write = false;
    let read_only = finish(&driver, reader).await.unwrap_err();
    assert_snapshot!(format!("{linked}\n{read_only}"), @r#"
    turn 1 of s.yaml: step 1 (`write` {"path":"out/a"}): there is a symbolic link on the way
    turn 1 of s.yaml: step 1 (`write`) changes files, which the reviewer must not
    "#);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_session_of_another_driver_is_lost() {
    let driver = Scripted::parse("s.yaml", "turns: [{steps: []}]").unwrap();
    let mut request = request("developer", Path::new("."));
    request.session = Session::Resume(superstep::drivers::SessionRef { id: "x".into(), turn: String::new() });
    assert_eq!(finish(&driver, request).await.unwrap_err().class, DriverErrorClass::SessionLost);
}

#[tokio::test]
async fn the_error_for_a_request_without_a_turn_has_the_reason() {
    let scenario = "
turns:
- {role: developer, task: 1, attempt: 1}
- {role: developer, task: 1, attempt: 2, session: resumed}
- {role: developer, task: 2}
- {role: developer, contains: [it, tea]}
- {role: reviewer}
";
    let driver = Scripted::parse("some/where/s.yaml", scenario).unwrap();
    finish(&driver, at(request("developer", Path::new(".")), "1", 1)).await.unwrap();
    let mut second = at(request("developer", Path::new(".")), "1", 1);
    second.turn = "other".into();
    let error = finish(&driver, second).await.unwrap_err();
    assert_snapshot!(format!("{error}\n{}", error.help), @"
    no turn of s.yaml fits: developer, task `1`, attempt 1
    turn 1 was already used; turn 2 is for attempt 2; turn 3 is for task `2`; turn 4 expects `tea` in the prompt
    ");
    let mut resumed = at(request("developer", Path::new(".")), "1", 2);
    resumed.prompt = "it".into();
    let error = finish(&driver, resumed).await.unwrap_err();
    assert_snapshot!(error.help, @"turn 1 is for attempt 1; turn 2 is for a resumed session; turn 3 is for task `2`; turn 4 expects `tea` in the prompt");
    let error = finish(&driver, request("architect", Path::new("."))).await.unwrap_err();
    assert_snapshot!(format!("{error}\n{}", error.help), @"
    no turn of s.yaml fits: architect
    add a turn with `role: architect`
    ");
}

#[rstest]
#[case::unknown_key(
    "turns:\n- rolle: x",
    "s.yaml:2: turns[0]: unknown field `rolle`, expected one of `role`, `task`, `attempt`, `session`, `contains`, `times`, `steps`, `submit`, `text`"
)]
#[case::unknown_step(
    "turns:\n- steps:\n  - say: a\n  - shout: b",
    "s.yaml:4: turns[0].steps[1]: unknown variant `shout`, expected one of `say`, `think`, `tool`, `write`, `edit`, `delete`, `move`, `usage`, `wait`, `fail`, `hang`"
)]
#[case::unknown_key_of_a_step(
    "turns:\n- role: a\n- steps:\n  - write: {path: a, contents: b}",
    "s.yaml:4: turns[1].steps[0].write: unknown field `contents`, expected `path` or `content`"
)]
#[case::missing_key(
    "turns:\n- steps:\n  - edit: {path: a, old: b}",
    "s.yaml:3: turns[0].steps[0].edit: missing field `new`"
)]
#[case::not_yaml("turns: [", "s.yaml:2: did not find expected node content")]
#[case::empty("", "s.yaml:1: missing field `turns`")]
#[case::outside(
    "turns:\n- steps:\n  - write: {path: ../a, content: b}",
    "s.yaml:3: turns[0].steps[0].write: `../a`: `..` is refused; give the path from the folder you work in"
)]
#[case::absolute(
    "turns:\n- steps:\n  - delete: /etc/passwd",
    "s.yaml:3: turns[0].steps[0]: `/etc/passwd`: absolute paths are refused; give the path from the folder you work in"
)]
#[case::git(
    "turns:\n- steps:\n  - move: {from: a, to: b/.GIT/hooks}",
    "s.yaml:3: turns[0].steps[0].move: `b/.GIT/hooks`: `.git` and `.superstep` are refused"
)]
#[case::no_time(
    "turns:\n- steps:\n  - wait: soon",
    "s.yaml:3: turns[0].steps[0].wait: `soon` is not a time; write `200ms`, `1.5s` or `2m`"
)]
#[case::no_class(
    "turns:\n- steps:\n  - fail: {class: bad}",
    "s.yaml:3: turns[0].steps[0].fail.class: unknown variant `bad`, expected one of `transient`, `rate_limited`, `content`, `auth`, `budget`, `session_lost`, `cancelled`, `fatal`"
)]
#[case::after_the_end("turns:\n- role: a\n- steps: [hang, say: b]", "s.yaml:3: turns[1]: nothing comes after `hang`")]
#[case::submits_after_the_end(
    "turns:\n- steps: [hang]\n  submit: 1",
    "s.yaml:2: turns: a turn that ends with `hang` has no `submit` and no `text`"
)]
#[case::a_fraction("turns:\n- task: 1.10", "s.yaml:2: turns[0].task: put `1.1` in quotes: 1.10 is not 1.1")]
#[case::no_times(
    "turns:\n- role: a\n  times:\n  - 2",
    "s.yaml:4: turns[0].times: invalid type: sequence, expected a number or `always`"
)]
#[case::another_word(
    "turns:\n- role: a\n  attempt: 1\n  times: sometimes",
    "s.yaml:4: turns[0].times: `sometimes` is neither a number nor `always`"
)]
#[case::never("turns:\n- times: 0", "s.yaml:2: turns[0].times: 0 times is never; write a number from 1, or `always`")]
#[case::negative_cost(
    "turns:\n- steps:\n  - usage: {cost: -1}",
    "s.yaml:3: turns[0].steps[0].usage.cost: `-1` is not a cost in dollars"
)]
fn an_invalid_scenario_is_refused_with_its_place(#[case] text: &str, #[case] message: &str) {
    let error = Scripted::parse("s.yaml", text).unwrap_err();
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_missing_scenario_is_an_error() {
    let error = Scripted::open("no/such.yaml").unwrap_err();
    assert_snapshot!(format!("{error}\n{}", error.help()), @"
    no/such.yaml: No such file or directory (os error 2)
    name a file with a scenario, as in `scripted:demo.yaml`
    ");
}

#[tokio::test]
async fn line_ends_and_forms_of_letters_do_not_keep_a_turn_from_fitting() {
    let place = tempfile::tempdir().unwrap();
    let (windows, unix) = (place.path().join("windows.txt"), place.path().join("unix.txt"));
    fs::write(&windows, "one\r\ntwo\r\n").unwrap();
    fs::write(&unix, "one\ntwo\n").unwrap();
    let scenario = "
turns:
- contains: \"first\\nr\u{e9}sum\u{e9}.md\"
  steps:
  - edit: {path: windows.txt, old: \"one\\ntwo\", new: \"1\\n2\"}
  - edit: {path: unix.txt, old: \"one\\r\\ntwo\", new: \"1\\r\\n2\"}
";
    let driver = Scripted::parse("s.yaml", scenario).unwrap();
    let mut request = request("developer", place.path());
    request.prompt = "first\r\nre\u{301}sume\u{301}.md\r\n".into();
    finish(&driver, request).await.unwrap();
    let read = |file| fs::read_to_string(file).unwrap();
    assert_eq!((read(&windows), read(&unix)), ("1\r\n2\r\n".to_owned(), "1\n2\n".to_owned()));
}
