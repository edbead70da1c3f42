//! The log of a thread, from its recorded events: prompts, actions and results of agents, checks, commits, questions
//! and answers. Pure.

use std::collections::HashMap;

use serde_json::Value;
use superstep_base::text::short_id;

use super::escape::{clean, clean_lines, safe_json};
use super::progress::{EventView, action, count, dollars, time, tokens};
use super::story_details::Details;
use super::values::{brief, format_output, value, workflow_event};
use crate::shapes::FailedAttempt;

/// The part of a story that is printed.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoryPart {
    /// Task of a plan.
    pub task: Option<String>,
    pub attempt: Option<u64>,
}

impl StoryPart {
    fn holds(&self, place: Option<&Place>) -> bool {
        let is_task = self.task.as_ref().is_none_or(|task| place.is_some_and(|place| place.task == *task));
        is_task && self.attempt.is_none_or(|attempt| place.is_some_and(|place| place.attempt == attempt))
    }
}

/// The subject of the work.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    task: String,
    /// The phase, if it is reviewed as a whole.
    phase: Option<u64>,
    attempt: u64,
}

impl Place {
    fn heading(&self) -> String {
        let Self { task, phase, attempt } = self;
        let about = phase.map_or_else(|| format!("task {}", clean(task)), |phase| format!("phase {phase}"));
        format!("== {about}, attempt {attempt}\n")
    }
}

/// Formats the events as lines for people. Where no agent works, the values and the effects of each task are shown too.
pub(crate) fn story(events: &[Value], details: Details) -> String {
    let has_agents = events.iter().any(|event| turn_start(event).is_some());
    let ends = details.ends(events);
    let mut teller = StoryWriter { has_agents, ends, details, ..StoryWriter::default() };
    events.iter().for_each(|event| teller.on_event(event));
    teller.text + &teller.sum.line()
}

/// Returns the events of a part.
pub(crate) fn part(events: Vec<Value>, part: &StoryPart) -> Vec<Value> {
    let mut place = None;
    let of = |event: &Value| {
        if let Some(next) = turn_start(event) {
            place = next;
        }
        part.holds(place.as_ref())
    };
    events.into_iter().filter(of).collect()
}

/// Returns the task and attempt of an agent's turn, if the event starts one. The events after it belong to it too:
/// checks, a review, a commit, a question.
fn turn_start(event: &Value) -> Option<Option<Place>> {
    let turn = Some(&event["value"]["turn"]).filter(|turn| turn.is_object())?;
    let task = turn["task"].as_str().filter(|task| !task.is_empty());
    let (phase, attempt) = (turn["phase"].as_u64(), turn["attempt"].as_u64().unwrap_or_default());
    Some(task.map(|task| Place { task: task.to_owned(), phase, attempt }))
}

/// Formats the messages of agents.
pub(super) fn messages<'a>(messages: impl Iterator<Item = &'a Value>) -> String {
    let mut teller = StoryWriter::default();
    messages.map(|message| teller.message(message)).collect()
}

#[derive(Default)]
struct StoryWriter {
    text: String,
    place: Option<Place>,
    /// Place of the last heading.
    headed: Option<Place>,
    /// Path of the last named node.
    node: Option<String>,
    /// Set once it has printed more than the channels it wrote.
    has_said: bool,
    /// Working directory of the agent.
    directory: String,
    sum: UsageSum,
    /// Set if agents work in the thread: their prompts and actions are the story then.
    has_agents: bool,
    /// The times at which the supersteps of the graph ended.
    ends: HashMap<i64, String>,
    details: Details,
}

/// The usage of all turns of agents.
#[derive(Default)]
struct UsageSum {
    turns: u64,
    tokens: u64,
    cost: u64,
}

