//! The path below which a task writes in the journal of the root graph's task: the same in every attempt, resume and
//! replay, whatever numbers its checkpoints get. [`EntryKey`](super::EntryKey) reads what is written here. Pure.
//!
//! Text, as it is stored: `<call>/<round>/<node>[.<send>]/` for each subgraph on the way down, `!` before what an error
//! handler makes, `@<key>/` for each effect around it. An entry adds the letter of its kind, `:` and its own key.

use std::fmt::Write;

use super::ids::HANDLER;
use crate::checkpoint::EffectKind;

/// The path of a graph, a task or an effect in a journal; empty for the root graph's task itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JournalPath(String);

/// A task of a subgraph, as a path names it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathTask<'a> {
    /// Supersteps since its graph started.
    pub round: u64,
    pub node: &'a str,
    /// The index of its send.
    pub sent: Option<u32>,
}

impl JournalPath {
    /// Returns the path of a task of the subgraph at this path.
    pub(crate) fn task(&self, task: PathTask<'_>) -> Self {
        let mut path = self.clone();
        let _ = write!(path.0, "{:x}/{}", task.round, escaped_name(task.node));
        if let Some(sent) = task.sent {
            let _ = write!(path.0, ".{sent:x}");
        }
        path.0.push('/');
        path
    }

    /// Returns the path of the error handler of the task at this path.
    pub(crate) fn handler(mut self) -> Self {
        self.0.push('!');
        self
    }

    /// Returns the path of a subgraph that the task at this path calls: `call` counts from 0 in each attempt.
    pub(crate) fn subgraph(mut self, call: u32) -> Self {
        let _ = write!(self.0, "{call}/");
        self
    }

    /// Returns the path inside of an effect. `part` tells a probe from a body.
    pub(crate) fn effect(mut self, key: &str, part: &str) -> Self {
        let _ = write!(self.0, "@{}{part}/", escaped_key(key));
        self
    }

    /// Returns this path with the effects of another path behind it.
    pub(crate) fn within(mut self, effects: &Self) -> Self {
        self.0.push_str(&effects.0);
        self
    }

    /// Returns the key of an entry.
    pub(crate) fn entry(mut self, kind: EffectKind, key: &str) -> String {
        self.0.extend([letter(kind), ":", key]);
        self.0
    }

    /// Returns true for the root graph's task.
    pub(crate) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if the entry with this key was made below this path.
    pub(crate) fn holds(&self, key: &str) -> bool {
        key.starts_with(&self.0)
    }

    /// Returns the number of subgraphs on the way down.
    pub(crate) fn depth(&self) -> usize {
        self.0.matches('/').count() / 3
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

fn letter(kind: EffectKind) -> &'static str {
    match kind {
        EffectKind::Effect => "e",
        EffectKind::Value => "v",
        EffectKind::Time => "t",
        EffectKind::Random => "r",
        EffectKind::Sleep => "s",
        EffectKind::Failure => "f",
        EffectKind::Signal => "g",
    }
}

/// Returns the name of the node's error handler in a path.
pub(crate) fn handler_of(node: &str) -> String {
    format!("{HANDLER}{node}")
}

/// A node's name in which nothing can be taken for a separator.
fn escaped_name(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2F").replace('.', "%2E")
}

/// A key in which nothing can be taken for a separator of paths and askers.
pub(crate) fn escaped_key(key: &str) -> String {
    let mut text = String::with_capacity(key.len());
    for letter in key.chars() {
        match letter {
            '%' | '/' | '.' | '@' | ':' | '!' | '=' | '?' => {
                let _ = write!(text, "%{:02X}", u32::from(letter));
            }
            _ => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::records::EntryKey;

    #[test]
    fn a_path_is_stored_as_it_always_was() {
        let below = JournalPath::default().handler().subgraph(10);
        let task = below.task(PathTask { round: 17, node: "a.b/c%", sent: Some(10) }).handler();
        let path = task.within(&JournalPath::default().effect("turn/1", "").effect("pay=2", "?"));
        assert_eq!(path.clone().entry(EffectKind::Random, "0"), "!10/11/a%2Eb%2Fc%25.a/!@turn%2F1/@pay%3D2?/r:0");
        assert_eq!((path.depth(), path.is_root(), JournalPath::default().is_root()), (1, false, true));
    }

    type Step = (u32, u64, String, Option<u32>);

    proptest! {
        #[test]
        fn what_a_path_names_is_read_from_the_key(
            steps in prop::collection::vec(any::<Step>(), 0..4),
            by_handler: bool,
            effects: Vec<String>,
            key: String,
        ) {
            let steps: Vec<Step> = steps.into_iter().filter(|step| !step.2.starts_with(HANDLER)).collect();
            let down = steps.iter().fold(JournalPath::default(), |path, (call, round, node, sent)| {
                path.subgraph(*call).task(PathTask { round: *round, node, sent: *sent })
            });
            let own = if by_handler { down.handler() } else { down };
            let inside = effects.iter().fold(JournalPath::default(), |path, key| path.effect(key, ""));
            let full = own.clone().within(&inside).entry(EffectKind::Value, &key);
            prop_assert!(own.holds(&full));
            let path = steps.into_iter().map(|step| step.2).collect();
            prop_assert_eq!(EntryKey::read(&full), Some(EntryKey { path, by_handler, within: effects, key }));
        }
    }
}
