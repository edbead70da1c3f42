//! Nodes and workers: async functions from the state, or from a payload, to a command. Knows no graph.

use std::any::{TypeId, type_name};
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::{DeserializeOwned, Error as _};

use super::command::{AnyCommand, AnyNodeResult, IntoCommand, NodeResult, other_types};
use super::id::NodeId;
use super::options::NodeOptions;
use crate::checkpoint::decode_json;
use crate::graph::context::{Ctx, TaskCtx};
use crate::graph::error::NodeError;
use crate::graph::state::{AnyState, Boxed, DecodeError, Payload, State, reading};

/// A node of a graph: an async function over a snapshot of the state.
///
/// Any `async fn(Arc<S>, Ctx<C>) -> Result<impl IntoCommand<S, N>, impl Into<NodeError>>` is a node, and so is a closure
/// that names its error type; implement the trait for a struct that holds resources of the node. The state is a snapshot:
/// the node's update is merged once it has ended.
///
/// ```
/// # use std::sync::Arc;
/// # use superstep::prelude::*;
/// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { text: String }
/// # #[derive(NodeId)] enum Step { Load, Trim }
/// async fn load(_: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> {
///     Ok(Draft::update().text(std::fs::read_to_string("draft.txt")?))
/// }
/// let graph = StateGraph::<Draft, Step>::new().add_node(Step::Load, load).add_node(Step::Trim, |draft: Arc<Draft>, _: Ctx| {
///     async move { Ok::<_, NodeError>(Draft::update().text(draft.text.trim())) }
/// });
/// ```
///
/// A closure that ends in `Ok(..)` names its error type, as above: the compiler cannot infer it. A node runs more than
/// once, so a closure clones its captures and moves the clone into the future. A method becomes a node in the same way:
///
/// ```
/// # use std::sync::Arc;
/// # use superstep::prelude::*;
/// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { text: String }
/// # #[derive(NodeId)] enum Step { Write }
/// # struct Model;
/// # impl Model { async fn write(&self, _: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> { Ok(Draft::update()) } }
/// let model = Arc::new(Model);
/// let graph = StateGraph::<Draft, Step>::new().add_node(Step::Write, move |draft: Arc<Draft>, ctx: Ctx| {
///     let model = Arc::clone(&model);
///     async move { model.write(draft, ctx).await }
/// });
/// ```
///
/// For a body that computes for long or blocks use [`blocking`](crate::graph::blocking()).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a node over `{S}`",
    label = "this is not a node of this graph",
    note = "a node is `async fn(Arc<{S}>, Ctx<{C}>) -> Result<{S}Update, impl Into<NodeError>>`",
    note = "check: is it `async`? does it take `Arc<{S}>` first, not `&{S}`, and `Ctx<{C}>` second? does it return a `Result`?",
    note = "a worker is added with `add_worker`; it gets options by `worker(search).retry(..)`"
)]
pub trait Node<S: State, N, C>: Send + Sync + 'static {
    /// Runs the node once.
    fn run(&self, state: Arc<S>, ctx: Ctx<C>) -> Boxed<'static, NodeResult<S, N>>;

    /// Runs the node once, to a command without its types.
    #[doc(hidden)]
    fn begin(&self, state: Arc<S>, ctx: Ctx<C>) -> Boxed<'static, AnyNodeResult>
    where
        N: NodeId,
    {
        erase_types(self.run(state, ctx))
    }

    /// Returns the options declared with the body: questions, retry, timeouts and so on.
    fn options(&self) -> NodeOptions<S, N, C> {
        NodeOptions::default()
    }

    /// Returns the type of the body, without the wrappers around it.
    #[doc(hidden)]
    fn body_type(&self) -> BodyType {
        BodyType::of::<Self>(size_of_val(self))
    }
}

/// The shape of a body: an async function from a state or payload and a context to a result. What the result holds, and
/// whether the future is `Send`, are bounds of their own, so that the compiler names them when they do not hold.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the body of a node or worker that takes `{A}`",
    label = "this is not an async function of `Arc<{A}>` and `Ctx<{C}>`",
    note = "a body is `async fn(Arc<{A}>, Ctx<{C}>) -> Result<_, impl Into<NodeError>>`"
)]
pub trait AsyncBody<A, C>: Fn(Arc<A>, Ctx<C>) -> Self::Future {
    type Ok;
    type Error;
    type Future: Future<Output = Result<Self::Ok, Self::Error>>;
}

