//! The shape of a graph: the names behind its indexes, which its fingerprint hashes.

use super::join::Join;
use super::table::Row;
use crate::checkpoint::{ChannelShape, Shape};
use crate::graph::state::{AnySchema, Channel};

pub(crate) fn shape(schema: &AnySchema, nodes: &[Row], joins: &[Join], (version, past): (u32, Vec<String>)) -> Shape {
    let channel = |channel: &Channel| ChannelShape {
        name: channel.name().to_owned(),
        type_name: channel.type_name().to_owned(),
        version: channel.schema_version(),
        secret: channel.is_secret(),
        rule: channel.rule_name().to_owned(),
        logged: channel.stored().is_logged(),
    };
    Shape {
        channels: schema.channels().iter().map(channel).collect(),
        nodes: nodes.iter().map(|row| row.name.to_string()).collect(),
        joins: joins.iter().map(|join| (join.sources.clone(), join.target)).collect(),
        version,
        past,
    }
}
