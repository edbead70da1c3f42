//! Data of a ledger: finished turns, running turns, working time; and its file, to which a JSON line is appended for each
//! change. A line torn by a power cut is removed.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::account::{Account, LimitsAnswer, NewLimits, RemainingBudget, RunLimits, TurnName, millis};
use crate::drivers::{DriverError, DriverErrorClass, Usage};

#[derive(Debug, Default)]
pub(in crate::drivers) struct Books {
    pub(super) limits: RunLimits,
    /// Limits set by people, with the time of the answer, by key.
    answers: BTreeMap<String, (RunLimits, u64)>,
    /// Usage of turns without a name.
    pub(super) spent: Usage,
    /// Usage of each turn by name, one entry per attempt.
    turns: BTreeMap<String, Vec<Usage>>,
    pub(super) reservations: BTreeMap<u64, Reservation>,
    next: u64,
    worked: WorkClock,
    file: Option<LedgerFile>,
}

/// Reservation and usage of a running turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reservation {
    pub(super) tokens: u64,
    pub(super) cost: u64,
    pub(super) used: Usage,
}

/// Stopwatch for the time in which at least one agent works.
#[derive(Debug, Default)]
struct WorkClock {
    before: Duration,
    workers: usize,
    since: Option<Instant>,
}

impl WorkClock {
    fn so_far(&self) -> Duration {
        self.before + self.since.map(|since| since.elapsed()).unwrap_or_default()
    }

    fn begin(&mut self) {
        self.workers += 1;
        self.since.get_or_insert_with(Instant::now);
    }

    fn end(&mut self) {
        self.workers = self.workers.saturating_sub(1);
        if self.workers == 0 {
            self.before = self.so_far();
            self.since = None;
        }
    }
}

impl Books {
    pub(super) fn read(lines: Vec<Line>, file: LedgerFile) -> Self {
        let mut books = Self { file: Some(file), ..Self::default() };
        for line in lines {
            match line {
                Line::Turn { turn, nth, usage, worked_ms, .. } => {
                    let tries = books.turns.entry(turn).or_default();
                    tries.resize(tries.len().max(nth + 1), Usage::default());
                    tries[nth] = usage;
                    books.worked.before = books.worked.before.max(Duration::from_millis(worked_ms));
                }
                Line::Limits { key, to, at } => {
                    books.answers.insert(key, (to, at));
                }
            }
        }
        books
    }

    pub(super) fn at_least(&mut self, usage: &Usage) {
        let known = self.all();
        let more = |least: u64, known: u64| least.saturating_sub(known);
        self.spent += Usage {
            input: more(usage.tokens(), known.tokens()),
            cost: more(usage.cost, known.cost),
            ..Usage::default()
        };
    }

    pub(super) fn set_limits(&mut self, key: &str, to: RunLimits, now: u64) -> Result<LimitsAnswer, DriverError> {
        if let Some((_, at)) = self.answers.get(key).filter(|(before, _)| *before == to) {
            return Ok(LimitsAnswer::Set(NewLimits::new(to, *at)));
        }
        if let Some(objection) = self.account().objection(to) {
            return Ok(LimitsAnswer::Refused(objection));
        }
        let last = self.answers.values().map(|(_, at)| *at).max();
        let at = now.max(last.map_or(0, |last| last.saturating_add(1)));
        self.write(&Line::Limits { key: key.to_owned(), to, at })?;
        self.answers.insert(key.to_owned(), (to, at));
        Ok(LimitsAnswer::Set(NewLimits::new(to, at)))
    }

    /// Returns the usage of named turns, and of unnamed ones that have ended.
    pub(super) fn ended_usage(&self) -> Usage {
        let mut all = self.spent;
        self.turns.values().flatten().for_each(|usage| all += *usage);
        all
    }

    /// Returns the usage of all turns.
    fn all(&self) -> Usage {
        let mut all = self.ended_usage();
        self.reservations.values().for_each(|reservation| all += reservation.used);
        all
    }

