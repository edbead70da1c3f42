//! Draws an outline of a graph as plain text: each node with its outgoing edges. Pure: the same outline gives the same
//! text.

use std::fmt::Write;

use super::draw::{DrawOptions, Drawing, is_inside};
use crate::graph::view::{Edge, EdgeKind, Outline};

/// Returns the graph as lines. `*` marks the nodes that run next, `?` pending questions.
pub(crate) fn ascii(drawing: &Drawing<'_>, options: &DrawOptions) -> String {
    let mut text = String::new();
    graph(drawing, options, "", 0, &mut text);
    text
}

fn graph(drawing: &Drawing<'_>, options: &DrawOptions, above: &str, depth: usize, out: &mut String) {
    let outline = drawing.outline;
    line(out, depth, "START");
    edges(outline, None, depth, out);
    for (at, node) in outline.nodes.iter().enumerate() {
        let path = if depth == 0 { node.name.clone() } else { format!("{above}|{}", node.name) };
        let child = drawing.children.iter().find(|(of, _)| *of == at && depth < options.expand);
        line(
            out,
            depth,
            &format!("{}{}", strip_control(&node.name), marks(options, &path, child.is_some(), node.defer)),
        );
        if let Some((_, child)) = child {
            graph(child, options, &path, depth + 1, out);
        }
        edges(outline, Some(at), depth, out);
    }
}

fn marks(options: &DrawOptions, path: &str, expanded: bool, defer: bool) -> String {
    let here = |at: &str| at == path || (!expanded && is_inside(at, path));
    let mut marks = String::new();
    if defer {
        marks.push_str(" (deferred)");
    }
    if options.position.iter().any(|at| here(at)) {
        marks.push_str(" *");
    }
    let questions = options.asking.iter().filter(|(at, _)| here(at));
    questions.for_each(|(_, question)| marks.extend([" ? ", &strip_control(question)]));
    marks
}

fn edges(outline: &Outline, from: Option<usize>, depth: usize, out: &mut String) {
    for edge in outline.edges.iter().filter(|edge| edge.from == from) {
        let to = edge.to.map_or("END".to_owned(), |at| strip_control(&outline.nodes[at].name));
        line(out, depth, &format!("  {} {to}", arrow(edge)));
    }
    let Some(from) = from else { return };
    for (sources, target) in outline.joins.iter().filter(|(sources, _)| sources.contains(&from)) {
        let others = sources.iter().filter(|&&at| at != from).map(|&at| strip_control(&outline.nodes[at].name));
        let others: Vec<String> = others.collect();
        let to = strip_control(&outline.nodes[*target].name);
        line(out, depth, &format!("  --> {to} (with {})", others.join(", ")));
    }
}

fn arrow(edge: &Edge) -> String {
    let label = strip_control(&edge.label);
    match edge.kind {
        EdgeKind::Always => "-->".to_owned(),
        EdgeKind::Routed if label.is_empty() => "..>".to_owned(),
        EdgeKind::Routed => format!("..{label}..>"),
        EdgeKind::Sent if label.is_empty() => "==each==>".to_owned(),
        EdgeKind::Sent => format!("=={label}: each==>"),
        EdgeKind::Commanded => "..goto..>".to_owned(),
    }
}

fn line(out: &mut String, depth: usize, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{:1$}{line}", "", depth * 4);
}

/// Replaces control characters: names come from data too, and must not move a terminal's cursor.
fn strip_control(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::view::child::OutlineNode;

    fn outline() -> Outline {
        let node = |name: &str| OutlineNode { name: name.into(), ..OutlineNode::default() };
        let edge = |from, to, kind, label: &str| Edge { from, to, kind, label: label.into() };
        Outline {
            nodes: ["plan", "review", "web", "write"].map(node).into(),
            edges: vec![
                edge(None, Some(0), EdgeKind::Always, ""),
                edge(Some(0), Some(2), EdgeKind::Sent, ""),
                edge(Some(1), None, EdgeKind::Routed, "publish"),
                edge(Some(1), Some(3), EdgeKind::Routed, "revise"),
                edge(Some(3), Some(1), EdgeKind::Always, ""),
            ],
            joins: vec![(vec![0, 2], 3)],
        }
    }

    #[test]
    fn each_way_is_a_line() {
        let options = DrawOptions {
            position: vec!["review".into()],
            asking: vec![("review".into(), "approve".into())],
            ..DrawOptions::default()
        };
        insta::assert_snapshot!(ascii(&Drawing { outline: &outline(), children: vec![] }, &options), @r"
        START
          --> plan
        plan
          ==each==> web
          --> write (with web)
        review * ? approve
          ..publish..> END
          ..revise..> write
        web
          --> write (with plan)
        write
          --> review
        ");
    }

    #[test]
    fn a_subgraph_is_indented_under_its_node() {
        let (outer, inner) = (outline(), outline());
        let child = Drawing { outline: &inner, children: vec![] };
        let drawing = Drawing { outline: &outer, children: vec![(0, child)] };
        let expanded = ascii(&drawing, &DrawOptions { expand: 1, ..DrawOptions::default() });
        assert!(expanded.contains("plan\n    START\n      --> plan\n    plan\n"), "{expanded}");
    }
}
