//! The interpreter of a node's ops. Asks its host for everything that an engine does (questions, events, calls) and says
//! how the body ended; it knows no engine.

use std::future::Future;
use std::slice::Iter;
use std::time::Duration;

use serde_json::Value;

use crate::counters::Counters;
use crate::eval::Env;
use crate::ops::{CommandItem, FailKind, Op};
use crate::python::Raised;
use crate::targets::{Goto, TargetList};

/// What the engine does for a running body.
pub(crate) trait Host: Sync {
    /// What an engine's own failure is: of a called graph.
    type Error: Send;

    /// Gives the task's next answer, or registers the question: the body then ends with `Exit::Asked`.
    fn interrupt(&self, payload: Value) -> Result<Value, Asked>;

    /// One `custom` stream event.
    fn emit(&self, value: Value) -> impl Future<Output = ()> + Send;

    /// Runs a graph as a subgraph of this task. A subgraph that asks ends this body: `Exit::Asked`.
    fn call(&self, graph: &str, input: Value) -> impl Future<Output = Result<Value, Exit<Self::Error>>> + Send;

    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(time)
    }
}

/// The body waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked;

/// How a body came to its end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Return {
    /// What was `set`, in that order. Keys may be no channels.
    Update(Update),
    /// One or more commands, writes in order.
    Commands(Vec<NodeCommand>),
    /// What `return` gave: null is an empty update, an object is an update, anything else `invalid_node_return`.
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

/// Why a body did not come to its end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Exit<E> {
    Asked,
    /// A `fail` op.
    Failed {
        kind: FailKind,
        node: String,
    },
    /// An expression went wrong.
    Raised(Raised),
    /// A called graph failed.
    Engine(E),
}

impl<E> From<Asked> for Exit<E> {
    fn from(_: Asked) -> Self {
        Self::Asked
    }
}

impl<E> From<Raised> for Exit<E> {
    fn from(raised: Raised) -> Self {
        Self::Raised(raised)
    }
}

/// A node's ops, or its error handler's, with the names they count under.
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

    /// A second `set` of a key replaces the first, in the first one's place.
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

/// The writes of a command's update: an empty one is none, and so is anything but an object.
fn written(update: Value) -> Option<Update> {
    match update {
        Value::Object(map) => Some(map.into_iter().collect()),
        _ => None,
    }
}
