//! Sessions of clients that negotiate once, as the protocol of 2025 has them: what such a client can do is in the store, so that any
//! server of the store serves its session, after any restart.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use rmcp::model::InitializeRequestParams;
use rmcp::transport::streamable_http_server::session::{SessionState, SessionStore, SessionStoreError};
use serde::{Deserialize, Serialize};
use superstep::checkpoint::CheckpointError;
use superstep_base::time::now;

use crate::records::items::{Record, Records, StoredRecord, put};
use crate::server::Server;

/// The time for which a session is kept, and the least time between two searches for older ones, in milliseconds.
const KEEP: u64 = 30 * 24 * 3600 * 1000;
const SEARCH: u64 = 3600 * 1000;

/// A session.
#[derive(Serialize, Deserialize)]
struct McpSession {
    session: String,
    client: InitializeRequestParams,
    /// In milliseconds since 1970.
    created_at: u64,
}

impl Record for McpSession {
    const NAMESPACE: &'static str = "superstep.server.mcp";

    fn key(&self) -> String {
        self.session.clone()
    }
}

/// The sessions in the store.
pub(super) struct StoredSessions {
    server: Arc<Server>,
    searched_at: AtomicU64,
}

impl StoredSessions {
    pub(super) fn of(server: &Arc<Server>) -> Self {
        Self { server: Arc::clone(server), searched_at: AtomicU64::new(0) }
    }

    fn records(&self) -> &Records {
        &self.server.records
    }

    /// Removes old sessions, now and then.
    async fn remove_old(&self, now: u64) -> Result<(), CheckpointError> {
        if now.saturating_sub(self.searched_at.swap(now, Ordering::Relaxed)) < SEARCH {
            return Ok(());
        }
        let all = self.records().all::<McpSession>("").await?;
        let old = all.iter().filter(|stored| stored.record.created_at + KEEP < now);
        self.records().write(old.map(StoredRecord::remove).collect()).await
    }
}

#[async_trait]
impl SessionStore for StoredSessions {
    async fn load(&self, session: &str) -> Result<Option<SessionState>, SessionStoreError> {
        let found = self.records().get::<McpSession>(session).await?;
        Ok(found.map(|found| SessionState::new(found.record.client)))
    }

    async fn store(&self, session: &str, state: &SessionState) -> Result<(), SessionStoreError> {
        let (session, client, created_at) = (session.to_owned(), state.initialize_params.clone(), now());
        self.records().write(vec![put(&McpSession { session, client, created_at })]).await?;
        Ok(self.remove_old(created_at).await?)
    }

    async fn delete(&self, session: &str) -> Result<(), SessionStoreError> {
        match self.records().get::<McpSession>(session).await? {
            Some(found) => Ok(self.records().write(vec![found.remove()]).await?),
            None => Ok(()),
        }
    }
}
