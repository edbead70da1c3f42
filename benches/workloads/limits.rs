//! The limits of the machine, as a comparison for workloads. Knows nothing of superstep.

use std::fs::File;
use std::hint::black_box;
use std::io::{Seek, Write};
use std::pin::Pin;

use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::figure::Figure;
use super::harness::Bench;
use super::measure::Timing;

pub(crate) fn run(bench: &Bench) {
    let show = |figure: Figure| bench.print(&figure);
    show(Figure::cpu("limit", "await a boxed future", boxed_await(bench)));
    show(Figure::cpu("limit", "JoinSet of 1000 tasks, one thread, per task", join_set(bench, &bench.lone)));
    show(Figure::cpu("limit", "JoinSet of 1000 tasks, two worker threads, per task", join_set(bench, &bench.pool)));
    show(Figure::cpu("limit", "MessagePack encode of a small number", encode(bench)));
    let (appended, overwritten) = file_sync(bench);
    show(Figure::wall("limit", "append 200 bytes to a file, fdatasync", appended));
    show(Figure::wall("limit", "overwrite 200 bytes of a file, fdatasync", overwritten));
}

/// Measures the minimum cost of a superstep in a chain: awaiting a boxed future.
pub(crate) fn boxed_await(bench: &Bench) -> Timing {
    const AWAITS: u64 = 1000;
    bench.measure(&bench.lone, AWAITS, async || {
        let mut count = 0u64;
        for _ in 0..AWAITS {
            let boxed: Pin<Box<dyn Future<Output = u64> + Send>> = Box::pin(async move { count + 1 });
            count = black_box(boxed).await;
        }
        black_box(count);
    })
}

pub(crate) fn join_set(bench: &Bench, runtime: &Runtime) -> Timing {
    const TASKS: u64 = 1000;
    bench.measure(runtime, TASKS, async || {
        let joined = tokio::spawn(async {
            let (mut set, mut sum) = (JoinSet::new(), 0);
            for nth in 0..TASKS {
                set.spawn(async move { nth });
            }
            while let Some(done) = set.join_next().await {
                sum += done.unwrap();
            }
            sum
        });
        black_box(joined.await.unwrap());
    })
}

/// Measures the encoding of one written value.
pub(crate) fn encode(bench: &Bench) -> Timing {
    bench.measure(&bench.lone, 100, async || {
        for value in 0..100u64 {
            black_box(rmp_serde::to_vec_named(black_box(&value)).unwrap());
        }
    })
}

/// Measures the minimum cost of a durable superstep, a write and a sync: at the end of a growing file, and within one
/// of a fixed size.
pub(crate) fn file_sync(bench: &Bench) -> (Timing, Timing) {
    let folder = bench.folder();
    let open = |name: &str| File::create(folder.path().join(name)).unwrap();
    let (mut growing, mut fixed) = (open("growing"), open("fixed"));
    fixed.write_all(&vec![0; 8 << 20]).unwrap();
    fixed.sync_all().unwrap();
    fixed.rewind().unwrap();
    let write = |file: &mut File| {
        file.write_all(&[7; 200]).unwrap();
        file.sync_data().unwrap();
    };
    bench.race(bench.pick([400, 100, 1]), 1, |_| write(&mut growing), |_| write(&mut fixed))
}
