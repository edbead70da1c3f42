//! Drivers that wrap drivers: recording and replay, retries, budgets, redacted secrets.

use std::fs;
use std::path::Path;
use std::time::Duration;

use insta::assert_snapshot;
use rstest::rstest;
use superstep::drivers::{
    AgentEvent, AgentRequest, BudgetedDriver, Driver, DriverError, DriverErrorClass, DriverExt, Finished, Ledger,
    Recording, Redacted, Replaying, Retry, Scripted, Session, TurnStatus, Usage,
};
use superstep::process::Redactor;
use tokio::time::Instant;

fn scripted(turns: &str) -> Scripted {
    Scripted::parse("s.yaml", &format!("turns:\n{turns}")).unwrap_or_else(|error| panic!("{error}"))
}

fn request(prompt: &str) -> AgentRequest {
    AgentRequest::new("developer", prompt, "/some/where")
}

async fn run(driver: &impl Driver, request: AgentRequest) -> (Vec<AgentEvent>, Result<Finished, DriverError>) {
    let mut events = vec![];
    let finished = driver.finish(request, |event| events.push(event.clone())).await;
    (events, finished)
}

// --- recording and replaying ---

const TURNS: &str = "
- {contains: one, steps: [think: hm, say: 1, usage: {input: 3}]}
- {contains: two, steps: [say: 2, fail: {class: content, message: bad}]}
- {contains: three, times: 2, steps: [say: 3]}
";

#[tokio::test]
async fn a_replay_emits_the_recorded_events() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("tapes/t.jsonl");
    let mut recorded = vec![];
    for prompts in [&["one", "two"][..], &["three in /some/where", "three in /some/where"]] {
        // A new recording each time, as in another process.
        let recording = Recording::new(scripted(TURNS), &file).unwrap();
        for prompt in prompts {
            recorded.push(run(&recording, request(prompt)).await);
        }
    }
    let replaying = Replaying::open(&file).unwrap();
    for (prompt, recorded) in ["one", "two", "three in /else", "three in /else"].into_iter().zip(&recorded) {
        let elsewhere = AgentRequest { directory: "/else".into(), ..request(prompt) };
        assert_eq!(&run(&replaying, elsewhere).await, recorded);
    }
    assert_eq!(recorded[1].1.as_ref().unwrap_err().message, "bad");
}

#[tokio::test]
async fn a_turn_requested_again_under_its_key_is_replayed_again() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("t.jsonl");
    let keyed = || AgentRequest { turn: "key".into(), ..request("one") };
    let recorded = run(&Recording::new(scripted(TURNS), &file).unwrap(), keyed()).await;
    let replaying = Replaying::open(&file).unwrap();
    assert_eq!(run(&replaying, keyed()).await, recorded);
    assert_eq!(run(&replaying, keyed()).await, recorded);
    assert_eq!(replaying.finished_turn(None, "key").await.unwrap().unwrap(), recorded.1.unwrap());
    assert_eq!(run(&replaying, request("one")).await.1.unwrap_err().class, DriverErrorClass::Fatal);
}

#[tokio::test]
async fn the_error_for_an_unrecorded_request_shows_the_recorded_one() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("t.jsonl");
    let recording = Recording::new(scripted(TURNS), &file).unwrap();
    run(&recording, request("Read.\nDo one thing.\nEnd.")).await.1.unwrap();

    let mismatch = async |request: AgentRequest| {
        let error = run(&Replaying::open(&file).unwrap(), request).await.1.unwrap_err();
        error.message.replace(place.path().to_str().unwrap(), "")
    };
    let other = request("Read.\nDo another thing.\nEnd.");
    assert_snapshot!(mismatch(other).await, @"the cassette /t.jsonl does not match: of turn 1, `prompt` differs in line 2: recorded `Do one thing.`, asked `Do another thing.`");
    let model = AgentRequest { model: Some("big".into()), ..request("Read.\nDo one thing.\nEnd.") };
    assert_snapshot!(mismatch(model).await, @"the cassette /t.jsonl does not match: of turn 1, `model` differs in line 1: recorded `null`, asked `big`");
    let role = AgentRequest { role: "reviewer".into(), ..request("Read.\nDo one thing.\nEnd.") };
    assert_snapshot!(mismatch(role).await, @"the cassette /t.jsonl does not match: it has no more turns of reviewer");
}

