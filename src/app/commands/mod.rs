//! What each command does: from parsed arguments to text, JSON and an exit code.

mod answers;
mod carry;
mod editor;
mod edits;
mod fixture;
mod given;
mod holds;
mod keeps;
mod own;
mod reads;
mod replays;
mod runner;
mod runs;
mod signals;
mod stories;
mod talk;

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::args::{Verb, Wish};
use super::caller::{Caller, quoted};
use super::control::Control;
use super::desk::Saying;
use super::failure::Failure;
use super::graphs::Graphs;
use super::local::json;
use super::shapes::{Asked, Stand};
use super::{text, watch};

/// What a command has to say once it is done.
pub(crate) struct Told {
    pub text: String,
    pub json: Value,
    pub code: u8,
}

impl Told {
    /// All has been said.
    fn nothing() -> Self {
        Self { text: String::new(), json: Value::Null, code: 0 }
    }

    fn new(text: impl Into<String>, json: &impl Serialize) -> Result<Self, Failure> {
        Ok(Self { text: text.into(), json: self::json(json)?, code: 0 })
    }
}

/// One call of the program.
pub(crate) struct Session {
    pub graphs: Arc<Graphs>,
    pub caller: Caller,
    pub store: PathBuf,
    /// Whether nothing may be written to the store.
    pub read_only: bool,
    /// How runs are told while they go on.
    pub view: watch::View,
    /// The command line itself, for completions.
    pub command: clap::Command,
    /// What other processes may ask of this one.
    pub control: Control,
}

impl Session {
    /// Does what was asked for.
    pub(crate) async fn perform(&self, wish: Wish<'_>) -> Result<Told, Failure> {
        let told = match wish {
            Wish::Run(args) => self.run(&args).await,
            Wish::Do(verb) => self.verb(verb).await,
            Wish::Own(own, thread, matches) => self.own(own, thread, matches).await,
        };
        self.control.close().await;
        told
    }

    async fn verb(&self, verb: Verb) -> Result<Told, Failure> {
        match verb {
            Verb::Resume(args) => self.resume(args).await,
            Verb::Proceed(args) => self.proceed(&args.on.thread, &args.stops, args.talk).await,
            Verb::Retry(args) => self.retry(&args.on.thread, args.talk).await,
            Verb::Approve(args) => self.decided(args.into()).await,
            Verb::Reject(args) => self.decided(args.into()).await,
            Verb::Revise(args) => self.decided(args.into()).await,
            Verb::Edit(args) => self.edit(args).await,
            Verb::Dismiss(args) => self.answered(args.thread, Saying::Cancel, args.to).await,
            Verb::Signal(args) => self.signal(args).await,
            Verb::Cancel(args) => self.cancel(args.on.thread).await,
            Verb::Threads(args) => self.threads(args).await,
            Verb::Status(args) => self.status(args).await,
            Verb::History(args) => self.history(args).await,
            Verb::Show(args) => self.show(args).await,
            Verb::Diff(args) => self.diff(&args).await,
            Verb::Replay(args) => self.replay(&args).await,
            Verb::Tag(args) => self.tag(args).await,
            Verb::Gc(args) => self.gc(args).await,
            Verb::Runner(args) => self.runner(args).await,
            Verb::Export(args) => self.export(args).await,
            Verb::Import(args) => self.import(args).await,
            Verb::Trust(args) => self.trust(args).await,
            Verb::Repair(args) => self.repair(args).await,
            Verb::Events(args) => self.events(args).await,
            Verb::Watch(args) => self.watch(args.thread).await,
            Verb::Log(args) => self.log(args).await,
            Verb::Update(args) => self.update(args).await,
            Verb::Fork(args) => self.fork(args).await,
            Verb::Delete(args) => self.delete(args).await,
            Verb::Graphs(_) => self.list_graphs(),
            Verb::Graph(args) => self.draw(args).await,
            Verb::Completions(args) => self.completions(&args),
        }
    }

    /// A thread as it stands, as text and JSON.
    fn stands(&self, mut stand: Stand, code: u8) -> Result<Told, Failure> {
        let thread = stand.thread.clone();
        self.add_commands(&thread, &mut stand.questions);
        let mut text = text::stand(&stand);
        if stand.origin.is_untrusted() {
            let trust = self.caller.on("trust", &stand.thread);
            text.push_str(&format!("\nto let it run, if you trust who made it and what it holds\n  {trust}\n"));
        }
        Ok(Told { code, ..Told::new(text, &stand)? })
    }

    /// Adds to each question the commands that answer it.
    fn add_commands(&self, thread: &str, questions: &mut [Asked]) {
        commands(&self.caller, thread, questions, "");
    }
}

/// Adds to each question of a thread the commands that answer it, each with these options.
fn commands(caller: &Caller, thread: &str, questions: &mut [Asked], options: &str) {
    let several = questions.len() > 1;
    for asked in questions {
        let to = if several { format!(" --interrupt {}", asked.id) } else { String::new() };
        let command = |verb: &str, rest: &str| caller.on(&format!("{verb}{rest}{to}{options}"), thread);
        let words = asked.words.iter().map(|word| match word.as_str() {
            "revise" => command("revise", " --feedback 'what to change'"),
            word => command(word, ""),
        });
        asked.commands = words.collect();
        asked.commands.extend(asked.editable.then(|| command("edit", "")));
        let others = others(asked).into_iter();
        asked.commands.extend(others.map(|answer| command("resume", &format!(" --answer {}", quoted(&answer)))));
    }
}

/// The answers that none of the plain words comes to, as JSON to be changed; `JSON` where nothing is known of them.
fn others(asked: &Asked) -> Vec<String> {
    let all: Vec<&str> = asked.takes.split(" or ").collect();
    if all.len() <= asked.words.len() {
        return vec![];
    }
    let said = |answer: &&str| asked.means.iter().any(|means| named(answer) == *means);
    let is_edited = |answer: &&str| asked.editable && answer.contains("markdown");
    let mut others: Vec<String> = vec![];
    for answer in all.into_iter().filter(|answer| !said(answer) && !is_edited(answer)) {
        let example = example(answer);
        if !others.contains(&example) {
            others.push(example);
        }
    }
    others
}

/// The name of an answer: a word, or the first key of an object.
fn named(shape: &str) -> &str {
    shape.trim_start_matches(['{', '"']).split('"').next().unwrap_or(shape)
}

/// A shape filled in; `JSON` if that makes none.
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
