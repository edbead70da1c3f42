//! Two servers of one store in PostgreSQL: each answers any request, one of them executes each run, and one takes over what the other
//! leaves.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use reqwest::Method;
use rstest::rstest;
use serde_json::json;
use superstep_server::Options;
use tokio::task::JoinSet;

use super::kills::{pause, seeds};
use super::script::Script;
use super::site::Site;
use crate::api::{Api, make_due};
use crate::mcp_client::{McpClient, NEW, tasks};
use crate::postgres;
use crate::rng::Rng;
use crate::webhooks::Receiver;

/// The longest time for all that was acknowledged to end.
const LIMIT: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_of_a_store_are_as_one() {
    for seed in seeds(4) {
        let Some(site) = Site::postgres() else { return };
        eprintln!("seed {seed}, {}", site.store().display());
        tokio::time::timeout(LIMIT, play(&site, seed)).await.expect("a run does not end");
    }
}

/// Plays the scripts of many clients, each of which sends every request to one of the servers. In every other round one is killed.
async fn play(site: &Site, seed: u64) {
    let (mut rng, is_killed) = (Rng::new(seed), seed.is_multiple_of(2));
    let ((process, first), (_process, second)) = (site.start(), site.start());
    let receiver = Receiver::start([]).await;
    let mut clients = JoinSet::new();
    for nth in 0..12 {
        let script = Script::draw(format!("t{nth}"), &mut rng).with_webhook(&receiver.url);
        let (servers, mut rng) = ([first.again(), second.again()], Rng::new(rng.next()));
        clients.spawn(async move { script.play(&servers, &mut rng).await });
    }
    let mut process = Some(process);
    if is_killed {
        pause(&mut rng, 1500).await;
        process = None;
    }
    let scripts = clients.join_all().await;
    for script in &scripts {
        script.stop_endless(&second).await;
    }
    let present = if is_killed { &second } else { &first };
    for script in &scripts {
        script.check(present, || site.read_ledger()).await;
    }
    let succeeded: HashSet<String> = {
        let mut all = HashSet::new();
        for script in &scripts {
            all.extend(script.succeeded(&second).await);
        }
        all
    };
    check_webhooks(receiver, &succeeded, is_killed).await;
    drop(process);
}

/// Checks that each run that has succeeded was reported, and that none was twice, unless the server was killed that may have done so.
async fn check_webhooks(mut receiver: Receiver, succeeded: &HashSet<String>, is_killed: bool) {
    let (mut counts, mut left) = (HashMap::<String, u32>::new(), succeeded.clone());
    while !left.is_empty() {
        let (_, sent) = receiver.next().await;
        let run = sent["run_id"].as_str().unwrap().to_owned();
        left.remove(&run);
        *counts.entry(run).or_default() += 1;
    }
    assert!(is_killed || counts.values().all(|count| *count == 1), "{counts:?}");
}

#[rstest]
#[case::of_a_thread("/threads/x/runs/wait")]
#[case::without_a_thread("/runs/wait")]
#[case::of_events("/threads/x/runs/stream")]
#[case::of_events_without_a_thread("/runs/stream")]
#[tokio::test(flavor = "multi_thread")]
async fn a_server_answers_for_a_run_that_it_has_created_and_another_one_executes(#[case] path: &str) {
    let Some(site) = Site::postgres() else { return };
    let store = site.store().to_str().unwrap();
    let busy = Api::start_with(Options::default().jobs(1), postgres::open(store)).await;
    let endless =
        json!({ "assistant_id": "slow", "input": { "steps": 1_000_000, "ms": 10 }, "if_not_exists": "create" });
    let run = busy.post("/threads/endless/runs", endless).await;
    let run = format!("/threads/endless/runs/{}", run["run_id"].as_str().unwrap());
    busy.until(&run, |run| run["status"] == "running").await;
    let _free = Api::start_with(Options::default(), postgres::open(store)).await;
    let body = json!({ "assistant_id": "counter", "input": {}, "if_not_exists": "create" });
    let answer = async { busy.send(Method::POST, path, Some(body)).await.text().await.unwrap() };
    let answer = tokio::time::timeout(LIMIT, answer).await.expect("no answer ends");
    assert!(answer.contains(r#""n":5"#), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_date_of_a_cron_has_one_run() {
    const CRON: (&str, &str, &str) = ("cron", "superstep.server.crons", "next");
    let Some(site) = Site::postgres() else { return };
    let ((_first, first), (_second, _)) = (site.start(), site.start());
    let store = postgres::open(site.store().to_str().unwrap());
    for nth in 0..5 {
        let input = json!({ "label": format!("c{nth}"), "entries": 1, "number": 0, "ms": 0 });
        let body = json!({ "assistant_id": "ledger", "schedule": "0 9 1 1 *", "input": input });
        assert_eq!(first.status(Method::POST, "/runs/crons", Some(body)).await, 200);
    }
    for dates in 1..=3 {
        make_due(&*store, CRON).await;
        for nth in 0..5 {
            while site.read_ledger().count(&format!("c{nth}")) < dates {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
    assert!((0..5).all(|nth| site.read_ledger().count(&format!("c{nth}")) == 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_server_answers_for_tasks_when_the_one_that_runs_them_is_killed() {
    let Some(site) = Site::postgres() else { return };
    let ((process, first), (_process, second)) = (site.start(), site.start());
    let client = McpClient::of(&first, NEW, tasks());
    let mut started = vec![];
    for nth in 0..4 {
        let input = json!({ "label": format!("m{nth}"), "entries": 20, "number": 0, "ms": 5 });
        started.push(client.start("run_ledger", input).await);
    }
    let client = McpClient::of(&second, NEW, tasks());
    assert_eq!(client.task(&started[3]).await["status"], "working");
    drop(process);
    for (nth, task) in started.iter().enumerate() {
        let done = client.task_with(task, "completed").await;
        assert_eq!(done["result"]["structuredContent"]["state"]["number"], 20);
        assert_eq!(site.read_ledger().check(&format!("m{nth}")), 20);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_cancelled_and_its_thread_is_deleted_by_a_server_that_does_not_execute_it() {
    let Some(site) = Site::postgres() else { return };
    let ((_first, first), (_second, second)) = (site.start(), site.start());
    let input = json!({ "label": "x", "entries": 1_000_000, "number": 0, "ms": 5 });
    let body = json!({ "assistant_id": "ledger", "input": input, "if_not_exists": "create" });
    let run = first.post("/threads/x/runs", body).await;
    let path = format!("/threads/x/runs/{}", run["run_id"].as_str().unwrap());
    second.until(&path, |run| run["status"] == "running").await;
    assert_eq!(second.status(Method::POST, &format!("{path}/cancel?wait=1"), None).await, 200);
    assert_eq!(first.get(&path).await["status"], "interrupted");
    assert_eq!(second.status(Method::DELETE, "/threads/x", None).await, 204);
    assert_eq!(first.status(Method::GET, "/threads/x", None).await, 404);
    assert_eq!(first.status(Method::GET, &path, None).await, 404);
}
