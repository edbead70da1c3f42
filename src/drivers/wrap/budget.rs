//! Keeps many turns, also at the same time, within one budget.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::checkpoint::BoxFuture;
use crate::drivers::driver::{AgentEvents, Capabilities, Driver, events};
use crate::drivers::error::{DriverError, ErrorClass};
use crate::drivers::event::{AgentEvent, Finished, Status, Usage};
use crate::drivers::request::{AgentRequest, Limits, SessionRef};

/// Carries turns out as long as a [`Ledger`] allows. A turn with limits of its own reserves them before it begins, as far as
/// they are there, and gives back what it did not use; one without is ended once all is used up. Fails with
/// [`Budget`](ErrorClass::Budget).
#[derive(Clone, Debug)]
pub struct Budget<D> {
    driver: D,
    ledger: Ledger,
}

impl<D: Driver> Budget<D> {
    /// Keeps a driver within a budget; drivers that share a ledger share the budget.
    pub fn new(driver: D, ledger: Ledger) -> Self {
        Self { driver, ledger }
    }
}

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

#[derive(Debug, Default)]
struct Books {
    tokens: Option<u64>,
    cost: Option<u64>,
    spent: Usage,
    held: BTreeMap<u64, Charge>,
    next: u64,
}

/// What a turn that is under way has reserved, and has used.
#[derive(Clone, Copy, Debug, Default)]
struct Charge {
    tokens: u64,
    cost: u64,
    used: Usage,
}

impl Ledger {
    /// Returns a budget without limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the tokens.
    pub fn tokens(self, tokens: u64) -> Self {
        self.books().tokens = Some(tokens);
        self
    }

    /// Limits the cost, in millionths of a dollar.
    pub fn cost(self, cost: u64) -> Self {
        self.books().cost = Some(cost);
        self
    }

    /// Counts what was used before: by another process, from its state.
    pub fn spent_before(self, usage: &Usage) -> Self {
        self.books().spent += *usage;
        self
    }

    /// Returns what turns that have ended used, in all.
    pub fn spent(&self) -> Usage {
        self.books().spent
    }

    /// Returns what is neither used nor reserved.
    pub fn left(&self) -> Left {
        self.books().left()
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves what a turn may use, and lowers its limits to what is there.
    fn reserve(&self, limits: &mut Limits) -> Result<Hold, DriverError> {
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
        let number = books.next;
        books.next += 1;
        books.held.insert(number, charge);
        Ok(Hold { ledger: self.clone(), number, lowered })
    }
}

impl Books {
    fn left(&self) -> Left {
        let held = |part: fn(&Charge) -> u64| self.held.values().map(part).fold(0, u64::saturating_add);
        let tokens = self.spent.tokens().saturating_add(held(|charge| charge.tokens.max(charge.used.tokens())));
        let cost = self.spent.cost.saturating_add(held(|charge| charge.cost.max(charge.used.cost)));
        let less = |limit: Option<u64>, taken| limit.map(|limit| limit.saturating_sub(taken));
        Left { tokens: less(self.tokens, tokens), cost: less(self.cost, cost) }
    }

    fn used_up(&self) -> DriverError {
        let dollars = |cost: u64| format!("${}.{:06}", cost / 1_000_000, cost % 1_000_000);
        let limits = [self.tokens.map(|tokens| format!("{tokens} tokens")), self.cost.map(dollars)];
        let limits: Vec<String> = limits.into_iter().flatten().collect();
        let (tokens, cost) = (self.spent.tokens(), dollars(self.spent.cost));
        let held = match self.held.len() {
            0 => String::new(),
            turns => format!(", the rest is held by {turns} turns under way"),
        };
        let message =
            format!("the budget of {} is used up: {tokens} tokens and {cost} spent{held}", limits.join(" and "));
        DriverError::new(ErrorClass::Budget, message).help("raise the budget, then go on")
    }
}

/// A reservation; given back when dropped, less what was used.
struct Hold {
    ledger: Ledger,
    number: u64,
    /// Whether the turn's limits of tokens, of cost, are what is left of the budget, and not its own.
    lowered: (bool, bool),
}

impl Hold {
    /// Notes what the turn has used so far.
    fn used(&self, usage: Usage) {
        if let Some(charge) = self.ledger.books().held.get_mut(&self.number) {
            charge.used = usage;
        }
    }

    /// Fails if the turn ended at a limit that is the budget's.
    fn end(&self, finished: Finished) -> Result<Finished, DriverError> {
        match (finished.status, self.lowered) {
            (Status::TokenLimit, (true, _)) | (Status::CostLimit, (_, true)) => {
                Err(self.ledger.books().used_up().transcript(finished.text))
            }
            _ => Ok(finished),
        }
    }

    /// Fails if the turn, which has used more than it reserved, leaves nothing.
    fn check(&self) -> Result<(), DriverError> {
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

impl<D: Driver> Driver for Budget<D> {
    passes_on!();

    fn run(&self, mut request: AgentRequest) -> AgentEvents {
        // Reserved when the turn is made, so that the limits it gets are those that were there.
        let held = self.ledger.reserve(&mut request.limits);
        let inner = self.driver.run(request);
        events(|tell| async move {
            let (hold, mut inner, mut said) = (held?, inner, String::new());
            while let Some(event) = inner.next().await {
                match event.as_ref() {
                    Ok(AgentEvent::Usage(usage)) => hold.used(*usage),
                    Ok(AgentEvent::Text(text)) => said.push_str(text),
                    Ok(AgentEvent::Finished(finished)) => hold.used(finished.usage),
                    _ => {}
                }
                match event? {
                    AgentEvent::Finished(finished) => return hold.end(finished),
                    event => tell.tell(event).await,
                }
                hold.check().map_err(|error| error.transcript(&said))?;
            }
            Err(DriverError::unfinished(said))
        })
    }
}
