//! A graph as a node of another graph, or called from a node's body. A child has no head of its own: the task it runs in
//! points at its newest checkpoint (V10).

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::checkpoint::{CheckpointId, Key, Slot};

use super::children::{kept_at, own_name, pointed_at};
use super::ctx::{Ctx, Level, Raised};
use super::delta::Delta;
use super::error::RunError;
use super::position::Position;
use super::superstep::{Caller, Exit, Run};
use super::task::SENT;
use crate::graph::channels::state::State;
use crate::graph::channels::writes::Writes;
use crate::graph::compile::compiled::CompiledGraph;
use crate::graph::compile::described::AnyChild;
use crate::graph::define::command::Command;
use crate::graph::define::interrupt::Interrupted;
use crate::graph::define::node::{Boxed, Ended, Node, NodeId};
use crate::graph::records::reader::Reader;

/// How long the state of a subgraph is kept. LangGraph: the subgraph's `checkpointer`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Persistence {
    /// Under the parent's task: an interrupted or failed run goes on inside; nothing is kept between activations. Each
    /// attempt of a retry policy begins the subgraph anew, as in LangGraph.
    #[default]
    Inherit,
    /// For the whole thread: each activation begins with the state the last one ended with.
    PerThread,
    /// Not at all: a resumed subgraph starts over.
    Stateless,
}

/// A graph that can be a node of a graph over `S`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a subgraph of a graph over `{S}`",
    note = "a child over another state needs two closures: \
            `child.mapped(|parent| Child::update(), |child| Parent::update())`"
)]
pub trait Child<S: State, N, C>: Sized {
    #[doc(hidden)]
    fn describe(&self) -> AnyChild;
    #[doc(hidden)]
    fn into_node(self) -> impl Node<S, N, C>;
}

impl<T: State, M: NodeId, C: Send + Sync + 'static> CompiledGraph<T, M, C> {
    /// Makes the graph a subgraph of a graph over another state: `enter` gives the child's input from the parent's state,
    /// `leave` the parent's update from the child's final state.
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
    pub fn mapped<S: State, In, Out>(self, enter: In, leave: Out) -> Mapped<S, M, C, T, In, Out> {
        Mapped { child: self, enter, leave, parent: PhantomData }
    }
}

impl<S: State, N: NodeId, M: NodeId, C: Send + Sync + 'static> Child<S, N, C> for CompiledGraph<S, M, C> {
    fn describe(&self) -> AnyChild {
        self.clone().described()
    }

    fn into_node(self) -> impl Node<S, N, C> {
        Arc::new(Nest {
            child: self,
            enter: |state: &Arc<S>| Begin::State(S::clone(state)),
            leave: |left: Left<S>| left.delta,
            way: Way::Shared,
            parent: PhantomData::<fn(S)>,
        })
    }
}

/// A child over its own state, with the two ways between parent and child.
pub struct Mapped<S, M, C, T: State, In, Out> {
    child: CompiledGraph<T, M, C>,
    enter: In,
    leave: Out,
    parent: PhantomData<fn(S)>,
}

impl<S, M, C, T: State, In, Out> std::fmt::Debug for Mapped<S, M, C, T, In, Out> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mapped")
    }
}

impl<S, N, T, M, C, In, Out, I, O> Child<S, N, C> for Mapped<S, M, C, T, In, Out>
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
        self.child.clone().described()
    }

    fn into_node(self) -> impl Node<S, N, C> {
        let (enter, leave) = (self.enter, self.leave);
        Arc::new(Nest {
            child: self.child,
            enter: move |state: &Arc<S>| Begin::Input(enter(state).into()),
            leave: move |left: Left<T>| leave(&left.state).into(),
            way: Way::Own,
            parent: PhantomData::<fn(S)>,
        })
    }
}

/// How a child is joined to its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Over the parent's state.
    Shared,
    /// Over its own.
    Own,
}

/// What a child begins with.
enum Begin<T: State> {
    /// The parent's state; only what changes is handed back (V8).
    State(T),
    /// Input to its own state.
    Input(Writes<T>),
}

/// What a finished child leaves behind.
struct Left<T: State> {
    state: Arc<T>,
    delta: Writes<T>,
    shown: bool,
}

struct Nest<S, T: State, M, C, In, Out> {
    child: CompiledGraph<T, M, C>,
    enter: In,
    leave: Out,
    way: Way,
    parent: PhantomData<fn(S)>,
}

impl<S, N, T, M, C, In, Out> Node<S, N, C> for Arc<Nest<S, T, M, C, In, Out>>
where
    S: State,
    N: NodeId,
    T: State,
    M: NodeId,
    C: Send + Sync + 'static,
    In: Fn(&Arc<S>) -> Begin<T> + Send + Sync + 'static,
    Out: Fn(Left<T>) -> Writes<S> + Send + Sync + 'static,
{
    fn run(&self, state: Arc<S>, ctx: Ctx<C>) -> Boxed<'static, Ended<S, N>> {
        let nest = Arc::clone(self);
        Box::pin(async move {
            let left = run_child(&nest.child, || (nest.enter)(&state), nest.way, &ctx).await?;
            Ok(Command::update((nest.leave)(left)))
        })
    }
}

