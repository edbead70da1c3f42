//! What the nodes of drawn graphs do. It follows from a task's input alone, failures too: they are the same in every life.
//! Every task leaves a name of its own in the log, and tells the run's context when it starts.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use superstep::graph::{
    AnyQuestion, Boxed, Command, Ctx, DataSchema, DataState, Ended, Failure, Input, Name, NodeError,
};

use crate::graphs::Graph;
use crate::rng::hash;

/// What stands behind a body's task in the name of its handler's.
pub(crate) const HANDLED: &str = " handled";
/// What stands before the name of a task that may take its result from the cache.
pub(crate) const CACHED: &str = "cached ";

/// Which tasks have started; the run's context.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    started: Mutex<Vec<String>>,
    /// Told of each start at once.
    tell: Option<fn(&str)>,
}

impl Journal {
    pub(crate) fn telling(tell: fn(&str)) -> Self {
        Self { tell: Some(tell), ..Self::default() }
    }

    fn note(&self, task: &str) {
        self.started.lock().unwrap().push(task.to_owned());
        if let Some(tell) = self.tell {
            tell(task);
        }
    }

    pub(crate) fn started(&self) -> Vec<String> {
        self.started.lock().unwrap().clone()
    }
}

/// When a body fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fails {
    Never,
    /// The first attempt of every life, before it asks.
    AtOnce,
    /// The first attempt of every life, once it is answered.
    Answered,
    /// The first attempt of every life, after it called a graph: the next one begins that graph anew.
    Called,
    /// Every attempt, once it is answered.
    Always,
}

/// What a body does besides logging.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) schema: Arc<DataSchema>,
    pub(crate) yields: u64,
    pub(crate) questions: u64,
    pub(crate) fails: Fails,
    /// Whether it looks at nothing, so that its result can be taken from the cache.
    pub(crate) cached: bool,
    pub(crate) goto: Option<String>,
    pub(crate) counts: bool,
    pub(crate) child: Option<Graph>,
}

pub(crate) fn body(
    plan: Plan,
) -> impl Fn(Input<DataState, Value>, Ctx<Journal>) -> Boxed<'static, Ended<DataState, Name>> {
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

/// Its task has the name of the body's, which is the error.
pub(crate) fn handler(
    plan: Plan,
) -> impl Fn(Arc<DataState>, Failure, Ctx<Journal>) -> Boxed<'static, Ended<DataState, Name>> {
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
    /// A name that no other task has; those of a cached node are one to it.
    fn task(&self, seen: &Value, ctx: &Ctx<Journal>) -> String {
        let around = ctx.namespace().iter().map(|node| node.split('#').next().unwrap()); // whichever call of it
        let place = around.chain([self.name.as_str()]).collect::<Vec<_>>().join("/");
        let input = format!("round {} sum {} part {}", seen["round"], seen["sum"], seen["part"]);
        if self.cached { format!("{CACHED}{place} {input}") } else { format!("{place}@{} {input}", ctx.step()) }
    }

    async fn work(&self, task: &str, seen: &Value, ctx: &Ctx<Journal>) -> Result<Map<String, Value>, NodeError> {
        ctx.context().note(task);
        for _ in 0..self.yields {
            tokio::task::yield_now().await;
        }
        self.fail(Fails::AtOnce, task, ctx)?;
        let mut said = vec![];
        for question in 0..self.questions {
            said.push(ctx.interrupt(AnyQuestion(json!([task, question])))?);
        }
        self.fail(Fails::Answered, task, ctx)?;
        if let Some(child) = &self.child {
            said.push(call(child, seen, ctx).await?);
        }
        self.fail(Fails::Called, task, ctx)?;
        Ok(self.update(task, &said))
    }

    fn fail(&self, now: Fails, task: &str, ctx: &Ctx<Journal>) -> Result<(), NodeError> {
        let fails = match self.fails {
            Fails::Always => now == Fails::Answered,
            fails => fails == now && ctx.attempt() == 1,
        };
        if fails { Err(task.into()) } else { Ok(()) }
    }

    fn update(&self, task: &str, said: &[Value]) -> Map<String, Value> {
        let mut update = Map::new();
        update.insert("log".into(), json!([task]));
        update.insert("said".into(), json!(said));
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
    let begin = json!({ "sum": seen["sum"], "round": seen["round"] });
    let left = ctx.call(child, child.schema().writes(begin.as_object().unwrap())).await?;
    let left = left.to_json(child.schema());
    Ok(json!([left["sum"], left["said"], left["log"].as_array().map_or(0, Vec::len)]))
}

/// What of the input shows in the task's name and in what it writes.
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
