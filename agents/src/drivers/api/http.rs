//! HTTP requests and streamed responses. Knows the protocol and its limits; must not know turns, tools or files.

use std::time::Duration;

use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use url::Url;

use super::client::{Client, Response, causes};
use super::config::{ApiConfig, ApiKey, KeyFilter};
use super::refusal::Server;
use super::reply::{self, Reply, ReplyPiece};
use super::sse::EventReader;
use super::wire::Chunk;
use crate::drivers::{DriverError, DriverErrorClass};

/// Maximum size of a response in bytes, including framing.
const MAX_RESPONSE: usize = 64 * 1024 * 1024;
/// Maximum size of the body of an error response that is read.
const MAX_ERROR_BODY: usize = 64 * 1024;
const HEAD: usize = 200;
/// Data that ends an event stream.
const DONE: &str = "[DONE]";

/// Model behind one server.
#[derive(Clone, Debug)]
pub(super) struct Http {
    client: Client,
    pub(super) server: Server,
}

impl Http {
    pub(super) fn new(config: &ApiConfig) -> Result<Self, DriverError> {
        let url = completions(&config.base_url)?;
        let server = Server {
            address: address(&url),
            key_env: config.key_env.clone(),
            has_key: config.key.is_some(),
            key_filter: KeyFilter::new(config.key.clone()),
        };
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        if let Some(key) = &config.key {
            headers.insert(AUTHORIZATION, header(key, &config.key_env)?);
        }
        let client =
            Client::new(&url, headers).map_err(|why| fatal(format!("{} cannot be called: {why}", server.address)))?;
        Ok(Self { client, server })
    }

    /// Sends a request and returns the reader of its response, with which the connection is dropped; `idle` is the
    /// maximum time without data.
    pub(super) async fn send(&self, body: Vec<u8>, idle: Duration) -> Result<ResponseReader<'_>, DriverError> {
        let sent = self.with_idle_limit(idle, self.client.post(body)).await?;
        let response = sent.map_err(|error| self.server.connection_error(&causes(&*error)))?;
        Ok(ResponseReader::new(self, self.ensure_success(response, idle).await?, idle))
    }

    async fn with_idle_limit<T>(&self, idle: Duration, work: impl Future<Output = T>) -> Result<T, DriverError> {
        tokio::time::timeout(idle, work).await.map_err(|_| {
            let message = format!("{} was silent for {idle:?}", self.server.address);
            DriverError::new(DriverErrorClass::Transient, message)
        })
    }

    /// Returns the response if its status is success, else the error it describes.
    async fn ensure_success(&self, mut response: Response, idle: Duration) -> Result<Response, DriverError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status.is_redirection() {
            let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default();
            return Err(self.server.redirect_error(status, to));
        }
        let mut body = Vec::new();
        // A partial body is good enough for the reason.
        while body.len() < MAX_ERROR_BODY {
            let Ok(Ok(Some(piece))) = self.with_idle_limit(idle, response.chunk()).await else { break };
            body.extend_from_slice(&piece);
        }
        body.truncate(MAX_ERROR_BODY);
        Err(self.server.status_error(status, response.headers(), &String::from_utf8_lossy(&body)))
    }
}

/// Reader of one streamed response.
pub(super) struct ResponseReader<'a> {
    http: &'a Http,
    response: Response,
    idle: Duration,
    reply: Reply,
    events: EventReader,
    /// Data of received events that are not processed yet.
    waiting: std::collections::VecDeque<String>,
    read: usize,
    shape: Option<ResponseKind>,
    whole: Vec<u8>,
    /// First bytes, for the message if the response is not in the protocol.
    head: Vec<u8>,
    is_declared: bool,
    has_events: bool,
    is_over: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ResponseKind {
    Events,
    Json,
}

impl<'a> ResponseReader<'a> {
    fn new(http: &'a Http, response: Response, idle: Duration) -> Self {
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let shape = if kind.contains("event-stream") {
            Some(ResponseKind::Events)
        } else if kind.contains("json") {
            Some(ResponseKind::Json)
        } else {
            None
        };
        let (reply, events, waiting) = Default::default();
        let (is_declared, whole, head) = (shape.is_some(), vec![], vec![]);
        let (read, has_events, is_over) = (0, false, false);
        Self {
            http,
            response,
            idle,
            reply,
            events,
            waiting,
            read,
            shape,
            whole,
            head,
            is_declared,
            has_events,
            is_over,
        }
    }

