//! Runs of random tasks, with random agents, policies and answers, cut or not: each decision follows the rules, each
//! attempt is kept, and nothing else is left. A longer search: `CODE_TASK_SEED=11 PROPTEST_CASES=300 cargo test --test
//! workflow code_task::random`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{Checkpointer, FailingCheckpointer};
use superstep::nodes::{AfterGivingUp, TaskGivenUp, WrittenOverride};
use superstep::prelude::*;
use superstep::spec::{Attempts, Flags};
use superstep_workflows::RetrySession;
use superstep_workflows::code_task::{CodeTaskState, TaskOutcome};

use super::desk::{Desk, agents, spec};
use crate::agent::work;
use crate::phases::random::config;
use crate::phases::stage::{Call, Cast};
use crate::repository::write;

/// Lines of diagnostics; errors fail the verifier.
const LINES: &str = "
verifiers:
- {id: build, config: {command: \"cat *.txt; ! grep -q ' error: ' *.txt\"}}
- {id: test, enabled: false}
- {id: bigpicture, enabled: false}
";

const FILES: [&str; 3] = ["in", "out", "up"];

/// The change of a turn to a file.
#[derive(Clone, Copy, Debug)]
enum Act {
    Leave,
    Mend,
    Warn,
    Err(u8),
}

#[derive(Clone, Debug)]
struct Script {
    max_attempts: u32,
    max_depth: u32,
    repeats: u32,
    parallel: u32,
    is_strict: bool,
    is_skipped: bool,
    on_branch: bool,
    session: RetrySession,
    /// The changes of turns, by the task and the number of the turn.
    turns: Vec<[Act; 3]>,
    answers: Vec<AfterGivingUp>,
    /// The write at which the run is cut, and whether that write is stored.
    cut: (u64, bool),
}

fn acts() -> impl Strategy<Value = [Act; 3]> {
    let act = prop_oneof![
        2 => Just(Act::Leave),
        3 => Just(Act::Mend),
        1 => Just(Act::Warn),
        4 => (0..2u8).prop_map(Act::Err),
    ];
    [act.clone(), act.clone(), act]
}

fn answers() -> impl Strategy<Value = AfterGivingUp> {
    let over = |decision: &str| {
        AfterGivingUp::Override(WrittenOverride { decision: decision.into(), why: "as agreed".into(), by: None })
    };
    prop_oneof![
        (1..3u32).prop_map(|attempts| AfterGivingUp::Retry { attempts, note: "once more".into() }),
        Just(AfterGivingUp::Split),
        Just(AfterGivingUp::Abort),
        prop::sample::select(vec!["DONE", "RETRY", "SPLIT", "FAIL"]).prop_map(over),
    ]
}

fn scripts() -> impl Strategy<Value = Script> {
    let limits = (1..4u32, 0..3u32, 1..4u32, 1..3u32);
    let sessions = prop::sample::select(vec![RetrySession::Resume, RetrySession::Fresh, RetrySession::FreshReset]);
    let flags = (any::<bool>(), prop::bool::weighted(0.1), any::<bool>(), sessions);
    let turns = prop::collection::vec(acts(), 1..9);
    let all = (limits, flags, turns, prop::collection::vec(answers(), 0..4), (1..150u64, any::<bool>()));
    all.prop_map(|(limits, flags, turns, answers, cut)| Script {
        max_attempts: limits.0,
        max_depth: limits.1,
        repeats: limits.2,
        parallel: limits.3,
        is_strict: flags.0,
        is_skipped: flags.1,
        on_branch: flags.2,
        session: flags.3,
        turns,
        answers,
        cut,
    })
}

impl Script {
    /// Returns the changes of a turn, the same however often the run is cut, and whichever child is first.
    fn turn(&self, task: &str, nth: usize) -> [Act; 3] {
        let task: usize = task.bytes().map(usize::from).sum();
        self.turns[(task + nth) % self.turns.len()]
    }

    fn cast(&self) -> Arc<Cast> {
        let script = self.clone();
        agents(move |call: Call| {
            if call.is_developer() {
                for (name, act) in FILES.iter().zip(script.turn(&call.task, call.nth)) {
                    perform(call.folder(), name, act);
                }
            }
            let handed = if call.is_developer() { work() } else { Value::Null };
            async move { handed }
        })
    }

    fn desk(&self, store: Arc<dyn Checkpointer>, cast: &Arc<Cast>) -> Desk {
        let mut spec = spec();
        spec.git.attempts = if self.on_branch { Attempts::Branch } else { Attempts::Refs };
        let policy = [
            format!("max_attempts={}", self.max_attempts),
            format!("max_depth={}", self.max_depth),
            format!("split_on_repeat_errors={}", self.repeats),
            format!("parallel_children={}", self.parallel),
        ];
        let skip = if self.is_skipped { vec!["build".to_owned()] } else { vec![] };
        let flags = Flags { strict: self.is_strict, skip, policy: policy.into() };
        let mut desk = Desk::with(Arc::clone(cast), LINES, spec, &flags);
        desk.settings.profile.retry_session = self.session;
        desk.stored_in(store, cast)
    }
}

fn perform(folder: &Path, name: &str, act: Act) {
    let text = match act {
        Act::Leave => return,
        Act::Mend => "fine\n".to_owned(),
        Act::Warn => format!("{name}.c:1:1: warning: {name} looks odd\n"),
        Act::Err(nth) => format!("{name}.c:1:1: error: {name} is wrong in way {}\n", ["one", "two"][nth as usize]),
    };
    write(folder, &format!("{name}.txt"), &text);
}

/// Runs to the end; each question gets the answer of its number, later ones are answered with abort.
async fn play(desk: &Desk, script: &Script) -> Result<(), RunError> {
    let mut ended = match desk.thread.state().await? {
        None => desk.thread.invoke(desk.input()).await?,
        Some(_) => desk.thread.proceed().await?,
    };
    while let [question] = ended.questions() {
        let pending: TaskGivenUp = question.payload().unwrap();
        let nth = desk.state().await.attempts.len();
        let answer = script.answers.get(nth % 5).cloned().unwrap_or(AfterGivingUp::Abort);
        let answer = if pending.problem_of(&answer).is_none() && nth < 12 { answer } else { AfterGivingUp::Abort };
        ended = desk.thread.resume::<TaskGivenUp>(answer).await?;
    }
    Ok(())
}

/// The state at the end.
#[derive(Debug, PartialEq)]
struct End {
    outcome: Option<TaskOutcome>,
    log: String,
    refs: String,
    records: BTreeMap<PathBuf, Value>,
    turns: Vec<String>,
}

async fn end(desk: &Desk, cast: &Cast) -> End {
    let records = desk.records().into_iter().map(PathBuf::from);
    let decisions = records.filter(|file| file.ends_with("decision.json")).map(|file| {
        let mut decision = desk.json(file.strip_prefix("clock").unwrap().to_str().unwrap());
        let times = ["at", "commit"].map(|key| decision.as_object_mut().unwrap().remove(key));
        assert!(times.iter().all(Option::is_some));
        decision["override"].as_object_mut().map(|over| over.remove("at"));
        (file.parent().unwrap().strip_prefix("clock").unwrap().to_owned(), decision)
    });
    End {
        outcome: desk.outcome().await,
        log: desk.repository.git(&["log", "--format=%T %s", "superstep/clock"]),
        refs: crate::scene::for_people(&desk.repository.git(&[
            "for-each-ref",
            "--format=%(refname) %(tree) %(subject)",
            "refs/superstep",
        ])),
        records: decisions.collect(),
        turns: cast.tasks(),
    }
}

/// An independent implementation of the rules, on the records of one task.
struct Referee<'a> {
    script: &'a Script,
    desk: &'a Desk,
    end: &'a End,
}

impl Referee<'_> {
    /// Checks the attempts of a task, and of its children.
    fn check(&self, folder: &Path, depth: u32) {
        let mut past: Vec<Past> = vec![];
        let mut granted = 0;
        for nth in 1.. {
            let place = folder.join(format!("attempt-{nth}"));
            let Some(made) = self.end.records.get(&place) else { break };
            assert_eq!((&made["attempt"], &made["depth"]), (&json!(nth), &json!(depth)), "{place:?}");
            let outputs = self.desk.json(place.join("verifier_outputs.json").to_str().unwrap());
            let errors = self.errors(&outputs);
            let last = past.last().map(|past| past.kind.as_str());
            let kind = made["decision"].as_str().unwrap().to_owned();
            let is_children = last == Some("SPLIT") && made["rule"] != "split";
            let is_over = made["override"].is_object();
            let is_turn = !(is_children || is_over && nth > 1);
            past.push(Past { kind: kind.clone(), errors, is_turn, rule: made["rule"].as_str().unwrap().into() });
            let expected = if is_over {
                made["override"]["decision"].as_str().map_or_else(|| kind.clone(), str::to_owned)
            } else {
                self.decide(&past, &outputs, depth, &mut granted)
            };
            assert_eq!(kind, expected, "{place:?}: {made:#} {outputs:#}");
        }
        let children = self.desk.repository.path().join("runs/clock").join(folder).join("children");
        for child in std::fs::read_dir(children).into_iter().flatten().map(Result::unwrap) {
            self.check(&folder.join("children").join(child.file_name()), depth + 1);
        }
    }

    /// Returns the fingerprints of the errors.
    fn errors(&self, outputs: &Value) -> BTreeSet<String> {
        let counts = |finding: &&Value| {
            finding["severity"] == "error" || self.script.is_strict && finding["severity"] == "warning"
        };
        let findings = outputs.as_array().unwrap().iter().flat_map(|output| output["findings"].as_array().unwrap());
        findings.filter(counts).map(|finding| finding["fingerprint"].as_str().unwrap().to_owned()).collect()
    }

    fn decide(&self, past: &[Past], outputs: &Value, depth: u32, granted: &mut u32) -> String {
        let script = self.script;
        let (now, before) = past.split_last().unwrap();
        let fails =
            |output: &Value| output["severity"] == "error" || script.is_strict && output["severity"] == "warning";
        let outputs = outputs.as_array().unwrap();
        if !outputs.iter().any(fails) {
            let is_skipped = outputs.iter().any(|output| output["skipped"] == "flag" && output["required"] == true);
            return if is_skipped { "GIVE_UP" } else { "DONE" }.into();
        }
        if now.rule == "granted" {
            *granted = granted.saturating_sub(1);
            return "RETRY".into();
        }
        if now.rule == "split" {
            assert_eq!(
                before.last().map(|past| past.kind.as_str()),
                Some("SPLIT"),
                "what cannot be split was to be split"
            );
            return "GIVE_UP".into();
        }
        let is_split = |at: &usize| past[*at].kind == "SPLIT" && past[at + 1].rule != "split";
        if let Some(at) = (0..before.len()).find(is_split) {
            let turns = past[at + 1..].iter().filter(|past| past.is_turn).count();
            return if turns == 0 { "RETRY" } else { "GIVE_UP" }.into();
        }
        let seen = |error: &String| past.iter().filter(|past| past.errors.contains(error)).count() as u32;
        if now.errors.iter().any(|error| seen(error) >= script.repeats) {
            return if depth < script.max_depth { "SPLIT" } else { "GIVE_UP" }.into();
        }
        let turns = past.iter().filter(|past| past.is_turn).count() as u32;
        let most = if depth == 0 { script.max_attempts } else { 2 };
        if turns < most { "RETRY" } else { "GIVE_UP" }.into()
    }
}

