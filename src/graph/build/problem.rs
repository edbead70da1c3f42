//! The problems of a graph, each with a message and a help text.

use std::fmt;

use superstep_base::Printable;

use crate::graph::error::{ErrorReport, serialize_reports};

/// A check that can be turned off with [`StateGraph::allow`](crate::graph::StateGraph::allow).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lint {
    /// A node without a path from START.
    Unreachable,
    /// A loop without a path to END, or one whose plain edges fire for ever.
    TrappedLoop,
    /// A join with a source that a router may skip: the join may never fire.
    ConditionalJoin,
    /// An edge to END from a node with a router: the edge ends nothing, as the router decides where the path leads.
    EndBesideRouter,
    /// A graph that can interrupt, run without a checkpointer: its questions cannot be answered.
    Unresumable,
}

/// A problem of a graph.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the names that the message prints")]
pub enum Problem {
    /// An enum variant without a node.
    NotAdded { node: String },
    /// Two nodes with one id.
    AddedTwice { node: String },
    /// A node name reserved for the engine.
    ReservedName { node: String },
    /// Nothing follows START.
    NoEntry,
    /// An edge, router or command leads to an unknown node.
    UnknownTarget { from: String, to: String },
    /// An edge starts at an unknown node.
    UnknownSource { from: String, to: String },
    /// A join names an unknown node.
    UnknownJoinNode { node: String, join: String },
    /// An edge starts at END.
    EndAsSource,
    /// An edge leads to START.
    StartAsTarget { from: String },
    /// A join with fewer than two sources.
    JoinOfOne { target: String },
    /// Two routers of one name after one node.
    BranchTwice { from: String, name: String },
    /// `calls` names an unknown node.
    UnknownCaller { node: String },
    /// A breakpoint at an unknown node.
    UnknownBreakpoint { node: String },
    /// An edge to a node that only sends can start.
    EdgeToWorker { from: String, worker: String, takes: String },
    /// A send to a node that takes the state.
    SendToNode { from: String, node: String, sent: String },
    /// A send of the wrong type.
    WrongPayload { from: String, worker: String, takes: String, sent: String },
    /// Two question types with one name.
    QuestionTwice { name: String, first: String, second: String },
    /// [`Lint::Unreachable`].
    Unreachable { node: String },
    /// [`Lint::TrappedLoop`]: no path to END.
    TrappedLoop { path: Vec<String>, commands: Option<String> },
    /// [`Lint::TrappedLoop`]: a path to END, but every edge of the loop fires every time.
    EndlessLoop { path: Vec<String> },
    /// [`Lint::ConditionalJoin`].
    ConditionalJoin { source: String, target: String },
    /// [`Lint::EndBesideRouter`].
    EndBesideRouter { node: String },
    /// An input or output channel that the state does not have.
    UnknownChannel { channel: String },
    /// The former name of a node is that of another one.
    RenamedNode { was: String, now: String },
    /// The former name of two nodes.
    RenamedTwice { was: String },
    /// The former name of a node that does not exist.
    RenamedToNothing { was: String, now: String },
}

impl Problem {
    /// Returns the lint that reports it, if it can be allowed.
    pub fn lint(&self) -> Option<Lint> {
        match self {
            Self::Unreachable { .. } => Some(Lint::Unreachable),
            Self::TrappedLoop { .. } | Self::EndlessLoop { .. } => Some(Lint::TrappedLoop),
            Self::ConditionalJoin { .. } => Some(Lint::ConditionalJoin),
            Self::EndBesideRouter { .. } => Some(Lint::EndBesideRouter),
            _ => None,
        }
    }

    /// Returns the suggested fix.
    pub fn help(&self) -> String {
        Printable(self.suggestion()).to_string()
    }

