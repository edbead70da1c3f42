//! Usage of turns is metered: with prices, in a file, against limits, whatever the driver does.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use rstest::rstest;
use superstep::drivers::{
    AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverError, DriverErrorClass, DriverExt, Finished,
    Ledger, LimitsAnswer, Metered, Price, RunLimits, Session, SessionRef, TurnStatus, Usage, events,
};

/// An agent that calls its model for ever, 100 tokens each time, and ignores its limits.
#[derive(Clone)]
struct Greedy {
    requests: u64,
}

impl Driver for Greedy {
    fn name(&self) -> &str {
        "greedy"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn run(&self, _: AgentRequest) -> AgentEvents {
        let most = self.requests;
        events(move |tell| async move {
            tell.send(AgentEvent::Started(SessionRef { id: "s".into(), turn: String::new() })).await;
            let mut usage = Usage::default();
            for _ in 0..most {
                usage += Usage { input: 100, requests: 1, ..Usage::default() };
                tell.send(AgentEvent::Usage(usage)).await;
                tell.send(AgentEvent::Text("so".into())).await;
            }
            Ok(Finished { status: TurnStatus::Done, text: "done".into(), submitted: None, session: None, usage })
        })
    }
}

async fn run(driver: &impl Driver, turn: &str, limit: Option<u64>) -> Result<Finished, DriverError> {
    let mut request = AgentRequest::new("developer", "go", "/some/where");
    (request.limits.tokens, request.turn, request.session) = (limit, turn.into(), Session::New);
    driver.finish(request, |_| ()).await
}

#[tokio::test]
async fn a_token_limit_holds_for_a_driver_that_ignores_limits() {
    let driver = Metered::new(Greedy { requests: u64::MAX }, Ledger::new());
    let finished = run(&driver, "t", Some(250)).await.unwrap();
    assert_eq!((finished.status, finished.usage.tokens()), (TurnStatus::TokenLimit, 300));
    assert_eq!(finished.session.unwrap().id, "s", "it can be gone on with");
}

#[tokio::test]
async fn a_turn_that_ends_at_its_limit_is_done() {
    let driver = Metered::new(Greedy { requests: 3 }, Ledger::new());
    assert_eq!(run(&driver, "t", Some(300)).await.unwrap().status, TurnStatus::Done);
}

#[rstest]
#[case::priced(Some(Price { input: 2_000_000, ..Price::default() }), 600, 0)]
#[case::unknown(None, 0, 300)]
#[tokio::test]
async fn tokens_have_a_price_or_an_unknown_cost(
    #[case] price: Option<Price>,
    #[case] cost: u64,
    #[case] unpriced: u64,
) {
    let driver = Metered::new(Greedy { requests: 3 }, Ledger::new()).price(price);
    let usage = run(&driver, "t", None).await.unwrap().usage;
    assert_eq!((usage.cost, usage.unpriced), (cost, unpriced));
}

#[tokio::test]
async fn a_ledger_in_a_file_counts_earlier_spending() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("ledgers/run.jsonl");
    let limits = RunLimits::default().tokens(500);
    let metered = |requests| Metered::new(Greedy { requests }, Ledger::open(&file).unwrap().limits(limits));
    run(&metered(2), "one", None).await.unwrap();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}{{\"turn\":{{\"turn\":\"on")).unwrap(); // a power cut in a line
    let cut = run(&metered(u64::MAX), "two", None).await.unwrap_err();
    assert_eq!(cut.class, DriverErrorClass::Budget);
    let ledger = Ledger::open(&file).unwrap().limits(limits);
    assert_eq!((ledger.account().spent.tokens(), ledger.account().reached_limits()), (600, vec!["tokens"]));
    let refused = run(&metered(1), "two", None).await.unwrap_err();
    assert_eq!(refused.message, "the budget of 500 tokens is used up: 600 tokens and $0.000000 spent");
    for _ in 0..2 {
        ledger.set_limits("key", tokens(800), 1).unwrap(); // once
    }
    drop(ledger);
    let again = run(&metered(1), "two", None).await.unwrap();
    assert_eq!(again.usage.tokens(), 500, "with the try that was ended");
    assert_eq!(Ledger::open(&file).unwrap().limits(limits).account().limits.tokens, Some(800));
}

