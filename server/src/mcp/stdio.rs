//! The graphs as tools of one client that has started this process, over its standard input and output.

use std::io;
use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::io::stdio_pipes;
use superstep::checkpoint::Checkpointer;
use superstep::graph::Graphs;

use super::handler::GraphTools;
use crate::options::Options;

impl Options {
    /// Serves the graphs as tools of the Model Context Protocol on standard input and output, until the input ends or the server
    /// [stops](Self::stop_with): runs then stop at the end of their superstep, and go on when something serves the store again.
    ///
    /// # Errors
    /// If the client does not speak the protocol.
    pub async fn serve_stdio(self, graphs: Graphs, store: Arc<dyn Checkpointer>) -> io::Result<()> {
        let (_, server) = self.start(graphs, store);
        let serving = GraphTools(Arc::clone(&server)).serve_with_ct(stdio_pipes(), server.stop.child_token());
        let served = match serving.await {
            Ok(service) => service.waiting().await.map(drop).map_err(io::Error::other),
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        };
        server.stop.cancel();
        server.closing.cancelled().await;
        served
    }
}
