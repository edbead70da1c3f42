//! The difference between two checkpoints, as data and as text: a line for each edit, multi-line strings as a unified diff,
//! long values cut. Control characters are escaped.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::Value;
use similar::TextDiff;

use superstep_base::text::first_chars;
use superstep_base::time::{millis, rfc3339};

use super::edits::Edit;
use crate::checkpoint::{CheckpointId, Source, ThreadId};
use crate::graph::interrupt::Question;
use crate::graph::view::{JournalEntry, JournalKind};

/// The difference between two checkpoints. `Display` is for people; the JSON is for tools: `from` and `to`, the channels
/// with their edits, the questions, and the subgraphs of a deep comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Diff {
    /// The old checkpoint.
    pub from: Side,
    /// The new checkpoint.
    pub to: Side,
    /// The channels that differ, in the order of `to`; those that only `from` has come last.
    pub channels: Vec<ChannelDiff>,
    /// Questions that only tasks of `to` ask.
    pub asked: Vec<DiffQuestion>,
    /// Questions that only tasks of `from` ask.
    pub gone: Vec<DiffQuestion>,
    /// Journal entries recorded on the path to `to` only, if both are of one thread. Left out of the JSON if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<RecordedEntry>,
    /// Journal entries recorded on the path to `from` only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unrecorded: Vec<RecordedEntry>,
    /// The subgraphs that differ, in a deep comparison.
    pub subgraphs: Vec<SubgraphDiff>,
}

/// An entry of the journal of a task between two checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RecordedEntry {
    /// The checkpoint that planned the task.
    #[serde(serialize_with = "number")]
    pub checkpoint: CheckpointId,
    /// The task's id.
    pub task: String,
    /// The node.
    pub node: String,
    /// The entry.
    pub entry: JournalEntry,
}

/// One of the two checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Side {
    /// Its thread.
    #[serde(serialize_with = "text")]
    pub thread: ThreadId,
    /// Its number.
    #[serde(serialize_with = "number")]
    pub checkpoint: CheckpointId,
    /// The superstep, counted along the parents from -1.
    pub step: i64,
    /// The reason it was written; `input`, `loop`, `update` or `fork` in JSON.
    #[serde(serialize_with = "word")]
    pub source: Source,
    /// The nodes that run next: a name for each task.
    pub next: Vec<String>,
}

/// A channel that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChannelDiff {
    /// Its name.
    pub channel: String,
    /// The kind of difference.
    pub change: ValueChange,
    /// The edits from one value to the other, in order, as a JSON Patch of the state; empty for a secret.
    pub patch: Vec<Edit>,
}

/// The kind of difference of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueChange {
    /// Only `to` has a value.
    Added,
    /// Only `from` has a value.
    Removed,
    /// The values differ.
    Changed,
    /// The values differ and are secret.
    Secret,
}

/// A question that one of the two checkpoints has.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DiffQuestion {
    /// The id that an answer names.
    pub id: String,
    /// The name of its type.
    pub name: String,
    /// The node that interrupted.
    pub node: String,
    /// The nodes whose subgraphs that node is in, outermost first.
    pub namespace: Vec<String>,
    /// The payload of the interrupt.
    pub payload: Value,
}

/// A subgraph that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SubgraphDiff {
    /// The node that runs it; with ` (2)` and so on if several tasks of one node do.
    pub node: String,
    /// The difference in it.
    #[serde(flatten)]
    pub inside: SubgraphChange,
}

/// The difference of a subgraph.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SubgraphChange {
    /// Only `to` has it: its checkpoint there.
    Began(Side),
    /// Only `from` has it: its checkpoint there.
    Ended(Side),
    /// Both have it.
    Diff(Box<Diff>),
}

impl Diff {
    /// Returns true if only the checkpoints' ids, and entries recorded on the paths to them, differ.
    pub fn is_empty(&self) -> bool {
        let same = self.channels.is_empty() && self.asked.is_empty() && self.gone.is_empty();
        same && self.subgraphs.is_empty() && self.from.next == self.to.next
    }

    /// Returns all edits of the state as one JSON Patch (RFC 6902), which turns the state of `from` into that of `to`,
    /// secrets aside. Each operation also has the removed value, `old`.
    pub fn patch(&self) -> Vec<Edit> {
        self.channels.iter().flat_map(|channel| channel.patch.iter().cloned()).collect()
    }
}

