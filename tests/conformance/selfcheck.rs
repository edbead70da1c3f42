//! The runner's checks of itself: its tables of expressions, targets, bodies and comparisons, and every case played
//! from its own recording, both unchanged and with one change.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::args::Args;
use crate::compare::compare;
use crate::deviations::Deviations;
use crate::echo::Echo;
use crate::eval::Env;
use crate::expr::Expr;
use crate::ids::Ids;
use crate::load::NamedCase;
use crate::model::Case;
use crate::runner::{Failure, Verdict, play};
use crate::selfcheck_tables::{BODIES, EXPRESSIONS, OUTCOMES, ROUTES, UNREADABLE};
use crate::subject::Way;
use crate::trials::{Kind, Trial};
use crate::{block_on, report};

type Check = Result<(), String>;

/// The checks; `faults` are errors of the folder of cases as a whole.
pub(crate) fn trials(cases: &[NamedCase], faults: Vec<String>) -> Vec<Trial> {
    let cases: Vec<Arc<Case>> = cases.iter().filter_map(|loaded| loaded.case.clone().ok()).collect();
    let [recordings, listed] = [cases.clone(), cases.clone()];
    vec![
        trial("cases_are_readable", move || if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }),
        trial("expressions_have_python_values", expressions),
        trial("routes_go_where_they_say", || check_all(ROUTES, crate::selfcheck_tables::route)),
        trial("bodies_end_as_they_say", || check_all(BODIES, crate::selfcheck_tables::body)),
        trial("outcomes_are_compared", outcomes),
        trial("unknown_parts_are_refused", unreadable),
        trial("no_changed_case_makes_the_reader_panic", changed_cases),
        trial("deviations_are_read", deviations),
        trial("arguments_are_those_of_libtest", arguments),
        trial("what_was_drawn_at_random_agrees_with_itself", crate::search::agrees_with_itself),
        trial("recordings_pass", move || recordings.iter().try_for_each(recording_passes)),
        trial("deviations_that_are_none_fail", move || listed.iter().try_for_each(idle_deviation_fails)),
        trial("changed_recordings_fail", move || cases.iter().try_for_each(changed_recording_fails)),
    ]
}

fn trial(name: &str, check: impl FnOnce() -> Check + Send + 'static) -> Trial {
    let run = || match check() {
        Ok(()) => Verdict::Passed,
        Err(text) => Verdict::Failed(text.into()),
    };
    Trial { name: format!("runner::{name}"), kind: Kind::Own, run: Box::new(run) }
}

/// Checks a table of JSON texts: input and expected output.
fn check_all(table: &[(&str, &str)], check: fn(Value) -> Result<Value, String>) -> Check {
    table.iter().try_for_each(|(given, wanted)| {
        let found = check(parse(given)?).unwrap_or_else(Value::String);
        same(given, &parse(wanted)?, &found)
    })
}

fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("{error} in {text}"))
}

fn same(given: &str, wanted: &Value, found: &Value) -> Check {
    if wanted == found { Ok(()) } else { Err(format!("{given}: expected {wanted}, got {found}")) }
}

fn expressions() -> Check {
    let env = Env {
        input: json!({"n": 3, "list": [1, 2], "nil": null}),
        index: Some(4),
        item: Some(json!("it")),
        runs: 2,
        ..Env::default()
    };
    EXPRESSIONS.iter().try_for_each(|(given, wanted)| {
        let expr = Expr::try_from(parse(given)?)?;
        let found = expr.eval(&env).unwrap_or_else(|raised| json!(format!("!{}", raised.class)));
        same(given, &parse(wanted)?, &found)
    })
}

fn outcomes() -> Check {
    OUTCOMES.iter().try_for_each(|(fits, expected, actual)| {
        let mut ids = Ids::default();
        let steps = parse(expected)?.as_array().cloned().unwrap_or_default();
        let ours = parse(actual)?.as_array().cloned().unwrap_or_default();
        let found = steps.iter().zip(&ours).all(|(step, our)| compare(step, our, &mut ids).is_ok());
        same(&format!("{expected} and {actual}"), &json!(fits), &json!(found))
    })
}

fn unreadable() -> Check {
    UNREADABLE.iter().try_for_each(|text| match serde_json::from_value::<Case>(parse(text)?) {
        Ok(_) => Err(format!("{text} was read as a case")),
        Err(_) => Ok(()),
    })
}

fn changed_cases() -> Check {
    ["05_send", "07_interrupt", "09_subgraph"].iter().try_for_each(|name| {
        let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let cases = std::path::Path::new(&package).join("tests/conformance/cases").join(format!("{name}.json"));
        crate::fuzzed::read_changed(&cases)
    })
}

