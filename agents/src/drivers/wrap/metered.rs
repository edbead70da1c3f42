//! Meters the usage of turns: prices where a driver reports no cost, totals over attempts and processes, limits; and
//! holds many turns, also parallel ones, to one budget.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::{Instant, timeout_at};

use crate::drivers::driver::forward_methods;
use crate::drivers::ledger::TurnName;
use crate::drivers::{
    AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverError, Finished, Ledger, Limits, Price,
    SessionRef, TurnStatus, Usage, events,
};

/// Time for a turn over a limit to end by itself: it may be about to.
const GRACE: Duration = Duration::from_secs(5);
/// Interval at which a silent turn checks the usage of parallel turns.
const LOOK: Duration = Duration::from_secs(1);
/// Longer than any limit.
const FAR: Duration = Duration::from_secs(365 * 86_400);

/// Runs turns and meters their usage:
///
/// - A [`Price`] gives a cost to tokens for which the driver reports none. Without one they are
///   [`unpriced`](Usage::unpriced).
/// - Limits of tokens and cost apply to every driver. A turn that exceeds one and does not end is stopped with
///   [`TokenLimit`](TurnStatus::TokenLimit) or [`CostLimit`](TurnStatus::CostLimit).
/// - All usage is recorded in a [`Ledger`], by the turn's name, including attempts that failed or were killed. Once the
///   ledger's limits are reached, turns fail with [`Budget`](crate::drivers::DriverErrorClass::Budget). A turn stopped this way
///   resumes where its driver can, if it is repeated with the same key.
///
/// The usage in events and results is the total of all attempts of the turn.
#[derive(Clone, Debug)]
#[must_use]
pub struct Metered<D> {
    driver: D,
    price: Option<Price>,
    ledger: Ledger,
}

impl<D: Driver> Metered<D> {
    /// Meters a driver's turns.
    pub fn new(driver: D, ledger: Ledger) -> Self {
        Self { driver, price: None, ledger }
    }

    /// Sets the price of tokens, for drivers that do not report costs.
    pub fn price(self, price: Option<Price>) -> Self {
        Self { price, ..self }
    }

    fn meter(&self, request: &AgentRequest) -> Meter {
        let AgentRequest { turn, role, place, .. } = request;
        let name = TurnName { turn: turn.clone(), role: role.clone(), task: place.task.clone() };
        Meter {
            config: MeterConfig {
                price: self.price,
                limits: request.limits,
                reports_cost: self.driver.capabilities().cost,
                reports_cost_at_end: self.driver.bounds_cost(),
                continues: self.driver.continues(),
                keeps_limits: self.driver.keeps_limits(),
            },
            ledger: self.ledger.clone(),
            name,
            nth: 0,
            is_started: false,
            session: None,
            transcript: String::new(),
            total: Usage::default(),
        }
    }
}

/// Properties that do not change while a turn runs.
struct MeterConfig {
    price: Option<Price>,
    limits: Limits,
    reports_cost: bool,
    /// Set if it reports the cost only at the end.
    reports_cost_at_end: bool,
    continues: bool,
    keeps_limits: bool,
}

struct Meter {
    config: MeterConfig,
    ledger: Ledger,
    name: TurnName,
    /// Number of the attempt.
    nth: usize,
    is_started: bool,
    session: Option<SessionRef>,
    transcript: String,
    /// Usage of all attempts.
    total: Usage,
}

/// Guard that measures the working time of a turn.
struct WorkTimer {
    ledger: Ledger,
    name: TurnName,
}

impl WorkTimer {
    fn new(meter: &Meter) -> Self {
        meter.ledger.books().start_work();
        Self { ledger: meter.ledger.clone(), name: meter.name.clone() }
    }
}

impl Drop for WorkTimer {
    fn drop(&mut self) {
        self.ledger.books().stop_work(&self.name);
    }
}

/// Limit that stops a turn.
#[derive(Clone, Copy)]
enum ExceededLimit {
    /// Limit of the turn.
    Turn(TurnStatus),
    /// Limit of the run.
    Run,
}

