//! A conversation that grows by 1 KB a turn: a turn with a fresh handle early and late, and the disk that it takes.

use std::sync::Arc;

use superstep::checkpoint::PostgresCheckpointer;
use superstep::prelude::*;

use super::{Bench, Server, server};
use crate::figure::Figure;
use crate::measure::{Clocks, Samples, Spread};

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

pub(crate) fn run(bench: &Bench) {
    let Some(server) = server() else { return };
    let turns = bench.pick([5000, 2000, 30]);
    let address = server.new_store();
    let graph = || talk(bench.lone.block_on(PostgresCheckpointer::connect(&address)).unwrap());
    let (kept, early, late) = (graph(), 4..15, 994..1005);
    let (mut first, mut thousandth) = (Samples::default(), Samples::default());
    for nth in 1..=turns {
        let clocks = Clocks::start();
        bench.lone.block_on(kept.thread("talk").invoke(Talk::update())).unwrap();
        match nth {
            nth if early.contains(&nth) => first.add(clocks, 1),
            nth if late.contains(&nth) || nth == turns => thousandth.add(clocks, 1),
            _ => {}
        }
    }
    let (first, thousandth) = (first.timing(), thousandth.timing());
    let what = "a turn of 1 KB with a fresh handle, turn 1000 (limit: turn 10)";
    bench.print(&Figure::wall("pg", what, thousandth).limit(first.wall).target("<= 1.3x turn 10"));
    bench.print(&Figure::cpu("pg", what, thousandth).limit(first.cpu).target("<= 1.3x turn 10"));
    drop(kept);
    let opened = graph();
    let clocks = Clocks::start();
    bench.lone.block_on(opened.thread("talk").invoke(Talk::update())).unwrap();
    let mut samples = Samples::default();
    samples.add(clocks, 1);
    let what = format!("a turn of 1 KB by a new process, after {turns} (limit: turn 10)");
    bench.print(&Figure::wall("pg", what, samples.timing()).limit(first.wall));
    disk(bench, server, &address, turns + 1);
}

fn talk(store: PostgresCheckpointer) -> CompiledGraph<Talk, Step> {
    let reply = async |talk: Arc<Talk>, _: Ctx| {
        let line = format!("{:06}{}", talk.messages.len(), "m".repeat(LINE - 6));
        Ok::<_, NodeError>(Talk::update().messages([line]))
    };
    let graph = StateGraph::new().add_node(Step::Reply, reply).add_edge(START, Step::Reply);
    graph.compile().unwrap().with_checkpointer(store)
}

/// Shows the size of each table with its indexes, as a multiple of what was appended.
fn disk(bench: &Bench, server: &Server, address: &str, turns: u64) {
    let schema = address.split("schema=").nth(1).unwrap();
    server.sql("VACUUM");
    let sizes = format!(
        "SELECT relname, pg_total_relation_size(c.oid), pg_relation_size(c.oid), pg_indexes_size(c.oid) FROM pg_class AS c \
         JOIN pg_namespace AS n ON n.oid = relnamespace WHERE nspname = '{schema}' AND relkind = 'r' ORDER BY 2 DESC"
    );
    let sizes = server.sql(&sizes);
    let rows = sizes.lines().map(|line| line.split('|').collect::<Vec<_>>());
    let number = |word: &str| word.parse::<f64>().unwrap();
    let grown = |bytes: f64| Spread::exact(bytes / (turns * LINE as u64) as f64);
    let total: f64 = rows.clone().map(|row| number(row[1])).sum();
    let what = format!("disk after {turns} turns of 1 KB, all tables after VACUUM");
    let figure = Figure::new("pg", what, grown(total), "x appended").beside(format!("{:.1} MB", total / 1e6));
    bench.print(&figure.target("<= 10x appended"));
    for row in rows.filter(|row| number(row[1]) > total / 100.0) {
        let what = format!("of it: `{}`", row[0]);
        let beside = format!("indexes {:.1}x", grown(number(row[3])).median);
        bench.print(&Figure::new("pg", what, grown(number(row[1])), "x appended").beside(beside));
    }
}
