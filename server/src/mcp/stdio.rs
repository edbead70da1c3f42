//! The graphs as tools of one client that has started this process, over its standard input and output.
//!
//! Small because a client of this kind needs no session.

use std::io;
use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::io::stdio_pipes;

use super::handler::GraphTools;
use crate::server::Server;

/// Serves until the input ends or the server stops; then has the server stop, and waits until no run is executed.
pub(crate) async fn serve_stdio(server: &Arc<Server>) -> io::Result<()> {
    let serving = GraphTools(Arc::clone(server)).serve_with_ct(stdio_pipes(), server.stop.child_token());
    let served = match serving.await {
        Ok(service) => service.waiting().await.map(drop).map_err(io::Error::other),
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    };
    server.stop.cancel();
    server.closing.cancelled().await;
    served
}
