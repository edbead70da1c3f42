//! A custom workflow for agents, built from parts of the library: an agent writes an article, commands lint it, a
//! person approves it, and it is committed.
//!
//!     sh examples/tasks/repository.sh /tmp/blog
//!     publish run publish --topic tides --dir /tmp/blog --driver scripted:examples/publish.yaml --thread tides
//!     publish approve tides

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use schemars::JsonSchema;
use superstep::drivers::{Access, Session, SessionRef, Usage};
use superstep::graph::{HumanQuestion, Reply};
use superstep::nodes::{
    AgentAnswer, AgentSpec, ApprovalResult, ApprovePlan, Base, Check, CommitJob, CommittedWork, Crew, Folder,
    PrepareJob, PreparedRepository, Prompt, Submit, Turn, VerifyJob, VerifyResult, commit_task, human_approval,
    prepare_workspace, verify,
};
use superstep::plan::Decision;
use superstep::prelude::*;
use superstep::routes::{AfterApproval, route_approval};
use superstep::workspace::TreeId;
use superstep_app::{App, Exit, Register};

const ATTEMPTS: u32 = 3;

// <state>
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Post {
    topic: String,
    folder: Folder,
    writer: AgentSpec,
    lint: Vec<String>,
    base: Option<Base>,
    session: Option<SessionRef>,
    attempts: u32,
    headline: String,
    /// What is to be done better.
    wishes: Vec<String>,
    tree: Option<TreeId>,
    decision: Option<Decision>,
    commit: Option<String>,
    #[channel(add)]
    usage: Usage,
}

#[derive(NodeId)]
enum Step {
    Prepare,
    Write,
    Lint,
    Approve,
    Publish,
}
// </state>

// <write>
/// What the agent hands over: its tool, with a schema made of the type.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Article {
    headline: String,
}
impl Submit for Article {
    const TOOL: &'static str = "submit_article";
    const PURPOSE: &'static str = "Hand over the article that you wrote to article.md.";
    fn check(&self) -> Result<(), String> {
        if self.headline.len() > 80 { Err("the headline has more than 80 characters".into()) } else { Ok(()) }
    }
}

async fn write(post: Arc<Post>, ctx: Ctx<Crew>) -> Result<PostUpdate, NodeError> {
    let (base, wishes) = (base(&post)?, post.wishes.join("\n"));
    let prompt = Prompt::new("write", format!("Write article.md about {}.\n{wishes}", post.topic));
    let turn = Turn {
        session: post.session.clone().map_or(Session::New, Session::Resume),
        access: Access { write: true, shell: None },
        task: "article".into(),
        attempt: post.attempts + 1,
        // In the folder, whose hooks and git configuration are not the agent's.
        ..Turn::new::<Article>("write", post.writer.clone(), prompt, &post.folder)
    };
    let turned = turn.take::<Article, _>(&ctx).await?;
    let after = post.folder.after(&ctx, turned.tampered, &base).await?; // commits it made are taken back into the files
    if !after.tampered.is_empty() {
        return Err(NodeError::permanent(format!("the agent changed {}", after.tampered.join(", "))));
    }
    let done = Post::update().session(turned.session).usage(turned.usage).attempts(post.attempts + 1);
    match turned.answer {
        AgentAnswer::Given(article) => Ok(done.headline(article.headline).wishes(vec![])),
        AgentAnswer::Unusable(why) => Ok(done.wishes(vec![why])),
        AgentAnswer::SessionLost => Ok(done.wishes(vec!["Start again.".into()])),
    }
}
// </write>

// <nodes>
fn base(post: &Post) -> Result<Base, NodeError> {
    post.base.clone().ok_or_else(|| NodeError::permanent("the repository was not prepared"))
}

fn what_to_prepare(post: &Post) -> Result<PrepareJob, NodeError> {
    Ok(PrepareJob::new(post.folder.clone()))
}
fn prepared(_: &Post, ready: PreparedRepository) -> PostUpdate {
    Post::update().base(Some(ready.base))
}

fn what_to_lint(post: &Post) -> Result<VerifyJob, NodeError> {
    let limit = std::time::Duration::from_secs(60);
    let (folder, commands) = (post.folder.clone(), post.lint.clone());
    Ok(VerifyJob::new(folder, base(post)?, commands, limit))
}
fn linted(post: &Post, ended: VerifyResult) -> PostUpdate {
    let failed = ended.checks.iter().filter(|check| !check.has_passed()).map(Check::report);
    let wishes = post.wishes.iter().cloned().chain(failed).chain(ended.tampered).collect();
    Post::update().wishes(wishes).tree(ended.tree)
}

