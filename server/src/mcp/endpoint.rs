//! `/mcp`: requests of clients over HTTP. Each is answered by itself; only a client of the protocol of 2025 that can show forms gets a
//! session, as it sends what a person has filled in as a request of its own.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::post;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;

use super::handler::GraphTools;
use super::sessions::StoredSessions;
use crate::error::ApiError;
use crate::server::Server;

/// The largest request, in bytes.
const LARGEST: usize = 4 << 20;
/// The time without a request after which a session leaves memory: longer than a person takes for a form.
const IDLE: Duration = Duration::from_secs(3600);

/// Returns the routes of the protocol.
pub(crate) fn routes(server: &Arc<Server>) -> Router<Arc<Server>> {
    let endpoint = Endpoint::of(server);
    let call = move |request: Request| {
        let endpoint = endpoint.clone();
        async move { endpoint.call(request).await }
    };
    Router::new()
        .route("/mcp", post(call.clone()).delete(call))
        .route("/mcp/", post(redirect).get(redirect).delete(redirect))
}

/// Leads to the path without its last `/`, below whatever prefix the router is mounted at.
async fn redirect() -> Redirect {
    Redirect::temporary("../mcp")
}

type Service = StreamableHttpService<GraphTools, LocalSessionManager>;

/// The two ways of answering.
#[derive(Clone)]
struct Endpoint {
    alone: Service,
    in_sessions: Service,
}

impl Endpoint {
    fn of(server: &Arc<Server>) -> Self {
        // Hosts and origins are checked before the routes, for all of them.
        let config = StreamableHttpServerConfig::default()
            .with_cancellation_token(server.closing.clone())
            .with_max_request_body_bytes(LARGEST)
            .with_json_response(true)
            .disable_allowed_hosts();
        let mut with_sessions = config.clone().with_legacy_session_mode(true);
        with_sessions.session_store = Some(Arc::new(StoredSessions::of(server)));
        let service = |config| {
            let tools = GraphTools(Arc::clone(server));
            StreamableHttpService::new(move || Ok(tools.clone()), sessions(), config)
        };
        Self { alone: service(config.with_legacy_session_mode(false)), in_sessions: service(with_sessions) }
    }

    async fn call(&self, request: Request) -> Response {
        if request.headers().contains_key("mcp-session-id") {
            return self.in_sessions.handle(request).await.into_response();
        }
        if request.method() == Method::DELETE {
            return ApiError::new(StatusCode::NOT_FOUND, "the request names no session to end").into_response();
        }
        let (parts, body) = request.into_parts();
        let Ok(body) = to_bytes(body, LARGEST).await else {
            return ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, format!("a request has at most {LARGEST} bytes"))
                .into_response();
        };
        let service = if begins_session(&body) { &self.in_sessions } else { &self.alone };
        service.handle(Request::from_parts(parts, Body::from(body))).await.into_response()
    }
}

fn sessions() -> Arc<LocalSessionManager> {
    let mut sessions = LocalSessionManager::default();
    let mut config = SessionConfig::default();
    config.keep_alive = Some(IDLE);
    sessions.session_config = config;
    Arc::new(sessions)
}

/// Returns whether a request is the first one of a client that can show forms.
fn begins_session(body: &[u8]) -> bool {
    const METHOD: &[u8] = b"\"initialize\"";
    let may_be = body.windows(METHOD.len()).any(|part| part == METHOD);
    let Some(request) = may_be.then(|| serde_json::from_slice::<Value>(body).ok()).flatten() else { return false };
    request["method"] == "initialize" && request["params"]["capabilities"]["elicitation"].is_object()
}
