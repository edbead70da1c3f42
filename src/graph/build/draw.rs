//! Draws an outline of a graph as Mermaid text: its declared edges only. Pure: the same outline gives the same text.
//!
//! A plain edge is a line, a router's outcome a dotted line, a send a thick one, a declared goto a dotted one labelled so.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;

use crate::graph::view::{Edge, EdgeKind, Outline, OutlineNode};

#[derive(Clone, Debug)]
pub(crate) struct Drawing<'a> {
    pub outline: &'a Outline,
    /// By node index.
    pub children: Vec<(usize, Drawing<'a>)>,
}

/// Options of a drawing, and a thread's position to mark in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct DrawOptions {
    /// Levels of subgraphs drawn in full; 0 draws each as one node.
    pub expand: usize,
    pub title: Option<String>,
    /// The nodes to run next, as paths: names joined by `|`, which no name contains.
    pub position: Vec<String>,
    /// Pending questions: the path of the node, and the question's name.
    pub asking: Vec<(String, String)>,
}

/// Returns the graph as a Mermaid flowchart. Marks inside a subgraph that is not expanded appear on its node.
pub(crate) fn mermaid(drawing: &Drawing<'_>, options: &DrawOptions) -> String {
    let mut sketch = Sketch { options, text: String::new(), taken: HashSet::new(), classes: BTreeMap::new() };
    if let Some(title) = &options.title {
        sketch.text = format!("---\ntitle: {}\n---\n", serde_json::Value::from(title.as_str()));
    }
    sketch.line(0, "flowchart TD");
    sketch.graph(drawing, &DrawScope { id: "n".to_owned(), path: String::new(), depth: 0 });
    sketch.classes();
    sketch.text
}

struct Sketch<'a> {
    options: &'a DrawOptions,
    text: String,
    taken: HashSet<String>,
    classes: BTreeMap<&'static str, Vec<String>>,
}

/// A graph's place among the graphs around it.
struct DrawScope {
    id: String,
    path: String,
    depth: usize,
}

impl DrawScope {
    fn path_of(&self, node: &str) -> String {
        if self.depth == 0 { node.to_owned() } else { format!("{}|{node}", self.path) }
    }
}

/// The ids that edges to and from a node use; two if the node is an expanded subgraph.
struct Ends {
    entry: String,
    exit: String,
}

impl Sketch<'_> {
    fn graph(&mut self, drawing: &Drawing<'_>, scope: &DrawScope) -> Ends {
        let (outline, depth) = (drawing.outline, scope.depth + 1);
        let ends = Ends { entry: self.free_id(&scope.id, "start"), exit: self.free_id(&scope.id, "stop") };
        self.line(depth, &format!("{}([START])", ends.entry));
        let nodes: Vec<Ends> = (0..outline.nodes.len()).map(|at| self.node(drawing, at, scope)).collect();
        if scope.depth > 0 || outline.edges.iter().any(|edge| edge.to.is_none()) {
            self.line(depth, &format!("{}([END])", ends.exit));
        }
        for edge in merge_edges(&outline.edges) {
            let from = edge.from.map_or(&ends.entry, |at| &nodes[at].exit);
            let to = edge.to.map_or(&ends.exit, |at| &nodes[at].entry);
            self.line(depth, &format!("{from} {} {to}", arrow(&edge)));
        }
        for (sources, target) in &outline.joins {
            self.join(sources.iter().map(|&at| &nodes[at]), &nodes[*target], scope);
        }
        ends
    }

    fn node(&mut self, drawing: &Drawing<'_>, at: usize, scope: &DrawScope) -> Ends {
        let (node, path) = (&drawing.outline.nodes[at], scope.path_of(&drawing.outline.nodes[at].name));
        let id = self.free_id(&scope.id, &node.name);
        let child = drawing.children.iter().find(|(of, _)| *of == at && scope.depth < self.options.expand);
        let label = self.label(node, &id, &path, child.is_some());
        let Some((_, child)) = child else {
            self.line(scope.depth + 1, &format!("{id}[\"{label}\"]"));
            return Ends { entry: id.clone(), exit: id };
        };
        self.line(scope.depth + 1, &format!("subgraph {id}[\"{label}\"]"));
        let ends = self.graph(child, &DrawScope { id, path, depth: scope.depth + 1 });
        self.line(scope.depth + 1, "end");
        ends
    }

    /// Returns a node's label, and records its style classes.
    fn label(&mut self, node: &OutlineNode, id: &str, path: &str, expanded: bool) -> String {
        let here = |at: &str| at == path || (!expanded && is_inside(at, path));
        let mut label = escape(&node.name);
        let questions: Vec<_> = self.options.asking.iter().filter(|(at, _)| here(at)).map(|(_, name)| name).collect();
        let next = self.options.position.iter().any(|at| here(at));
        for (class, shown) in [("asking", !questions.is_empty()), ("deferred", node.defer), ("next", next)] {
            if shown {
                self.classes.entry(class).or_default().push(id.to_owned());
            }
        }
        label.push_str(if node.defer { "<br/>(deferred)" } else { "" });
        questions.iter().for_each(|name| label.extend(["<br/>? ", &escape(name)]));
        label
    }

    fn join<'e>(&mut self, sources: impl Iterator<Item = &'e Ends>, target: &Ends, scope: &DrawScope) {
        let id = self.free_id(&scope.id, "join");
        self.line(scope.depth + 1, &format!("{id}{{{{\"and\"}}}}"));
        for source in sources {
            self.line(scope.depth + 1, &format!("{} --- {id}", source.exit));
        }
        self.line(scope.depth + 1, &format!("{id} --> {}", target.entry));
    }

    fn classes(&mut self) {
        for (class, ids) in std::mem::take(&mut self.classes) {
            self.line(1, &format!("classDef {class} {}", style(class)));
            self.line(1, &format!("class {} {class}", ids.join(",")));
        }
    }

    /// Returns an unused id that is no keyword of Mermaid.
    fn free_id(&mut self, scope: &str, name: &str) -> String {
        let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let base = format!("{scope}_{plain}");
        let numbered = (2..).map(|count| format!("{base}_{count}"));
        let mut ids = std::iter::once(base.clone()).chain(numbered);
        let id = ids.find(|id| !self.taken.contains(id)).unwrap_or(base);
        self.taken.insert(id.clone());
        id
    }

    fn line(&mut self, depth: usize, line: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{:1$}{line}", "", depth * 4);
    }
}

