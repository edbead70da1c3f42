//! The memory of a process whose agent writes 5 MB: with a scenario, and with the driver `api` and a model server in
//! this process.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use superstep::nodes::{ApprovePlan, Crew};
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep_workflows::Profile;
use superstep_workflows::task_based::{RunOutcome, RunStart, graph};

use super::bytes::memory_kb;
use super::child;
use super::figure::Figure;
use super::harness::Bench;
use super::measure::Spread;
use super::model_server::{self, ModelServer};
use super::tasks::{plan, repository};

/// The number of characters in all, and in one response of a model.
const TRANSCRIPT: usize = 5_000_000;
const ANSWER: usize = 125_000;

pub(crate) fn run(bench: &Bench) {
    let bytes = bench.pick([TRANSCRIPT as u64, TRANSCRIPT as u64, 250_000]) as usize;
    let scripted = bench.folder();
    prepare(scripted.path(), "driver = 'scripted:agents.yaml'\n");
    std::fs::write(scripted.path().join("agents.yaml"), scenario(bytes)).unwrap();
    print(bench, "a scenario", scripted.path());

    let served = bench.folder();
    let server = bench.pool.block_on(ModelServer::start(answers(bytes)));
    prepare(served.path(), &format!("driver = 'api'\nmodel = 'm'\n[api]\nbase_url = '{}'\n", server.url()));
    print(bench, "the driver api", served.path());
}

fn print(bench: &Bench, by: &str, folder: &Path) {
    let peak = child::start("transcript", folder).1[0] / 1024.0;
    let what = format!("peak memory, a transcript of 5 MB by {by}");
    bench.print(&Figure::new("tasks", what, Spread::exact(peak), "MB").target("<= 100"));
}

fn prepare(folder: &Path, profile: &str) {
    repository(folder);
    std::fs::write(folder.join("plan.md"), plan(1)).unwrap();
    std::fs::write(folder.join("profile.toml"), format!("final_review = false\n{profile}")).unwrap();
}

/// Returns a developer that writes a thousand characters at a time, with tool calls in between.
fn scenario(bytes: usize) -> String {
    let said = "tides ".repeat(166);
    let step = format!("  - say: {said}\n  - tool: {{name: read, arguments: {{path: README.md}}, result: {said}}}\n");
    let steps = step.repeat(bytes / 2000);
    format!(
        "turns:\n- role: developer\n  steps:\n{steps}  - write: {{path: part.txt, content: x}}\n  submit: {{status: done, summary: done}}\n- role: reviewer\n  times: always\n  submit: {{approved: true, severity: none, summary: fine}}\n"
    )
}

/// Returns a model that writes its thoughts before each tool call.
fn answers(bytes: usize) -> model_server::Scenario {
    use model_server::{Answer, Scenario, When};
    let to = |tool: &str| When { offers: Some(tool.to_owned()), ..When::default() };
    let said = "tides ".repeat(ANSWER / 6);
    let talk = (0..bytes / ANSWER).map(|_| Answer {
        text: said.clone(),
        when: to("submit_work"),
        ..Answer::call("list", json!({"path": "."}))
    });
    let write = Answer::call("write", json!({"path": "part.txt", "content": "x"})).when(to("submit_work"));
    let work = Answer::call("submit_work", json!({"status": "done", "summary": "done"})).when(to("submit_work"));
    let review = Answer::call("submit_review", json!({"approved": true, "severity": "none"})).when(to("submit_review"));
    Scenario { answers: talk.chain([write, work, review]).collect() }
}

/// Runs the plan in the folder, and prints the peak memory.
pub(crate) fn child(folder: &Path) {
    std::env::set_current_dir(folder).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let outcome = runtime.block_on(async {
        let profile = Profile { working_dir: "repository".into(), ..Profile::read("profile.toml").unwrap() };
        let start = RunStart { plan: Some("plan.md".into()), profile, ..RunStart::default() };
        let store = Arc::new(SledCheckpointer::open("store").unwrap());
        let thread = graph::<Crew>().unwrap().with_shared_checkpointer(store).thread_with("t", Crew::new());
        thread.invoke(start.input().await.unwrap()).await.unwrap();
        thread.resume::<ApprovePlan>(Decision::approve()).await.unwrap().finished().unwrap().result.outcome
    });
    assert_eq!(outcome, Some(RunOutcome::Completed));
    println!("{}", memory_kb("VmHWM"));
}