fn question(post: &Post) -> Result<ApprovePlan, NodeError> {
    let path = post.folder.directory.join("article.md").display().to_string();
    Ok(ApprovePlan { title: Some(post.headline.clone()), path: Some(path), ..ApprovePlan::default() })
}
/// `approve`, `reject` and `revise` answer it.
impl HumanQuestion<Post> for ApprovePlan {
    fn decide(&self, reply: &Reply) -> Option<Decision> {
        Some(reply.into())
    }
}
fn decided(_: &Post, ApprovalResult { decision, .. }: ApprovalResult) -> PostUpdate {
    let wishes = if let Decision::Revise { feedback } = &decision { vec![feedback.clone()] } else { vec![] };
    Post::update().wishes(wishes).decision(Some(decision))
}

fn what_to_commit(post: &Post) -> Result<CommitJob, NodeError> {
    let (folder, tree, message) = (post.folder.clone(), post.tree.clone(), format!("Publish: {}", post.headline));
    Ok(CommitJob::new(folder, base(post)?, tree, message).task("article".into()).attempt(post.attempts))
}
fn published(_: &Post, moved: CommittedWork) -> PostUpdate {
    Post::update().commit(moved.made.map(|commit| commit.to_string()))
}
// </nodes>

// <graph>
#[derive(Route)]
enum AfterLint {
    #[to(Step::Approve)]
    Approve,
    #[to(Step::Write)]
    Again,
    #[to(END)]
    GiveUp,
}
fn after_lint(post: &Post) -> AfterLint {
    match (post.wishes.is_empty(), post.attempts < ATTEMPTS) {
        (true, _) => AfterLint::Approve,
        (false, true) => AfterLint::Again,
        (false, false) => AfterLint::GiveUp,
    }
}

targets! { Step:
    AfterApproval { Approve => Step::Publish, Revise => Step::Write, Reject => END }
}

fn graph() -> Result<CompiledGraph<Post, Step, Crew>, CompileError> {
    StateGraph::new()
        .add_node(Step::Prepare, prepare_workspace(what_to_prepare, prepared).replayable())
        .add_node(Step::Write, write.replayable())
        .add_node(Step::Lint, verify(what_to_lint, linted).replayable())
        .add_node(Step::Approve, human_approval(question, decided).replayable())
        .add_node(Step::Publish, commit_task(what_to_commit, published).replayable())
        .add_edge(START, Step::Prepare)
        .add_edge(Step::Prepare, Step::Write)
        .add_edge(Step::Write, Step::Lint)
        .add_conditional_edges(Step::Lint, after_lint)
        .add_conditional_edges(Step::Approve, |post: &Post| route_approval(post.decision.as_ref()))
        .add_edge(Step::Publish, END)
        .compile()
}
// </graph>

// <main>
#[derive(clap::Args)]
struct Wanted {
    /// What the article is about
    #[arg(long)]
    topic: String,
    /// The repository
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    dir: PathBuf,
    /// Who writes: api, cli:codex, cli:claude, scripted:FILE
    #[arg(long, value_name = "NAME", default_value = "api")]
    driver: String,
    /// The model
    #[arg(long)]
    model: Option<String>,
    /// A command that the article has to pass
    #[arg(long, value_name = "COMMAND", default_value = "grep -q '^# ' article.md")]
    lint: Vec<String>,
}

fn input(wanted: Wanted) -> std::io::Result<PostUpdate> {
    let Wanted { topic, dir, driver, model, lint } = wanted;
    let directory = dir.canonicalize()?;
    let home = Some(directory.join(".superstep"));
    let writer = AgentSpec { role: "writer".into(), driver, model, home, ..AgentSpec::default() };
    Ok(Post::update().topic(topic).folder(Folder { directory, apart: vec![] }).writer(writer).lint(lint))
}

fn ends(post: &Post) -> Exit {
    match (&post.commit, &post.decision) {
        (Some(_), _) => Exit::Finished,
        (None, Some(Decision::Reject { .. })) => Exit::Rejected,
        (None, _) => Exit::Failed,
    }
}

fn summary(post: &Post) -> String {
    format!(
        "headline: {}\nattempts: {}\ncommit: {}",
        post.headline,
        post.attempts,
        post.commit.as_deref().unwrap_or("none")
    )
}

fn main() -> ExitCode {
    App::new()
        .about("Has articles written, linted, approved and published")
        .graph_with(
            "publish",
            graph().args(input).outcome(ends).summary(summary).question::<ApprovePlan>(),
            Crew::new(),
        )
        .main()
}
// </main>
