//! The path below which a task writes in the journal of the root graph's task, and the keys of entries, read back. The path is
//! the same in every attempt, resume and replay, whatever numbers its checkpoints get. Pure.
//!
//! Text, as it is stored: `<call>/<round>/<node>[.<send>]/` for each subgraph on the way down, `!` before what an error
//! handler makes, `@<key>/` for each effect around it. An entry adds the letter of its kind, `:` and its own key.

use std::fmt::Write;

use superstep_base::text::percent_encode;

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
        self.0.extend([kind_letter(kind), ":", key]);
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

fn kind_letter(kind: EffectKind) -> &'static str {
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
    percent_encode(name, |letter| matches!(letter, '%' | '/' | '.'))
}

/// A key in which nothing can be taken for a separator of paths and askers.
pub(crate) fn escaped_key(key: &str) -> String {
    percent_encode(key, |letter| matches!(letter, '%' | '/' | '.' | '@' | ':' | '!' | '=' | '?'))
}

/// The place at which an entry was made, and its own key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EntryKey {
    /// The nodes below the task of the root graph, down to the one that made the entry; empty if that is the task itself.
    pub path: Vec<String>,
    /// True if an error handler made it.
    pub by_handler: bool,
    /// The effects in whose bodies it was made, outermost first.
    pub within: Vec<String>,
    /// The key that the body gave, or the number of an entry without one.
    pub key: String,
}

impl EntryKey {
    /// Reads a key; none if it is not one of an entry.
    pub(crate) fn parse(full: &str) -> Option<Self> {
        let (mut found, mut rest) = (Self::default(), full);
        loop {
            rest = match rest.strip_prefix('!') {
                Some(inner) => {
                    found.by_handler = true;
                    inner
                }
                None => rest,
            };
            match rest.chars().next()? {
                '0'..='9' => {
                    let mut parts = rest.splitn(4, '/').skip(2);
                    let (node, inner) = (parts.next()?, parts.next()?);
                    let node = unescape(node.split('.').next().unwrap_or_default());
                    found.path.push(node.strip_prefix(HANDLER).map_or_else(|| node.clone(), str::to_owned));
                    (found.by_handler, rest) = (false, inner);
                }
                '@' => {
                    let (key, inner) = rest[1..].split_once('/')?;
                    found.within.push(unescape(key.strip_suffix('?').unwrap_or(key)));
                    rest = inner;
                }
                _ => {
                    found.key = rest.split_once(':')?.1.to_owned();
                    return Some(found);
                }
            }
        }
    }

    /// Returns true if the task made it itself, outside of any effect.
    #[cfg_attr(not(feature = "test-util"), allow(dead_code, reason = "only tests script effects"))]
    pub(crate) fn is_own(&self) -> bool {
        self.within.is_empty()
    }
}

/// A name without its escapes.
fn unescape(name: &str) -> String {
    let mut parts = name.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let letter = part.get(..2).and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32);
        match letter {
            Some(letter) => {
                text.push(letter);
                text.push_str(&part[2..]);
            }
            None => text.extend(["%", part]),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
            prop_assert_eq!(EntryKey::parse(&full), Some(EntryKey { path, by_handler, within: effects, key }));
        }
    }

    #[rstest::rstest]
    #[case("e:pay", "  pay")]
    #[case("!e:pay/1", "!  pay/1")]
    #[case("0/1f/inner/e:0/1/2/e:pay", "inner  0/1/2/e:pay")]
    #[case("0/1/e:x/2/0/y.1/!e:pay", "!e:x,y  pay")]
    #[case("!0/1/a%2Eb/v:x", "a.b  x")]
    #[case("@turn%2F1/@hook?/t:0", " turn/1,hook 0")]
    #[case("0/2/__error_handler__a/!@x%40/f:y", "!a x@ y")]
    #[case("0/1/100%/e:k", "100%  k")]
    fn the_place_of_an_entry_is_read(#[case] full: &str, #[case] expected: &str) {
        let EntryKey { path, by_handler, within, key } = EntryKey::parse(full).unwrap();
        let mark = if by_handler { "!" } else { "" };
        assert_eq!(format!("{mark}{} {} {key}", path.join(","), within.join(",")), expected);
    }

    #[rstest::rstest]
    #[case("")]
    #[case("e")]
    #[case("0/1/e")]
    #[case("@x")]
    #[case("!")]
    fn what_is_no_entry_is_none(#[case] full: &str) {
        assert_eq!(EntryKey::parse(full), None);
    }
}
