//! A long conversation, in a `Vec` and in a `Log`: a page of its history, its state, a turn while the last outcome is
//! held, disk.

use superstep::prelude::*;

use super::bytes::disk_bytes;
use super::figure::Figure;
use super::harness::Bench;
use super::measure::Spread;

const LINE: usize = 100;

#[derive(NodeId)]
enum Step {
    Reply,
}

pub(crate) fn run(bench: &Bench) {
    vec::run(bench, "Vec", "");
    log::run(bench, "Log", "<= 300");
    let turns = bench.pick([10_000, 10_000, 5]) as usize;
    let folder = bench.folder();
    vec::fill(bench, folder.path(), turns, 1);
    drop(SledCheckpointer::open(folder.path()).unwrap());
    let bytes = disk_bytes(folder.path());
    let growth = Spread::exact(bytes as f64 / (turns * LINE) as f64);
    let what = format!("disk after {turns} turns of 100 B");
    let figure = Figure::new("log", what, growth, "x appended").beside(format!("{:.1} MB", bytes as f64 / 1e6));
    bench.print(&figure.target("<= 8"));
}

fn line(nth: usize) -> String {
    format!("{nth:07}{}", "m".repeat(LINE - 7))
}

/// The same for each type of list.
macro_rules! talk {
    ($module:ident, $list:ty) => {
        mod $module {
            use std::path::Path;
            use std::sync::Arc;

            use superstep::graph::Thread;

            use super::*;

            #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
            struct Talk {
                #[channel(append)]
                messages: $list,
            }

            pub(super) fn run(bench: &Bench, list: &str, target: &'static str) {
                let turns = bench.pick([1000, 1000, 5]) as usize;
                let folder = bench.folder();
                fill(bench, folder.path(), turns, 1);
                let thread = thread(folder.path(), 1);
                let page = bench.each(|| {
                    let page = async { thread.history().await.unwrap().limit(100).all().await.unwrap().len() };
                    assert!(bench.lone.block_on(page) >= 5);
                    1
                });
                let what = format!("{list}: history().limit(100) over {turns} entries of 100 B");
                bench.print(&Figure::cpu("log", what, page).target("<= 8000"));
                state(bench, list, &thread, turns, "", "<= 250");
                drop(thread);
                let entries = bench.pick([100_000, 100_000, 20]) as usize;
                let folder = bench.folder();
                fill(bench, folder.path(), entries / 10, 10);
                let thread = self::thread(folder.path(), 1);
                state(bench, list, &thread, entries, "", "<= 40000");
                held(bench, list, &thread, entries, target);
                let all = bench.lone.block_on(thread.state()).unwrap().unwrap().values.messages.len();
                state(bench, list, &thread, all, ", by the graph that wrote the last", "<= 250");
            }

            fn state(
                bench: &Bench,
                list: &str,
                thread: &Thread<Talk, Step>,
                entries: usize,
                by: &str,
                target: &'static str,
            ) {
                let state = bench.each(|| {
                    let state = bench.lone.block_on(thread.state()).unwrap().unwrap();
                    assert_eq!(state.values.messages.len(), entries);
                    1
                });
                let what = format!("{list}: state() over {entries} entries{by}");
                bench.print(&Figure::cpu("log", what, state).target(target));
            }

            fn held(bench: &Bench, list: &str, thread: &Thread<Talk, Step>, entries: usize, target: &'static str) {
                let turn = || bench.lone.block_on(thread.invoke(Talk::update())).unwrap();
                let mut last = turn();
                let timing = bench.each(|| {
                    last = turn();
                    1
                });
                let what = format!("{list}: a turn after {entries} entries, the last outcome held");
                bench.print(&Figure::cpu("log", what, timing).target(target));
                drop(last);
                let timing = bench.each(|| {
                    drop(turn());
                    1
                });
                let what = format!("{list}: a turn after {entries} entries, no outcome held");
                bench.print(&Figure::cpu("log", what, timing));
            }

            pub(super) fn fill(bench: &Bench, folder: &Path, turns: usize, entries: usize) {
                let thread = thread(folder, entries).durability(Durability::Async);
                for _ in 0..turns {
                    bench.lone.block_on(thread.invoke(Talk::update())).unwrap();
                }
            }

            /// A thread of a graph each of whose runs appends this many entries.
            fn thread(folder: &Path, entries: usize) -> Thread<Talk, Step> {
                let reply = move |talk: Arc<Talk>, _: Ctx| async move {
                    let lines = (talk.messages.len()..).take(entries).map(line);
                    Ok::<_, NodeError>(lines.fold(Talk::update(), |update, line| update.messages([line])))
                };
                let graph = StateGraph::new().add_node(Step::Reply, reply).add_edge(START, Step::Reply);
                let store = SledCheckpointer::open(folder).unwrap();
                graph.compile().unwrap().with_checkpointer(store).thread("talk")
            }
        }
    };
}

talk!(vec, Vec<String>);
talk!(log, superstep::graph::Log<String>);
