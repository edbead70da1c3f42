//! [`DatabaseAddress`]: the address of a database that holds threads, which is shown without its password. Opens it where the
//! program has a store for it.

use std::fmt;
use std::sync::Arc;

use superstep::checkpoint::{CheckpointError, Checkpointer};

/// The schemes of PostgreSQL.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// An address, with its password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct DatabaseAddress(String);

impl DatabaseAddress {
    /// Reads an argument; `None` if it is not an address of a database.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        SCHEMES.iter().any(|scheme| text.starts_with(scheme)).then(|| Self(text.to_owned()))
    }

    /// Returns whether the address has a password in it.
    pub(crate) fn has_password(&self) -> bool {
        self.to_string() != self.0
    }

    /// Connects to the database.
    pub(crate) async fn open(&self, _read_only: bool) -> Result<Arc<dyn Checkpointer>, CheckpointError> {
        Err(CheckpointError::backend("this program was built without PostgreSQL; build it with the feature `postgres`"))
    }

    /// The parts between the scheme and the query.
    fn parts(&self) -> (&str, &str, &str) {
        let (scheme, rest) = self.0.split_at(self.0.find("://").map_or(0, |at| at + 3));
        let (authority, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
        (scheme, authority, query)
    }
}

/// Without the password.
impl fmt::Display for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, authority, query) = self.parts();
        f.write_str(scheme)?;
        match authority.rsplit_once('@') {
            Some((user, host)) => write!(f, "{}@{host}", user.split(':').next().unwrap_or_default())?,
            None => f.write_str(authority)?,
        }
        let kept: Vec<&str> =
            query.trim_start_matches('?').split('&').filter(|pair| !pair.starts_with("password=")).collect();
        let kept = kept.join("&");
        if kept.is_empty() { Ok(()) } else { write!(f, "?{kept}") }
    }
}

impl fmt::Debug for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
