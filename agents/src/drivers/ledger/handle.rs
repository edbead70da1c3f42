//! [`Ledger`]: a handle on the books that turns share, and what a turn reserves of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::account::{Account, Left, RunLimits};
use super::books::{Books, Charge};
use super::file::LedgerFile;
use super::new_limits::LimitsAnswer;
use crate::drivers::{DriverError, Finished, Limits, Status, Usage};

/// The ledgers of this process that have a file: whoever opens the same file shares the account.
static OPEN: Mutex<BTreeMap<PathBuf, Weak<Mutex<Books>>>> = Mutex::new(BTreeMap::new());

/// What many turns may use together, and have used. Clones share it.
///
/// ```
/// # use superstep_agents as superstep;
/// use superstep::drivers::{Ledger, Usage};
/// let ledger = Ledger::new().tokens(1_000).spent_before(&Usage { input: 300, ..Usage::default() });
/// assert_eq!(ledger.left().tokens, Some(700));
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Ledger(Arc<Mutex<Books>>);

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
    /// [`ErrorClass::Fatal`](crate::drivers::ErrorClass::Fatal) if the file cannot be read or written, or is damaged.
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

/// A reservation; given back when dropped, less what was used.
pub(in crate::drivers) struct Hold {
    ledger: Ledger,
    number: u64,
    /// Whether the turn's limits of tokens, of cost, are what is left of the budget, and not its own.
    lowered: (bool, bool),
}

impl Hold {
    /// Notes what the turn has used so far.
    pub(in crate::drivers) fn used(&self, usage: Usage) {
        if let Some(charge) = self.ledger.books().held.get_mut(&self.number) {
            charge.used = usage;
        }
    }

    /// Fails if the turn ended at a limit that is the budget's.
    pub(in crate::drivers) fn end(&self, finished: Finished) -> Result<Finished, DriverError> {
        match (finished.status, self.lowered) {
            (Status::TokenLimit, (true, _)) | (Status::CostLimit, (_, true)) => {
                Err(self.ledger.books().used_up().transcript(finished.text))
            }
            _ => Ok(finished),
        }
    }

    /// Fails if the turn, which has used more than it reserved, leaves nothing.
    pub(in crate::drivers) fn check(&self) -> Result<(), DriverError> {
        let books = self.ledger.books();
        let left = books.left();
        let charge = books.held.get(&self.number).copied().unwrap_or_default();
        let over_tokens = left.tokens == Some(0) && charge.used.tokens() > charge.tokens;
        let over_cost = left.cost == Some(0) && charge.used.cost > charge.cost;
        if over_tokens || over_cost { Err(books.used_up()) } else { Ok(()) }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut books = self.ledger.books();
        let charge = books.held.remove(&self.number).unwrap_or_default();
        books.spent += charge.used;
    }
}
