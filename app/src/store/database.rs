//! [`DatabaseAddress`]: the address of a database that holds threads, which is shown without its password. Opens it where the
//! program has a store for it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use superstep::checkpoint::{CheckpointError, Checkpointer};

/// The schemes of PostgreSQL.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// An address, with its password, and how a process uses it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct DatabaseAddress {
    text: String,
    owner: OwnerSettings,
}

/// The name of a process and the length of its leases, where others than usual are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnerSettings {
    pub name: Option<String>,
    pub lease: Option<Duration>,
}

impl DatabaseAddress {
    /// Reads an argument; `None` if it is not an address of a database.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        SCHEMES
            .iter()
            .any(|scheme| text.starts_with(scheme))
            .then(|| Self { text: text.to_owned(), owner: OwnerSettings::default() })
    }

    pub(crate) fn used_by(self, owner: OwnerSettings) -> Self {
        Self { owner, ..self }
    }

    /// Returns whether the address has a password in it.
    pub(crate) fn has_password(&self) -> bool {
        self.to_string() != self.text
    }

    /// Connects to the database.
    #[cfg(feature = "postgres")]
    pub(crate) async fn open(&self, read_only: bool) -> Result<Arc<dyn Checkpointer>, CheckpointError> {
        let OwnerSettings { name, lease } = &self.owner;
        let builder = superstep::checkpoint::PostgresCheckpointer::builder(&self.text);
        let builder = name.iter().fold(builder, |builder, name| builder.owner(name));
        let builder = lease.iter().fold(builder, |builder, lease| builder.lease(*lease));
        let opened = if read_only { builder.open_read_only().await } else { builder.connect().await };
        Ok(Arc::new(opened?))
    }

    /// Returns the SQL that makes the tables, or moves them to the newest version; empty if nothing is to do.
    #[cfg(feature = "postgres")]
    pub(crate) async fn migration(&self) -> Result<String, CheckpointError> {
        superstep::checkpoint::PostgresCheckpointer::builder(&self.text).migration().await
    }

    /// Fails: the program has no such store.
    #[cfg(not(feature = "postgres"))]
    pub(crate) async fn migration(&self) -> Result<String, CheckpointError> {
        self.open(false).await.map(|_| String::new())
    }

    /// Fails: the program has no such store.
    #[cfg(not(feature = "postgres"))]
    pub(crate) async fn open(&self, _read_only: bool) -> Result<Arc<dyn Checkpointer>, CheckpointError> {
        Err(CheckpointError::backend("this program was built without PostgreSQL; build it with the feature `postgres`"))
    }

    /// The parts between the scheme and the query.
    fn parts(&self) -> (&str, &str, &str) {
        let (scheme, rest) = self.text.split_at(self.text.find("://").map_or(0, |at| at + 3));
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
