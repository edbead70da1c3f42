//! Pieces of messages as blocks that start, grow and end, one after the other; and calls of tools as events of their own. Knows the form
//! of LangChain's messages and of the protocol's, and no run.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::content::{blocks, call_block};

/// Data of an event on the channel of messages or of tools.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MessagePart {
    /// `messages` or `tools`.
    pub method: &'static str,
    pub node: Option<String>,
    pub data: Value,
}

/// The messages of one graph that have begun and not ended, by their ids.
#[derive(Default)]
pub(super) struct OpenMessages(BTreeMap<String, OpenMessage>);

/// A message that comes in pieces.
struct OpenMessage {
    id: String,
    node: Option<String>,
    /// The task that it comes from, as the last part of a namespace.
    task: String,
    /// The number of blocks that have begun.
    blocks: usize,
    /// The block that grows.
    current: Option<Value>,
    usage: Value,
    parts: Vec<MessagePart>,
}

impl OpenMessages {
    /// Returns the events of a piece of a message, or of a whole one, with what is known about it.
    pub(super) fn convert(&mut self, message: &Value, metadata: &Value) -> Vec<MessagePart> {
        let Some(id) = message["id"].as_str() else { return vec![] };
        if message["type"] != "AIMessageChunk" {
            return OpenMessage::new(id, metadata).whole(message);
        }
        let is_new = !self.0.contains_key(id);
        let open = self.0.entry(id.to_owned()).or_insert_with(|| OpenMessage::new(id, metadata));
        if is_new {
            open.start("ai", &Value::Null);
        }
        open.add(message);
        let mut parts = std::mem::take(&mut open.parts);
        if message["chunk_position"] == "last" {
            parts.extend(self.0.remove(id).map(OpenMessage::end).unwrap_or_default());
        }
        parts
    }

    /// Ends the messages of a task.
    pub(super) fn end_task(&mut self, task: &str) -> Vec<MessagePart> {
        let ids: Vec<String> = self.0.iter().filter(|(_, open)| open.task == task).map(|(id, _)| id.clone()).collect();
        ids.iter().filter_map(|id| self.0.remove(id)).flat_map(OpenMessage::end).collect()
    }

    /// Ends all messages.
    pub(super) fn end(&mut self) -> Vec<MessagePart> {
        std::mem::take(&mut self.0).into_values().flat_map(OpenMessage::end).collect()
    }
}

impl OpenMessage {
    fn new(id: &str, metadata: &Value) -> Self {
        let path = metadata["langgraph_checkpoint_ns"].as_str().unwrap_or_default();
        let task = path.rsplit('|').next().and_then(|last| last.split_once(':')).map_or("", |(_, task)| task);
        Self {
            id: id.to_owned(),
            node: metadata["langgraph_node"].as_str().map(str::to_owned),
            task: task.to_owned(),
            blocks: 0,
            current: None,
            usage: Value::Null,
            parts: vec![],
        }
    }

    /// Adds an event. The id of the message is its run too: clients keep messages of one node apart by it.
    fn send(&mut self, event: &str, fields: Value) {
        let mut data = json!({ "event": event, "message_id": self.id, "run_id": self.id });
        if let (Value::Object(data), Value::Object(fields)) = (&mut data, fields) {
            data.extend(fields);
        }
        self.parts.push(MessagePart { method: "messages", node: self.node.clone(), data });
    }

    fn start(&mut self, role: &str, call: &Value) {
        let mut fields = json!({ "id": self.id, "role": role, "metadata": { "langgraph_node": self.node } });
        if call.is_string() {
            fields["tool_call_id"] = call.clone();
        }
        self.send("message-start", fields);
    }

    /// Adds a piece of a message of a model.
    fn add(&mut self, piece: &Value) {
        for block in blocks(&piece["content"]) {
            self.grow(block);
        }
        for chunk in piece["tool_call_chunks"].as_array().into_iter().flatten() {
            self.grow_call(chunk);
        }
        if piece["usage_metadata"].is_object() {
            self.usage = piece["usage_metadata"].clone();
        }
    }

