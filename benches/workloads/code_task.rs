//! Tasks in attempts: the cost of an attempt without agents, git and verifiers, its stored bytes, and the memory of a
//! tree of tasks that are split repeatedly. Real git; agents and verifier are code.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use cpu_time::ThreadTime;
use superstep::checkpoint::Checkpointer;
use superstep::nodes::{AfterGivingUp, Crew, TaskGivenUp};
use superstep::prelude::*;
use superstep::spec::{Flags, RunSettings, TaskSpec, VerifierConfig};
use superstep_workflows::Profile;
use superstep_workflows::code_task::{CodeTaskState, CodeTaskStateUpdate, Settings, TaskOutcome, graph};

use super::bytes::memory_kb;
use super::child;
use super::code_agent::{Agent, Parts, Shape, write};
use super::figure::Figure;
use super::harness::Bench;
use super::measure::{Spread, micros};
use super::replay::Recording;
use super::tasks::repository;

/// The files of the repository for the memory measurement.
const FILES: u32 = 2000;
/// The maximum number of attempts of a policy; a person grants more.
const POLICY: u32 = 10;
const VERIFIERS: &str = "
verifiers:
- {id: parts, mode: code, stage: build, criticality: blocker, required: true}
- {id: build, enabled: false}
- {id: test, enabled: false}
- {id: bigpicture, enabled: false}
";

pub(crate) fn run(bench: &Bench) {
    orchestration(bench);
    bytes(bench);
    bytes_of_trees(bench);
    memory(bench);
}

/// The CPU time of engine and nodes with recorded effects, and of their thread in a real run, which also starts git.
fn orchestration(bench: &Bench) {
    let job = Job::line(POLICY);
    let folder = bench.folder();
    let input = job.input(folder.path());
    let test = || graph::<Crew>().unwrap().test_with(job.crew());
    let real = bench.lone.block_on(test().real_effects().run(input.clone())).unwrap();
    assert_eq!(real.state.outcome, Some(TaskOutcome::Done));
    let scripted = bench.lone.block_on(test().effects_of(&real.thread)).unwrap();
    let alone = bench.measure(&bench.lone, POLICY.into(), async || {
        scripted.run_on(Arc::new(MemoryCheckpointer::new()), input.clone()).await.unwrap();
    });
    let what = format!("{POLICY} attempts, all but agents, git, verifiers, per attempt");
    bench.print(&Figure::cpu("code", what, alone).target("<= 5000"));

    let job = Job::line(bench.pick([40, 20, 3]) as u32);
    let store = || Arc::new(MemoryCheckpointer::new());
    let threads = (0..bench.pick([5, 3, 1])).map(|_| bench.lone.block_on(job.on(bench, store())));
    let threads = threads.map(|took| micros(took) / f64::from(job.attempts())).collect();
    let what = format!("{} attempts, the thread of engine and nodes, per attempt", job.attempts());
    bench.print(&Figure::new("code", what, Spread::of(threads), "us cpu"));
}

/// Returns the stored bytes of all values, per attempt.
fn bytes(bench: &Bench) {
    let few = [4, 8];
    let many = [bench.pick([60, 30, 9]), bench.pick([120, 60, 12])].map(|attempts| attempts as u32);
    let per =
        |[from, to]: [u32; 2]| (stored(bench, Job::line(to)) - stored(bench, Job::line(from))) / f64::from(to - from);
    let what = format!("value bytes of an attempt, {} to {}, beside {} to {}", many[0], many[1], few[0], few[1]);
    let [few, many] = [few, many].map(|range| Spread::exact(per(range)));
    bench.print(&Figure::new("code", what, many, "bytes").limit(few).target("<= 1.1x"));
}

fn bytes_of_trees(bench: &Bench) {
    let trees = [bench.pick([3, 3, 1]), bench.pick([2, 2, 1])].map(|depth| Job::tree(depth as u32));
    let what =
        format!("value bytes of an attempt in a tree of {}, beside one of {}", trees[0].tasks(), trees[1].tasks());
    let [large, small] = trees.map(|job| Spread::exact(stored(bench, job) / f64::from(job.attempts())));
    bench.print(&Figure::new("code", what, large, "bytes").limit(small).target("<= 1.1x"));
}

fn stored(bench: &Bench, job: Job) -> f64 {
    let store = Recording::default();
    bench.lone.block_on(job.on(bench, Arc::new(store.clone())));
    store.take().iter().flatten().map(Vec::len).sum::<usize>() as f64
}

