//! Draws an outline of a graph in Graphviz' DOT language: its declared edges only. Pure: the same outline gives the same
//! text.

use std::fmt::Write;

use super::draw::{DrawOptions, Drawing, is_inside};
use crate::graph::view::{Edge, EdgeKind};

pub(crate) fn dot(drawing: &Drawing<'_>, options: &DrawOptions) -> String {
    let mut sketch = Sketch { options, text: "digraph {\n".into() };
    sketch.line(0, "node [shape=box, style=rounded];");
    sketch.line(0, "compound=true;");
    sketch.graph(drawing, "", 0);
    sketch.text.push_str("}\n");
    sketch.text
}

struct Sketch<'a> {
    options: &'a DrawOptions,
    text: String,
}

/// The ids that edges to and from a node use: its own box, or START and END of its subgraph.
struct Ends {
    entry: String,
    exit: String,
}

impl Sketch<'_> {
    fn graph(&mut self, drawing: &Drawing<'_>, path: &str, depth: usize) -> Ends {
        let outline = drawing.outline;
        let ends = Ends { entry: quote(&format!("{path}||START")), exit: quote(&format!("{path}||END")) };
        self.line(depth, &format!("{} [label=START, shape=oval];", ends.entry));
        let nodes: Vec<Ends> = (0..outline.nodes.len()).map(|at| self.node(drawing, at, path, depth)).collect();
        if depth > 0 || outline.edges.iter().any(|edge| edge.to.is_none()) {
            self.line(depth, &format!("{} [label=END, shape=oval];", ends.exit));
        }
        for edge in &outline.edges {
            let from = edge.from.map_or(&ends.entry, |at| &nodes[at].exit);
            let to = edge.to.map_or(&ends.exit, |at| &nodes[at].entry);
            self.line(depth, &format!("{from} -> {to}{};", style(edge)));
        }
        for (number, (sources, target)) in outline.joins.iter().enumerate() {
            let join = quote(&format!("{path}||and {number}"));
            self.line(depth, &format!("{join} [label=and, shape=diamond];"));
            sources.iter().for_each(|&at| self.line(depth, &format!("{} -> {join};", nodes[at].exit)));
            self.line(depth, &format!("{join} -> {};", nodes[*target].entry));
        }
        ends
    }

    fn node(&mut self, drawing: &Drawing<'_>, at: usize, above: &str, depth: usize) -> Ends {
        let node = &drawing.outline.nodes[at];
        let path = if depth == 0 { node.name.clone() } else { format!("{above}|{}", node.name) };
        let child = drawing.children.iter().find(|(of, _)| *of == at && depth < self.options.expand);
        let label = self.label(&node.name, &path, node.defer, child.is_some());
        let Some((_, child)) = child else {
            let id = quote(&path);
            self.line(depth, &format!("{id} [{label}];"));
            return Ends { entry: id.clone(), exit: id };
        };
        self.line(depth, &format!("subgraph {} {{", quote(&format!("cluster {path}"))));
        self.line(depth + 1, &format!("graph [{label}];"));
        let ends = self.graph(child, &path, depth + 1);
        self.line(depth, "}");
        ends
    }

    fn label(&self, name: &str, path: &str, defer: bool, expanded: bool) -> String {
        let here = |at: &str| at == path || (!expanded && is_inside(at, path));
        let mut label = name.to_owned();
        label.push_str(if defer { " (deferred)" } else { "" });
        let questions = self.options.asking.iter().filter(|(at, _)| here(at));
        questions.for_each(|(_, question)| label.extend([" ? ", question]));
        let next = self.options.position.iter().any(|at| here(at));
        let fill = if next { ", style=\"rounded,filled\", fillcolor=\"#fde68a\"" } else { "" };
        format!("label={}{fill}", quote(&label))
    }

    fn line(&mut self, depth: usize, line: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{:1$}{line}", "", depth * 4 + 4);
    }
}

fn style(edge: &Edge) -> String {
    let label = &edge.label;
    match edge.kind {
        EdgeKind::Always => String::new(),
        EdgeKind::Routed if label.is_empty() => " [style=dashed]".into(),
        EdgeKind::Routed => format!(" [style=dashed, label={}]", quote(label)),
        EdgeKind::Sent if label.is_empty() => " [style=bold, label=each]".into(),
        EdgeKind::Sent => format!(" [style=bold, label={}]", quote(&format!("{label}: each"))),
        EdgeKind::Commanded => " [style=dashed, label=goto]".into(),
    }
}

fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            _ if c.is_control() => out.push(' '),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::view::{Outline, OutlineNode};

    #[test]
    fn names_cannot_break_the_drawing() {
        let node = |name: &str| OutlineNode { name: name.into(), ..OutlineNode::default() };
        let edge = |from, to, kind, label: &str| Edge { from, to, kind, label: label.into() };
        let outline = Outline {
            nodes: ["a \"b\"", "c\\"].map(node).into(),
            edges: vec![
                edge(None, Some(0), EdgeKind::Always, ""),
                edge(Some(0), Some(1), EdgeKind::Routed, "go\n]"),
                edge(Some(1), None, EdgeKind::Sent, ""),
            ],
            joins: vec![(vec![0, 1], 1)],
        };
        let options = DrawOptions { position: vec!["c\\".into()], ..DrawOptions::default() };
        insta::assert_snapshot!(dot(&Drawing { outline: &outline, children: vec![] }, &options), @r##"
        digraph {
            node [shape=box, style=rounded];
            compound=true;
            "||START" [label=START, shape=oval];
            "a \"b\"" [label="a \"b\""];
            "c\\" [label="c\\", style="rounded,filled", fillcolor="#fde68a"];
            "||END" [label=END, shape=oval];
            "||START" -> "a \"b\"";
            "a \"b\"" -> "c\\" [style=dashed, label="go ]"];
            "c\\" -> "||END" [style=bold, label=each];
            "||and 0" [label=and, shape=diamond];
            "a \"b\"" -> "||and 0";
            "c\\" -> "||and 0";
            "||and 0" -> "c\\";
        }
        "##);
    }
}