#[tokio::test]
async fn a_killed_turn_is_not_recorded() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("t.jsonl");
    let recording =
        Recording::new(scripted(&format!("- {{contains: never, steps: [say: begun, hang]}}{TURNS}")), &file);
    let recording = recording.unwrap();
    let mut events = recording.run(request("never"));
    events.next().await.unwrap().unwrap();
    drop(events);
    run(&recording, request("one")).await.1.unwrap();
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() - 5]).unwrap();
    let again = Recording::new(scripted(TURNS), &file).unwrap();
    run(&again, request("three")).await.1.unwrap();

    let replaying = Replaying::open(&file).unwrap();
    for (prompt, fits) in [("never", false), ("one", false), ("three", true)] {
        assert_eq!(run(&replaying, request(prompt)).await.1.is_ok(), fits, "{prompt}");
    }
}

// --- retry ---

#[tokio::test(start_paused = true)]
async fn transient_errors_are_retried() {
    let failing = "
- steps: [say: a, fail: {class: transient, message: broken}]
- steps: [fail: {class: rate_limited, retry_after: 20s}]
- steps: [say: done]
";
    let start = Instant::now();
    let (events, finished) = run(&Retry::new(scripted(failing)), request("do")).await;
    assert_eq!(finished.unwrap().text, "done");
    let waited = start.elapsed();
    assert!(Duration::from_millis(20_250) <= waited && waited < Duration::from_millis(20_600), "{waited:?}");
    let notices = events.iter().filter(|event| matches!(event, AgentEvent::Notice(_))).count();
    assert_eq!(notices, 2);
}

#[rstest]
#[case::always_transient("- {times: always, steps: [fail: {class: transient}]}", DriverErrorClass::Transient, 4)]
#[case::too_long(
    "- {times: always, steps: [fail: {class: rate_limited, retry_after: 61s}]}",
    DriverErrorClass::RateLimited,
    1
)]
#[case::too_often(
    "- {times: always, steps: [fail: {class: rate_limited, retry_after: 25s}]}",
    DriverErrorClass::RateLimited,
    3
)]
#[case::busy_too_long(
    "- {times: always, steps: [fail: {class: transient, retry_after: 61s}]}",
    DriverErrorClass::Transient,
    1
)]
#[case::busy_too_often(
    "- {times: always, steps: [fail: {class: transient, retry_after: 25s}]}",
    DriverErrorClass::Transient,
    3
)]
#[case::content("- {times: always, steps: [fail: {class: content}]}", DriverErrorClass::Content, 1)]
#[case::auth("- {times: always, steps: [fail: {class: auth}]}", DriverErrorClass::Auth, 1)]
#[case::budget("- {times: always, steps: [fail: {class: budget}]}", DriverErrorClass::Budget, 1)]
#[case::lost("- {times: always, steps: [fail: {class: session_lost}]}", DriverErrorClass::SessionLost, 1)]
#[case::fatal("- {times: always, steps: [fail: {class: fatal}]}", DriverErrorClass::Fatal, 1)]
#[tokio::test(start_paused = true)]
async fn persistent_errors_are_returned(#[case] turns: &str, #[case] class: DriverErrorClass, #[case] times: usize) {
    let (events, finished) = run(&Retry::new(scripted(turns)), request("do")).await;
    let error = finished.unwrap_err();
    let tries = events.iter().filter(|event| matches!(event, AgentEvent::Started(_))).count();
    assert_eq!((error.class, tries), (class, times));
    assert_eq!(error.retry_after.is_some(), turns.contains("retry_after"));
}

