//! The conformance kit on PostgreSQL.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use superstep::checkpoint::kit::{self, Harness};
use superstep::checkpoint::{BoxFuture, CheckpointError, Checkpointer, PostgresCheckpointer};

use crate::server;

type OpenResult = Result<Arc<dyn Checkpointer>, CheckpointError>;

/// The harness of PostgreSQL: each store has a schema of its own.
struct Postgres(Mutex<String>);

async fn connect(address: String) -> OpenResult {
    // A short lease: some checks wait for its renewal.
    let store = PostgresCheckpointer::builder(&address).lease(Duration::from_millis(1500)).connect();
    Ok(Arc::new(store.await?))
}

impl Harness for Postgres {
    fn open(&self) -> BoxFuture<'_, OpenResult> {
        let address = server::new_store().unwrap();
        *self.0.lock().unwrap() = address.clone();
        Box::pin(connect(address))
    }

    fn open_again(&self) -> BoxFuture<'_, Option<OpenResult>> {
        self.reopen()
    }

    fn reopen(&self) -> BoxFuture<'_, Option<OpenResult>> {
        let address = self.0.lock().unwrap().clone();
        Box::pin(async { Some(connect(address).await) })
    }
}

#[tokio::test]
async fn postgres_passes_the_kit() {
    if server::shared().is_none() {
        return;
    }
    let failures = kit::check_all(&Postgres(Mutex::default())).await;
    assert!(failures.is_empty(), "{failures:#?}");
}