    fn suggestion(&self) -> String {
        match self {
            Self::NotAdded { node } => format!("add `.add_node({node}, <body>)`, or delete the variant"),
            Self::AddedTwice { node } => format!("remove one of the two, or give `{node}` another id"),
            Self::ReservedName { .. } => {
                "choose a name without `|`, `:`, `/`, `#` and control characters that does not start with `__`".into()
            }
            Self::NoEntry => "add `.add_edge(START, <first node>)`".into(),
            Self::UnknownTarget { to, .. } => format!("add the node `{to}`, or correct the name"),
            Self::UnknownSource { from, .. } => format!("add the node `{from}`, or correct the name"),
            Self::UnknownJoinNode { node, .. } => format!("add the node `{node}`, or take it out of the join"),
            Self::EndAsSource => "paths end at END: start the edge at a node".into(),
            Self::StartAsTarget { .. } => "runs start at START: add an edge to the first node instead".into(),
            Self::JoinOfOne { target } => format!("write `.add_edge(<source>, {target})`, or name the other sources"),
            Self::BranchTwice { .. } => "give the second router another name".into(),
            Self::UnknownCaller { node } => format!("add the node `{node}`, or correct the name"),
            Self::UnknownBreakpoint { node } => format!("add the node `{node}`, or remove the breakpoint"),
            Self::EdgeToWorker { worker, .. } => {
                format!("send to `{worker}` from a router, or add it with `.add_node` as a node over the state")
            }
            Self::SendToNode { node, .. } => format!("add `{node}` with `.add_worker`, or add an edge to it"),
            Self::WrongPayload { worker, takes, .. } => format!("send a `{takes}` to `{worker}`, or change the worker"),
            Self::QuestionTwice { .. } => "give each question type its own `NAME`".into(),
            Self::Unreachable { node } => {
                format!(
                    "add an edge to `{node}`, declare the command that goes there with `.goes_to({node})`, or remove it"
                )
            }
            Self::TrappedLoop { commands: Some(node), .. } => format!(
                "if a command of `{node}` leaves the loop, declare its target too: `.goes_to((.., END))`; otherwise add a \
                 router out of the loop"
            ),
            Self::TrappedLoop { commands: None, .. } => {
                "add a router from the loop to END; if a command leaves the loop, declare it on its node with `.goes_to(END)`"
                    .into()
            }
            Self::EndlessLoop { .. } => {
                "let a router choose between the loop and END, instead of the plain edges; \
                                         or `.allow(Lint::TrappedLoop)` if it is intended, or left by `Command::parent`"
                    .into()
            }
            Self::ConditionalJoin { source, target } => format!(
                "join after the paths meet again, let `{target}` `.defer()`, or `.allow(Lint::ConditionalJoin)` if a \
                 router always leads to `{source}` in the end"
            ),
            Self::EndBesideRouter { .. } => {
                "remove the edge, and let the router choose END; or `.allow(Lint::EndBesideRouter)`"
                    .into()
            }
            Self::UnknownChannel { .. } => "use the name of a field of the state".into(),
            Self::RenamedNode { was, .. } => format!("give the node `{was}` another name, or remove the `.renamed`"),
            Self::RenamedTwice { .. } => "keep one of the two: a stored thread resumes at one node".into(),
            Self::RenamedToNothing { now, .. } => format!("add the node `{now}`, or correct the name"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printable(Text(self)).fmt(f)
    }
}

/// The text of a problem with names as they are.
struct Text<'a>(&'a Problem);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Problem::NotAdded { node } => write!(f, "node `{node}` is in the enum but was never added"),
            Problem::AddedTwice { node } => write!(f, "node `{node}` was added twice"),
            Problem::ReservedName { node } => write!(f, "`{node}` cannot be the name of a node"),
            Problem::NoEntry => write!(f, "nothing follows START"),
            Problem::UnknownTarget { from, to } => write!(f, "`{from}` leads to `{to}`, which is not a node"),
            Problem::UnknownSource { from, to } => {
                write!(f, "an edge to `{to}` starts at `{from}`, which is not a node")
            }
            Problem::UnknownJoinNode { node, join } => write!(f, "the join {join} names `{node}`, which is not a node"),
            Problem::EndAsSource => write!(f, "an edge starts at END"),
            Problem::StartAsTarget { from } => write!(f, "`{from}` leads to START"),
            Problem::JoinOfOne { target } => write!(f, "the join into `{target}` has fewer than two sources"),
            Problem::BranchTwice { from, name } => write!(f, "`{from}` has two routers named `{name}`"),
            Problem::UnknownCaller { node } => write!(f, "a graph is called from `{node}`, which is not a node"),
            Problem::UnknownBreakpoint { node } => write!(f, "a breakpoint is set at `{node}`, which is not a node"),
            Problem::EdgeToWorker { from, worker, takes } => {
                write!(f, "an edge leads from `{from}` to `{worker}`, which only a send of `{takes}` can start")
            }
            Problem::SendToNode { from, node, sent } => {
                write!(f, "`{from}` sends a `{sent}` to `{node}`, which takes the state and no payload")
            }
            Problem::WrongPayload { from, worker, takes, sent } => {
                write!(f, "`{from}` sends a `{sent}` to `{worker}`, which takes a `{takes}`")
            }
            Problem::QuestionTwice { name, first, second } => {
                write!(f, "the questions `{first}` and `{second}` are both named `{name}`")
            }
            Problem::Unreachable { node } => write!(f, "nothing leads to node `{node}`"),
            Problem::TrappedLoop { path, .. } => write!(f, "nothing leads out of the loop {}", path.join(" -> ")),
            Problem::EndlessLoop { path } => {
                write!(f, "the loop {} never ends: its edges fire every time", path.join(" -> "))
            }
            Problem::ConditionalJoin { source, target } => {
                write!(f, "the join into `{target}` may wait forever: a router can bypass `{source}`")
            }
            Problem::EndBesideRouter { node } => {
                write!(f, "`{node}` has a router and an edge to END, which has no effect: the router decides")
            }
            Problem::UnknownChannel { channel } => write!(f, "the state has no channel `{channel}`"),
            Problem::RenamedNode { was, now } => write!(f, "`{was}` is renamed to `{now}`, and is still a node"),
            Problem::RenamedTwice { was } => write!(f, "`{was}` is renamed to two nodes"),
            Problem::RenamedToNothing { was, now } => write!(f, "`{was}` is renamed to `{now}`, which is not a node"),
        }
    }
}

/// All problems of a graph.
#[derive(Clone, PartialEq, Eq)]
pub struct CompileError {
    problems: Vec<Problem>,
}

impl CompileError {
    pub(crate) fn new(problems: Vec<Problem>) -> Self {
        Self { problems }
    }

    /// Returns the problems, in the order of their nodes and edges.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().enumerate() {
            let (gap, lead) = if at == 0 { ("", "") } else { ("\n", "error: ") };
            write!(f, "{gap}{lead}{problem}\n help: {}", problem.help())?;
        }
        Ok(())
    }
}

impl fmt::Debug for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for CompileError {}

impl From<&CompileError> for ErrorReport {
    fn from(error: &CompileError) -> Self {
        let problems: Vec<Self> = error.problems().iter().map(Self::from).collect();
        let count = problems.len();
        let message =
            if count == 1 { "the graph has a problem".into() } else { format!("the graph has {count} problems") };
        Self { problems, ..Self::new(message, "compile", None) }
    }
}

impl From<&Problem> for ErrorReport {
    fn from(problem: &Problem) -> Self {
        Self::new(problem, problem.into(), Some(problem.help()))
    }
}

serialize_reports!(CompileError, Problem);
