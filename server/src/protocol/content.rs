//! Messages as the protocol shows them: content of models as a list of blocks, and no fields that are empty. Knows the form of LangChain's
//! messages; must not know events.

use serde_json::{Map, Value, json};
use superstep_base::gather;

/// The types of messages in states.
const KINDS: [&str; 6] = ["ai", "human", "system", "tool", "function", "remove"];

/// Returns a state, or a part of one, with its messages as the protocol shows them.
pub(super) fn plain_state(state: &Value) -> Value {
    let Value::Object(channels) = state else { return plain_value(state) };
    gather::<Map<_, _>, _>(channels.iter().map(|(name, value)| (name.clone(), plain_value(value)))).into()
}

fn plain_value(value: &Value) -> Value {
    match value {
        Value::Array(items) if items.iter().any(is_message) => items.iter().map(plain_message).collect(),
        one if is_message(one) => plain_message(one),
        other => other.clone(),
    }
}

fn is_message(value: &Value) -> bool {
    let is_kind = value["type"].as_str().is_some_and(|kind| KINDS.contains(&kind));
    is_kind && (value.get("content").is_some() || value["type"] == "remove")
}

/// Returns a message without empty fields, and that of a model with its content as blocks.
fn plain_message(message: &Value) -> Value {
    let Value::Object(fields) = message else { return message.clone() };
    let mut plain = Map::new();
    for (name, value) in fields {
        match name.as_str() {
            "content" if message["type"] == "ai" => _ = plain.insert(name.clone(), blocks(value).into()),
            "content" | "type" | "id" => _ = plain.insert(name.clone(), value.clone()),
            _ if is_empty(value) => {}
            _ => _ = plain.insert(name.clone(), value.clone()),
        }
    }
    plain.into()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Returns a content as a list of blocks: a text is one block, an empty one none.
pub(super) fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) if text.is_empty() => vec![],
        Value::String(text) => vec![text_block(text)],
        Value::Array(items) => items.iter().map(block).collect(),
        _ => vec![],
    }
}

pub(super) fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn block(item: &Value) -> Value {
    match item {
        Value::String(text) => text_block(text),
        item if item["type"] == "text_delta" => text_block(item["text"].as_str().unwrap_or_default()),
        item if item["type"] == "thinking" => json!({ "type": "reasoning", "reasoning": item["thinking"] }),
        item if item["type"].is_string() => item.clone(),
        item => json!({ "type": "non_standard", "value": item }),
    }
}

/// Returns a call of a tool as a block: one whose arguments cannot be read is invalid.
pub(super) fn call_block(id: &Value, name: &Value, args: &str) -> Value {
    let text = if args.is_empty() { "{}" } else { args };
    match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(args) => json!({ "type": "tool_call", "id": id, "name": name, "args": args }),
        Err(error) => json!({
            "type": "invalid_tool_call", "id": id, "name": name, "args": args, "error": error.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_blocks_and_no_empty_fields() {
        let ai = json!({
            "type": "ai", "id": "m", "content": "hello", "name": null, "tool_calls": [], "additional_kwargs": {},
            "usage_metadata": { "total_tokens": 3 },
        });
        let human = json!({ "type": "human", "id": "h", "content": "hi", "name": null });
        let state = json!({ "n": 1, "messages": [human, ai], "list": [1, 2], "last": ai });
        let plain = json!({
            "type": "ai", "id": "m", "content": [{ "type": "text", "text": "hello" }],
            "usage_metadata": { "total_tokens": 3 },
        });
        let human = json!({ "type": "human", "id": "h", "content": "hi" });
        assert_eq!(plain_state(&state), json!({ "n": 1, "messages": [human, plain], "list": [1, 2], "last": plain }));
    }

    #[rstest::rstest]
    #[case(json!(""), json!([]))]
    #[case(json!("a"), json!([{ "type": "text", "text": "a" }]))]
    #[case(json!(["a", { "type": "image", "url": "u" }]), json!([{ "type": "text", "text": "a" }, { "type": "image", "url": "u" }]))]
    #[case(json!([{ "x": 1 }]), json!([{ "type": "non_standard", "value": { "x": 1 } }]))]
    fn a_content_is_a_list_of_blocks(#[case] content: Value, #[case] expected: Value) {
        assert_eq!(Value::from(blocks(&content)), expected);
    }

    #[test]
    fn arguments_of_a_call_are_read() {
        let call = |args| call_block(&json!("c"), &json!("search"), args)["type"].clone();
        assert_eq!(
            (call("{\"q\": 1}"), call(""), call("{")),
            (json!("tool_call"), json!("tool_call"), json!("invalid_tool_call"))
        );
    }
}
