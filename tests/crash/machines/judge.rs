//! Judges a ledger: what was acknowledged is never executed again and never lost, and a repetition has a reason.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::machines::fleet::LEASE;
use crate::machines::graphs::NAP;
use crate::machines::ledger::Line;

/// Lines of the process that disturbs the others: the server is away, or connections are cut; and it is there again.
pub(crate) const OUTAGE: &str = "outage";
pub(crate) const CALM: &str = "calm";

/// The counts of a ledger.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Ends and freezes of processes, outages, cuts of connections.
    pub(crate) disturbances: u64,
    /// The effects that were acknowledged, as thread and effect.
    pub(crate) effects: BTreeSet<(String, String)>,
    pub(crate) executions: usize,
    /// Executions that began after the effect was acknowledged elsewhere, each in a process that had been frozen.
    pub(crate) late: usize,
    /// Breaches of a promise.
    pub(crate) lost: Vec<String>,
    pub(crate) doubled: Vec<String>,
}

/// What is known of one effect.
#[derive(Default)]
struct Effect {
    /// The newest execution, its process, and when it began.
    newest: Option<(String, u32, u64)>,
    /// The execution whose result counts.
    acknowledged: Option<String>,
    /// The key by which the outside recognizes a repetition.
    key: Option<String>,
}

#[derive(Default)]
struct Judge {
    effects: BTreeMap<(String, String), Effect>,
    /// The newest superstep that began, and the first time of a wait, by thread.
    steps: HashMap<String, i64>,
    naps: HashMap<String, u64>,
    /// The versions of the graphs of processes, and the newest that has run a thread.
    versions: HashMap<u32, u32>,
    ran: HashMap<String, u32>,
    /// When processes died or were frozen, and those that went on again.
    stopped: HashMap<u32, u64>,
    thawed: HashSet<u32>,
    /// Until when the last outage was felt: leases end as long after it as they last.
    outage: Option<u64>,
    verdict: Verdict,
}

/// Judges lines in their order.
pub(crate) fn judge(lines: &[Line]) -> Verdict {
    let mut judge = Judge::default();
    for line in lines {
        let words: Vec<&str> = line.words.iter().map(String::as_str).collect();
        judge.line(line, &words);
    }
    let Judge { effects, mut verdict, .. } = judge;
    let disturbs = |line: &&Line| ["dead", "stop", OUTAGE].contains(&line.kind.as_str());
    verdict.disturbances = lines.iter().filter(disturbs).count() as u64;
    let acknowledged = effects.iter().filter(|(_, effect)| effect.acknowledged.is_some());
    verdict.effects = acknowledged.map(|(name, _)| name.clone()).collect();
    verdict
}

impl Judge {
    fn line(&mut self, line: &Line, words: &[&str]) {
        let Line { kind, pid, time, .. } = line;
        match (kind.as_str(), words) {
            ("begin", [thread, effect, execution, key]) => self.begin((*pid, *time), [thread, effect, execution, key]),
            ("ack", [thread, effect, execution]) => self.acknowledge(thread, effect, execution),
            ("step", [thread, step]) => self.step(*pid, thread, step.parse().unwrap()),
            ("version", [version]) => _ = self.versions.insert(*pid, version.parse().unwrap()),
            ("nap", [thread]) => _ = self.naps.entry((*thread).to_owned()).or_insert(*time),
            ("woke", [thread]) => self.wake(thread, *time),
            ("dead" | "stop", []) => _ = self.stopped.insert(*pid, *time),
            ("cont", []) => _ = self.thawed.insert(*pid),
            (OUTAGE, []) => self.outage = Some(u64::MAX),
            (CALM, []) => self.outage = Some(*time + 2 * LEASE.as_millis() as u64),
            ("result", _) => {}
            _ => panic!("no such line: {line:?}"),
        }
    }

