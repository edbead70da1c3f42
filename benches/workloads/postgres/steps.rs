//! A superstep committed to PostgreSQL by one thread, beside a bare transaction, and beside LangGraph on the same server.

use std::path::Path;
use std::process::Command;

use super::bare::BarePostgres;
use super::{Bench, Server, Subject, server};
use crate::figure::Figure;
use crate::measure::Spread;

/// The Python whose LangGraph is measured.
const PYTHON: &str = "SUPERSTEP_BENCH_PYTHON";

pub(crate) fn run(bench: &Bench) {
    let Some(server) = server() else { return };
    let nodes = bench.pick([100, 100, 5]);
    let subject = Subject::new(bench, server, nodes);
    let bare = bench.lone.block_on(BarePostgres::connect(server));
    let (ours, limit) = bench.race(
        bench.pick([40, 12, 1]),
        nodes,
        |nth| bench.lone.block_on(subject.run(format!("t-{nth:06}"))),
        |nth| {
            bench.lone.block_on(async {
                bare.claim(nth.cast_signed()).await;
                bare.write(nth.cast_signed(), &subject.commits).await;
            });
        },
    );
    let what = format!("chain of {nodes}, durable sync, per superstep (limit: bare transaction)");
    bench.print(&Figure::wall("pg", what.clone(), ours).limit(limit.wall).target("<= 1.25x"));
    bench.print(&Figure::cpu("pg", what, ours).limit(limit.cpu));
    let commits = Spread::exact(subject.commits.len() as f64 / nodes as f64);
    bench.print(&Figure::new("pg", format!("chain of {nodes}, commits per superstep"), commits, "commits"));
    langgraph(bench, server, &subject, nodes);
}

/// Measures LangGraph between two halves of our own runs.
fn langgraph(bench: &Bench, server: &Server, subject: &Subject, nodes: u64) {
    let Some(python) = std::env::var_os(PYTHON) else {
        return println!("skipped: {PYTHON} names no Python with LangGraph");
    };
    let mut ours = vec![];
    let mut half = |first: u64| {
        for nth in first..first + bench.pick([9, 5, 1]) {
            let began = std::time::Instant::now();
            bench.lone.block_on(subject.run(format!("l-{nth:06}")));
            ours.push(nodes as f64 / began.elapsed().as_secs_f64());
        }
    };
    half(0);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/langgraph/workloads.py");
    let address = format!("host={} user=postgres dbname=postgres", server.folder().display());
    let done = Command::new(python).arg(program).arg("PG").arg(nodes.to_string()).env("POSTGRES", address).output();
    let done = done.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    half(1000);
    let lines = String::from_utf8_lossy(&done.stdout);
    let words: Vec<&str> = lines.lines().find(|line| line.starts_with("PG")).unwrap().split_whitespace().collect();
    let wall = words.iter().rposition(|word| *word == "wall").unwrap();
    let micros: f64 = words[wall - 2].parse().unwrap();
    let what = format!("chain of {nodes}, durable sync (limit: LangGraph with PostgresSaver)");
    let limit = Spread::exact(1e6 / micros);
    bench.print(&Figure::new("pg", what, Spread::of(ours), "steps/s").limit(limit).target(">= 3x"));
}
