//! Must not compile: items that are no states, node ids or labels.
#![allow(non_camel_case_types)]
use superstep_macros::{Labels, NodeId, State};

#[derive(State, Clone)]
struct Tuple(u32);

#[derive(State, Clone)]
struct Nothing;

#[derive(State, Clone)]
enum Either {}

#[derive(State, Clone, Copy)]
union Both {
    a: u32,
}

#[derive(State, Clone)]
#[channel(append)]
struct Generic<T> {
    #[channel(apend)]
    items: Vec<T>,
}

#[derive(NodeId)]
struct NoStep;

#[derive(NodeId)]
enum NoSteps {}

#[derive(NodeId)]
#[node(name = "steps")]
enum Step {
    Plan(u32),
    #[node(name = "Plan")]
    Again,
    #[node(name = "a|b")]
    Bar,
    #[node(name = "a:b")]
    Colon,
    #[node(name = "")]
    Empty,
    #[node(title = "x")]
    Title,
    __start__,
    #[node(name = "__end__")]
    End,
    #[node(rename_all = "snake_case")]
    Renamed,
}

#[derive(NodeId)]
#[node(rename_all = "snakecase")]
enum UnknownCase {
    Plan,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case", rename_all = "camelCase")]
enum TwoCases {
    AskURL,
    #[node(name = "write")]
    AskUrl,
    Write,
    AskUrl_,
}

#[derive(Labels)]
enum NoOutcome {}

#[derive(Labels)]
enum GenericOutcome<T> {
    Some(T),
}

fn main() {}
