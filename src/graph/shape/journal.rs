//! The journal of a task as JSON.

use serde_json::{Map, Value, json};
use superstep_base::time::rfc3339;

use super::fields::{serialize_as, time};
use super::question::AnswerShape;
use crate::checkpoint::EffectEnd;
use crate::graph::view::{
    ChildRun, JournalEffect, JournalEntry, JournalKind, JournalMessage, JournalQuestion, JournalRun, TaskJournal,
};

fn shape(journal: &TaskJournal) -> Value {
    let TaskJournal { entries, questions, children, messages } = journal;
    json!({ "entries": entries, "questions": questions, "children": children, "messages": messages })
}

fn entry(entry: &JournalEntry) -> Value {
    let JournalEntry { key, path, by_handler, within, attempt, at, kind } = entry;
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| _ = out.insert(name.to_owned(), value);
    let (kind_name, name, value) = match kind {
        JournalKind::Effect(effect) => {
            let (name, value) = match &effect.result {
                Ok(result) => ("result", result.clone()),
                Err(error) => ("error", error.as_str().into()),
            };
            self::effect(effect, *at, &mut put);
            ("effect", name, value)
        }
        JournalKind::Value(value) => ("value", "value", value.clone()),
        JournalKind::Time(at) => ("time", "value", time(*at).into()),
        JournalKind::Random(number) => ("random", "value", (*number).into()),
        JournalKind::Id(id) => ("id", "value", id.as_str().into()),
        JournalKind::Signal(signal) => ("signal", "value", signal.clone()),
        JournalKind::Sleep(until) => ("sleep", "until", time(*until).into()),
    };
    put("kind", kind_name.into());
    put(name, value);
    put("key", key.as_str().into());
    put("attempt", json!(attempt));
    put("at", rfc3339(*at).into());
    if *by_handler {
        put("by_handler", true.into());
    }
    place(path, within, &mut put);
    Value::Object(out)
}

fn effect(effect: &JournalEffect, at: u64, put: &mut impl FnMut(&str, Value)) {
    put("arguments", effect.arguments.clone());
    put("idempotency_key", effect.idempotency_key.as_str().into());
    put("started_at", rfc3339(at).into());
    put("ended_at", json!(effect.ended_at.map(rfc3339)));
    put("repeated", effect.is_repeated().into());
    put("runs", json!(effect.runs));
    if !effect.messages.is_empty() {
        put("messages", json!(effect.messages));
    }
}

/// Writes the path and the outer effects, unless empty.
fn place(path: &[String], within: &[String], put: &mut impl FnMut(&str, Value)) {
    for (name, names) in [("path", path), ("within", within)] {
        if !names.is_empty() {
            put(name, json!(names));
        }
    }
}

fn run(run: &JournalRun) -> Value {
    let end = match run.end {
        EffectEnd::Done => "done",
        EffectEnd::Found => "found",
        EffectEnd::Failed => "failed",
        EffectEnd::Dropped => "dropped",
    };
    let (started, ended) = (rfc3339(run.started_at), run.ended_at.map(rfc3339));
    json!({ "attempt": run.attempt, "started_at": started, "ended_at": ended, "end": end })
}

fn question(asked: &JournalQuestion) -> Value {
    let JournalQuestion { name, node, payload, answer } = asked;
    json!({ "name": name, "node": node, "payload": payload, "answer": answer.as_ref().map(AnswerShape::from) })
}

fn child(child: &ChildRun) -> Value {
    let ChildRun { call, by_handler, checkpoint, step, at, is_over } = child;
    json!({
        "call": call, "by_handler": by_handler, "checkpoint": checkpoint.0, "step": step, "at": rfc3339(*at), "over": is_over,
    })
}

fn message(message: &JournalMessage) -> Value {
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| _ = out.insert(name.to_owned(), value);
    put("at", rfc3339(message.at).into());
    put("value", message.value.clone());
    place(&message.path, &message.within, &mut put);
    Value::Object(out)
}

serialize_as!(TaskJournal => shape);
serialize_as!(JournalEntry => entry);
serialize_as!(JournalRun => run);
serialize_as!(JournalQuestion => question);
serialize_as!(ChildRun => child);
serialize_as!(JournalMessage => message);