fn deviations() -> Check {
    let entry = |reason: &str| {
        format!(
            "[[deviation]]\ncase = 'c'\naction = 1\nstore = 'sled'\nreason = '{reason}'\noutcome = '''{{\"ok\": true}}'''\n"
        )
    };
    let table = Deviations::parse(&entry("V2"))?;
    let read = |store| table.of("c", store).outcome(Some(1)).cloned();
    same("a deviation", &json!([null, {"ok": true}]), &json!([read(Way::Memory), read(Way::Sled)]))?;
    let why = "why = 'it forgets the answer'\n";
    let table =
        [("V15", "", true), ("V16", "", false), ("timing", "", true), ("quirk", "", false), ("quirk", why, true)];
    table.iter().try_for_each(|(reason, why, fits)| {
        let read = Deviations::parse(&(entry(reason) + why)).is_ok();
        if read == *fits { Ok(()) } else { Err(format!("a deviation for the reason {reason} {why}")) }
    })
}

fn arguments() -> Check {
    let chosen = |line: &str| {
        let args = Args::parse(line.split_whitespace().map(str::to_owned));
        ["sled::a", "sled::ab", "memory::a"].map(|name| args.selects(name))
    };
    let table = [
        ("--nocapture --color always --test-threads 1 -Z unstable-options --format=json -q", [true, true, true]),
        ("--exact sled::a --nocapture", [true, false, false]),
        ("sled --skip b", [true, false, false]),
        ("--list --format terse --ignored", [false, false, false]),
        ("--include-ignored a", [true, true, true]),
    ];
    table.iter().try_for_each(|(line, wanted)| same(line, &json!(wanted), &json!(chosen(line))))
}

fn played(case: &Arc<Case>, deviations: &Deviations) -> Verdict {
    block_on(async { play::<Echo>(case, Way::Memory, deviations).await })
}

fn recording_passes(case: &Arc<Case>) -> Check {
    match played(case, &Deviations::default()) {
        Verdict::Passed | Verdict::Quirk => Ok(()),
        other => Err(format!("{}: {other:?}", case.name)),
    }
}

/// A table that lists the first action with its recorded outcome must fail.
fn idle_deviation_fails(case: &Arc<Case>) -> Check {
    let entry = format!("[[deviation]]\ncase = '{}'\naction = 0\nreason = 'V1'\noutcome = '{{}}'\n", case.name);
    let deviations = Deviations::parse(&entry)?.of(&case.name, Way::Memory);
    match played(case, &deviations) {
        Verdict::Failed(_) => Ok(()),
        other => Err(format!("{}: {other:?}", case.name)),
    }
}

/// Every action's outcome with one change must fail against the recorded one.
fn changed_recording_fails(case: &Arc<Case>) -> Check {
    let steps = case.expected.steps.as_deref().unwrap_or_default();
    steps.iter().zip(&case.script).enumerate().try_for_each(|(index, (step, action))| {
        let counts = !case.quirk && !case.quirk_actions.0.iter().any(|name| name == action.verb.as_str());
        if !counts {
            return Ok(());
        }
        let changed = Mutation::of(step, index);
        match compare(step, &flat(&changed.0), &mut Ids::default()) {
            Ok(()) => Err(format!("{}, action {index}: {} passes for {step}", case.name, changed.0)),
            Err(difference) if !difference.actual.to_string().contains("changed") => {
                Err(format!("{}, action {index}: the difference does not hold what was changed", case.name))
            }
            Err(difference) => {
                let text = report::explain(&Failure::Differs { action: Some((index, action.verb)), difference });
                let is_explained = text.contains(&format!("action {index} (")) && !text.is_empty();
                if is_explained { Ok(()) } else { Err(format!("not explained:\n{text}")) }
            }
        }
    })
}

/// Returns the outcome as an engine returns it: with events in one list.
fn flat(outcome: &Value) -> Value {
    let mut outcome = outcome.clone();
    if outcome.get("events").is_some() {
        outcome["events"] = crate::compare::flatten_events(&outcome);
    }
    outcome
}

/// An outcome with one leaf changed, a different one for every action; an outcome without leaves gets one.
struct Mutation(Value);

impl Mutation {
    fn of(outcome: &Value, seed: usize) -> Self {
        let mut changed = outcome.clone();
        let count = leaves(&mut changed, &mut |_, _| {});
        if count == 0 {
            return Self(json!({"error": {"kind": "changed"}}));
        }
        let chosen = seed * 7 % count;
        leaves(&mut changed, &mut |position, leaf| {
            if position == chosen {
                *leaf = json!("changed");
            }
        });
        Self(changed)
    }
}

/// Visits every scalar except interrupt ids and Python classes; returns their number.
fn leaves(value: &mut Value, visit: &mut dyn FnMut(usize, &mut Value)) -> usize {
    fn walk(value: &mut Value, key: &str, count: &mut usize, visit: &mut dyn FnMut(usize, &mut Value)) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| walk(item, "", count, visit)),
            Value::Object(map) => map.iter_mut().for_each(|(key, value)| walk(value, key, count, visit)),
            _ if key == "id" || key == "error" => {}
            scalar => {
                visit(*count, scalar);
                *count += 1;
            }
        }
    }
    let mut count = 0;
    walk(value, "", &mut count, visit);
    count
}
