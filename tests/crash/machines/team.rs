//! A team: a store, workers on it, and this process, which starts threads, answers their questions and watches that no head goes
//! back. Ends when all threads have ended as they do undisturbed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use superstep::checkpoint::{
    CheckpointId, Checkpointer, ListedThread, MemoryCheckpointer, PostgresCheckpointer, ThreadId, ThreadQuery,
};
use superstep::graph::runner::Dispatch;
use superstep::graph::{Answer, Outcome, StatusKind};
use superstep_restate::RestateDispatch;
use tempfile::TempDir;

use crate::machines::fleet::{Environments, Fleet, LEASE};
use crate::machines::graphs::{GRAPHS, Job, JobGraph, Sure, VERSION, graphs_over};
use crate::machines::judge::{CALM, OUTAGE, Verdict, judge};
use crate::machines::ledger::Ledger;
use crate::machines::proxy::Proxy;
use crate::machines::restate::Restate;
use crate::machines::server::Server;
use crate::rng::{Rng, hash};

/// The number of workers, and of threads that are not finished at a time.
const WORKERS: usize = 3;
const THREADS: usize = 24;
/// The longest time that the threads need to end once nothing disturbs them any more.
const END: Duration = Duration::from_secs(90);

/// What is done to a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disturbance {
    Kill,
    End,
    Freeze,
    KillServer,
    FreezeServer,
    KillRestate,
    /// Nothing: the connections are cut by themselves.
    Wait,
}

pub(crate) struct Team {
    server: Server,
    pub(crate) proxy: Option<Proxy>,
    folder: TempDir,
    pub(crate) ledger: Ledger,
    store: Arc<dyn Checkpointer>,
    /// Those of the oldest version, and of the newest.
    graphs: [Vec<JobGraph>; 2],
    fleet: Fleet,
    rng: Rng,
    heads: HashMap<String, CheckpointId>,
    finished: BTreeSet<String>,
    started: usize,
    restate: Option<RestateCalls>,
}

/// A Restate server that calls the workers.
struct RestateCalls {
    server: Restate,
    dispatch: RestateDispatch,
    /// Threads for which something was stored while the server was away.
    waiting: Vec<ThreadId>,
}

impl RestateCalls {
    async fn wake_all(&mut self) {
        for thread in std::mem::take(&mut self.waiting) {
            if self.dispatch.wake(&thread, None).await.is_err() {
                self.waiting.push(thread);
            }
        }
    }
}

impl Team {
    /// Starts a team whose workers Restate calls; `None` if there is no Restate here.
    pub(crate) async fn start_with_restate(seed: u64) -> Option<Self> {
        let server = Restate::start()?;
        let team = Self::start(seed, false, vec![]).await?;
        let dispatch = RestateDispatch::new(&server.ingress()).unwrap();
        let fleet = team.fleet.called_by_restate(server.admin());
        Some(Self { fleet, restate: Some(RestateCalls { server, dispatch, waiting: vec![] }), ..team })
    }

    /// Starts a server and a team; `None` if there is no PostgreSQL here.
    pub(crate) async fn start(seed: u64, has_proxy: bool, variables: Environments) -> Option<Self> {
        let server = Server::start(&[])?;
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::at(&folder.path().join("ledger"));
        let own = server.store("team");
        let proxy = has_proxy.then(|| Proxy::start(&server.folder().join(".s.PGSQL.5432"), seed));
        let through = |proxy: &Proxy| format!("postgres://postgres@127.0.0.1:{}/postgres?schema=team", proxy.port());
        let address = proxy.as_ref().map_or_else(|| own.clone(), through);
        let store = PostgresCheckpointer::builder(&own).lease(LEASE).owner("team").pool(4).connect().await.unwrap();
        let store: Arc<dyn Checkpointer> = Arc::new(store);
        let is_newer = variables.iter().flatten().any(|(name, _)| name == VERSION);
        let newest = u32::from(is_newer);
        let fleet = Fleet::new(address, ledger.path(), variables);
        let (graphs, rng) = ([0, newest].map(|version| graphs_over(&store, version)), Rng::new(seed));
        let (heads, finished) = (HashMap::new(), BTreeSet::new());
        Some(Self {
            server,
            proxy,
            folder,
            ledger,
            store,
            graphs,
            fleet,
            rng,
            heads,
            finished,
            started: 0,
            restate: None,
        })
    }

