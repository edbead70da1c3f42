//! Selects the cases of each way: those that its calls can express.

use crate::load::NamedCase;
use crate::model::{Branch, Case, ChannelKind, Graph, Node};
use crate::script::{Action, Durability, Verb};
use crate::subject::Way;
use crate::typed;

/// Returns the cases to play in this way. An unreadable one is played on every store, so that it fails.
pub(crate) fn played(cases: &[NamedCase], way: Way) -> impl Iterator<Item = &NamedCase> {
    cases.iter().filter(move |loaded| match &loaded.case {
        Ok(case) => can_play(case, way),
        Err(_) => matches!(way, Way::Memory | Way::Sled),
    })
}

pub(crate) fn can_play(case: &Case, way: Way) -> bool {
    match way {
        Way::Memory | Way::Sled => true,
        Way::Plain => !case.graphs.values().any(|graph| graph.output.is_some() || is_fleeting(graph)),
        Way::Typed => typed::has_room(case) && (case.quirk || !changes_questions(case)),
        Way::Mapped => has_nodes_that_are_graphs(case) && subgraphs(case).all(|nested| nested.can_be_mapped()),
        Way::Added => {
            let shared = subgraphs(case).all(|nested| nested.shares_channels());
            has_nodes_that_are_graphs(case) && shared && (case.quirk || !keeps_only_ends(case))
        }
    }
}

/// Returns true if the last `values` event can hold values that the final state does not.
fn is_fleeting(graph: &Graph) -> bool {
    use ChannelKind::{AfterFinish, AnyValue, Ephemeral, Topic};
    graph.channels.values().any(|channel| matches!(channel.kind, Ephemeral | AnyValue | Topic | AfterFinish))
}

/// Returns true if graphs are nodes that only edges start, in a case without computed channels.
fn has_nodes_that_are_graphs(case: &Case) -> bool {
    let computed = [ChannelKind::IsLastStep, ChannelKind::RemainingSteps];
    let mut channels = case.graphs.values().flat_map(|graph| graph.channels.values());
    let sends = format!("{:?} {:?}", case.graphs, case.script).contains("Send");
    subgraphs(case).next().is_some() && !channels.any(|channel| computed.contains(&channel.kind)) && !sends
}

/// Returns true if a question may have another payload when it is answered. Graphs read from data match answers by
/// position, as LangGraph does; graphs over a struct match them by type and payload.
fn changes_questions(case: &Case) -> bool {
    let is_constant = |op: &&str| op.starts_with("Value(");
    let words = format!("{:?}", case.graphs);
    let mut questions = words.split("Interrupt { payload: ").skip(1);
    let updates = |action: &Action| {
        let commanded = action.command.as_ref().is_some_and(|command| command.update.is_some());
        commanded || matches!(action.verb, Verb::Update | Verb::BulkUpdate)
    };
    !questions.all(|question| is_constant(&question)) && case.script.iter().any(updates)
}

/// Returns true if a run stores only its first and last checkpoint. A subgraph over its parent's state cannot: it finds
/// its changes by its checkpoints.
fn keeps_only_ends(case: &Case) -> bool {
    case.script.iter().any(|action| action.config.durability == Durability::Exit)
}

/// A node that is a graph.
struct Nested<'a> {
    parent: &'a Graph,
    node: &'a Node,
    child: &'a Graph,
}

fn subgraphs(case: &Case) -> impl Iterator<Item = Nested<'_>> {
    let nodes = case.graphs.values().flat_map(|parent| parent.nodes.iter().map(move |node| (parent, node)));
    nodes.filter_map(|(parent, node)| Some(Nested { parent, node, child: case.graphs.get(node.subgraph.as_ref()?)? }))
}

impl Nested<'_> {
    /// Returns true if the graph can be mapped: a function from state to state does not see writes.
    fn can_be_mapped(&self) -> bool {
        let routes = |branch: &Branch| branch.from == self.node.name;
        let foreign = self.child.channels.keys().any(|name| !self.parent.channels.contains_key(name));
        let writes = self.child.nodes.iter().any(|node| !node.ops.is_empty() || node.subgraph.is_some());
        writes && !(foreign && self.parent.branches.iter().any(routes))
    }

    fn shares_channels(&self) -> bool {
        let child = self.child;
        child.channels == self.parent.channels && child.input.is_none() && child.output.is_none()
    }
}
