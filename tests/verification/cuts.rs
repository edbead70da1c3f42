//! A verifier whose run is cut at any write gives the same report as an undisturbed one.

use std::sync::Arc;

use rstest::rstest;
use serde_json::json;
use superstep::checkpoint::{Checkpointer, FailingCheckpointer};
use superstep::nodes::Crew;
use superstep::prelude::*;
use superstep::spec::VerifierEntry;

use crate::agent::Agent;
use crate::repository::write;
use crate::scene::{Judged, Scene, Step, entry, graph, text};

fn command() -> VerifierEntry {
    let line = "echo x >> src/tides.rs; echo new > new.txt; echo 'src/tides.rs:2:5: error: nine is odd'; exit 1";
    entry("lint", "shell", json!({"command": line}))
}

/// A model that changes files, and must be called once only.
fn agent() -> Arc<Agent> {
    Agent::new(|_, folder, _| {
        write(folder, "src/tides.rs", "// gone\n");
        Ok(json!({"suggestions": [{"text": "say more"}]}))
    })
}

fn thread(scene: &Scene, agent: &Arc<Agent>, store: Arc<dyn Checkpointer>) -> Thread<Judged, Step, Crew> {
    let crew = Crew::new().with("agent", Arc::clone(agent));
    graph(&scene.job, &Arc::default(), store).thread_with("t", Arc::new(crew))
}

async fn run(thread: &Thread<Judged, Step, Crew>) -> Result<String, RunError> {
    let outcome = match thread.state().await? {
        None => thread.invoke(Judged::update()).await?,
        Some(_) => thread.proceed().await?,
    };
    Ok(text(outcome.finished().unwrap().output.as_ref().unwrap()))
}

#[rstest]
#[case::a_command(command())]
#[case::a_model(entry("style", "model", json!({})))]
#[tokio::test]
async fn a_verifier_that_is_cut_at_any_write_gives_the_same_report(#[case] entry: VerifierEntry) {
    let scene = Scene::new(entry.clone()).await;
    let whole = Arc::new(FailingCheckpointer::new(Arc::new(MemoryCheckpointer::new()), u64::MAX));
    let report = run(&thread(&scene, &agent(), whole.clone())).await.unwrap();
    assert!(report.contains("which was taken back: ") && whole.commits() > 5, "{report}");
    for at in 1..=whole.commits() {
        let (scene, agent) = (Scene::new(entry.clone()).await, agent());
        let store = Arc::new(MemoryCheckpointer::new());
        let _cut = run(&thread(&scene, &agent, Arc::new(FailingCheckpointer::new(store.clone(), at)))).await;
        let again = run(&thread(&scene, &agent, store)).await.unwrap_or_else(|error| panic!("{at}: {error}"));
        assert_eq!(again, report, "write {at}");
        assert_eq!(scene.file("src/tides.rs").unwrap(), "pub fn high() -> u32 {\n    9\n}\n", "write {at}");
        assert!(agent.count("style") <= 1, "write {at}: the model was asked again");
    }
}
