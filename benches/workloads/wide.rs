//! W5: untouched state must cost nothing. Twenty durable supersteps beside a large channel, and among many channels.

use std::sync::Arc;

use superstep::graph::state::Kind;
use superstep::graph::{DataSchema, DataState, Name};
use superstep::prelude::*;

use super::bytes::disk_bytes;
use super::figure::Figure;
use super::graphs::chain;
use super::harness::Bench;
use super::measure::{Spread, Timing};
use super::replay::{BareSled, Recording};
use super::stamps::{Stamps, timing};

const STEPS: u64 = 20;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Wide {
    n: u64,
    blob: String,
}

pub(crate) fn run(bench: &Bench) {
    let ([mut small, mut large], mut disk) = ([vec![], vec![]], 0.0);
    for _ in 0..bench.pick([15, 5, 1]) {
        small.extend(blob(bench, 1 << 10).0);
        let (gaps, bytes) = blob(bench, 1 << 20);
        large.extend(gaps);
        disk = bytes;
    }
    let [small, large] = [small, large].map(|gaps| timing(&gaps));
    let what = "20 steps beside 1 MiB, durable, per step (limit: 1 KiB)";
    bench.print(&Figure::wall("W5", what, large).limit(small.wall).target("independent of bytes"));
    bench.print(&Figure::cpu("W5", "the same, CPU per step", large).limit(small.cpu).target("independent of bytes"));
    let figure = Figure::new("W5", "20 steps beside 1 MiB, disk (limit: bare sled)", Spread::exact(disk), "MB");
    bench.print(&figure.limit(Spread::exact(bare_disk(bench))).target("<= 4"));
    let [few, many] = [3, 300].map(|channels| keys(bench, channels));
    let what = "one written of 300 channels, durable (limit: of 3)";
    bench.print(&Figure::wall("W5", what, many).limit(few.wall).target("by channels written"));
    let what = "the same, CPU per step";
    bench.print(&Figure::cpu("W5", what, many).limit(few.cpu).target("by channels written"));
}

fn wide_graph(stamps: &Stamps) -> CompiledGraph<Wide, Name> {
    let stamps = stamps.clone();
    let touch = move |wide: Arc<Wide>, _: Ctx| {
        stamps.mark();
        async move { Ok::<_, NodeError>(Wide::update().n(wide.n + 1)) }
    };
    chain((), STEPS, touch)
}

/// Times the steps after the first, which includes the write of the input; and measures the disk, in MB.
fn blob(bench: &Bench, bytes: usize) -> (Vec<(f64, f64)>, f64) {
    let (folder, stamps) = (bench.folder(), Stamps::new());
    let graph = wide_graph(&stamps).with_checkpointer(SledCheckpointer::open(folder.path()).unwrap());
    let thread = graph.thread("wide");
    bench.lone.block_on(thread.invoke(Wide::update().blob("x".repeat(bytes)))).unwrap();
    drop((thread, graph));
    drop(SledCheckpointer::open(folder.path()).unwrap());
    (stamps.take(), disk_bytes(folder.path()) as f64 / 1e6)
}

/// Measures the disk space of a bare sled with the same bytes, in MB.
fn bare_disk(bench: &Bench) -> f64 {
    let (folder, recording) = (bench.folder(), Recording::default());
    let graph = wide_graph(&Stamps::new()).with_checkpointer(recording.clone());
    bench.lone.block_on(graph.thread("wide").invoke(Wide::update().blob("x".repeat(1 << 20)))).unwrap();
    BareSled::open(folder.path()).write_unsynced(&recording.take());
    drop(BareSled::open(folder.path()));
    disk_bytes(folder.path()) as f64 / 1e6
}

fn keys(bench: &Bench, channels: usize) -> Timing {
    let (folder, stamps) = (bench.folder(), Stamps::new());
    let names = || (0..channels).map(|nth| format!("k{nth}"));
    let schema = || DataSchema::new(names().map(|name| (name, Kind::LastValue))).unwrap();
    let input =
        Writes::<DataState>(names().map(|name| schema().write(&name, "x".repeat(100).into()).unwrap()).collect());
    let (mark, write) = (stamps.clone(), schema().write("k1", "y".repeat(100).into()).unwrap());
    let touch = move |_: Arc<DataState>, _: Ctx| {
        mark.mark();
        let write = write.clone();
        async move { Ok::<_, NodeError>(Writes::<DataState>(vec![write])) }
    };
    let graph = chain(schema(), STEPS, touch).with_checkpointer(SledCheckpointer::open(folder.path()).unwrap());
    let mut gaps = vec![];
    for nth in 0..bench.pick([15, 5, 1]) {
        bench.lone.block_on(graph.thread(format!("t-{nth:06}")).invoke(input.clone())).unwrap();
        gaps.extend(stamps.take());
    }
    timing(&gaps)
}
