//! The nodes and edges of a graph as clients draw them, with subgraphs expanded into nodes such as `child:inner`. Knows no request.
//!
//! An expanded subgraph has no start and end of its own where one node takes their place: the edges of the graph around it lead there.

use serde_json::{Value, json};
use superstep::graph::{Topology, TopologyEdge, TopologyNode};

const START: &str = "__start__";
const END: &str = "__end__";

/// Returns a graph as `{nodes, edges}`, with `depth` levels of subgraphs expanded.
pub(crate) fn json(topology: &Topology, depth: usize) -> Value {
    let mut drawing = Drawing::default();
    drawing.node(START, START);
    let inside = drawing.nodes_of(topology, "", depth);
    drawing.end(END);
    drawing.edges_of(topology, &inside, &Ends { entry: START.into(), exit: END.into() });
    json!({ "nodes": drawing.nodes, "edges": drawing.edges })
}

#[derive(Default)]
struct Drawing {
    nodes: Vec<Value>,
    edges: Vec<Value>,
}

/// The ids of the nodes at which a graph begins and ends.
struct Ends {
    entry: String,
    exit: String,
}

impl Drawing {
    fn node(&mut self, id: &str, name: &str) {
        let data = json!({ "id": ["superstep", "node", name], "name": name });
        self.nodes.push(json!({ "id": id, "type": "runnable", "data": data }));
    }

    fn end(&mut self, id: &str) {
        self.nodes.push(json!({ "id": id }));
    }

    /// Adds the nodes of a graph; returns where edges to and from each of them are drawn.
    fn nodes_of(&mut self, topology: &Topology, prefix: &str, depth: usize) -> Vec<(String, Ends)> {
        topology.nodes.iter().map(|node| (node.name.clone(), self.expand(node, prefix, depth))).collect()
    }

    /// Adds a node, or the graph in it.
    fn expand(&mut self, node: &TopologyNode, prefix: &str, depth: usize) -> Ends {
        let id = format!("{prefix}{}", node.name);
        let Some(inner) = node.subgraph.as_ref().filter(|_| depth > 0) else {
            self.node(&id, &node.name);
            return Ends { entry: id.clone(), exit: id };
        };
        let (topology, own) = (&inner.topology, |name: &str| format!("{id}:{name}"));
        let (first, last) = (only_first(topology), only_last(topology));
        if first.is_none() {
            self.node(&own(START), START);
        }
        let inside = self.nodes_of(topology, &own(""), depth - 1);
        if last.is_none() {
            self.end(&own(END));
        }
        let entry = find(&inside, first).map_or_else(|| own(START), |ends| ends.entry.clone());
        let exit = find(&inside, last).map_or_else(|| own(END), |ends| ends.exit.clone());
        let ends = Ends { entry, exit };
        self.edges_of(topology, &inside, &ends);
        ends
    }

    /// Adds the edges of a graph whose nodes are there, without those to a node that is drawn as its start or its end.
    fn edges_of(&mut self, topology: &Topology, inside: &[(String, Ends)], ends: &Ends) {
        for edge in &topology.edges {
            let source = find(inside, edge.source.as_deref()).map_or(&ends.entry, |from| &from.exit);
            let target = find(inside, edge.target.as_deref()).map_or(&ends.exit, |to| &to.entry);
            let is_at_end = edge.source.is_none() || edge.target.is_none();
            if !is_at_end || source != target {
                self.edge(source, target, edge);
            }
        }
    }

    fn edge(&mut self, source: &str, target: &str, edge: &TopologyEdge) {
        let mut drawn = json!({ "source": source, "target": target });
        if !edge.label.is_empty() {
            drawn["data"] = edge.label.as_str().into();
        }
        if edge.is_conditional {
            drawn["conditional"] = true.into();
        }
        self.edges.push(drawn);
    }
}

fn find<'a>(inside: &'a [(String, Ends)], name: Option<&str>) -> Option<&'a Ends> {
    inside.iter().find(|(known, _)| Some(known.as_str()) == name).map(|(_, ends)| ends)
}

/// Returns the node that alone follows START and nothing else, so that it can be drawn in the place of it.
fn only_first(topology: &Topology) -> Option<&str> {
    only(topology, |edge| (&edge.source, &edge.target))
}

/// Returns the node that alone leads to END and to nothing else.
fn only_last(topology: &Topology) -> Option<&str> {
    only(topology, |edge| (&edge.target, &edge.source))
}

/// Returns the node at the other side of the only edge of START or END, if it has no other edge on that side.
fn only(topology: &Topology, sides: impl Fn(&TopologyEdge) -> (&Option<String>, &Option<String>)) -> Option<&str> {
    let mut ends = topology.edges.iter().filter(|edge| sides(edge).0.is_none());
    let (Some(end), None) = (ends.next(), ends.next()) else { return None };
    let node = sides(end).1.as_deref()?;
    let others = topology.edges.iter().filter(|edge| sides(edge).1.as_deref() == Some(node)).count();
    (others == 1 && !end.is_conditional).then_some(node)
}
