//! The commands to type next, as shell commands of the program as it was called: the next steps of a thread by its status,
//! with one text for all commands that print or refuse a thread, and the commands that answer its questions. Pure; knows no
//! store.

use std::path::{Path, PathBuf};

use serde_json::Value;
use superstep_base::shell::shell_word;

use super::shapes::{AwaitedShape, NextStep, OpenQuestion, ThreadReport};

/// Returns the next steps of a thread. The questions of an interrupted one have commands of their own.
pub(crate) fn next_steps(report: &ThreadReport) -> Vec<NextStep> {
    if report.origin.is_untrusted() {
        return vec![NextStep::new("if you trust its author and its content, trust it with", "trust")];
    }
    match report.status.as_str() {
        "pending" | "stopped" => vec![NextStep::new("resume it with", "proceed")],
        "failed" if report.refused && report.next == ["__start__"] => vec![NextStep::new(
            "its input was not applied; run it again with another input, see",
            format!("run {} --help", shell_word(&report.graph)),
        )],
        "failed" if report.refused => {
            vec![NextStep::new("once the cause is fixed, restart the superstep with", "retry")]
        }
        "failed" => vec![NextStep::new("once the cause is fixed, resume it with", "proceed")],
        "needs-migration" => vec![NextStep::new("once the graph matches again, resume it with", "proceed")],
        "waiting" => vec![NextStep::new("once the time has come, resume it with", "proceed")],
        "awaiting-signal" => signal_steps(&report.signals, report.until.is_some()),
        "interrupted" => {
            vec![NextStep::new("see its questions and the commands that answer them with", "status")]
        }
        "running" => vec![NextStep::new("watch it with", "watch"), NextStep::new("cancel its run with", "cancel")],
        _ => vec![NextStep::new("the run is complete; read its history with", "log")],
    }
}

