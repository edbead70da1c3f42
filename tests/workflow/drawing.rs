//! The graph has the edges that the documentation draws.

use std::collections::BTreeSet;
use std::sync::Arc;

use superstep_workflows::task_based::graph;

use crate::agent::Agent;

/// The edges of the workflow as documented.
const DRAWN: &str = "START -> architect plan_validator
architect -> plan_validator
plan_validator -> human_approval architect
human_approval -> prepare_workspace architect END
prepare_workspace -> developer halt
developer -> verify
verify -> reviewer developer halt
reviewer -> developer next_task_node finalize halt
next_task_node -> developer halt
halt -> developer next_task_node finalize halt END
finalize -> END";

#[test]
fn the_graph_has_the_edges_that_are_drawn_and_no_others() {
    let graph = graph::<Arc<Agent>>().unwrap();
    let declared: BTreeSet<(String, String)> =
        graph.edges().map(|(from, to, _)| (from.to_owned(), to.to_owned())).collect();
    let line = |line: &'static str| {
        let (from, to) = line.split_once(" -> ").unwrap();
        to.split(' ').map(move |to| (from.to_owned(), to.to_owned()))
    };
    assert_eq!(declared, DRAWN.lines().flat_map(line).collect());
    let drawn = graph.mermaid(0);
    let name = |name: &str| name.replace("START", "start").replace("END", "stop");
    for (from, to) in &declared {
        let (from, to) = (format!("n_{} ", name(from)), format!("n_{}", name(to)));
        let has = |line: &str| line.trim().starts_with(&from) && line.ends_with(&to);
        assert!(drawn.lines().any(has), "{from} {to}: {drawn}");
    }
}
