//! Graphs that run inside the nodes of other graphs.
//!
//! A child has no head of its own: the record of its task points at its newest checkpoint, so a fork of the parent
//! copies the pointer and never shares the child.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tracing::Instrument;

use crate::checkpoint::{BoxFuture, CheckpointId, Key};
use crate::graph::build::rows::{bodies, declared_questions};
use crate::graph::build::{Child, CompiledGraph, GraphCore, Persistence, StateGraph};
use crate::graph::context::{AttemptStop, Ctx, Exit, TaskCtx};
use crate::graph::diff::outline::face;
use crate::graph::error::{Incompatibility, RunError};
use crate::graph::interrupt::{DeclaredQuestion, Interrupted, SignalType};
use crate::graph::node::{AnyCommand, AnyNodeResult, Command, Node, NodeId, NodeResult};
use crate::graph::records::{ListedCheckpoint, Reader};
use crate::graph::replay::body;
use crate::graph::replay::recorded_events::emit_subgraph;
use crate::graph::run::children::{nested_name, own_name, pointer_number};
use crate::graph::run::enter::open;
use crate::graph::run::{ChildInput, Run, StateMode, trace};
use crate::graph::state::{AnySchema, AnyState, AnyWrites, Boxed, IntoWrites, State, Writes};
use crate::graph::superstep::Task;
use crate::graph::view::{
    AnyChild, CheckpointOutline, ChildOutput, Face, Inner, NestedRead, NestedSnapshot, Outline, ReadMode,
    ReplayListener, Snapshot,
};

impl<T: State, M: NodeId, C: Send + Sync + 'static> CompiledGraph<T, M, C> {
    /// Makes the graph a subgraph of a graph over another state: `enter` returns the child's input from the parent's
    /// state, `leave` the parent's update from the child's final state.
    ///
    /// ```
    /// # use superstep::prelude::*;
    /// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { topic: String, facts: usize }
    /// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Search { query: String, hits: Vec<String> }
    /// # #[derive(NodeId)] enum Step { Research } #[derive(NodeId)] enum Find { Web }
    /// # fn example(search: CompiledGraph<Search, Find>) -> StateGraph<Draft, Step> {
    /// let child = search.mapped(
    ///     |draft: &Draft| Search::update().query(&draft.topic),
    ///     |found: &Search| Draft::update().facts(found.hits.len()),
    /// );
    /// StateGraph::new().add_subgraph(Step::Research, child)
    /// # }
    /// ```
    pub fn mapped<S: State, In, Out>(self, enter: In, leave: Out) -> MappedChild<S, M, C, T, In, Out> {
        MappedChild { child: self, enter, leave, parent: PhantomData }
    }
}

#[diagnostic::do_not_recommend]
impl<S: State, N: NodeId, M: NodeId, C: Send + Sync + 'static> Child<S, N, C> for CompiledGraph<S, M, C> {
    fn describe(&self) -> AnyChild {
        self.core.clone().described(StateMode::Shared)
    }

    fn into_node(self) -> impl Node<S, N, C> {
        Arc::new(SubgraphNode {
            child: self,
            enter: |state: Arc<S>, ctx: &TaskCtx| take_or_copy(AnyState::of(state), ctx),
            leave: |left: ChildOutput| left.delta,
            mode: StateMode::Shared,
            parent: PhantomData::<fn(S)>,
        })
    }
}

/// A child over its own state, with the functions that map input and result.
pub struct MappedChild<S, M, C, T: State, In, Out> {
    child: CompiledGraph<T, M, C>,
    enter: In,
    leave: Out,
    parent: PhantomData<fn(S)>,
}

impl<S, M, C, T: State, In, Out> std::fmt::Debug for MappedChild<S, M, C, T, In, Out> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mapped")
    }
}

impl<S, N, T, M, C, In, Out, I, O> Child<S, N, C> for MappedChild<S, M, C, T, In, Out>
where
    S: State,
    N: NodeId,
    T: State,
    M: NodeId,
    C: Send + Sync + 'static,
    In: Fn(&S) -> I + Send + Sync + 'static,
    Out: Fn(&T) -> O + Send + Sync + 'static,
    I: Into<Writes<T>> + 'static,
    O: Into<Writes<S>> + 'static,
{
    fn describe(&self) -> AnyChild {
        self.child.core.clone().described(StateMode::Mapped)
    }

    fn into_node(self) -> impl Node<S, N, C> {
        let (enter, leave) = (self.enter, self.leave);
        Arc::new(SubgraphNode {
            child: self.child,
            enter: move |state: Arc<S>, _: &TaskCtx| ChildInput::Input(enter(&state).into().into()),
            leave: move |left: ChildOutput| leave(left.state.of_type()).into().into(),
            mode: StateMode::Mapped,
            parent: PhantomData::<fn(S)>,
        })
    }
}

