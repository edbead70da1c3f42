//! Runs a script: the graph, a repository, agents that write files; stopped after each superstep, or cut at a commit,
//! if the script says so.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use superstep::checkpoint::{Checkpointer, FailingCheckpointer};
use superstep::nodes::{
    AfterHalt, AfterMissingReview, AgentQuestion, AgentReply, ApprovePlan, Halted, ReviewUnavailable,
};
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep_workflows::Profile;
use superstep_workflows::task_based::{ExecutionState, graph};

use crate::agent::{Agent, Call, approved, work};
use crate::reference::{BREAKS, End, Files, Line, Opinion, Reply, Script, Work, file, id, text};
use crate::repository::Repository;
use crate::scene::{Scene, Tasks};

/// Agents that follow a script.
fn agent(script: &Script) -> Arc<Agent> {
    let (script, calls) = (script.clone(), Mutex::new(HashMap::<_, usize>::new()));
    Agent::new(move |call, folder, _| {
        if call.tool == "submit_final_review" {
            return Ok(approved());
        }
        let attempt = script.attempt(&call.task, call.attempt);
        let which = (call.role.clone(), call.task.clone(), call.attempt);
        let nth = *calls.lock().unwrap().entry(which).and_modify(|nth| *nth += 1).or_default();
        if call.role == "reviewer" {
            return Ok(attempt.reviews.get(nth).copied().map_or_else(approved, review));
        }
        if nth == 0 {
            touch(folder, call, attempt.work);
        }
        Ok(attempt.says.get(nth).copied().map_or_else(work, report))
    })
}

fn touch(folder: &Path, call: &Call, work: Work) {
    let write = |name: &str| std::fs::write(folder.join(name), text(call.attempt)).unwrap();
    let remove = |name: &str| drop(std::fs::remove_file(folder.join(name)));
    match work {
        Work::Written | Work::Broken => write(&file(&call.task)),
        Work::TakenBack => remove(&file(&call.task)),
        Work::Untouched => return,
    }
    if work == Work::Broken { write(BREAKS) } else { remove(BREAKS) }
}

fn report(says: Reply) -> Value {
    let asks = |status: &str| json!({"status": status, "summary": "", "question": "Which?"});
    match says {
        Reply::Done => work(),
        Reply::Blocked => asks("blocked"),
        Reply::NeedsInfo => asks("needs_info"),
        Reply::Nothing => Value::Null,
    }
}

fn review(opinion: Option<Opinion>) -> Value {
    let Some(Opinion { approved, severity, comment }) = opinion else { return Value::Null };
    let comments: Vec<Value> = comment.iter().map(|grave| json!({"issue": "x", "severity": grave})).collect();
    json!({"approved": approved, "severity": severity, "comments": comments})
}

/// A plan whose tasks have a command that fails while something is broken.
fn plan(tasks: usize) -> String {
    let task = |n: usize| format!("### Task {n}: Part {n}\n\nWrite it.\n\n**Verify:** `test ! -e {BREAKS}`\n\n");
    format!("# Clock\n\n{}", (1..=tasks).map(task).collect::<String>())
}

fn profile(script: &Script) -> Profile {
    Profile {
        max_task_review_iterations: script.limit,
        on_exhausted: script.on_exhausted,
        retry_session: script.retry_session,
        review_types: ["general", "security"][..script.kinds].iter().map(|&kind| kind.into()).collect(),
        final_review: script.final_review,
        ..Profile::default()
    }
}

/// A thread over a store.
fn thread(store: Arc<dyn Checkpointer>, agent: &Arc<Agent>, script: &Script) -> Tasks {
    let graph = graph::<Arc<Agent>>().unwrap().with_shared_checkpointer(store);
    let thread = graph.thread_with("clock", Arc::new(Arc::clone(agent)));
    if script.stops { thread.max_supersteps(1) } else { thread }
}

/// Runs a script, and returns its end.
pub(crate) async fn play(script: &Script) -> End {
    let (agent, store) = (agent(script), Arc::new(MemoryCheckpointer::new()));
    let failing = FailingCheckpointer::new(store.clone(), script.cut.unwrap_or(u64::MAX));
    let cut = thread(Arc::new(failing), &agent, script);
    let mut scene = Scene { repository: Repository::new(), agent: Arc::clone(&agent), thread: cut };
    let (mut pending, mut cut) = (Questions::default(), script.cut);
    let state = loop {
        match advance(&scene, script, &mut pending).await {
            Ok(Outcome::Finished(state)) => break state,
            Ok(_) => {}
            Err(error) => {
                assert!(format!("{error:?}").contains("chosen to fail") && cut.take().is_some(), "{error:?}");
                scene.thread = thread(store.clone(), &agent, script);
            }
        }
    };
    let verified = scene.thread.verify().await.unwrap();
    assert!(verified.agrees(), "a replay decides alike: {verified:?}");
    ended(&scene, &state, pending.names)
}

