//! A run of one superstep, of which the claim and the release are a large part, beside bare statements for claim, commit and release.

use super::bare::BarePostgres;
use super::{Bench, Subject, server};
use crate::figure::Figure;

pub(crate) fn run(bench: &Bench) {
    let Some(server) = server() else { return };
    let subject = Subject::new(bench, server, 1);
    let bare = bench.lone.block_on(BarePostgres::connect(server));
    let rounds = bench.pick([1000, 300, 2]);
    let (ours, limit) = bench.race(
        rounds,
        1,
        |nth| bench.lone.block_on(subject.run(format!("t-{nth:06}"))),
        |nth| {
            let thread = nth.cast_signed() + 2_000_000;
            bench.lone.block_on(async {
                bare.claim(thread).await;
                bare.write(thread, &subject.commits).await;
                bare.release(thread).await;
            });
        },
    );
    let what = "a run of one superstep (limit: bare claim, commits, release)";
    bench.print(&Figure::wall("pg", what, ours).limit(limit.wall));
    bench.print(&Figure::cpu("pg", what, ours).limit(limit.cpu));
}
