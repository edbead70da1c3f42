//! The errors of a worker and of addresses. Knows no request.
//!
//! Small because there is little that can go wrong before a call.

use superstep::graph::RunError;

/// The reason why a worker or a dispatch cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestateError {
    /// An address cannot be used.
    #[error("`{address}` is not an address of Restate: {reason}")]
    Address {
        /// The address.
        address: String,
        /// The problem with it.
        reason: &'static str,
    },
    /// The address of a worker is taken, or not one of this machine.
    #[error("a worker cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The worker could not be registered with Restate.
    #[error("the worker was not registered at {admin}: {reason}")]
    Register {
        /// The address of Restate's admin API.
        admin: String,
        /// The cause.
        reason: String,
    },
    /// A graph has no store, or a store failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl RestateError {
    /// Returns what to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Address { .. } => Some("give it as `http://HOST:PORT`".into()),
            Self::Listen { .. } => Some("give each worker of a machine a port of its own".into()),
            Self::Register { .. } => Some(
                "start Restate, and give the address of its admin API, which is usually `http://127.0.0.1:9070`".into(),
            ),
            Self::Run(error) => error.help(),
        }
    }
}
