//! Encodes an answer as the bytes that a server would send. Pure.

use serde_json::{Value, json};

use super::scenario::{Answer, Call};

/// The body, as one document or as a stream of events.
pub(super) fn body(answer: &Answer) -> String {
    if let Some(body) = &answer.body {
        return body.clone();
    }
    if answer.how.json { whole(answer).to_string() } else { stream(answer) }
}

fn whole(answer: &Answer) -> Value {
    let calls: Vec<Value> = answer.calls.iter().map(|call| function(call, &arguments(call))).collect();
    let mut message = json!({ "role": "assistant", "content": answer.text, thinking_field(answer): answer.thinking });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    let mut body = json!({
        "id": "answer", "object": "chat.completion", "created": 0, "model": "scripted",
        "choices": [{ "index": 0, "message": message, "finish_reason": finish(answer) }],
    });
    if let Some(usage) = usage(answer) {
        body["usage"] = usage;
    }
    body
}

fn stream(answer: &Answer) -> String {
    let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
    let pieces = |text: &str| pieces(text, answer.how.piece);
    deltas.extend(pieces(&answer.thinking).into_iter().map(|piece| json!({ thinking_field(answer): piece })));
    deltas.extend(pieces(&answer.text).into_iter().map(|piece| json!({ "content": piece })));
    deltas.extend(call_deltas(answer));
    let mut chunks: Vec<Value> = deltas.into_iter().map(|delta| chunk(json!([choice(delta, Value::Null)]))).collect();
    if !answer.how.no_finish {
        chunks.push(chunk(json!([choice(json!({}), finish(answer).into())])));
    }
    if let Some(usage) = usage(answer) {
        let mut last = chunk(json!([]));
        last["usage"] = usage;
        chunks.push(last);
    }
    let mut events: Vec<String> = chunks.into_iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    if !answer.how.no_done {
        events.push("data: [DONE]\n\n".to_owned());
    }
    let between = if answer.how.comments { ": keep-alive\n\n" } else { "" };
    let text = format!("{between}{}", events.join(between));
    if answer.how.crlf { text.replace('\n', "\r\n") } else { text }
}

fn chunk(choices: Value) -> Value {
    json!({ "id": "answer", "object": "chat.completion.chunk", "created": 0, "model": "scripted", "choices": choices })
}

fn choice(delta: Value, finish: Value) -> Value {
    json!({ "index": 0, "delta": delta, "finish_reason": finish })
}

/// Returns the fragments of all calls, one call after the other or interleaved.
fn call_deltas(answer: &Answer) -> Vec<Value> {
    let mut calls: Vec<Vec<Value>> = Vec::new();
    for (nth, call) in answer.calls.iter().enumerate() {
        let text = arguments(call);
        let mut parts = vec![function(call, "")];
        parts.extend(
            pieces(&text, answer.how.piece).into_iter().map(|piece| json!({ "function": { "arguments": piece } })),
        );
        if answer.how.no_index && answer.how.piece == 0 {
            parts = vec![function(call, &text)];
        }
        if !answer.how.no_index {
            parts.iter_mut().for_each(|part| part["index"] = nth.into());
        }
        calls.push(parts);
    }
    let order: Vec<Value> = match answer.how.mixed {
        false => calls.into_iter().flatten().collect(),
        true => {
            let longest = calls.iter().map(Vec::len).max().unwrap_or(0);
            (0..longest).flat_map(|nth| calls.iter().filter_map(move |call| call.get(nth).cloned())).collect()
        }
    };
    order.into_iter().map(|call| json!({ "tool_calls": [call] })).collect()
}

fn function(call: &Call, arguments: &str) -> Value {
    let mut function = json!({ "type": "function", "function": { "name": call.name, "arguments": arguments } });
    if let Some(id) = &call.id {
        function["id"] = id.as_str().into();
    }
    function
}

fn arguments(call: &Call) -> String {
    call.arguments.as_str().map_or_else(|| call.arguments.to_string(), str::to_owned)
}

fn pieces(text: &str, size: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(if size == 0 { letters.len().max(1) } else { size }).map(|piece| piece.iter().collect()).collect()
}

fn thinking_field(answer: &Answer) -> &str {
    answer.how.thinking_field.as_deref().unwrap_or("reasoning_content")
}

fn finish(answer: &Answer) -> &str {
    let fits = if answer.calls.is_empty() { "stop" } else { "tool_calls" };
    answer.how.finish.as_deref().unwrap_or(fits)
}

fn usage(answer: &Answer) -> Option<Value> {
    let used = answer.usage?;
    Some(json!({
        "prompt_tokens": used.read, "completion_tokens": used.written, "total_tokens": used.read + used.written,
        "prompt_tokens_details": { "cached_tokens": used.cached },
    }))
}
