//! The bodies of `fuzz`, on real records with random changes; the same in every run.

use std::sync::Arc;

use superstep::checkpoint::{
    Checkpointer, ExportOptions, Key, MemoryCheckpointer, Order, encode_record, export_thread,
};
use superstep::prelude::*;

#[path = "../../fuzz/bodies/import.rs"]
mod import;
#[path = "../../fuzz/bodies/records.rs"]
mod records;
#[path = "../crash/rng.rs"]
#[allow(dead_code, reason = "the crash tests draw in more ways")]
mod rng;

use rng::Rng;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Letter {
    to: String,
    #[channel(append)]
    lines: Vec<String>,
    #[channel(add)]
    pages: u64,
    #[channel(secret)]
    stamp: String,
}

#[derive(Serialize, Deserialize)]
struct Sign {
    pages: u64,
}
impl Interrupt for Sign {
    type Resume = bool;
    const NAME: &'static str = "sign";
}

#[derive(NodeId)]
enum Step {
    Write,
    Proof,
    Send,
    Sign,
}

const SEND: Worker<Step, u64> = Worker::new(Step::Send);

async fn write(letter: Arc<Letter>, ctx: Ctx) -> Result<LetterUpdate, NodeError> {
    let to = letter.to.clone();
    let line: String =
        ctx.effect("draft", &letter.to, |key| async move { Ok::<_, NodeError>(format!("{to} {key}")) }).await?;
    Ok(Letter::update().lines([line]).pages(1_u64).stamp("secret"))
}
async fn proof(_: Arc<Letter>, _: Ctx) -> Result<LetterUpdate, NodeError> {
    Ok(Letter::update().lines(["read"]))
}
async fn send(copy: Arc<u64>, _: Ctx) -> Result<LetterUpdate, NodeError> {
    Ok(Letter::update().lines([format!("copy {copy}")]))
}
async fn sign(letter: Arc<Letter>, ctx: Ctx) -> Result<LetterUpdate, NodeError> {
    let signed = ctx.interrupt(Sign { pages: letter.pages })?;
    Ok(Letter::update().lines([format!("signed: {signed}")]))
}
fn copies(_: &Letter) -> Sends<Step> {
    SEND.each([1, 2])
}

/// Creates a store with two threads: one waits for an answer, one has finished.
async fn store() -> Arc<MemoryCheckpointer> {
    let store = Arc::new(MemoryCheckpointer::new());
    let graph = StateGraph::new()
        .add_node(Step::Write, write)
        .add_node(Step::Proof, proof)
        .add_worker(SEND, send)
        .add_node(Step::Sign, sign.asks::<Sign>())
        .add_edge(START, [Step::Write, Step::Proof])
        .add_conditional_edges_to(Step::Write, copies, SEND)
        .add_edge(Step::Send, Step::Sign)
        .compile()
        .unwrap()
        .with_shared_checkpointer(store.clone());
    for (thread, signs) in [("waits", false), ("ended", true)] {
        let thread = graph.thread(thread);
        thread.invoke(Letter::update().to("Brest")).await.unwrap();
        if signs {
            thread.resume::<Sign>(true).await.unwrap().finished().unwrap();
        }
    }
    store
}

impl Rng {
    /// Changes bytes at random: flips, increments, truncates, inserts, splices from another seed.
    fn mutate(&mut self, seeds: &[Vec<u8>], keep: usize) -> Vec<u8> {
        let mut bytes = seeds[self.index(seeds.len())].clone();
        for _ in 0..=self.index(4) {
            let at = keep + self.index(bytes.len().saturating_sub(keep));
            if at >= bytes.len() {
                continue;
            }
            match self.index(6) {
                0 => bytes[at] ^= 1 << self.index(8),
                1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xfb, 0xfc, 0xfd, 0xff][self.index(8)],
                2 => bytes[at] = bytes[at].wrapping_add(1),
                3 => bytes.truncate(at),
                4 => bytes.insert(at, u8::try_from(self.index(256)).unwrap()),
                _ => {
                    let other = &seeds[self.index(seeds.len())];
                    let (from, length) = (self.index(other.len()), self.index(32));
                    let piece = other[from..other.len().min(from + length)].to_vec();
                    bytes.splice(at..bytes.len().min(at + piece.len()), piece);
                }
            }
        }
        bytes
    }
}

#[tokio::test]
async fn the_record_decoder_never_panics() {
    let store = store().await;
    let mut seeds = vec![];
    for thread in store.threads(None, 9).await.unwrap() {
        let head = store.head(&thread).await.unwrap().unwrap();
        seeds.push([vec![0], encode_record(&head).unwrap()].concat());
        let last = Key::Event { checkpoint: superstep::checkpoint::CheckpointId(u64::MAX), number: u64::MAX };
        for (key, bytes) in store.scan(&thread, Key::Head..=last, Order::Ascending, usize::MAX).await.unwrap() {
            seeds.extend(records::kind(&key).map(|kind| [vec![kind], bytes].concat()));
        }
    }
    seeds.iter().for_each(|seed| records::body(seed));
    let mut rng = Rng::new(7);
    for _ in 0..20_000 {
        records::body(&rng.mutate(&seeds, 0));
    }
}

#[tokio::test]
async fn an_import_never_panics_and_leaves_no_partial_thread() {
    let store = store().await;
    let mut seeds = vec![];
    for thread in store.threads(None, 9).await.unwrap() {
        let mut file = vec![];
        export_thread(&*store, &thread, &ExportOptions::new(), &mut file).await.unwrap();
        assert!(import::body(&file));
        seeds.push(file);
    }
    let mut rng = Rng::new(8);
    let imported =
        (0..3_000).filter(|nth| import::body(&rng.mutate(&seeds, if nth % 4 == 0 { 0 } else { 14 }))).count();
    assert!(imported > 0, "no changed file got past the checksums");
}
