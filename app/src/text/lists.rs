//! Lists in columns: threads, histories, events, graphs.

use serde_json::Value;
use superstep::checkpoint::StoreWorker;
use superstep_base::time::rfc3339;

use super::escape::{clean, clean_lines, safe_json};
use super::report::{self, questions};
use super::values::{brief, format_output, value, workflow_event};
use crate::shapes::{GraphLine, HistoryStep, TaskReport, ThreadLine};

/// Formats threads, one per line.
pub(crate) fn threads(lines: &[ThreadLine]) -> String {
    if lines.is_empty() {
        return "no threads\n".into();
    }
    let mut rows = vec![["THREAD", "GRAPH", "STATUS", "STEP", "UPDATED"].map(str::to_owned).to_vec()];
    rows.extend(lines.iter().map(|line| {
        let step = line.step.to_string();
        let imported = if line.origin.foreign { ", imported" } else { "" };
        vec![
            line.thread.clone(),
            line.graph.clone(),
            format!("{}{imported}", line.status),
            step,
            line.updated_at.clone(),
        ]
    }));
    let reason = |line: &ThreadLine| {
        let reason = line.reason.as_ref()?;
        Some(format!("{} {}: {}\n", clean(&line.thread), clean(&line.status), clean_lines(reason, 2)))
    };
    columns(&rows) + &lines.iter().filter_map(reason).collect::<String>()
}

/// Formats workers, one per line.
pub(crate) fn workers(workers: &[StoreWorker]) -> String {
    if workers.is_empty() {
        return "no workers\n".into();
    }
    let mut rows =
        vec![["WORKER", "HOST", "PID", "THREADS", "VERSION", "LAST SEEN", "GRAPHS"].map(str::to_owned).to_vec()];
    rows.extend(workers.iter().map(|worker| {
        let (pid, threads) = (worker.pid.to_string(), worker.threads.to_string());
        let StoreWorker { name, host, version, last_seen, graphs, .. } = worker.clone();
        vec![name, host, pid, threads, version, rfc3339(last_seen), graphs.join(", ")]
    }));
    columns(&rows)
}

/// Formats keys of a server, one per line: their names, roles and times.
#[cfg(feature = "server")]
pub(crate) fn keys(keys: &[(&str, &str, String)]) -> String {
    if keys.is_empty() {
        return "no keys\n".into();
    }
    let mut rows = vec![["KEY", "ROLE", "ADDED"].map(str::to_owned).to_vec()];
    rows.extend(keys.iter().map(|(name, role, time)| vec![(*name).to_owned(), (*role).to_owned(), time.clone()]));
    columns(&rows)
}

/// Formats pending questions by thread, with the commands that answer them.
pub(crate) fn waiting(lines: &[ThreadLine]) -> String {
    if lines.is_empty() {
        return "no pending questions\n".into();
    }
    let thread = |line: &ThreadLine| {
        let mut asked = questions(&line.questions);
        line.reason.iter().for_each(|reason| asked.push_str(&format!("  {}\n", clean_lines(reason, 2))));
        format!("{} ({})\n{asked}", clean(&line.thread), clean(&line.graph))
    };
    lines.iter().map(thread).collect::<Vec<_>>().join("\n")
}

/// Formats checkpoints, one per line, with the values of a channel below them.
pub(crate) fn history(steps: &[HistoryStep]) -> String {
    let mut rows = vec![["CHECKPOINT", "AFTER", "STEP", "SOURCE", "NEXT", "MADE"].map(str::to_owned).to_vec()];
    rows.extend(steps.iter().map(|HistoryStep { info, next, .. }| {
        let parent = info.parent.map_or("-".into(), |parent| parent.to_string());
        let next = if next.is_empty() { "-".into() } else { next.join(", ") };
        let (id, count) = (info.checkpoint.to_string(), info.step.to_string());
        vec![id, parent, count, info.source.clone(), next, info.created_at.clone()]
    }));
    let table = columns(&rows);
    let mut text = String::new();
    for (line, step) in table.lines().zip(std::iter::once(None).chain(steps.iter().map(Some))) {
        text.extend([line, "\n"]);
        if let Some(held) = step.and_then(|step| step.value.as_ref()) {
            text.push_str(&value("value", held, 2));
        }
        for task in step.and_then(|step| step.tasks.as_ref()).into_iter().flatten() {
            text.extend(task_lines(task, step.map_or(0, |step| step.info.step) + 1));
        }
    }
    text
}

