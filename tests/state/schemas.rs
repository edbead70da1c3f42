//! The JSON Schemas of graphs and questions: opt-in types, documents, and what is known of any other graph.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde_json::{Value, json};
use superstep::graph::reducers::Keyed;
use superstep::graph::{AnyGraph, AnyState, Channels, Graphs, Log, Topology};
use superstep::prelude::*;

/// A remark of a reader.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Remark {
    id: String,
    /// The line, from 1.
    line: u32,
    #[serde(default)]
    text: Option<String>,
}

impl Keyed for Remark {
    fn id(&self) -> &str {
        &self.id
    }
}

#[derive(Channels, Clone, Debug, Default, Serialize, Deserialize)]
struct Costs {
    #[channel(add)]
    tokens: u64,
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema, removed("mood"))]
struct Draft {
    /// Its subject.
    topic: String,
    #[channel(append)]
    notes: Vec<String>,
    #[channel(append)]
    log: Log<u8>,
    #[channel(union)]
    tags: BTreeSet<String>,
    #[channel(max)]
    best: Option<i64>,
    #[channel(messages)]
    remarks: Vec<Remark>,
    #[channel(reduce = note, write = Remark)]
    latest: BTreeMap<String, u32>,
    #[channel(secret)]
    token: String,
    anything: Value,
    #[channel(group)]
    costs: Costs,
}

fn note(lines: &mut BTreeMap<String, u32>, remark: Remark) {
    lines.insert(remark.id, remark.line);
}

#[derive(Interrupt, Serialize, Deserialize, JsonSchema)]
#[interrupt(resume = Review, name = "approve", schema)]
struct Approve {
    text: String,
}

/// The review.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Review {
    /// True if it is good.
    is_good: bool,
    #[serde(default)]
    feedback: String,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "go_on")]
struct GoOn;

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = Option<u8>, name = "guess")]
struct Guess;

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Step {
    Write,
    Review,
}

async fn write(_: Arc<Draft>, _: Ctx) -> Result<(), NodeError> {
    Ok(())
}

async fn review(_: Arc<Draft>, ctx: Ctx) -> Result<(), NodeError> {
    ctx.interrupt(Approve { text: "salt".into() })?;
    Ok(())
}

fn graph() -> AnyGraph {
    let review = review.asks::<Approve>().asks::<GoOn>().asks::<Guess>();
    let graph = StateGraph::new().add_node(Step::Write, write).add_node(Step::Review, review);
    graph.add_sequence([Step::Write, Step::Review]).compile().unwrap().named("draft").into()
}

