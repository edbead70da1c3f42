//! The figures, each beside its limit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use superstep::checkpoint::{Checkpointer, PostgresCheckpointer, ThreadQuery};
use superstep::graph::{Answer, StatusKind};

use crate::graphs::{Job, JobGraph, Notes, Sure, graph, since_1970};
use crate::server::Server;
use crate::worker::{Worker, cpu, resident};

/// A store, and a file for the notes of its workers.
struct Scene {
    address: String,
    store: Arc<dyn Checkpointer>,
    folder: tempfile::TempDir,
}

impl Scene {
    async fn new(server: &Server, lease: Duration) -> Self {
        let address = format!("{}&lease={}ms", server.new_store(), lease.as_millis());
        let store = PostgresCheckpointer::builder(&address).owner("bench").connect().await.unwrap();
        Self { address, store: Arc::new(store), folder: tempfile::tempdir().unwrap() }
    }

    fn notes(&self) -> Notes {
        Notes::at(self.folder.path().join("notes"))
    }

    fn worker(&self, name: &str) -> Worker {
        Worker::start(name, &self.address, &self.folder.path().join("notes"))
    }

    async fn start(&self, graph: &JobGraph, name: &str, supersteps: u64) {
        let thread = graph.thread_with(name, self.notes()).max_supersteps(supersteps);
        thread.invoke(Job::update().name(name)).await.unwrap();
    }

    /// Waits for a note, and returns its time.
    async fn noted(&self, name: &str, nth: usize) -> Duration {
        loop {
            if let Some(time) = self.notes().times(name).get(nth) {
                return *time;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

fn line(what: &str, figure: &str, limit: &str) {
    println!("{what:<64} {figure:>24}   limit {limit}");
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// The time from the end of a worker that is killed in a node until another executes the node.
pub(crate) async fn takeover(server: &Server, lease: Duration, times: usize) {
    let scene = Scene::new(server, lease).await;
    let graph = graph("hangs", &scene.store);
    let mut all = vec![];
    for nth in 0..times {
        let (name, first) = (format!("t{nth}"), scene.worker(&format!("first{nth}")));
        scene.start(&graph, &name, 0).await;
        scene.noted(&name, 0).await;
        let second = scene.worker(&format!("second{nth}"));
        tokio::time::sleep(Duration::from_secs(1)).await; // it is idle then
        let killed = since_1970();
        first.kill();
        all.push(scene.noted(&name, 1).await - killed);
        drop(second);
    }
    let worst = all.iter().max().copied().unwrap_or_default();
    let what = format!("takeover after kill -9, lease {} s, worst of {times}", lease.as_secs());
    line(&what, &format!("{:.2} s", worst.as_secs_f64()), &format!("{} s", lease.as_secs() + 1));
}

/// The time from an answer in this process until the node goes on in another.
pub(crate) async fn answers(server: &Server, times: usize) {
    let scene = Scene::new(server, Duration::from_secs(15)).await;
    let (graph, worker) = (graph("asks", &scene.store), scene.worker("w1"));
    for nth in 0..times {
        scene.start(&graph, &format!("t{nth}"), 0).await;
    }
    let mut asking = ThreadQuery::default();
    asking.statuses = vec![StatusKind::Interrupted];
    while scene.store.list(&asking).await.unwrap().len() < times {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let mut all = vec![];
    for nth in 0..times {
        let name = format!("t{nth}");
        let thread = graph.thread_with(name.as_str(), scene.notes()).max_supersteps(0);
        let answered = since_1970();
        thread.answer(Answer::new::<Sure>(&true)).await.unwrap();
        all.push(scene.noted(&name, 0).await - answered);
    }
    drop(worker);
    all.sort_unstable();
    let at = |percent: usize| format!("{:.1} ms", millis(all[(all.len() * percent / 100).min(all.len() - 1)]));
    line(&format!("an answer until the node goes on elsewhere, p50 of {times}"), &at(50), "20 ms");
    line(&format!("an answer until the node goes on elsewhere, p99 of {times}"), &at(99), "150 ms");
}

/// Processor time and memory of an idle worker and its server, with threads that sleep or wait for an answer.
pub(crate) async fn idle(server: &Server, threads: usize, time: Duration) {
    let scene = Scene::new(server, Duration::from_secs(15)).await;
    let graphs = ["asks", "sleeps"].map(|name| graph(name, &scene.store));
    let numbers: Vec<usize> = (0..threads).collect();
    for some in numbers.chunks(100) {
        let start = |nth: &usize| {
            let (graph, name, scene) = (&graphs[nth % 2], format!("t{nth}"), &scene);
            async move { scene.start(graph, &name, 9).await }
        };
        join_all(some.iter().map(start)).await;
    }
    let worker = scene.worker("w1");
    tokio::time::sleep(Duration::from_secs(5)).await; // it has listed all threads then
    let used = || cpu(&[server.processes(), vec![worker.pid()]].concat());
    let (before, start) = (used(), Instant::now());
    tokio::time::sleep(time).await;
    let share = (used() - before).as_secs_f64() / start.elapsed().as_secs_f64() * 100.0;
    let what = format!("CPU of an idle worker and the server, {threads} threads wait, {} s", time.as_secs());
    line(&what, &format!("{share:.2} % of a core"), "1 %");
    line("resident memory of that worker", &format!("{:.1} MB", resident(worker.pid())), "40 MB");
}