    fn current_limits(&self) -> RunLimits {
        let new = self.answers.values().map(|(to, at)| NewLimits::new(*to, *at));
        new.fold(NewLimits::default(), NewLimits::latest).apply_to(self.limits)
    }

    pub(super) fn account(&self) -> Account {
        Account { spent: self.all(), worked_ms: millis(self.worked.so_far()), limits: self.current_limits() }
    }

    pub(super) fn remaining(&self) -> RemainingBudget {
        let reserved =
            |part: fn(&Reservation) -> u64| self.reservations.values().map(part).fold(0, u64::saturating_add);
        let (ended, limits) = (self.ended_usage(), self.current_limits());
        let tokens =
            ended.tokens().saturating_add(reserved(|reservation| reservation.tokens.max(reservation.used.tokens())));
        let cost = ended.cost.saturating_add(reserved(|reservation| reservation.cost.max(reservation.used.cost)));
        let less = |limit: Option<u64>, taken| limit.map(|limit| limit.saturating_sub(taken));
        RemainingBudget { tokens: less(limits.tokens, tokens), cost: less(limits.cost, cost) }
    }

    pub(in crate::drivers) fn used_up(&self) -> DriverError {
        let dollars = |cost: u64| format!("${}.{:06}", cost / 1_000_000, cost % 1_000_000);
        let Account { spent, worked_ms, limits } = self.account();
        let shown = [
            limits.tokens.map(|tokens| format!("{tokens} tokens")),
            limits.cost.map(dollars),
            limits.wall.map(|wall| format!("{} s", wall.as_secs())),
        ];
        let shown: Vec<String> = shown.into_iter().flatten().collect();
        let worked = limits.wall.map(|_| format!(" in {} s", worked_ms / 1000)).unwrap_or_default();
        let reserved = match self.reservations.len() {
            0 => String::new(),
            turns => format!(", the rest is reserved by {turns} running turns"),
        };
        let (tokens, cost) = (self.ended_usage().tokens(), dollars(spent.cost));
        let message = format!(
            "the budget of {} is used up: {tokens} tokens and {cost} spent{worked}{reserved}",
            shown.join(" and ")
        );
        DriverError::new(DriverErrorClass::Budget, message).help("raise the budget, then resume")
    }

    pub(super) fn add_reservation(&mut self, reservation: Reservation) -> u64 {
        let number = self.next;
        self.next += 1;
        self.reservations.insert(number, reservation);
        number
    }

    /// Starts an attempt of a turn and returns its number; if the driver resumes the last one, that number is reused. A
    /// turn without a name gets one.
    pub(in crate::drivers) fn begin(&mut self, name: &mut TurnName, continues: bool) -> Result<usize, DriverError> {
        if name.turn.is_empty() {
            name.turn = format!("#{}", self.turns.len());
        }
        let tries = self.turns.entry(name.turn.clone()).or_default();
        if !continues || tries.is_empty() {
            tries.push(Usage::default());
        }
        let nth = tries.len() - 1;
        self.write_usage(name, nth)?;
        Ok(nth)
    }

    /// Records the usage of an attempt, and returns that of all attempts of its turn.
    pub(in crate::drivers) fn record_usage(
        &mut self,
        name: &TurnName,
        nth: usize,
        usage: Usage,
    ) -> Result<Usage, DriverError> {
        let tries = self.turns.entry(name.turn.clone()).or_default();
        tries.resize(tries.len().max(nth + 1), Usage::default());
        if tries[nth] != usage {
            tries[nth] = usage;
            self.write_usage(name, nth)?;
        }
        Ok(self.of(&name.turn))
    }

    /// Returns the usage of all attempts of a turn.
    pub(super) fn of(&self, turn: &str) -> Usage {
        let mut all = Usage::default();
        self.turns.get(turn).into_iter().flatten().for_each(|usage| all += *usage);
        all
    }

