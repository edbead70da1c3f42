//! The engine's side of a running body, and the failures of a body.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use superstep::graph::interrupt::AnyQuestion;
use superstep::graph::{CallError, Ctx, NodeError, State};

use crate::body::{Exit, Host, Interrupted};
use crate::build::{Spec, World};
use crate::ops::FailKind;
use crate::states::CaseState;

/// The failure of a `fail` op.
#[derive(Debug, Clone)]
pub(crate) struct CaseFail {
    pub(crate) kind: FailKind,
    pub(crate) node: String,
}

impl fmt::Display for CaseFail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.kind.as_str(), self.node)
    }
}

impl std::error::Error for CaseFail {}

/// The failure of a body that returned a value that is not an update.
#[derive(Debug)]
pub(crate) struct InvalidReturn;

impl fmt::Display for InvalidReturn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the node returned no update")
    }
}

impl std::error::Error for InvalidReturn {}

pub(crate) struct Inside<'a, S: State> {
    pub(crate) ctx: Ctx<Arc<World>>,
    pub(crate) spec: &'a Spec<S>,
}

impl<S: CaseState> Host for Inside<'_, S> {
    type Error = NodeError;

    fn interrupt(&self, payload: Value) -> Result<Value, Interrupted> {
        self.ctx.interrupt(AnyQuestion(payload)).map_err(|_| Interrupted)
    }

    async fn emit(&self, value: Value) {
        self.ctx.emit(value).await;
    }

    async fn call(&self, graph: &str, input: Value) -> Result<Value, Exit<NodeError>> {
        let child = &self.spec.built[graph];
        let spec = &self.ctx.context().case.graphs[graph];
        let input = match input {
            Value::Object(input) => S::writes(spec, &input),
            _ => S::writes(spec, &Map::new()),
        };
        let state = match self.ctx.call_shown(child, input).await {
            Ok(Some(state)) => state,
            Ok(None) => return Ok(Value::Null),
            Err(CallError::Interrupted(_)) => return Err(Exit::Interrupted),
            Err(error) => return Err(Exit::Engine(error.into())),
        };
        let mut values = state.values(spec);
        if let Some(output) = &spec.output {
            values.retain(|name, _| output.contains(name));
        }
        Ok(Value::Object(values))
    }
}
