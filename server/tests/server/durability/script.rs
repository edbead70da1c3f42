//! Random requests of a client to one thread, and the check that all which were acknowledged took effect, in order. Requests that were not
//! acknowledged may have done so. Must not know how servers end.

use std::time::Duration;

use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::site::Ledger;
use crate::api::Api;
use crate::rng::Rng;

/// The entries of a run that ends only if it is stopped.
const ENDLESS: u64 = 1_000_000;

/// The longest time for a run to end once its server is there again.
const LIMIT: Duration = Duration::from_secs(30);

/// A run that the client asks for.
pub(crate) struct Order {
    label: String,
    entries: u64,
    strategy: &'static str,
    path: &'static str,
    /// Set if the client waits for the end before its next order.
    waits: bool,
    more: Value,
    answer: Answer,
    /// The rest of the answer, if the client has read it to its end.
    text: Option<String>,
}

/// The answer to an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    None,
    Refused,
    Accepted(String),
    /// The server was gone before it answered.
    Unknown,
}

/// The orders of one thread.
pub(crate) struct Script {
    pub(crate) thread: String,
    orders: Vec<Order>,
}

impl Script {
    /// Draws the orders of a thread.
    pub(crate) fn draw(thread: String, rng: &mut Rng) -> Self {
        let count = 1 + rng.below(6);
        let draw = |nth| Order::draw(format!("{thread}.{nth}"), nth, rng);
        let mut orders: Vec<_> = (0..count).map(draw).collect();
        let mut is_blocked = false; // by a run that ends only if a later order stops it
        for order in &mut orders {
            is_blocked &= !matches!(order.strategy, "interrupt" | "rollback");
            order.waits &= !is_blocked;
            is_blocked |= order.entries == ENDLESS;
        }
        if !orders[0].more["after_seconds"].is_null() {
            orders.truncate(1); // its place among the others is not known
        }
        Self { thread, orders }
    }

    /// Has the end of each run sent to a URL.
    pub(crate) fn with_webhook(mut self, url: &str) -> Self {
        self.orders.iter_mut().for_each(|order| order.more["webhook"] = url.into());
        self
    }

    /// Returns the runs that were accepted and have succeeded.
    pub(crate) async fn succeeded(&self, api: &Api) -> Vec<String> {
        let mut succeeded = vec![];
        for order in &self.orders {
            if let (Answer::Accepted(run), Some("success")) = (&order.answer, self.status(api, order).await.as_deref())
            {
                succeeded.push(run.clone());
            }
        }
        succeeded
    }

    /// Gives the orders, each to one of several servers, until one is not answered.
    pub(crate) async fn play(mut self, servers: &[Api], rng: &mut Rng) -> Self {
        for order in &mut self.orders {
            (order.answer, order.text) = order.give(&servers[rng.index(servers.len())], &self.thread).await;
            if order.answer == Answer::Unknown {
                break;
            }
        }
        self
    }

    /// Stops the runs that would never end: those for which no later order was acknowledged that stops them.
    pub(crate) async fn stop_endless(&self, api: &Api) {
        let path = format!("/threads/{}/runs", self.thread);
        let runs = api.get(&format!("{path}?limit=1000")).await;
        for (nth, order) in self.orders.iter().enumerate() {
            if order.entries == ENDLESS && !self.orders[nth + 1..].iter().any(Order::surely_stops) {
                let is_its = |run: &&Value| run["kwargs"]["input"]["label"] == order.label;
                let Some(run) = runs.as_array().and_then(|runs| runs.iter().find(is_its)) else { continue };
                api.send(Method::POST, &format!("{path}/{}/cancel", run["run_id"].as_str().unwrap()), None).await;
            }
        }
    }

    /// Waits until each run has ended, and checks what has become of all of them.
    pub(crate) async fn check(&self, api: &Api, read_ledger: impl Fn() -> Ledger) {
        let mut statuses = vec![];
        for order in &self.orders {
            let Ok(status) = timeout(LIMIT, self.status(api, order)).await else { self.fail(api, order).await };
            statuses.push(status);
        }
        let path = format!("/threads/{}", self.thread);
        api.until(&path, |thread| thread["status"] != "busy").await; // of a run that was not acknowledged
        let runs = api.get(&format!("{path}/runs?limit=1000")).await;
        let has_ended = |run: &Value| !matches!(run["status"].as_str(), Some("pending" | "running"));
        assert!(runs.as_array().is_none_or(|runs| runs.iter().all(has_ended)), "{runs}");
        let log = api.get(&format!("{path}/state")).await["values"]["log"].clone();
        let log: Vec<String> = serde_json::from_value(log).unwrap_or_default();
        let (ledger, told) = (read_ledger(), format!("{}{log:?}", self.describe(&statuses)));
        let mut log = log.iter().map(String::as_str).peekable();
        for (nth, (order, status)) in self.orders.iter().zip(&statuses).enumerate() {
            let mut kept = 0;
            while log.next_if(|entry| **entry == format!("{} {}", order.label, kept + 1)).is_some() {
                kept += 1;
            }
            let written = ledger.check(&order.label);
            let later = &self.orders[nth + 1..];
            let allowed = match (&order.answer, status.as_deref()) {
                (Answer::Accepted(_), Some("success")) => {
                    kept == order.entries && written == order.entries && order.has_shown_its_end()
                }
                (Answer::Accepted(_), Some("interrupted")) => {
                    kept <= written && (order.entries == ENDLESS || later.iter().any(|order| order.stops("interrupt")))
                }
                (Answer::Accepted(_), None) => kept == 0 && later.iter().any(|order| order.stops("rollback")),
                (Answer::Unknown, _) => true,
                (Answer::Refused, _) => kept == 0 && written == 0 && order.strategy == "reject" && nth > 0,
                (Answer::None, _) => kept == 0 && written == 0,
                (Answer::Accepted(_), Some(_)) => false,
            };
            assert!(allowed, "{}: {kept} kept, {written} written of\n{told}", order.label);
        }
        assert_eq!(log.next(), None, "{told}");
    }