    /// Returns the content of the next chunk; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<ReplyPiece>, DriverError> {
        loop {
            if let Some(data) = self.waiting.pop_front() {
                if data.trim() == DONE {
                    return Ok(None);
                }
                return self.read_chunk(&data).map(Some);
            }
            if self.is_over {
                return Ok(None);
            }
            self.read_on().await?;
        }
    }

    async fn read_on(&mut self) -> Result<(), DriverError> {
        let read = self.http.with_idle_limit(self.idle, self.response.chunk()).await?;
        match read {
            Ok(Some(bytes)) => self.push(&bytes),
            Ok(None) => self.end(None),
            Err(error) => self.end(Some(causes(&*error))),
        }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), DriverError> {
        self.read = self.read.saturating_add(bytes.len());
        if self.read > MAX_RESPONSE {
            return Err(self.too_large());
        }
        let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        let room = HEAD.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        if self.shape.is_none()
            && let Some(first) = first
        {
            self.shape = Some(if *first == b'{' { ResponseKind::Json } else { ResponseKind::Events });
        }
        match self.shape {
            Some(ResponseKind::Events) => {
                let events = self.events.push(bytes).map_err(|_| self.too_large())?;
                self.has_events = self.has_events || !events.is_empty();
                self.waiting.extend(events);
            }
            Some(ResponseKind::Json) | None => self.whole.extend_from_slice(bytes),
        }
        Ok(())
    }

    /// Ends the response after the connection was closed or broke. A response with a finish reason is complete without
    /// the rest.
    fn end(&mut self, error: Option<String>) -> Result<(), DriverError> {
        self.is_over = true;
        if self.reply.finish.is_some() {
            return Ok(());
        }
        if let Some(error) = error {
            let cut = self.http.server.interrupted_error();
            let why = self.http.server.connection_error(&error).message;
            return Err(DriverError { message: format!("{}: {why}", cut.message), ..cut });
        }
        // A JSON response is a single chunk, which is complete only now.
        if self.shape == Some(ResponseKind::Json) {
            let whole = String::from_utf8_lossy(&std::mem::take(&mut self.whole)).into_owned();
            self.waiting.push_back(whole);
            return Ok(());
        }
        let last = self.events.finish();
        match (last, self.read) {
            // A server may omit the empty line after its last event; an incomplete event means that the connection
            // broke.
            (Some(last), _) if is_whole(&last) => self.waiting.push_back(last),
            (Some(_), _) => return Err(self.http.server.interrupted_error()),
            // The server closed the connection without a byte.
            (None, 0) => return Err(self.http.server.protocol_error("nothing", "")),
            // Neither the content type nor the body shows a stream of events: it may be another kind of server.
            (None, _) if self.is_unrecognized() => {
                let head = String::from_utf8_lossy(&self.head).into_owned();
                return Err(self.http.server.protocol_error("an invalid answer", &head));
            }
            // The stream broke off between events, before the finish reason.
            (None, _) => return Err(self.http.server.interrupted_error()),
        }
        Ok(())
    }

    /// Returns whether the content type does not declare events and none was found.
    fn is_unrecognized(&self) -> bool {
        !self.is_declared && !self.has_events
    }

    fn read_chunk(&mut self, data: &str) -> Result<ReplyPiece, DriverError> {
        let read = serde_json::from_str(data);
        let read = read
            .or_else(|error| reply::replace_surrogates(data).map_or(Err(error), |data| serde_json::from_str(&data)));
        let chunk: Chunk = read.map_err(|error| {
            self.http.server.protocol_error(&format!("an invalid chunk of an answer ({error})"), data)
        })?;
        if let Some(error) = chunk.error.as_ref().filter(|error| !error.is_null()) {
            return Err(self.http.server.stream_error(error));
        }
        if self.shape == Some(ResponseKind::Json) && chunk.choices.as_ref().is_none_or(Vec::is_empty) {
            return Err(self.http.server.protocol_error("without a choice", data));
        }
        self.reply.take(chunk).map_err(|_| self.too_large())
    }

    /// Returns what was read.
    pub(super) fn into_reply(self) -> Reply {
        self.reply
    }

    fn too_large(&self) -> DriverError {
        let message = format!("the response of {} is too large", self.http.server.address);
        DriverError::new(DriverErrorClass::Content, message)
    }
}

/// Returns whether the data of an event is complete.
fn is_whole(data: &str) -> bool {
    data.trim() == DONE || serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok()
}

/// Returns the URL of requests: `/chat/completions` appended to the base, its query kept.
fn completions(base: &str) -> Result<Url, DriverError> {
    let wrong = |why: &str| fatal(format!("the base URL {why}")).help("it looks like https://api.openai.com/v1");
    let mut url = Url::parse(base.trim()).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
    if !["http", "https"].contains(&url.scheme()) {
        return Err(wrong("is neither http nor https"));
    }
    let path = format!("{}/chat/completions", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(url)
}

/// Returns a URL for messages: without user and query.
fn address(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

fn header(key: &ApiKey, variable: &str) -> Result<HeaderValue, DriverError> {
    key.header().ok_or_else(|| {
        DriverError::new(DriverErrorClass::Auth, format!("the key in {variable} has letters that no key has"))
            .help("look for line ends and quotes in it")
    })
}

fn fatal(message: String) -> DriverError {
    DriverError::new(DriverErrorClass::Fatal, message)
}
