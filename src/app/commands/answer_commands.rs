//! The commands that answer a question. Pure.

use serde_json::Value;
use superstep_base::shell::shell_word;

use crate::app::caller::Caller;
use crate::app::shapes::OpenQuestion;

/// Adds to each question of a thread the commands that answer it, each with these options.
pub(super) fn commands(caller: &Caller, thread: &str, questions: &mut [OpenQuestion], options: &str) {
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
        let others = others(asked).into_iter();
        asked.commands.extend(others.map(|answer| command("resume", &format!(" --answer {}", shell_word(&answer)))));
    }
}

/// Returns examples of the answers that no plain command gives; `JSON` if their shape is unknown.
fn others(asked: &OpenQuestion) -> Vec<String> {
    let all: Vec<&str> = asked.takes.split(" or ").collect();
    if all.len() <= asked.words.len() {
        return vec![];
    }
    let has_command = |answer: &&str| asked.means.iter().any(|means| named(answer) == *means);
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
fn named(shape: &str) -> &str {
    shape.trim_start_matches(['{', '"']).split('"').next().unwrap_or(shape)
}

/// Fills in a shape; `JSON` if the result is none.
fn example(shape: &str) -> String {
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
