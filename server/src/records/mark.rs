//! Marks of events that the checkpoints of a run can give again: with them, each is stored once, whichever process sends it. Knows no
//! run.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::graph_place::checkpoint_of;

/// Mark of an event of a superstep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EventMark {
    /// The tasks in whose subgraphs the superstep is, outermost first, each as `node:checkpoint-task`.
    #[serde(default, skip_serializing_if = "is_root")]
    pub namespace: Arc<[String]>,
    pub step: i64,
    /// Differs from those of the other events of the superstep.
    pub key: Arc<str>,
}

fn is_root(namespace: &Arc<[String]>) -> bool {
    namespace.is_empty()
}

/// The marks of the newest superstep of a graph that were sent, and of the subgraphs that tasks have called since then; those of earlier
/// ones were all sent.
#[derive(Debug, Default)]
pub(crate) struct SentMarks {
    step: Option<i64>,
    keys: HashSet<Arc<str>>,
    /// The newest checkpoint whose tasks have called subgraphs, and those by the calls.
    caller: u64,
    subgraphs: HashMap<String, SentMarks>,
}

impl SentMarks {
    /// Notes that an event is sent; returns false if it was sent before.
    pub(crate) fn add(&mut self, mark: &EventMark) -> bool {
        let mut graph = self;
        for call in calls(&mark.namespace) {
            let Some(subgraph) = graph.subgraph(call) else { return false };
            graph = subgraph;
        }
        graph.add_own(mark)
    }

    fn add_own(&mut self, mark: &EventMark) -> bool {
        if self.step.is_some_and(|step| mark.step < step) {
            return false;
        }
        if self.step != Some(mark.step) {
            (self.step, self.keys) = (Some(mark.step), HashSet::new());
        }
        self.keys.insert(Arc::clone(&mark.key))
    }

    /// Returns the marks of a subgraph; `None` if tasks of a later checkpoint have called others.
    fn subgraph(&mut self, call: String) -> Option<&mut Self> {
        let caller = checkpoint_of(&call).map_or(self.caller, |checkpoint| checkpoint.0);
        if caller > self.caller {
            (self.caller, self.subgraphs) = (caller, HashMap::new());
        }
        (caller == self.caller).then(|| self.subgraphs.entry(call).or_default())
    }

    /// Returns the newest superstep of which an event was sent; `None` if none was.
    pub(crate) fn step(&self) -> Option<i64> {
        self.step
    }
}

/// Returns the calls on the way down to a graph: tasks, and for a later call of a task its number too, as `node:checkpoint-task#1`.
fn calls(namespace: &[String]) -> Vec<String> {
    let mut calls: Vec<String> = vec![];
    for part in namespace {
        match calls.last_mut().filter(|_| checkpoint_of(part).is_none()) {
            Some(call) => call.push_str(part),
            None => calls.push(part.clone()),
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(namespace: &[&str], step: i64, key: &str) -> EventMark {
        EventMark { namespace: namespace.iter().map(ToString::to_string).collect(), step, key: key.into() }
    }

    #[test]
    fn an_event_is_sent_once() {
        let mut sent = SentMarks::default();
        let mut add = |step, key: &str| sent.add(&mark(&[], step, key));
        assert!(add(1, "a") && add(1, "b") && add(2, "a"));
        assert!(!add(2, "a") && !add(1, "a") && !add(1, "c"));
        assert!(add(2, "b") && add(3, "a"));
    }

    #[test]
    fn an_event_of_a_subgraph_is_sent_once_for_each_call() {
        let mut sent = SentMarks::default();
        let mut add = |namespace: &[&str], step| sent.add(&mark(namespace, step, "a"));
        assert!(add(&["x:2-0"], 1) && add(&["y:2-1"], 1) && add(&["x:2-0", "#1"], 1) && add(&["x:2-0", "z:3-0"], 1));
        assert!(add(&["x:2-0"], 2) && add(&["x:2-0", "z:5-0"], 1) && add(&[], 2));
        assert!(!add(&["y:2-1"], 1) && !add(&["x:2-0"], 1) && !add(&["x:2-0", "#1"], 1), "they are parallel");
        assert!(!add(&["x:2-0", "z:3-0"], 1) && !add(&["x:2-0", "z:3-0"], 2), "its caller has gone on");
        assert!(add(&["x:9-0"], 1) && !add(&["y:2-1"], 2), "the graph has gone on");
    }

    #[test]
    fn a_mark_of_the_root_graph_is_stored_without_a_namespace() {
        let text = serde_json::to_string(&mark(&[], 1, "a")).unwrap();
        assert_eq!(text, r#"{"step":1,"key":"a"}"#);
        assert_eq!(serde_json::from_str::<EventMark>(&text).unwrap(), mark(&[], 1, "a"));
    }
}
