//! W6: a conversation that grows by 1 KB a turn, durable. Wall time of early and late turns, disk after reopening.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use superstep::prelude::*;

use super::bytes::disk_bytes;
use super::figure::Figure;
use super::harness::Bench;
use super::measure::{Clocks, Spread, micros};
use super::replay::{BareSled, Recording, Values};
use super::stamps::{Stamps, early_and_late};

const LINE: usize = 1024;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Talk {
    #[channel(append)]
    messages: Vec<String>,
}

#[derive(NodeId)]
enum Step {
    Reply,
}

#[derive(Route)]
enum More {
    #[to(Step::Reply)]
    Yes,
    #[to(END)]
    No,
}

pub(crate) fn run(bench: &Bench) {
    let turns = bench.pick([5000, 500, 12]) as usize;
    let bare = bare_growth(bench, turns);
    invocations(bench, turns, bare);
    supersteps(bench, turns, bare);
    committed(bench, turns);
}

/// The bytes that a turn commits, early and late, and the disk space of a bare sled with all of them.
fn committed(bench: &Bench, turns: usize) {
    let recording = Recording::default();
    let thread = talk(1, &Stamps::new()).with_checkpointer(recording.clone()).thread("talk");
    let turn = || {
        bench.lone.block_on(thread.invoke(Talk::update())).unwrap();
        recording.take()
    };
    let commits: Vec<Vec<Values>> = (0..turns).map(|_| turn()).collect();
    let bytes = |turn: &Vec<Values>| Spread::exact(turn.iter().flatten().map(Vec::len).sum::<usize>() as f64);
    let (early, late) = (bytes(&commits[9.min(turns - 1)]), bytes(&commits[turns - 1]));
    let what = format!("value bytes committed in turn {turns} (limit: turn 10)");
    let each = format!("{} commits", commits[turns - 1].len());
    bench.print(&Figure::new("W6", what, late, "bytes").beside(each).limit(early));
    let lines = lines(turns);
    let growth = |commits: &[Values]| growth(bare_bytes(bench, commits), turns);
    let what = format!("disk of the same {turns} turns in a bare sled (limit: lines only)");
    bench.print(&Figure::new("W6", what, growth(&commits.concat()), "x appended").limit(growth(&lines)));
}

/// Runs each turn as a superstep of one long run.
fn supersteps(bench: &Bench, turns: usize, bare: Spread) {
    let (folder, stamps) = (bench.folder(), Stamps::new());
    let graph = talk(turns, &stamps).with_checkpointer(SledCheckpointer::open(folder.path()).unwrap());
    let thread = graph.thread("talk").recursion_limit(turns as u64 + 2);
    bench.lone.block_on(thread.invoke(Talk::update())).unwrap();
    drop((thread, graph));
    show(bench, "one run", turns, &stamps.take());
    show_disk(bench, "one run", folder.path(), turns, bare);
}

/// Runs each turn as an invocation of the thread.
fn invocations(bench: &Bench, turns: usize, bare: Spread) {
    let folder = bench.folder();
    let graph = talk(1, &Stamps::new()).with_checkpointer(SledCheckpointer::open(folder.path()).unwrap());
    let thread = graph.thread("talk");
    let mut gaps = vec![];
    for _ in 0..turns {
        let clocks = Clocks::start();
        bench.lone.block_on(thread.invoke(Talk::update())).unwrap();
        let (cpu, wall) = clocks.read();
        gaps.push((micros(cpu), micros(wall)));
    }
    drop((thread, graph));
    show(bench, "an invoke a turn", turns, &gaps);
    show_disk(bench, "an invoke a turn", folder.path(), turns, bare);
}

/// Repeats until a run has had this many turns.
fn talk(turns: usize, stamps: &Stamps) -> CompiledGraph<Talk, Step> {
    let (stamps, began) = (stamps.clone(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&began);
    let reply = move |talk: Arc<Talk>, _: Ctx| {
        stamps.mark();
        began.fetch_add(1, Ordering::Relaxed);
        async move { Ok::<_, NodeError>(Talk::update().messages([line(talk.messages.len())])) }
    };
    let again = move |_: &Talk| {
        let more = !count.load(Ordering::Relaxed).is_multiple_of(turns);
        if more { More::Yes } else { More::No }
    };
    StateGraph::new()
        .add_node(Step::Reply, reply)
        .add_edge(START, Step::Reply)
        .add_conditional_edges(Step::Reply, again)
        .compile()
        .unwrap()
}

fn line(nth: usize) -> String {
    format!("{nth:06}{}", "m".repeat(LINE - 6))
}

fn show(bench: &Bench, how: &str, turns: usize, gaps: &[(f64, f64)]) {
    let (early, late) = early_and_late(gaps);
    bench.print(&Figure::wall("W6", format!("append 1 KB, {how}, turn 10"), early));
    let what = format!("append 1 KB, {how}, turn {turns} (limit: turn 10)");
    bench.print(&Figure::wall("W6", what.clone(), late).limit(early.wall).target("<= 1.2x turn 10"));
    bench.print(&Figure::cpu("W6", what, late).limit(early.cpu).target("<= 1.2x turn 10"));
}

fn show_disk(bench: &Bench, how: &str, folder: &Path, turns: usize, bare: Spread) {
    let reopened = SledCheckpointer::open(folder).unwrap();
    drop(reopened);
    let bytes = disk_bytes(folder);
    let figure = Figure::new("W6", format!("disk after {turns} turns, {how}"), growth(bytes, turns), "x appended");
    let figure = figure.beside(format!("{:.1} MB", bytes as f64 / 1e6));
    bench.print(&figure.limit(bare).target("<= 5x appended"));
}

/// Measures how sled alone grows with the same lines.
fn bare_growth(bench: &Bench, turns: usize) -> Spread {
    growth(bare_bytes(bench, &lines(turns)), turns)
}

fn lines(turns: usize) -> Vec<Values> {
    (0..turns).map(|nth| vec![line(nth).into_bytes(), vec![0; 16]]).collect()
}

/// Returns the disk space of a bare sled with these commits, after reopening.
fn bare_bytes(bench: &Bench, commits: &[Values]) -> u64 {
    let folder = bench.folder();
    let mut sled = BareSled::open(folder.path());
    sled.write_unsynced(commits);
    drop(sled);
    drop(BareSled::open(folder.path()));
    disk_bytes(folder.path())
}

fn growth(bytes: u64, turns: usize) -> Spread {
    Spread::exact(bytes as f64 / (turns * LINE) as f64)
}
