//! A server that is killed at any moment while clients create runs, wait for them, read them and answer their questions, and that is
//! started again: everything that was acknowledged ends as it should, with no client asking for it.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::script::Script;
use super::site::Site;
use crate::api::Api;
use crate::rng::Rng;

/// The number of threads of a round; each has up to six runs.
const THREADS: u64 = 16;
/// The longest time for all that was acknowledged to end.
const LIMIT: Duration = Duration::from_secs(120);

/// Returns the seeds of the rounds.
pub(super) fn seeds(rounds: u64) -> impl Iterator<Item = u64> {
    let of_environment = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let first = of_environment("SUPERSTEP_SEED").unwrap_or(1);
    first..first + of_environment("SUPERSTEP_KILLS").unwrap_or(rounds)
}

/// Waits for the moment of a kill.
pub(super) async fn pause(rng: &mut Rng, most: u64) {
    tokio::time::sleep(Duration::from_millis(rng.below(most))).await;
}

#[rstest]
#[case::sled(Site::sled, 4)]
#[case::fjall(Site::fjall, 2)]
#[case::postgres(Site::postgres, 3)]
#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_was_acknowledged_is_lost_by_a_kill(#[case] site: fn() -> Option<Site>, #[case] rounds: u64) {
    for seed in seeds(rounds) {
        let Some(site) = site() else { return };
        eprintln!("seed {seed}, {}", site.store().display());
        tokio::time::timeout(LIMIT, play(&site, Rng::new(seed))).await.expect("a run does not end");
    }
}

async fn play(site: &Site, mut rng: Rng) {
    let (process, api) = site.start();
    let mut clients = JoinSet::new();
    for nth in 0..THREADS {
        let (script, mut rng) = (Script::draw(format!("t{nth}"), &mut rng), Rng::new(rng.next()));
        let api = [api.again()];
        clients.spawn(async move { script.play(&api, &mut rng).await });
    }
    let questions: Vec<_> = (0..4).map(|nth| tokio::spawn(Question::play(format!("q{nth}"), api.again()))).collect();
    pause(&mut rng, 1200).await;
    drop(process);
    let scripts = clients.join_all().await;
    if rng.once_in(2) {
        let (process, _) = site.start();
        pause(&mut rng, 1000).await;
        drop(process);
    }
    let (_process, api) = site.start();
    for script in &scripts {
        script.stop_endless(&api).await;
    }
    for script in &scripts {
        script.check(&api, || site.read_ledger()).await;
    }
    for question in questions {
        question.await.unwrap().check(&api).await;
    }
}

/// A thread that asks, and the client that answers it.
struct Question {
    thread: String,
    is_asked: bool,
    answer: Option<String>,
}

impl Question {
    /// Starts a run, waits for its question and answers it, until the server is gone.
    async fn play(thread: String, api: Api) -> Self {
        let mut question = Self { thread, is_asked: false, answer: None };
        _ = question.give(&api).await;
        question
    }

    async fn give(&mut self, api: &Api) -> reqwest::Result<()> {
        let path = format!("{}/threads/{}", api.address, self.thread);
        let post = async |body: Value| -> reqwest::Result<Value> {
            api.client.post(format!("{path}/runs")).json(&body).send().await?.json().await
        };
        let input = json!({ "assistant_id": "approval", "input": { "request": "x" }, "if_not_exists": "create" });
        let run = post(input).await?;
        self.is_asked = run["run_id"].is_string();
        loop {
            let found: Value = api.client.get(&path).send().await?.json().await?;
            if found["status"] == "interrupted" {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let answer = post(json!({ "assistant_id": "approval", "command": { "resume": "yes", "by": "ada" } })).await?;
        self.answer = answer["run_id"].as_str().map(str::to_owned);
        Ok(())
    }

    async fn check(&self, api: &Api) {
        if !self.is_asked {
            return;
        }
        let path = format!("/threads/{}", self.thread);
        let found = api.until(&path, |found| found["status"] != "busy").await;
        let is_approved = found["values"]["status"] == "approved";
        assert!(is_approved || (self.answer.is_none() && found["status"] == "interrupted"), "{found}");
        if let Some(run) = &self.answer {
            assert_eq!(api.get(&format!("{path}/runs/{run}")).await["status"], "success");
        }
    }
}