impl UsageSum {
    fn line(&self) -> String {
        let (turns, tokens) = (self.turns, count(self.tokens));
        let cost = if self.cost > 0 { format!(", {}", dollars(self.cost)) } else { String::new() };
        let turns = if turns == 1 { "1 turn".to_owned() } else { format!("{turns} turns") };
        if self.turns == 0 { String::new() } else { format!("\nin all: {turns} of agents, {tokens} tokens{cost}\n") }
    }
}

impl StoryWriter {
    fn on_event(&mut self, event: &Value) {
        if let Some(place) = turn_start(event) {
            self.place = place;
        }
        let seen = EventView::of(event);
        let lines = match seen.kind {
            "message" => self.message(&event["value"]),
            "custom" => match workflow_event(&event["value"], 4) {
                Some(line) => format!("  {line}\n"),
                None => format!("  says {}\n", format_output(&event["value"], 4)),
            },
            "asked" => format_questions(&event["questions"]),
            "answered" => format_answer(event),
            "journal" if !self.has_agents => self.format_entry(&seen),
            "failed" | "end" => self.end_task(&seen),
            "gap" => {
                format!("checkpoint {} and all before it are missing: removed by `gc`, or lost\n", event["missing"])
            }
            _ => String::new(), // starts and checkpoints are seen by what follows
        };
        if lines.is_empty() {
            return;
        }
        self.head(&seen);
        self.has_said |= seen.kind == "message";
        self.text.push_str(&lines);
    }

    /// Returns an effect or a recorded value, after the attempts that failed before.
    fn format_entry(&mut self, seen: &EventView<'_>) -> String {
        let entry = &seen.event["entry"];
        let attempt = entry["attempt"].as_u64().and_then(|attempt| u32::try_from(attempt).ok());
        let before = attempt.map(|attempt| self.details.take_failures_before(&seen.path, attempt)).unwrap_or_default();
        let at = entry["started_at"].as_str().map(|at| format!(" at {}", clean(at))).unwrap_or_default();
        format!("{}  {}{at}\n", before.iter().map(format_failure).collect::<String>(), brief(entry))
    }

    /// Returns the attempts of a task that failed, in order, and its end.
    fn end_task(&mut self, seen: &EventView<'_>) -> String {
        let failures = self.details.take_failures(&seen.path);
        let mut lines: String = failures.iter().map(format_failure).collect();
        let error = seen.error().unwrap_or_default();
        let is_listed = failures.last().is_some_and(|last| last.error == error);
        match seen.kind {
            "failed" if is_listed => {}
            "failed" => lines.push_str(&format!("  failed: {}\n", clean_lines(error, 4))),
            _ if self.has_said && self.node.as_deref() == Some(&seen.path) => {}
            _ if self.has_agents => lines.push_str(&format_writes(&seen.event["writes"])),
            _ => lines.push_str(&wrote_values(&seen.event["writes"])),
        }
        lines
    }

    /// Adds headings for the task and the node where they change.
    fn head(&mut self, seen: &EventView<'_>) {
        let is_headed = self.place.is_some() && self.place != self.headed;
        if is_headed {
            if let Some(place) = &self.place {
                let blank = if self.text.is_empty() { "" } else { "\n" };
                self.text.push_str(&format!("{blank}{}", place.heading()));
            }
            self.headed.clone_from(&self.place);
            self.node = None;
        }
        if !seen.path.is_empty() && self.node.as_ref() != Some(&seen.path) {
            let blank = if self.text.is_empty() || is_headed { "" } else { "\n" };
            let end = self.ends.get(&seen.step).filter(|_| seen.above.is_empty());
            let end = end.map(|end| format!(", until {end}")).unwrap_or_default();
            self.text.push_str(&format!("{blank}{} (superstep {}{end})\n", clean(&seen.node_path()), seen.step));
            self.node = Some(seen.path.clone());
            self.has_said = false;
        }
    }