impl From<&Question> for DiffQuestion {
    fn from(question: &Question) -> Self {
        Self {
            id: question.id().to_string(),
            name: question.name().to_owned(),
            node: question.node().to_owned(),
            namespace: question.namespace().to_vec(),
            payload: question.json(),
        }
    }
}

impl DiffQuestion {
    /// True if the questions are the same except for their ids: forks ask again under new ids.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.name == other.name
            && self.node == other.node
            && self.namespace == other.namespace
            && self.payload == other.payload
    }
}

pub(crate) fn text<E: Serializer>(thread: &ThreadId, out: E) -> Result<E::Ok, E::Error> {
    out.serialize_str(thread.as_str())
}

pub(crate) fn number<E: Serializer>(checkpoint: &CheckpointId, out: E) -> Result<E::Ok, E::Error> {
    out.serialize_u64(checkpoint.0)
}

pub(crate) fn word<E: Serializer>(source: &Source, out: E) -> Result<E::Ok, E::Error> {
    out.serialize_str(source.as_str())
}

/// Limit of characters shown of a value.
const SHOWN: usize = 120;

/// Characters shown before a difference in a long string.
const BEFORE: usize = 24;

/// Limit of lines shown of a unified diff, and of edits shown of a channel.
const LINES: usize = 200;

/// Time limit for comparing two texts; after that the rest counts as different.
const PATIENCE: Duration = Duration::from_millis(500);

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "from {}", SideLine(&self.from))?;
        write!(f, "to   {}", SideLine(&self.to))?;
        self.body("", f)
    }
}

impl Diff {
    fn body(&self, indent: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() && self.recorded.is_empty() && self.unrecorded.is_empty() {
            return write!(f, "\n{indent}nothing differs");
        }
        if self.from.next != self.to.next {
            write!(f, "\n{indent}~ next: {} -> {}", names(&self.from.next), names(&self.to.next))?;
        }
        self.gone.iter().try_for_each(|asked| write!(f, "\n{indent}- {}", question(asked)))?;
        self.asked.iter().try_for_each(|asked| write!(f, "\n{indent}+ {}", question(asked)))?;
        self.channels.iter().try_for_each(|channel| channel.write_lines(indent, f))?;
        self.unrecorded.iter().try_for_each(|only| write!(f, "\n{indent}- {}", entry(only)))?;
        self.recorded.iter().try_for_each(|only| write!(f, "\n{indent}+ {}", entry(only)))?;
        for subgraph in &self.subgraphs {
            let (node, deeper) = (printable(&subgraph.node), format!("{indent}  "));
            match &subgraph.inside {
                SubgraphChange::Began(side) => write!(f, "\n{indent}+ in {node}: {}", SideLine(side))?,
                SubgraphChange::Ended(side) => write!(f, "\n{indent}- in {node}: {}", SideLine(side))?,
                SubgraphChange::Diff(diff) => {
                    write!(f, "\n{indent}~ in {node}: #{} -> #{}", diff.from.checkpoint, diff.to.checkpoint)?;
                    diff.body(&deeper, f)?;
                }
            }
        }
        Ok(())
    }
}

impl ChannelDiff {
    fn write_lines(&self, indent: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.change == ValueChange::Secret {
            return write!(f, "\n{indent}~ {}: changed (secret)", printable(&self.channel));
        }
        self.patch.iter().take(LINES).try_for_each(|edit| write_edit(edit, indent, f))?;
        match self.patch.len().saturating_sub(LINES) {
            0 => Ok(()),
            more => write!(f, "\n{indent}... {more} more in {}", printable(&self.channel)),
        }
    }
}

struct SideLine<'a>(&'a Side);

impl fmt::Display for SideLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Side { thread, checkpoint, step, source, .. } = self.0;
        let thread = printable(thread.as_str());
        write!(f, "{thread} #{checkpoint}, superstep {step} ({})", source.as_str())
    }
}

fn names(next: &[String]) -> String {
    let names: Vec<String> = next.iter().map(|name| printable(name)).collect();
    if names.is_empty() { "nothing".into() } else { names.join(", ") }
}

fn question(asked: &DiffQuestion) -> String {
    let path: Vec<String> = asked.namespace.iter().chain([&asked.node]).map(|name| printable(name)).collect();
    format!("question {} of {}: {}", printable(&asked.name), path.join("/"), short_json(&asked.payload))
}

