//! The output of the runner: the first difference of each failure, then the summary lines.

#![allow(clippy::print_stdout)]

use serde_json::Value;

use crate::canon::blank;
use crate::compare::Difference;
use crate::runner::{Failure, Verdict};
use crate::subject::Way;
use crate::trials::{Kind, TrialResult};

/// Number of lines shown before and after the first that differs.
const BEFORE: usize = 6;
const AFTER: usize = 14;

#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    passed: usize,
    failed: usize,
    deviations: usize,
    quirks: usize,
}

impl Tally {
    fn of<'a>(done: impl Iterator<Item = &'a TrialResult>) -> Self {
        let mut tally = Self::default();
        for trial in done {
            match trial.verdict {
                Verdict::Passed => tally.passed += 1,
                Verdict::Failed(_) => tally.failed += 1,
                Verdict::Deviated => tally.deviations += 1,
                Verdict::Quirk => tally.quirks += 1,
                Verdict::NotPlayed => {}
            }
        }
        tally
    }

    fn print(self, name: &str) {
        let Self { passed, failed, deviations, quirks } = self;
        println!("{name}: {passed} passed, {failed} failed, {deviations} deviations, {quirks} quirks");
    }
}

/// Prints failures and the summary; returns true if all passed.
pub(crate) fn print(done: &[TrialResult]) -> bool {
    for trial in done {
        if let Verdict::Failed(failure) = &trial.verdict {
            println!("---- {}\n{}\n", trial.name, explain(failure));
        }
    }
    let own = Tally::of(done.iter().filter(|trial| trial.kind == Kind::Own));
    println!("runner: {} checks passed, {} failed", own.passed, own.failed);
    for way in Way::ALL {
        let tally = Tally::of(done.iter().filter(|trial| trial.kind == Kind::Case(way)));
        tally.print(&format!("conformance({})", way.as_str()));
    }
    let mut total = Tally::of(done.iter().filter(|trial| trial.kind != Kind::Own));
    total.failed += own.failed;
    total.print("conformance");
    total.failed == 0
}

/// Formats a failure.
pub(crate) fn explain(failure: &Failure) -> String {
    match failure {
        Failure::Broken(text) => text.clone(),
        Failure::Differs { action, difference } => {
            let place = match action {
                Some((index, verb)) => format!("action {index} ({})", verb.as_str()),
                None => "building the graphs".to_owned(),
            };
            format!("{place}, {}: {}\n{}", difference.path, difference.what, sides(difference))
        }
    }
}

/// Formats both sides around the first line that differs, without ids.
fn sides(difference: &Difference) -> String {
    let [expected, actual] = [&difference.expected, &difference.actual].map(lines);
    let blanked = [&difference.expected, &difference.actual].map(|side| lines(&blank(side)));
    let same = blanked[0].iter().zip(&blanked[1]).take_while(|(left, right)| left == right).count();
    let all_same = same == expected.len() && same == actual.len();
    let from = if all_same { 0 } else { same.saturating_sub(BEFORE) };
    format!("expected:\n{}\n     got:\n{}", window(&expected, from), window(&actual, from))
}

fn lines(value: &Value) -> Vec<String> {
    let text = serde_json::to_string_pretty(value).unwrap_or_else(|error| error.to_string());
    text.lines().map(|line| line.replace("\\u0000", "")).collect()
}

fn window(lines: &[String], from: usize) -> String {
    let mut shown: Vec<String> = Vec::new();
    if from > 0 {
        shown.push(format!("    ... {from} lines"));
    }
    shown.extend(lines.iter().skip(from).take(BEFORE + AFTER).map(|line| format!("    {line}")));
    let rest = lines.len().saturating_sub(from + BEFORE + AFTER);
    if rest > 0 {
        shown.push(format!("    ... {rest} lines"));
    }
    shown.join("\n")
}
