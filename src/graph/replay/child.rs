//! A subgraph in a replay: compares its recorded supersteps, and returns its result to the task that called it.

use std::sync::Arc;

use super::compare;
use super::unsaved::Unsaved;
use super::walk::{Walk, unsaved};
use crate::checkpoint::Source;
use crate::graph::build::GraphCore;
use crate::graph::context::{Comparison, GraphScope, Spot, TaskCtx};
use crate::graph::error::RunError;
use crate::graph::records::Caller;
use crate::graph::run::children::{base_version, pointer_number};
use crate::graph::run::enter::graph_scope;
use crate::graph::run::{ChildInput, Delta, Run, StateMode};
use crate::graph::state::{AnyState, AnyWrites};
use crate::graph::superstep::Position;
use crate::graph::view::Left;

/// Compares the recorded run of the subgraph that the task called, and returns the subgraph's result.
pub(crate) async fn recorded(
    child: &GraphCore,
    begin: ChildInput,
    mode: StateMode,
    ctx: &Arc<TaskCtx>,
    call: u32,
    comparison: &Comparison,
) -> Result<Left, RunError> {
    let (task, reader) = (ctx, &comparison.reader);
    let stored = task.state().journal.stored.unwrap_or(task.at.task);
    let caller = Caller { checkpoint: task.at.checkpoint, task: stored, call: pointer_number(ctx, call) };
    let no_records = || {
        comparison.lose();
        diverged_error(ctx)
    };
    let tip = reader.child(caller.checkpoint, caller.task, caller.call).await?.ok_or_else(no_records)?;
    let line = reader.nested_line(tip, caller.checkpoint).await?;
    let path = line.last().map(|(_, record)| record.namespace.clone()).unwrap_or_default();
    let base = base_version(reader, ctx, child.persistence, call).await?;
    let scope = Arc::new(GraphScope { path, ..graph_scope(ctx, child.persistence, call).since_version(base) });
    let mut run = Run::new(Arc::clone(&child.table), Arc::clone(&task.shared), scope, Position::empty(&child.table));
    run.child.caller = Some(caller);
    let mut walk = Walk::new(Arc::clone(&child.table), reader.clone(), line, true);
    let mut unsaved = Unsaved::fresh();
    match begin {
        ChildInput::Input(input) => compare_input(&run, &walk, &run.taken(input), comparison).await?,
        ChildInput::State(state, _) => {
            unsaved = Unsaved::of(&child.table.schema, &state);
            if comparison.goes_on {
                compare_initial_state(&run, &walk, &state, ctx, comparison).await?;
            }
        }
    }
    let ended =
        if comparison.diverged() { None } else { run.compare_line(&mut walk, unsaved, comparison, u64::MAX).await? };
    let Some(end) = ended else { return Err(diverged_error(ctx)) };
    if end.unfinished {
        return Err(no_records()); // it ended with a command for its parent
    }
    if !run.child.has_shown || run.child.last_shown.is_some() {
        comparison.doubts("whether its subgraph was resumed is not recorded");
    }
    let delta = match mode {
        StateMode::Shared => Delta::read(&child.table, reader, tip).await?.finish(&child.table.schema, &end.pos.state),
        StateMode::Mapped | StateMode::Own => Default::default(),
    };
    Ok(Left { state: run.child.last_shown.unwrap_or(end.pos.state), delta, shown: run.child.has_shown })
}

/// Reports a subgraph over its parent's state, used as recorded, that would start with a different state now.
async fn compare_initial_state(
    run: &Run,
    walk: &Walk,
    now: &AnyState,
    ctx: &Arc<TaskCtx>,
    comparison: &Comparison,
) -> Result<(), RunError> {
    let Some((id, record)) = walk.first() else { return Ok(()) };
    let (was, _) = comparison.reader.position(&run.table, *id, record.clone()).await?;
    let other = compare::changed_channels(&run.table, &was.state, now)?;
    if !other.is_empty() {
        let spot = Spot { checkpoint: ctx.at.checkpoint, step: ctx.at.step, namespace: &ctx.scope.names };
        let why = format!("it is a subgraph, and would begin with another {}", other.join(" and "));
        comparison.skips(spot, &ctx.facts.name, &why);
    }
    Ok(())
}

async fn compare_input(run: &Run, walk: &Walk, input: &AnyWrites, comparison: &Comparison) -> Result<(), RunError> {
    let Some((id, record)) = walk.first().filter(|(_, record)| record.source == Source::Input) else { return Ok(()) };
    let Some(start) = &record.control.start else { return Ok(()) };
    let mapping = comparison.reader.mapping(&run.table, *id, record).await?;
    let lost = unsaved(start, &mapping);
    let start = comparison.reader.start(&run.table, &record.namespace, start, &mapping).await?;
    if let Some(mut difference) = compare::writes(&run.table, &start.writes.0, &input.0, &lost)? {
        difference.what = format!("input, {}", difference.what);
        let spot = Spot { checkpoint: *id, step: record.step + 1, namespace: &run.scope.names };
        comparison.differs(spot, "__start__", difference);
    }
    Ok(())
}

/// Returns the error that ends the body which called the subgraph.
fn diverged_error(ctx: &Arc<TaskCtx>) -> RunError {
    let node = Arc::clone(&ctx.facts.name);
    RunError::Diverged { node, what: "a subgraph".into(), recorded: "one way".into(), now: "another".into() }
}
