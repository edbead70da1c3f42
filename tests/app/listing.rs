//! The standing of a thread in a list equals that of its status.

use std::sync::Arc;

use superstep::graph::{CancellationToken, StatusKind, ThreadInfo};
use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Job {
    kind: String,
    done: bool,
    #[channel(add)]
    count: u32,
}

#[derive(NodeId)]
enum Step {
    Begin,
    Left,
    Right,
    Join,
}

#[derive(Serialize, Deserialize)]
struct Sure;
impl Interrupt for Sure {
    type Resume = bool;
    const NAME: &'static str = "sure";
}

async fn begin(job: Arc<Job>, ctx: Ctx) -> Result<JobUpdate, NodeError> {
    match job.kind.as_str() {
        "fails" => return Err("it fails".into()),
        "naps" => ctx.sleep(std::time::Duration::from_secs(3600)).await?,
        _ => {}
    }
    Ok(Job::update().count(1))
}
async fn left(job: Arc<Job>, ctx: Ctx) -> Result<JobUpdate, NodeError> {
    if job.kind == "asks" {
        ctx.interrupt(Sure)?;
    }
    Ok(if job.kind == "clashes" { Job::update().done(true) } else { Job::update().count(1) })
}
async fn right(job: Arc<Job>, _: Ctx) -> Result<JobUpdate, NodeError> {
    Ok(if job.kind == "clashes" { Job::update().done(true) } else { Job::update().count(1) })
}
async fn join(_: Arc<Job>, _: Ctx) -> Result<JobUpdate, NodeError> {
    Ok(Job::update().count(1))
}

fn graph() -> CompiledGraph<Job, Step> {
    StateGraph::new()
        .add_node(Step::Begin, begin)
        .add_node(Step::Left, left.asks::<Sure>())
        .add_node(Step::Right, right)
        .add_node(Step::Join, join)
        .add_edge(START, Step::Begin)
        .add_edge(Step::Begin, [Step::Left, Step::Right])
        .add_edge([Step::Left, Step::Right], Step::Join)
        .compile()
        .unwrap()
}

#[rstest::rstest]
#[case("ends", u64::MAX, StatusKind::Finished)]
#[case("asks", u64::MAX, StatusKind::Interrupted)]
#[case("fails", u64::MAX, StatusKind::Failed)]
#[case("clashes", u64::MAX, StatusKind::Failed)]
#[case("naps", u64::MAX, StatusKind::Waiting)]
#[case("ends", 1, StatusKind::Pending)]
#[case("ends", 2, StatusKind::Pending)]
#[tokio::test]
async fn a_list_shows_the_standing_of_the_thread_itself(
    #[case] kind: &str,
    #[case] supersteps: u64,
    #[case] standing: StatusKind,
) {
    let store: Arc<dyn superstep::checkpoint::Checkpointer> = Arc::new(MemoryCheckpointer::new());
    let graph = graph().named("job").with_shared_checkpointer(Arc::clone(&store));
    let thread = graph.thread("t").max_supersteps(supersteps);
    let _ = thread.invoke(Job::update().kind(kind)).await;
    let listed = ThreadInfo::all(&*store).await.unwrap();
    let [info] = listed.as_slice() else { panic!("{listed:?}") };
    let status = graph.thread("t").status().await.unwrap();
    assert_eq!((info.status, status.kind(), info.graph.as_str()), (standing, standing, "job"));
    assert_eq!(info.step, graph.thread("t").state().await.unwrap().unwrap().step);
}

#[tokio::test]
async fn a_claimed_thread_is_listed_as_running() {
    let store: Arc<dyn superstep::checkpoint::Checkpointer> = Arc::new(MemoryCheckpointer::new());
    let graph = graph().with_shared_checkpointer(Arc::clone(&store));
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let _ = graph.thread("t").cancel_with(cancelled).invoke(Job::update().kind("ends")).await;
    let id = ThreadId::from("t");
    let lease = store.claim(&id, superstep::checkpoint::Claim::IfFree).await.unwrap();
    assert_eq!(ThreadInfo::read(&*store, &id).await.unwrap().map(|info| info.status), Some(StatusKind::Running));
    drop(lease);
    assert_ne!(ThreadInfo::read(&*store, &id).await.unwrap().map(|info| info.status), Some(StatusKind::Running));
    assert!(ThreadInfo::read(&*store, &"other".into()).await.unwrap().is_none());
}
