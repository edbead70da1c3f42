//! Phases: the duration of parallel subtasks compared to one, the cost of a subtask without git, its stored bytes, and
//! the memory of a phase with many. Real git and scripted agents.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use superstep::checkpoint::Checkpointer;
use superstep::drivers::DriverName;
use superstep::nodes::{ApprovePlan, Crew};
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep_workflows::phased::{PhaseStatus, PhaseStep, graph};
use superstep_workflows::task_based::{ExecutionState, RunOutcome};
use superstep_workflows::{PhasedSettings, Profile};

use super::bytes::memory_kb;
use super::child;
use super::figure::Figure;
use super::harness::Bench;
use super::measure::{Clocks, Samples, Spread, micros};
use super::replay::Recording;
use super::tasks::repository;

/// The files of the repository.
const FILES: u64 = 2000;
/// The number of parallel subtasks.
const AT_ONCE: u64 = 8;

pub(crate) fn run(bench: &Bench) {
    beside_one(bench);
    orchestration(bench);
    bytes(bench);
    memory(bench);
}

/// Measures the wall time of eight subtasks in one phase, and of one.
fn beside_one(bench: &Bench) {
    let (files, wait) = (bench.pick([FILES, FILES, 20]), bench.pick([2000, 2000, 10]));
    let mut walls = [vec![], vec![]];
    for _ in 0..bench.pick([5, 3, 1]) {
        for (wall, subtasks) in walls.iter_mut().zip([1, AT_ONCE]) {
            let job = Job { subtasks, files, wait };
            wall.push(bench.pool.block_on(job.on(bench, Arc::new(disk(bench)))).wall.as_secs_f64());
        }
    }
    let [one, eight] = walls.map(Spread::of);
    let what = format!("one phase of {AT_ONCE} subtasks of {wait} ms, {files} files");
    bench.print(&Figure::new("phases", what, eight, "s").limit(one).target("<= 1.35x"));
}

/// Measures the CPU time of the engine's thread, and of this process. Neither includes git's own; libgit2 reads on
/// separate threads.
fn orchestration(bench: &Bench) {
    let subtasks = bench.pick([40, 20, 2]);
    let job = Job { subtasks, files: 20, wait: 0 };
    let (mut engine, mut process) = (vec![], Samples::default());
    for _ in 0..bench.pick([5, 3, 1]) {
        let took = bench.lone.block_on(job.on(bench, Arc::new(MemoryCheckpointer::new())));
        engine.push(micros(took.thread) / subtasks as f64);
        let clocks = Clocks::start();
        bench.pool.block_on(job.on(bench, Arc::new(MemoryCheckpointer::new())));
        process.add(clocks, subtasks);
    }
    let what = format!("phase of {subtasks}, engine and nodes, per subtask");
    bench.print(&Figure::new("phases", what, Spread::of(engine), "us cpu").target("<= 10000"));
    let what = format!("phase of {subtasks}, this process with libgit2, per subtask");
    bench.print(&Figure::cpu("phases", what, process.timing()));
}

/// Returns the stored bytes of all values, per subtask.
fn bytes(bench: &Bench) {
    let stored = |subtasks| {
        let store = Recording::default();
        let job = Job { subtasks, files: 20, wait: 0 };
        bench.pool.block_on(job.on(bench, Arc::new(store.clone())));
        store.take().iter().flatten().map(Vec::len).sum::<usize>() as f64
    };
    let [few, many] = [[5, 10], [bench.pick([100, 50, 3]), bench.pick([200, 100, 4])]];
    let per = |[from, to]: [u64; 2]| Spread::exact((stored(to) - stored(from)) / (to - from) as f64);
    let what = format!("value bytes of a subtask among {} to {}, beside 5 to 10", many[0], many[1]);
    bench.print(&Figure::new("phases", what, per(many), "bytes").limit(per(few)).target("<= 1.1x"));
}