#[diagnostic::do_not_recommend]
impl<A, C, F, Fut, O, E> AsyncBody<A, C> for F
where
    F: Fn(Arc<A>, Ctx<C>) -> Fut,
    Fut: Future<Output = Result<O, E>>,
{
    type Ok = O;
    type Error = E;
    type Future = Fut;
}

impl<S: State, N, C, F, Fut> Node<S, N, C> for F
where
    F: AsyncBody<S, C, Future = Fut, Ok: IntoCommand<S, N>, Error: Into<NodeError>>,
    // Known to no other type of ours or a user's, unlike `AsyncBody`: so they can implement `Node` themselves.
    F: Fn(Arc<S>, Ctx<C>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<<F as AsyncBody<S, C>>::Ok, <F as AsyncBody<S, C>>::Error>> + Send + 'static,
{
    fn run(&self, state: Arc<S>, ctx: Ctx<C>) -> Boxed<'static, NodeResult<S, N>> {
        let ended = self(state, ctx);
        Box::pin(async move { ended.await.map(IntoCommand::into_command).map_err(Into::into) })
    }

    fn begin(&self, state: Arc<S>, ctx: Ctx<C>) -> Boxed<'static, AnyNodeResult>
    where
        N: NodeId,
    {
        let ended = self(state, ctx);
        Box::pin(async move { ended.await.map(|ok| ok.into_command().into()).map_err(Into::into) })
    }
}

/// A node that is started by sends, with a payload instead of the state.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a worker that takes `{I}`",
    label = "this is not a worker of this graph",
    note = "a worker is `async fn(Arc<{I}>, Ctx<{C}>) -> Result<{S}Update, impl Into<NodeError>>`",
    note = "check: is it `async`? does it take `Arc<{I}>` first, not `&{I}`, and `Ctx<{C}>` second? does it return a `Result`?"
)]
pub trait Work<S: State, N, C, I>: Send + Sync + 'static {
    /// Runs the worker once.
    fn run(&self, payload: Arc<I>, ctx: Ctx<C>) -> Boxed<'static, NodeResult<S, N>>;

    /// Runs the worker once, to a command without its types.
    #[doc(hidden)]
    fn begin(&self, payload: Arc<I>, ctx: Ctx<C>) -> Boxed<'static, AnyNodeResult>
    where
        N: NodeId,
    {
        erase_types(self.run(payload, ctx))
    }

    /// Returns the options declared with the body.
    fn options(&self) -> NodeOptions<S, N, C> {
        NodeOptions::default()
    }

    /// Returns the type of the body, without the wrappers around it.
    #[doc(hidden)]
    fn body_type(&self) -> BodyType {
        BodyType::of::<Self>(size_of_val(self))
    }
}

impl<S: State, N, C, I, F, Fut> Work<S, N, C, I> for F
where
    F: AsyncBody<I, C, Future = Fut, Ok: IntoCommand<S, N>, Error: Into<NodeError>>,
    F: Fn(Arc<I>, Ctx<C>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<<F as AsyncBody<I, C>>::Ok, <F as AsyncBody<I, C>>::Error>> + Send + 'static,
{
    fn run(&self, payload: Arc<I>, ctx: Ctx<C>) -> Boxed<'static, NodeResult<S, N>> {
        let ended = self(payload, ctx);
        Box::pin(async move { ended.await.map(IntoCommand::into_command).map_err(Into::into) })
    }

    fn begin(&self, payload: Arc<I>, ctx: Ctx<C>) -> Boxed<'static, AnyNodeResult>
    where
        N: NodeId,
    {
        let ended = self(payload, ctx);
        Box::pin(async move { ended.await.map(|ok| ok.into_command().into()).map_err(Into::into) })
    }
}

/// The input of a data-defined node.
#[derive(Clone, Debug)]
pub enum Input<S, I> {
    /// Started by an edge: the state.
    State(Arc<S>),
    /// Started by a send: its payload.
    Payload(Arc<I>),
}