    fn begin(&mut self, (pid, time): (u32, u64), [thread, name, execution, key]: [&str; 4]) {
        self.verdict.executions += 1;
        let effect = self.effects.entry((thread.to_owned(), name.to_owned())).or_default();
        let what = format!("{thread} {name} {execution}");
        if effect.key.get_or_insert_with(|| key.to_owned()) != key {
            self.verdict.doubled.push(format!("{what}: it has another idempotency key"));
        }
        let was_frozen = self.thawed.contains(&pid);
        let before = effect.newest.replace((execution.to_owned(), pid, time));
        if effect.acknowledged.is_some() {
            match was_frozen {
                true => self.verdict.late += 1,
                false => self.verdict.doubled.push(format!("{what}: it was acknowledged before")),
            }
        } else if let Some((_, before, begun)) = before {
            let ends = [self.stopped.get(&before), self.outage.as_ref()];
            if !was_frozen && !ends.into_iter().flatten().any(|end| *end >= begun) {
                self.verdict.doubled.push(format!("{what}: process {before} executes it, and nothing happened to it"));
            }
        }
    }

    fn acknowledge(&mut self, thread: &str, name: &str, execution: &str) {
        let effect = self.effects.entry((thread.to_owned(), name.to_owned())).or_default();
        let first = effect.acknowledged.get_or_insert_with(|| execution.to_owned());
        if first != execution {
            self.verdict.lost.push(format!("{thread} {name}: the result of {first} became that of {execution}"));
        }
        // Whoever holds the thread is alone: a later execution counts, or was begun by a process that was frozen.
        let newest =
            effect.newest.as_ref().filter(|(newest, pid, _)| newest != execution && !self.thawed.contains(pid));
        if let Some((newest, ..)) = newest {
            self.verdict.doubled.push(format!("{thread} {name}: {newest} began beside {execution}, which counts"));
        }
    }

    /// A superstep begins when all before it are stored.
    fn step(&mut self, pid: u32, thread: &str, step: i64) {
        let newest = self.steps.entry(thread.to_owned()).or_insert(step);
        if step < *newest && !self.thawed.contains(&pid) {
            self.verdict.lost.push(format!("{thread}: superstep {step} begins after {newest}"));
        }
        *newest = step.max(*newest);
        let version = self.versions.get(&pid).copied().unwrap_or_default();
        let ran = self.ran.entry(thread.to_owned()).or_insert(version);
        if version < *ran {
            self.verdict.lost.push(format!("{thread}: version {version} runs it after version {ran}"));
        }
        *ran = version.max(*ran);
    }

    fn wake(&mut self, thread: &str, time: u64) {
        let slept = time - self.naps[thread];
        // The time since the start of the machine is read in hundredths of a second.
        if u128::from(slept) + 20 < NAP.as_millis() {
            self.verdict.lost.push(format!("{thread}: it woke after {slept} ms"));
        }
    }
}

#[test]
fn a_ledger_with_a_breach_is_not_passed() {
    let verdict = |text: &str| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ledger"), text).unwrap();
        judge(&crate::machines::ledger::Ledger::at(&folder.path().join("ledger")).lines())
    };
    let good = "step 1 1 t 0\nbegin 1 2 t a 1.0 k\ndead 1 3 \nbegin 2 4 t a 2.0 k\nack 2 5 t a 2.0\nack 3 6 t a 2.0\n";
    let good = verdict(good);
    assert_eq!((good.executions, good.lost.len(), good.doubled.len()), (2, 0, 0), "{good:?}");
    assert_eq!(good.effects, BTreeSet::from([("t".into(), "a".into())]));
    for (text, lost, doubled) in [
        ("begin 1 1 t a 1.0 k\nack 1 2 t a 1.0\ndead 1 3 \nbegin 2 4 t a 2.0 k\n", 0, 1),
        ("begin 1 1 t a 1.0 k\nbegin 2 2 t a 2.0 k\n", 0, 1),
        ("begin 1 1 t a 1.0 k\ndead 1 2 \nbegin 2 3 t a 2.0 l\n", 0, 1),
        ("begin 1 1 t a 1.0 k\ndead 1 2 \nbegin 2 3 t a 2.0 k\nack 1 4 t a 1.0\n", 0, 1),
        ("ack 1 1 t a 1.0\nack 2 2 t a 2.0\n", 1, 0),
        ("step 1 1 t 2\nstep 2 2 t 1\n", 1, 0),
        ("nap 1 1000 t\nwoke 2 1200 t\n", 1, 0),
        ("version 1 1 1\nversion 2 1 0\nstep 1 2 t 1\nstep 2 3 t 2\n", 1, 0),
    ] {
        let found = verdict(text);
        assert_eq!((found.lost.len(), found.doubled.len()), (lost, doubled), "{text}: {found:?}");
    }
}