fn memory(bench: &Bench) {
    let folder = bench.folder();
    std::fs::write(folder.path().join("subtasks"), bench.pick([40, 40, 2]).to_string()).unwrap();
    let peak = child::start("phases", folder.path()).1[0] / 1024.0;
    bench.print(&Figure::new("phases", "peak memory, a phase of 40", Spread::exact(peak), "MB").target("<= 150"));
}

/// Runs a phase in a child process, and prints its peak memory.
pub(crate) fn child(folder: &Path) {
    let subtasks = std::fs::read_to_string(folder.join("subtasks")).unwrap().parse().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let store = Arc::new(SledCheckpointer::open(folder.join("store")).unwrap());
    runtime.block_on(Job { subtasks, files: FILES, wait: 100 }.within(folder, store));
    println!("{}", memory_kb("VmHWM"));
}

fn disk(bench: &Bench) -> SledCheckpointer {
    SledCheckpointer::open(bench.folder().keep()).unwrap()
}

/// The time from the approval of a phase to its end.
struct Took {
    wall: Duration,
    /// The CPU time of the thread that waits for it.
    thread: Duration,
}

/// A run with one phase.
struct Job {
    subtasks: u64,
    files: u64,
    /// The time that each developer waits, in milliseconds.
    wait: u64,
}

impl Job {
    async fn on(&self, bench: &Bench, store: Arc<dyn Checkpointer>) -> Took {
        self.within(bench.folder().path(), store).await
    }

    /// Runs the phase.
    async fn within(&self, folder: &Path, store: Arc<dyn Checkpointer>) -> Took {
        let repository = self.repository(folder);
        let file = folder.join("agents.yaml");
        std::fs::write(&file, self.scenario()).unwrap();
        let phased = PhasedSettings { max_parallel: AT_ONCE as u32, ..PhasedSettings::default() };
        let profile = Profile { driver: DriverName::Scripted(file), final_review: false, phased, ..Profile::default() };
        let input = ExecutionState::update().working_dir(repository).profile(profile).plan_markdown(Some(self.plan()));
        let graph = graph::<Crew>().unwrap().with_shared_checkpointer(store);
        let thread: Thread<ExecutionState, PhaseStep, Crew> = graph.thread_with("t", Crew::new());
        thread.invoke(input).await.unwrap();
        let (wall, cpu) = (Instant::now(), ThreadTime::now());
        let state = thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap().finished().unwrap();
        let took = Took { wall: wall.elapsed(), thread: cpu.elapsed() };
        assert_eq!(state.result.outcome, Some(RunOutcome::Completed));
        let done = state.phased.phases[0].subtasks.iter().filter(|line| line.status == PhaseStatus::Completed);
        assert_eq!((state.phased.phases.len(), done.count() as u64), (1, self.subtasks));
        took
    }

    fn repository(&self, folder: &Path) -> PathBuf {
        let repository = repository(folder);
        for n in 0..self.files {
            let file = repository.join(format!("src/{}/{n}.txt", n % 40));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, format!("{n}\n").repeat(100)).unwrap();
        }
        for words in [&["add", "."][..], &["commit", "-q", "-m", "files"]] {
            assert!(Command::new("git").args(words).current_dir(&repository).status().unwrap().success());
        }
        repository
    }

    fn plan(&self) -> String {
        let section = "Print it in columns of equal width, with the times of the day.\n".repeat(8);
        let task = |n| format!("### Task {n}: Part {n}\n\n**Depends on:** none\n\n{section}\n");
        format!("# Tides\n\n**Goal:** A table.\n\n{}", (1..=self.subtasks).map(task).collect::<String>())
    }

    fn scenario(&self) -> String {
        let (wait, submit) = (self.wait, "submit: {status: done, summary: It is written.}");
        let turn = |n| {
            format!(
                "- role: developer\n  task: '{n}'\n  steps:\n  - write: {{path: part-{n}.txt, content: x}}\n  - wait: {wait}ms\n  {submit}\n"
            )
        };
        let reviewer = "- role: reviewer\n  times: always\n  submit: {approved: true, severity: none, summary: fine}\n";
        format!("turns:\n{}{reviewer}", (1..=self.subtasks).map(turn).collect::<String>())
    }
}