fn entry(recorded: &RecordedEntry) -> String {
    let RecordedEntry { checkpoint, node, entry, .. } = recorded;
    let JournalEntry { key, kind, .. } = entry;
    let key = printable(key);
    let what = match kind {
        JournalKind::Effect(effect) => {
            let result = effect.result.as_ref().map_or_else(|why| cut(&format!("failed: {why}")), short_json);
            format!("effect {key} {} -> {result}", short_json(&effect.arguments))
        }
        JournalKind::Value(value) => format!("recorded {key}: {}", short_json(value)),
        JournalKind::Signal(signal) => format!("received signal {key}: {}", short_json(signal)),
        JournalKind::Time(at) => format!("recorded time {}", rfc3339(millis(*at))),
        JournalKind::Random(number) => format!("recorded random {number}"),
        JournalKind::Id(id) => format!("recorded id {}", printable(id)),
        JournalKind::Sleep(until) => format!("waits until {}", rfc3339(millis(*until))),
    };
    format!("{} #{checkpoint}: {what}", printable(node))
}

fn write_edit(edit: &Edit, indent: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let path = edit.path().strip_prefix('/').unwrap_or_default();
    let path = printable(&path.strip_suffix("/-").unwrap_or(path).replace("~1", "/").replace("~0", "~"));
    match edit {
        Edit::Add { value, .. } => write!(f, "\n{indent}+ {path}: {}", short_json(value)),
        Edit::Remove { old, .. } => write!(f, "\n{indent}- {path}: {}", short_json(old)),
        Edit::Replace { value: Value::String(new), old: Value::String(old), .. } if is_text(old) || is_text(new) => {
            write!(f, "\n{indent}~ {path}:")?;
            write_unified(old, new, &format!("{indent}    "), f)
        }
        Edit::Replace { value: Value::String(new), old: Value::String(old), .. } => {
            let (old, new) = windows(old, new);
            write!(f, "\n{indent}~ {path}: {old} -> {new}")
        }
        Edit::Replace { value, old, .. } => {
            write!(f, "\n{indent}~ {path}: {} -> {}", short_json(old), short_json(value))
        }
    }
}

fn is_text(value: &str) -> bool {
    value.trim_end().contains('\n')
}

fn write_unified(old: &str, new: &str, indent: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let mut unified = diff.unified_diff();
    let hunks = unified.context_radius(2).missing_newline_hint(false);
    let mut lines = vec![];
    for hunk in hunks.iter_hunks() {
        lines.push(hunk.header().to_string());
        let line =
            |change: similar::Change<&str>| format!("{}{}", change.tag(), cut(change.value().trim_end_matches('\n')));
        lines.extend(hunk.iter_changes().map(line));
    }
    if lines.is_empty() {
        lines.push("(only line ends differ)".into());
    }
    lines.iter().take(LINES).try_for_each(|line| write!(f, "\n{indent}{}", line.trim_end()))?;
    match lines.len().saturating_sub(LINES) {
        0 => Ok(()),
        more => write!(f, "\n{indent}... {more} more lines"),
    }
}

/// Returns both strings, from shortly before their first difference.
fn windows(old: &str, new: &str) -> (String, String) {
    let same = old.chars().zip(new.chars()).take_while(|(old, new)| old == new).count();
    let long = old.chars().nth(SHOWN).is_some() || new.chars().nth(SHOWN).is_some();
    let skip = if long { same.saturating_sub(BEFORE) } else { 0 };
    let window = |text: &str| {
        let rest: String = text.chars().skip(skip).collect();
        let rest = short_json(&Value::String(rest));
        if skip > 0 { format!("...{rest}") } else { rest }
    };
    (window(old), window(new))
}

fn short_json(value: &Value) -> String {
    cut(&value.to_string())
}

fn cut(text: &str) -> String {
    let more = text.chars().count().saturating_sub(SHOWN);
    let head = printable(first_chars(text, SHOWN));
    if more == 0 { head } else { format!("{head}... ({more} more characters)") }
}

/// Escapes control and bidirectional characters.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        let turns = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        match letter {
            '\t' => out.push(letter),
            _ if letter.is_control() || turns => out.extend(letter.escape_unicode()),
            _ => out.push(letter),
        }
    }
    out
}
