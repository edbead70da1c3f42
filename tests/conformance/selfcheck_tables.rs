//! The tables of `selfcheck`: JSON texts of inputs and expected outputs.

use std::sync::Mutex;

use serde_json::{Value, json};

use crate::block_on_any;
use crate::body::{Body, Exit, Host, Interrupted, NodeCommand, Return};
use crate::counters::Counters;
use crate::eval::Env;
use crate::model::Branch;
use crate::ops::Op;
use crate::outcome::ErrorView;
use crate::targets::{Goto, check_route};

/// Evaluated with the channels n = 3, list = [1, 2], nil = null; `!Class` is an exception of Python.
pub(crate) const EXPRESSIONS: &[(&str, &str)] = &[
    (r#"{"a": [1, {"$ch": "n"}], "b": {}}"#, r#"{"a": [1, 3], "b": {}}"#),
    (r#"{"$lit": {"$ch": "n"}}"#, r#"{"$ch": "n"}"#),
    (r#"[{"$ch": "none"}, {"$has": "nil"}, {"$has": "none"}]"#, "[null, true, false]"),
    (r#"[{"$item": 1}, {"$index": 1}, {"$runs": 1}, {"$var": "x"}]"#, r#"["it", 4, 2, null]"#),
    (r#"{"$error": "node"}"#, r#""!TypeError""#),
    (r#"{"$if": [{"$lit": {}}, 1, {"$not": ""}]}"#, "true"),
    (r#"[{"$and": [1, "x", 0.0]}, {"$or": [null, [], -1]}, {"$and": []}, {"$or": []}]"#, "[false, true, true, false]"),
    (r#"{"$and": [0, {"$get": 1}]}"#, "false"),
    (r#"[{"$add": [1, null, true]}, {"$add": [1, 0.5]}, {"$sum": null}, {"$sum": {"$ch": "list"}}]"#, "[2, 1.5, 0, 3]"),
    (r#"{"$add": [1, "a"]}"#, r#""!TypeError""#),
    (r#"[{"$sub": [null, 2]}, {"$mul": [2, 3, null]}, {"$mul": ["ab", 2]}, {"$mul": []}]"#, r#"[-2, 0, "abab", 1]"#),
    (r#"[{"$mod": [-7, 3]}, {"$mod": [7, -3]}, {"$mod": [-7.5, 2]}, {"$mod": [null, 5]}]"#, "[2, -2, 0.5, 0]"),
    (r#"[{"$concat": ["a", null, 1, true, 1.0]}, {"$concat": [[1], "ab", null]}]"#, r#"["a1True1.0", [1, "a", "b"]]"#),
    (r#"{"$concat": [[1], 2]}"#, r#""!TypeError""#),
    (r#"{"$mod": [1, 0]}"#, r#""!ZeroDivisionError""#),
    (
        r#"[{"$str": null}, {"$str": 12}, {"$str": 2.0}, {"$str": 1e16}, {"$str": 0.00001}]"#,
        r#"["null", "12", "2.0", "1e+16", "1e-05"]"#,
    ),
    (r#"{"$str": [1, "a'b", null, {"k": false}]}"#, r#""[1, \"a'b\", None, {'k': False}]""#),
    (r#"[{"$len": null}, {"$len": "äö"}, {"$len": {"a": 1}}]"#, "[0, 2, 1]"),
    (
        r#"{"$sort": [10, 9, "b", {"b": 1, "a": 2}, [2], "é", null]}"#,
        r#"["é", "b", 10, 9, [2], null, {"a": 2, "b": 1}]"#,
    ),
    (
        r#"[{"$last": []}, {"$last": [1, 2]}, {"$last": "xy"}, {"$range": null}, {"$range": 2}]"#,
        r#"[null, 2, "y", [], [0, 1]]"#,
    ),
    (
        r#"[{"$get": [{"$ch": "list"}, -2]}, {"$get": [[1], 5]}, {"$get": [{"k": 1}, "k"]}, {"$get": ["s", 0]}]"#,
        "[1, null, 1, null]",
    ),
    (
        r#"[{"$get": [[1], 1.0]}, {"$add": [0.1, 0.2]}, {"$mod": [2, 0.00001]}]"#,
        "[null, 0.30000000000000004, 0.000009999999999836395]",
    ),
    (r#"{"$get": [[1], "k"]}"#, r#""!TypeError""#),
    (
        r#"[{"$eq": [true, 1]}, {"$eq": [[1], [1.0]]}, {"$ne": ["1", 1]}, {"$eq": [null, 0]}]"#,
        "[true, true, true, false]",
    ),
    (
        r#"[{"$lt": [null, 1]}, {"$ge": [[1, 2], [1]]}, {"$gt": ["b", "a"]}, {"$le": [2, 1.5]}]"#,
        "[true, true, true, false]",
    ),
    (r#"{"$lt": ["a", 1]}"#, r#""!TypeError""#),
    (
        r#"[{"$overwrite": {"$ch": "n"}}, {"$remove": "m"}, {"$remove_all": true}]"#,
        r#"[{"$overwrite": 3}, {"$remove": "m"}, {"$remove_all": true}]"#,
    ),
    (r#"{"$msg": {"id": "m", "type": "ai", "content": {"$str": 1}}}"#, r#"{"id": "m", "type": "ai", "content": "1"}"#),
    (r#"{"$add": [9223372036854775807, 9223372036854775807]}"#, "18446744073709551614"),
];

/// Branches, with the channels n = 3 and list = [1, 2].
pub(crate) const ROUTES: &[(&str, &str)] = &[
    (r#"{"from": "a", "cases": [{"when": 0, "to": "x"}], "else": "END"}"#, r#"["__end__"]"#),
    (r#"{"from": "a", "cases": [{"when": 0, "to": "x"}]}"#, "[]"),
    (r#"{"from": "a", "else": [{"if": {"$ch": "n"}, "then": ["b", "c"]}, "d"]}"#, r#"["b", "c", "d"]"#),
    (r#"{"from": "a", "else": {"send": "w", "payload": {"$ch": "n"}}}"#, r#"[{"send": "w", "payload": 3}]"#),
    (
        r#"{"from": "a", "else": {"send_each": "w", "over": {"$ch": "list"}, "payload": [{"$item": 1}, {"$index": 1}]}}"#,
        r#"[{"send": "w", "payload": [1, 0]}, {"send": "w", "payload": [2, 1]}]"#,
    ),
    (r#"{"from": "a", "else": {"send_each": "w", "over": [7]}}"#, r#"[{"send": "w", "payload": 7}]"#),
    (r#"{"from": "a", "else": ["yes"], "targets": {"yes": "b"}}"#, r#"["b"]"#),
    (r#"{"from": "a", "else": ["no"], "targets": {"yes": "b"}}"#, r#""unknown_label""#),
    (r#"{"from": "a", "else": "START"}"#, r#""invalid_destination""#),
    (r#"{"from": "a", "else": {"send": "END"}}"#, r#""send_to_end""#),
];

pub(crate) fn route(given: Value) -> Result<Value, String> {
    let branch: Branch = serde_json::from_value(given).map_err(|error| error.to_string())?;
    let env = Env::over(json!({"n": 3, "list": [1, 2]}));
    let ways = branch.route(&env).and_then(|ways| check_route(&ways).map(|()| ways));
    ways.map(|ways| ways.iter().map(shown).collect()).map_err(|error| ErrorView::from(&error).kind)
}

fn shown(way: &Goto) -> Value {
    match way {
        Goto::Node(name) => json!(name),
        Goto::Start => json!("__start__"),
        Goto::End => json!("__end__"),
        Goto::Send { node, payload } => json!({"send": node, "payload": payload}),
    }
}

/// Ops of `main.a` with a host that answers 7 once; the result of the body.
pub(crate) const BODIES: &[(&str, &str)] = &[
    (
        r#"[{"op": "set", "key": "k", "expr": 1}, {"op": "set", "key": "b", "expr": 2}, {"op": "set", "key": "k", "expr": 3}]"#,
        r#"{"update": [["k", 3], ["b", 2]]}"#,
    ),
    (
        r#"[{"op": "interrupt", "payload": "q", "as": "x", "key": "k"}, {"op": "set", "key": "b", "expr": {"$add": [{"$var": "x"}, 1]}}]"#,
        r#"{"update": [["k", 7], ["b", 8]]}"#,
    ),
    (r#"[{"op": "interrupt", "payload": "q"}, {"op": "interrupt", "payload": "r"}]"#, r#""asked""#),
    (r#"[{"op": "fail", "times": 0}, {"op": "fail", "error": "noretry"}]"#, r#""noretry in a""#),
    (r#"[{"op": "if", "cond": 1, "then": [{"op": "return", "expr": [1]}]}, {"op": "fail"}]"#, r#"{"raw": [1]}"#),
    (
        r#"[{"op": "set", "key": "k", "expr": 1}, {"op": "command", "goto": "b"}]"#,
        r#"{"commands": [[[["k", 1]], ["b"], false]]}"#,
    ),
    (
        r#"[{"op": "set", "key": "k", "expr": 1}, {"op": "command", "update": {}, "graph": "PARENT"}]"#,
        r#"{"commands": [[null, [], true]]}"#,
    ),
    (
        r#"[{"op": "commands", "items": [{"update": {"k": 1}}, {"goto": ["END"]}]}]"#,
        r#"{"commands": [[[["k", 1]], [], false], [null, ["__end__"], false]]}"#,
    ),
    (
        r#"[{"op": "call", "graph": "sub", "input": {"n": 1}, "as": "r"}, {"op": "return", "expr": {"$var": "r"}}]"#,
        r#"{"raw": {"sub": {"n": 1}}}"#,
    ),
    (r#"[{"op": "let", "as": "x", "expr": {"$add": ["a"]}}]"#, r#""TypeError""#),
];

/// A host with one answer.
struct OneAnswer(Mutex<Option<Value>>);

impl Host for OneAnswer {
    type Error = ();

    fn interrupt(&self, _payload: Value) -> Result<Value, Interrupted> {
        self.0.lock().ok().and_then(|mut answer| answer.take()).ok_or(Interrupted)
    }

    async fn emit(&self, _value: Value) {}

    async fn call(&self, graph: &str, input: Value) -> Result<Value, Exit<()>> {
        Ok(json!({ graph: input }))
    }
}

/// Requires that an engine may run a body on any thread.
fn sendable<F: Future + Send>(future: F) -> F {
    future
}

pub(crate) fn body(given: Value) -> Result<Value, String> {
    let ops: Vec<Op> = serde_json::from_value(given).map_err(|error| error.to_string())?;
    let host = OneAnswer(Mutex::new(Some(json!(7))));
    let (body, counters) = (Body::of_node("main", "a", &ops), Counters::default());
    let ended = block_on_any(sendable(body.run(&host, &counters, json!({}), None)))?;
    match ended {
        Ok(Return::Update(update)) => Ok(json!({"update": update})),
        Ok(Return::Raw(value)) => Ok(json!({"raw": value})),
        Ok(Return::Commands(commands)) => Ok(json!({"commands": commands.iter().map(command).collect::<Vec<_>>()})),
        Err(Exit::Interrupted) => Err("asked".to_owned()),
        Err(Exit::Failed { kind, node }) => Err(format!("{} in {node}", kind.as_str())),
        Err(Exit::PythonError(raised)) => Err(raised.class.to_owned()),
        Err(Exit::Engine(())) => Err("engine".to_owned()),
    }
}

fn command(command: &NodeCommand) -> Value {
    json!([command.update, command.goto.iter().map(shown).collect::<Vec<_>>(), command.parent])
}

/// Pairs of actual and expected outcomes, action by action, and whether they are equal.
pub(crate) const OUTCOMES: &[(bool, &str, &str)] = &[
    (true, r#"[{"values": {"n": 1}}]"#, r#"[{"values": {"n": 1}}]"#),
    (false, r#"[{"values": {"n": 1}}]"#, r#"[{"values": {"n": 1, "m": null}}]"#),
    (false, r#"[{"values": {"n": 1}}]"#, r#"[{"values": {"n": true}}]"#),
    (true, r#"[{"error": {"kind": "other", "error": "TypeError"}}]"#, r#"[{"error": {"kind": "other"}}]"#),
    (
        false,
        r#"[{"error": {"kind": "node_error", "error": "A", "node": "a"}}]"#,
        r#"[{"error": {"kind": "node_error", "error": "B", "node": "a"}}]"#,
    ),
    // removals are shown as messages
    (
        true,
        r#"[{"values": {"m": {"content": "", "id": "x", "type": "remove"}}}]"#,
        r#"[{"values": {"m": {"$remove": "x"}}}]"#,
    ),
    // ids: free order, one renaming for the whole case
    (
        true,
        r#"[{"interrupts": [{"id": "i1", "value": "p"}, {"id": "i2", "value": "q"}]}]"#,
        r#"[{"interrupts": [{"id": "b", "value": "q"}, {"id": "a", "value": "p"}]}]"#,
    ),
    (
        false,
        r#"[{"interrupts": [{"id": "i1", "value": 1}]}, {"interrupts": [{"id": "i1", "value": 1}]}]"#,
        r#"[{"interrupts": [{"id": "a", "value": 1}]}, {"interrupts": [{"id": "b", "value": 1}]}]"#,
    ),
    (
        false,
        r#"[{"interrupts": [{"id": "i1", "value": 1}]}, {"interrupts": [{"id": "i2", "value": 1}]}]"#,
        r#"[{"interrupts": [{"id": "a", "value": 1}]}, {"interrupts": [{"id": "a", "value": 1}]}]"#,
    ),
    // equal questions: their ids are distinguished later
    (
        true,
        r#"[{"interrupts": [{"id": "i1", "value": 1}, {"id": "i2", "value": 1}]}, {"interrupts": [{"id": "i2", "value": 1}]}]"#,
        r#"[{"interrupts": [{"id": "a", "value": 1}, {"id": "b", "value": 1}]}, {"interrupts": [{"id": "a", "value": 1}]}]"#,
    ),
    (
        false,
        r#"[{"interrupts": [{"id": "i1", "value": 1}, {"id": "i2", "value": 1}]}, {"interrupts": [{"id": "i3", "value": 1}]}]"#,
        r#"[{"interrupts": [{"id": "a", "value": 1}, {"id": "b", "value": 1}]}, {"interrupts": [{"id": "a", "value": 1}]}]"#,
    ),
    (
        false,
        r#"[{"interrupts": [{"id": "i1", "value": 1}, {"id": "i2", "value": 1}]}]"#,
        r#"[{"interrupts": [{"id": "a", "value": 1}, {"id": "a", "value": 1}]}]"#,
    ),
    // tasks and next are unordered
    (
        true,
        r#"[{"state": {"next": ["a", "b"], "tasks": [{"name": "a", "interrupts": []}, {"name": "b", "interrupts": [{"id": "i1", "value": 1}]}]}}]"#,
        r#"[{"state": {"next": ["b", "a"], "tasks": [{"name": "b", "interrupts": [{"id": "x", "value": 1}]}, {"name": "a", "interrupts": []}]}}]"#,
    ),
    // the order of groups counts, the order inside one does not
    (
        true,
        r#"[{"events": [[{"ns": [], "mode": "custom", "data": 1}, {"ns": [], "mode": "custom", "data": 2}], [{"ns": [], "mode": "custom", "data": 3}]]}]"#,
        r#"[{"events": [{"ns": [], "mode": "custom", "data": 2}, {"ns": [], "mode": "custom", "data": 1}, {"ns": [], "mode": "custom", "data": 3}]}]"#,
    ),
    (
        false,
        r#"[{"events": [[{"ns": [], "mode": "custom", "data": 1}, {"ns": [], "mode": "custom", "data": 2}], [{"ns": [], "mode": "custom", "data": 3}]]}]"#,
        r#"[{"events": [{"ns": [], "mode": "custom", "data": 3}, {"ns": [], "mode": "custom", "data": 1}, {"ns": [], "mode": "custom", "data": 2}]}]"#,
    ),
    (
        false,
        r#"[{"events": [[{"ns": [], "mode": "custom", "data": 1}]]}]"#,
        r#"[{"events": [{"ns": [], "mode": "custom", "data": 1}, {"ns": [], "mode": "custom", "data": 1}]}]"#,
    ),
    (false, r#"[{"events": [[{"ns": [], "mode": "custom", "data": 1}]]}]"#, r#"[{"events": []}]"#),
    (false, r#"[{"history": [{"values": 1}, {"values": 2}]}]"#, r#"[{"history": [{"values": 2}, {"values": 1}]}]"#),
];

/// Cases that a reader must refuse.
pub(crate) const UNREADABLE: &[&str] = &[
    r#"{"name": "c", "graphs": {}, "expected": {"steps": []}, "extra": 1}"#,
    r#"{"name": "c", "graphs": {}, "expected": {"steps": []}, "script": [{"do": "dance"}]}"#,
    r#"{"name": "c", "graphs": {}, "expected": {"steps": []}, "script": [{"do": "invoke", "input": {"$what": 1}}]}"#,
    r#"{"name": "c", "graphs": {}, "expected": {"steps": []}, "script": [{"do": "invoke", "config": {"speed": 1}}]}"#,
    r#"{"name": "c", "graphs": {"main": {"channels": {"n": {"kind": "odd"}}, "nodes": []}}, "expected": {"steps": []}}"#,
    r#"{"name": "c", "graphs": {"main": {"channels": {}, "nodes": [{"name": "a", "ops": [{"op": "set", "key": "k", "expr": 1, "when": 2}]}]}}, "expected": {"steps": []}}"#,
    r#"{"name": "c", "graphs": {"main": {"channels": {}, "nodes": [{"name": "a", "ops": [{"op": "jump"}]}]}}, "expected": {"steps": []}}"#,
    r#"{"name": "c", "graphs": {"main": {"channels": {}, "nodes": [{"name": "a", "retry": {"tries": 2}}]}}, "expected": {"steps": []}}"#,
    r#"{"name": "c", "graphs": {"main": {"channels": {}, "nodes": [], "branches": [{"from": "a", "else": {"jump": "b"}}]}}, "expected": {"steps": []}}"#,
];
