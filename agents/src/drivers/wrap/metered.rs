//! Counts what turns use: with prices where a driver reports no cost, over tries and processes, against limits.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::{Instant, timeout_at};

use super::passes_on::passes_on;
use crate::drivers::{
    AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverError, Finished, Ledger, Limits, Price,
    SessionRef, Status, Usage, events, ledger::TurnName,
};

/// How long a turn that is over a limit may take to end by itself: it may have been at its end.
const GRACE: Duration = Duration::from_secs(5);
/// How often a silent turn looks at what turns at the same time have used.
const LOOK: Duration = Duration::from_secs(1);
/// Further away than any limit.
const FAR: Duration = Duration::from_secs(365 * 86_400);

/// Carries turns out and counts what they use:
///
/// - A [`Price`] gives a cost to tokens for which the driver reports none. Without one they are
///   [`unpriced`](Usage::unpriced).
/// - Limits of tokens and cost hold for every driver. A turn that is over one and does not end is ended: as
///   [`TokenLimit`](Status::TokenLimit) or [`CostLimit`](Status::CostLimit).
/// - Everything goes into a [`Ledger`], for each turn by its name, with the tries that failed or were killed. Once the ledger's
///   limits are reached, turns fail with [`Budget`](crate::drivers::ErrorClass::Budget). One that was ended by them goes on
///   where its driver can, if it is run again under its name.
///
/// What an event or a result says is used is what all tries of the turn used.
#[derive(Clone, Debug)]
#[must_use]
pub struct Metered<D> {
    driver: D,
    price: Option<Price>,
    ledger: Ledger,
}

impl<D: Driver> Metered<D> {
    /// Counts what a driver's turns use.
    pub fn new(driver: D, ledger: Ledger) -> Self {
        Self { driver, price: None, ledger }
    }

    /// Sets what tokens cost, where the driver does not say what a turn did.
    pub fn price(self, price: Option<Price>) -> Self {
        Self { price, ..self }
    }

    fn meter(&self, request: &AgentRequest) -> Meter {
        let AgentRequest { turn, role, place, .. } = request;
        let name = TurnName { turn: turn.clone(), role: role.clone(), task: place.task.clone() };
        Meter {
            facts: Facts {
                price: self.price,
                limits: request.limits,
                tells_cost: self.driver.capabilities().cost,
                tells_late: self.driver.bounds_cost(),
                continues: self.driver.continues(),
                keeps_limits: self.driver.keeps_limits(),
            },
            ledger: self.ledger.clone(),
            name,
            nth: 0,
            is_begun: false,
            session: None,
            said: String::new(),
            total: Usage::default(),
        }
    }
}

/// What does not change while a turn runs.
struct Facts {
    price: Option<Price>,
    limits: Limits,
    tells_cost: bool,
    /// Whether it reports the cost at the end only.
    tells_late: bool,
    continues: bool,
    keeps_limits: bool,
}

struct Meter {
    facts: Facts,
    ledger: Ledger,
    name: TurnName,
    /// The try.
    nth: usize,
    is_begun: bool,
    session: Option<SessionRef>,
    said: String,
    /// What all tries used.
    total: Usage,
}

/// Counts the time that the agent of a turn works.
struct Working {
    ledger: Ledger,
    name: TurnName,
}

impl Working {
    fn new(meter: &Meter) -> Self {
        meter.ledger.books().work();
        Self { ledger: meter.ledger.clone(), name: meter.name.clone() }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.ledger.books().rest(&self.name);
    }
}

/// What ends a turn from outside.
#[derive(Clone, Copy)]
enum Over {
    /// A limit of its own.
    Turn(Status),
    /// A limit of all turns.
    Run,
}

impl Meter {
    /// Begins the turn, unless nothing is left for it.
    fn begin(&mut self) -> Result<(), DriverError> {
        let account = self.ledger.account();
        let mut books = self.ledger.books();
        if !account.reached().is_empty() {
            return Err(books.used_up());
        }
        self.nth = books.begin(&mut self.name, self.facts.continues)?;
        Ok(())
    }

    /// A driver that tries again says so by beginning again.
    fn started(&mut self, session: &SessionRef) -> Result<(), DriverError> {
        self.session = Some(session.clone());
        if self.is_begun && !self.facts.continues {
            self.nth = self.ledger.books().begin(&mut self.name, false)?;
        }
        self.is_begun = true;
        Ok(())
    }

