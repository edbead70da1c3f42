//! The report of a thread, and a checkpoint with its tasks and their journals, as lines for people.

use serde_json::Value;
use superstep_base::time::parse;

use super::escape::{clean, clean_lines, safe_json};
use super::progress::{count, dollars, time};
use super::story;
use super::values::{text, value};
use crate::shapes::{
    AnswerShape, BlockingNode, CheckpointReport, OpenQuestion, Origin, ReplacedValue, RunningShape, TaskReport,
    TermsShape, ThreadReport,
};
use crate::time::now;
use superstep::checkpoint::StopRecord;

/// Returns a thread's status, state and pending questions.
pub(crate) fn report(report: &ThreadReport) -> String {
    let mut text = format!("{}: {}\n", clean(&report.thread), summary(report));
    let at = report.checkpoint.map(|checkpoint| format!(", checkpoint {checkpoint}")).unwrap_or_default();
    text.push_str(&format!("  graph {}, superstep {}{at}\n", clean(&report.graph), report.step));
    text.push_str(origin(report.origin));
    if !report.next.is_empty() {
        text.push_str(&format!("  next: {}\n", clean(&report.next.join(", "))));
    }
    text.push_str(&stops(report));
    text.push_str(&signals(report));
    report.help.iter().for_each(|help| text.push_str(&format!("  help: {}\n", clean(help))));
    match &report.summary {
        Some(summary) => summary.lines().for_each(|line| text.push_str(&format!("  {}\n", clean(line)))),
        None => text.push_str(&fields(&report.state)),
    }
    if !report.running.is_empty() {
        text.push_str("  running:\n");
        running(&report.running, now()).iter().for_each(|line| text.push_str(&format!("    {line}\n")));
    }
    text + &questions(&report.questions)
}

/// Formats the running tasks.
fn running(tasks: &[RunningShape], now: u64) -> Vec<String> {
    let line = |task: &RunningShape| {
        let began = parse(&task.started_at).unwrap_or(now);
        let mut parts = vec![format!("at work for {}", time(now.saturating_sub(began)))];
        parts.extend((task.tokens > 0).then(|| format!("{} tokens", count(task.tokens))));
        parts.extend((task.cost > 0).then(|| dollars(task.cost)));
        parts.extend(task.action.as_ref().map(|action| format!("last {}", clean(action))));
        let label = task.label.as_ref().map(|label| format!("[{}] ", clean(label))).unwrap_or_default();
        format!("{label}{}: {}", clean(&task.node), parts.join(", "))
    };
    tasks.iter().map(line).collect()
}

/// Returns a warning for each node that blocked its thread.
pub(crate) fn blocking(nodes: &[BlockingNode]) -> String {
    let line = |blocks: &BlockingNode| {
        let (node, took) = (clean(&blocks.node), time(blocks.millis));
        format!(
            "warning: node `{node}` blocked its thread for {took}: other nodes waited; use async calls, or make it a \
             `blocking` node\n"
        )
    };
    nodes.iter().map(line).collect()
}

/// Returns the lines about a finished thread that goes on with an input.
pub(crate) fn replacements(thread: &str, values: &[ReplacedValue]) -> String {
    let thread = clean(thread);
    if values.is_empty() {
        return format!("thread {thread} has finished: it continues from its state with the input\n");
    }
    let held = |value: &Option<Value>| value.as_ref().map(|value| safe_json(&value.to_string()).into_owned());
    let line = |replaced: &ReplacedValue| match (held(&replaced.was), held(&replaced.now)) {
        (Some(was), Some(now)) => format!("  {}: {was} -> {now}\n", clean(&replaced.channel)),
        _ => format!("  {}\n", clean(&replaced.channel)),
    };
    let lines: String = values.iter().map(line).collect();
    format!("thread {thread} has finished: it continues from its state with the input, which replaces\n{lines}")
}

