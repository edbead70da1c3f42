//! [`Ledger`]: handle on the account that turns share, and their reservations.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::account::{Account, LimitsAnswer, RemainingBudget, RunLimits};
use super::books::{Books, LedgerFile, Reservation};
use crate::drivers::{DriverError, Finished, Limits, TurnStatus, Usage};

/// Ledgers of this process that have a file: opening the same file again shares the account.
static OPEN: Mutex<BTreeMap<PathBuf, Weak<Mutex<Books>>>> = Mutex::new(BTreeMap::new());

/// Limits and usage of many turns together. Clones share them.
///
/// ```
/// # use superstep_agents as superstep;
/// use superstep::drivers::{Ledger, Usage};
/// let ledger = Ledger::new().tokens(1_000).spent_before(&Usage { input: 300, ..Usage::default() });
/// assert_eq!(ledger.remaining().tokens, Some(700));
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Ledger(Arc<Mutex<Books>>);

impl Ledger {
    /// Returns a budget without limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the ledger in a file, created with its folder if missing: usage is in the file before the next event of a
    /// turn is read, so that a kill loses nothing that was reported. Opening the same file again in this process shares
    /// the ledger; no other process may use it at the same time.
    ///
    /// # Errors
    /// [`DriverErrorClass::Fatal`](crate::drivers::DriverErrorClass::Fatal) if the file cannot be read or written, or is damaged.
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

    /// Sets all limits, except those [set](Self::set_limits) since.
    pub fn limits(self, limits: RunLimits) -> Self {
        self.books().limits = limits;
        self
    }

    /// Adds earlier usage: of another process, from its state.
    pub fn spent_before(self, usage: &Usage) -> Self {
        self.books().spent += *usage;
        self
    }

    /// Raises the usage to at least this much, for a ledger whose file was lost or changed.
    pub fn at_least(self, usage: &Usage) -> Self {
        self.books().at_least(usage);
        self
    }

    /// Replaces limits by those that `to` contains, once for each key: repeating the same answer has no effect. `now`
    /// is the time in milliseconds since 1970. An answer is refused if one of its limits is not above the usage, or if
    /// another limit would still be reached.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn set_limits(&self, key: &str, to: RunLimits, now: u64) -> Result<LimitsAnswer, DriverError> {
        self.books().set_limits(key, to, now)
    }

    /// Returns the usage of all finished turns.
    pub fn finished_usage(&self) -> Usage {
        self.books().ended_usage()
    }

    /// Returns the part of the budget that is neither used nor reserved.
    pub fn remaining(&self) -> RemainingBudget {
        self.books().remaining()
    }

    /// Returns usage, running turns included, and limits.
    pub fn account(&self) -> Account {
        self.books().account()
    }

    /// Returns the usage of all attempts of a turn, by the turn's name; zero if the turn is unknown.
    pub fn used_by(&self, turn: &str) -> Usage {
        self.books().of(turn)
    }

    pub(in crate::drivers) fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves the budget of a turn, and lowers its limits to the available amount.
    pub(in crate::drivers) fn reserve(&self, limits: &mut Limits) -> Result<ReservationGuard, DriverError> {
        let mut books = self.books();
        let left = books.remaining();
        if left.tokens == Some(0) || left.cost == Some(0) {
            return Err(books.used_up());
        }
        let reserved =
            |limit: Option<u64>, left: Option<u64>| limit.map_or(0, |limit| left.map_or(limit, |left| limit.min(left)));
        let reservation = Reservation {
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
        let number = books.add_reservation(reservation);
        drop(books);
        Ok(ReservationGuard { ledger: self.clone(), number, lowered })
    }
}

/// Reservation; the unused part is returned on drop.
pub(in crate::drivers) struct ReservationGuard {
    ledger: Ledger,
    number: u64,
    /// Set for tokens and for cost if the turn's limit is the remaining budget, and not its own limit.
    lowered: (bool, bool),
}

impl ReservationGuard {
    /// Records the usage of the turn so far.
    pub(in crate::drivers) fn set_usage(&self, usage: Usage) {
        if let Some(reservation) = self.ledger.books().reservations.get_mut(&self.number) {
            reservation.used = usage;
        }
    }

    /// Fails if the turn ended at a limit of the budget.
    pub(in crate::drivers) fn end(&self, finished: Finished) -> Result<Finished, DriverError> {
        match (finished.status, self.lowered) {
            (TurnStatus::TokenLimit, (true, _)) | (TurnStatus::CostLimit, (_, true)) => {
                Err(self.ledger.books().used_up().transcript(finished.text))
            }
            _ => Ok(finished),
        }
    }

    /// Fails if the turn has used more than it reserved and the budget is exhausted.
    pub(in crate::drivers) fn check(&self) -> Result<(), DriverError> {
        let books = self.ledger.books();
        let left = books.remaining();
        let reservation = books.reservations.get(&self.number).copied().unwrap_or_default();
        let over_tokens = left.tokens == Some(0) && reservation.used.tokens() > reservation.tokens;
        let over_cost = left.cost == Some(0) && reservation.used.cost > reservation.cost;
        if over_tokens || over_cost { Err(books.used_up()) } else { Ok(()) }
    }
}

impl Drop for ReservationGuard {
    fn drop(&mut self) {
        let mut books = self.ledger.books();
        let reservation = books.reservations.remove(&self.number).unwrap_or_default();
        books.spent += reservation.used;
    }
}
