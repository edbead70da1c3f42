//! The JSON Schemas of the questions of the workflows: forms are made of them, so they say what is read and written, and what each word
//! means.

#![allow(clippy::unwrap_used, reason = "it is a test")]

use rstest::rstest;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use superstep::graph::{Interrupt, QuestionSchemas};
use superstep::nodes::{
    AgentQuestion, ApprovePlan, BranchMoved, BudgetReached, DecideTask, Halted, PlanChanged, ReviewUnavailable,
    SessionRefused, TaskGivenUp,
};
use superstep::plan::Plan;

/// A question's schemas, the form of its answers in words, and whether its types read values.
struct Described {
    schemas: QuestionSchemas,
    shape: String,
    reads: fn(&Value) -> bool,
    asks: fn(&Value) -> bool,
}

impl Described {
    fn of<Q: Interrupt>() -> Self {
        Self { schemas: Q::schemas(), shape: Q::answer_shape(), reads: reads::<Q::Resume>, asks: reads::<Q> }
    }

    fn answer(&self) -> &Value {
        self.schemas.answer.as_ref().unwrap()
    }

    /// Returns the variants of an answer: each with its word, and its schema.
    fn variants(&self) -> Vec<(String, &Value)> {
        let variants = self.answer()["oneOf"].as_array().unwrap();
        variants.iter().map(|variant| (word(variant), variant)).collect()
    }
}

fn reads<T: DeserializeOwned>(value: &Value) -> bool {
    serde_json::from_value::<T>(value.clone()).is_ok()
}

/// Returns the word of a variant: a text, or the only field of an object.
fn word(variant: &Value) -> String {
    let field = || variant["required"][0].as_str();
    variant["const"].as_str().or_else(field).unwrap_or_else(|| panic!("{variant} has no word")).to_owned()
}

fn fits(schema: &Value, value: &Value) -> bool {
    jsonschema::draft202012::new(schema).unwrap().is_valid(value)
}

fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

/// The answers that the reference names, and those that a question refuses.
#[rstest]
#[case::approval(Described::of::<ApprovePlan>(), json!(["approve", { "approve": { "tasks": ["1"] } }, "reject", { "reject": { "feedback": "…" } },
    { "reject": {} }, { "revise": { "feedback": "…" } }, { "edit_plan": { "markdown": "…" } }]), json!(["revise", { "revise": {} }, { "approve": {} }, 1]))]
#[case::halted(Described::of::<Halted>(), json!([{ "retry": { "attempts": 2, "note": "…" } }, { "retry": {} }, "accept", "skip",
    { "edit_plan": { "markdown": "…" } }, "abort"]), json!(["retry", { "retry": { "times": 2 } }, { "edit_plan": {} }]))]
#[case::question(Described::of::<AgentQuestion>(), json!([{ "reply": { "text": "…" } }]), json!(["reply", { "reply": {} }, "abort"]))]
#[case::plan_changed(Described::of::<PlanChanged>(), json!(["keep", "adopt", "diff"]), json!(["abort", {}]))]
#[case::session_refused(Described::of::<SessionRefused>(), json!(["fresh", { "model": "NAME" }, "retry", "skip", "abort"]), json!(["model", { "model": 1 }]))]
#[case::budget(Described::of::<BudgetReached>(), json!([{ "raise": { "cost": 30 } }, { "raise": { "cost": 0.5, "tokens": 9, "wall": "30m" } },
    { "raise": { "wall": 90 } }, { "override": { "decision": "DONE", "why": "…" } }, "abort"]), json!(["raise", { "raise": { "cost": -1 } },
    { "raise": { "wall": "soon" } }, { "raise": { "money": 1 } }]))]
#[case::branch_moved(Described::of::<BranchMoved>(), json!(["keep", "abort"]), json!(["adopt"]))]
#[case::review_unavailable(Described::of::<ReviewUnavailable>(), json!(["retry", "accept", "abort"]), json!(["skip"]))]
#[case::gave_up(Described::of::<TaskGivenUp>(), json!([{ "retry": { "attempts": 1, "note": "…" } }, "split",
    { "override": { "decision": "DONE", "why": "…" } }, "abort"]), json!(["retry", { "override": { "decision": "DONE" } }]))]
#[case::decide(Described::of::<DecideTask>(), json!(["split", { "override": { "decision": "FAIL", "why": "…", "by": "ada" } }]), json!(["accept"]))]
fn an_answer_fits_its_schema_if_it_is_read(
    #[case] question: Described,
    #[case] answers: Value,
    #[case] refused: Value,
) {
    for (values, expected) in [(answers, true), (refused, false)] {
        for value in values.as_array().unwrap() {
            assert_eq!((fits(question.answer(), value), (question.reads)(value)), (expected, expected), "{value}");
        }
    }
}