/// Marks an imported thread.
fn origin(origin: Origin) -> &'static str {
    match (origin.foreign, origin.is_untrusted()) {
        (false, _) => "",
        (true, true) => "  imported: made elsewhere and not trusted, so it can be inspected, but not run\n",
        (true, false) => "  imported: made elsewhere, and trusted\n",
    }
}

fn summary(report: &ThreadReport) -> String {
    match (report.status.as_str(), &report.reason, &report.until) {
        ("interrupted", ..) if report.questions.len() == 1 => "waits for an answer".into(),
        ("interrupted", ..) => format!("waits for {} answers", report.questions.len()),
        ("failed", Some(reason), _) => format!("failed: {}", clean_lines(reason, 2)),
        ("needs-migration", Some(reason), _) => format!("needs migration: {}", clean_lines(reason, 2)),
        ("stopped", ..) => "stopped at a breakpoint".into(),
        ("waiting", _, Some(until)) => format!("waits until {until}"),
        ("awaiting-signal", _, Some(until)) => format!("waits for a signal, until {until}"),
        ("awaiting-signal", ..) => "waits for a signal".into(),
        (status, ..) => clean(status).into_owned(),
    }
}

fn stops(report: &ThreadReport) -> String {
    let stop = |stop: &StopRecord| {
        let node = stop.node.as_deref().unwrap_or("every node");
        format!("{} {}", if stop.after { "after" } else { "before" }, clean(node))
    };
    let stops: Vec<String> = report.stops.iter().map(stop).collect();
    if stops.is_empty() { String::new() } else { format!("  stops: {}\n", stops.join(", ")) }
}

/// Formats the signals that a thread waits for, and those in its mailbox.
fn signals(report: &ThreadReport) -> String {
    let until = |until: &Option<String>| until.as_ref().map(|until| format!(" until {until}")).unwrap_or_default();
    let awaited = report.signals.iter().map(|signal| {
        format!("  {} waits for the signal `{}`{}\n", clean(&signal.node), clean(&signal.name), until(&signal.until))
    });
    let by = |by: &Option<String>| by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let sent = report.mailbox.iter().map(|sent| {
        let (value, by) = (sent.value.to_string(), by(&sent.by));
        let (id, name, value) = (&sent.id, clean(&sent.name), safe_json(&value));
        format!("  in its mailbox: {id} `{name}` {value}, sent{} at {}\n", clean(&by), sent.at)
    });
    awaited.chain(sent).collect()
}

/// Formats the channels of a state, or the fields of a payload.
fn fields(state: &Value) -> String {
    match state {
        Value::Object(channels) => channels.iter().map(|(name, held)| value(name, held, 2)).collect(),
        Value::Null => String::new(),
        other => value("value", other, 2),
    }
}

/// Formats questions, the shape of their answers, and the commands that answer them.
pub(crate) fn questions(asked: &[OpenQuestion]) -> String {
    asked.iter().map(question).collect()
}

fn question(asked: &OpenQuestion) -> String {
    let mut text = format!("\n{} asks `{}` ({})\n", clean(&asked.node), clean(&asked.name), asked.id);
    match &asked.text {
        Some(meanings) => {
            meanings.lines().for_each(|line| text.push_str(&format!("{}\n", format!("  {}", clean(line)).trim_end())))
        }
        None => text.push_str(&fields(&shown_payload(&asked.payload))),
    }
    text.push_str(&format!("  takes: {}\n", clean(&asked.takes)));
    text.push_str(&terms(&asked.terms));
    if !asked.commands.is_empty() {
        text.push_str("answer with\n");
        asked.commands.iter().for_each(|command| text.push_str(&format!("  {}\n", clean(command))));
        answer_meanings(asked).iter().for_each(|meant| text.push_str(&format!("here {meant}\n")));
    }
    text
}

