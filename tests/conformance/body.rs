//! The interpreter of a node's ops. Calls its host for everything that an engine does (interrupts, events, calls) and
//! returns the result of the body; it knows no engine.

use std::future::Future;
use std::slice::Iter;
use std::time::Duration;

use serde_json::Value;

use crate::counters::Counters;
use crate::eval::Env;
use crate::ops::{CommandItem, FailKind, Op};
use crate::python::PythonError;
use crate::targets::{Goto, TargetList};

/// The calls of a running body to its engine.
pub(crate) trait Host: Sync {
    /// The engine's own error, of a called graph.
    type Error: Send;

    /// Returns the task's next answer, or registers the question: the body then ends with `Exit::Interrupted`.
    fn interrupt(&self, payload: Value) -> Result<Value, Interrupted>;

    /// Emits a `custom` stream event.
    fn emit(&self, value: Value) -> impl Future<Output = ()> + Send;

    /// Runs a graph as a subgraph of this task. A subgraph that interrupts ends this body: `Exit::Interrupted`.
    fn call(&self, graph: &str, input: Value) -> impl Future<Output = Result<Value, Exit<Self::Error>>> + Send;

    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(time)
    }
}

/// The body waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interrupted;

/// The result of a body.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Return {
    /// The values of `set`, in order. Keys need not be channels.
    Update(Update),
    /// One or more commands, writes in order.
    Commands(Vec<NodeCommand>),
    /// The value of `return`: null is an empty update, an object is an update, anything else is `invalid_node_return`.
    Raw(Value),
}

pub(crate) type Update = Vec<(String, Value)>;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NodeCommand {
    /// `None`: no update at all.
    pub(crate) update: Option<Update>,
    pub(crate) goto: Vec<Goto>,
    pub(crate) parent: bool,
}

/// The reason why a body did not finish.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Exit<E> {
    Interrupted,
    /// A `fail` op.
    Failed {
        kind: FailKind,
        node: String,
    },
    /// An expression failed.
    PythonError(PythonError),
    /// A called graph failed.
    Engine(E),
}

impl<E> From<Interrupted> for Exit<E> {
    fn from(_: Interrupted) -> Self {
        Self::Interrupted
    }
}

impl<E> From<PythonError> for Exit<E> {
    fn from(raised: PythonError) -> Self {
        Self::PythonError(raised)
    }
}

/// The ops of a node or its error handler, and the names they count under.
#[derive(Debug, Clone)]
pub(crate) struct Body {
    node: String,
    place: String,
    ops: Vec<Op>,
}

impl Body {
    pub(crate) fn of_node(graph: &str, node: &str, ops: &[Op]) -> Self {
        Self { node: node.to_owned(), place: format!("{graph}.{node}"), ops: ops.to_vec() }
    }

    /// An error handler counts and fails as `node!`.
    pub(crate) fn of_handler(graph: &str, node: &str, ops: &[Op]) -> Self {
        Self::of_node(graph, &format!("{node}!"), ops)
    }

    /// Runs the body from its first op; `error` is `{"node", "kind"}` of what a handler handles.
    pub(crate) async fn run<H: Host>(
        &self,
        host: &H,
        counters: &Counters,
        input: Value,
        error: Option<Value>,
    ) -> Result<Return, Exit<H::Error>> {
        counters.started(&self.place);
        let env = Env { input, error, ..Env::default() };
        Walk { body: self, host, counters, env, update: Vec::new() }.run().await
    }
}

struct Walk<'a, H> {
    body: &'a Body,
    host: &'a H,
    counters: &'a Counters,
    env: Env,
    update: Update,
}

impl<'a, H: Host> Walk<'a, H> {
    async fn run(mut self) -> Result<Return, Exit<H::Error>> {
        let mut open: Vec<Iter<'a, Op>> = vec![self.body.ops.iter()];
        while let Some(ops) = open.last_mut() {
            let Some(op) = ops.next() else {
                open.pop();
                continue;
            };
            self.env.runs = self.counters.starts(&self.body.place);
            if let Op::If { cond, then, otherwise } = op {
                open.push(if cond.test(&self.env)? { then.iter() } else { otherwise.iter() });
            } else if let Some(end) = self.step(op).await? {
                return Ok(end);
            }
        }
        Ok(Return::Update(self.update))
    }