    /// Adds a part of a block: texts grow, other blocks come whole.
    fn grow(&mut self, block: Value) {
        let field = match block["type"].as_str() {
            Some("text") => "text",
            Some("reasoning") => "reasoning",
            _ => {
                self.begin(block);
                return self.finish();
            }
        };
        let piece = block[field].as_str().unwrap_or_default();
        if piece.is_empty() {
            return;
        }
        if self.current.as_ref().is_none_or(|current| current["type"] != field) {
            self.begin(json!({ "type": field, field: "" }));
        }
        self.append(field, piece, json!({ "type": format!("{field}-delta"), field: piece }));
    }

    /// Adds a part of a call of a tool: a part with another index or an id of its own is a new call.
    fn grow_call(&mut self, chunk: &Value) {
        let is_same = self.current.as_ref().is_some_and(|current| {
            current["type"] == "tool_call_chunk"
                && current["index"] == chunk["index"]
                && (chunk["id"].is_null() || chunk["id"] == current["id"])
        });
        if !is_same {
            let (id, name, index) = (&chunk["id"], &chunk["name"], &chunk["index"]);
            self.begin(json!({ "type": "tool_call_chunk", "id": id, "name": name, "args": "", "index": index }));
        }
        let args = chunk["args"].as_str().unwrap_or_default();
        if !args.is_empty() {
            self.append("args", args, json!({ "type": "tool-call-delta", "args": args }));
        }
    }

    fn begin(&mut self, block: Value) {
        self.finish();
        let index = self.blocks;
        self.blocks += 1;
        self.send("content-block-start", json!({ "index": index, "content": block }));
        self.current = Some(block);
    }

    fn append(&mut self, field: &str, piece: &str, delta: Value) {
        if let Some(Value::String(text)) = self.current.as_mut().and_then(|current| current.get_mut(field)) {
            text.push_str(piece);
        }
        let index = self.blocks.saturating_sub(1);
        self.send("content-block-delta", json!({ "index": index, "delta": delta }));
    }

    /// Ends the block that grows.
    fn finish(&mut self) {
        let Some(block) = self.current.take() else { return };
        let block = match block["type"] == "tool_call_chunk" {
            true => call_block(&block["id"], &block["name"], block["args"].as_str().unwrap_or_default()),
            false => block,
        };
        let index = self.blocks.saturating_sub(1);
        self.send("content-block-finish", json!({ "index": index, "content": block }));
        if block["type"] == "tool_call" {
            self.start_tool(&block);
        }
    }

    fn start_tool(&mut self, call: &Value) {
        let (id, name, input) = (&call["id"], &call["name"], &call["args"]);
        let data = json!({ "event": "tool-started", "tool_call_id": id, "tool_name": name, "input": input });
        self.parts.push(MessagePart { method: "tools", node: self.node.clone(), data });
    }

    /// Ends the message.
    fn end(mut self) -> Vec<MessagePart> {
        self.finish();
        let fields = match self.usage.take() {
            Value::Null => Map::new(),
            usage => Map::from_iter([("usage".to_owned(), usage)]),
        };
        self.send("message-finish", fields.into());
        self.parts
    }

    /// Returns the events of a message that came in one piece.
    fn whole(mut self, message: &Value) -> Vec<MessagePart> {
        let (role, call) = (message["type"].as_str().unwrap_or_default(), &message["tool_call_id"]);
        self.start(role, call);
        self.add(message);
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            self.begin(call_block(&call["id"], &call["name"], &call["args"].to_string()));
        }
        let end_of_tool = (role == "tool" && call.is_string()).then(|| self.end_of_tool(message));
        let mut parts = self.end();
        parts.extend(end_of_tool);
        parts
    }

    fn end_of_tool(&self, message: &Value) -> MessagePart {
        let id = &message["tool_call_id"];
        let data = match message["status"] == "error" {
            true => json!({ "event": "tool-error", "tool_call_id": id, "message": text(&message["content"]) }),
            false => json!({ "event": "tool-finished", "tool_call_id": id, "output": message }),
        };
        MessagePart { method: "tools", node: self.node.clone(), data }
    }
}

