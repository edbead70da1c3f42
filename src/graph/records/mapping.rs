//! Stored indexes to present ones: the same for the same shape, by name for another version of the graph.

use crate::checkpoint::{Key, Shape, decode_record};

use super::reader::Reader;
use crate::graph::channels::state::State;
use crate::graph::compile::table::Table;
use crate::graph::define::node::NodeId;
use crate::graph::run::control::START_NODE;
use crate::graph::run::error::RunError;
use crate::graph::run::task::COMMAND_KEY;

/// How indexes of a stored shape map to those of the present graph.
pub(crate) struct Mapping {
    /// None: the same.
    other: Option<Other>,
}

struct Other {
    channels: Vec<Option<u32>>,
    nodes: Vec<Option<u32>>,
    joins: Vec<Option<u32>>,
    names: Vec<String>,
}

impl Mapping {
    pub(crate) fn channel(&self, at: u32) -> Option<u32> {
        self.other.as_ref().map_or(Some(at), |other| other.channels.get(at as usize).copied().flatten())
    }

    pub(crate) fn node(&self, at: u32) -> Result<u32, String> {
        let Some(other) = self.other.as_ref().filter(|_| at != START_NODE) else { return Ok(at) };
        let missing = || {
            let name = other.names.get(at as usize).map_or("?", String::as_str);
            format!("its node `{name}` no longer exists")
        };
        other.nodes.get(at as usize).copied().flatten().ok_or_else(missing)
    }

    pub(crate) fn join(&self, at: u32) -> Option<u32> {
        self.other.as_ref().map_or(Some(at), |other| other.joins.get(at as usize).copied().flatten())
    }

    /// Task keys of edge tasks are node indexes.
    pub(crate) fn task(&self, key: u32) -> Result<u32, String> {
        if key >= COMMAND_KEY { Ok(key) } else { self.node(key) }
    }
}

impl Mapping {
    /// Whether the stored shape is the present one.
    pub(crate) fn is_same(&self) -> bool {
        self.other.is_none()
    }
}

impl Reader {
    pub(crate) async fn mapping<S: State, N: NodeId, C>(
        &self,
        table: &Table<S, N, C>,
        shape: u64,
    ) -> Result<Mapping, RunError> {
        if shape == table.fingerprint {
            return Ok(Mapping { other: None });
        }
        let bytes = self.one(Key::Shape(shape)).await?;
        let bytes = bytes.ok_or_else(|| self.damaged("shape", "it is missing"))?;
        let stored: Shape = decode_record(&self.thread, "shape", &bytes)?;
        let known = S::channels(&table.schema);
        let channel = |name: &str| known.iter().position(|channel| channel.name() == name).map(|at| at as u32);
        let nodes: Vec<Option<u32>> = stored.nodes.iter().map(|name| table.named(name)).collect();
        let join = |(sources, target): &(Vec<u32>, u32)| {
            let map = |at: &u32| nodes.get(*at as usize).copied().flatten();
            let sources: Vec<u32> = sources.iter().map(map).collect::<Option<_>>()?;
            let target = map(target)?;
            let found = table.wiring.joins.iter().position(|now| now.target == target && now.sources == sources)?;
            Some(found as u32)
        };
        let joins = stored.joins.iter().map(join).collect();
        let channels = stored.channels.iter().map(|stored| channel(&stored.name)).collect();
        Ok(Mapping { other: Some(Other { channels, joins, nodes, names: stored.nodes }) })
    }
}