    /// Returns the status of a run that was accepted, once it has ended; `None` if it is gone.
    async fn status(&self, api: &Api, order: &Order) -> Option<String> {
        let Answer::Accepted(run) = &order.answer else { return None };
        loop {
            let found = api.get(&format!("/threads/{}/runs/{run}", self.thread)).await;
            match found["status"].as_str() {
                Some("pending" | "running") => sleep(Duration::from_millis(20)).await,
                status => return status.map(str::to_owned),
            }
        }
    }

    /// Fails for a run that does not end.
    async fn fail(&self, api: &Api, order: &Order) -> ! {
        let statuses = vec![None; self.orders.len()];
        let runs = api.get(&format!("/threads/{}/runs?limit=1000", self.thread)).await;
        panic!("{} does not end\n{}{runs}", order.label, self.describe(&statuses))
    }

    fn describe(&self, statuses: &[Option<String>]) -> String {
        let orders = self.orders.iter().zip(statuses).map(|(order, status)| {
            let Order { label, entries, strategy, path, answer, .. } = order;
            format!("{label}: {entries} entries, {strategy}, {path}: {answer:?}, {status:?}\n")
        });
        orders.collect()
    }
}

impl Order {
    fn draw(label: String, nth: u64, rng: &mut Rng) -> Self {
        let strategies = ["enqueue", "enqueue", "reject", "interrupt", "rollback"];
        let strategy = if nth == 0 { "enqueue" } else { strategies[rng.index(strategies.len())] };
        let path = ["runs", "runs", "runs/wait", "runs/stream"][rng.index(4)];
        let is_endless = rng.once_in(5);
        let entries = if is_endless { ENDLESS } else { 1 + rng.below(8) };
        let mut more = json!({ "ms": rng.below(12) });
        if nth == 0 && rng.once_in(6) {
            more["after_seconds"] = json!(0.001 * rng.below(600) as f64);
        }
        Self {
            label,
            entries,
            strategy,
            path,
            waits: !is_endless && rng.once_in(4),
            more,
            answer: Answer::None,
            text: None,
        }
    }

    fn request(&self) -> Value {
        let input = json!({ "label": self.label, "entries": self.entries, "number": 0, "ms": self.more["ms"] });
        json!({
            "assistant_id": "ledger", "input": input, "multitask_strategy": self.strategy, "if_not_exists": "create",
            "after_seconds": self.more["after_seconds"], "webhook": self.more["webhook"], "stream_mode": ["values", "updates"],
            "config": { "recursion_limit": 2 * ENDLESS },
        })
    }

    async fn give(&self, api: &Api, thread: &str) -> (Answer, Option<String>) {
        let url = format!("{}/threads/{thread}/{}", api.address, self.path);
        let Ok(response) = api.client.post(url).json(&self.request()).send().await else {
            return (Answer::Unknown, None);
        };
        match response.status() {
            StatusCode::OK => self.read(response).await,
            StatusCode::CONFLICT if self.strategy == "reject" => (Answer::Refused, None),
            status => panic!("{status}: {:?}", response.text().await),
        }
    }

    async fn read(&self, mut response: Response) -> (Answer, Option<String>) {
        let location = response.headers()["content-location"].to_str().unwrap();
        let run = location.rsplit('/').next().unwrap().to_owned();
        if !self.waits {
            return (Answer::Accepted(run), None);
        }
        let mut text = String::new();
        while let Ok(chunk) = response.chunk().await {
            match chunk {
                Some(bytes) => text += std::str::from_utf8(&bytes).unwrap(),
                None => return (Answer::Accepted(run), Some(text)),
            }
        }
        (Answer::Accepted(run), None)
    }

    /// Returns whether the answer had the last entry, if the client waited for it.
    fn has_shown_its_end(&self) -> bool {
        let last = format!("\"{} {}\"", self.label, self.entries);
        self.path == "runs" || self.text.as_ref().is_none_or(|text| text.contains(&last))
    }

    /// Returns whether the order may have stopped the runs before it in this way.
    fn stops(&self, strategy: &str) -> bool {
        self.strategy == strategy && matches!(self.answer, Answer::Accepted(_) | Answer::Unknown)
    }

    fn surely_stops(&self) -> bool {
        matches!(self.answer, Answer::Accepted(_)) && matches!(self.strategy, "interrupt" | "rollback")
    }
}
