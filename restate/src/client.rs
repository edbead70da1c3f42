//! One HTTP request to Restate, and whether a worker answers. Each has a connection of its own. Knows no paths.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::{http1, http2};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::{Method, Request};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::address::Address;

/// The longest time for a request.
const LONGEST: Duration = Duration::from_secs(10);
/// The longest time in which a worker that lives answers.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);
/// The maximum size of an answer, in bytes.
const ANSWER: usize = 16 << 20;

/// A request with JSON, or without.
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) json: Option<&'a Value>,
    /// A call with a key that Restate knows already is not made again.
    pub(crate) once: Option<String>,
}

impl<'a> Call<'a> {
    pub(crate) fn new(method: Method, path: impl Into<String>, json: Option<&'a Value>) -> Self {
        Self { method, path: path.into(), json, once: None }
    }
}

/// An answer: its status and its words.
pub(crate) struct Answer {
    pub(crate) is_success: bool,
    pub(crate) text: String,
}

impl Answer {
    /// Returns the answer as JSON; the words of a refusal as the error.
    pub(crate) fn json(self) -> Result<Value, String> {
        if !self.is_success {
            return Err(self.message());
        }
        serde_json::from_str(&self.text).map_err(|error| format!("its answer is not JSON: {error}"))
    }

    /// Returns the message of a refusal.
    pub(crate) fn message(self) -> String {
        let message =
            serde_json::from_str::<Value>(&self.text).ok().and_then(|json| Some(json["message"].as_str()?.to_owned()));
        message.unwrap_or(self.text)
    }
}

/// Makes a request. The error says why there was no answer.
pub(crate) async fn request(address: &Address, call: Call<'_>) -> Result<Answer, String> {
    let done = timeout(LONGEST, exchange(address, call)).await;
    done.unwrap_or_else(|_| Err(format!("no answer in {} s", LONGEST.as_secs())))
}

async fn exchange(address: &Address, call: Call<'_>) -> Result<Answer, String> {
    let text = |error: &dyn std::error::Error| error.to_string();
    let stream = TcpStream::connect(address.authority()).await.map_err(|error| text(&error))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| text(&error))?;
    tokio::spawn(connection);
    let mut request = Request::builder().method(call.method).uri(&call.path).header(HOST, address.authority());
    request = request.header(ACCEPT, "application/json");
    if call.json.is_some() {
        request = request.header(CONTENT_TYPE, "application/json");
    }
    request = call.once.iter().fold(request, |request, key| request.header("idempotency-key", key));
    let body = call.json.map(Value::to_string).unwrap_or_default();
    let request = request.body(Full::<Bytes>::from(body)).map_err(|error| text(&error))?;
    let response = sender.send_request(request).await.map_err(|error| text(&error))?;
    let is_success = response.status().is_success();
    let body = Limited::new(response.into_body(), ANSWER).collect().await.map_err(|error| error.to_string())?;
    Ok(Answer { is_success, text: String::from_utf8_lossy(&body.to_bytes()).into_owned() })
}

/// Returns true if a worker answers at an address.
pub(crate) async fn is_alive(address: &Address) -> bool {
    timeout(SIGN_OF_LIFE, ask_health(address)).await.is_ok_and(|asked| asked.is_some())
}

async fn ask_health(address: &Address) -> Option<()> {
    let stream = TcpStream::connect(address.authority()).await.ok()?;
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.ok()?;
    let connection = tokio::spawn(connection);
    let uri = format!("http://{}/health", address.authority());
    let request = Request::get(uri).body(Full::<Bytes>::default()).ok()?;
    let response = sender.send_request(request).await.ok();
    connection.abort();
    response.map(drop)
}