struct SubgraphNode<S, T: State, M, C, In, Out> {
    child: CompiledGraph<T, M, C>,
    enter: In,
    leave: Out,
    mode: StateMode,
    parent: PhantomData<fn(S)>,
}

#[diagnostic::do_not_recommend]
impl<S, N, T, M, C, In, Out> Node<S, N, C> for Arc<SubgraphNode<S, T, M, C, In, Out>>
where
    S: State,
    N: NodeId,
    T: State,
    M: NodeId,
    C: Send + Sync + 'static,
    In: Fn(Arc<S>, &TaskCtx) -> ChildInput + Send + Sync + 'static,
    Out: Fn(ChildOutput) -> AnyWrites + Send + Sync + 'static,
{
    fn run(&self, state: Arc<S>, ctx: Ctx<C>) -> Boxed<'static, NodeResult<S, N>> {
        let ended = Node::<S, N, C>::begin(self, state, ctx);
        Box::pin(async move { ended.await.map(Command::of) })
    }

    fn begin(&self, state: Arc<S>, ctx: Ctx<C>) -> Boxed<'static, AnyNodeResult> {
        let nest = Arc::clone(self);
        Box::pin(async move {
            let begin = Box::new(|| (nest.enter)(state, &ctx.0));
            let left = run_child(&nest.child.core, begin, nest.mode, &ctx.0).await?;
            Ok(AnyCommand { writes: (nest.leave)(left), ..AnyCommand::default() })
        })
    }
}

/// The error of a subgraph call that did not finish.
#[derive(Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The subgraph waits, stopped at a breakpoint, or returned a command for the parent: pass it on with `?`.
    Interrupted(Interrupted),
    /// The subgraph failed. Passed on with `?`, the calling node fails with the same error class.
    Failed(Box<RunError>),
}

impl From<Interrupted> for CallError {
    fn from(interrupted: Interrupted) -> Self {
        Self::Interrupted(interrupted)
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted(interrupted) => interrupted.fmt(f),
            Self::Failed(failure) => failure.fmt(f),
        }
    }
}

impl Error for CallError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Interrupted(_) => None,
            Self::Failed(failure) => Some(&**failure),
        }
    }
}

impl<C: Send + Sync + 'static> Ctx<C> {
    /// Runs a graph as a subgraph of this task and returns its final state. A task that runs again resumes inside the
    /// subgraph where it stopped; the k-th call of a task belongs to the k-th call of its last run. Declare the graph
    /// with [`calls`](crate::graph::StateGraph::calls): `let found = ctx.call(&search,
    /// Search::update().query(&draft.topic)).await?;`
    ///
    /// # Errors
    /// [`CallError::Interrupted`] while it waits (pass it on), [`CallError::Failed`] if it failed.
    pub async fn call<T: State, M: NodeId>(
        &self,
        child: &CompiledGraph<T, M, C>,
        input: impl IntoWrites<T>,
    ) -> Result<Arc<T>, CallError> {
        let input = AnyWrites::from(input.into_writes());
        let begin = Box::new(|| ChildInput::Input(input));
        let left = run_child(&child.core, begin, StateMode::Own, &self.0).await?;
        Ok(left.state.into_typed())
    }

    /// Runs a graph as [`call`](Self::call) does; none if no superstep wrote an output channel. LangGraph: what `invoke`
    /// returns.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn call_shown<T: State, M: NodeId>(
        &self,
        child: &CompiledGraph<T, M, C>,
        input: impl IntoWrites<T>,
    ) -> Result<Option<Arc<T>>, CallError> {
        let input = AnyWrites::from(input.into_writes());
        let begin = Box::new(|| ChildInput::Input(input));
        let left = run_child(&child.core, begin, StateMode::Own, &self.0).await?;
        Ok(left.shown.then(|| left.state.into_typed()))
    }
}