/// A subgraph called from a node did not come to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// It waits for a person, stopped at a breakpoint, or handed a command up: pass it on with `?`.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// It failed.
    #[error(transparent)]
    Failed(Box<RunError>),
}

impl<C: Send + Sync + 'static> Ctx<C> {
    /// Runs a graph as a subgraph of this task and returns its final state. A task that runs again goes on inside the
    /// subgraph where it stopped; the k-th call of a task belongs to the k-th call of its last run. Tell the graph with
    /// [`calls`](crate::graph::StateGraph::calls): `let found = ctx.call(&search, Search::update().query(&draft.topic)).await?;`
    ///
    /// # Errors
    /// [`CallError::Interrupted`] while it waits (pass it on), [`CallError::Failed`] if it failed.
    pub async fn call<T: State, M: NodeId>(
        &self,
        child: &CompiledGraph<T, M, C>,
        input: impl Into<Writes<T>>,
    ) -> Result<Arc<T>, CallError> {
        let input = input.into();
        Ok(run_child(child, || Begin::Input(input), Way::Own, self).await?.state)
    }

    /// Runs a graph as [`call`](Self::call) does; none if no superstep wrote an output channel. LangGraph: what `invoke`
    /// returns.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn call_shown<T: State, M: NodeId>(
        &self,
        child: &CompiledGraph<T, M, C>,
        input: impl Into<Writes<T>>,
    ) -> Result<Option<Arc<T>>, CallError> {
        let input = input.into();
        let left = run_child(child, || Begin::Input(input), Way::Own, self).await?;
        Ok(Some(left.state).filter(|_| left.shown))
    }
}

/// Starts the child, or goes on where it stopped.
fn run_child<'a, T: State, M: NodeId, C: Send + Sync + 'static>(
    child: &'a CompiledGraph<T, M, C>,
    begin: impl FnOnce() -> Begin<T> + Send + 'a,
    way: Way,
    ctx: &'a Ctx<C>,
) -> Boxed<'a, Result<Left<T>, CallError>> {
    Box::pin(async move {
        let call = ctx.0.calls.fetch_add(1, Ordering::Relaxed);
        let mut run = match open(child, begin, way, ctx, call).await {
            Ok(run) => run,
            Err(error) => return Err(raise(ctx, error)),
        };
        let ended = run.drive().await;
        let raised = match ended {
            Ok(Exit::Finished) => return Ok(leave(child, run, ctx, call)),
            Ok(Exit::Interrupted) => {
                let asked = run.tasks.iter().flat_map(crate::graph::thread::outcome::questions);
                ctx.0.inside().questions.extend(asked);
                Raised::Inside
            }
            Ok(exit @ (Exit::Stopped | Exit::Cancelled | Exit::Drained | Exit::Budget(_))) => Raised::Stopped(exit),
            Err(error) => return Err(raise(ctx, error)),
        };
        let _ = ctx.0.raised.set(raised);
        Err(Interrupted::new().into())
    })
}

fn raise<C>(ctx: &Ctx<C>, error: RunError) -> CallError {
    if let RunError::HandUp(handed) = error {
        let _ = ctx.0.raised.set(Raised::Parent(handed.command, handed.given));
        return Interrupted::new().into();
    }
    ctx.0.inside().failures.push(error.clone());
    CallError::Failed(Box::new(error))
}

fn leave<T: State, M: NodeId, C: Send + Sync + 'static>(
    child: &CompiledGraph<T, M, C>,
    run: Run<T, M, C>,
    ctx: &Ctx<C>,
    call: u32,
) -> Left<T> {
    if child.persistence == Persistence::PerThread && run.recorder().is_some() {
        ctx.0.inside().children.push((own_name(ctx, call), run.pos.id));
    }
    if let Some(recorder) = run.recorder().filter(|_| child.persistence == Persistence::Inherit && run.delta.is_none())
    {
        let call = pointed_at(ctx, call);
        recorder.forget(&run.level.path, &Key::Child { checkpoint: ctx.0.checkpoint, task: ctx.0.task, call });
    }
    let delta = run.delta.map(|delta| delta.finish(&child.table.schema, &*run.pos.state)).unwrap_or_default();
    Left { state: run.left.unwrap_or(run.pos.state), delta, shown: run.shown }
}