/// The questions so far, and for each the index of its answer among those to questions of its name.
#[derive(Default)]
struct Questions {
    names: Vec<&'static str>,
    places: HashMap<InterruptId, usize>,
}

impl Questions {
    fn place(&mut self, question: &Question, name: &'static str) -> usize {
        let Self { names, places } = self;
        *places.entry(question.id()).or_insert_with(|| {
            names.push(name);
            names.iter().filter(|known| **known == name).count() - 1
        })
    }
}

/// Starts, answers or resumes, whichever is next.
async fn advance(
    Scene { thread, repository, .. }: &Scene,
    script: &Script,
    pending: &mut Questions,
) -> Result<Outcome<ExecutionState>, RunError> {
    if thread.state().await?.is_none() {
        let input = ExecutionState::update().working_dir(repository.path());
        return thread.invoke(input.plan_markdown(Some(plan(script.tasks.len()))).profile(profile(script))).await;
    }
    let Status::Interrupted { questions } = thread.status().await? else { return thread.proceed().await };
    let [question] = questions.as_slice() else { panic!("{questions:?}") };
    let mut place = |name| pending.place(question, name);
    match question.name() {
        ApprovePlan::NAME => {
            place(ApprovePlan::NAME);
            thread.resume::<ApprovePlan>(approval(script)).await
        }
        Halted::NAME => {
            let answer = script.halts.get(place(Halted::NAME)).cloned();
            thread.resume::<Halted>(answer.unwrap_or(AfterHalt::Abort)).await
        }
        ReviewUnavailable::NAME => {
            let answer = script.unreadable.get(place(ReviewUnavailable::NAME)).copied();
            thread.resume::<ReviewUnavailable>(answer.unwrap_or(AfterMissingReview::Abort)).await
        }
        other => {
            assert_eq!(other, AgentQuestion::NAME);
            place(AgentQuestion::NAME);
            thread.resume::<AgentQuestion>(AgentReply::Reply { text: "That.".into() }).await
        }
    }
}

fn approval(script: &Script) -> Decision {
    match &script.approved {
        Some(tasks) => Decision::approve_only(tasks.iter().map(|&at| id(at).parse().unwrap())),
        None => Decision::approve(),
    }
}

fn ended(scene: &Scene, state: &ExecutionState, questions: Vec<&'static str>) -> End {
    let commits = commits(scene);
    let lines = state.run.tasks.iter().map(|line| Line {
        mark: line.mark,
        attempts: line.attempts,
        reviews: line.reviews,
        committed: line.commit.is_some(),
    });
    assert_eq!(scene.repository.subjects("main"), ["begin"], "the user's branch stays");
    if state.run.tasks.iter().all(|line| line.mark.is_closed()) {
        assert_eq!(scene.repository.git(&["status", "--porcelain"]), "", "nothing is left over");
    }
    counted(state, &commits);
    End {
        outcome: state.result.outcome,
        tasks: lines.collect(),
        commits: commits.into_iter().map(|(_, task, attempt)| (task, attempt)).collect(),
        kept: scene.refs().iter().map(|name| kept(name)).collect(),
        calls: [scene.agent.count("developer"), scene.agent.count("reviewer")],
        questions,
        files: files(&scene.repository.path()),
    }
}

/// Returns the commits by their trailers: id, task, attempt.
fn commits(scene: &Scene) -> Vec<(String, String, u32)> {
    let value = |key: &str| format!("%(trailers:key=Superstep-{key},valueonly,separator=%x2C)");
    let format = format!("--format=%H {} {} {} %s", value("Thread"), value("Task"), value("Attempt"));
    let log = scene.repository.git(&["log", "--reverse", &format, "main..superstep/clock"]);
    let commit = |line: &str| {
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        let &[id, thread, task, attempt, subject] = words.as_slice() else { panic!("{line}") };
        assert_eq!((thread, subject), ("clock", format!("feat: Part {task} (task {task})").as_str()));
        (id.to_owned(), task.to_owned(), attempt.parse().unwrap())
    };
    log.lines().map(commit).collect()
}

/// Checks that values counted in two places agree.
fn counted(state: &ExecutionState, commits: &[(String, String, u32)]) {
    let listed = state.run.tasks.iter().filter_map(|line| Some((line.commit.clone()?, line.id.clone(), line.attempts)));
    assert_eq!(listed.collect::<Vec<_>>(), commits, "the state names the commits");
    let reviews = state.run.tasks.iter().map(|line| line.reviews).sum::<u32>();
    assert_eq!(reviews, state.run.review_iteration, "reviews in all");
}

fn kept(name: &str) -> (String, u32) {
    let (task, attempt) = name.trim_start_matches("task-").split_once("/attempt-").unwrap();
    (task.to_owned(), attempt.parse().unwrap())
}

fn files(folder: &Path) -> Files {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    files.map(|file| (file.file_name().into_string().unwrap(), std::fs::read_to_string(file.path()).unwrap())).collect()
}