/// Returns the state of the graph around for a subgraph over it: that state itself, if it can be taken.
fn take_or_copy(copy: AnyState, ctx: &TaskCtx) -> ChildInput {
    let Some(moved) = &ctx.moved_state else { return ChildInput::State(copy, None) };
    match moved.exchange(copy) {
        Ok(state) => ChildInput::State(state, Some(Arc::clone(moved))),
        Err(copy) => ChildInput::State(copy, None),
    }
}

/// Runs the child, from the start or where it stopped.
fn run_child<'a>(
    child: &'a GraphCore,
    begin: Box<dyn FnOnce() -> ChildInput + Send + 'a>,
    mode: StateMode,
    ctx: &'a Arc<TaskCtx>,
) -> Boxed<'a, Result<ChildOutput, CallError>> {
    Box::pin(async move {
        if let Some(scope) = ctx.effect_scope() {
            let (node, key) = (Arc::clone(&ctx.facts.name), scope.key().to_owned());
            let error = RunError::CallInEffect { node, key };
            ctx.raise(AttemptStop::Wrong(error.clone()));
            return Err(CallError::Failed(Box::new(error)));
        }
        // The k-th call of a task belongs to the k-th call of its last run.
        let call = ctx.progress.calls.fetch_add(1, Ordering::Relaxed);
        // A comparing replay walks the records of the child and stores nothing.
        if let Some(comparison) = &ctx.shared.replay {
            let recorded = body::replay_child(child, begin(), mode, ctx, call, comparison).await;
            return recorded.map_err(|error| raise(ctx, error));
        }
        let mut run = match open(child, begin, mode, ctx, call).await {
            Ok(run) => run,
            Err(error) => return Err(raise(ctx, error)),
        };
        // A node that is the subgraph itself ends with it: the last checkpoint need not be on disk before that.
        run.child.is_whole_task = mode != StateMode::Own && ctx.permits.is_none();
        let ended = match run.shared.events.traced {
            false => with_permits_released(ctx, run.drive()).await,
            true => {
                let span = trace::run_span(run.shared.thread.as_ref(), &child.name, &run.scope.names);
                Box::pin(with_permits_released(ctx, run.drive())).instrument(span).await
            }
        };
        // A child that has not finished stops its task, and what it waits for becomes the task's own.
        let raised = match ended {
            Ok(Exit::Finished) => return Ok(leave(child, &mut run, ctx, call)),
            Ok(Exit::Interrupted) => {
                let asked = run.step.tasks.iter().flat_map(Task::asks).cloned().collect();
                // By call, since concurrent calls stop in any order and questions are listed in the order of the calls.
                ctx.state().waits.questions.insert(Some(call), asked);
                ctx.state().note_wake(run.wakes());
                ctx.state().waits.receives.extend(run.receives().cloned());
                AttemptStop::Inside
            }
            Ok(Exit::Awaiting(until)) => {
                ctx.state().note_wake(until);
                ctx.state().waits.receives.extend(run.receives().cloned());
                AttemptStop::Inside
            }
            Ok(Exit::Waiting(until)) => {
                ctx.state().note_wake(Some(until));
                AttemptStop::Inside
            }
            Ok(exit @ (Exit::Stopped | Exit::Cancelled | Exit::Drained | Exit::Budget(_))) => {
                AttemptStop::Stopped(exit)
            }
            Err(error) => {
                // A command for the parent discards what the child wrote: the warning names the channels.
                if matches!(error, RunError::HandUp(_)) {
                    Box::pin(run.warn_of_dropped()).await;
                }
                return Err(raise(ctx, error));
            }
        };
        // The engine reads the reason from the context; the error returned below only unwinds the body.
        ctx.raise(raised);
        Err(Interrupted::new().into())
    })
}

fn raise(ctx: &Arc<TaskCtx>, error: RunError) -> CallError {
    if let RunError::HandUp(handed) = error {
        ctx.raise(AttemptStop::Parent(handed));
        return Interrupted::new().into();
    }
    ctx.state().subgraphs.failures.push(error.clone());
    CallError::Failed(Box::new(error))
}

