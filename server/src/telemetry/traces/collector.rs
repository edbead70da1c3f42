//! Requests to a collector, by the HTTP client and with the TLS that webhooks are sent with. Must not know a span.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Request, Response};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry_http::{HttpClient, HttpError};
use rustls::Error as TlsError;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::webhooks::client::tls;

/// Time limit of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most bytes of an answer.
const LONGEST: usize = 64 * 1024;

/// Client of a collector. The thread that exports is none of tokio's, so a request is a task of the program's runtime.
#[derive(Debug)]
pub(super) struct CollectorClient {
    runtime: Handle,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl CollectorClient {
    pub(super) fn new(runtime: Handle) -> Result<Self, TlsError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        let https = HttpsConnector::from((tcp, Arc::new(tls()?)));
        Ok(Self { runtime, client: Client::builder(TokioExecutor::new()).build(https) })
    }
}

#[async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let send = async move {
            let (head, body) = client.request(request.map(Full::from)).await?.into_parts();
            let body = Limited::new(body, LONGEST).collect().await?.to_bytes();
            Ok(Response::from_parts(head, body))
        };
        // The clock of a time limit is that of the runtime too.
        let sent = self.runtime.spawn(async { timeout(PATIENCE, send).await });
        sent.await??
    }
}