/// A server that is busy for longer than four attempts take: each wait is as long as the server asks for.
#[tokio::test(start_paused = true)]
async fn a_server_error_is_retried_after_the_given_time() {
    let busy = "- {times: 5, steps: [fail: {class: transient, retry_after: 8s}]}\n- steps: [say: done]";
    let start = Instant::now();
    let (_, finished) = run(&Retry::new(scripted(busy)), request("do")).await;
    assert_eq!(finished.unwrap().text, "done");
    assert_eq!(start.elapsed().as_secs(), 40);
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_without_a_time_backs_off_up_to_a_minute() {
    let start = Instant::now();
    let limited = "- {times: always, steps: [fail: {class: rate_limited}]}";
    let (events, finished) = run(&Retry::new(scripted(limited)), request("do")).await;
    assert_eq!(finished.unwrap_err().class, DriverErrorClass::RateLimited);
    assert_eq!(start.elapsed().as_secs(), 60);
    let tries = events.iter().filter(|event| matches!(event, AgentEvent::Started(_))).count();
    assert!((7..=10).contains(&tries), "{tries}");
}

/// A server that answers between its failures reports more usage each time.
#[rstest]
#[case::errors("fail: {class: transient}", "- steps: [usage: {input: 6}, say: done]", true)]
#[case::rate_limits("fail: {class: rate_limited, retry_after: 40s}", "- steps: [usage: {input: 6}, say: done]", true)]
#[case::no_further(
    "fail: {class: transient}",
    "- {times: always, steps: [usage: {input: 5}, fail: {class: transient}]}",
    false
)]
#[tokio::test(start_paused = true)]
async fn progress_resets_the_number_of_retries(#[case] fails: &str, #[case] then: &str, #[case] ends: bool) {
    let failing: String = (1..=5).map(|far| format!("- steps: [usage: {{input: {far}}}, {fails}]\n")).collect();
    let (events, finished) = run(&Retry::new(scripted(&format!("{failing}{then}"))), request("do")).await;
    assert_eq!(finished.is_ok(), ends, "{finished:?}");
    let tries = events.iter().filter(|event| matches!(event, AgentEvent::Started(_))).count();
    assert_eq!(tries, if ends { 6 } else { 8 });
}

