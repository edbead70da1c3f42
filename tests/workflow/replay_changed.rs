//! A finished run of a workflow that has changed since: a replay names the first difference, without running it. The
//! workflow is a user's own: a letter is written, judged, and committed.

use std::path::Path;
use std::sync::Arc;

use rstest::rstest;
use superstep::checkpoint::Checkpointer;
use superstep::drivers::Access;
use superstep::graph::CompiledGraph;
use superstep::nodes::{
    AgentAnswer, AgentSpec, Base, Brief, CommitJob, CommittedWork, Feedback, Folder, PrepareJob, PreparedRepository,
    Prompt, Turn, commit_task, prepare_workspace,
};
use superstep::plan::{Review, WorkReport};
use superstep::prelude::*;

use crate::agent::{Agent, approved, rejected, work};
use crate::repository::{Repository, write};

/// The difference in the second version of the workflow.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    Nothing,
    /// The text of the first prompt.
    Template,
    /// A value in a prompt of the library's.
    Slot,
    /// The same, further back than a report shows.
    FarSlot,
    Rules,
    Model,
    Router,
    Message,
}

use Change::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Letter {
    folder: Folder,
    base: Option<Base>,
    after: Option<superstep::workspace::TreeId>,
    attempts: u32,
    approved: bool,
    commit: Option<String>,
}

#[derive(NodeId)]
enum Post {
    Prepare,
    Write,
    Judge,
    Send,
}

type Mail = CompiledGraph<Letter, Post, Arc<Agent>>;
type NodeResult = Result<LetterUpdate, NodeError>;

fn spec(role: &str, change: Change) -> AgentSpec {
    let model = (change == Model && role == "reviewer").then(|| "another".to_owned());
    AgentSpec { role: role.into(), driver: "agent".into(), model, ..AgentSpec::default() }
}

async fn written(letter: Arc<Letter>, ctx: Ctx<Arc<Agent>>, change: Change) -> NodeResult {
    let text = if change == Template { "Write a long letter." } else { "Write a letter." };
    let mut turn = Turn {
        access: Access { write: true, shell: None },
        attempt: letter.attempts + 1,
        ..Turn::new::<WorkReport>("write", spec("developer", change), Prompt::new("letter", text), &letter.folder)
    };
    if change == Rules {
        turn.system = Prompt::new("rules", "Be brief.");
    }
    let turned = turn.take::<WorkReport, _>(&ctx).await?;
    let base = letter.base.clone().ok_or("not prepared")?;
    let after = letter.folder.after(&ctx, turned.tampered, &base).await?;
    Ok(Letter::update().attempts(letter.attempts + 1).after(after.tree))
}

async fn judged(letter: Arc<Letter>, ctx: Ctx<Arc<Agent>>, change: Change) -> NodeResult {
    let padding = "All of it. ".repeat(300);
    let (goal, section) = match change {
        Slot => ("Joy".to_owned(), padding),
        FarSlot => ("Peace".to_owned(), padding + "Twice."),
        _ => ("Peace".to_owned(), padding),
    };
    let brief = Brief { id: "1".into(), position: 1, total: 1, goal, section: section.into(), ..Brief::default() };
    let prompt = Prompt::developer(&brief, &Feedback::default(), None);
    let turned = Turn::new::<Review>("judge", spec("reviewer", change), prompt, &letter.folder).take(&ctx).await?;
    let AgentAnswer::Given(review) = turned.answer else { return Err("no review".into()) };
    let review: Review = review;
    Ok(Letter::update().approved(review.passes()))
}

fn to_prepare(letter: &Letter) -> Result<PrepareJob, NodeError> {
    let folder = letter.folder.clone();
    Ok(PrepareJob::new(folder))
}

fn to_commit(letter: &Letter, change: Change) -> Result<CommitJob, NodeError> {
    let base = letter.base.clone().ok_or("not prepared")?;
    let message = if change == Message { "Post" } else { "Send" }.to_owned();
    let (folder, tree, attempt) = (letter.folder.clone(), letter.after.clone(), letter.attempts);
    Ok(CommitJob::new(folder, base, tree, message).task("letter".into()).attempt(attempt))
}

