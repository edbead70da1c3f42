//! Keeps many turns, also at the same time, within one budget.

use futures::future::BoxFuture;

use super::passes_on::passes_on;
use crate::drivers::{
    AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverError, Finished, Ledger, SessionRef, events,
};

/// Carries turns out as long as a [`Ledger`] allows. A turn with limits of its own reserves them before it begins, as far as
/// they are there, and gives back what it did not use; one without is ended once all is used up. Fails with
/// [`Budget`](crate::drivers::ErrorClass::Budget).
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
