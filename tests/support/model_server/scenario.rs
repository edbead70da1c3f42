//! What a server answers, when, and with which faults. In code or YAML; pure.

use serde::Deserialize;
use serde_json::Value;

use super::Asked;

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
    /// How often it is given; 0: always.
    pub times: usize,
    pub text: String,
    pub thinking: String,
    pub calls: Vec<Call>,
    pub usage: Option<Used>,
    /// Another status than 200 is answered with `body` alone.
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// Sent as it is, instead of all else.
    pub body: Option<String>,
    pub how: How,
}

/// Which requests an answer fits.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct When {
    /// The server's n-th request, from 0.
    pub nth: Option<usize>,
    pub model: Option<String>,
    /// A tool that is offered.
    pub offers: Option<String>,
    /// Stands in the last message.
    pub contains: Option<String>,
    /// The last message is a tool's and holds this.
    pub result: Option<String>,
    /// How many messages there are.
    pub messages: Option<usize>,
}

/// A call of a tool.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Call {
    pub id: Option<String>,
    pub name: String,
    /// A string is sent as it is, cut JSON too.
    pub arguments: Value,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Used {
    pub read: u64,
    pub cached: u64,
    pub written: u64,
}

/// How an answer is sent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct How {
    /// As one JSON document, not as a stream.
    pub json: bool,
    /// So many bytes at a time, in the middle of characters too.
    pub bytes: usize,
    /// So many characters of text and arguments in a chunk.
    pub piece: usize,
    /// The pieces of parallel calls come in turns.
    pub mixed: bool,
    pub crlf: bool,
    /// Keep-alive comments between the events.
    pub comments: bool,
    pub no_done: bool,
    pub no_finish: bool,
    pub no_index: bool,
    pub no_content_type: bool,
    /// Thinking goes to this field; `reasoning_content` unless said.
    pub thinking_field: Option<String>,
    /// Instead of the reason that fits.
    pub finish: Option<String>,
    /// The connection is closed after so many bytes of the body.
    pub cut: Option<usize>,
    pub hang: Option<Hang>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hang {
    /// Nothing is answered.
    Silent,
    /// The stream begins and stops.
    Begun,
    /// The stream never comes to its end; comments go on for ever.
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
            usage: Some(Used { read: 10, cached: 0, written: 5 }),
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

    /// A refusal with a message.
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

    pub fn usage(self, usage: Option<Used>) -> Self {
        Self { usage, ..self }
    }

    pub fn always(self) -> Self {
        Self { times: 0, ..self }
    }
}

impl When {
    pub(super) fn fits(&self, nth: usize, asked: &Asked) -> bool {
        let last = asked.messages().last().cloned().unwrap_or_default();
        let is_result = last["role"] == "tool";
        let is = |wanted: &Option<String>, check: &dyn Fn(&str) -> bool| wanted.as_deref().is_none_or(check);
        self.nth.is_none_or(|wanted| wanted == nth)
            && self.messages.is_none_or(|wanted| wanted == asked.messages().len())
            && is(&self.model, &|model| asked.body["model"] == model)
            && is(&self.offers, &|tool| asked.offers().iter().any(|offered| offered == tool))
            && is(&self.contains, &|text| asked.last().contains(text))
            && is(&self.result, &|text| is_result && asked.last().contains(text))
    }
}
