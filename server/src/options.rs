//! Settings of a server, and the router that is made of them.
//!
//! Small because there are few settings.

use std::sync::Arc;

use axum::Router;
use superstep::checkpoint::Checkpointer;
use superstep::graph::{CancellationToken, Graphs};

use crate::routes::routes;
use crate::runs::execution::execute_all;
use crate::server::Server;

/// The number of runs that are executed at a time, unless it is set.
const JOBS: usize = 16;

/// Settings of a server.
#[derive(Clone, Debug)]
#[must_use = "settings do nothing until a router is made of them"]
pub struct Options {
    jobs: usize,
    stop: CancellationToken,
}

impl Default for Options {
    fn default() -> Self {
        Self { jobs: JOBS, stop: CancellationToken::new() }
    }
}

impl Options {
    /// Sets the number of runs that are executed at a time; the others wait.
    pub fn jobs(mut self, runs: usize) -> Self {
        self.jobs = runs.max(1);
        self
    }

    /// Sets a token that stops the server: runs stop at the end of their superstep, and another server or the next start goes on.
    pub fn stop_with(mut self, token: CancellationToken) -> Self {
        self.stop = token;
        self
    }

    /// Returns the routes over graphs whose threads are in `store`, to be served or mounted in a program's own router. Runs are
    /// executed by a task that begins now.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn router(self, graphs: Graphs, store: Arc<dyn Checkpointer>) -> Router {
        let server = Arc::new(Server::new(graphs, store, self.jobs, self.stop));
        tokio::spawn(execute_all(Arc::clone(&server)));
        routes(server)
    }
}
