//! Reduced channels of many entries: a turn adds one to each kind.

use std::collections::{BTreeMap, BTreeSet};

use std::sync::Arc;

use superstep::prelude::*;

use super::bytes::disk_bytes;
use super::figure::Figure;
use super::harness::Bench;
use super::measure::Spread;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Sets {
    #[channel(union)]
    seen: BTreeSet<String>,
    #[channel(merge)]
    notes: BTreeMap<String, String>,
}

#[derive(NodeId)]
enum Step {
    Add,
}

pub(crate) fn run(bench: &Bench) {
    let entries = bench.pick([10_000, 10_000, 20]) as usize;
    let folder = bench.folder();
    let add = |sets: Arc<Sets>, _: Ctx| async move {
        let word = word(sets.seen.len());
        let notes = BTreeMap::from([(word.clone(), word.clone())]);
        Ok::<_, NodeError>(Sets::update().seen(BTreeSet::from([word])).notes(notes))
    };
    let graph = StateGraph::new().add_node(Step::Add, add).add_edge(START, Step::Add).compile().unwrap();
    let thread = graph.with_checkpointer(SledCheckpointer::open(folder.path()).unwrap()).thread("sets");
    let words: BTreeSet<String> = (0..entries).map(word).collect();
    let notes = words.iter().map(|word| (word.clone(), word.clone())).collect::<BTreeMap<_, _>>();
    bench.lone.block_on(thread.invoke(Sets::update().seen(words).notes(notes))).unwrap();
    let before = disk_bytes(folder.path());
    let turns = bench.pick([21, 7, 1]) as f64;
    let timing = bench.each(|| {
        drop(bench.lone.block_on(thread.invoke(Sets::update())).unwrap());
        1
    });
    let what = format!("a turn that adds to a set and a map of {entries}");
    bench.print(&Figure::cpu("reduced", what.clone(), timing));
    let bytes = Spread::exact((disk_bytes(folder.path()) - before) as f64 / turns / 1e3);
    bench.print(&Figure::new("reduced", format!("{what}: disk"), bytes, "KB a turn"));
}

fn word(nth: usize) -> String {
    format!("{nth:08}-{}", "w".repeat(60))
}