impl Meter {
    /// Starts the turn, unless the budget is used up.
    fn begin(&mut self) -> Result<(), DriverError> {
        let account = self.ledger.account();
        let mut books = self.ledger.books();
        if !account.reached_limits().is_empty() {
            return Err(books.used_up());
        }
        self.nth = books.begin(&mut self.name, self.config.continues)?;
        Ok(())
    }

    /// Starts a new attempt if the driver started again.
    fn record_start(&mut self, session: &SessionRef) -> Result<(), DriverError> {
        self.session = Some(session.clone());
        if self.is_started && !self.config.continues {
            self.nth = self.ledger.books().begin(&mut self.name, false)?;
        }
        self.is_started = true;
        Ok(())
    }

    fn record_usage(&mut self, usage: Usage, is_end: bool) -> Result<Usage, DriverError> {
        let is_reported = self.config.reports_cost && (is_end || !self.config.reports_cost_at_end);
        let usage = with_cost(usage, self.config.price, is_reported);
        self.total = self.ledger.books().record_usage(&self.name, self.nth, usage)?;
        Ok(self.total)
    }

    fn exceeded_limit(&self) -> Option<ExceededLimit> {
        if self.ledger.account().is_over() {
            return Some(ExceededLimit::Run);
        }
        let Limits { tokens, cost, .. } = self.config.limits;
        let (by_itself, priced) = (self.config.keeps_limits, self.config.price.is_some());
        if !by_itself && tokens.is_some_and(|most| self.total.tokens() > most) {
            return Some(ExceededLimit::Turn(TurnStatus::TokenLimit));
        }
        let is_cost = (!by_itself || priced) && cost.is_some_and(|most| self.total.cost > most);
        is_cost.then_some(ExceededLimit::Turn(TurnStatus::CostLimit))
    }

    /// Returns the result of a turn that ended by itself.
    fn end(&mut self, finished: Finished) -> Result<Finished, DriverError> {
        let usage = self.record_usage(finished.usage, true)?;
        Ok(Finished { usage, ..finished })
    }

    /// Returns the result of a turn that is stopped.
    fn stop(self, exceeded: ExceededLimit) -> Result<Finished, DriverError> {
        match exceeded {
            ExceededLimit::Run => Err(self.ledger.books().used_up().transcript(self.transcript)),
            ExceededLimit::Turn(status) => {
                let Self { transcript: text, session, total: usage, .. } = self;
                Ok(Finished { status, text, submitted: None, session, usage })
            }
        }
    }

    /// Returns the time at which the run's time limit is reached.
    fn deadline(&self) -> Instant {
        let account = self.ledger.account();
        let left = account.limits.wall.map(|wall| wall.saturating_sub(Duration::from_millis(account.worked_ms)));
        Instant::now() + left.unwrap_or(FAR).min(FAR)
    }
}

/// Adds the cost to a usage, or marks its tokens as unpriced.
fn with_cost(usage: Usage, price: Option<Price>, is_reported: bool) -> Usage {
    match (usage.cost, price) {
        (0, Some(price)) => Usage { cost: price.of(&usage), estimated: true, ..usage },
        (0, None) if !is_reported => Usage { unpriced: usage.tokens(), ..usage },
        _ => usage,
    }
}

impl<D: Driver> Driver for Metered<D> {
    forward_methods!(all but finished_turn);

