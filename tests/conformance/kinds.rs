//! The engine's errors as the kinds that cases name.

use superstep::graph::build::Problem;
use superstep::graph::{CallError, CompileError, NodeError, RunError};

use crate::host::{CaseFail, InvalidReturn};
use crate::outcome::ErrorView;
use crate::targets::RouteError;

/// Returns the first problem of a graph that LangGraph would report.
pub(crate) fn build(error: &CompileError) -> ErrorView {
    ErrorView::of_kind(error.problems().first().map_or("other", problem))
}

fn problem(problem: &Problem) -> &'static str {
    match problem {
        Problem::NoEntry => "no_entry",
        Problem::AddedTwice { .. } => "duplicate_node",
        Problem::ReservedName { .. } => "reserved_name",
        Problem::UnknownTarget { .. } => "unknown_target",
        Problem::UnknownSource { .. } => "unknown_source",
        Problem::UnknownJoinNode { .. } => "unknown_node",
        Problem::EndAsSource => "end_as_source",
        Problem::StartAsTarget { .. } => "start_as_target",
        Problem::BranchTwice { .. } => "duplicate_branch",
        Problem::UnknownBreakpoint { .. } => "unknown_interrupt_node",
        _ => "other",
    }
}

/// Returns a name that no node has, for a branch without a target.
pub(crate) fn unroutable(error: &RouteError) -> String {
    let kind = match error {
        RouteError::PythonError(_) => "raised",
        RouteError::UnknownLabel(_) => "unknown_label",
        RouteError::InvalidDestination => "invalid_destination",
        RouteError::SendToEnd => "send_to_end",
    };
    format!("?{kind}")
}

/// Returns the `fail` op behind a failure, through called graphs and subgraphs.
pub(crate) fn fail_of(error: &NodeError) -> Option<&CaseFail> {
    let source = error.source();
    if let Some(CallError::Failed(inner)) = source.downcast_ref::<CallError>() {
        return match &**inner {
            RunError::Node { error, .. } => fail_of(error),
            _ => None,
        };
    }
    source.downcast_ref::<CaseFail>()
}

/// Returns the kind of a `fail` op, or the class of LangGraph's error, as an error handler gets it.
pub(crate) fn of_node(error: &NodeError) -> &'static str {
    let source = error.source();
    if let Some(fail) = fail_of(error) {
        return fail.kind.as_str();
    }
    match source.downcast_ref::<CallError>() {
        Some(CallError::Failed(inner)) => class(inner),
        _ if source.downcast_ref::<InvalidReturn>().is_some() => "InvalidUpdateError",
        _ => source.downcast_ref::<RunError>().map_or("other", class),
    }
}

fn class(error: &RunError) -> &'static str {
    match (error, run(error).kind.as_str()) {
        (RunError::Node { error, .. }, _) => of_node(error),
        (_, "recursion_limit") => "GraphRecursionError",
        (_, "concurrent_update" | "invalid_update") => "InvalidUpdateError",
        (_, "message_not_found") => "ValueError",
        _ => "other",
    }
}

pub(crate) fn run(error: &RunError) -> ErrorView {
    ErrorView::of_kind(match error {
        RunError::Node { node, error, .. } => {
            if let Some(fail) = fail_of(error) {
                return ErrorView::of_node(fail.kind.as_str(), &fail.node);
            }
            if error.source().downcast_ref::<InvalidReturn>().is_some() {
                return ErrorView::of_kind("invalid_node_return");
            }
            if let Some(error) = error.source().downcast_ref::<RunError>() {
                return run(error);
            }
            return ErrorView::other(&format!("{node}: {error}"));
        }
        RunError::RecursionLimit { .. } => "recursion_limit",
        RunError::EmptyInput { .. } => "empty_input",
        RunError::ConcurrentUpdate { .. } => "concurrent_update",
        RunError::Refused { reason, .. } if reason.contains("cannot be removed") => "message_not_found",
        RunError::Refused { .. } => "invalid_update",
        RunError::AmbiguousUpdate => "ambiguous_update",
        RunError::AmbiguousAnswer { .. } => "ambiguous_resume",
        RunError::UnknownQuestion { .. } => "unknown_interrupt",
        RunError::AlreadyAnswered { .. } => "already_answered",
        RunError::UnknownNode { .. } => "unknown_node",
        RunError::UnknownTarget { to, .. } | RunError::UndeclaredTarget { to, .. } => match to.as_str() {
            "__start__" => "invalid_destination",
            "?unknown_label" => "unknown_label",
            "?raised" => "other",
            _ => "unknown_node",
        },
        RunError::SendToEnd { .. } => "send_to_end",
        RunError::NoParentGraph { .. } => "no_parent_graph",
        RunError::NoCheckpointer { .. } => "no_checkpointer",
        RunError::InvalidUpdate { what } if what.contains("nothing to update") => "no_updates",
        RunError::InvalidUpdate { .. } => "invalid_update",
        RunError::InvalidConfig { .. } => "invalid_config",
        RunError::Unfinished { .. } => "unfinished",
        other => return ErrorView::other(&other.to_string()),
    })
}
