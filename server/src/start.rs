//! The start of a server: its router, the tasks beside it, and connections. The top of the crate.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use superstep::checkpoint::Checkpointer;
use superstep::graph::Graphs;
use tokio::net::TcpListener;
use tokio::time::sleep;

use crate::expiry::remove_expired_items;
use crate::foreign_activity::watch_others;
use crate::foreign_threads::watch_foreign;
use crate::options::Options;
use crate::panics::spawn_task;
use crate::routes::routes;
use crate::runs::log_writer::write_all;
use crate::runs::schedule::execute_all;
use crate::security::connections::Connections;
use crate::server::Server;
use crate::timers::clock::run_timers;

/// The time that open connections have to end once no run is executed any more.
const FAREWELL: Duration = Duration::from_secs(5);

/// Returns the routes over graphs whose threads are in `store`, with settings: [`Options::router`] as a function.
///
/// # Panics
/// Outside of a tokio runtime.
pub fn router(graphs: Graphs, store: Arc<dyn Checkpointer>, options: Options) -> Router {
    options.router(graphs, store)
}

impl Options {
    /// Returns the routes over graphs whose threads are in `store`, to be served or mounted in a program's own router. Runs are
    /// executed by a task that begins now, and that outlives the router: only [`stop_with`](Self::stop_with) ends it.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn router(self, graphs: Graphs, store: Arc<dyn Checkpointer>) -> Router {
        self.start(graphs, store).0
    }

    /// Serves the routes over graphs on a listener until the server [stops](Self::stop_with): runs then stop at the end of their
    /// superstep, and streams end with an event that says so.
    ///
    /// # Errors
    /// If connections cannot be accepted.
    pub async fn serve(self, graphs: Graphs, store: Arc<dyn Checkpointer>, listener: TcpListener) -> io::Result<()> {
        let limits = self.security.limits;
        let (router, server) = self.start(graphs, store);
        let closing = server.closing.clone();
        tokio::select! {
            served = Connections::new(router, limits, closing.clone()).serve(listener) => served,
            () = async { closing.cancelled().await; sleep(FAREWELL).await } => Ok(()),
        }
    }

    /// Serves the graphs as tools of the Model Context Protocol on standard input and output, until the input ends or the server
    /// [stops](Self::stop_with): runs then stop at the end of their superstep, and go on when something serves the store again.
    ///
    /// # Errors
    /// If the client does not speak the protocol.
    #[cfg(feature = "mcp")]
    pub async fn serve_stdio(self, graphs: Graphs, store: Arc<dyn Checkpointer>) -> io::Result<()> {
        let (_, server) = self.start(graphs, store);
        crate::mcp::serve_stdio(&server).await
    }

    fn start(self, graphs: Graphs, store: Arc<dyn Checkpointer>) -> (Router, Arc<Server>) {
        let server = Arc::new(Server::new(graphs, store, self));
        spawn_task(&server, "runs", execute_all);
        spawn_task(&server, "events", write_all);
        spawn_task(&server, "activity", watch_others);
        spawn_task(&server, "threads", watch_foreign);
        spawn_task(&server, "expiry", remove_expired_items);
        spawn_task(&server, "timers", run_timers);
        (routes(Arc::clone(&server)), server)
    }
}