fn level<C>(ctx: &Ctx<C>, persistence: Persistence, call: u32) -> Level {
    let (task, above) = (&ctx.0, &ctx.0.level);
    let mut names = above.names.to_vec();
    names.push(task.facts.name.to_string());
    if call > 0 {
        names.push(format!("#{call}"));
    }
    let own = own_name(ctx, call);
    let path = match persistence {
        // tasks of one worker run at once
        Persistence::PerThread if task.task >= SENT => {
            format!("{}/{own}~{}.{:x}", above.path, task.checkpoint, task.task)
        }
        Persistence::PerThread => format!("{}/{own}", above.path),
        _ => format!("{}/{own}:{}.{:x}", above.path, task.checkpoint, task.task),
    };
    let unsaved = above.unsaved || persistence == Persistence::Stateless || task.shared.recorder.is_none();
    let borrowed = unsaved.then(|| above.borrowed.clone().unwrap_or_else(|| task.lend()));
    let beats = above.beats.iter().chain(&task.beat).cloned().collect();
    Level { names: names.into(), path, unsaved, borrowed, beats }
}

async fn open<T: State, M: NodeId, C: Send + Sync + 'static>(
    child: &CompiledGraph<T, M, C>,
    begin: impl FnOnce() -> Begin<T>,
    way: Way,
    ctx: &Ctx<C>,
    call: u32,
) -> Result<Run<T, M, C>, RunError> {
    let task = &ctx.0;
    let level = Arc::new(level(ctx, child.persistence, call));
    let caller = Caller { checkpoint: task.checkpoint, task: task.task, call: pointed_at(ctx, call) };
    let recorder = if level.unsaved { None } else { task.shared.recorder.clone() };
    let Some(recorder) = recorder else {
        return fresh(child, Position::empty(&child.table), begin(), ctx, level, caller).await;
    };
    let thread = recorder.lease().thread().clone();
    let reader = Reader {
        store: Arc::clone(recorder.store()),
        thread,
        birth: recorder.birth(),
        recorder: Some(Arc::clone(&recorder)),
    };
    let paused = if task.again { reader.child(caller.checkpoint, caller.task, caller.call).await? } else { None };
    if let Some(id) = paused {
        let mut run = resume(child, &reader, id, ctx, level, caller).await?;
        if way == Way::Shared {
            let mut delta = Delta::read(&child.table, &reader, id).await?;
            let emptied = (0..run.pos.slots.len()).filter(|&at| run.pos.slots[at] == Slot::Absent);
            emptied.for_each(|channel| delta.forget(channel));
            run.delta = Some(delta);
        }
        return Ok(run);
    }
    let kept = (child.persistence == Persistence::PerThread).then(|| task.kept(&own_name(ctx, call))).flatten();
    let Some(id) = kept else {
        return fresh(child, Position::empty(&child.table), begin(), ctx, level, caller).await;
    };
    let (pos, level) = kept_at(child, &reader, id, level, task.task >= SENT).await?;
    fresh(child, pos, begin(), ctx, level, caller).await
}

pub(crate) fn missing(reader: &Reader) -> RunError {
    reader.damaged("checkpoint of a subgraph", "it is missing")
}

/// Goes on where the child stopped.
async fn resume<T: State, M: NodeId, C: Send + Sync + 'static>(
    child: &CompiledGraph<T, M, C>,
    reader: &Reader,
    id: CheckpointId,
    ctx: &Ctx<C>,
    level: Arc<Level>,
    caller: Caller,
) -> Result<Run<T, M, C>, RunError> {
    let record = reader.record(id).await?.ok_or_else(|| missing(reader))?;
    // A fork's child keeps the namespace of its origin, under which its logs stand.
    let level = Arc::new(Level { path: record.namespace.clone(), ..Level::clone(&level) });
    let (pos, mapping) = reader.position(&child.table, id, record).await?;
    let mut run = Run::new(Arc::clone(&child.table), Arc::clone(&ctx.0.shared), level, pos);
    run.caller = Some(caller);
    run.armed = false;
    run.limit();
    run.plan();
    let records = reader.tasks(id).await?;
    let path = run.level.path.clone();
    reader.restore(&child.table, &path, &mut run.tasks, records, &mapping).await?;
    run.shown = true;
    run.tell_loaded().await;
    Ok(run)
}

/// Begins with new input.
async fn fresh<T: State, M: NodeId, C: Send + Sync + 'static>(
    child: &CompiledGraph<T, M, C>,
    pos: Position<T>,
    begin: Begin<T>,
    ctx: &Ctx<C>,
    level: Arc<Level>,
    caller: Caller,
) -> Result<Run<T, M, C>, RunError> {
    let mut run = Run::new(Arc::clone(&child.table), Arc::clone(&ctx.0.shared), level, pos);
    run.caller = Some(caller);
    run.limit();
    run.adopted = run.pos.is_stored() && caller.task >= SENT;
    let input = match begin {
        Begin::Input(writes) => writes,
        Begin::State(state) => {
            run.pos.state = Arc::new(state);
            run.delta = Some(Delta::default());
            run.adopted = true;
            Writes::default()
        }
    };
    run.begin_input(input)?;
    Ok(run)
}
