//! Macro for methods that a wrapper forwards to its driver.

/// Implements the methods that a wrapper forwards to its field `driver` unchanged.
macro_rules! forward_methods {
    () => {
        forward_methods!(all but ended);

        fn ended<'a>(
            &'a self,
            session: Option<&'a SessionRef>,
            turn: &'a str,
        ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
            self.driver.ended(session, turn)
        }
    };
    (all but ended) => {
        fn name(&self) -> &str {
            self.driver.name()
        }

        fn capabilities(&self) -> Capabilities {
            self.driver.capabilities()
        }

        fn continues(&self) -> bool {
            self.driver.continues()
        }

        fn keeps_limits(&self) -> bool {
            self.driver.keeps_limits()
        }

        fn bounds_cost(&self) -> bool {
            self.driver.bounds_cost()
        }
    };
}

pub(super) use forward_methods;