    async fn step(&mut self, op: &Op) -> Result<Option<Return>, Exit<H::Error>> {
        match op {
            Op::Set { key, expr } => self.set(key, expr.eval(&self.env)?),
            Op::Let { var, expr } => self.bind(var, expr.eval(&self.env)?),
            Op::Interrupt { payload, var, key } => {
                let answer = self.host.interrupt(payload.eval(&self.env)?)?;
                self.answered(var.as_deref(), key.as_deref(), answer);
            }
            Op::Fail { times, error, counter } => self.fail(*times, *error, counter.as_deref())?,
            Op::Emit { expr } => self.host.emit(expr.eval(&self.env)?).await,
            Op::Sleep { ms } => self.host.sleep(Duration::from_secs_f64(ms / 1000.0)).await,
            Op::Call { graph, input, var } => {
                let values = self.host.call(graph, input.eval(&self.env)?).await?;
                self.bind(var, values);
            }
            Op::Command { .. } | Op::Commands { .. } | Op::Return { .. } => return self.end(op).map(Some),
            Op::If { .. } => unreachable!("`if` is unfolded by `run`"),
        }
        Ok(None)
    }

    fn end(&mut self, op: &Op) -> Result<Return, Exit<H::Error>> {
        match op {
            Op::Command { goto, update, graph } => {
                let so_far = std::mem::take(&mut self.update);
                let update = update.as_ref().map(|update| update.eval(&self.env)).transpose()?;
                let update = update.map_or(Some(so_far), written);
                Ok(Return::Commands(vec![self.command(goto, update, graph.is_some())?]))
            }
            Op::Commands { items } => {
                let commands: Result<Vec<NodeCommand>, _> = items.iter().map(|item| self.item(item)).collect();
                Ok(Return::Commands(commands?))
            }
            Op::Return { expr } => Ok(Return::Raw(expr.eval(&self.env)?)),
            _ => unreachable!("only ops that end a body come here"),
        }
    }

    fn item(&self, item: &CommandItem) -> Result<NodeCommand, Exit<H::Error>> {
        let update = item.update.as_ref().map(|update| update.eval(&self.env)).transpose()?;
        self.command(&item.goto, update.and_then(written), item.graph.is_some())
    }

    fn command(&self, goto: &TargetList, update: Option<Update>, parent: bool) -> Result<NodeCommand, Exit<H::Error>> {
        let update = update.filter(|update| !update.is_empty());
        Ok(NodeCommand { update, goto: goto.eval(&self.env)?, parent })
    }

    /// Sets a key; a second `set` replaces the value in place.
    fn set(&mut self, key: &str, value: Value) {
        match self.update.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.update.push((key.to_owned(), value)),
        }
    }

    fn bind(&mut self, var: &str, value: Value) {
        self.env.vars.insert(var.to_owned(), value);
    }

    fn answered(&mut self, var: Option<&str>, key: Option<&str>, answer: Value) {
        if let Some(var) = var {
            self.bind(var, answer.clone());
        }
        if let Some(key) = key {
            self.set(key, answer);
        }
    }

    fn fail(&self, times: Option<u64>, kind: FailKind, counter: Option<&str>) -> Result<(), Exit<H::Error>> {
        let seen = self.counters.failed(counter.unwrap_or(&self.body.place));
        match times {
            Some(times) if seen > times => Ok(()),
            _ => Err(Exit::Failed { kind, node: self.body.node.clone() }),
        }
    }
}

/// Returns the writes of a command's update, or `None` if it is empty or not an object.
fn written(update: Value) -> Option<Update> {
    match update {
        Value::Object(map) => Some(map.into_iter().collect()),
        _ => None,
    }
}
