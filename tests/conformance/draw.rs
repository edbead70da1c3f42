//! Draws a case: a graph with nodes that write, interrupt, jump and call subgraphs, and a script of runs, answers,
//! commands, updates and forks with every durability.

use serde_json::{Map, Value, json};

use crate::fuzzed::Rng;

/// Names of the nodes.
const NODES: [&str; 4] = ["a", "b", "c", "d"];
/// The channels of every graph.
const CHANNELS: [(&str, &str); 6] = [
    ("n", "last_value"),
    ("log", "append"),
    ("hops", "add"),
    ("seen", "union"),
    ("scratch", "untracked"),
    ("word", "any_value"),
];

/// Draws a case. Its outcomes are not compared.
pub(crate) fn draw(seed: u64) -> Value {
    let mut drawing = Drawing { rng: Rng::new(seed), fits_a_struct: seed % 2 == 1 };
    let sub = drawing.subgraph();
    let main = drawing.main();
    let script: Vec<Value> = (0..3 + drawing.below(5)).map(|at| drawing.action(at)).collect();
    json!({
        "name": format!("random_{seed}"), "seed": seed, "graphs": {"main": main, "sub": sub}, "script": script,
        "quirk": true, "expected": {"steps": []},
    })
}

struct Drawing {
    rng: Rng,
    /// Set if every channel has a kind that a struct supports too.
    fits_a_struct: bool,
}

