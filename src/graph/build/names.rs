//! Names of edge sources and targets in problems.

use super::builder::Edges;
use crate::graph::node::{Name, NodeId, Target};

pub(crate) fn source_name(from: &Edges<Name>) -> String {
    match from {
        Edges::Start => "START".into(),
        Edges::End => "END".into(),
        Edges::One(node) => node.name().to_owned(),
        Edges::Join(nodes) => nodes.iter().map(NodeId::name).collect::<Vec<_>>().join(" & "),
    }
}

pub(crate) fn target_name(to: &Target<Name>) -> String {
    match to {
        Target::End => "END".into(),
        Target::Node(node) => node.name().to_owned(),
        Target::Sends(sends) => sends.node.name().to_owned(),
        Target::Many(many) => many.iter().map(target_name).collect::<Vec<_>>().join(", "),
    }
}