fn signal_steps(signals: &[AwaitedShape], is_timed: bool) -> Vec<NextStep> {
    let send = |signal: &AwaitedShape| {
        let value = signal.takes.as_deref().map(|takes| format!(" {}", shell_word(&example(takes))));
        let (name, value) = (shell_word(&signal.name), value.unwrap_or_default());
        NextStep::new(format!("send the signal `{}` with", signal.name), format!("signal {name}{value}"))
    };
    let mut steps: Vec<NextStep> = vec![];
    for step in signals.iter().map(send) {
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    let what = if is_timed {
        "once it has arrived or the time has come, resume it with"
    } else {
        "once it has arrived, resume it with"
    };
    steps.push(NextStep::new(what, "proceed"));
    steps
}

/// Returns the status of a thread as the end of a sentence: `it has failed: no paper`.
pub(crate) fn status_text(report: &ThreadReport) -> String {
    let because = |what: &str| match &report.reason {
        Some(reason) => format!("{what}: {reason}"),
        None => what.to_owned(),
    };
    match (report.status.as_str(), &report.until) {
        ("finished", _) => "it has finished".into(),
        ("failed", _) => because("it has failed"),
        ("needs-migration", _) => because("it needs migration"),
        ("stopped", _) => "it is stopped at a breakpoint".into(),
        ("waiting", Some(until)) => format!("it waits until {until}"),
        ("awaiting-signal", Some(until)) => format!("it waits for a signal, until {until}"),
        ("awaiting-signal", None) => "it waits for a signal".into(),
        ("interrupted", _) => "it waits for an answer".into(),
        ("running", _) => "it is running".into(),
        ("pending", _) => "it is unfinished, and nothing runs it".into(),
        (status, _) => format!("it is {status}"),
    }
}

/// Returns the steps as lines, with each command on a line of its own.
pub(crate) fn lines(steps: &[NextStep]) -> String {
    steps.iter().map(|NextStep { text, command }| format!("{text}\n  {command}\n")).collect()
}

/// Returns a sentence, without its full stop, and the steps after it.
pub(crate) fn after(note: &str, steps: &[NextStep]) -> String {
    let next = lines(steps);
    match (note, next.is_empty()) {
        ("", _) => next,
        (_, true) => format!("{note}\n"),
        (_, false) => {
            let (first, rest) = next.split_at(1); // a letter
            format!("{note}. {}{rest}", first.to_uppercase())
        }
    }
}

/// Returns the steps as a sentence: ``once the cause is fixed, resume it with `tool proceed first` ``.
pub(crate) fn sentence(steps: &[NextStep]) -> String {
    let step = |NextStep { text, command }: &NextStep| format!("{text} `{command}`");
    steps.iter().map(step).collect::<Vec<_>>().join("; ")
}

/// Completes the commands.
pub(crate) fn in_full(steps: Vec<NextStep>, caller: &Caller, thread: &str) -> Vec<NextStep> {
    let full = |step: NextStep| {
        let of_graph = step.command.starts_with("run ");
        let command =
            if of_graph { caller.command(&step.command) } else { caller.thread_command(&step.command, thread) };
        NextStep { command, ..step }
    };
    steps.into_iter().map(full).collect()
}

/// Replaces functions of the library in a help text by placeholders of commands.
pub(crate) fn in_commands(help: &str) -> String {
    const COMMANDS: [(&str, &str); 6] = [
        ("`thread.proceed()`", "`{proceed}`"),
        ("`thread.retry()`", "`{retry}`"),
        ("`proceed()`", "`{proceed}`"),
        ("`retry()`", "`{retry}`"),
        ("`thread.discard_signal(id)`", "`{signal --discard ID}`"),
        ("`update_state_as`", "`{update --as-node NODE --values JSON}`"),
    ];
    COMMANDS.iter().fold(help.to_owned(), |help, (function, command)| help.replace(function, command))
}

/// Adds to each question of a thread the commands that answer it, each with these options.
pub(crate) fn commands(caller: &Caller, thread: &str, questions: &mut [OpenQuestion], options: &str) {
    let several = questions.len() > 1;
    for asked in questions {
        let to = if several { format!(" --interrupt {}", asked.id) } else { String::new() };
        let command = |verb: &str, rest: &str| caller.thread_command(&format!("{verb}{rest}{to}{options}"), thread);
        let words = asked.words.iter().map(|word| match word.as_str() {
            "revise" => command("revise", " --feedback 'what to change'"),
            word => command(word, ""),
        });
        asked.commands = words.collect();
        asked.commands.extend(asked.editable.then(|| command("edit", "")));
        let suggested = std::mem::take(&mut asked.suggested);
        let others = if suggested.is_empty() { others(asked) } else { vec![] };
        let others = others.iter().map(|answer| format!("resume --answer {}", shell_word(answer)));
        asked.commands.extend(others.map(|words| command(&words, "")));
        asked.commands.extend(suggested.into_iter().map(|words| match words.starts_with("resume ") {
            true => command(&words, ""),
            false => caller.thread_command(&format!("{words}{to}"), thread), // a program's own takes no options of ours
        }));
    }
}

/// Returns examples of the answers that no plain command gives; `JSON` if their shape is unknown.
fn others(asked: &OpenQuestion) -> Vec<String> {
    let all: Vec<&str> = asked.takes.split(" or ").collect();
    if all.len() <= asked.words.len() {
        return vec![];
    }
    let has_command = |answer: &&str| asked.means.iter().any(|means| answer_name(answer) == *means);
    let is_edited = |answer: &&str| asked.editable && answer.contains("markdown");
    let mut others: Vec<String> = vec![];
    for answer in all.into_iter().filter(|answer| !has_command(answer) && !is_edited(answer)) {
        let example = example(answer);
        if !others.contains(&example) {
            others.push(example);
        }
    }
    others
}

/// Returns the name of an answer: a word, or the first key of an object.
fn answer_name(shape: &str) -> &str {
    shape.trim_start_matches(['{', '"']).split('"').next().unwrap_or(shape)
}

/// Fills in a shape; `JSON` if the result is none.
pub(crate) fn example(shape: &str) -> String {
    let mut filled = String::new();
    for part in shape.split_inclusive(|c: char| !c.is_ascii_alphabetic()) {
        let (word, rest) = part
            .split_at(part.len() - part.chars().last().filter(|c| !c.is_ascii_alphabetic()).map_or(0, char::len_utf8));
        filled.push_str(match (word, filled.ends_with('"')) {
            ("number" | "integer", false) => "1",
            ("text", false) => "\"...\"",
            (word, _) => word,
        });
        filled.push_str(rest);
    }
    if serde_json::from_str::<Value>(&filled).is_ok() { filled } else { "JSON".into() }
}

#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub bin: String,
    /// Path of the store, if given on the command line.
    pub store: Option<PathBuf>,
}

impl Caller {
    /// Returns a shell command about a thread; `words` is the command and its options: `events --follow`.
    pub(crate) fn thread_command(&self, words: &str, thread: &str) -> String {
        let (verb, rest) =
            words.split_once(' ').map_or((words, String::new()), |(verb, rest)| (verb, format!(" {rest}")));
        let (bin, store, thread_quoted) = (shell_word(&self.bin), self.given_store(), shell_word(thread));
        if thread.starts_with('-') {
            return format!("{bin} {verb}{store}{rest} -- {thread_quoted}"); // else it would be taken for an option
        }
        format!("{bin} {verb} {thread_quoted}{store}{rest}")
    }

    /// Returns a shell command about no thread.
    pub(crate) fn command(&self, words: &str) -> String {
        format!("{} {words}{}", shell_word(&self.bin), self.given_store())
    }