    /// Also records the usage: the process that ran the turn may not have been able to.
    fn finished_turn<'a>(
        &'a self,
        session: Option<&'a SessionRef>,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
        Box::pin(async move {
            let Some(finished) = self.driver.finished_turn(session, turn).await? else { return Ok(None) };
            let usage = with_cost(finished.usage, self.price, self.driver.capabilities().cost);
            let usage = self.ledger.books().record_final(turn, usage, self.driver.continues())?;
            Ok(Some(Finished { usage, ..finished }))
        })
    }

    fn run(&self, mut request: AgentRequest) -> AgentEvents {
        let mut meter = self.meter(&request);
        // A driver that reports its cost only at the end has to enforce the rest of the run's budget itself.
        if self.driver.bounds_cost() {
            request.limits.cost = request.limits.cost.into_iter().chain(self.ledger.remaining().cost).min();
        }
        // The ledger records the attempt before the driver runs, so that a kill cannot hide it.
        let started = meter.begin();
        let inner = self.driver.run(request);
        events(|sender| async move {
            // A stream does nothing before it is polled: if the budget is used up, the driver never starts.
            started?;
            // Working time ends with this future, also if it is dropped.
            let (mut inner, _timer) = (inner, WorkTimer::new(&meter));
            let end = meter.deadline();
            let mut exceeded = None;
            loop {
                // A silent turn is checked every `LOOK`; one that exceeds a limit gets `GRACE` to end by itself.
                let patience = end.min(Instant::now() + exceeded.map_or(LOOK, |_| GRACE));
                let Ok(event) = timeout_at(patience, inner.next()).await else {
                    // The grace period or the time limit of the run is over.
                    if exceeded.is_some() || Instant::now() >= end {
                        return meter.stop(exceeded.unwrap_or(ExceededLimit::Run));
                    }
                    exceeded = meter.exceeded_limit(); // parallel turns count too
                    continue;
                };
                let Some(event) = event else { return Err(DriverError::no_result(meter.transcript)) };
                match event? {
                    // A result that arrives within the grace period counts, although a limit is exceeded.
                    AgentEvent::Finished(finished) => return meter.end(finished),
                    AgentEvent::Usage(usage) => {
                        let usage = meter.record_usage(usage, false)?;
                        sender.send(AgentEvent::Usage(usage)).await;
                    }
                    event => {
                        match &event {
                            AgentEvent::Started(session) => meter.record_start(session)?,
                            AgentEvent::Text(text) => meter.transcript.push_str(text),
                            _ => {}
                        }
                        sender.send(event).await;
                    }
                }
                // The limit was exceeded before this event, which could have been the result and is not.
                if let Some(exceeded) = exceeded {
                    return meter.stop(exceeded);
                }
                exceeded = meter.exceeded_limit();
            }
        })
    }
}

/// Runs turns as long as a [`Ledger`] allows. A turn with limits of its own reserves them before it starts, as far as
/// available, and returns the unused part; one without limits is stopped once the budget is used up. Fails with
/// [`Budget`](crate::drivers::DriverErrorClass::Budget).
#[derive(Clone, Debug)]
pub struct BudgetedDriver<D> {
    driver: D,
    ledger: Ledger,
}

impl<D: Driver> BudgetedDriver<D> {
    /// Limits a driver to a budget; drivers that share a ledger share the budget.
    pub fn new(driver: D, ledger: Ledger) -> Self {
        Self { driver, ledger }
    }
}

impl<D: Driver> Driver for BudgetedDriver<D> {
    forward_methods!();

    fn run(&self, mut request: AgentRequest) -> AgentEvents {
        // Reserved when the turn is created, so that its limits are those available at that moment.
        let reserved = self.ledger.reserve(&mut request.limits);
        let inner = self.driver.run(request);
        events(|sender| async move {
            let (reservation, mut inner, mut text) = (reserved?, inner, String::new());
            while let Some(event) = inner.next().await {
                match event.as_ref() {
                    Ok(AgentEvent::Usage(usage)) => reservation.set_usage(*usage),
                    Ok(AgentEvent::Text(piece)) => text.push_str(piece),
                    Ok(AgentEvent::Finished(finished)) => reservation.set_usage(finished.usage),
                    _ => {}
                }
                match event? {
                    AgentEvent::Finished(finished) => return reservation.end(finished),
                    event => sender.send(event).await,
                }
                reservation.check().map_err(|error| error.transcript(&text))?;
            }
            Err(DriverError::no_result(text))
        })
    }
}