    fn message(&mut self, message: &Value) -> String {
        let Some((kind, inner)) = message.as_object().and_then(|fields| fields.iter().next()) else {
            return format!("  says {}\n", format_output(message, 4));
        };
        let text = |key: &str| clean(inner[key].as_str().unwrap_or_default()).into_owned();
        match kind.as_str() {
            "turn" => {
                inner["directory"].as_str().unwrap_or_default().clone_into(&mut self.directory);
                turn(inner)
            }
            "text" => format!("  says: {}\n", clean_lines(inner.as_str().unwrap_or_default(), 8)),
            "thinking" => format!("  thinks: {}\n", clean_lines(inner.as_str().unwrap_or_default(), 8)),
            "notice" => format!("  note: {}\n", clean_lines(inner.as_str().unwrap_or_default(), 8)),
            "tool_call" => {
                format!("  {}\n", clean(&action(&inner["name"], &inner["arguments"], &self.directory)))
            }
            "tool_result" if inner["ok"] == false => format!("    refused: {}\n", clean_lines(&text("text"), 6)),
            "finished" => {
                self.sum.turns += 1;
                self.sum.tokens += tokens(&inner["usage"]);
                self.sum.cost += inner["usage"]["cost"].as_u64().unwrap_or_default();
                format_turn_end(inner)
            }
            "checked" => format_check(inner),
            "commit" => commit(inner),
            "started" | "usage" | "tool_result" | "check" => String::new(),
            _ => format!("  says {}\n", format_output(message, 4)),
        }
    }
}

/// Returns the start of a turn: the agent and the request.
fn turn(turn: &Value) -> String {
    let text = |key: &str| clean(turn[key].as_str().unwrap_or_default()).into_owned();
    let model = turn["model"].as_str().map(|model| format!(", {}", clean(model))).unwrap_or_default();
    let (role, driver, template) = (text("role"), text("driver"), text("template"));
    let system =
        if turn["system"].is_null() { String::new() } else { format!("  system:\n{}", quote(&turn["system"])) };
    format!("  {role} ({driver}{model}) gets the prompt `{template}`:\n{system}  prompt:\n{}", quote(&turn["prompt"]))
}

/// Prefixes each line of a text with a bar.
fn quote(text: &Value) -> String {
    let lines = text.as_str().unwrap_or_default().lines();
    lines.map(|line| format!("{}\n", format!("    | {}", clean(line)).trim_end())).collect()
}

/// Returns the end of a turn: its result and usage.
fn format_turn_end(ended: &Value) -> String {
    let mut lines = String::new();
    if !ended["submitted"].is_null() {
        lines.push_str(&value("submits", &ended["submitted"], 2));
    }
    if let Some(status) = ended["status"].as_str().filter(|status| *status != "done") {
        lines.push_str(&format!("  ended: {}\n", clean(status)));
    }
    let usage = &ended["usage"];
    let of = |key: &str| usage[key].as_u64().unwrap_or_default();
    let mut used = vec![format!("{} tokens", count(tokens(usage)))];
    if of("cost") > 0 {
        used.push(dollars(of("cost")));
    }
    if of("ms") > 0 {
        used.push(time(of("ms")));
    }
    lines + &format!("  used {}\n", used.join(", "))
}

fn commit(commit: &Value) -> String {
    let id = short_id(commit["id"].as_str().unwrap_or_default());
    let subject = commit["message"].as_str().and_then(|message| message.lines().next()).unwrap_or_default();
    format!("  commit {} {}\n{}", clean(id), clean(subject), quote(&commit["output"]))
}

fn format_check(check: &Value) -> String {
    let command = clean(check["command"].as_str().unwrap_or_default()).into_owned();
    let ended = match check["code"].as_i64() {
        Some(0) => "succeeded".to_owned(),
        Some(code) => format!("ended with {code}"),
        None => "was killed".to_owned(),
    };
    format!("  $ {command}: {ended}\n{}", quote(&check["output"]))
}