    fn used(&mut self, usage: Usage, is_end: bool) -> Result<Usage, DriverError> {
        let is_told = self.facts.tells_cost && (is_end || !self.facts.tells_late);
        let usage = priced(usage, self.facts.price, is_told);
        self.total = self.ledger.books().used(&self.name, self.nth, usage)?;
        Ok(self.total)
    }

    fn over(&self) -> Option<Over> {
        if self.ledger.account().is_over() {
            return Some(Over::Run);
        }
        let Limits { tokens, cost, .. } = self.facts.limits;
        let (by_itself, priced) = (self.facts.keeps_limits, self.facts.price.is_some());
        if !by_itself && tokens.is_some_and(|most| self.total.tokens() > most) {
            return Some(Over::Turn(Status::TokenLimit));
        }
        let is_cost = (!by_itself || priced) && cost.is_some_and(|most| self.total.cost > most);
        is_cost.then_some(Over::Turn(Status::CostLimit))
    }

    /// The end of a turn that ended by itself.
    fn end(&mut self, finished: Finished) -> Result<Finished, DriverError> {
        let usage = self.used(finished.usage, true)?;
        Ok(Finished { usage, ..finished })
    }

    /// The end of a turn that does not end by itself.
    fn cut(self, over: Over) -> Result<Finished, DriverError> {
        match over {
            Over::Run => Err(self.ledger.books().used_up().transcript(self.said)),
            Over::Turn(status) => {
                let Self { said: text, session, total: usage, .. } = self;
                Ok(Finished { status, text, submitted: None, session, usage })
            }
        }
    }

    /// When the time of the run is up.
    fn deadline(&self) -> Instant {
        let account = self.ledger.account();
        let left = account.limits.wall.map(|wall| wall.saturating_sub(Duration::from_millis(account.worked_ms)));
        Instant::now() + left.unwrap_or(FAR).min(FAR)
    }
}

/// The usage with a cost; or with tokens whose cost is not known.
fn priced(usage: Usage, price: Option<Price>, is_told: bool) -> Usage {
    match (usage.cost, price) {
        (0, Some(price)) => Usage { cost: price.of(&usage), estimated: true, ..usage },
        (0, None) if !is_told => Usage { unpriced: usage.tokens(), ..usage },
        _ => usage,
    }
}

impl<D: Driver> Driver for Metered<D> {
    passes_on!(all but ended);

    /// Also counts it: the process that carried the turn out may not have been able to.
    fn ended<'a>(
        &'a self,
        session: Option<&'a SessionRef>,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
        Box::pin(async move {
            let Some(finished) = self.driver.ended(session, turn).await? else { return Ok(None) };
            let usage = priced(finished.usage, self.price, self.driver.capabilities().cost);
            let usage = self.ledger.books().settle(turn, usage, self.driver.continues())?;
            Ok(Some(Finished { usage, ..finished }))
        })
    }

    fn run(&self, mut request: AgentRequest) -> AgentEvents {
        let mut meter = self.meter(&request);
        if self.driver.bounds_cost() {
            request.limits.cost = request.limits.cost.into_iter().chain(self.ledger.left().cost).min();
        }
        let begun = meter.begin();
        let inner = self.driver.run(request);
        events(|tell| async move {
            begun?;
            let (mut inner, _working) = (inner, Working::new(&meter));
            let end = meter.deadline();
            let mut over = None;
            loop {
                let patience = end.min(Instant::now() + over.map_or(LOOK, |_| GRACE));
                let Ok(event) = timeout_at(patience, inner.next()).await else {
                    if over.is_some() || Instant::now() >= end {
                        return meter.cut(over.unwrap_or(Over::Run));
                    }
                    over = meter.over(); // what turns at the same time used counts too
                    continue;
                };
                let Some(event) = event else { return Err(DriverError::unfinished(meter.said)) };
                match event? {
                    AgentEvent::Finished(finished) => return meter.end(finished),
                    AgentEvent::Usage(usage) => {
                        let usage = meter.used(usage, false)?;
                        tell.tell(AgentEvent::Usage(usage)).await;
                    }
                    event => {
                        match &event {
                            AgentEvent::Started(session) => meter.started(session)?,
                            AgentEvent::Text(text) => meter.said.push_str(text),
                            _ => {}
                        }
                        tell.tell(event).await;
                    }
                }
                if let Some(over) = over {
                    return meter.cut(over);
                }
                over = meter.over();
            }
        })
    }
}