fn task_lines(task: &TaskReport, superstep: i64) -> Vec<String> {
    let shown = report::task(task, superstep);
    shown.lines().filter(|line| !line.is_empty()).map(|line| format!("  {line}\n")).collect()
}

pub(crate) fn events(events: &[Value]) -> String {
    events.iter().map(event).collect()
}

fn event(event: &Value) -> String {
    let text = |key: &str| clean(event[key].as_str().unwrap_or_default()).into_owned();
    let held = |key: &str| safe_json(&event[key].to_string()).into_owned();
    let within = event["namespace"].as_array().map_or(0, Vec::len);
    let what = match event["kind"].as_str() {
        Some("checkpoint") => format!("checkpoint {}", event["checkpoint"]),
        Some("gap") => gap(&event["missing"]),
        Some("start") if event["label"].is_string() => format!("{} starts ({})", text("node"), text("label")),
        Some("start") => format!("{} starts", text("node")),
        Some("end") => format!("{} wrote {}", text("node"), held("writes")),
        Some("failed") => {
            let error = event["error"].as_str().unwrap_or_default();
            format!("{} failed: {}", text("node"), clean_lines(error, 6 + 2 * within))
        }
        Some("asked") => format!("{} asks {}", text("node"), format_questions(&event["questions"])),
        Some("answered") => format!("{} was answered {}", text("node"), held("answer")),
        Some("journal") => format!("{}: {}", text("node"), brief(&event["entry"])),
        Some("custom") if workflow_event(&event["value"], 0).is_some() => {
            format_output(&event["value"], 6 + 2 * within)
        }
        Some("custom" | "message") => {
            format!("{} says {}", text("node"), format_output(&event["value"], 6 + 2 * within))
        }
        _ => safe_json(&event.to_string()).into_owned(),
    };
    format!("{:>4}  {}{what}\n", event["step"].as_i64().unwrap_or_default(), "  ".repeat(within))
}

/// Returns the reason why a line of checkpoints starts where it does.
fn gap(missing: &Value) -> String {
    format!("earlier events are missing: checkpoint {missing}, the parent of this one, was removed by `gc`, or is lost")
}

fn format_questions(questions: &Value) -> String {
    let question = |asked: &Value| {
        let name = clean(asked["name"].as_str().unwrap_or_default()).into_owned();
        format!("{name} {}", safe_json(&asked["payload"].to_string()))
    };
    questions.as_array().map(|all| all.iter().map(question).collect::<Vec<_>>().join(", ")).unwrap_or_default()
}

pub(crate) fn graphs(lines: &[GraphLine]) -> String {
    let graph = |line: &GraphLine| {
        let channels: Vec<String> =
            line.channels.iter().map(|channel| format!("{}: {}", channel.name, channel.type_name)).collect();
        let about = line.about.as_ref().map(|about| format!("  {}\n", clean(about))).unwrap_or_default();
        let asks =
            if line.questions.is_empty() { String::new() } else { format!("  asks: {}\n", line.questions.join(", ")) };
        let receives =
            if line.signals.is_empty() { String::new() } else { format!("  receives: {}\n", line.signals.join(", ")) };
        let (nodes, channels) = (line.nodes.join(", "), channels.join(", "));
        format!(
            "{}\n{about}  nodes: {}\n  state: {}\n{asks}{receives}",
            clean(&line.graph),
            clean(&nodes),
            clean(&channels)
        )
    };
    lines.iter().map(graph).collect()
}

/// Aligns rows in columns.
fn columns(rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| clean(cell).into_owned()).collect()).collect();
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| display_width(cell)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, wide)| cell.clone() + &" ".repeat(wide - display_width(cell)));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// Returns the number of terminal columns of a text.
pub(super) fn display_width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Returns the terminal columns of a character: two for East Asian ones and emoji, none for combining marks.
pub(super) fn columns_of(c: char) -> usize {
    match u32::from(c) {
        0x300..=0x36f | 0x200b..=0x200d | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f => 2,
        0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_each_other_in_every_script() {
        let rows = [["日本", "x"], ["abcde", "x"], ["e\u{301}", "x"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(columns(&rows), "日本   x\nabcde  x\ne\u{301}      x\n");
    }
}
