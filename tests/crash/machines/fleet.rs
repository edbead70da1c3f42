//! Processes that run the threads of a store: the command `runner` of the program of `graphs`, started, killed, frozen and ended.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::machines::graphs::WORDS;
use crate::machines::ledger::{FILE, Ledger};
use crate::machines::restate::free_ports;
use crate::rng::Rng;

/// The lease of each worker.
pub(crate) const LEASE: Duration = Duration::from_millis(1500);

/// Variables of the environments of workers: there are as many workers with each.
pub(crate) type Environments = Vec<Vec<(String, String)>>;

struct Worker {
    name: String,
    child: Child,
    /// The number of its environment.
    environment: usize,
    since: Instant,
    /// When it goes on, if it is frozen.
    frozen: Option<Instant>,
}

/// The workers of a team.
pub(crate) struct Fleet {
    address: String,
    folder: PathBuf,
    ledger: Ledger,
    workers: Vec<Worker>,
    started: u32,
    /// Restate's admin API, if it calls the workers.
    admin: Option<String>,
    variables: Environments,
}

impl Fleet {
    pub(crate) fn new(address: String, ledger: &Path, variables: Environments) -> Self {
        let folder = ledger.parent().unwrap().to_owned();
        Self { address, folder, ledger: Ledger::at(ledger), workers: vec![], started: 0, admin: None, variables }
    }

    /// Returns the workers as ones that Restate calls.
    pub(crate) fn called_by_restate(mut self, admin: String) -> Self {
        self.admin = Some(admin);
        self
    }

    /// Starts workers until there are so many, in place of those that have ended too.
    pub(crate) fn fill(&mut self, count: usize) {
        for worker in &mut self.workers {
            let ended = worker.child.try_wait().unwrap();
            assert!(
                ended.is_none(),
                "{} has ended by itself with {ended:?}: {}",
                worker.name,
                log(&self.folder, &worker.name)
            );
        }
        while self.workers.len() < count {
            self.start();
        }
    }

    fn start(&mut self) {
        self.started += 1;
        let name = format!("w{}", self.started);
        let words = format!("runner --name {name} --jobs 6 --store {}&lease={}ms", self.address, LEASE.as_millis());
        let words = match &self.admin {
            Some(admin) => format!("{words} --restate 127.0.0.1:{} --admin {admin}", free_ports::<1>()[0]),
            None => words,
        };
        let log = std::fs::File::create(self.folder.join(format!("{name}.log"))).unwrap();
        let mut command = program(&words, self.ledger.path());
        let used =
            |environment: &usize| self.workers.iter().filter(|worker| worker.environment == *environment).count();
        let environment = (0..self.variables.len()).min_by_key(used).unwrap_or_default();
        self.variables.get(environment).into_iter().flatten().for_each(|(name, value)| _ = command.env(name, value));
        let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        self.workers.push(Worker { name, child, environment, since: Instant::now(), frozen: None });
    }

    /// Kills a worker.
    pub(crate) fn kill(&mut self, rng: &mut Rng) {
        if self.workers.is_empty() {
            return;
        }
        let mut worker = self.workers.swap_remove(rng.index(self.workers.len()));
        worker.child.kill().unwrap();
        worker.child.wait().unwrap();
        self.ledger.note_of(worker.child.id(), "dead");
    }

    /// Asks a worker to end, and waits until it has.
    pub(crate) fn end(&mut self, rng: &mut Rng) {
        let Some(at) = self.draw(rng) else { return };
        let mut worker = self.workers.swap_remove(at);
        signal(worker.child.id(), "TERM");
        let status = worker.child.wait().unwrap();
        // One that has just been started does not listen yet.
        let is_new = worker.since.elapsed() < Duration::from_secs(3) && status.code().is_none();
        let log = log(&self.folder, &worker.name);
        assert!(is_new || status.code() == Some(0), "{} was asked to end: {status} {log}", worker.name);
        self.ledger.note_of(worker.child.id(), "dead");
    }

    /// Freezes a worker for a time; false if all are.
    pub(crate) fn freeze(&mut self, rng: &mut Rng, time: Duration) -> bool {
        let Some(at) = self.draw(rng) else { return false };
        let worker = &mut self.workers[at];
        signal(worker.child.id(), "STOP");
        self.ledger.note_of(worker.child.id(), "stop");
        worker.frozen = Some(Instant::now() + time);
        true
    }

    /// Lets the workers go on whose time has come.
    pub(crate) fn thaw(&mut self, now: Instant) {
        for worker in &mut self.workers {
            if worker.frozen.take_if(|end| *end <= now).is_some() {
                self.ledger.note_of(worker.child.id(), "cont");
                signal(worker.child.id(), "CONT");
            }
        }
    }

    /// Returns a worker that is not frozen.
    fn draw(&self, rng: &mut Rng) -> Option<usize> {
        let awake: Vec<usize> = (0..self.workers.len()).filter(|at| self.workers[*at].frozen.is_none()).collect();
        awake.get(rng.index(awake.len())).copied()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            _ = worker.child.kill();
            _ = worker.child.wait();
        }
    }
}

/// Returns a command of the program.
pub(crate) fn program(words: &str, ledger: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["machines::graphs::program", "--exact", "--test-threads=1", "--nocapture"]);
    command.env(WORDS, words).env(FILE, ledger).stdin(Stdio::null());
    command
}

/// Returns the errors that a worker has printed.
fn log(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(format!("{name}.log"))).unwrap_or_default()
}

fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap();
    assert!(status.success(), "kill -{name} {pid}");
}
