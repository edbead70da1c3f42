//! Channels and namespaces that a reader asks for. Knows the form of a request, and no connection.

use serde_json::Value;

use super::event::ProtocolEvent;

/// The channels of the protocol. A custom event with a name is also on a channel of its own, `custom:NAME`.
const CHANNELS: [&str; 9] =
    ["values", "updates", "messages", "tools", "lifecycle", "input", "tasks", "checkpoints", "custom"];
/// The first part of the channel of a custom event with a name.
const NAMED: &str = "custom:";

/// The events that a reader asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filter {
    channels: Vec<String>,
    /// Prefixes of namespaces; all namespaces without any.
    namespaces: Vec<Vec<String>>,
    /// The number of levels below a prefix.
    depth: Option<u64>,
    /// The number of the last event that the reader has.
    pub since: u64,
}

impl Filter {
    /// Reads the parameters of a request.
    ///
    /// # Errors
    /// A sentence that names the field that cannot be read.
    pub(crate) fn parse(params: &Value) -> Result<Self, String> {
        let channels = texts(&params["channels"]).ok_or("`channels` must be a list of names of channels")?;
        if let Some(unknown) = channels.iter().find(|name| !is_channel(name)) {
            let known = CHANNELS.join(", ");
            return Err(format!("there is no channel `{unknown}`: the channels are {known}, {NAMED}NAME"));
        }
        if channels.is_empty() {
            return Err("`channels` is empty: name at least one channel".to_owned());
        }
        let namespaces = match &params["namespaces"] {
            Value::Null => Some(vec![]),
            Value::Array(prefixes) => prefixes.iter().map(texts).collect(),
            _ => None,
        };
        let namespaces = namespaces.ok_or("`namespaces` must be a list of lists of texts")?;
        let (depth, since) = (number(params, "depth")?, number(params, "since")?.unwrap_or_default());
        Ok(Self { channels, namespaces, depth, since })
    }

    /// Asks for all events after a number.
    pub(crate) fn all_after(since: u64) -> Self {
        Self { channels: CHANNELS.map(str::to_owned).to_vec(), namespaces: vec![], depth: None, since }
    }

    /// Returns whether the reader asks for an event.
    pub(crate) fn has(&self, event: &ProtocolEvent) -> bool {
        event.seq > self.since && self.has_channel(event) && self.has_namespace(&event.namespace)
    }

    fn has_channel(&self, event: &ProtocolEvent) -> bool {
        let channel = match event.method {
            "gap" => return true, // what is missing concerns all readers
            "input.requested" | "input.answered" => "input",
            method => method,
        };
        let name = event.data["name"].as_str().filter(|_| channel == "custom");
        let is_named = |asked: &str| asked.strip_prefix(NAMED).is_some_and(|asked| name == Some(asked));
        self.channels.iter().any(|asked| asked == channel || is_named(asked))
    }

    fn has_namespace(&self, namespace: &[String]) -> bool {
        let is_near =
            |prefix: &Vec<String>| self.depth.is_none_or(|depth| (namespace.len() - prefix.len()) as u64 <= depth);
        match self.namespaces.is_empty() {
            true => self.depth.is_none_or(|depth| namespace.len() as u64 <= depth),
            false => self.namespaces.iter().any(|prefix| is_below(namespace, prefix) && is_near(prefix)),
        }
    }
}

fn is_channel(name: &str) -> bool {
    CHANNELS.contains(&name) || name.strip_prefix(NAMED).is_some_and(|name| !name.is_empty())
}

/// Returns whether a namespace begins with a prefix. A part of the prefix without a task is any task of its node.
fn is_below(namespace: &[String], prefix: &[String]) -> bool {
    let is_same = |(part, asked): (&String, &String)| {
        part == asked || (!asked.contains(':') && part.split(':').next() == Some(asked.as_str()))
    };
    prefix.len() <= namespace.len() && namespace.iter().zip(prefix).all(is_same)
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

fn number(params: &Value, name: &str) -> Result<Option<u64>, String> {
    match &params[name] {
        Value::Null => Ok(None),
        value => value.as_u64().map(Some).ok_or_else(|| format!("`{name}` must be a whole number from 0")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(method: &'static str, namespace: &[&str], data: Value) -> ProtocolEvent {
        let namespace = namespace.iter().map(|part| (*part).to_owned()).collect();
        ProtocolEvent { id: "e".into(), seq: 5, method, namespace, node: None, at: 0, data }
    }

    #[rstest::rstest]
    #[case::channel(json!({ "channels": ["values"] }), "values", &[], true)]
    #[case::other_channel(json!({ "channels": ["updates"] }), "values", &[], false)]
    #[case::input(json!({ "channels": ["input"] }), "input.requested", &[], true)]
    #[case::all_custom(json!({ "channels": ["custom"] }), "custom", &[], true)]
    #[case::named(json!({ "channels": ["custom:a"] }), "custom", &[], true)]
    #[case::other_name(json!({ "channels": ["custom:b"] }), "custom", &[], false)]
    #[case::gap(json!({ "channels": ["tools"] }), "gap", &[], true)]
    #[case::since(json!({ "channels": ["values"], "since": 4 }), "values", &[], true)]
    #[case::seen(json!({ "channels": ["values"], "since": 5 }), "values", &[], false)]
    #[case::below(json!({ "channels": ["values"], "namespaces": [["child"]] }), "values", &["child:3-0", "x:1"], true)]
    #[case::task(json!({ "channels": ["values"], "namespaces": [["child:3-1"]] }), "values", &["child:3-0"], false)]
    #[case::above(json!({ "channels": ["values"], "namespaces": [["child"]] }), "values", &[], false)]
    #[case::root(json!({ "channels": ["values"], "namespaces": [[]], "depth": 0 }), "values", &["child:3-0"], false)]
    #[case::deep(json!({ "channels": ["values"], "namespaces": [[]], "depth": 1 }), "values", &["child:3-0"], true)]
    fn an_event_is_asked_for(
        #[case] params: Value,
        #[case] method: &'static str,
        #[case] namespace: &[&str],
        #[case] is_wanted: bool,
    ) {
        let filter = Filter::parse(&params).unwrap();
        assert_eq!(filter.has(&event(method, namespace, json!({ "name": "a" }))), is_wanted);
    }

    #[rstest::rstest]
    #[case(json!({}), "`channels`")]
    #[case(json!({ "channels": ["nope"] }), "no channel `nope`")]
    #[case(json!({ "channels": ["custom:"] }), "no channel `custom:`")]
    #[case(json!({ "channels": [] }), "empty")]
    #[case(json!({ "channels": ["values"], "namespaces": "x" }), "`namespaces`")]
    #[case(json!({ "channels": ["values"], "depth": -1 }), "`depth`")]
    #[case(json!({ "channels": ["values"], "since": "x" }), "`since`")]
    fn a_request_that_cannot_be_read_names_its_field(#[case] params: Value, #[case] named: &str) {
        let error = Filter::parse(&params).unwrap_err();
        assert!(error.contains(named), "{error}");
    }
}
