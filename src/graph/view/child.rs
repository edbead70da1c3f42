//! A graph by name, as validation and drawings read it; and a subgraph without its types.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::event_log::ReplayListener;
use super::outline::CheckpointOutline;
use super::snapshot::{NestedSnapshot, ReadMode};
use crate::checkpoint::{BoxFuture, CheckpointId, LogRange, Slot, Source};
use crate::graph::error::{Incompatibility, RunError};
use crate::graph::interrupt::{DeclaredQuestion, Question, SignalType};
use crate::graph::records::{ListedCheckpoint, Reader};
use crate::graph::state::{AnySchema, AnyState, AnyWrites, Channel, Mask};

/// A graph reduced to what validation and drawing need. Nodes are in name order; indexes point into `nodes`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outline {
    pub nodes: Vec<OutlineNode>,
    pub edges: Vec<Edge>,
    pub joins: Vec<(Vec<usize>, usize)>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct OutlineNode {
    pub name: String,
    pub defer: bool,
    /// True if an error handler can take its place: its edges do not fire then.
    pub is_handled: bool,
    /// True for a variant of the enum that was never added.
    pub is_missing: bool,
}

/// One way from a node (or START) to a node (or END).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// None: START.
    pub from: Option<usize>,
    /// None: END.
    pub to: Option<usize>,
    pub kind: EdgeKind,
    pub label: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EdgeKind {
    Always,
    Routed,
    Sent,
    Commanded,
}

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
    fn schema(&self) -> &AnySchema;
    /// Returns true if its state is stored.
    fn is_kept(&self) -> bool;
    /// Returns true if its state outlives the task it runs in.
    fn is_per_thread(&self) -> bool;
    fn fingerprint(&self) -> u64;
    /// A hash of its bodies and of those below it.
    fn bodies(&self) -> u64;
    fn children(&self, node: &str) -> &[AnyChild];
    /// The questions that nodes here and further down declare: names and types.
    fn declared(&self) -> Vec<(&'static str, &'static str)>;
    fn asks(&self, question: &str) -> Option<DeclaredQuestion>;
    /// Returns the declaration of a signal of this name.
    fn receives(&self, signal: &str) -> Option<SignalType>;
    /// The names of the signals that are declared in it.
    fn signals(&self) -> BTreeSet<&'static str>;
    fn asked(&self, namespace: &[String], node: &str, question: &str) -> Option<DeclaredQuestion>;
    /// Returns true if a node still declares a question, along the nodes on the way down to it.
    fn asks_still(&self, way: &[&str], node: &str, question: &str) -> bool;
    /// The names that nodes on the way down have and had.
    fn names_down(&self, nodes: &[String]) -> Vec<Vec<String>>;
    /// Returns its present, with the subgraphs below it, and its incompatibilities.
    fn nested<'a>(&'a self, reader: &'a Reader, at: CheckpointId) -> BoxFuture<'a, Result<NestedRead, RunError>>;
    /// Returns it at a checkpoint, in a mode; if the second part is set, with the subgraphs below it.
    fn read<'a>(
        &'a self,
        reader: &'a Reader,
        at: CheckpointId,
        mode: (ReadMode, bool),
    ) -> BoxFuture<'a, Result<NestedSnapshot, RunError>>;
    /// Returns checkpoints of it in outline.
    fn outlines<'a>(
        &'a self,
        reader: &'a Reader,
        listed: Vec<ListedCheckpoint>,
    ) -> BoxFuture<'a, Result<Vec<CheckpointOutline>, RunError>>;
    /// Tells what was recorded of it again: what led to the second checkpoint since the first.
    fn emit_recorded<'a>(
        &'a self,
        reader: &'a Reader,
        since_and_tip: (CheckpointId, CheckpointId),
        listener: &'a ReplayListener,
        names_and_places: (Arc<[String]>, Arc<[String]>),
    ) -> BoxFuture<'a, Result<(), RunError>>;
    /// A checkpoint of it, to be compared.
    fn face<'a>(&'a self, reader: &'a Reader, at: CheckpointId) -> BoxFuture<'a, Result<Box<dyn Face>, RunError>>;
    /// Returns the incompatibilities of a checkpoint.
    fn misfits<'a>(
        &'a self,
        reader: &'a Reader,
        at: CheckpointId,
    ) -> BoxFuture<'a, Result<Vec<Incompatibility>, RunError>>;
}

/// The snapshot of a subgraph, and its incompatibilities.
pub(crate) type NestedRead = (NestedSnapshot, Vec<Incompatibility>);

/// The properties of a checkpoint that are compared.
pub(crate) struct Facts {
    pub reader: Reader,
    pub id: CheckpointId,
    pub step: i64,
    pub source: Source,
    /// The fingerprint of the graph that reads it.
    pub graph: u64,
    /// The subgraph it belongs to, as its logs are named.
    pub path: String,
    pub next: Vec<String>,
    pub questions: Vec<Question>,
    pub slots: Vec<Slot>,
    /// The subgraphs of its tasks, and those that keep their own state: under which name, at which checkpoint.
    pub inside: Vec<(String, CheckpointId, AnyChild)>,
}

/// A checkpoint of any graph.
pub(crate) trait Face: Send + Sync {
    fn facts(&self) -> &Facts;
    fn channels(&self) -> &[Channel];
    /// The values of these channels by name, secrets included: those that have one.
    fn values<'a>(&'a self, only: &'a Mask) -> BoxFuture<'a, Result<Map<String, Value>, RunError>>;
    /// The items that these entries of a log add; none if it is not a list that only grows.
    fn items<'a>(
        &'a self,
        channel: usize,
        ranges: &'a [LogRange],
    ) -> BoxFuture<'a, Result<Option<Vec<Value>>, RunError>>;
}

/// The result of a finished child.
pub(crate) struct ChildOutput {
    pub state: AnyState,
    pub delta: AnyWrites,
    pub shown: bool,
}
