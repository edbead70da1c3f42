//! The answers of a server, the requests they match, and their faults. From code or YAML; pure.

use serde::Deserialize;
use serde_json::Value;

use super::Request;

/// Answers, in the order they are tried.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    pub answers: Vec<Answer>,
}

impl<const N: usize> From<[Answer; N]> for Scenario {
    fn from(answers: [Answer; N]) -> Self {
        Self { answers: answers.into() }
    }
}

/// An answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Answer {
    pub when: When,
    /// Number of times it may be sent; 0 for no limit.
    pub times: usize,
    pub text: String,
    pub thinking: String,
    pub calls: Vec<Call>,
    pub usage: Option<Tokens>,
    /// With a status other than 200, only `body` is sent.
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// Sent verbatim, in place of everything else.
    pub body: Option<String>,
    pub how: How,
}

/// The requests that an answer matches.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct When {
    /// Index of the request, from 0.
    pub nth: Option<usize>,
    pub model: Option<String>,
    /// Name of an offered tool.
    pub offers: Option<String>,
    /// Text in the last message.
    pub contains: Option<String>,
    /// Text in the last message, which must be a tool's result.
    pub result: Option<String>,
    /// Number of messages.
    pub messages: Option<usize>,
}

/// A call of a tool.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Call {
    pub id: Option<String>,
    pub name: String,
    /// A string is sent verbatim, even if it is incomplete JSON.
    pub arguments: Value,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tokens {
    pub read: u64,
    pub cached: u64,
    pub written: u64,
}

/// The transport of an answer, with its faults.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct How {
    /// One JSON document in place of a stream.
    pub json: bool,
    /// Bytes sent at a time, which may split characters.
    pub bytes: usize,
    /// Characters of text or arguments in one chunk.
    pub piece: usize,
    /// The fragments of parallel calls are interleaved.
    pub mixed: bool,
    pub crlf: bool,
    /// Keep-alive comments are sent between the events.
    pub comments: bool,
    pub no_done: bool,
    pub no_finish: bool,
    pub no_index: bool,
    pub no_content_type: bool,
    /// Field of the thinking text; `reasoning_content` by default.
    pub thinking_field: Option<String>,
    /// Replaces the finish reason that fits.
    pub finish: Option<String>,
    /// The connection is closed after this many bytes of the body.
    pub cut: Option<usize>,
    pub hang: Option<Hang>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hang {
    /// No answer.
    Silent,
    /// The stream starts and stops.
    Stalled,
    /// The stream never ends; comments are sent for ever.
    Comments,
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            when: When::default(),
            times: 1,
            text: String::new(),
            thinking: String::new(),
            calls: vec![],
            usage: Some(Tokens { read: 10, cached: 0, written: 5 }),
            status: 200,
            headers: vec![],
            body: None,
            how: How::default(),
        }
    }
}

impl Answer {
    pub fn text(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    pub fn call(name: &str, arguments: Value) -> Self {
        Self::default().and_call(name, arguments)
    }

    pub fn and_call(mut self, name: &str, arguments: Value) -> Self {
        let id = Some(format!("{name}-{}", self.calls.len()));
        self.calls.push(Call { id, name: name.to_owned(), arguments });
        self
    }

    /// Returns an error response with a message.
    pub fn refusal(status: u16, message: &str) -> Self {
        let body = serde_json::json!({ "error": { "message": message, "type": "refused" } });
        Self { status, body: Some(body.to_string()), ..Self::default() }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn how(self, how: How) -> Self {
        Self { how, ..self }
    }

    pub fn when(self, when: When) -> Self {
        Self { when, ..self }
    }

    pub fn usage(self, usage: Option<Tokens>) -> Self {
        Self { usage, ..self }
    }

    pub fn always(self) -> Self {
        Self { times: 0, ..self }
    }
}

impl When {
    pub(super) fn fits(&self, nth: usize, request: &Request) -> bool {
        let last = request.messages().last().cloned().unwrap_or_default();
        let is_result = last["role"] == "tool";
        let is = |wanted: &Option<String>, check: &dyn Fn(&str) -> bool| wanted.as_deref().is_none_or(check);
        self.nth.is_none_or(|wanted| wanted == nth)
            && self.messages.is_none_or(|wanted| wanted == request.messages().len())
            && is(&self.model, &|model| request.body["model"] == model)
            && is(&self.offers, &|tool| request.offers().iter().any(|offered| offered == tool))
            && is(&self.contains, &|text| request.last().contains(text))
            && is(&self.result, &|text| is_result && request.last().contains(text))
    }
}