/// An attempt.
struct Past {
    kind: String,
    rule: String,
    errors: BTreeSet<String>,
    is_turn: bool,
}

/// Checks the invariants of a run.
async fn check(script: &Script, desk: &Desk, end: &End) {
    Referee { script, desk, end }.check(Path::new(""), 0);
    let state: CodeTaskState = desk.state().await;
    let numbers: Vec<u32> = state.attempts.iter().map(|line| line.past.number).collect();
    assert_eq!(numbers, (1..=numbers.len() as u32).collect::<Vec<_>>());
    let splits = state.attempts.windows(2).filter(|pair| pair[0].decision == "SPLIT" && pair[1].rule != "split");
    assert!(splits.count() <= 1);
    for (place, made) in &end.records {
        let whole = desk.json(place.join("decision.json").to_str().unwrap());
        let tree = desk.repository.git(&["rev-parse", &format!("{}^{{tree}}", whole["commit"].as_str().unwrap())]);
        assert_eq!(made["tree"], tree.trim(), "{place:?}");
    }
    let worktrees = desk.repository.git(&["worktree", "list"]);
    assert_eq!(worktrees.lines().count(), 1, "{worktrees}");
    assert!(end.outcome.is_some());
    if end.outcome == Some(TaskOutcome::Done) {
        assert_eq!(desk.repository.git(&["status", "--porcelain"]), "");
        let tip = desk.repository.git(&["rev-parse", "superstep/clock^{tree}"]);
        assert_eq!(state.decision.unwrap().tree.as_deref(), Some(tip.trim()));
    }
}

async fn check_script(script: &Script) {
    let (cast, store) = (script.cast(), Arc::new(MemoryCheckpointer::new()));
    let desk = script.desk(store, &cast);
    play(&desk, script).await.unwrap();
    let whole = end(&desk, &cast).await;
    check(script, &desk, &whole).await;
    let (cast, store) = (script.cast(), Arc::new(MemoryCheckpointer::new()));
    let failing = if script.cut.1 { FailingCheckpointer::losing_ack } else { FailingCheckpointer::new };
    let desk = script.desk(Arc::new(failing(store.clone(), script.cut.0)), &cast);
    let _cut = play(&desk, script).await;
    let desk = desk.stored_in(store, &cast);
    play(&desk, script).await.unwrap();
    assert_eq!(end(&desk, &cast).await, whole);
}

#[rstest]
fn random_tasks_end_as_the_rules_say(#[values(1, 2)] part: u64) {
    let run = |script| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check_script(&script));
        Ok(())
    };
    TestRunner::new(config("CODE_TASK_SEED", part)).run(&scripts(), run).unwrap();
}