fn graph(change: Change) -> Mail {
    let after_judge = move |letter: &Letter| match letter.approved || change == Router {
        true => Post::Send,
        false => Post::Write,
    };
    let prepared = |_: &Letter, ready: PreparedRepository| Letter::update().base(Some(ready.base));
    let finished_run =
        |_: &Letter, moved: CommittedWork| Letter::update().commit(moved.made.map(|made| made.to_string()));
    let write = move |letter: Arc<Letter>, ctx: Ctx<Arc<Agent>>| written(letter, ctx, change);
    let judge = move |letter: Arc<Letter>, ctx: Ctx<Arc<Agent>>| judged(letter, ctx, change);
    let commit = move |letter: &Letter| to_commit(letter, change);
    StateGraph::new()
        .add_node(Post::Prepare, prepare_workspace(to_prepare, prepared).replayable())
        .add_node(Post::Write, write.replayable())
        .add_node(Post::Judge, judge.replayable())
        .add_node(Post::Send, commit_task(commit, finished_run).replayable())
        .add_edge(START, Post::Prepare)
        .add_sequence([Post::Prepare, Post::Write, Post::Judge])
        .add_conditional_edges_to(Post::Judge, after_judge, [Post::Write, Post::Send])
        .add_edge(Post::Send, END)
        .compile()
        .unwrap()
}

fn thread(store: &Arc<dyn Checkpointer>, change: Change, agent: Arc<Agent>) -> Thread<Letter, Post, Arc<Agent>> {
    graph(change).with_shared_checkpointer(Arc::clone(store)).thread_with("letter", Arc::new(agent))
}

/// Runs the workflow with a letter that is rejected once.
async fn finished_run() -> (Repository, Arc<dyn Checkpointer>) {
    let develop = |_: &_, folder: &Path, nth| {
        write(folder, "letter.txt", &format!("{nth}\n"));
        work()
    };
    let agent = Agent::new(move |call, folder, nth| {
        Ok(match call.tool.as_str() {
            "submit_work" => develop(call, folder, nth),
            _ if nth == 0 => rejected("too short"),
            _ => approved(),
        })
    });
    let (repository, store): (_, Arc<dyn Checkpointer>) = (Repository::new(), Arc::new(MemoryCheckpointer::new()));
    let folder = Folder { directory: repository.path(), apart: vec![] };
    let thread = thread(&store, Nothing, agent);
    let state = thread.invoke(Letter::update().folder(folder)).await.unwrap().finished().unwrap();
    assert_eq!((state.attempts, state.commit.is_some()), (2, true));
    (repository, store)
}

#[rstest]
#[case::template(Template, 2, "Write", "effect `write`", "Write a letter.", "Write a long letter.")]
#[case::slot(Slot, 3, "Judge", "effect `judge`", "Goal: Peace", "Goal: Joy")]
#[case::slot_far_behind(FarSlot, 3, "Judge", "effect `judge`", "Goal: Peace", "Goal: Peace")]
#[case::rules_for_the_agent(Rules, 2, "Write", "effect `write`", "frame.system", "rules")]
#[case::model(Model, 3, "Judge", "effect `judge`", "null", "another")]
#[case::router(Router, 3, "Judge", "route", r#"["Write"]"#, r#"["Send"]"#)]
#[case::message(Message, 6, "Send", "effect `commit`", "Send", "Post")]
#[tokio::test]
async fn a_change_since_the_run_is_the_first_difference(
    #[case] change: Change,
    #[case] step: i64,
    #[case] node: &str,
    #[case] what: &str,
    #[case] recorded: &str,
    #[case] now: &str,
) {
    let (repository, store) = finished_run().await;
    let before = repository.git(&["log", "--all", "--format=%H"]);
    let nobody = || Agent::new(|call, _, _| panic!("{call:?}"));
    assert!(thread(&store, Nothing, nobody()).verify().await.unwrap().agrees());
    let found = thread(&store, change, nobody()).verify().await.unwrap().divergence.unwrap();
    assert_eq!((found.step, found.node.as_str(), found.what.as_str()), (step, node, what));
    let text = found.recorded.to_string();
    assert!(text.contains(recorded) && !(text.contains(now) && recorded != now), "{text}");
    assert!(found.now.to_string().contains(now), "{}", found.now);
    assert_ne!(found.recorded, found.now, "what is shown tells them apart");
    assert_eq!(repository.git(&["log", "--all", "--format=%H"]), before);
}
