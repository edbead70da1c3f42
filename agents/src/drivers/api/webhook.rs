//! Posts one JSON message to a user's server. Knows no models.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};

/// Timeout of a request.
const PATIENCE: Duration = Duration::from_secs(30);

/// Posts JSON; the error contains the reason without the address, which may hold a secret.
pub async fn post(url: &str, json: String) -> Result<(), String> {
    let url = Url::parse(url).map_err(|error| error.to_string())?;
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let client = super::http::client(&url, headers)?;
    let sent = client.post(url).body(json).timeout(PATIENCE).send().await;
    let answer = sent.map_err(|error| error.without_url().to_string())?;
    if answer.status().is_success() { Ok(()) } else { Err(format!("the server answered {}", answer.status())) }
}
