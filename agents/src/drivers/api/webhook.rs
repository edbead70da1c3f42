//! Posts one JSON message to a user's server. Knows no models.

use std::time::Duration;

use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use url::Url;

use super::client::{Client, causes};

/// Timeout of a request.
const PATIENCE: Duration = Duration::from_secs(30);

/// Posts JSON; the error contains the reason without the address, which may hold a secret.
pub async fn post(url: &str, json: String) -> Result<(), String> {
    let url = Url::parse(url).map_err(|error| error.to_string())?;
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let client = Client::new(&url, headers)?;
    let sent = tokio::time::timeout(PATIENCE, client.post(json)).await;
    let sent = sent.map_err(|_| format!("no answer within {PATIENCE:?}"))?;
    let answer = sent.map_err(|error| causes(&*error))?;
    if answer.status().is_success() { Ok(()) } else { Err(format!("the server answered {}", answer.status())) }
}