fn tokens(tokens: u64) -> RunLimits {
    RunLimits::default().tokens(tokens)
}

#[tokio::test]
async fn the_later_of_two_answers_sets_the_limit() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("run.jsonl");
    let open = || Ledger::open(&file).unwrap().limits(tokens(100));
    let ledger = open();
    let cost = RunLimits::default().cost(7);
    let set = |key, to, now| match ledger.set_limits(key, to, now).unwrap() {
        LimitsAnswer::Set(limits) => limits,
        LimitsAnswer::Refused(why) => panic!("{why}"),
    };
    let first = set("b", tokens(500), 9);
    let second = set("a", tokens(400), 9); // a clock that did not move
    assert_eq!(set("b", tokens(500), 20), first, "the same answer again");
    let both = tokens(400).cost(7);
    set("c", cost, 3);
    assert_eq!((ledger.account().limits, first.latest(second), second.latest(first)), (both, second, second));
    drop(ledger);
    assert_eq!(open().account().limits, both);
}

#[tokio::test]
async fn a_limit_that_is_used_up_is_refused() {
    let ledger = Ledger::new().limits(tokens(300));
    run(&Metered::new(Greedy { requests: 3 }, ledger.clone()), "t", None).await.unwrap();
    let refused = |to| match ledger.set_limits("key", to, 1).unwrap() {
        LimitsAnswer::Refused(why) => why,
        LimitsAnswer::Set(limits) => panic!("{limits:?}"),
    };
    insta::assert_snapshot!(refused(tokens(300)), @"the new limit `tokens`, 300, is not above what is used, 300");
    let wall = RunLimits::default().wall(Duration::from_secs(90));
    insta::assert_snapshot!(refused(wall), @"the limit `tokens` of 300 is still reached: 300 is used; set a higher limit");
    assert_eq!(ledger.account().limits, tokens(300), "nothing is set");
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_of_a_run_ends_a_turn() {
    struct Silent;
    impl Driver for Silent {
        fn name(&self) -> &str {
            "still"
        }
        fn capabilities(&self) -> Capabilities {
            Capabilities::default()
        }
        fn run(&self, _: AgentRequest) -> AgentEvents {
            events(|_| std::future::pending())
        }
    }
    let limits = RunLimits::default().wall(Duration::from_secs(60));
    let ledger = Ledger::new().limits(limits);
    let error = run(&Metered::new(Silent, ledger.clone()), "t", None).await.unwrap_err();
    assert_eq!((error.class, ledger.account().reached_limits()), (DriverErrorClass::Budget, vec!["wall"]));
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("ledger");
    run(&Metered::new(Silent, Ledger::open(&file).unwrap().limits(limits)), "t", None).await.unwrap_err();
    let again = Ledger::open(&file).unwrap().limits(limits);
    assert_eq!(again.account().reached_limits(), ["wall"], "the time is in the file");
}

#[test]
fn a_link_or_a_damaged_file_is_not_a_ledger() {
    let place = tempfile::tempdir().unwrap();
    let (other, link) = (place.path().join("other"), place.path().join("link"));
    fs::write(&other, "mine").unwrap();
    symlink(&other, &link).unwrap();
    assert!(Ledger::open(&link).unwrap_err().message.contains("cannot be used"));
    assert_eq!(fs::read_to_string(&other).unwrap(), "mine");
    fs::write(&other, "{}\n{}\n").unwrap();
    assert!(Ledger::open(&other).unwrap_err().message.contains("line 1, cannot be read"));
}
