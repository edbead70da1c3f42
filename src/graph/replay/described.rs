//! A subgraph with its types erased, for drawings, answers, snapshots and replays.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::recorded_events::emit_subgraph;
use crate::checkpoint::{BoxFuture, CheckpointId};
use crate::graph::build::rows::{bodies, declared};
use crate::graph::build::{GraphCore, Persistence};
use crate::graph::diff::outline::face;
use crate::graph::error::{Incompatibility, RunError};
use crate::graph::interrupt::{DeclaredQuestion, Receives};
use crate::graph::records::Reader;
use crate::graph::view::{AnyChild, Face, Inner, NestedRead, Outline, ReplayListener, Seen, Snapshot};

struct Described(GraphCore);

impl Inner for Described {
    fn can_ask(&self) -> bool {
        self.0.table.questions.declared
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
        self.0.table.identity.fingerprint
    }

    fn bodies(&self) -> u64 {
        bodies(&self.0.table)
    }

    fn children(&self, node: &str) -> &[AnyChild] {
        self.0.table.named(node).map_or(&[], |at| &self.0.table.row(at).children)
    }

    fn declared(&self) -> Vec<(&'static str, &'static str)> {
        self.0.table.nodes.iter().flat_map(declared).collect()
    }

    fn asks(&self, question: &str) -> Option<DeclaredQuestion> {
        self.0.table.asks(question)
    }

    fn receives(&self, signal: &str) -> Option<Receives> {
        self.0.table.receives(signal)
    }

    fn signals(&self) -> BTreeSet<&'static str> {
        self.0.table.signals()
    }

    fn asked(&self, namespace: &[String], node: &str, question: &str) -> Option<DeclaredQuestion> {
        self.0.table.asked(namespace, node, question)
    }

    fn asks_still(&self, way: &[&str], node: &str, question: &str) -> bool {
        self.0.table.asks_still(way, node, question)
    }

    fn names_down(&self, nodes: &[String]) -> Vec<Vec<String>> {
        self.0.table.names_down(nodes)
    }

    fn misfits<'a>(
        &'a self,
        reader: &'a Reader,
        at: CheckpointId,
    ) -> BoxFuture<'a, Result<Vec<Incompatibility>, RunError>> {
        Box::pin(async move { Ok(Snapshot::read(&self.0.table, reader, at, Seen::Now, false).await?.misfits) })
    }

    fn nested<'a>(&'a self, reader: &'a Reader, at: CheckpointId) -> BoxFuture<'a, Result<NestedRead, RunError>> {
        Box::pin(Snapshot::read_nested(&self.0.table, reader, at))
    }

    fn emit_recorded<'a>(
        &'a self,
        reader: &'a Reader,
        since_and_tip: (CheckpointId, CheckpointId),
        listener: &'a ReplayListener,
        names_and_places: (Arc<[String]>, Arc<[String]>),
    ) -> BoxFuture<'a, Result<(), RunError>> {
        emit_subgraph(&self.0.table, reader, since_and_tip, listener, names_and_places)
    }

    fn face<'a>(&'a self, reader: &'a Reader, at: CheckpointId) -> BoxFuture<'a, Result<Box<dyn Face>, RunError>> {
        Box::pin(face(&self.0.table, reader, at))
    }
}

impl GraphCore {
    pub(crate) fn described(self) -> AnyChild {
        AnyChild(Arc::new(Described(self)))
    }
}
