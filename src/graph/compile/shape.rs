//! The names behind a graph's indexes, and the number that tells versions of a graph apart.

use crate::checkpoint::{ChannelShape, Shape};

use super::table::Row;
use crate::graph::channels::channel::Channel;
use crate::graph::channels::state::State;
use crate::graph::run::control::Join;

pub(crate) fn shape<S: State, N, C>(schema: &S::Schema, nodes: &[Row<S, N, C>], joins: &[Join]) -> Shape {
    let channel = |channel: &Channel| ChannelShape {
        name: channel.name().to_owned(),
        type_name: channel.type_name().to_owned(),
        version: channel.schema_version(),
        secret: channel.is_secret(),
        rule: channel.rule_name().to_owned(),
        logged: channel.stored().is_logged(),
    };
    Shape {
        channels: S::channels(schema).iter().map(channel).collect(),
        nodes: nodes.iter().map(|row| row.name.to_string()).collect(),
        joins: joins.iter().map(|join| (join.sources.clone(), join.target)).collect(),
        version: 0,
    }
}

/// FNV-1a over the shape's words: the same on every machine and in every release.
pub(crate) fn fingerprint(shape: &Shape) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut mix = |bytes: &[u8]| {
        for byte in bytes.iter().chain(&[0xff]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for channel in &shape.channels {
        mix(channel.name.as_bytes());
        mix(channel.type_name.as_bytes());
        mix(&channel.version.to_le_bytes());
        mix(&[u8::from(channel.secret), u8::from(channel.logged)]);
        mix(channel.rule.as_bytes());
    }
    mix(&shape.version.to_le_bytes());
    shape.nodes.iter().for_each(|node| mix(node.as_bytes()));
    for (sources, target) in &shape.joins {
        sources.iter().chain([target]).for_each(|node| mix(&node.to_le_bytes()));
    }
    hash
}
