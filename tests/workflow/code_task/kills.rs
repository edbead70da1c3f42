//! A run that is cut anywhere ends as an undisturbed one: with two parallel children, with a model that judges, with a
//! question to a person.

use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{Checkpointer, FailingCheckpointer};
use superstep::nodes::{AfterGivingUp, TaskGivenUp};
use superstep::prelude::*;
use superstep::spec::{Attempts, Flags};
use superstep_workflows::code_task::{CodeTaskState, TaskOutcome};

use super::desk::{CHECK, Desk, agents, spec, writes};
use super::splits::acts;
use crate::phases::stage::{Call, Cast};

/// A run that is cut at each of its writes.
#[derive(Clone, Copy)]
enum Run {
    /// A split into two parallel children.
    Split,
    /// Attempts that are commits of the branch, judged by a model.
    Branch,
    /// A task that is given up, and retried by a person.
    Question,
}

async fn judge(call: Call) -> Value {
    if call.is_developer() {
        return writes(&call, "tides.txt", if call.nth == 0 { "error: late\n" } else { "in\n" });
    }
    let evidence = json!({"file": "tides.txt", "lines": "1", "quote": "in"});
    json!({"criteria": [{"text": "It names the tide that comes in", "met": "yes", "evidence": evidence}]})
}

impl Run {
    fn cast(self) -> Arc<Cast> {
        match self {
            Self::Split => agents(acts),
            Self::Branch | Self::Question => agents(judge),
        }
    }

    fn turns(self) -> &'static [&'static str] {
        match self {
            Self::Split => &["tides", "tides", "tides.1", "tides.2"],
            Self::Branch | Self::Question => &["tides", "tides"],
        }
    }

    fn desk(self, store: Arc<dyn Checkpointer>, cast: &Arc<Cast>) -> Desk {
        let (mut spec, mut flags) = (spec(), Flags::default());
        match self {
            Self::Split => flags.policy.push("parallel_children=2".into()),
            Self::Branch => {
                spec.acceptance.push("It names the tide that comes in".into());
                spec.git.attempts = Attempts::Branch;
            }
            Self::Question => flags.policy.push("max_attempts=1".into()),
        }
        Desk::with(Arc::clone(cast), CHECK, spec, &flags).stored_in(store, cast)
    }
}

/// Starts or resumes the run; retries a task that was given up.
async fn advance(desk: &Desk) -> Result<Outcome<CodeTaskState>, RunError> {
    let ended = match desk.thread.state().await? {
        None => desk.thread.invoke(desk.input()).await?,
        Some(_) => desk.thread.proceed().await?,
    };
    if ended.questions().is_empty() {
        return Ok(ended);
    }
    desk.thread.resume::<TaskGivenUp>(AfterGivingUp::Retry { attempts: 1, note: String::new() }).await
}

/// Returns the trees and subjects of the branch and of the kept work, and the files of the records.
fn end(desk: &Desk) -> [String; 3] {
    let log = desk.repository.git(&["log", "--format=%T %s", "superstep/clock"]);
    let refs = desk.repository.git(&["for-each-ref", "--format=%(refname) %(tree) %(subject)", "refs/superstep"]);
    [log, crate::scene::for_people(&refs), desk.records().join("\n")]
}

#[rstest]
#[case::split(Run::Split, 31)]
#[case::branch(Run::Branch, 7)]
#[case::question(Run::Question, 7)]
#[ignore = "minutes: by hand"]
#[case::each_of_split(Run::Split, 1)]
#[tokio::test]
async fn a_run_cut_at_any_write_ends_the_same(#[case] run: Run, #[case] stride: usize) {
    let (cast, store) = (run.cast(), Arc::new(MemoryCheckpointer::new()));
    let counting = Arc::new(FailingCheckpointer::new(store, u64::MAX));
    let whole = run.desk(counting.clone(), &cast);
    advance(&whole).await.unwrap();
    assert_eq!(whole.outcome().await, Some(TaskOutcome::Done));
    let expected = end(&whole);
    assert_eq!(cast.tasks(), run.turns());
    for at in (1..=counting.commits()).step_by(stride) {
        for lost in [false, true] {
            let (cast, store) = (run.cast(), Arc::new(MemoryCheckpointer::new()));
            let failing = if lost { FailingCheckpointer::losing_ack } else { FailingCheckpointer::new };
            let desk = run.desk(Arc::new(failing(store.clone(), at)), &cast);
            let _cut = advance(&desk).await;
            let desk = desk.stored_in(store, &cast);
            advance(&desk).await.unwrap_or_else(|error| panic!("{at} {lost}: {error}"));
            assert_eq!(end(&desk), expected, "write {at}, stored: {lost}");
            assert_eq!(cast.tasks(), run.turns(), "write {at}, stored: {lost}: no turn is asked again");
            desk.tidy();
        }
    }
}
