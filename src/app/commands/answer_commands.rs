//! The commands that answer a question. Pure.

use superstep_base::shell::shell_word;

use crate::app::caller::Caller;
use crate::app::examples::example;
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
