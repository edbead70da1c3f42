//! The bodies of the drawn graphs. Results and failures follow from a task's input alone: they are the same in every
//! life. Every task adds a unique name to the log, and reports its start to the run's context.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use superstep::graph::interrupt::AnyQuestion;
use superstep::graph::node::{Input, NodeResult};
use superstep::graph::{Boxed, Command, Ctx, DataSchema, DataState, Failure, Name, NodeError};

use crate::graphs::Graph;
use crate::rng::hash;

/// Suffix of the name of a handler's task, after the name of the failed task.
pub(crate) const HANDLED: &str = " handled";
/// Prefix of the name of a task that may take its result from the cache.
pub(crate) const CACHED: &str = "cached ";

/// The started tasks; the run's context.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    started: Mutex<Vec<String>>,
    /// Called at each start.
    on_start: Option<fn(&str)>,
}

impl Journal {
    pub(crate) fn with_listener(on_start: fn(&str)) -> Self {
        Self { on_start: Some(on_start), ..Self::default() }
    }

    fn note(&self, task: &str) {
        self.started.lock().unwrap().push(task.to_owned());
        if let Some(on_start) = self.on_start {
            on_start(task);
        }
    }

    pub(crate) fn started(&self) -> Vec<String> {
        self.started.lock().unwrap().clone()
    }
}

/// The attempts of a body that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureMode {
    Never,
    /// The first attempt of every life, before it interrupts.
    AtOnce,
    /// The first attempt of every life, once it is answered.
    Answered,
    /// The first attempt of every life, after it called a graph, which the next attempt starts again.
    Called,
    /// Every attempt, once it is answered.
    Always,
}

/// The actions of a body besides logging.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) schema: Arc<DataSchema>,
    pub(crate) yields: u64,
    pub(crate) questions: u64,
    pub(crate) fails: FailureMode,
    /// Set if the body reads nothing, so that its result can come from the cache.
    pub(crate) cached: bool,
    pub(crate) goto: Option<String>,
    pub(crate) counts: bool,
    pub(crate) child: Option<Graph>,
}

pub(crate) fn body(
    plan: Plan,
) -> impl Fn(Input<DataState, Value>, Ctx<Journal>) -> Boxed<'static, NodeResult<DataState, Name>> {
    move |input, ctx| {
        let plan = plan.clone();
        Box::pin(async move {
            let seen =
                if plan.cached && matches!(input, Input::State(_)) { json!({}) } else { seen(&input, &plan.schema) };
            let task = plan.task(&seen, &ctx);
            let mut update = plan.work(&task, &seen, &ctx).await?;
            if let Input::State(_) = &input {
                update.insert(format!("of_{}", plan.name), seen);
            }
            Ok(plan.command(&update))
        })
    }
}

/// The handler of a body; the error it handles is the name of the body's task.
pub(crate) fn handler(
    plan: Plan,
) -> impl Fn(Arc<DataState>, Failure, Ctx<Journal>) -> Boxed<'static, NodeResult<DataState, Name>> {
    move |state, failure, ctx| {
        let plan = plan.clone();
        Box::pin(async move {
            let (failed, seen) = (failure.error.to_string(), seen(&Input::State(state), &plan.schema));
            let task = format!("{failed}{HANDLED}");
            let mut update = plan.work(&task, &seen, &ctx).await?;
            update.insert("log".into(), json!([failed, task]));
            Ok(plan.command(&update))
        })
    }
}

impl Plan {
    /// Returns a name that no other task has; all tasks of a cached node share one.
    fn task(&self, seen: &Value, ctx: &Ctx<Journal>) -> String {
        let around = ctx.namespace().iter().map(|node| node.split('#').next().unwrap()); // without the call index
        let place = around.chain([self.name.as_str()]).collect::<Vec<_>>().join("/");
        let input = format!("round {} sum {} part {}", seen["round"], seen["sum"], seen["part"]);
        if self.cached { format!("{CACHED}{place} {input}") } else { format!("{place}@{} {input}", ctx.step()) }
    }

    async fn work(&self, task: &str, seen: &Value, ctx: &Ctx<Journal>) -> Result<Map<String, Value>, NodeError> {
        ctx.context().note(task);
        for _ in 0..self.yields {
            tokio::task::yield_now().await;
        }
        self.fail(FailureMode::AtOnce, task, ctx)?;
        let mut results = vec![];
        for question in 0..self.questions {
            results.push(ctx.interrupt(AnyQuestion(json!([task, question])))?);
        }
        self.fail(FailureMode::Answered, task, ctx)?;
        if let Some(child) = &self.child {
            results.push(call(child, seen, ctx).await?);
        }
        self.fail(FailureMode::Called, task, ctx)?;
        Ok(self.update(task, &results))
    }

    fn fail(&self, now: FailureMode, task: &str, ctx: &Ctx<Journal>) -> Result<(), NodeError> {
        let fails = match self.fails {
            FailureMode::Always => now == FailureMode::Answered,
            fails => fails == now && ctx.attempt() == 1,
        };
        if fails { Err(task.into()) } else { Ok(()) }
    }

    fn update(&self, task: &str, results: &[Value]) -> Map<String, Value> {
        let mut update = Map::new();
        update.insert("log".into(), json!([task]));
        update.insert("said".into(), json!(results));
        update.insert("sum".into(), json!(hash(task) % 97));
        update.insert("tags".into(), json!([hash(task) % 5]));
        update.insert("deltas".into(), json!([task]));
        update.insert("topic".into(), json!(hash(task) % 11));
        if self.counts {
            update.insert("round".into(), json!(1));
        }
        update
    }

    fn command(&self, update: &Map<String, Value>) -> Command<DataState, Name> {
        let command = Command::update(self.schema.writes(update));
        match &self.goto {
            Some(to) => command.goto(Name::from(to.as_str())),
            None => command,
        }
    }
}

async fn call(child: &Graph, seen: &Value, ctx: &Ctx<Journal>) -> Result<Value, NodeError> {
    let input = json!({ "sum": seen["sum"], "round": seen["round"] });
    let state = ctx.call(child, child.schema().writes(input.as_object().unwrap())).await?;
    let state = state.to_json(child.schema());
    Ok(json!([state["sum"], state["said"], state["log"].as_array().map_or(0, Vec::len)]))
}

/// Returns the part of the input that shows in the task's name and in its writes.
fn seen(input: &Input<DataState, Value>, schema: &DataSchema) -> Value {
    match input {
        Input::Payload(payload) => Value::clone(payload),
        Input::State(state) => {
            let state = state.to_json(schema);
            let length = |channel: &str| state[channel].as_array().map_or(0, Vec::len);
            let (log, deltas) = (length("log"), length("deltas"));
            json!({ "sum": state["sum"], "round": state["round"], "topic": state["topic"], "log": log, "deltas": deltas })
        }
    }
}
