//! JSON that clients send as input or update, as the engine takes it: without fields that are no channels, and with messages as changes
//! of a list. Knows no request.

use serde_json::{Map, Value, json};
use superstep::graph::AnyGraph;
use superstep::graph::state::Channel;

/// The id in a removal that stands for all messages.
const ALL: &str = "__remove_all__";

/// Returns an object without the fields that are no channels of the graph: clients send more than a graph takes.
pub(crate) fn known_channels(graph: &AnyGraph, input: &Value) -> Value {
    let Value::Object(fields) = input else { return input.clone() };
    let mut known = Map::new();
    for (name, value) in fields {
        if let Some(channel) = graph.channels().iter().find(|channel| channel.name() == name) {
            known.insert(name.clone(), if takes_changes(channel) { changes(value) } else { value.clone() });
        }
    }
    known.into()
}

/// Returns whether writes of a channel are changes of a list that is merged by id.
pub(crate) fn takes_changes(channel: &Channel) -> bool {
    channel.rule_name() == "messages" && channel.write_type().contains("Change")
}

/// Returns messages as changes of a list: a message alone is a list of one.
fn changes(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(change).collect(),
        Value::Object(fields) if fields.contains_key("$overwrite") => value.clone(),
        one => json!([change(one)]),
    }
}

fn change(message: &Value) -> Value {
    let Value::Object(fields) = message else {
        return if message == "remove_all" { message.clone() } else { json!({ "put": message }) };
    };
    let is_change = fields.len() == 1 && (fields.contains_key("put") || fields.contains_key("remove"));
    match (fields.get("type").and_then(Value::as_str), fields.get("id").and_then(Value::as_str)) {
        _ if is_change => message.clone(),
        (Some("remove"), Some(ALL)) => json!("remove_all"),
        (Some("remove"), Some(id)) => json!({ "remove": id }),
        _ => json!({ "put": message }),
    }
}

/// Returns the messages of a write, as a client sent them.
pub(crate) fn plain_message(change: &Value) -> Value {
    match change.as_object().filter(|fields| fields.len() == 1) {
        Some(fields) if fields.contains_key("put") => fields["put"].clone(),
        Some(fields) if fields.contains_key("remove") => json!({ "type": "remove", "id": fields["remove"] }),
        _ if change == "remove_all" => json!({ "type": "remove", "id": ALL }),
        _ => change.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::one(json!({ "role": "user", "content": "a" }), json!([{ "put": { "role": "user", "content": "a" } }]))]
    #[case::text(json!("a"), json!([{ "put": "a" }]))]
    #[case::removal(json!([{ "type": "remove", "id": "m1" }]), json!([{ "remove": "m1" }]))]
    #[case::all(json!([{ "type": "remove", "id": ALL }, "b"]), json!(["remove_all", { "put": "b" }]))]
    #[case::changes(json!([{ "put": "a" }]), json!([{ "put": "a" }]))]
    #[case::overwrite(json!({ "$overwrite": [] }), json!({ "$overwrite": [] }))]
    fn messages_are_changes(#[case] sent: Value, #[case] taken: Value) {
        assert_eq!(changes(&sent), taken);
    }

    #[rstest::rstest]
    #[case(json!({ "content": "a" }))]
    #[case(json!({ "type": "remove", "id": "m1" }))]
    #[case(json!({ "type": "remove", "id": ALL }))]
    fn a_change_is_shown_as_it_was_sent(#[case] sent: Value) {
        assert_eq!(plain_message(&change(&sent)), sent);
    }
}