fn format_questions(questions: &Value) -> String {
    let question = |asked: &Value| {
        let name = clean(asked["name"].as_str().unwrap_or_default()).into_owned();
        value(&format!("asks {name}"), &asked["payload"], 2)
    };
    questions.as_array().map(|all| all.iter().map(question).collect()).unwrap_or_default()
}

fn format_answer(event: &Value) -> String {
    let text = |key: &str| event[key].as_str().map(|text| clean(text).into_owned());
    let by = text("by").map(|by| format!(" by {by}")).unwrap_or_default();
    let at = text("at").map(|at| format!(" at {at}")).unwrap_or_default();
    let note = text("note").map(|note| format!(" ({note})")).unwrap_or_default();
    format!("  was answered {}{by}{at}{note}\n", safe_json(&event["answer"].to_string()))
}

/// Formats a failed attempt.
fn format_failure(failed: &FailedAttempt) -> String {
    let nth = failed.attempt.map(|nth| format!("attempt {nth} ")).unwrap_or_default();
    format!("  {nth}failed at {}: {}\n", clean(&failed.at), clean_lines(&failed.error, 4))
}

/// Formats the values that a task wrote.
fn wrote_values(writes: &Value) -> String {
    let writes = writes.as_array().map(Vec::as_slice).unwrap_or_default();
    let all = writes.iter().filter_map(Value::as_object).flatten();
    let lines: String = all.map(|(channel, written)| value(&format!("wrote {channel}"), written, 2)).collect();
    if lines.is_empty() { "  done\n".into() } else { lines }
}