#[rstest]
#[case(Described::of::<ApprovePlan>())]
#[case(Described::of::<Halted>())]
#[case(Described::of::<AgentQuestion>())]
#[case(Described::of::<PlanChanged>())]
#[case(Described::of::<SessionRefused>())]
#[case(Described::of::<BudgetReached>())]
#[case(Described::of::<BranchMoved>())]
#[case(Described::of::<ReviewUnavailable>())]
#[case(Described::of::<TaskGivenUp>())]
#[case(Described::of::<DecideTask>())]
fn each_word_of_an_answer_is_a_variant_with_a_description(#[case] question: Described) {
    let variants = question.variants();
    for (word, variant) in &variants {
        assert!(variant["description"].is_string(), "{word}: {variant}");
    }
    for part in question.shape.split(" or ").filter(|part| part.starts_with(['{', '"'])) {
        let word = part.trim_start_matches(['{', '"']).split('"').next().unwrap();
        assert!(variants.iter().any(|(known, _)| known == word), "{word} of {}", question.shape);
    }
}

fn plan() -> Plan {
    Plan::parse("# Clock\n\nTell the time.\n\n### Task 1: Face\n\nRound.\n").unwrap()
}

fn given_up() -> TaskGivenUp {
    TaskGivenUp {
        task: "1".into(),
        title: "Face".into(),
        decision: "GIVE_UP".into(),
        rule: "attempts".into(),
        reason: "it is square".into(),
        attempt: 2,
        findings: vec!["error: square".into()],
        salvage: Some("refs/superstep/salvage/1".into()),
        may_split: true,
        cost: 5,
        problem: None,
    }
}

/// Questions as they are asked.
fn asked() -> Vec<(Described, Value)> {
    let moved = json!({ "branch": "superstep/p", "old": "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "new": null });
    let changed = json!({ "path": "plan.md", "diff": "-a\n+b\n", "problem": null, "verify": ["1: cargo test"] });
    let review = json!({ "task": "1", "title": "Face", "reason": "no JSON", "tries": 3 });
    let question = json!({ "task": "1", "title": "Face", "question": "How large?", "summary": "" });
    let budget = json!({ "reached": ["cost"], "spent": ["cost: $5 of $5"], "role": "developer", "task": "1", "cost": 5, "tokens": 9, "unpriced": 0,
        "seconds": 60, "problem": null });
    let comments = json!([{ "issue": "square", "file": "face.rs", "line": 3, "severity": "major" }]);
    let mut halted = json(&Halted { task: "1".into(), ..Halted::default() });
    halted["comments"] = comments;
    halted = json(&serde_json::from_value::<Halted>(halted).unwrap());
    let mut of_phase = halted.clone();
    (of_phase["phase"], of_phase["subtask"], of_phase["salvage"]) =
        (json!(2), json!("2a"), json!(["refs/a", "refs/b"]));
    vec![
        (Described::of::<ApprovePlan>(), json(&ApprovePlan::of(&plan()))),
        (Described::of::<Halted>(), halted),
        (Described::of::<Halted>(), of_phase),
        (Described::of::<AgentQuestion>(), question),
        (Described::of::<PlanChanged>(), changed),
        (Described::of::<SessionRefused>(), json(&SessionRefused::default())),
        (Described::of::<BudgetReached>(), budget),
        (Described::of::<BranchMoved>(), moved),
        (Described::of::<ReviewUnavailable>(), review),
        (Described::of::<TaskGivenUp>(), json(&given_up())),
        (Described::of::<DecideTask>(), json(&DecideTask { about: given_up() })),
    ]
}

#[test]
fn a_question_fits_the_schema_of_its_payload() {
    for (question, payload) in asked() {
        let schema = question.schemas.payload.as_ref().unwrap();
        assert!((question.asks)(&payload), "{payload}");
        assert!(fits(schema, &payload), "{payload}: {schema}");
        let fields = schema["properties"].as_object().unwrap();
        let bare: Vec<_> = fields.iter().filter(|(_, field)| !field["description"].is_string()).collect();
        assert!(bare.is_empty(), "fields without a description: {bare:?}");
    }
}

/// Returns the schemas of a property, wherever a document has it.
fn properties<'a>(schema: &'a Value, name: &str) -> Vec<&'a Value> {
    let inside: Vec<&Value> = match schema {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => vec![],
    };
    let own = schema.get("properties").and_then(|fields| fields.get(name));
    own.into_iter().chain(inside.into_iter().flat_map(|part| properties(part, name))).collect()
}

#[rstest]
#[case(Described::of::<ApprovePlan>().schemas.answer, "markdown", "plan")]
#[case(Described::of::<ApprovePlan>().schemas.answer, "feedback", "markdown")]
#[case(Described::of::<ApprovePlan>().schemas.payload, "warnings", "findings")]
#[case(Described::of::<Halted>().schemas.answer, "markdown", "plan")]
#[case(Described::of::<Halted>().schemas.answer, "note", "markdown")]
#[case(Described::of::<Halted>().schemas.payload, "comments", "findings")]
#[case(Described::of::<PlanChanged>().schemas.payload, "diff", "diff")]
#[case(Described::of::<AgentQuestion>().schemas.payload, "question", "markdown")]
#[case(Described::of::<TaskGivenUp>().schemas.payload, "findings", "findings")]
fn a_text_is_marked_as_what_it_is(#[case] schema: Option<Value>, #[case] name: &str, #[case] format: &str) {
    let schema = schema.unwrap();
    let found = properties(&schema, name);
    assert!(!found.is_empty() && found.iter().all(|field| field["format"] == format), "{found:?}");
}