    /// Lets the workers run threads, and disturbs them so often, in ways that are drawn; then waits for the end of all threads, and
    /// judges it.
    pub(crate) async fn run(mut self, ways: &[Disturbance], times: usize) -> Verdict {
        let mut next = Instant::now() + Duration::from_millis(600);
        let mut left = times;
        if self.proxy.is_some() {
            self.ledger.note(OUTAGE);
        }
        while left > 0 {
            self.turn(THREADS).await;
            if Instant::now() >= next {
                let way = ways[self.rng.index(ways.len())];
                left -= usize::from(self.disturb(way).await);
                next = Instant::now() + Duration::from_millis(50 + self.rng.below(450));
            }
        }
        if let Some(proxy) = &self.proxy {
            proxy.calm();
            self.ledger.note(CALM);
        }
        let end = Instant::now() + END;
        while self.turn(0).await > 0 {
            assert!(Instant::now() < end, "not all threads end: {}", self.folder.keep().display());
        }
        self.judge().await
    }

    /// Returns true if it had an effect.
    async fn disturb(&mut self, way: Disturbance) -> bool {
        let rng = &mut self.rng;
        match way {
            Disturbance::Kill => self.fleet.kill(rng),
            Disturbance::End => self.fleet.end(rng),
            Disturbance::Freeze => {
                let time = LEASE.mul_f64(0.5) + Duration::from_millis(rng.below(2 * LEASE.as_millis() as u64));
                return self.fleet.freeze(rng, time);
            }
            Disturbance::KillServer => {
                let away = Duration::from_millis(rng.below(700));
                self.server.signal("-KILL");
                self.ledger.note(OUTAGE);
                tokio::time::sleep(away).await;
                tokio::task::block_in_place(|| self.server.run());
                self.ledger.note(CALM);
            }
            Disturbance::FreezeServer => {
                self.server.signal("-STOP");
                self.ledger.note(OUTAGE);
                tokio::time::sleep(Duration::from_millis(rng.below(2 * LEASE.as_millis() as u64))).await;
                self.server.signal("-CONT");
                self.ledger.note(CALM);
            }
            Disturbance::KillRestate => {
                let (away, calls) = (Duration::from_millis(rng.below(700)), self.restate.as_mut().unwrap());
                self.ledger.note(OUTAGE);
                calls.server.kill();
                tokio::time::sleep(away).await;
                tokio::task::block_in_place(|| calls.server.run());
                self.ledger.note(CALM);
            }
            Disturbance::Wait => {}
        }
        true
    }

