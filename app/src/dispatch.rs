//! [`DispatchAddress`]: the engine that says where and when threads run, as a command line names it: `restate:http://HOST:8080`.
//! Opens it where the program has one.

use std::sync::Arc;

use superstep::graph::runner::{Dispatch, DispatchError};

use crate::failure::Failure;

/// The prefix of Restate.
const RESTATE: &str = "restate:";

/// The address of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DispatchAddress(String);

impl DispatchAddress {
    /// Reads the argument of an option.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix(RESTATE) {
            Some(address) if !address.is_empty() => Ok(Self(address.to_owned())),
            _ => Err("give it as `restate:http://HOST:8080`, the address of Restate's ingress".into()),
        }
    }

    #[cfg(feature = "restate")]
    pub(crate) fn open(&self) -> Result<Arc<dyn Dispatch>, Failure> {
        Ok(Arc::new(superstep_restate::RestateDispatch::new(&self.0)?))
    }

    /// Fails: the program has no such engine.
    #[cfg(not(feature = "restate"))]
    pub(crate) fn open(&self) -> Result<Arc<dyn Dispatch>, Failure> {
        Err(no_restate(&format!("`--dispatch {RESTATE}{}`", self.0)))
    }

    /// Returns the address of the ingress.
    #[cfg(feature = "restate")]
    pub(crate) fn ingress(&self) -> &str {
        &self.0
    }
}

/// Returns the error of a program without Restate.
#[cfg(not(feature = "restate"))]
pub(crate) fn no_restate(what: &str) -> Failure {
    Failure::usage(format!("{what} needs Restate, which this program was built without"))
        .help("build it with the feature `restate`")
}

/// Returns the error of a thread that was not woken.
pub(crate) fn not_woken(error: &DispatchError) -> Failure {
    let help = "what you asked for is stored: a worker finds it within half a minute once it can be reached";
    Failure { kind: Some("dispatch_failed".into()), ..Failure::new(error.to_string()).help(help) }
}

#[cfg(feature = "restate")]
impl From<superstep_restate::RestateError> for Failure {
    fn from(error: superstep_restate::RestateError) -> Self {
        let help = error.help();
        match error {
            superstep_restate::RestateError::Run(error) => error.into(),
            error => help.into_iter().fold(Self::new(error.to_string()), Self::help),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("restate:http://127.0.0.1:8080", true)]
    #[case("http://127.0.0.1:8080", false)]
    #[case("restate:", false)]
    #[case("temporal:http://127.0.0.1", false)]
    fn an_engine_is_named_before_its_address(#[case] text: &str, #[case] is_one: bool) {
        assert_eq!(DispatchAddress::parse(text).is_ok(), is_one);
    }
}