fn leave(child: &GraphCore, run: &mut Run, ctx: &Arc<TaskCtx>, call: u32) -> ChildOutput {
    if let Some(recorder) = run.recorder().filter(|_| child.persistence == Persistence::PerThread) {
        ctx.state().subgraphs.children.push((own_name(ctx, call), run.pos.meta.id));
        recorder.keep_child_end(&run.scope.path);
    }
    if child.persistence == Persistence::Inherit && !run.pos.children.is_empty() {
        let own = own_name(ctx, call);
        let below = run.pos.children.iter().map(|(name, at)| (nested_name(&own, name), *at));
        ctx.state().subgraphs.children.extend(below);
    }
    if run.recorder().is_some() && child.persistence == Persistence::Inherit && run.child.delta.is_none() {
        let pointer = Key::Child { checkpoint: ctx.at.checkpoint, task: ctx.at.task, call: pointer_number(ctx, call) };
        ctx.state().subgraphs.ended.push((run.scope.path.clone(), pointer));
    }
    let delta = run.child.delta.take();
    let delta = delta.map(|delta| delta.finish(&child.table.schema, &run.pos.state)).unwrap_or_default();
    run.return_state();
    let last = std::mem::replace(&mut run.pos.state, AnyState::nothing());
    ChildOutput { state: run.child.last_shown.take().unwrap_or(last), delta, shown: run.child.has_shown }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> StateGraph<S, N, C> {
    /// Declares a graph that a node calls from its body. A node may call several, of which drawings show the first.
    /// Questions of an undeclared graph can be asked, but answers to them are not checked before they are stored.
    pub fn calls<T: State, M: NodeId>(mut self, id: &N, child: &CompiledGraph<T, M, C>) -> Self {
        self.parts.calls.push((id.to_name(), child.core.clone().described(StateMode::Own)));
        self
    }
}

/// Runs a subgraph while the task's permits are released.
async fn with_permits_released<T>(ctx: &TaskCtx, subgraph: impl Future<Output = T>) -> T {
    match &ctx.permits {
        Some(permits) => permits.released_during(subgraph).await,
        None => subgraph.await,
    }
}

/// A subgraph, and the state that it runs over.
struct GraphChild(GraphCore, StateMode);

impl Inner for GraphChild {
    fn can_ask(&self) -> bool {
        self.0.table.questions.declared
    }

    fn outline(&self) -> &Outline {
        &self.0.table.outline
    }

    fn schema(&self) -> &AnySchema {
        &self.0.table.schema
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
        self.0.table.node_index(node).map_or(&[], |at| &self.0.table.row(at).children)
    }

    fn declared(&self) -> Vec<(&'static str, &'static str)> {
        self.0.table.nodes.iter().flat_map(declared_questions).collect()
    }

    fn asks(&self, question: &str) -> Option<DeclaredQuestion> {
        self.0.table.asks(question)
    }

    fn receives(&self, signal: &str) -> Option<SignalType> {
        self.0.table.declared_signal(signal)
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
        Box::pin(async move { Ok(Snapshot::read(&self.0.table, reader, at, ReadMode::Now, false).await?.misfits) })
    }

    fn nested<'a>(&'a self, reader: &'a Reader, at: CheckpointId) -> BoxFuture<'a, Result<NestedRead, RunError>> {
        Box::pin(Snapshot::read_nested(&self.0.table, reader, at))
    }

    fn read<'a>(
        &'a self,
        reader: &'a Reader,
        at: CheckpointId,
        mode: (ReadMode, bool),
    ) -> BoxFuture<'a, Result<NestedSnapshot, RunError>> {
        Box::pin(Snapshot::read_untyped(&self.0.table, reader, at, mode))
    }

    fn outlines<'a>(
        &'a self,
        reader: &'a Reader,
        listed: Vec<ListedCheckpoint>,
    ) -> BoxFuture<'a, Result<Vec<CheckpointOutline>, RunError>> {
        Box::pin(CheckpointOutline::read_all(&self.0.table, reader, listed))
    }

    fn emit_recorded<'a>(
        &'a self,
        reader: &'a Reader,
        since_and_tip: (CheckpointId, CheckpointId),
        listener: &'a ReplayListener,
        names_and_places: (Arc<[String]>, Arc<[String]>),
    ) -> BoxFuture<'a, Result<(), RunError>> {
        emit_subgraph((&self.0.table, self.1), reader, since_and_tip, listener, names_and_places)
    }

    fn face<'a>(&'a self, reader: &'a Reader, at: CheckpointId) -> BoxFuture<'a, Result<Box<dyn Face>, RunError>> {
        Box::pin(face(&self.0.table, reader, at))
    }
}

impl GraphCore {
    pub(crate) fn described(self, mode: StateMode) -> AnyChild {
        AnyChild(Arc::new(GraphChild(self, mode)))
    }
}
