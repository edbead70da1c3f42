//! How problems name the ends of edges, and types.

use crate::graph::define::builder::Edges;
use crate::graph::define::command::Target;
use crate::graph::define::node::NodeId;
use crate::graph::define::problem::short;

pub(super) fn source_name<N: NodeId>(from: &Edges<N>) -> String {
    match from {
        Edges::Start => "START".into(),
        Edges::End => "END".into(),
        Edges::One(node) => node.name().to_owned(),
        Edges::Join(nodes) => nodes.iter().map(NodeId::name).collect::<Vec<_>>().join(" & "),
    }
}

pub(super) fn target_name<N: NodeId>(to: &Target<N>) -> String {
    match to {
        Target::End => "END".into(),
        Target::Node(node) => node.name().to_owned(),
        Target::Sends(sends) => sends.node.name().to_owned(),
        Target::Many(many) => many.iter().map(target_name).collect::<Vec<_>>().join(", "),
    }
}

/// Two type names without their modules, unless only the modules tell them apart.
pub(crate) fn told_apart(first: &str, second: &str) -> (String, String) {
    let (brief, other) = (short(first), short(second));
    if brief == other { (first.to_owned(), second.to_owned()) } else { (brief, other) }
}
