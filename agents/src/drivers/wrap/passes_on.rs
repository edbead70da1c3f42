//! The macro for methods that a driver around another leaves to it.

/// The methods that a driver around another, its field `driver`, passes on unchanged.
macro_rules! passes_on {
    () => {
        passes_on!(all but ended);

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

pub(super) use passes_on;