/// Waits for rate limits do not count as failed attempts.
#[tokio::test(start_paused = true)]
async fn an_error_after_many_waits_is_tried_again() {
    let turns = "
- {times: 5, steps: [fail: {class: rate_limited, retry_after: 10s}]}
- {times: 3, steps: [fail: {class: transient}]}
- steps: [say: done]
";
    let (_, finished) = run(&Retry::new(scripted(turns)), request("do")).await;
    assert_eq!(finished.unwrap().text, "done");
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_when_it_is_cancelled() {
    let driver = Retry::new(scripted("- {times: always, steps: [fail: {class: rate_limited, retry_after: 50s}]}"));
    let request = request("do");
    let cancel = request.cancel.clone();
    let start = Instant::now();
    let finished = driver.finish(request, |event| {
        if matches!(event, AgentEvent::Notice(_)) {
            cancel.cancel();
        }
    });
    assert_eq!(finished.await.unwrap_err().class, DriverErrorClass::Cancelled);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

// --- budget ---

const COSTLY: &str = "- {times: always, steps: [usage: {input: 40, cost: 0.5}, say: a, usage: {input: 20}, say: b]}";

#[tokio::test]
async fn turns_share_a_budget() {
    let ledger = Ledger::new().tokens(150);
    let (one, other) =
        (BudgetedDriver::new(scripted(COSTLY), ledger.clone()), BudgetedDriver::new(scripted(COSTLY), ledger.clone()));
    run(&one, request("do")).await.1.unwrap();
    run(&other, request("do")).await.1.unwrap();
    assert_eq!((ledger.finished_usage().tokens(), ledger.remaining().tokens), (120, Some(30)));

    let last = run(&one, request("do")).await.1.unwrap_err();
    assert_eq!((last.class, ledger.finished_usage().tokens()), (DriverErrorClass::Budget, 160));
    let (events, refused) = run(&other, request("do")).await;
    assert_eq!(events, []);
    assert_snapshot!(refused.unwrap_err(), @"the budget of 150 tokens is used up: 160 tokens and $1.500000 spent");
}

#[tokio::test]
async fn a_reserved_budget_is_not_given_to_another_turn() {
    let ledger = Ledger::new().cost(1_000_000);
    let driver = BudgetedDriver::new(scripted("- {times: always, steps: [say: a, hang]}"), ledger.clone());
    let costs = |cost| {
        let mut request = request("do");
        request.limits.cost = Some(cost);
        request
    };
    let mut first = driver.run(costs(900_000));
    first.next().await.unwrap().unwrap();
    let mut second = driver.run(costs(900_000));
    second.next().await.unwrap().unwrap();
    assert_eq!(ledger.remaining().cost, Some(0));
    let refused = run(&driver, costs(1)).await.1.unwrap_err();
    assert_snapshot!(refused, @"the budget of $1.000000 is used up: 0 tokens and $0.000000 spent, the rest is reserved by 2 running turns");
    drop(first);
    assert_eq!(ledger.remaining().cost, Some(900_000));
    drop(second);
    assert_eq!((ledger.remaining().cost, ledger.finished_usage()), (Some(1_000_000), Usage::default()));
}

#[tokio::test]
async fn a_turn_ends_at_its_own_limit_within_a_budget() {
    let mut request = request("do");
    request.limits.tokens = Some(30);
    let finished = run(&BudgetedDriver::new(scripted(COSTLY), Ledger::new().tokens(1_000)), request).await.1.unwrap();
    assert_eq!(finished.status, TurnStatus::TokenLimit);
}

#[tokio::test]
async fn concurrent_turns_end_when_the_budget_is_used_up() {
    let ledger = Ledger::new().tokens(70);
    let turns = format!("- steps: [usage: {{input: 40}}, hang]\n{COSTLY}");
    let driver = BudgetedDriver::new(scripted(&turns), ledger.clone());
    let (mut first, second) = (driver.run(request("do")), driver.run(request("do")));
    while !matches!(first.next().await.unwrap().unwrap(), AgentEvent::Usage(_)) {}
    let mut second = second;
    let failed = loop {
        match second.next().await.unwrap() {
            Ok(AgentEvent::Finished(finished)) => panic!("{finished:?}"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(failed.class, DriverErrorClass::Budget);
    assert_eq!(ledger.finished_usage().tokens(), 40, "what the second used is spent, the first is under way");
}

#[tokio::test]
async fn earlier_spending_counts() {
    let ledger = Ledger::new().cost(10).spent_before(&Usage { cost: 10, ..Usage::default() });
    let error = run(&BudgetedDriver::new(scripted(COSTLY), ledger), request("do")).await.1.unwrap_err();
    assert_eq!((error.class, error.help.as_str()), (DriverErrorClass::Budget, "raise the budget, then resume"));
}

// --- secrets ---

#[tokio::test]
async fn secrets_are_redacted_in_every_event() {
    let turns = "
- steps:
  - say: the key is open-sesame
  - tool: {name: shell, arguments: {command: [echo, open-sesame]}, result: open-sesame}
- steps: [say: open-sesame, fail: {class: fatal, message: open-sesame is wrong}]
";
    let driver = Redacted::new(scripted(turns), Redactor::new(["open-sesame"]));
    for _ in 0..2 {
        let (events, finished) = run(&driver, request("do")).await;
        let all = format!("{events:?}{finished:?}");
        assert!(!all.contains("open-sesame") && all.contains("[redacted]"), "{all}");
    }
}

#[tokio::test]
async fn wrappers_stack() {
    let place = tempfile::tempdir().unwrap();
    let ledger = Ledger::new().tokens(1_000);
    let inner = Redacted::new(scripted(COSTLY), Redactor::default());
    let driver =
        Retry::new(BudgetedDriver::new(Recording::new(inner, place.path().join("t")).unwrap(), ledger.clone()));
    let first = run(&driver, request("do")).await.1.unwrap();
    let resumed = AgentRequest { session: Session::Resume(first.session.unwrap()), ..request("go on") };
    run(&driver, resumed).await.1.unwrap();
    assert_eq!((driver.name(), ledger.finished_usage().tokens()), ("scripted:s.yaml", 120));
    assert!(Path::new("t").metadata().is_err());
}
