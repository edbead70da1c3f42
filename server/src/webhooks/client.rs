//! Sends webhooks: one request for each, without redirects and without a proxy, to allowed addresses only. Knows no store.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, USER_AGENT};
use hyper::{Method, Request};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use superstep_base::time::now;
use superstep_base::tls::provider;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::signature::WebhookSecret;
use super::target::{GuardedResolver, check_addresses, parse_target};
use crate::error::ApiResult;

/// Time limit of a request.
const PATIENCE: Duration = Duration::from_secs(30);
/// The number of requests that are sent at a time.
const AT_A_TIME: usize = 64;
/// Header with the signature.
const SIGNATURE: &str = "superstep-signature";

type HttpsClient = Client<HttpsConnector<HttpConnector<GuardedResolver>>, Full<Bytes>>;

/// Webhooks of a server: which are allowed, how they are signed, and the client that sends them.
#[derive(Debug)]
pub(crate) struct Webhooks {
    allows_private: bool,
    secret: Option<WebhookSecret>,
    /// Made with the first request, as that reads the system's root certificates.
    client: OnceLock<HttpsClient>,
    /// As many permits as requests are sent at a time.
    permits: Arc<Semaphore>,
}

impl Default for Webhooks {
    fn default() -> Self {
        Self::new(false, None)
    }
}

impl Webhooks {
    pub(crate) fn new(allows_private: bool, secret: Option<WebhookSecret>) -> Self {
        Self { allows_private, secret, client: OnceLock::new(), permits: Arc::new(Semaphore::new(AT_A_TIME)) }
    }

    /// Returns a permit to send a request; `None` if as many are sent as may be.
    pub(crate) fn permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).try_acquire_owned().ok()
    }

    /// Checks a target before anything is stored.
    ///
    /// # Errors
    /// 422 if nothing is sent there.
    pub(crate) async fn check(&self, url: &str) -> ApiResult<()> {
        let url = parse_target(url, self.allows_private)?;
        if self.allows_private { Ok(()) } else { check_addresses(&url).await }
    }

    /// Sends a body; the error is the reason for which the target has not accepted it.
    pub(crate) async fn send(&self, url: &str, body: String) -> Result<(), String> {
        // An address in the URL itself is never looked up.
        let url = parse_target(url, self.allows_private).map_err(|error| error.detail)?;
        let request = self.request(url.as_str(), body)?;
        let sent = timeout(PATIENCE, self.client()?.request(request)).await;
        let sent = sent.map_err(|_| format!("there was no answer within {} s", PATIENCE.as_secs()))?;
        match sent.map_err(|error| causes(&error))?.status() {
            status if status.is_success() => Ok(()),
            status => Err(format!("the answer was {status}")),
        }
    }

    fn request(&self, url: &str, body: String) -> Result<Request<Full<Bytes>>, String> {
        let mut request = Request::builder().method(Method::POST).uri(url);
        request = request.header(CONTENT_TYPE, "application/json");
        request = request.header(USER_AGENT, concat!("superstep-server/", env!("CARGO_PKG_VERSION")));
        if let Some(secret) = &self.secret {
            request = request.header(SIGNATURE, secret.header(now() / 1000, &body));
        }
        request.body(Full::from(body)).map_err(|error| error.to_string())
    }

    fn client(&self) -> Result<&HttpsClient, String> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let tls = tls().map_err(|error| error.to_string())?;
        let mut tcp = HttpConnector::new_with_resolver(GuardedResolver { allows_private: self.allows_private });
        tcp.enforce_http(false);
        let https = HttpsConnector::from((tcp, Arc::new(tls)));
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(https);
        Ok(self.client.get_or_init(|| client))
    }
}

/// Returns the TLS of requests to other servers, which trusts the system's root certificates.
pub(crate) fn tls() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(provider())).with_safe_default_protocol_versions()?;
    Ok(builder.with_platform_verifier()?.with_no_client_auth())
}

/// Returns an error with its causes.
fn causes(error: &dyn Error) -> String {
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(source) = cause {
        text += &format!(": {source}");
        cause = source.source();
    }
    text
}