#[test]
fn an_input_is_described_by_the_writes_of_its_channels() {
    let schemas = graph().schemas();
    insta::assert_snapshot!(format!("{:#}", schemas.input["properties"]), @r##"
    {
      "anything": {},
      "best": {
        "format": "int64",
        "type": "integer"
      },
      "latest": {
        "$ref": "#/$defs/Remark"
      },
      "log": {
        "items": {
          "format": "uint8",
          "maximum": 255,
          "minimum": 0,
          "type": "integer"
        },
        "type": "array"
      },
      "notes": {
        "items": {
          "type": "string"
        },
        "type": "array"
      },
      "remarks": {
        "items": {
          "$ref": "#/$defs/Change"
        },
        "type": "array"
      },
      "tags": {
        "items": {
          "type": "string"
        },
        "type": "array"
      },
      "token": {
        "type": "string",
        "writeOnly": true
      },
      "tokens": {
        "format": "uint64",
        "minimum": 0,
        "type": "integer"
      },
      "topic": {
        "description": "Its subject.",
        "type": "string"
      }
    }
    "##);
    insta::assert_snapshot!(format!("{:#}", schemas.input["$defs"]), @r##"
    {
      "Change": {
        "description": "A change to a list that is merged by id.",
        "oneOf": [
          {
            "additionalProperties": false,
            "description": "Adds an entry, or replaces the one with its id in place.",
            "properties": {
              "put": {
                "$ref": "#/$defs/Remark"
              }
            },
            "required": [
              "put"
            ],
            "type": "object"
          },
          {
            "additionalProperties": false,
            "description": "Removes the entry with this id.",
            "properties": {
              "remove": {
                "type": "string"
              }
            },
            "required": [
              "remove"
            ],
            "type": "object"
          },
          {
            "const": "remove_all",
            "description": "Removes every entry before this change.",
            "type": "string"
          }
        ]
      },
      "Remark": {
        "description": "A remark of a reader.",
        "properties": {
          "id": {
            "type": "string"
          },
          "line": {
            "description": "The line, from 1.",
            "format": "uint32",
            "minimum": 0,
            "type": "integer"
          },
          "text": {
            "default": null,
            "type": [
              "string",
              "null"
            ]
          }
        },
        "required": [
          "id",
          "line"
        ],
        "type": "object"
      }
    }
    "##);
    assert_eq!((&schemas.input["title"], &schemas.input["type"]), (&json!("draft"), &json!("object")));
}

#[test]
fn a_state_is_described_as_readers_get_it() {
    let schemas = graph().schemas();
    insta::assert_snapshot!(format!("{:#}", schemas.state["properties"]), @r##"
    {
      "anything": {},
      "best": {
        "format": "int64",
        "type": [
          "integer",
          "null"
        ]
      },
      "latest": {
        "additionalProperties": {
          "format": "uint32",
          "minimum": 0,
          "type": "integer"
        },
        "type": "object"
      },
      "log": {
        "items": {
          "format": "uint8",
          "maximum": 255,
          "minimum": 0,
          "type": "integer"
        },
        "type": "array"
      },
      "notes": {
        "items": {
          "type": "string"
        },
        "type": "array"
      },
      "remarks": {
        "items": {
          "$ref": "#/$defs/Remark"
        },
        "type": "array"
      },
      "tags": {
        "items": {
          "type": "string"
        },
        "type": "array",
        "uniqueItems": true
      },
      "tokens": {
        "format": "uint64",
        "minimum": 0,
        "type": "integer"
      },
      "topic": {
        "description": "Its subject.",
        "type": "string"
      }
    }
    "##);
    assert_eq!(schemas.state, schemas.output);
    assert_eq!(schemas.state["properties"].get("token"), None);
}

#[test]
fn what_a_schema_describes_is_an_input() {
    let input = json!({
        "topic": "tides", "notes": ["salt"], "log": [1], "tags": ["sea"], "best": 3, "tokens": 2, "anything": [null],
        "remarks": [{ "put": { "id": "a", "line": 1 } }, { "remove": "a" }, "remove_all"],
        "latest": { "id": "b", "line": 2 }, "token": "t",
    });
    let graph = graph();
    assert!(graph.input(&input).is_ok());
    let described: BTreeSet<_> = graph.schemas().input["properties"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(described, input.as_object().unwrap().keys().cloned().collect());
    let wrong = graph.input(&json!({ "best": "most" })).unwrap_err();
    assert!(matches!(wrong, superstep::graph::state::InputError::Mistyped { .. }));
}

#[test]
fn questions_are_described_by_their_types_or_as_far_as_they_are_plain() {
    let questions = graph().schemas().questions;
    let approve = &questions["approve"];
    insta::assert_snapshot!(format!("{:#}", approve.answer.as_ref().unwrap()), @r#"
    {
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "description": "The review.",
      "properties": {
        "feedback": {
          "default": "",
          "type": "string"
        },
        "is_good": {
          "description": "True if it is good.",
          "type": "boolean"
        }
      },
      "required": [
        "is_good"
      ],
      "title": "Review",
      "type": "object"
    }
    "#);
    assert_eq!(approve.payload.as_ref().unwrap()["properties"], json!({ "text": { "type": "string" } }));
    assert_eq!(questions["go_on"].answer, Some(json!({ "type": "boolean" })));
    assert_eq!(questions["guess"].answer, None);
}

#[tokio::test]
async fn a_pending_question_has_the_schema_of_its_answer() {
    let graphs = Graphs::new().with(graph()).with_checkpointer(MemoryCheckpointer::new());
    let thread = graphs.get("draft").unwrap().thread("a");
    let input = thread.graph().input(&json!({ "topic": "tides" })).unwrap();
    let outcome = thread.run(superstep::graph::Request::input(input)).await.unwrap();
    let asked = outcome.questions()[0].answer_schema().unwrap();
    assert_eq!(asked["required"], json!(["is_good"]));
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Plain {
    text: String,
    #[channel(secret)]
    token: String,
}

async fn do_nothing<S>(_: Arc<S>, _: Ctx) -> Result<(), NodeError> {
    Ok(())
}

fn plain() -> CompiledGraph<Plain, Step> {
    StateGraph::new()
        .add_node(Step::Write, do_nothing)
        .add_node(Step::Review, do_nothing)
        .add_edge(START, Step::Write)
        .add_edge(START, Step::Review)
        .compile()
        .unwrap()
}

#[test]
fn of_a_graph_that_does_not_opt_in_the_names_are_known() {
    let schemas = AnyGraph::from(plain()).schemas();
    assert_eq!(schemas.input["properties"], json!({ "text": {}, "token": { "writeOnly": true } }));
    assert_eq!(schemas.state["properties"], json!({ "text": {} }));
    assert_eq!(schemas.input.get("$defs"), None);
}

#[test]
fn a_document_describes_its_channels_by_their_kinds() {
    let spec: superstep::graph::GraphSpec = serde_json::from_value(json!({
        "channels": {
            "any": "last_value", "list": "append", "sum": "add", "text": "concat", "set": "union", "map": "merge",
            "least": "opt_min", "messages": "messages", "topic": "topic:accumulate",
            "token": { "kind": "concat", "secret": true },
        },
        "nodes": { "write": "write" },
        "edges": [{ "from": "START", "to": "write" }],
    }))
    .unwrap();
    let registry = superstep::graph::Registry::new().node("write", do_nothing);
    let schemas = spec.compile(&registry).unwrap().schemas();
    insta::assert_snapshot!(format!("{}", schemas.input["properties"]).replace("},\"", "},\n\""), @r#"
    {"any":{},
    "least":{"type":["number","string"]},
    "list":{"type":"array"},
    "map":{"type":"object"},
    "messages":{"items":{"type":"object"},
    "type":["array","object"]},
    "set":{"items":{"type":["null","boolean","number","string"]},
    "type":"array"},
    "sum":{"type":"number"},
    "text":{"type":"string"},
    "token":{"type":"string","writeOnly":true},
    "topic":{}}
    "#);
    insta::assert_snapshot!(format!("{}", schemas.state["properties"]).replace("},\"", "},\n\""), @r#"
    {"any":{},
    "least":{"type":["number","string"]},
    "list":{"type":"array"},
    "map":{"type":"object"},
    "messages":{"items":{"type":"object"},
    "type":"array"},
    "set":{"items":{"type":["null","boolean","number","string"]},
    "type":"array"},
    "sum":{"type":"number"},
    "text":{"type":"string"},
    "topic":{"type":"array"}}
    "#);
}

/// Lists the edges of a topology, with those of its subgraphs.
fn lines(topology: &Topology, above: &str) -> Vec<String> {
    let mut lines = vec![];
    for edge in &topology.edges {
        let name = |name: &Option<String>, none: &str| name.clone().unwrap_or_else(|| none.to_owned());
        let arrow = if edge.is_conditional { "?>" } else { "->" };
        let (from, to) = (name(&edge.source, "START"), name(&edge.target, "END"));
        lines.push(format!("{above}{from} {arrow} {to} {}", edge.label).trim_end().to_owned());
    }
    for node in &topology.nodes {
        let inside =
            node.subgraph.as_ref().map(|child| self::lines(&child.topology, &format!("{above}{}:", node.name)));
        lines.extend(inside.into_iter().flatten());
    }
    lines
}

#[test]
fn a_topology_has_edges_joins_choices_and_subgraphs() {
    #[derive(NodeId)]
    enum Part {
        A,
        B,
        Child,
    }
    #[derive(Route)]
    enum After {
        #[to(Part::A)]
        Again,
        #[to(END)]
        Enough,
    }
    let graph = StateGraph::<Plain, Part>::new()
        .add_node(Part::A, do_nothing)
        .add_node(Part::B, do_nothing)
        .add_subgraph(Part::Child, plain())
        .add_edge(START, [Part::A, Part::B])
        .add_edge([Part::A, Part::B], Part::Child)
        .add_conditional_edges(Part::Child, |_: &Plain| After::Enough)
        .compile()
        .unwrap();
    let topology = AnyGraph::from(graph).topology();
    insta::assert_snapshot!(lines(&topology, "").join("\n"), @"
    START -> A
    START -> B
    Child ?> A Again
    Child ?> END Enough
    A -> Child
    B -> Child
    Child:START -> write
    Child:START -> review
    Child:review -> END
    Child:write -> END
    ");
    let child = topology.nodes.iter().find_map(|node| node.subgraph.as_ref()).unwrap();
    assert_eq!(child.schemas.state["properties"], json!({ "text": {} }));
}

#[test]
fn the_schemas_of_a_state_are_the_same_without_its_type() {
    let graph = graph();
    let untyped: &CompiledGraph<AnyState, superstep::graph::Name, superstep::graph::OwnContext> = &graph;
    assert_eq!(untyped.schemas().input["properties"]["tokens"]["type"], "integer");
}

/// The examples of the guide.
#[allow(dead_code, reason = "it is shown, and has to compile")]
mod shown {
    use superstep::prelude::*;

    #[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
    struct Note {
        text: String,
    }
    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    #[state(schema)]
    struct Essay {
        /// The subject, in a few words.
        topic: String,
        #[channel(append)]
        notes: Vec<Note>,
    }

    #[derive(Interrupt, Serialize, Deserialize, schemars::JsonSchema)]
    #[interrupt(resume = Review, schema)]
    struct Approve {
        text: String,
    }
    /// Your verdict.
    #[derive(Serialize, Deserialize, schemars::JsonSchema)]
    struct Review {
        is_good: bool,
        #[serde(default)]
        feedback: String,
    }
}
