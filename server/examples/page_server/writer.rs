//! A graph whose nodes show themselves at work: what they emit and the words of a message come piece by piece, and a person is asked in
//! between.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::prelude::*;
use uuid::Uuid;

/// The pieces that each node emits.
const PIECES: u64 = 20;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
pub(crate) struct Report {
    /// The subject of the report.
    topic: Option<String>,
    /// The pause before each piece, in milliseconds; 250 unless set.
    ms: Option<u64>,
    outline: Option<String>,
    changes: Option<Value>,
    text: Option<String>,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = Value, name = "read_outline")]
struct ReadOutline {
    outline: String,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
pub(crate) enum Desk {
    Outline,
    Ask,
    Write,
}

async fn outline(report: Arc<Report>, ctx: Ctx) -> Result<ReportUpdate, NodeError> {
    for section in 1..=PIECES {
        ctx.emit(json!({ "section": section, "of": PIECES })).await;
        pause(&report).await;
    }
    Ok(Report::update().outline(Some(format!("{PIECES} sections about {}", topic(&report)))))
}

async fn ask(report: Arc<Report>, ctx: Ctx) -> Result<ReportUpdate, NodeError> {
    let outline = report.outline.clone().unwrap_or_default();
    Ok(Report::update().changes(Some(ctx.interrupt(ReadOutline { outline })?)))
}

async fn write(report: Arc<Report>, ctx: Ctx) -> Result<ReportUpdate, NodeError> {
    let id = format!("report-{}", Uuid::now_v7());
    let mut text = String::new();
    for section in 1..=PIECES {
        let piece = format!("Section {section} is about {}. ", topic(&report));
        ctx.emit_message(json!({ "type": "AIMessageChunk", "id": id, "content": piece, "tool_call_chunks": [] })).await;
        text.push_str(&piece);
        pause(&report).await;
    }
    Ok(Report::update().text(Some(text)))
}

fn topic(report: &Report) -> &str {
    report.topic.as_deref().unwrap_or("nothing")
}

async fn pause(report: &Report) {
    tokio::time::sleep(Duration::from_millis(report.ms.unwrap_or(250))).await;
}

/// Returns the graph `writer`.
pub(crate) fn writer() -> Result<CompiledGraph<Report, Desk>, CompileError> {
    StateGraph::new()
        .add_node(Desk::Outline, outline)
        .add_node(Desk::Ask, ask.asks::<ReadOutline>())
        .add_node(Desk::Write, write)
        .add_sequence([Desk::Outline, Desk::Ask, Desk::Write])
        .compile()
}