pub(crate) trait Body: Send + Sync {
    fn start(
        &self,
        state: &AnyState,
        payload: Option<&Arc<dyn Payload>>,
        task: Arc<TaskCtx>,
    ) -> Boxed<'static, AnyNodeResult>;
    /// Returns the payload type, if sends can start it.
    fn payload_type(&self) -> Option<(TypeId, &'static str)>;
    /// True if edges can start it.
    fn by_edges(&self) -> bool;
    fn payload(&self, bytes: &[u8]) -> Result<Arc<dyn Payload>, DecodeError>;
    /// Returns the payload that is written as JSON, if sends can start it.
    fn payload_of_json(&self, _: &serde_json::Value) -> Option<serde_json::Result<Arc<dyn Payload>>> {
        None
    }

    fn body_type(&self) -> BodyType;

    /// True for the placeholder of a node that was never added.
    fn is_missing(&self) -> bool {
        false
    }
}

/// The placeholder for a node that was never added, with which `compile` looks for other problems.
pub(crate) struct MissingBody;

impl Body for MissingBody {
    fn start(&self, _: &AnyState, _: Option<&Arc<dyn Payload>>, _: Arc<TaskCtx>) -> Boxed<'static, AnyNodeResult> {
        Box::pin(async { Err(NodeError::permanent("the node was never added")) })
    }

    fn payload_type(&self) -> Option<(TypeId, &'static str)> {
        None
    }

    fn by_edges(&self) -> bool {
        true
    }

    fn payload(&self, _: &[u8]) -> Result<Arc<dyn Payload>, DecodeError> {
        Err(DecodeError::unreadable("the node was never added"))
    }

    fn is_missing(&self) -> bool {
        true
    }

    fn body_type(&self) -> BodyType {
        BodyType::of::<Self>(0)
    }
}

/// A node with the type of its run's context.
pub(crate) struct StateBody<T, S, N, C>(pub(crate) T, pub(crate) PhantomData<fn(S, N, C)>);

impl<S: State, N: NodeId, C: Send + Sync + 'static, T: Node<S, N, C>> Body for StateBody<T, S, N, C> {
    fn start(
        &self,
        state: &AnyState,
        _: Option<&Arc<dyn Payload>>,
        task: Arc<TaskCtx>,
    ) -> Boxed<'static, AnyNodeResult> {
        let (Some(ctx), Some(state)) = (Ctx::of(task), state.downcast()) else { return other_types() };
        self.0.begin(state, ctx)
    }

    fn payload_type(&self) -> Option<(TypeId, &'static str)> {
        None
    }

    fn by_edges(&self) -> bool {
        true
    }

    fn payload(&self, _: &[u8]) -> Result<Arc<dyn Payload>, DecodeError> {
        Err(DecodeError::unreadable("the node takes the state, not a payload"))
    }

    fn body_type(&self) -> BodyType {
        self.0.body_type()
    }
}

pub(crate) struct WorkBody<T, I, S, N, C>(pub(crate) T, pub(crate) PhantomData<fn(I, S, N, C)>);

impl<S: State, N: NodeId, C, T, I> Body for WorkBody<T, I, S, N, C>
where
    C: Send + Sync + 'static,
    T: Work<S, N, C, I>,
    I: Payload + DeserializeOwned,
{
    fn start(
        &self,
        _: &AnyState,
        payload: Option<&Arc<dyn Payload>>,
        task: Arc<TaskCtx>,
    ) -> Boxed<'static, AnyNodeResult> {
        let Some(ctx) = Ctx::of(task) else { return other_types() };
        match payload.and_then(downcast::<I>) {
            Some(payload) => self.0.begin(payload, ctx),
            None => Box::pin(async { Err(NodeError::permanent(missing_payload::<I>())) }),
        }
    }

    fn payload_type(&self) -> Option<(TypeId, &'static str)> {
        Some((TypeId::of::<I>(), type_name::<I>()))
    }

    fn by_edges(&self) -> bool {
        false
    }

    fn payload(&self, bytes: &[u8]) -> Result<Arc<dyn Payload>, DecodeError> {
        decode_payload::<I>(bytes)
    }

    fn payload_of_json(&self, json: &serde_json::Value) -> Option<serde_json::Result<Arc<dyn Payload>>> {
        Some(payload_of_json::<I>(json))
    }

    fn body_type(&self) -> BodyType {
        self.0.body_type()
    }
}