fn text(content: &Value) -> String {
    blocks(content).iter().filter_map(|block| block["text"].as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(content: Value, more: Value) -> Value {
        let mut chunk = json!({ "type": "AIMessageChunk", "id": "m", "content": content });
        chunk.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        chunk
    }

    /// Returns the events of pieces in brief.
    fn convert(pieces: &[Value]) -> Vec<String> {
        let metadata = json!({ "langgraph_node": "agent", "langgraph_checkpoint_ns": "agent:2-0" });
        let mut open = OpenMessages::default();
        let mut parts: Vec<_> = pieces.iter().flat_map(|piece| open.convert(piece, &metadata)).collect();
        parts.extend(open.end());
        let brief = |part: &MessagePart| {
            let data = &part.data;
            let what = ["delta", "content"].iter().find_map(|name| data.get(name));
            format!("{} {}", data["event"].as_str().unwrap(), what.unwrap_or(&Value::Null))
        };
        parts.iter().map(brief).collect()
    }

    #[test]
    fn a_text_in_pieces_is_a_block_that_grows() {
        let pieces = [
            chunk(json!("a"), json!({})),
            chunk(json!(" b"), json!({})),
            chunk(json!(""), json!({ "chunk_position": "last" })),
        ];
        assert_eq!(
            convert(&pieces),
            [
                "message-start null",
                "content-block-start {\"text\":\"\",\"type\":\"text\"}",
                "content-block-delta {\"text\":\"a\",\"type\":\"text-delta\"}",
                "content-block-delta {\"text\":\" b\",\"type\":\"text-delta\"}",
                "content-block-finish {\"text\":\"a b\",\"type\":\"text\"}",
                "message-finish null",
            ]
        );
    }

    #[test]
    fn calls_of_tools_are_blocks_and_start_the_tools() {
        let call = |id: Value, args: &str, index: u64| json!({ "tool_call_chunks": [{ "id": id, "name": "search", "args": args, "index": index }] });
        let pieces = [
            chunk(json!([{ "type": "thinking", "thinking": "hm" }]), json!({})),
            chunk(json!(""), call(json!("c1"), "{\"q\":", 0)),
            chunk(json!(""), call(Value::Null, "1}", 0)),
            chunk(json!(""), call(json!("c2"), "{", 1)),
        ];
        let events = convert(&pieces);
        let names: Vec<_> = events.iter().map(|event| event.split(' ').next().unwrap()).collect();
        assert_eq!(
            names,
            [
                "message-start",
                "content-block-start",
                "content-block-delta",
                "content-block-finish",
                "content-block-start",
                "content-block-delta",
                "content-block-delta",
                "content-block-finish",
                "tool-started",
                "content-block-start",
                "content-block-delta",
                "content-block-finish",
                "message-finish",
            ]
        );
        assert!(events[7].contains("\"args\":{\"q\":1}") && events[11].contains("invalid_tool_call"), "{events:?}");
    }

    #[test]
    fn a_whole_message_has_the_same_events() {
        let tool = json!({ "type": "tool", "id": "t", "content": "42", "tool_call_id": "c1" });
        let events = convert(&[tool]);
        assert_eq!(events.first().unwrap(), "message-start null");
        assert!(events.last().unwrap().starts_with("tool-finished"), "{events:?}");
        let human = json!({ "type": "human", "id": "h", "content": "hi" });
        assert_eq!(convert(&[human]).len(), 5);
    }

    #[test]
    fn messages_of_a_task_end_with_it() {
        let metadata =
            |task: &str| json!({ "langgraph_node": "a", "langgraph_checkpoint_ns": format!("x:1-0|a:{task}") });
        let mut open = OpenMessages::default();
        let piece = |id: &str| json!({ "type": "AIMessageChunk", "id": id, "content": "x" });
        open.convert(&piece("m1"), &metadata("2-0"));
        open.convert(&piece("m2"), &metadata("2-1"));
        assert!(open.end_task("2-0").iter().all(|part| part.data["message_id"] == "m1"));
        assert_eq!(open.end().last().unwrap().data["message_id"], "m2");
    }
}
