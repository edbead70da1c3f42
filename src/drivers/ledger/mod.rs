//! What the turns of a run use together: one account for all of its agents, in memory or in a file that outlives the
//! process. Knows no driver.

mod books;
mod file;
mod new_limits;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::DriverError;
use super::event::Usage;
use super::price::dollars;
use super::request::Limits;
pub(in crate::drivers) use books::Hold;
use books::{Books, Charge};
use file::LedgerFile;
pub use new_limits::{LimitsAnswer, NewLimit, NewLimits};

/// What many turns may use together, and have used. Clones share it.
///
/// ```
/// use superstep::drivers::{Ledger, Usage};
/// let ledger = Ledger::new().tokens(1_000).spent_before(&Usage { input: 300, ..Usage::default() });
/// assert_eq!(ledger.left().tokens, Some(700));
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Ledger(Arc<Mutex<Books>>);

/// What is left of a budget; none where there is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Tokens.
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    pub cost: Option<u64>,
}

/// How much all turns of a run may use together; none: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct RunLimits {
    /// Millionths of a dollar.
    pub cost: Option<u64>,
    /// Tokens.
    pub tokens: Option<u64>,
    /// Time in which agents work. Turns at the same time count once; waiting for people does not count.
    pub wall: Option<Duration>,
}

/// What a run has used, and what it may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// What its turns have used, those under way included.
    pub spent: Usage,
    /// How long agents have worked, in milliseconds.
    pub worked_ms: u64,
    /// What it may use, with the limits that people set.
    pub limits: RunLimits,
}

/// Which turn of which run uses something. For people who read the ledger's file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::drivers) struct TurnName {
    pub(in crate::drivers) turn: String,
    pub(in crate::drivers) role: String,
    pub(in crate::drivers) task: String,
}

/// The ledgers of this process that have a file: whoever opens the same file shares the account.
static OPEN: Mutex<BTreeMap<PathBuf, Weak<Mutex<Books>>>> = Mutex::new(BTreeMap::new());

impl RunLimits {
    /// Returns whether nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Account {
    /// Returns the limits that are reached: `cost`, `tokens`, `wall`.
    pub fn reached(&self) -> Vec<&'static str> {
        let (cost, tokens) = (self.spent.cost, self.spent.tokens());
        let is_reached = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| used >= limit);
        let all = [
            ("cost", is_reached(self.limits.cost, cost)),
            ("tokens", is_reached(self.limits.tokens, tokens)),
            ("wall", is_reached(self.limits.wall.map(millis), self.worked_ms)),
        ];
        all.into_iter().filter(|(_, is_reached)| *is_reached).map(|(name, _)| name).collect()
    }

    /// Returns what was used of what, a line for each limit: `cost: $5.0213 of $5.0000`.
    pub fn lines(&self) -> Vec<String> {
        let RunLimits { cost, tokens, wall } = self.limits;
        let worked = || time(self.worked_ms / 1000);
        [
            cost.map(|limit| format!("cost: {} of {}", dollars(self.spent.cost), dollars(limit))),
            tokens.map(|limit| format!("tokens: {} of {limit}", self.spent.tokens())),
            wall.map(|limit| format!("wall: {} of {}", worked(), time(limit.as_secs()))),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns whether more was used than a limit allows.
    pub(in crate::drivers) fn is_over(&self) -> bool {
        let is_over = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| used > limit);
        is_over(self.limits.cost, self.spent.cost) || is_over(self.limits.tokens, self.spent.tokens())
    }
}

fn time(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Ledger {
    /// Returns a budget without limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the ledger in a file, made with its folder where there is none: what was used is in it before the next event
    /// of a turn is read, so that a kill loses nothing that was reported. Whoever opens the same file in this process
    /// shares the ledger; no other process may use it at the same time.
    ///
    /// # Errors
    /// [`ErrorClass::Fatal`](super::ErrorClass::Fatal) if the file cannot be read or written, or is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DriverError> {
        let path = path.as_ref().to_owned();
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, books| books.strong_count() > 0);
        if let Some(books) = open.get(&path).and_then(Weak::upgrade) {
            return Ok(Self(books));
        }
        let (file, lines) = LedgerFile::open(&path)?;
        let books = Arc::new(Mutex::new(Books::read(lines, file)));
        open.insert(path, Arc::downgrade(&books));
        Ok(Self(books))
    }

    /// Limits the tokens.
    pub fn tokens(self, tokens: u64) -> Self {
        self.books().limits.tokens = Some(tokens);
        self
    }

    /// Limits the cost, in millionths of a dollar.
    pub fn cost(self, cost: u64) -> Self {
        self.books().limits.cost = Some(cost);
        self
    }

    /// Limits all of it, except where a limit was [set](Self::set_limits) since.
    pub fn limits(self, limits: RunLimits) -> Self {
        self.books().limits = limits;
        self
    }

    /// Counts what was used before: by another process, from its state.
    pub fn spent_before(self, usage: &Usage) -> Self {
        self.books().spent += *usage;
        self
    }

    /// Counts at least so much as used, if the ledger knows of less: its file is gone, or was changed.
    pub fn at_least(self, usage: &Usage) -> Self {
        self.books().at_least(usage);
        self
    }

    /// Sets the limits that `to` names in place of those before, once for each key: the same answer again changes nothing.
    /// `now` is the time in milliseconds since 1970. An answer is refused if one of its limits is not above what is used, or
    /// if another limit is still reached.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn set_limits(&self, key: &str, to: RunLimits, now: u64) -> Result<LimitsAnswer, DriverError> {
        self.books().set_limits(key, to, now)
    }

    /// Returns what turns that have ended used, in all.
    pub fn spent(&self) -> Usage {
        self.books().ended()
    }

    /// Returns what is neither used nor reserved.
    pub fn left(&self) -> Left {
        self.books().left()
    }

    /// Returns what was used, turns under way included, and what may be.
    pub fn account(&self) -> Account {
        self.books().account()
    }

    /// Returns what the tries of a turn have used together, by the turn's name; nothing if the turn is unknown.
    pub fn used_by(&self, turn: &str) -> Usage {
        self.books().of(turn)
    }

    pub(in crate::drivers) fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves what a turn may use, and lowers its limits to what is there.
    pub(in crate::drivers) fn reserve(&self, limits: &mut Limits) -> Result<Hold, DriverError> {
        let mut books = self.books();
        let left = books.left();
        if left.tokens == Some(0) || left.cost == Some(0) {
            return Err(books.used_up());
        }
        let reserved =
            |limit: Option<u64>, left: Option<u64>| limit.map_or(0, |limit| left.map_or(limit, |left| limit.min(left)));
        let charge = Charge {
            tokens: reserved(limits.tokens, left.tokens),
            cost: reserved(limits.cost, left.cost),
            used: Usage::default(),
        };
        let is_lower =
            |limit: Option<u64>, left: Option<u64>| left.is_some_and(|left| limit.is_none_or(|limit| left < limit));
        let lowered = (is_lower(limits.tokens, left.tokens), is_lower(limits.cost, left.cost));
        let lower = |limit: Option<u64>, left: Option<u64>| limit.into_iter().chain(left).min();
        limits.tokens = lower(limits.tokens, left.tokens);
        limits.cost = lower(limits.cost, left.cost);
        let number = books.hold(charge);
        drop(books);
        Ok(Hold { ledger: self.clone(), number, lowered })
    }
}
