//! Failures of statements, by what to do about them: connect again, repeat, or give up; and the time for which a store does so.
//! Knows codes of the server; must not know what was executed.

use std::error::Error as _;
use std::time::Duration;

use superstep_base::backoff::backoff;
use tokio::time::{Instant, sleep};
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::checkpoint::CheckpointError;

/// Advice for a server that refuses a role.
const RIGHTS: &str =
    "give the role these rights; the SQL that makes the store is printed by `superstep store migrate --dry-run`";
const LOGIN: &str = "check the user, the database, PGPASSWORD and `~/.pgpass`";
const TLS: &str = "check `sslmode` and `sslrootcert`, and that the server has TLS";
const POOLER: &str = "behind PgBouncer use `pool_mode = session`, or connect to the server itself";

/// A failed statement.
#[derive(Debug)]
pub(super) enum Fault {
    /// The connection is gone, or the server cannot work now. If a statement was sent, nobody knows if it was executed.
    Lost(String),
    /// Nothing was written, and the same statement may succeed now.
    Conflict(String),
    /// Another attempt would fail too.
    Refused(CheckpointError),
}

impl From<CheckpointError> for Fault {
    fn from(error: CheckpointError) -> Self {
        Self::Refused(error)
    }
}

/// Sorts the error of a statement or of a connection; `store` is the address without its password.
pub(super) fn fault(error: &Error, store: &str) -> Fault {
    let reason = text(error);
    let refused =
        |advice| Fault::Refused(CheckpointError::RefusedStore { store: store.into(), reason: reason.clone(), advice });
    let Some(code) = error.code() else {
        let kind = error.to_string();
        return match kind.as_str() {
            _ if is_of_the_network(&kind) || has_io_source(error) => Fault::Lost(reason),
            _ if kind.starts_with("error performing TLS") => refused(TLS),
            _ if kind.starts_with("authentication error") || reason.contains("password missing") => refused(LOGIN),
            _ => Fault::Refused(CheckpointError::backend(reason)),
        };
    };
    match *code {
        SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED => Fault::Conflict(reason),
        SqlState::LOCK_NOT_AVAILABLE => Fault::Conflict(reason),
        SqlState::INSUFFICIENT_PRIVILEGE => refused(RIGHTS),
        SqlState::INVALID_SQL_STATEMENT_NAME | SqlState::DUPLICATE_PSTATEMENT => refused(POOLER),
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => refused(LOGIN),
        SqlState::INVALID_CATALOG_NAME => refused(LOGIN),
        _ if is_passing(code) => Fault::Lost(reason),
        _ => Fault::Refused(CheckpointError::backend(reason)),
    }
}

/// Returns whether a failure is of a server that starts, stops, fails over, or lacks something at the moment.
fn is_passing(code: &SqlState) -> bool {
    let classes = ["08", "53", "58"];
    let codes = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        SqlState::from_code("57P05"),
    ];
    classes.iter().any(|class| code.code().starts_with(class)) || codes.contains(code)
}

/// Returns whether an error without a code is one of the connection.
fn is_of_the_network(kind: &str) -> bool {
    ["error communicating", "connection closed", "error connecting", "timeout"]
        .iter()
        .any(|start| kind.starts_with(start))
}

/// Returns whether the operating system has failed, and not the other side.
fn has_io_source(error: &Error) -> bool {
    let mut source = error.source();
    while let Some(error) = source {
        if error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() != std::io::ErrorKind::InvalidData) {
            return true;
        }
        source = error.source();
    }
    false
}

/// Returns the message of an error and of its causes.
fn text(error: &Error) -> String {
    if let Some(db) = error.as_db_error() {
        return format!("{} (SQLSTATE {})", db.message(), db.code().code());
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = error.source();
    }
    text
}

/// The time for which an operation is repeated while the server cannot be reached.
#[derive(Debug)]
pub(super) struct Patience {
    longest: Duration,
    end: Option<Instant>,
    attempts: u32,
}

impl Patience {
    /// The time for which a store waits for its server.
    pub(super) const OUTAGE: Duration = Duration::from_secs(30);

    pub(super) fn new(longest: Duration) -> Self {
        Self { longest, end: None, attempts: 0 }
    }

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// [`CheckpointError::Outage`] if the time since the first failure is up.
    pub(super) async fn wait(&mut self, store: &str, reason: String) -> Result<(), CheckpointError> {
        let now = Instant::now();
        let end = *self.end.get_or_insert(now + self.longest);
        if now >= end {
            return Err(CheckpointError::Outage { store: store.into(), reason });
        }
        let pause = backoff(Duration::from_millis(20), 2.0, self.attempts, Duration::from_millis(500));
        self.attempts += 1;
        sleep(pause.min(end - now)).await;
        Ok(())
    }

    /// Returns whether it has waited before.
    pub(super) fn has_begun(&self) -> bool {
        self.attempts > 0
    }

    /// Forgets the failures after a success.
    pub(super) fn reset(&mut self) {
        (self.end, self.attempts) = (None, 0);
    }
}