    fn given_store(&self) -> String {
        let Some(path) = self.store.as_deref().map(Path::to_string_lossy) else { return String::new() };
        let is = if path.starts_with('-') { '=' } else { ' ' };
        format!(" --store{is}{}", shell_word(&path))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A thread named `t`, with the fields that matter.
    fn report(fields: Value) -> ThreadReport {
        let mut report = json!({
            "thread": "t", "graph": "g", "status": "finished", "next": [], "questions": [], "step": 1, "state": {},
            "checkpoint": 3, "foreign": false,
        });
        for (name, value) in fields.as_object().unwrap() {
            report[name] = value.clone();
        }
        serde_json::from_value(report).unwrap()
    }

    fn caller() -> Caller {
        Caller { bin: "tool".into(), store: None }
    }

    const SIGNAL: &str = "call";

    #[rstest::rstest]
    #[case(json!({"status": "finished"}), "the run is complete; read its history with `tool log t`")]
    #[case(json!({"status": "pending"}), "resume it with `tool proceed t`")]
    #[case(json!({"status": "stopped"}), "resume it with `tool proceed t`")]
    #[case(json!({"status": "failed"}), "once the cause is fixed, resume it with `tool proceed t`")]
    #[case(
        json!({"status": "failed", "refused": true}),
        "once the cause is fixed, restart the superstep with `tool retry t`"
    )]
    #[case(
        json!({"status": "failed", "refused": true, "next": ["__start__"]}),
        "its input was not applied; run it again with another input, see `tool run g --help`"
    )]
    #[case(json!({"status": "needs-migration"}), "once the graph matches again, resume it with `tool proceed t`")]
    #[case(json!({"status": "waiting", "until": "T"}), "once the time has come, resume it with `tool proceed t`")]
    #[case(
        json!({"status": "awaiting-signal", "signals": [{"name": SIGNAL, "node": "A", "takes": "{\"by\": text}"}]}),
        "send the signal `call` with `tool signal t call '{\"by\": \"...\"}'`; once it has arrived, resume it with `tool proceed t`"
    )]
    #[case(
        json!({"status": "awaiting-signal", "until": "T", "signals": [
            {"name": SIGNAL, "node": "A"}, {"name": SIGNAL, "node": "B"}, {"name": "stop it", "node": "B"},
        ]}),
        "send the signal `call` with `tool signal t call`; send the signal `stop it` with `tool signal t 'stop it'`; \
         once it has arrived or the time has come, resume it with `tool proceed t`"
    )]
    #[case(
        json!({"status": "interrupted"}),
        "see its questions and the commands that answer them with `tool status t`"
    )]
    #[case(json!({"status": "running"}), "watch it with `tool watch t`; cancel its run with `tool cancel t`")]
    #[case(
        json!({"status": "failed", "foreign": true, "trusted": false}),
        "if you trust its author and its content, trust it with `tool trust t`"
    )]
    fn each_status_has_one_advice(#[case] fields: Value, #[case] says: &str) {
        let report = report(fields);
        assert_eq!(sentence(&in_full(next_steps(&report), &caller(), "t")), says);
    }

    #[rstest::rstest]
    #[case(json!({"status": "finished"}), "it has finished")]
    #[case(json!({"status": "failed", "reason": "no paper"}), "it has failed: no paper")]
    #[case(json!({"status": "needs-migration", "reason": "no node"}), "it needs migration: no node")]
    #[case(json!({"status": "pending"}), "it is unfinished, and nothing runs it")]
    #[case(json!({"status": "stopped"}), "it is stopped at a breakpoint")]
    #[case(json!({"status": "waiting", "until": "T"}), "it waits until T")]
    #[case(json!({"status": "awaiting-signal", "until": "T"}), "it waits for a signal, until T")]
    #[case(json!({"status": "awaiting-signal"}), "it waits for a signal")]
    #[case(json!({"status": "damaged"}), "it is damaged")]
    fn a_status_ends_a_sentence(#[case] fields: Value, #[case] says: &str) {
        assert_eq!(status_text(&report(fields)), says);
    }

    #[test]
    fn functions_of_the_library_are_commands_here() {
        let help = "restart with `thread.retry()`, or move it with `update_state_as`; then `proceed()`";
        assert_eq!(
            in_commands(help),
            "restart with `{retry}`, or move it with `{update --as-node NODE --values JSON}`; then `{proceed}`"
        );
    }

    #[rstest::rstest]
    #[case(None, "a b", "tool events 'a b' --follow")]
    #[case(None, "-x", "tool events --follow -- '-x'")]
    #[case(Some("-s"), "-x", "tool events --store='-s' --follow -- '-x'")]
    #[case(Some("s"), "x", "tool events x --store s --follow")]
    fn a_name_is_no_option(#[case] store: Option<&str>, #[case] thread: &str, #[case] written: &str) {
        let caller = Caller { bin: "tool".into(), store: store.map(PathBuf::from) };
        assert_eq!(caller.thread_command("events --follow", thread), written);
    }
}