    /// Looks at all threads: watches their heads, answers questions, starts new threads until so many have not ended. Returns the
    /// number of those.
    async fn turn(&mut self, threads: usize) -> usize {
        self.fleet.thaw(Instant::now());
        self.fleet.fill(WORKERS);
        for thread in self.store.list(&ThreadQuery::default()).await.unwrap() {
            self.look(thread).await;
        }
        let mut open = self.started - self.finished.len();
        while open < threads {
            self.begin().await;
            open += 1;
        }
        if let Some(calls) = &mut self.restate {
            calls.wake_all().await;
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
        open
    }

    async fn look(&mut self, thread: ListedThread) {
        let name = thread.id.to_string();
        if let Some(head) = thread.checkpoint {
            let newest = self.heads.entry(name.clone()).or_insert(head);
            assert!(*newest <= head, "the head of {name} goes back from {newest:?} to {head:?}");
            *newest = head;
        }
        match thread.status {
            StatusKind::Finished => _ = self.finished.insert(name),
            StatusKind::Interrupted => {
                let thread = self.graph_of(&name).thread_with(thread.id, Ledger::at(self.ledger.path()));
                // Refused if somebody runs it again, or was faster.
                let answered = thread.max_supersteps(0).answer(Answer::new::<Sure>(&answer(&name))).await;
                if answered.is_ok() {
                    self.wake(name.as_str()).await;
                }
            }
            StatusKind::Failed | StatusKind::Damaged => panic!("{thread:?}"),
            StatusKind::Running => {} // also while a worker only looks at it
            _ => assert!(!self.finished.contains(&name), "{thread:?} has finished before"),
        }
    }

    fn graph_of(&self, name: &str) -> &JobGraph {
        self.graphs[1].iter().find(|graph| name.starts_with(graph.name())).unwrap()
    }

    /// Stores a new thread and runs nothing of it.
    async fn begin(&mut self) {
        let name = format!("{}-{}", GRAPHS[self.rng.index(GRAPHS.len())].0, self.started);
        let graphs = &self.graphs[self.rng.index(2)];
        let graph = graphs.iter().find(|graph| name.starts_with(graph.name())).unwrap();
        let thread = graph.thread_with(name.as_str(), Ledger::at(self.ledger.path()));
        let stored = thread.max_supersteps(0).invoke(Job::update().name(name.as_str())).await;
        // The answer of the last commit may come too late; whoever lists the threads sees if it was written.
        if let Err(error) = stored {
            println!("{name}: {error}");
        }
        self.wake(name.as_str()).await;
        self.started += 1;
    }

    async fn wake(&mut self, name: &str) {
        if let Some(calls) = &mut self.restate {
            calls.waiting.push(name.into());
            calls.wake_all().await;
        }
    }

    /// Compares with the same threads undisturbed.
    async fn judge(mut self) -> Verdict {
        let lines = self.ledger.lines();
        let mut verdict = judge(&lines);
        verdict.disturbances += self.proxy.as_ref().map_or(0, Proxy::cuts);
        let place = self.folder.path().join("undisturbed");
        let names: Vec<String> = std::mem::take(&mut self.finished).into_iter().collect();
        let undisturbed = join_all(names.iter().map(|name| end_of(name, Ledger::at(&place)))).await;
        for (name, expected) in names.iter().zip(undisturbed) {
            let thread = self.graph_of(name).thread_with(name.as_str(), Ledger::at(&place));
            let found = thread.state().await.unwrap().unwrap().values;
            if *found != expected {
                verdict.lost.push(format!("{name} ended as {found:?} and not as {expected:?}"));
            }
        }
        let expected = judge(&Ledger::at(&place).lines()).effects;
        for effect in expected.symmetric_difference(&verdict.effects) {
            verdict.lost.push(format!("{effect:?} was not acknowledged"));
        }
        if !(verdict.lost.is_empty() && verdict.doubled.is_empty()) {
            println!("the ledger: {}", self.folder.keep().display());
        }
        verdict
    }
}

fn answer(name: &str) -> u64 {
    hash(name) % 10
}

/// Runs a thread undisturbed, and returns its last state.
async fn end_of(name: &str, ledger: Ledger) -> Job {
    let store: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
    let graphs = graphs_over(&store, 0);
    let graph = graphs.iter().find(|graph| name.starts_with(graph.name())).unwrap();
    let thread = graph.thread_with(name, ledger);
    let mut outcome = thread.invoke(Job::update().name(name)).await.unwrap();
    loop {
        outcome = match outcome {
            Outcome::Finished(state) => return Job::clone(&state),
            Outcome::Interrupted { .. } => thread.resume::<Sure>(answer(name)).await.unwrap(),
            _ => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                thread.proceed().await.unwrap()
            }
        };
    }
}
