//! Stores with damaged files: each is opened, read and resumed in a process of its own, which is watched. Either an
//! error reports the damage, or every acknowledged record is there. Nothing panics, hangs or is lost.

mod book;
mod harm;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rstest::rstest;
use superstep::checkpoint::CheckpointError;
use superstep::graph::RunError;

use book::{Acknowledged, Filling, fill, look};
use harm::{Harm, draw};

use crate::databases::Database;

/// Environment variable: the kind of store of a child process; without it the child's test does nothing.
const KIND: &str = "SUPERSTEP_DAMAGE_KIND";

/// Time limit for one damaged store.
const PATIENCE: Duration = Duration::from_secs(120);

/// State of a store before it is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Closed properly.
    Closed,
    /// Left by a killed process.
    Killed,
    /// Opened and written several times, then left by a killed process.
    Aged,
    /// Several segments, all written since it was opened.
    Large,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Closed, Self::Killed, Self::Aged, Self::Large];

    fn filling(self) -> Filling {
        match self {
            Self::Large => Filling { threads: 9, rounds: 6, bytes: 700_000 },
            Self::Closed | Self::Killed | Self::Aged => Filling { threads: 7, rounds: 3, bytes: 90_000 },
        }
    }

    fn random(self) -> u64 {
        if self == Self::Large { 20 } else { 50 }
    }

    /// Fills a store of this kind and returns its acknowledged content.
    async fn fill(self, database: Database, store: &Path) -> Acknowledged {
        let beside = store.with_extension("open");
        let mut opened = database.open(&beside).unwrap();
        let mut acknowledged = fill(&opened, self.filling()).await;
        for _ in 0..if self == Self::Aged { 3 } else { 0 } {
            drop(opened);
            opened = database.open(&beside).unwrap();
            assert!(look(Arc::clone(&opened), &mut acknowledged).await.unwrap().lost.is_empty());
        }
        if self == Self::Closed {
            drop(opened);
            if database == Database::Fjall {
                database.compact(&beside); // writes everything to tables
            }
            copy(&beside, store);
        } else {
            copy(&beside, store); // what a kill leaves
            drop(opened);
        }
        acknowledged
    }
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => assert!(fs::copy(entry.path(), to).is_ok()),
        }
    }
}

// --- the child ---

/// Panics so far, as thread and message.
static PANICS: Mutex<Vec<String>> = Mutex::new(vec![]);

#[test]
fn child() {
    let Ok(kind) = std::env::var(KIND) else { return };
    let kind = Kind::ALL.into_iter().find(|known| format!("{known:?}") == kind).unwrap();
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current().name().unwrap_or("?").to_owned();
        PANICS.lock().unwrap().push(format!("{thread}: {panic}").replace('\n', " "));
    }));
    let scratch = tempfile::tempdir().unwrap();
    let (whole, store) = (scratch.path().join("whole"), scratch.path().join("store"));
    let database = Database::named();
    let acknowledged = block_on(kind.fill(database, &whole));
    let seed: u64 = std::env::var("SUPERSTEP_DAMAGE_SEED").map_or(0, |seed| seed.parse().unwrap());
    let sudden = matches!(kind, Kind::Closed | Kind::Aged);
    for harm in draw(&whole, seed * 10 + kind as u64, sudden, kind.random()) {
        copy(&whole, &store);
        report(&format!("begin {harm:?}"));
        for line in check_damaged(database, &harm, &store, acknowledged.clone()) {
            report(&line);
        }
    }
    report("end");
}

fn report(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{line}").and_then(|()| out.flush()).unwrap();
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Damages a store and reads it twice, as two processes would; returns the lines to report.
fn check_damaged(database: Database, harm: &Harm, store: &Path, mut acknowledged: Acknowledged) -> Vec<String> {
    harm.apply(store);
    let mut lines = vec![];
    for turn in ["first", "second"] {
        let reader = std::thread::spawn({
            let store = store.to_owned();
            move || {
                let seen = block_on(async { look(database.open(&store)?, &mut acknowledged).await });
                (seen, acknowledged)
            }
        });
        let Ok((seen, updated)) = reader.join() else {
            lines.push(format!("BAD {turn} look panicked"));
            break;
        };
        acknowledged = updated;
        match seen {
            Err(error) => lines.push(judge(turn, &error)),
            Ok(seen) => {
                lines.extend(seen.errors.iter().map(|error| judge_read(turn, error)));
                lines.extend(seen.lost.iter().map(|lost| format!("BAD {turn} look: {lost}")));
                lines.push(format!("intact {}", seen.intact));
            }
        }
    }
    for panic in PANICS.lock().unwrap().drain(..) {
        let is_guarded = !["sled", "fjall", "superstep"].iter().any(|thread| panic.starts_with(thread));
        lines.push(format!("{} {panic}", if is_guarded { "caught" } else { "BAD panic on" }));
    }
    lines
}

fn judge_read(turn: &str, error: &RunError) -> String {
    match error {
        RunError::Checkpoint(error) => judge(turn, error),
        other => format!("BAD {turn} look: not an error of the store: {other}"),
    }
}

fn judge(turn: &str, error: &CheckpointError) -> String {
    use CheckpointError as E;
    let fits = matches!(
        error,
        E::Damaged { .. } | E::DamagedStore { .. } | E::Io { .. } | E::Format { .. } | E::Poisoned { .. }
    );
    let word = if fits && error.help().is_some() { "reported" } else { "BAD error" };
    format!("{word} {turn}: {error}").replace('\n', " ")
}

// --- the watching process ---

/// Returns the lines of a process as they arrive.
fn lines(output: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    receiver
}

#[rstest]
fn damage_is_reported_or_harmless(
    #[values(Database::Sled, Database::Fjall)] database: Database,
    #[values(Kind::Closed, Kind::Killed, Kind::Aged, Kind::Large)] kind: Kind,
) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["damage::child", "--exact", "--test-threads=1", "--nocapture"])
        .env(KIND, format!("{kind:?}"))
        .env(Database::NAME, database.name())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = lines(child.stdout.take().unwrap());
    let (mut now, mut bad, mut harms, mut reported, mut intact, mut caught) = (String::new(), vec![], 0, 0, 0, vec![]);
    while let Ok(line) = output.recv_timeout(PATIENCE) {
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("begin", harm) => (now, harms) = (harm.to_owned(), harms + 1),
            ("reported", _) => reported += 1,
            ("intact", _) => intact += 1,
            ("caught", panic) => caught.push(format!("{now}: {panic}")),
            ("BAD", what) => bad.push(format!("{now}: {what}")),
            ("end", _) => now = "the end".into(),
            _ => {}
        }
        if std::env::var_os("SUPERSTEP_DAMAGE_TELL").is_some() {
            eprintln!("{kind:?}: {line}");
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(now, "the end", "hung or gone after this");
    assert!(bad.is_empty(), "{} of {harms}:\n{}", bad.len(), bad.join("\n"));
    assert!(harms >= 20 && reported > 10 && intact > 5, "{harms} harms, {reported} reported, {intact} intact");
    // Panics of the database are caught without calling a hook: nothing is on standard error.
    assert!(caught.is_empty(), "{}", caught.join("\n"));
}
