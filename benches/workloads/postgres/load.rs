//! A thousand threads at once over 16 connections, beside bare transactions over as many.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use tokio::task::JoinSet;

use super::bare::BarePostgres;
use super::{Bench, Records, Server, Subject, server};
use crate::figure::Figure;
use crate::measure::Spread;

const CONNECTIONS: usize = 16;

pub(crate) fn run(bench: &Bench) {
    let Some(server) = server() else { return };
    for nodes in [10, 50] {
        let subject = Arc::new(Subject::new(bench, server, nodes));
        let commits = Arc::new(subject.commits.clone());
        let bare = bench.pool.block_on(connect(server));
        let (threads, rounds) = (bench.pick([1000, 1000, 20]), bench.pick([5, 3, 1]));
        let (mut ours, mut limit) = (vec![], vec![]);
        let per_second = |began: Instant| (threads * nodes) as f64 / began.elapsed().as_secs_f64();
        for round in 0..rounds {
            let began = Instant::now();
            bench.pool.block_on(run_all(&subject, round, threads));
            ours.push(per_second(began));
            let began = Instant::now();
            let first = ((nodes * rounds + round) * threads).cast_signed() + 1_000_000;
            bench.pool.block_on(write_all(&bare, &commits, first, threads.cast_signed()));
            limit.push(per_second(began));
        }
        let what = format!("{threads} threads x {nodes} supersteps (limit: bare transactions)");
        let figure = Figure::new("pg", what, Spread::of(ours), "steps/s").limit(Spread::of(limit));
        bench.print(&figure.beside("16 connections").target(">= 0.7x, >= 2,000"));
    }
}

async fn run_all(subject: &Arc<Subject>, round: u64, threads: u64) {
    let mut running = JoinSet::new();
    for nth in 0..threads {
        let subject = Arc::clone(subject);
        running.spawn(async move { subject.run(format!("r{round}-{nth:06}")).await });
    }
    running.join_all().await;
}

async fn connect(server: &Server) -> Vec<Arc<BarePostgres>> {
    let mut connections = vec![];
    for _ in 0..CONNECTIONS {
        connections.push(Arc::new(BarePostgres::connect(server).await));
    }
    connections
}

/// Has each connection write the commits of one thread after another.
async fn write_all(connections: &[Arc<BarePostgres>], commits: &Arc<Vec<Records>>, first: i64, threads: i64) {
    let next = Arc::new(AtomicI64::new(first));
    let mut writing = JoinSet::new();
    for bare in connections {
        let (bare, commits, next) = (Arc::clone(bare), Arc::clone(commits), Arc::clone(&next));
        writing.spawn(async move {
            loop {
                let thread = next.fetch_add(1, Ordering::Relaxed);
                if thread >= first + threads {
                    return;
                }
                bare.claim(thread).await;
                bare.write(thread, &commits).await;
            }
        });
    }
    writing.join_all().await;
}
