//! The node that has a task worked on. Knows turns and trees, not how the work is judged.

use super::agents::{AgentSpec, Agents};
use super::folder::{After, Base, Folder, Kept};
use super::prompts::{Brief, Feedback, Prompt};
use super::questions::{AgentQuestion, AgentReply};
use super::step::step;
use super::turn::{Answer, Turn, Turned};
use crate::drivers::{Access, Session, SessionRef, Usage};
use crate::graph::{Ctx, Node, NodeError, NodeExt, NodeId, State, WithOptions, Writes};
use crate::plan::{WorkReport, WorkStatus};
use crate::workspace::TreeId;

/// How often one attempt may ask a person.
const QUESTIONS: u32 = 20;

/// A task to be worked on.
#[derive(Clone, Debug)]
pub struct DeveloperJob {
    /// Who works.
    pub agent: AgentSpec,
    /// Where.
    pub folder: Folder,
    /// What they may do besides reading.
    pub access: Access,
    /// The task.
    pub brief: Brief,
    /// The attempt, from 1.
    pub attempt: u32,
    /// Why the attempt before was not accepted.
    pub feedback: Feedback,
    /// The session of the attempt before, to go on in; none: a new one.
    pub session: Option<SessionRef>,
    /// The work of the attempt before, which is kept in git before anything else; none: there is nothing to keep.
    pub kept: Option<Kept>,
    /// Where earlier work on the task is kept that is not in the files any more; the developer is told. None: there is none.
    pub taken_out: Option<String>,
    /// The files to begin with, where that is not what the attempt before left.
    pub reset: Option<TreeId>,
    /// Where the task began.
    pub base: Base,
}

/// A task that was worked on.
#[derive(Clone, Debug)]
pub struct Developed {
    /// What the developer says; or why they say nothing that can be read.
    pub report: Result<WorkReport, String>,
    /// The session, to go on in.
    pub session: Option<SessionRef>,
    /// What it used.
    pub usage: Usage,
    /// What they did besides.
    pub after: After,
    /// Where the work of the attempt before is kept.
    pub salvaged: Option<String>,
    /// Whether the session of the attempt before was lost.
    pub session_lost: bool,
}

/// Returns a node that has an agent work on a task: `job` reads from the state on which, `done` makes the update from the
/// work. What they cannot settle is asked of a person, and they go on with the answer. Commits of their own are taken back
/// into the files; what they do to git's hooks and configuration is told, and no git command is run after it.
pub fn developer<S, N, C, A, D, E, W>(job: A, done: D) -> WithOptions<impl Node<S, N, C>, S, N, C>
where
    S: State,
    N: NodeId,
    C: Agents,
    A: Fn(&S) -> Result<DeveloperJob, E> + Send + Sync + 'static,
    D: Fn(&S, Developed) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    step(job, perform, done).asks::<AgentQuestion>()
}

async fn perform<C: Agents>(job: DeveloperJob, ctx: Ctx<C>) -> Result<Developed, NodeError> {
    job.folder.stand(&ctx, "stand", &job.base).await?;
    let salvaged = match &job.kept {
        Some(kept) => Some(job.folder.keep(&ctx, "keep", kept).await?),
        None => None,
    };
    if let Some(tree) = &job.reset {
        job.folder.reset(&ctx, tree).await?;
    }
    let told = salvaged.as_ref().filter(|_| job.reset.is_some()).or(job.taken_out.as_ref());
    let (turned, session_lost) = work(&job, told.map(String::as_str), &ctx).await?;
    let usage = turned.usage;
    let base = Base { at: turned.at.unwrap_or_else(|| job.base.at.clone()), tree: job.base.tree.clone() };
    let after = job.folder.after(&ctx, turned.tampered, &base).await?;
    let report = match turned.answer {
        Answer::Given(report) => Ok(report),
        Answer::Unusable(why) => Err(why),
        Answer::SessionLost => Err("the session was lost".into()),
    };
    Ok(Developed { report, session: turned.session, usage, after, salvaged, session_lost })
}

/// Turns until the work is handed over: what has to be answered in between is asked of a person.
async fn work<C: Agents>(
    job: &DeveloperJob,
    salvaged: Option<&str>,
    ctx: &Ctx<C>,
) -> Result<(Turned<WorkReport>, bool), NodeError> {
    let (mut turned, mut lost) = begin(job, salvaged, ctx).await?;
    let mut answers = String::new();
    for nth in 1..=QUESTIONS {
        let report = match &turned.answer {
            Answer::Given(report) if turned.tampered.is_empty() && report.status != WorkStatus::Done => report,
            _ => break,
        };
        let question = AgentQuestion {
            task: job.brief.id.clone(),
            title: job.brief.title.clone(),
            question: report.question.clone().unwrap_or_default(),
            summary: report.summary.clone(),
        };
        let AgentReply::Reply { text } = ctx.interrupt(question.clone())?;
        answers.push_str(&format!("\nAsked \"{}\", a person answered: {text}", question.question));
        let usage = turned.usage;
        let is_lost;
        (turned, is_lost) = reply(job, salvaged, (nth, &text, &answers), turned.session, ctx).await?;
        turned.usage += usage;
        lost |= is_lost;
    }
    Ok((turned, lost))
}

/// The turn with a person's answer: in the session that asked, or with everything told anew if that is gone.
async fn reply<C: Agents>(
    job: &DeveloperJob,
    salvaged: Option<&str>,
    (nth, answer, answers): (u32, &str, &str),
    session: Option<SessionRef>,
    ctx: &Ctx<C>,
) -> Result<(Turned<WorkReport>, bool), NodeError> {
    let had_session = session.is_some();
    if let Some(session) = session {
        let turn = turn(job, format!("reply/{nth}"), Prompt::reply(answer), Session::Resume(session));
        let turned = turn.take(ctx).await?;
        if !matches!(turned.answer, Answer::SessionLost) || !turned.tampered.is_empty() {
            return Ok((turned, false));
        }
    }
    let mut feedback = job.feedback.clone();
    feedback.note = format!("{}{answers}", feedback.note).trim_start().to_owned();
    let prompt = Prompt::developer(&job.brief, &feedback, salvaged);
    Ok((turn(job, format!("reply/{nth}/fresh"), prompt, Session::New).take(ctx).await?, had_session))
}

/// The first turn of an attempt: in the session of the one before, or with everything told anew.
async fn begin<C: Agents>(
    job: &DeveloperJob,
    salvaged: Option<&str>,
    ctx: &Ctx<C>,
) -> Result<(Turned<WorkReport>, bool), NodeError> {
    let fresh = |key: &str| {
        let prompt = Prompt::developer(&job.brief, &job.feedback, salvaged);
        turn(job, key.into(), prompt, Session::New)
    };
    let Some(session) = &job.session else { return Ok((fresh("work").take(ctx).await?, false)) };
    let retry = Prompt::retry(&job.brief, &job.feedback, salvaged);
    let turned = turn(job, "work".into(), retry, Session::Resume(session.clone())).take(ctx).await?;
    match turned.answer {
        Answer::SessionLost if turned.tampered.is_empty() => Ok((fresh("work/fresh").take(ctx).await?, true)),
        _ => Ok((turned, false)),
    }
}

fn turn(job: &DeveloperJob, key: String, prompt: Prompt, session: Session) -> Turn {
    Turn {
        session,
        access: job.access.clone(),
        task: job.brief.id.clone(),
        attempt: job.attempt,
        at: Some(job.base.clone()),
        files: job.brief.plan_file.iter().cloned().collect(),
        ..Turn::new::<WorkReport>(key, job.agent.clone(), prompt, &job.folder)
    }
}
