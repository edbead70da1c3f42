//! The place of a graph in a thread: the root, or the subgraph of a task, whose namespace names the tasks on the way down. Knows ids alone.

use std::collections::BTreeMap;

use serde::Serialize;
use superstep::checkpoint::CheckpointId;
use superstep::graph::view::parse_task_id;
use superstep_base::gather;
use utoipa::ToSchema;

/// The place of a checkpoint.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Checkpoint)]
pub(crate) struct CheckpointJson {
    pub thread_id: String,
    /// The tasks on the way down to its subgraph; empty for that of the thread.
    pub checkpoint_ns: String,
    pub checkpoint_id: String,
    /// The checkpoints of the graphs around a subgraph and its own, by namespace; absent for one of the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_map: Option<BTreeMap<String, String>>,
}

/// The place of a graph in a thread.
#[derive(Clone, Debug)]
pub(crate) struct GraphPlace<'a> {
    pub thread: &'a str,
    /// Tasks as `node:task`, the outermost first, joined by `|`; empty for the root.
    pub namespace: String,
}

impl<'a> GraphPlace<'a> {
    /// Returns that of the graph at the root of a thread.
    pub(crate) fn root(thread: &'a str) -> Self {
        Self { thread, namespace: String::new() }
    }

    /// Returns that of the graph whose events have a namespace.
    pub(crate) fn of(thread: &'a str, namespace: &[String]) -> Self {
        Self { thread, namespace: namespace.join("|") }
    }

    /// Returns that of the subgraph of a task of this graph.
    pub(crate) fn of_task(&self, node: &str, task: &str) -> Self {
        let separator = if self.namespace.is_empty() { "" } else { "|" };
        Self { thread: self.thread, namespace: format!("{}{separator}{node}:{task}", self.namespace) }
    }

    /// Returns the parts of the namespace.
    pub(crate) fn parts(&self) -> Vec<String> {
        self.namespace.split('|').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    /// Returns the checkpoints of the graphs around this one, by namespace. The id of a task begins with its checkpoint.
    pub(crate) fn parents(&self) -> BTreeMap<String, String> {
        let parts = self.parts();
        let above = |depth: usize| Some((parts[..depth].join("|"), checkpoint_of(&parts[depth])?.to_string()));
        gather((0..parts.len()).filter_map(above))
    }

    /// Returns a checkpoint of this graph. That of a subgraph has those of the graphs around it too.
    pub(crate) fn checkpoint(&self, id: CheckpointId) -> CheckpointJson {
        let own = (self.namespace.clone(), id.to_string());
        let is_root = self.namespace.is_empty();
        CheckpointJson {
            thread_id: self.thread.to_owned(),
            checkpoint_ns: self.namespace.clone(),
            checkpoint_id: id.to_string(),
            checkpoint_map: (!is_root).then(|| gather(self.parents().into_iter().chain([own]))),
        }
    }
}

/// Returns the checkpoint of a task in a namespace; `None` for the number of a call, `#1`, which follows its task.
pub(crate) fn checkpoint_of(place: &str) -> Option<CheckpointId> {
    let (_, task) = place.rsplit_once(':')?;
    parse_task_id(task).map(|(checkpoint, _)| checkpoint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checkpoints_around_a_subgraph_are_those_of_the_tasks_on_the_way_down() {
        let inner = GraphPlace::root("t").of_task("child", "3-0").of_task("mid", "5-1f");
        assert_eq!(inner.namespace, "child:3-0|mid:5-1f");
        let parents = [("", "3"), ("child:3-0", "5")].map(|(at, id)| (at.to_owned(), id.to_owned()));
        assert_eq!(inner.parents(), BTreeMap::from(parents));
        let again = GraphPlace::of("t", &["child:3-0".to_owned(), "#1".to_owned()]);
        assert_eq!(again.parents().into_values().collect::<Vec<_>>(), ["3"]);
        assert!(GraphPlace::root("t").checkpoint(CheckpointId(4)).checkpoint_map.is_none());
    }
}