fn memory(bench: &Bench) {
    let (folder, depth) = (bench.folder(), bench.pick([3, 3, 1]));
    std::fs::write(folder.path().join("depth"), depth.to_string()).unwrap();
    let peak = child::start("code-task", folder.path()).1[0] / 1024.0;
    let what = format!("peak memory, a tree of {}", Job::tree(depth as u32).tasks());
    bench.print(&Figure::new("code", what, Spread::exact(peak), "MB").target("<= 150"));
}

/// Runs a tree in a child process, and prints its peak memory.
pub(crate) fn child(folder: &Path) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let store = Arc::new(SledCheckpointer::open(folder.join("store")).unwrap());
    let depth = std::fs::read_to_string(folder.join("depth")).unwrap().parse().unwrap();
    runtime.block_on(Job { files: FILES, ..Job::tree(depth) }.within(folder, store));
    println!("{}", memory_kb("VmHWM"));
}

/// A task and the behaviour of its agents.
#[derive(Clone, Copy)]
struct Job {
    shape: Shape,
    /// The files of the repository.
    files: u32,
}

impl Job {
    fn line(attempts: u32) -> Self {
        Self { shape: Shape::Line { attempts }, files: 20 }
    }

    fn tree(depth: u32) -> Self {
        Self { shape: Shape::Tree { depth }, files: 20 }
    }

    /// Returns the number of all attempts: a split task has two before its children and one after them.
    fn attempts(self) -> u32 {
        match self.shape {
            Shape::Line { attempts } => attempts,
            Shape::Tree { depth } => 3 * self.tasks() - 2 * 3_u32.pow(depth),
        }
    }

    /// Returns the number of tasks, with three children each.
    fn tasks(self) -> u32 {
        match self.shape {
            Shape::Line { .. } => 1,
            Shape::Tree { depth } => 3_u32.pow(depth + 1) / 2,
        }
    }

    async fn on(self, bench: &Bench, store: Arc<dyn Checkpointer>) -> Duration {
        self.within(bench.folder().path(), store).await
    }

    /// Executes the task, and returns the CPU time of this thread.
    async fn within(self, folder: &Path, store: Arc<dyn Checkpointer>) -> Duration {
        let input = self.input(folder);
        let graph = graph::<Crew>().unwrap().with_shared_checkpointer(store);
        let thread = graph.thread_with("t", self.crew());
        let cpu = ThreadTime::now();
        let mut ended = thread.invoke(input).await.unwrap();
        if !ended.questions().is_empty() {
            let attempts = self.attempts() - POLICY;
            ended = thread.resume::<TaskGivenUp>(AfterGivingUp::Retry { attempts, note: String::new() }).await.unwrap();
        }
        let took = cpu.elapsed();
        let state = ended.finished().unwrap();
        assert_eq!(state.outcome, Some(TaskOutcome::Done));
        self.check(&state);
        took
    }

    fn check(self, state: &CodeTaskState) {
        let attempts = state.attempts.len() as u32;
        match self.shape {
            Shape::Line { attempts: all } => assert_eq!(attempts, all),
            Shape::Tree { .. } => assert_eq!((attempts, state.results.len()), (3, 3)),
        }
    }

    fn crew(self) -> Crew {
        Crew::new().with("api", Agent(self.shape)).with_verifier("parts", Parts)
    }

    fn input(self, folder: &Path) -> CodeTaskStateUpdate {
        let mut spec = TaskSpec::new("tides".parse().unwrap(), "Tides", "Write down the tides. ".repeat(40));
        let config = VerifierConfig::parse(VERIFIERS, "verifiers.yml").unwrap();
        let depth = if let Shape::Tree { depth } = self.shape { depth } else { 0 };
        let policy = [("max_attempts", POLICY), ("max_children", 3), ("max_depth", depth)];
        let policy = policy.map(|(key, value)| format!("{key}={value}")).into();
        let run = RunSettings::merge(&config, &spec, "tides.md", &Flags { policy, ..Flags::default() }).unwrap();
        spec.policy = run.policy.clone();
        let (profile, repository) = (Profile::default(), self.repository(folder));
        let settings = Settings { profile, run, repository, records: "runs".into(), ..Settings::default() };
        CodeTaskState::update().spec(Some(spec)).settings(settings)
    }

    fn repository(self, folder: &Path) -> PathBuf {
        let repository = repository(folder);
        for n in 0..self.files {
            write(&repository, &format!("src/{}/{n}.txt", n % 40), &format!("{n}\n").repeat(100));
        }
        for words in [&["add", "."][..], &["commit", "-q", "-m", "files"]] {
            assert!(Command::new("git").args(words).current_dir(&repository).status().unwrap().success());
        }
        repository
    }
}
