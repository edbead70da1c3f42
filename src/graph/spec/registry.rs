//! The registered bodies of data-defined graphs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::graph::context::Ctx;
use crate::graph::error::NodeError;
use crate::graph::node::{BodyType, Command, Ended, IntoCommand, Name, Node, NodeOptions, Work};
use crate::graph::state::{Boxed, DataSchema, DataState, Writes};

type WorkFn<C> = dyn Fn(Arc<Value>, Ctx<C>) -> Boxed<'static, Result<Value, NodeError>> + Send + Sync;

pub(crate) enum Entry<C> {
    Node(Arc<dyn Node<DataState, Name, C>>),
    Worker(RegisteredWorker<C>),
}

/// A worker without its type.
pub(crate) struct RegisteredWorker<C> {
    work: Arc<WorkFn<C>>,
    body_type: BodyType,
}

impl<C> Clone for RegisteredWorker<C> {
    fn clone(&self) -> Self {
        Self { work: Arc::clone(&self.work), body_type: self.body_type }
    }
}

/// Bodies of nodes by name, for [`GraphSpec::compile`](super::GraphSpec::compile).
#[must_use]
pub struct Registry<C = ()>(BTreeMap<String, Entry<C>>);

impl<C> fmt::Debug for Registry<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl<C> Default for Registry<C> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<C: Send + Sync + 'static> Registry<C> {
    /// Returns a registry without bodies.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node, with its options: `.node("ask", ask.asks::<AnyQuestion>())`. Replaces one with the same name.
    pub fn node(mut self, name: impl Into<String>, node: impl Node<DataState, Name, C>) -> Self {
        self.0.insert(name.into(), Entry::Node(Arc::new(node)));
        self
    }

    /// Adds a worker: it gets an item of a list, and returns an object with a key for each channel to write.
    pub fn worker<F, Fut, E>(mut self, name: impl Into<String>, work: F) -> Self
    where
        F: Fn(Arc<Value>, Ctx<C>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, E>> + Send + 'static,
        E: Into<NodeError>,
    {
        let body_type = BodyType::of::<F>(size_of::<F>());
        let work: Arc<WorkFn<C>> = Arc::new(move |item, ctx| {
            let done = work(item, ctx);
            Box::pin(async move { done.await.map_err(Into::into) })
        });
        self.0.insert(name.into(), Entry::Worker(RegisteredWorker { work, body_type }));
        self
    }

    pub(super) fn find(&self, name: &str) -> Option<&Entry<C>> {
        self.0.get(name)
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }
}

pub(crate) struct SharedNode<C>(pub Arc<dyn Node<DataState, Name, C>>);

impl<C: Send + Sync + 'static> Node<DataState, Name, C> for SharedNode<C> {
    fn run(&self, state: Arc<DataState>, ctx: Ctx<C>) -> Boxed<'static, Ended<DataState, Name>> {
        self.0.run(state, ctx)
    }

    fn options(&self) -> NodeOptions<DataState, Name, C> {
        self.0.options()
    }

    fn body_type(&self) -> BodyType {
        self.0.body_type()
    }
}

pub(crate) struct SharedWorker<C> {
    pub worker: RegisteredWorker<C>,
    pub schema: DataSchema,
}

impl<C: Send + Sync + 'static> Work<DataState, Name, C, Value> for SharedWorker<C> {
    fn run(&self, payload: Arc<Value>, ctx: Ctx<C>) -> Boxed<'static, Ended<DataState, Name>> {
        let (done, schema) = ((self.worker.work)(payload, ctx), self.schema.clone());
        Box::pin(async move {
            let writes = Writes::from_json(&schema, &done.await?).map_err(NodeError::permanent)?;
            let command: Command<DataState, Name> = writes.into_command();
            Ok(command)
        })
    }

    fn body_type(&self) -> BodyType {
        self.worker.body_type
    }
}

/// The placeholder for an unregistered body, so that the rest of the graph can be checked.
pub(crate) async fn missing<C>(_: Arc<DataState>, _: Ctx<C>) -> Result<(), NodeError> {
    Err(NodeError::permanent("its body is not registered"))
}
