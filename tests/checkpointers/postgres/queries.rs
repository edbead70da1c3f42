//! The queries of the page on SQL, each on a store with threads of every kind: what it finds is what the page says.

use std::sync::Arc;
use std::time::Duration;

use superstep::checkpoint::{Checkpointer, Claim, PostgresCheckpointer, ThreadQuery};
use superstep::prelude::*;

use crate::server;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Job {
    kind: String,
}

#[derive(NodeId)]
enum Step {
    Work,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool)]
struct MayGoOn;

async fn work(job: Arc<Job>, ctx: Ctx) -> Result<JobUpdate, NodeError> {
    match job.kind.as_str() {
        "asks" => drop(ctx.interrupt(MayGoOn)?),
        "fails" => return Err(NodeError::permanent("no luck")),
        "naps" => ctx.sleep(Duration::from_secs(3600)).await?,
        _ => {}
    }
    Ok(Job::update())
}

/// Makes a thread of each kind, and lists them.
async fn fill(store: &Arc<dyn Checkpointer>) {
    let graph = StateGraph::new().add_node(Step::Work, work.asks::<MayGoOn>()).add_sequence([Step::Work]);
    let graph = graph.version(3).compile().unwrap().named("job").with_shared_checkpointer(Arc::clone(store));
    for kind in ["asks", "fails", "naps", "ends", "runs", "orphan"] {
        let thread = graph.thread(kind).metadata("customer", if kind == "ends" { "ada" } else { "grace" });
        _ = thread.invoke(Job::update().kind(kind)).await;
    }
    graph.thread("due").max_supersteps(0).invoke(Job::update()).await.unwrap();
    store.list(&ThreadQuery::default()).await.unwrap();
}

/// Returns the first column of each row, sorted; of the counts by graph and version all columns.
fn first_columns(rows: &str) -> String {
    let first =
        |row: &'_ str| if row.starts_with("job|3|") { row.to_owned() } else { row.split('|').take(1).collect() };
    let mut rows: Vec<String> = rows.lines().map(first).collect();
    rows.sort_unstable();
    rows.join(", ")
}

#[tokio::test]
async fn each_query_of_the_page_finds_what_it_says() {
    let Some(address) = server::new_store() else { return };
    let (server, schema) = (server::shared().unwrap(), address.rsplit_once('=').unwrap().1.to_owned());
    let builder = PostgresCheckpointer::builder(&address).owner("w1").pool(3);
    let store: Arc<dyn Checkpointer> = Arc::new(builder.connect().await.unwrap());
    fill(&store).await;
    let entry = store.join_workers(vec!["job".into()], "1.2.0".into()).await.unwrap();
    let lease = store.claim(&"runs".into(), Claim::IfFree).await.unwrap();
    server.sql(&format!(
        "UPDATE {schema}.threads SET owner = 'w0', lease_until = now() - interval '1 minute' WHERE name = 'orphan'"
    ));
    let queries = include_str!("../../../docs/guide/sql.md").split("```sql\n").skip(1);
    let queries = queries.map(|query| query.split("```").next().unwrap().replace("superstep.", &format!("{schema}.")));
    let found: Vec<String> = queries.map(|query| first_columns(&server.sql(&query))).collect();
    insta::assert_snapshot!(found.join("\n"), @r"
    job|3|failed|1, job|3|finished|3, job|3|interrupted|1, job|3|pending|1, job|3|waiting|1
    asks
    fails
    runs
    orphan
    job
    naps
    ends
    asks, due, ends, fails, naps, orphan, runs
    w1
    ");
    lease.release().await.unwrap();
    entry.leave().await;
}