/// Names the channels that a task wrote; `show` has the values.
fn format_writes(writes: &Value) -> String {
    let writes = writes.as_array().map(Vec::as_slice).unwrap_or_default();
    let channels = writes.iter().filter_map(Value::as_object).flat_map(|write| write.keys());
    let mut names: Vec<&str> = channels.map(String::as_str).collect();
    names.dedup();
    if names.is_empty() { "  done\n".into() } else { format!("  wrote {}\n", clean(&names.join(", "))) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn events() -> Vec<Value> {
        let of = |node: &str, kind: &str, more: Value| {
            let mut event = json!({"kind": kind, "step": 3, "node": node, "path": [format!("{node}:5-1")]});
            more.as_object().unwrap().iter().for_each(|(key, value)| event[key] = value.clone());
            event
        };
        let message = |node: &str, value: Value| of(node, "message", json!({ "value": value }));
        let turn = |task: &str, attempt: u32, prompt: &str| {
            json!({"turn": {"role": "developer", "driver": "api", "model": "m", "task": task, "attempt": attempt,
                            "directory": "/work", "template": "developer", "prompt": prompt}})
        };
        vec![
            of("approval", "asked", json!({"questions": [{"name": "approval", "payload": {"goal": "tides"}}]})),
            of("approval", "answered", json!({"answer": "approve", "by": "ada", "at": "2026-01-31T09:30:00.250Z"})),
            of("approval", "end", json!({"writes": [{"goal": "tides"}, {"tasks": []}]})),
            message("developer", turn("1", 1, "Print the table.\nIn a script.")),
            message("developer", json!({"text": "I print\nthe table."})),
            message("developer", json!({"tool_call": {"name": "write", "arguments": {"path": "/work/tides.sh"}}})),
            message("developer", json!({"tool_result": {"ok": true, "text": "done"}})),
            message(
                "developer",
                json!({"finished": {"status": "done", "submitted": {"status": "done"},
                                        "usage": {"input": 900, "output": 120, "cost": 4_000, "ms": 1_200}}}),
            ),
            message("verify", json!({"checked": {"command": "test -x tides.sh", "code": 1, "output": "no\u{1b}[2J"}})),
            of("reviewer", "custom", json!({"value": "rejected (major)"})),
            message("developer", turn("1", 2, "Again.")),
            message(
                "next_task_node",
                json!({"commit": {"id": "d0c8a708aaaaaaaa", "message": "feat: task 1\n\nx", "task": "1"}}),
            ),
        ]
    }

    #[test]
    fn a_story_shows_a_run_from_beginning_to_end() {
        insta::assert_snapshot!(story(&events(), Details::default()), @r#"
        approval (superstep 3)
          asks approval: {"goal":"tides"}
          was answered "approve" by ada at 2026-01-31T09:30:00.250Z
          wrote goal, tasks

        == task 1, attempt 1
        developer (superstep 3)
          developer (api, m) gets the prompt `developer`:
          prompt:
            | Print the table.
            | In a script.
          says: I print
                the table.
          write tides.sh
          submits: {"status":"done"}
          used 1.0k tokens, $0.0040, 1.2s

        verify (superstep 3)
          $ test -x tides.sh: ended with 1
            | no\u{1b}[2J

        reviewer (superstep 3)
          says rejected (major)

        == task 1, attempt 2
        developer (superstep 3)
          developer (api, m) gets the prompt `developer`:
          prompt:
            | Again.

        next_task_node (superstep 3)
          commit d0c8a708a feat: task 1

        in all: 1 turn of agents, 1.0k tokens, $0.0040
        "#);
    }

    #[test]
    fn a_story_of_one_attempt_shows_it_alone() {
        let only = StoryPart { task: Some("1".into()), attempt: Some(2) };
        insta::assert_snapshot!(story(&part(events(), &only), Details::default()), @r#"
        == task 1, attempt 2
        developer (superstep 3)
          developer (api, m) gets the prompt `developer`:
          prompt:
            | Again.

        next_task_node (superstep 3)
          commit d0c8a708a feat: task 1
        "#);
        assert_eq!(part(events(), &only).len(), 2);
        assert_eq!(part(events(), &StoryPart { task: Some("9".into()), attempt: None }), Vec::<Value>::new());
    }

    #[test]
    fn a_story_of_any_graph_has_its_values_its_effects_and_its_attempts_in_order() {
        let event = |kind: &str, more: Value| {
            let mut event = json!({"kind": kind, "step": 2, "node": "Pay", "path": ["Pay:3-0"], "task": "3-0"});
            more.as_object().unwrap().iter().for_each(|(key, value)| event[key] = value.clone());
            event
        };
        let entry = json!({
            "kind": "effect", "key": "charge", "arguments": {"cents": 500}, "result": "r-1", "attempt": 2, "started_at": "T1.5",
        });
        let events = vec![
            event("start", json!({})),
            event("journal", json!({"entry": entry})),
            event("end", json!({"writes": [{"receipt": "r-1"}, {"paid": true}]})),
            json!({"kind": "checkpoint", "checkpoint": 4, "step": 2, "next": []}),
        ];
        let failure =
            |attempt: u32| json!({"attempt": attempt, "error": "the bank is down", "at": format!("T{attempt}")});
        let step = json!({
            "checkpoint": 3, "parent": 2, "step": 1, "source": "loop", "created_at": "T0", "next": ["Pay"],
            "tasks": [{"id": "3-0", "node": "Pay", "status": "done", "attempts": 3, "error": null,
                       "failures": [failure(1), failure(2)], "effects": 1, "writes": null, "questions": [], "answers": []}],
        });
        let end = json!({
            "checkpoint": 4, "parent": 3, "step": 2, "source": "loop", "created_at": "T4", "next": [], "tasks": [],
        });
        let steps: Vec<crate::shapes::HistoryStep> = serde_json::from_value(json!([end, step])).unwrap();
        insta::assert_snapshot!(story(&events, Details::of(&steps)), @r#"
        Pay (superstep 2, until T4)
          attempt 1 failed at T1: the bank is down
          effect charge {"cents":500} returned "r-1" at T1.5
          attempt 2 failed at T2: the bank is down
          wrote receipt: r-1
          wrote paid: true
        "#);
    }
}