pub(crate) fn is_inside(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.starts_with('|'))
}

/// Returns the edges by source, START first; edges of one kind between the same two nodes are merged.
fn merge_edges(edges: &[Edge]) -> Vec<Edge> {
    let mut lines: Vec<Edge> = vec![];
    for edge in edges {
        let same = |line: &&mut Edge| (line.from, line.to, line.kind) == (edge.from, edge.to, edge.kind);
        let label = escape(&edge.label);
        match lines.iter_mut().find(same) {
            Some(line) if line.label.split("<br/>").any(|known| known == label) => {}
            Some(line) => line.label.extend(["<br/>", &label]),
            None => lines.push(Edge { label, ..edge.clone() }),
        }
    }
    lines.sort_by_key(|line| line.from);
    lines
}

fn arrow(edge: &Edge) -> String {
    let label = &edge.label;
    match edge.kind {
        EdgeKind::Always => "-->".to_owned(),
        EdgeKind::Routed if label.is_empty() => "-.->".to_owned(),
        EdgeKind::Routed => format!("-.->|\"{label}\"|"),
        EdgeKind::Sent if label.is_empty() => "==>|\"each\"|".to_owned(),
        EdgeKind::Sent => format!("==>|\"{label}: each\"|"),
        EdgeKind::Commanded => "-.->|\"goto\"|".to_owned(),
    }
}

fn style(class: &str) -> &'static str {
    match class {
        "asking" => "stroke:#c2410c,stroke-width:3px",
        "deferred" => "stroke-dasharray:5 5",
        _ => "fill:#fde68a,color:#000",
    }
}

fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            _ if c.is_control() => out.push(' '),
            _ if c.is_alphanumeric() || !c.is_ascii() || " _-.,:/()'?!+=%@$".contains(c) => out.push(c),
            _ => out.extend(["#", &u32::from(c).to_string(), ";"]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a graph from lines: an edge `a -> b`, a route `a ? word -> b`, a send `a * word -> b`, a command `a ! -> b`,
    /// a join `a + b -> c`; START is `^`, END `$`.
    fn outline(names: &[&str], lines: &[&str]) -> Outline {
        let mut names = names.to_vec();
        names.sort_unstable();
        let node = |name: &&str| OutlineNode { name: (*name).to_owned(), ..OutlineNode::default() };
        let mut outline = Outline { nodes: names.iter().map(node).collect(), ..Outline::default() };
        let at = |name: &str| names.iter().position(|known| *known == name.trim());
        for line in lines {
            let (left, to) = line.rsplit_once("->").unwrap();
            let Some(sign) = left.find(['?', '*', '!', '+']) else {
                outline.edges.push(edge(at(left), at(to), EdgeKind::Always, ""));
                continue;
            };
            let (from, rest) = (at(&left[..sign]), left[sign + 1..].trim());
            match &left[sign..=sign] {
                "?" => outline.edges.push(edge(from, at(to), EdgeKind::Routed, rest)),
                "*" => outline.edges.push(edge(from, at(to), EdgeKind::Sent, rest)),
                "!" => outline.edges.push(edge(from, at(to), EdgeKind::Commanded, "")),
                _ => outline.joins.push((left.split('+').filter_map(at).collect(), at(to).unwrap())),
            }
        }
        outline
    }

    fn edge(from: Option<usize>, to: Option<usize>, kind: EdgeKind, label: &str) -> Edge {
        Edge { from, to, kind, label: label.to_owned() }
    }

    fn draw(outline: &Outline) -> String {
        mermaid(&Drawing { outline, children: vec![] }, &DrawOptions::default())
    }

    #[test]
    fn each_kind_of_edge_looks_different() {
        let mut graph = outline(
            &["plan", "search", "judge", "fix", "sum"],
            &[
                "judge ? revise -> plan",
                "judge ? redo -> plan",
                "judge ? done -> $",
                "judge ! -> fix",
                "^ -> plan",
                "plan * queries -> search",
                "plan * -> judge",
                "search + judge -> sum",
                "sum -> $",
                "plan ? -> fix",
            ],
        );
        graph.nodes[4].defer = true;
        insta::assert_snapshot!(draw(&graph), @r#"
        flowchart TD
            n_start([START])
            n_fix["fix"]
            n_judge["judge"]
            n_plan["plan"]
            n_search["search"]
            n_sum["sum<br/>(deferred)"]
            n_stop([END])
            n_start --> n_plan
            n_judge -.->|"revise<br/>redo"| n_plan
            n_judge -.->|"done"| n_stop
            n_judge -.->|"goto"| n_fix
            n_plan ==>|"queries: each"| n_search
            n_plan ==>|"each"| n_judge
            n_plan -.-> n_fix
            n_sum --> n_stop
            n_join{{"and"}}
            n_search --- n_join
            n_judge --- n_join
            n_join --> n_sum
            classDef deferred stroke-dasharray:5 5
            class n_sum deferred
        "#);
    }

    #[test]
    fn names_cannot_break_the_drawing() {
        let names = ["end", "start", "a b", "a_b", "say \"hi\"; #1 <b>", "写作", "*x*", "subgraph"];
        let graph = outline(&names, &["^ -> end", "end ? it's |so| -> 写作", "start -> a b", "a b -> a_b"]);
        insta::assert_snapshot!(draw(&graph), @r##"
        flowchart TD
            n_start([START])
            n__x_["#42;x#42;"]
            n_a_b["a b"]
            n_a_b_2["a_b"]
            n_end["end"]
            n_say__hi____1__b_["say #34;hi#34;#59; #35;1 #60;b#62;"]
            n_start_2["start"]
            n_subgraph["subgraph"]
            n___["写作"]
            n_start --> n_end
            n_a_b --> n_a_b_2
            n_end -.->|"it's #124;so#124;"| n___
            n_start_2 --> n_a_b
        "##);
    }

    /// A graph with a subgraph with a subgraph, each with a node `write`.
    fn nested(expand: usize) -> String {
        let inner = outline(
            &["write", "check"],
            &["^ -> write", "write -> check", "check ? again -> write", "check ? ok -> $"],
        );
        let middle = outline(&["write", "essay"], &["^ -> essay", "essay -> write"]);
        let outer = outline(&["book", "write"], &["^ -> book", "book ? more -> book", "book -> write", "write -> $"]);
        let essay = Drawing { outline: &inner, children: vec![] };
        let book = Drawing { outline: &middle, children: vec![(0, essay)] };
        let options = DrawOptions {
            expand,
            title: Some("the \"book\"".into()),
            position: vec!["book|essay|check".into(), "write".into()],
            asking: vec![("book|essay|check".into(), "Approve".into())],
        };
        mermaid(&Drawing { outline: &outer, children: vec![(0, book)] }, &options)
    }

    #[test]
    fn a_folded_subgraph_shows_what_happens_inside() {
        insta::assert_snapshot!(nested(0), @r#"
        ---
        title: "the \"book\""
        ---
        flowchart TD
            n_start([START])
            n_book["book<br/>? Approve"]
            n_write["write"]
            n_stop([END])
            n_start --> n_book
            n_book -.->|"more"| n_book
            n_book --> n_write
            n_write --> n_stop
            classDef asking stroke:#c2410c,stroke-width:3px
            class n_book asking
            classDef next fill:#fde68a,color:#000
            class n_book,n_write next
        "#);
    }

    #[test]
    fn subgraphs_are_expanded_to_the_depth_asked_for() {
        assert_eq!([1, 2, 9].map(|expand| nested(expand).matches("subgraph").count()), [1, 2, 2]);
        insta::assert_snapshot!(nested(2), @r#"
        ---
        title: "the \"book\""
        ---
        flowchart TD
            n_start([START])
            subgraph n_book["book"]
                n_book_start([START])
                subgraph n_book_essay["essay"]
                    n_book_essay_start([START])
                    n_book_essay_check["check<br/>? Approve"]
                    n_book_essay_write["write"]
                    n_book_essay_stop([END])
                    n_book_essay_start --> n_book_essay_write
                    n_book_essay_check -.->|"again"| n_book_essay_write
                    n_book_essay_check -.->|"ok"| n_book_essay_stop
                    n_book_essay_write --> n_book_essay_check
                end
                n_book_write["write"]
                n_book_stop([END])
                n_book_start --> n_book_essay_start
                n_book_essay_stop --> n_book_write
            end
            n_write["write"]
            n_stop([END])
            n_start --> n_book_start
            n_book_stop -.->|"more"| n_book_start
            n_book_stop --> n_write
            n_write --> n_stop
            classDef asking stroke:#c2410c,stroke-width:3px
            class n_book_essay_check asking
            classDef next fill:#fde68a,color:#000
            class n_book_essay_check,n_write next
        "#);
    }
}