impl Drawing {
    fn below(&mut self, end: u64) -> u64 {
        self.rng.below(end)
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.rng.once_in(times)
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.index(of.len())]
    }

    fn main(&mut self) -> Value {
        let names = &NODES[..2 + self.rng.index(3)];
        let nodes: Vec<Value> = names.iter().map(|name| self.node(name, names)).collect();
        let mut graph = self.wired(names, nodes);
        if self.once_in(3) {
            let (from, to) = (self.one(names), self.one(names));
            let send = json!({"send": to, "payload": {"n": {"$ch": "n"}}});
            let to = if self.once_in(3) { send } else { to.into() };
            graph["branches"] = json!([{"from": from, "cases": [{"when": {"$lt": [{"$ch": "hops"}, 4]}, "to": [to]}]}]);
        }
        graph
    }

    fn subgraph(&mut self) -> Value {
        let names = &["s", "t"][..1 + self.rng.index(2)];
        let nodes: Vec<Value> = names.iter().map(|name| json!({"name": name, "ops": self.ops(name, &[])})).collect();
        let mut graph = self.wired(names, nodes);
        graph["checkpointer"] = self.one(&["inherit", "inherit", "own", "none"]).into();
        if self.once_in(4) {
            graph["output"] = json!(["hops", "word"]);
        }
        graph
    }

    /// Adds a chain, or parallel nodes, sometimes with a join.
    fn wired(&mut self, names: &[&str], nodes: Vec<Value>) -> Value {
        let channels: Map<String, Value> =
            CHANNELS.iter().map(|(name, kind)| ((*name).to_owned(), self.channel(kind))).collect();
        let (first, last) = (names[0], names[names.len() - 1]);
        let mut edges = vec![json!(["START", first])];
        if names.len() > 2 && self.once_in(2) {
            edges.extend(names[1..names.len() - 1].iter().map(|name| json!(["START", name])));
            edges.push(json!([&names[..names.len() - 1], last]));
        } else {
            edges.extend(names.windows(2).map(|pair| json!([pair[0], pair[1]])));
        }
        let mut graph = json!({"channels": channels, "nodes": nodes, "edges": edges, "branches": []});
        if self.once_in(5) {
            graph["interrupt_before"] = json!([self.one(names)]);
        }
        if self.once_in(5) {
            graph["interrupt_after"] = json!([self.one(names)]);
        }
        graph
    }

    fn channel(&self, kind: &str) -> Value {
        match (kind, self.fits_a_struct) {
            ("union", true) => json!({"kind": "append"}),
            ("untracked", false) => json!({"kind": kind, "guard": false}),
            _ => json!({"kind": kind}),
        }
    }

    fn node(&mut self, name: &str, names: &[&str]) -> Value {
        if self.once_in(4) {
            return json!({"name": name, "subgraph": "sub", "input": ["n", "word"]});
        }
        let mut node = json!({"name": name, "ops": self.ops(name, names)});
        if self.once_in(5) {
            node["input"] = json!(["n", "hops", "word"]);
        }
        if self.once_in(8) {
            node["defer"] = true.into();
        }
        node
    }

    fn ops(&mut self, name: &str, names: &[&str]) -> Vec<Value> {
        let mut ops: Vec<Value> = (0..1 + self.below(3)).map(|_| self.op(name)).collect();
        ops.push(json!({"op": "set", "key": "hops", "expr": 1}));
        if !names.is_empty() && self.once_in(6) {
            let (cond, goto) = (json!({"$lt": [{"$ch": "hops"}, 3]}), self.one(names));
            ops.push(json!({"op": "if", "cond": cond, "then": [{"op": "command", "goto": [goto]}], "else": []}));
        }
        if !names.is_empty() && self.once_in(6) {
            ops.push(json!({"op": "call", "graph": "sub", "input": {"n": {"$ch": "n"}}, "as": "left"}));
            ops.push(json!({"op": "set", "key": "seen", "expr": [{"$str": {"$get": [{"$var": "left"}, "hops"]}}]}));
        }
        ops
    }

    fn op(&mut self, name: &str) -> Value {
        let set = |key: &str, expr: Value| json!({"op": "set", "key": key, "expr": expr});
        let ask = |payload: Value| json!({"op": "interrupt", "payload": payload, "as": "answer", "key": "word"});
        match self.below(9) {
            0 => ask(json!(format!("may {name} go on?"))),
            1 => ask(json!({"$concat": [name, {"$str": {"$ch": "n"}}]})),
            2 => {
                let interrupt = ask(json!(format!("{name} asks at times")));
                json!({"op": "if", "cond": {"$lt": [{"$ch": "n"}, 20]}, "then": [interrupt], "else": []})
            }
            3 => set("scratch", json!({"$add": [{"$ch": "hops"}, 1]})),
            4 => set("log", json!([{"$str": {"$ch": "scratch"}}])),
            5 => set("word", json!(name)),
            6 => set("seen", json!([{"$str": {"$ch": "n"}}])),
            _ => set("log", json!([name])),
        }
    }

    fn action(&mut self, at: u64) -> Value {
        let mut action = match self.below(12) {
            _ if at == 0 => json!({"do": "invoke", "input": {"n": self.below(9)}}),
            0 | 1 => json!({"do": "invoke", "input": {"n": self.below(40), "hops": 1}}),
            2 => json!({"do": "invoke", "input": {"n": self.below(9), "scratch": 7}}),
            3 | 4 => json!({"do": "invoke", "input": null}),
            5 => json!({"do": "invoke", "command": {"resume": self.below(9)}}),
            6 => json!({"do": "invoke", "command": {"resume": self.below(9), "update": {"n": 10 + self.below(40)}}}),
            7 => json!({"do": "invoke", "command": {"goto": [self.one(&NODES[..2])]}}),
            8 => {
                json!({"do": "invoke", "command": {"update": {"n": 5, "log": ["command"]}, "goto": [self.one(&NODES[..2])]}})
            }
            9 => json!({"do": "invoke", "input": null, "at": {"history": self.below(4)}}),
            10 => return self.update(),
            _ => return json!({"do": "restart"}),
        };
        let durability = self.one(&["sync", "sync", "async", "exit", "exit"]);
        let limit = if self.once_in(6) { 3 } else { 15 };
        action["config"] = json!({"durability": durability, "recursion_limit": limit});
        action
    }

    fn update(&mut self) -> Value {
        match self.below(4) {
            0 => json!({"do": "update", "values": null, "as_node": self.one(&["END", "__copy__", "a"])}),
            _ => {
                json!({"do": "update", "values": {"n": 3, "log": ["update"]}, "as_node": self.one(&["a", "b", "START"])})
            }
        }
    }
}
