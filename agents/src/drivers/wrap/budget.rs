//! Limits many turns, also parallel ones, to one budget.

use futures::future::BoxFuture;

use super::forward::forward_methods;
use crate::drivers::{
    AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverError, Finished, Ledger, SessionRef, events,
};

/// Runs turns as long as a [`Ledger`] allows. A turn with limits of its own reserves them before it starts, as far as
/// available, and returns the unused part; one without limits is stopped once the budget is used up. Fails with
/// [`Budget`](crate::drivers::ErrorClass::Budget).
#[derive(Clone, Debug)]
pub struct Budget<D> {
    driver: D,
    ledger: Ledger,
}

impl<D: Driver> Budget<D> {
    /// Limits a driver to a budget; drivers that share a ledger share the budget.
    pub fn new(driver: D, ledger: Ledger) -> Self {
        Self { driver, ledger }
    }
}

impl<D: Driver> Driver for Budget<D> {
    forward_methods!();

    fn run(&self, mut request: AgentRequest) -> AgentEvents {
        // Reserved when the turn is created, so that its limits are those available at that moment.
        let reserved = self.ledger.reserve(&mut request.limits);
        let inner = self.driver.run(request);
        events(|sender| async move {
            let (reservation, mut inner, mut text) = (reserved?, inner, String::new());
            while let Some(event) = inner.next().await {
                match event.as_ref() {
                    Ok(AgentEvent::Usage(usage)) => reservation.used(*usage),
                    Ok(AgentEvent::Text(piece)) => text.push_str(piece),
                    Ok(AgentEvent::Finished(finished)) => reservation.used(finished.usage),
                    _ => {}
                }
                match event? {
                    AgentEvent::Finished(finished) => return reservation.end(finished),
                    event => sender.tell(event).await,
                }
                reservation.check().map_err(|error| error.transcript(&text))?;
            }
            Err(DriverError::unfinished(text))
        })
    }
}
