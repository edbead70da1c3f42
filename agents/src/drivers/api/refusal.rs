//! Errors of a server: class, message without keys, time to wait.

use std::time::{Duration, SystemTime};

use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName, RETRY_AFTER};
use serde_json::Value;

use super::config::KeyFilter;
use crate::drivers::error::tells_refusal;
use crate::drivers::{DriverError, DriverErrorClass};

/// Maximum length of a server's message in an error, in characters.
const SHOWN: usize = 1000;

/// Server, as it appears in errors.
#[derive(Clone, Debug)]
pub(super) struct Server {
    /// URL without user and query.
    pub(super) address: String,
    /// Environment variable of its key.
    pub(super) key_env: String,
    pub(super) has_key: bool,
    pub(super) key_filter: KeyFilter,
}

impl Server {
    /// Returns the error of a response with an error status; `body` is its content, possibly truncated.
    pub(super) fn status_error(&self, status: StatusCode, headers: &HeaderMap, body: &str) -> DriverError {
        let class = class_of(status.as_u16());
        let message = format!("{} answered {status}{}", self.address, self.description(body));
        let error = DriverError { refusal: class == DriverErrorClass::Content, ..DriverError::new(class, message) };
        let error = match class {
            DriverErrorClass::Auth => error.help(self.about_key()),
            DriverErrorClass::Fatal if status == StatusCode::NOT_FOUND => {
                error.help("check the base URL (`/chat/completions` is appended to it) and the model's name")
            }
            _ => error,
        };
        match retry_after(headers, SystemTime::now()) {
            Some(wait) => error.retry_after(wait),
            None => error,
        }
    }

    /// Returns the error that a server reports inside a streamed response.
    pub(super) fn stream_error(&self, error: &Value) -> DriverError {
        let code = ["/code", "/status", "/metadata/code"].iter().find_map(|at| {
            let code = error.pointer(at)?;
            code.as_u64().or_else(|| code.as_str()?.parse().ok())
        });
        let is_request = error.get("type").and_then(Value::as_str).is_some_and(|kind| kind.contains("invalid_request"));
        let class = match code.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code)) {
            Some(code) => class_of(code),
            None if is_request => DriverErrorClass::Content,
            None => DriverErrorClass::Transient,
        };
        let body = serde_json::json!({ "error": error }).to_string();
        let message = format!("{} sent an error in its response{}", self.address, self.description(&body));
        DriverError { refusal: class == DriverErrorClass::Content, ..DriverError::new(class, message) }
    }

    /// Returns the error of a failed connection.
    pub(super) fn connection_error(&self, why: &str) -> DriverError {
        let message = format!("{} cannot be reached: {why}", self.address);
        DriverError::new(DriverErrorClass::Transient, one_line(&self.key_filter.text(&message)))
    }

    /// Returns the error of a response that the server's content filter ended.
    pub(super) fn content_filter_error(&self) -> DriverError {
        let message = format!("{} stopped the answer with its content filter", self.address);
        DriverError { refusal: true, ..DriverError::new(DriverErrorClass::Content, message) }
    }

    /// Returns the error of an interrupted response.
    pub(super) fn interrupted_error(&self) -> DriverError {
        DriverError::new(DriverErrorClass::Transient, format!("{} closed the connection early", self.address))
    }

    /// Returns the error of a response that is not in the protocol.
    pub(super) fn protocol_error(&self, why: &str, body: &str) -> DriverError {
        DriverError::new(
            DriverErrorClass::Content,
            format!("{} answered {why}{}", self.address, self.description(body)),
        )
        .help("is it a server of OpenAI's chat completions?")
    }

    /// Returns the error of a redirect to another server.
    pub(super) fn redirect_error(&self, status: StatusCode, to: &str) -> DriverError {
        let message =
            format!("{} answered {status} and redirects to `{}`", self.address, one_line(&self.key_filter.text(to)));
        DriverError::new(DriverErrorClass::Fatal, message)
            .help("keys are not sent to other servers; if this one is right, set it as the base URL")
    }

    fn about_key(&self) -> String {
        match self.has_key {
            true => format!("the key comes from {}; is it the right one?", self.key_env),
            false => format!("{} is not set: set it to the server's key", self.key_env),
        }
    }

    /// Extracts the message from an error body, in the formats of the known servers, after its code if that adds
    /// something.
    fn description(&self, body: &str) -> String {
        let json: Option<Value> = serde_json::from_str(body).ok();
        let find = |at: &str| json.as_ref()?.pointer(at)?.as_str().map(str::to_owned);
        let message = ["/error/message", "/message", "/detail", "/error"].iter().find_map(|at| find(at));
        let message = message.unwrap_or_else(|| body.to_owned());
        match message.trim() {
            "" => String::new(),
            message => match find("/error/code").filter(|code| !message.contains(code) && tells_refusal(code)) {
                Some(code) => format!(": {}", one_line(&self.key_filter.text(&format!("{code}: {message}")))),
                None => format!(": {}", one_line(&self.key_filter.text(message))),
            },
        }
    }
}

fn class_of(status: u16) -> DriverErrorClass {
    match status {
        429 => DriverErrorClass::RateLimited,
        401 | 403 => DriverErrorClass::Auth,
        408 | 425 | 500..=599 => DriverErrorClass::Transient,
        400 | 413 | 422 => DriverErrorClass::Content,
        _ => DriverErrorClass::Fatal,
    }
}

/// Returns the time to wait from the headers: milliseconds, seconds, or a date.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    let seconds = |text: &str| text.parse::<f64>().ok().and_then(|n| Duration::try_from_secs_f64(n).ok());
    let millis = text(HeaderName::from_static("retry-after-ms")).and_then(seconds).map(|wait| wait / 1000);
    millis.or_else(|| {
        let text = text(RETRY_AFTER)?;
        let until = || httpdate::parse_http_date(text).ok().map(|date| date.duration_since(now).unwrap_or_default());
        seconds(text).or_else(until)
    })
}

/// Formats text as one line of limited length.
fn one_line(text: &str) -> String {
    let mut shown: String =
        text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("retry-after", "7", Some(7_000))]
    #[case("retry-after", "1.5", Some(1_500))]
    #[case("retry-after-ms", "250", Some(250))]
    #[case("retry-after", "Thu, 01 Jan 1970 00:01:40 GMT", Some(90_000))]
    #[case("retry-after", "Thu, 01 Jan 1970 00:00:01 GMT", Some(0))]
    #[case("retry-after", "soon", None)]
    #[case("retry-after", "-3", None)]
    fn waits(#[case] name: &'static str, #[case] value: &'static str, #[case] millis: Option<u64>) {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().expect("a header"));
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(10);
        assert_eq!(retry_after(&headers, now), millis.map(Duration::from_millis));
    }
}