pub(crate) struct EitherBody<F, I, S, N, C>(pub(crate) F, pub(crate) PhantomData<fn(I, S, N, C)>);

impl<S: State, N: NodeId, C, F, I, Fut> Body for EitherBody<F, I, S, N, C>
where
    C: Send + Sync + 'static,
    F: Fn(Input<S, I>, Ctx<C>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = NodeResult<S, N>> + Send + 'static,
    I: Payload + DeserializeOwned,
{
    fn start(
        &self,
        state: &AnyState,
        payload: Option<&Arc<dyn Payload>>,
        task: Arc<TaskCtx>,
    ) -> Boxed<'static, AnyNodeResult> {
        let Some(ctx) = Ctx::of(task) else { return other_types() };
        let Some(payload) = payload else {
            let Some(state) = state.downcast() else { return other_types() };
            return erase_types(self.0(Input::State(state), ctx));
        };
        match downcast::<I>(payload) {
            Some(payload) => erase_types(self.0(Input::Payload(payload), ctx)),
            None => Box::pin(async { Err(NodeError::permanent(missing_payload::<I>())) }),
        }
    }

    fn payload_type(&self) -> Option<(TypeId, &'static str)> {
        Some((TypeId::of::<I>(), type_name::<I>()))
    }

    fn by_edges(&self) -> bool {
        true
    }

    fn payload(&self, bytes: &[u8]) -> Result<Arc<dyn Payload>, DecodeError> {
        decode_payload::<I>(bytes)
    }

    fn payload_of_json(&self, json: &serde_json::Value) -> Option<serde_json::Result<Arc<dyn Payload>>> {
        Some(payload_of_json::<I>(json))
    }

    fn body_type(&self) -> BodyType {
        BodyType::of::<F>(size_of::<F>())
    }
}

fn downcast<I: Payload>(payload: &Arc<dyn Payload>) -> Option<Arc<I>> {
    let any: Arc<dyn std::any::Any + Send + Sync> = Arc::clone(payload) as _;
    any.downcast::<I>().ok()
}

fn decode_payload<I: Payload + DeserializeOwned>(bytes: &[u8]) -> Result<Arc<dyn Payload>, DecodeError> {
    reading::decode_known::<I>(bytes, I::json).map(|payload| Arc::new(payload) as Arc<dyn Payload>)
}

fn payload_of_json<I: Payload + DeserializeOwned>(json: &serde_json::Value) -> serde_json::Result<Arc<dyn Payload>> {
    let payload = decode_json::<I>(json).map_err(serde_json::Error::custom)?;
    Ok(Arc::new(payload))
}

fn missing_payload<I>() -> String {
    format!("a worker that takes `{}` was started without one", type_name::<I>())
}

/// Runs a body to a command without its types.
fn erase_types<S: State, N: NodeId>(
    body: impl Future<Output = NodeResult<S, N>> + Send + 'static,
) -> Boxed<'static, AnyNodeResult> {
    Box::pin(async move { body.await.map(AnyCommand::from) })
}

/// The type of a node's or worker's body, and whether the type alone says what it does.
#[derive(Clone, Copy, Debug)]
pub struct BodyType {
    pub(crate) name: &'static str,
    /// Tells apart what the name does not: two closures of one function. The same in each run of a program.
    pub(crate) hash: u64,
    /// Set if the body holds values, such as the captures of a closure.
    pub(crate) holds_values: bool,
}

impl BodyType {
    /// Returns the type of a body that is so large.
    pub(crate) fn of<T: ?Sized + 'static>(size: usize) -> Self {
        let mut hasher = std::hash::DefaultHasher::new();
        TypeId::of::<T>().hash(&mut hasher);
        Self { name: type_name::<T>(), hash: hasher.finish(), holds_values: size > 0 }
    }
}
