//! A subgraph without its types: what drawings, answers and snapshots need of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::checkpoint::{BoxFuture, CheckpointId};

use super::compiled::CompiledGraph;
use super::rows::declared;
use super::validate::Outline;
use crate::graph::channels::state::State;
use crate::graph::define::node::NodeId;
use crate::graph::define::options::Asks;
use crate::graph::define::signal::Receives;
use crate::graph::diff::face::{Face, face};
use crate::graph::records::misfit::Misfit;
use crate::graph::records::reader::Reader;
use crate::graph::replay::told::{Telling, told};
use crate::graph::run::error::RunError;
use crate::graph::run::subgraph::Persistence;
use crate::graph::thread::snapshot::{Nested, Seen, Snapshot};

/// A subgraph without its types, for drawings, questions and snapshots.
#[derive(Clone)]
pub struct AnyChild(pub(crate) Arc<dyn Inner>);

impl std::fmt::Debug for AnyChild {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AnyChild")
    }
}

pub(crate) trait Inner: Send + Sync {
    fn can_ask(&self) -> bool;
    fn outline(&self) -> &Outline;
    /// Whether its state is kept anywhere.
    fn is_kept(&self) -> bool;
    /// Whether its state outlives the task it runs in.
    fn is_per_thread(&self) -> bool;
    fn fingerprint(&self) -> u64;
    fn children(&self, node: &str) -> &[AnyChild];
    /// The questions that nodes here and further down declare: names and types.
    fn declared(&self) -> Vec<(&'static str, &'static str)>;
    fn asks(&self, question: &str) -> Option<Asks>;
    /// How a signal of this name was declared in it.
    fn receives(&self, signal: &str) -> Option<Receives>;
    /// The names of the signals that are declared in it.
    fn signals(&self) -> BTreeSet<&'static str>;
    fn asked(&self, namespace: &[String], node: &str, question: &str) -> Option<Asks>;
    /// Whether a node still asks a question, along the nodes on the way down to it.
    fn asks_still(&self, way: &[&str], node: &str, question: &str) -> bool;
    /// The names that nodes on the way down have and had.
    fn names_down(&self, nodes: &[String]) -> Vec<Vec<String>>;
    fn nested<'a>(&'a self, reader: &'a Reader, at: CheckpointId) -> BoxFuture<'a, Result<Nested, RunError>>;
    /// Tells what was recorded of it again: what led to the second checkpoint since the first.
    fn told<'a>(
        &'a self,
        reader: &'a Reader,
        since_and_tip: (CheckpointId, CheckpointId),
        telling: &'a Telling,
        names_and_places: (Arc<[String]>, Arc<[String]>),
    ) -> BoxFuture<'a, Result<(), RunError>>;
    /// A checkpoint of it, to be compared.
    fn face<'a>(&'a self, reader: &'a Reader, at: CheckpointId) -> BoxFuture<'a, Result<Box<dyn Face>, RunError>>;
    /// What of a checkpoint does not fit any more.
    fn misfits<'a>(&'a self, reader: &'a Reader, at: CheckpointId) -> BoxFuture<'a, Result<Vec<Misfit>, RunError>>;
}

struct Described<T: State, M, C>(CompiledGraph<T, M, C>);

impl<T: State, M: NodeId, C: Send + Sync + 'static> Inner for Described<T, M, C> {
    fn can_ask(&self) -> bool {
        self.0.table.can_ask
    }

    fn outline(&self) -> &Outline {
        &self.0.table.outline
    }

    fn is_kept(&self) -> bool {
        self.0.persistence != Persistence::Stateless
    }

    fn is_per_thread(&self) -> bool {
        self.0.persistence == Persistence::PerThread
    }

    fn fingerprint(&self) -> u64 {
        self.0.table.fingerprint
    }

    fn children(&self, node: &str) -> &[AnyChild] {
        self.0.table.named(node).map_or(&[], |at| &self.0.table.row(at).children)
    }

    fn declared(&self) -> Vec<(&'static str, &'static str)> {
        self.0.table.nodes.iter().flat_map(declared).collect()
    }

    fn asks(&self, question: &str) -> Option<Asks> {
        self.0.table.asks(question)
    }

    fn receives(&self, signal: &str) -> Option<Receives> {
        self.0.table.receives(signal)
    }

    fn signals(&self) -> BTreeSet<&'static str> {
        self.0.table.signals()
    }

    fn asked(&self, namespace: &[String], node: &str, question: &str) -> Option<Asks> {
        self.0.table.asked(namespace, node, question)
    }

    fn asks_still(&self, way: &[&str], node: &str, question: &str) -> bool {
        self.0.table.asks_still(way, node, question)
    }

    fn names_down(&self, nodes: &[String]) -> Vec<Vec<String>> {
        self.0.table.names_down(nodes)
    }

    fn misfits<'a>(&'a self, reader: &'a Reader, at: CheckpointId) -> BoxFuture<'a, Result<Vec<Misfit>, RunError>> {
        Box::pin(async move { Ok(Snapshot::read(&self.0.table, reader, at, Seen::Now, false).await?.misfits) })
    }

    fn nested<'a>(&'a self, reader: &'a Reader, at: CheckpointId) -> BoxFuture<'a, Result<Nested, RunError>> {
        Box::pin(async move {
            let snapshot = Snapshot::read(&self.0.table, reader, at, Seen::Live, true).await?;
            Ok(snapshot.erased(&self.0.table))
        })
    }

    fn told<'a>(
        &'a self,
        reader: &'a Reader,
        since_and_tip: (CheckpointId, CheckpointId),
        telling: &'a Telling,
        names_and_places: (Arc<[String]>, Arc<[String]>),
    ) -> BoxFuture<'a, Result<(), RunError>> {
        told(&self.0.table, reader, since_and_tip, telling, names_and_places)
    }

    fn face<'a>(&'a self, reader: &'a Reader, at: CheckpointId) -> BoxFuture<'a, Result<Box<dyn Face>, RunError>> {
        Box::pin(face(&self.0.table, reader, at))
    }
}

impl<T: State, M: NodeId, C: Send + Sync + 'static> CompiledGraph<T, M, C> {
    pub(crate) fn described(self) -> AnyChild {
        AnyChild(Arc::new(Described(self)))
    }
}