/// Formats the expiry of a question, its approvers, and their answers.
fn terms(terms: &TermsShape) -> String {
    let mut text = String::new();
    if let Some(expires) = &terms.expires {
        let then = terms.default.as_ref().map(|answer| format!(", then: {}", safe_json(&answer.to_string())));
        text.push_str(&format!("  expires: {expires}{}\n", then.unwrap_or_default()));
    }
    if let Some(count) = terms.approvals {
        text.push_str(&format!("  needs: {count} equal answers\n"));
    }
    if !terms.approvers.is_empty() {
        text.push_str(&format!("  approvers: {}\n", clean(&terms.approvers.join(", "))));
    }
    text + &terms.votes.iter().map(format_answer).collect::<String>()
}

/// Returns the fields of a payload that are not empty.
fn shown_payload(payload: &Value) -> Value {
    let Value::Object(fields) = payload else { return payload.clone() };
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    fields.iter().filter(|(_, value)| !is_empty(value)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns the answers that the plain words give, where those are other words.
pub(crate) fn answer_meanings(asked: &OpenQuestion) -> Option<String> {
    let is_renamed =
        |(word, answer): &(&String, &String)| word != answer && !["true", "false"].contains(&answer.as_str());
    let meanings = asked.words.iter().zip(&asked.means).filter(is_renamed);
    let meanings: Vec<String> = meanings.map(|(word, answer)| format!("{word} is `{}`", clean(answer))).collect();
    (!meanings.is_empty()).then(|| meanings.join(", "))
}

/// Formats a checkpoint with its state and tasks.
pub(crate) fn format_checkpoint(shown: &CheckpointReport) -> String {
    let (snapshot, step) = (&shown.snapshot, &shown.snapshot.info);
    let parent = step.parent.map(|parent| format!(", after {parent}")).unwrap_or_default();
    let mut text = format!(
        "{}: checkpoint {}{parent}\n  graph {}, after superstep {}, made by {} at {}\n",
        clean(&shown.thread),
        step.checkpoint,
        clean(&shown.graph),
        step.step,
        step.source,
        step.created_at
    );
    text.push_str(origin(shown.origin));
    if !snapshot.next.is_empty() {
        text.push_str(&format!("  next: {}\n", clean(&snapshot.next.join(", "))));
    }
    text.push_str(&fields(&snapshot.state));
    snapshot.tasks.iter().for_each(|task| text.push_str(&self::task(task, step.step + 1)));
    text
}

/// Formats a task of a superstep, with its attempts in order.
pub(super) fn task(task: &TaskReport, superstep: i64) -> String {
    let times = if task.attempts > 1 { format!(", {} attempts", task.attempts) } else { String::new() };
    let (id, node) = (clean(&task.id), clean(&task.node));
    let mut text = format!("\ntask {id} {node} (superstep {superstep}): {}{times}\n", task.status);
    let mut add = |name: &str, held: &Value| text.push_str(&value(name, held, 2));
    task.input.iter().for_each(|input| add("input", input));
    task.until.iter().for_each(|until| add("waits until", &Value::from(until.as_str())));
    for attempt in &task.failures {
        let nth = attempt.attempt.map(|nth| format!("attempt {nth} ")).unwrap_or_default();
        add(&format!("{nth}failed at {}", attempt.at), &Value::from(attempt.error.as_str()));
    }
    let is_listed = task.failures.last().map(|last| &last.error) == task.error.as_ref();
    task.error.iter().filter(|_| !is_listed).for_each(|error| add("error", &Value::from(error.as_str())));
    match &task.writes {
        Some(Value::Array(writes)) => writes.iter().filter_map(Value::as_object).for_each(|write| {
            write.iter().for_each(|(channel, written)| add(&format!("wrote {channel}"), written));
        }),
        Some(other) => add("wrote", other),
        None => {}
    }
    task.inside.iter().for_each(|state| add("inside", &state.state));
    for asked in &task.questions {
        add(&format!("asks {}", asked.name), &asked.payload);
    }
    task.answers.iter().for_each(|answer| text.push_str(&format_answer(answer)));
    task.journal.iter().for_each(|journal| text.push_str(&self::journal(journal, task.input.is_some())));
    text
}

fn format_answer(answer: &AnswerShape) -> String {
    let by = answer.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let note = answer.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
    value(&format!("answer to {} at {}{by}{note}", answer.name, answer.at), &answer.value, 2)
}

/// Formats the entries and the subgraph runs; `whole` adds the complete turns of agents. Questions and answers are
/// shown with the task.
fn journal(journal: &Value, whole: bool) -> String {
    let list = |key: &str| journal[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut text: String = list("entries").iter().map(|entry| self::entry(entry, whole)).collect();
    text.extend(list("children").iter().map(child));
    text + &message_lines(list("messages"), whole)
}

fn entry(entry: &Value, whole: bool) -> String {
    let name = |what: &str| format!("{what}{}", place(entry));
    match text(entry, "kind") {
        "effect" => effect(entry, whole),
        "value" => value(&name(&format!("recorded {}", text(entry, "key"))), &entry["value"], 2),
        "signal" => value(&name(&format!("received signal {}", text(entry, "key"))), &entry["value"], 2),
        "sleep" => value(&name("waits until"), &entry["until"], 2),
        kind => value(&name(&format!("recorded {kind}")), &entry["value"], 2),
    }
}

fn effect(effect: &Value, whole: bool) -> String {
    let mut shown = format!("  effect {}{}{}\n", clean(text(effect, "key")), clean(&place(effect)), attempt(effect));
    shown.push_str(&value("arguments", &effect["arguments"], 4));
    match effect["error"].is_string() {
        true => shown.push_str(&value("failed", &effect["error"], 4)),
        false => shown.push_str(&value("result", &effect["result"], 4)),
    }
    let messages = effect["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    shown + &message_lines(messages, whole)
}

/// Returns the times of an effect, its attempt, and its repetitions.
fn attempt(effect: &Value) -> String {
    let runs = effect["runs"].as_array().map(Vec::as_slice).unwrap_or_default();
    let run = |run: &Value| format!("{} in attempt {}", text(run, "end"), run["attempt"]);
    let mut shown = match effect["attempt"].as_u64() {
        Some(attempt) => format!(": attempt {attempt}, {}", text(effect, "started_at")),
        None => format!(": {}", text(effect, "started_at")),
    };
    if let Some(ended) = effect["ended_at"].as_str() {
        shown.push_str(&format!(" to {ended}"));
    }
    if effect["repeated"] == true {
        shown.push_str(&format!("; repeated: {}", runs.iter().map(run).collect::<Vec<_>>().join(", ")));
    }
    clean(&shown).into_owned()
}

/// Returns the place at which an entry was made, if not by the body of the task itself.
fn place(entry: &Value) -> String {
    let names = |key: &str| {
        let names = entry[key].as_array().map(Vec::as_slice).unwrap_or_default();
        names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("/")
    };
    let (path, within) = (names("path"), names("within"));
    let path = if path.is_empty() { path } else { format!(" in {path}") };
    let within = if within.is_empty() { within } else { format!(" inside {within}") };
    let handler = if entry["by_handler"] == true { " by the error handler" } else { "" };
    format!("{path}{within}{handler}")
}

fn child(child: &Value) -> String {
    let is = if child["over"] == true { "ended" } else { "unfinished" };
    let handler = if child["by_handler"] == true { " of the error handler" } else { "" };
    let (call, checkpoint, step) = (&child["call"], &child["checkpoint"], &child["step"]);
    format!("  subgraph, call {call}{handler}: {is}, checkpoint {checkpoint}, superstep {step}\n")
}

/// Returns the messages: the story of an agent's turn, or its length.
fn message_lines(messages: &[Value], whole: bool) -> String {
    if messages.is_empty() {
        return String::new();
    }
    if !whole {
        let calls = messages.iter().filter(|message| !message["value"]["tool_call"].is_null()).count();
        let calls = if calls > 0 { format!(", {calls} of them tool calls") } else { String::new() };
        return format!("    messages: {}{calls}; a single task (--task) shows them\n", messages.len());
    }
    let shown = story::messages(messages.iter().map(|message| &message["value"]));
    shown.lines().map(|line| format!("  {line}\n")).collect()
}
