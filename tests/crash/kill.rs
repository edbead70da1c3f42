//! Processes that are killed with SIGKILL during durable supersteps. A process prints each acknowledged checkpoint and
//! each started task; the killing process checks every line against the store.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rstest::rstest;
use serde_json::Value;
use superstep::checkpoint::MemoryCheckpointer;
use superstep::graph::Durability;

use crate::bodies::Journal;
use crate::databases::Database;
use crate::drive::{Life, World, logged};
use crate::rng::Rng;

/// Environment variable: the store of a child process; without it the child's test does nothing.
const STORE: &str = "SUPERSTEP_CRASH_STORE";
const SEED: &str = "SUPERSTEP_CRASH_SEED";

/// Graphs without cached nodes: no cache outlives a process here.
const SEEDS: [(u64, Durability); 3] = [(6, Durability::Sync), (9, Durability::Sync), (12, Durability::Async)];

/// Creates the life of a seed over a store.
fn life(seed: u64, world: World, journal: Journal) -> Life {
    let (_, durability) = SEEDS.into_iter().find(|known| known.0 == seed).unwrap();
    Life::new(seed, world, durability, journal)
}

/// Prints a line past the test harness, which would capture it. Reads one byte of the input first, so that a process
/// cannot get far ahead of the one that kills it. The harness may have started a line, hence the line feed.
pub(crate) fn report(line: &str) {
    std::io::stdin().read_exact(&mut [0]).unwrap();
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{line}").and_then(|()| out.flush()).unwrap();
}

#[tokio::test]
async fn child() {
    let (Ok(store), Ok(seed)) = (std::env::var(STORE), std::env::var(SEED)) else { return };
    let store = Database::named().open(Path::new(&store)).unwrap();
    let journal = Journal::with_listener(|task| report(&format!("start {task}")));
    let mut life = life(seed.parse().unwrap(), World::over(store), journal);
    let end = life.run_through(|id, values| report(&format!("ack {id} {values}"))).await.unwrap();
    report(&format!("end {end}"));
}

/// The lines that a process printed.
#[derive(Default)]
struct Transcript {
    acknowledged: Vec<(u64, Value)>,
    started: Vec<String>,
    end: Option<Value>,
}

impl Transcript {
    /// Parses a line; returns true if it is one of ours.
    fn add(&mut self, line: &str) -> bool {
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

fn spawn(store: &Path, database: Database, seed: u64) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["kill::child", "--exact", "--test-threads=1", "--nocapture"]);
    command.env(STORE, store).env(SEED, seed.to_string()).env(Database::NAME, database.name());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills the process after `lines` lines and a moment more, and returns its transcript.
fn killed(mut child: Child, mut lines: u64, moment: u64) -> Transcript {
    let mut transcript = Transcript::default();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut input = child.stdin.take().unwrap();
    input.write_all(&vec![0; usize::try_from(lines).unwrap()]).unwrap();
    while lines > 0
        && let Some(line) = complete_line(&mut output)
    {
        lines -= u64::from(transcript.add(&line));
    }
    (0..moment).for_each(|_| std::thread::yield_now()); // spreads the kills over the commits; nothing is waited for
    child.kill().unwrap();
    while let Some(line) = complete_line(&mut output) {
        transcript.add(&line);
    }
    child.wait().unwrap();
    transcript
}

/// Reads a line; one without a line feed does not count.
pub(crate) fn complete_line(output: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    line.strip_suffix('\n').map(str::to_owned)
}

/// Opens the store that processes left, for reading.
fn life_of(seed: u64, database: Database, directory: &Path) -> Life {
    life(seed, World::over(database.open(directory).unwrap()), Journal::default())
}

/// Kills processes until one reaches the end; returns its final state and the number of kills.
async fn killed_until_the_end(
    (seed, durability): (u64, Durability),
    database: Database,
    directory: &Path,
    mut rng: Rng,
) -> (Value, usize) {
    let mut acknowledged: Vec<(u64, Value)> = vec![];
    let mut done: BTreeSet<String> = BTreeSet::new();
    for kills in 0..300 {
        let transcript = killed(spawn(directory, database, seed), 2 + rng.below(7), rng.below(4000));
        let again: Vec<&String> = transcript.started.iter().filter(|&task| done.contains(task)).collect();
        assert!(again.is_empty(), "seed {seed}: ran again though acknowledged: {again:#?}");
        done.extend(transcript.acknowledged.iter().flat_map(|(_, values)| logged(values)));
        acknowledged.extend(transcript.acknowledged);
        let life_of = life_of(seed, database, directory);
        if durability == Durability::Sync {
            done.extend(life_of.handled(transcript.started));
        }
        life_of.past().await.assert_holds(&acknowledged);
        if let Some(end) = transcript.end {
            assert!(!acknowledged.is_empty());
            return (end, kills);
        }
    }
    panic!("seed {seed} makes no progress");
}

/// The least number of kills for each store: `SUPERSTEP_KILLS`, or those of each seed once.
fn wanted() -> usize {
    std::env::var("SUPERSTEP_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or_default()
}

#[rstest]
#[tokio::test]
async fn acknowledged_work_of_a_killed_process_is_stored_once_and_not_repeated(
    #[values(Database::Sled, Database::Fjall)] database: Database,
) {
    let (mut kills, wanted) = (0, wanted());
    for (nth, (seed, durability)) in SEEDS.into_iter().cycle().enumerate() {
        if nth >= SEEDS.len() && kills >= wanted {
            break;
        }
        let mut undisturbed = life(seed, World::new(MemoryCheckpointer::new()), Journal::default());
        let end = undisturbed.run_through(|_, _| ()).await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let rng = Rng::new(seed + 1000 * (nth / SEEDS.len()) as u64);
        let (last, killed) = killed_until_the_end((seed, durability), database, directory.path(), rng).await;
        assert_eq!(last, end, "seed {seed}");
        let stored = life_of(seed, database, directory.path());
        assert_eq!(stored.past().await.ancestors(), undisturbed.past().await.ancestors(), "seed {seed}");
        assert_eq!(stored.subgraph_state().await, undisturbed.subgraph_state().await, "seed {seed}");
        kills += killed;
    }
    eprintln!("{database:?}: {kills} kills, nothing lost, nothing executed twice");
    assert!(kills > 20, "only {kills} kills");
}