    /// Records the final usage of the last attempt of a turn, and returns that of all its attempts.
    pub(in crate::drivers) fn record_final(
        &mut self,
        turn: &str,
        usage: Usage,
        continues: bool,
    ) -> Result<Usage, DriverError> {
        let name = TurnName { turn: turn.to_owned(), ..TurnName::default() };
        let nth = self.turns.get(turn).map_or(0, |tries| tries.len().saturating_sub(1));
        let nth = if continues { 0 } else { nth };
        self.record_usage(&name, nth, usage)
    }

    pub(in crate::drivers) fn start_work(&mut self) {
        self.worked.begin();
    }

    /// Stops the working time of a turn, and writes the total.
    pub(in crate::drivers) fn stop_work(&mut self, name: &TurnName) {
        self.worked.end();
        if let Some(nth) = self.turns.get(&name.turn).and_then(|tries| tries.len().checked_sub(1)) {
            let _ = self.write_usage(name, nth); // a turn that ends cannot report it; the next one fails to start
        }
    }

    /// Writes the usage of an attempt.
    fn write_usage(&mut self, name: &TurnName, nth: usize) -> Result<(), DriverError> {
        let usage = self.turns.get(&name.turn).and_then(|tries| tries.get(nth)).copied().unwrap_or_default();
        let TurnName { turn, role, task } = name.clone();
        let worked_ms = millis(self.worked.so_far());
        self.write(&Line::Turn { turn, nth, role, task, usage, worked_ms })
    }

    fn write(&mut self, line: &Line) -> Result<(), DriverError> {
        self.file.as_mut().map_or(Ok(()), |file| file.append(line))
    }
}

/// A change.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// Usage of an attempt of a turn so far.
    Turn {
        turn: String,
        #[serde(rename = "try")]
        nth: usize,
        #[serde(default)]
        role: String,
        #[serde(default)]
        task: String,
        usage: Usage,
        /// Working time of the agents of the run at that moment.
        worked_ms: u64,
    },
    /// Limits that a person set, and the time of the answer in milliseconds since 1970.
    Limits { key: String, to: RunLimits, at: u64 },
}

/// Upper bound for the attempts of one turn; more indicate damage.
const TRIES: usize = 100_000;

#[derive(Debug)]
pub(super) struct LedgerFile {
    path: PathBuf,
    file: File,
}

impl LedgerFile {
    /// Opens the file and reads its lines. May block.
    pub(super) fn open(path: &Path) -> Result<(Self, Vec<Line>), DriverError> {
        let failed = |error: &io::Error| file_error(path, &error.to_string());
        let (file, text) = open_file(path).map_err(|error| failed(&error))?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            file.set_len(whole as u64).map_err(|error| failed(&error))?;
        }
        let line = |(at, line): (usize, &str)| match serde_json::from_str(line) {
            Ok(Line::Turn { nth, .. }) if nth >= TRIES => Err(damaged_line(path, at, "too many tries")),
            Ok(line) => Ok(line),
            Err(error) => Err(damaged_line(path, at, &error.to_string())),
        };
        let lines = text[..whole].lines().enumerate().map(line).collect::<Result<_, _>>()?;
        Ok((Self { path: path.to_owned(), file }, lines))
    }

    /// Appends a line. It survives a kill of this process, and after the next sync of the disk a power cut.
    fn append(&mut self, line: &Line) -> Result<(), DriverError> {
        let written = serde_json::to_vec(line).map_err(io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            self.file.write_all(&line)
        });
        written.map_err(|error| file_error(&self.path, &error.to_string()))
    }
}

fn open_file(path: &Path) -> io::Result<(File, String)> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Do not follow a link that an agent put in its place, and do not wait for a pipe.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let mut file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok((file, text))
}

fn file_error(path: &Path, why: &str) -> DriverError {
    let message = format!("the ledger {} cannot be used: {why}", path.display());
    DriverError::new(DriverErrorClass::Fatal, message).help("make it readable and writable for you, then retry")
}

fn damaged_line(path: &Path, at: usize, why: &str) -> DriverError {
    let message = format!("the ledger {}, line {}, cannot be read: {why}", path.display(), at + 1);
    DriverError::new(DriverErrorClass::Fatal, message)
        .help("delete the line, or the file: usage recorded in the run's state still counts")
}
