//! Processes that are killed with SIGKILL while they run durable supersteps. A process says on its standard output what
//! the engine acknowledged and which tasks it starts; whoever killed it checks each word against the store.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use superstep::checkpoint::{Checkpointer, MemoryCheckpointer, SledCheckpointer};
use superstep::graph::Durability;

use crate::bodies::Journal;
use crate::drive::{Life, World, logged};
use crate::rng::Rng;

/// Names the store to a child process; without it the child's test does nothing.
const STORE: &str = "SUPERSTEP_CRASH_STORE";
const SEED: &str = "SUPERSTEP_CRASH_SEED";

/// Graphs without cached nodes: no cache outlives a process here.
const SEEDS: [(u64, Durability); 3] = [(6, Durability::Sync), (9, Durability::Sync), (12, Durability::Async)];

/// The process of a seed, over any store.
fn life(seed: u64, store: impl Checkpointer, journal: Journal) -> Life {
    let (_, durability) = SEEDS.into_iter().find(|known| known.0 == seed).unwrap();
    Life::new(seed, World::new(store), durability, journal)
}

/// Says a line on standard output, past the test harness, which would keep it to itself. Each line costs a byte of the
/// input, so that a process cannot get far ahead of the one that is to kill it. The harness may have begun a line.
pub(crate) fn say(line: &str) {
    std::io::stdin().read_exact(&mut [0]).unwrap();
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{line}").and_then(|()| out.flush()).unwrap();
}

#[tokio::test]
async fn child() {
    let (Ok(store), Ok(seed)) = (std::env::var(STORE), std::env::var(SEED)) else { return };
    let store = SledCheckpointer::open(store).unwrap();
    let journal = Journal::telling(|task| say(&format!("start {task}")));
    let mut life = life(seed.parse().unwrap(), store, journal);
    let end = life.run_through(|id, values| say(&format!("ack {id} {values}"))).await.unwrap();
    say(&format!("end {end}"));
}

/// What a process said before it was gone.
#[derive(Default)]
struct Heard {
    acknowledged: Vec<(u64, Value)>,
    started: Vec<String>,
    end: Option<Value>,
}

impl Heard {
    /// Takes a line; returns whether it was one of ours.
    fn line(&mut self, line: &str) -> bool {
        if let Some(task) = line.strip_prefix("start ") {
            self.started.push(task.to_owned());
        } else if let Some((id, values)) = line.strip_prefix("ack ").and_then(|ack| ack.split_once(' ')) {
            self.acknowledged.push((id.parse().unwrap(), serde_json::from_str(values).unwrap()));
        } else if let Some(end) = line.strip_prefix("end ") {
            self.end = Some(serde_json::from_str(end).unwrap());
        } else {
            return false;
        }
        true
    }
}

fn spawn(store: &Path, seed: u64) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["kill::child", "--exact", "--test-threads=1", "--nocapture"]);
    command.env(STORE, store).env(SEED, seed.to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills the process after so many words and a moment more, and returns all it said.
fn killed(mut child: Child, mut words: u64, moment: u64) -> Heard {
    let mut heard = Heard::default();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut pay = child.stdin.take().unwrap();
    pay.write_all(&vec![0; usize::try_from(words).unwrap()]).unwrap();
    while words > 0
        && let Some(line) = whole_line(&mut said)
    {
        words -= u64::from(heard.line(&line));
    }
    (0..moment).for_each(|_| std::thread::yield_now()); // spreads the kills over the commits; nothing is waited for
    child.kill().unwrap();
    while let Some(line) = whole_line(&mut said) {
        heard.line(&line);
    }
    child.wait().unwrap();
    heard
}

/// A line without its end was not said.
pub(crate) fn whole_line(said: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    line.strip_suffix('\n').map(str::to_owned)
}

/// Reads what processes left behind.
fn reader(seed: u64, directory: &Path) -> Life {
    life(seed, SledCheckpointer::open(directory).unwrap(), Journal::default())
}

/// Kills processes until one comes to the end, which it returns with the number of kills.
async fn killed_until_the_end(seed: u64, durability: Durability, directory: &Path) -> (Value, usize) {
    let mut rng = Rng::new(seed);
    let mut acknowledged: Vec<(u64, Value)> = vec![];
    let mut done: BTreeSet<String> = BTreeSet::new();
    for kills in 0..300 {
        let heard = killed(spawn(directory, seed), 2 + rng.below(7), rng.below(4000));
        let again: Vec<&String> = heard.started.iter().filter(|&task| done.contains(task)).collect();
        assert!(again.is_empty(), "seed {seed}: ran again though acknowledged: {again:#?}");
        done.extend(heard.acknowledged.iter().flat_map(|(_, values)| logged(values)));
        acknowledged.extend(heard.acknowledged);
        let reader = reader(seed, directory);
        if durability == Durability::Sync {
            done.extend(reader.handled(heard.started));
        }
        reader.past().await.assert_holds(&acknowledged);
        if let Some(end) = heard.end {
            assert!(!acknowledged.is_empty());
            return (end, kills);
        }
    }
    panic!("seed {seed} makes no progress");
}

#[tokio::test]
async fn what_a_killed_process_acknowledged_is_there_once_and_is_not_run_again() {
    let mut kills = 0;
    for (seed, durability) in SEEDS {
        let mut undisturbed = life(seed, MemoryCheckpointer::new(), Journal::default());
        let end = undisturbed.run_through(|_, _| ()).await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let (came_to, killed) = killed_until_the_end(seed, durability, directory.path()).await;
        assert_eq!(came_to, end, "seed {seed}");
        let left = reader(seed, directory.path());
        assert_eq!(left.past().await.way(), undisturbed.past().await.way(), "seed {seed}");
        assert_eq!(left.kept_inside().await, undisturbed.kept_inside().await, "seed {seed}");
        kills += killed;
    }
    assert!(kills > 20, "only {kills} kills");
}
