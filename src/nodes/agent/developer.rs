//! The node that has an agent work on a task. Knows turns and trees, must not know the review.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::agents::{AgentSpec, Agents};
use super::turn::{AgentAnswer, CutOff, CutReason, DecidedTurn, NextStep, Turn, TurnResult};
use crate::drivers::{Access, NewLimits, Session, SessionRef, Usage};
use crate::graph::node::{NodeOptions, WithOptions};
use crate::graph::{Ctx, Node, NodeError, NodeId, State};
use crate::nodes::ask::{AgentQuestion, AgentReply, BranchMoved, BudgetReached, SessionRefused};
use crate::nodes::events::Notes;
use crate::nodes::git::{Arrival, Base, Folder, KeptAttempt, TamperCheck, Traces, diff, store, tree_now};
use crate::nodes::job::{Job, MakeUpdate, ReadJob, job, node};
use crate::nodes::prompts::{Brief, Feedback, Prompt};
use crate::nodes::siblings::Siblings;
use crate::plan::{WorkReport, WorkStatus};
use crate::workspace::{BranchPositions, TreeId};

/// The maximum number of questions to a person in one attempt.
const QUESTIONS: u32 = 20;

job! {
    /// A task to work on.
    #[derive(Clone, Debug)]
    pub struct DeveloperJob {
        /// The agent that works.
        agent: AgentSpec,
        /// The folder of the work.
        folder: Folder,
        /// The base of the task.
        base: Base,
        /// The task.
        brief: Brief,
        ..
        /// The tools and rights of the agent beside reading.
        access: Access,
        /// The attempt, from 1.
        attempt: u32 = 1,
        /// The reasons why the attempt before was not accepted.
        feedback: Feedback,
        /// The session of the previous attempt, to resume; none: a new one.
        session: Option<SessionRef>,
        /// The work of the previous attempt, which is kept in git before anything else; none: there is none to keep.
        kept: Option<KeptAttempt>,
        /// The commit of earlier work on the task that was reset, for the prompt; none: there is none.
        taken_out: Option<String>,
        /// The files to start with, if other than those of the previous attempt.
        reset: Option<TreeId>,
        /// The group of parallel tasks that it belongs to; none: it works alone.
        together: Option<Siblings>,
        /// The end of this attempt's turn that the budget cut off; none: the attempt starts.
        from: Option<CutOff>,
        /// True if the turn ends when the budget of the run is used up; else a person is asked for more.
        ends_with_budget: bool,
        /// A file that gets the events of the agent, a line of JSON each.
        transcript: Option<PathBuf>,
        /// Notices of its turns.
        notes: Notes,
    }
}

/// Result of the work on a task.
#[derive(Clone, Debug)]
pub struct DevelopResult {
    /// The developer's report; or the reason why it cannot be read.
    pub report: Result<WorkReport, String>,
    /// The session, to resume.
    pub session: Option<SessionRef>,
    /// The usage of the turns.
    pub usage: Usage,
    /// The commits and changes of the turn.
    pub after: Traces,
    /// The commit that keeps the work of the attempt before.
    pub salvaged: Option<String>,
    /// True if the session of the attempt before was lost.
    pub session_lost: bool,
    /// Model that a person chose because the server refused the session; none: no person was asked, or none was chosen.
    pub model: Option<String>,
    /// Set if the server refused the session and a person gave the task up.
    pub given_up: Option<GivenUp>,
    /// The limits of the run that a person set.
    pub raised: NewLimits,
    /// Set if the work was cut short by its group.
    pub cut: Option<CutReason>,
    /// The base of the task, if people made commits meanwhile: it is on top of them.
    pub base: Option<Base>,
    /// The start of the last turn, if what was moved in git during it could not be put back.
    pub unfolded: Option<BranchPositions>,
}

/// A person's decision on a task whose session the server refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GivenUp {
    /// The task is put aside.
    Skip,
    /// The run ends.
    Abort,
}

impl GivenUp {
    pub(in crate::nodes) fn of(then: NextStep) -> Option<Self> {
        match then {
            NextStep::Skip => Some(Self::Skip),
            NextStep::Abort => Some(Self::Abort),
            NextStep::Done | NextStep::Fresh => None,
        }
    }
}

/// Returns a node that has an agent work on a task: `job` reads the task from the state, `done` creates the update from
/// the work. Questions of the agent are asked of a person, and it continues with the answer. Its own commits are
/// undone, their changes kept in the files; changes to git's hooks and configuration are reported, and no git command
/// is run after them.
pub fn developer<S: State, N: NodeId, C: Agents>(
    job: impl ReadJob<S, DeveloperJob>,
    done: impl MakeUpdate<S, DevelopResult>,
) -> WithOptions<impl Node<S, N, C>, S, N, C> {
    node(job, done)
}

impl<C: Agents> Job<C> for DeveloperJob {
    type Output = DevelopResult;

    async fn perform(mut self, ctx: &Ctx<C>) -> Result<DevelopResult, NodeError> {
        let start = self.base.at.clone();
        let Some(arrival) = self.folder.arrive(ctx, "stand", &self.base).await? else {
            return Ok(DevelopResult::aborted_run());
        };
        // People may have committed since the last attempt: from here on the base includes that.
        self.arrive(&arrival, ctx).await?;
        let salvaged = match &self.kept {
            Some(kept) => Some(self.folder.keep(ctx, "keep", kept).await?),
            None => None,
        };
        // Only after the previous work is kept in git, so that a reset loses nothing.
        if let Some(tree) = &self.reset {
            self.folder.reset(ctx, &self.base.at, tree).await?;
        }
        let kept = salvaged.clone().filter(|_| self.reset.is_some()).or_else(|| self.taken_out.clone());
        // A person may choose another model during the turns; only a change is returned.
        let before = self.agent.model.clone();
        let AttemptOutcome { turned, session_lost, then } = run_turns(&mut self, kept.as_deref(), ctx).await?;
        let model = self.agent.model.clone().filter(|model| before.as_ref() != Some(model));
        let (usage, raised) = (turned.usage, turned.raised);
        let base = turned.at.unwrap_or_else(|| self.base.clone());
        let seen = TamperCheck { tampered: turned.tampered, is_shared: self.together.is_some() };
        // Undoes commits of the agent, keeps their changes in the files, and takes a snapshot.
        let mut after = self.folder.after_as(ctx, "after", &base, seen).await?;
        self.notes.add(std::mem::take(&mut after.notices));
        let base = self.folder.new_base(ctx, "after", &base, after.at.take()).await?.unwrap_or(base);
        after.notices = self.notes.take();
        let report = match turned.answer {
            AgentAnswer::Given(report) => Ok(report),
            AgentAnswer::Unusable(why) => Err(why),
            AgentAnswer::SessionLost => Err("the session was lost".into()),
        };
        let unfolded = after.is_unfolded().then(|| base.at.clone());
        let at = BranchPositions { commit: base.at.commit.clone(), ..start.clone() };
        // Returned only if people committed meanwhile; otherwise the caller's base is still valid.
        let base = (at != start).then_some(Base { at, tree: base.tree });
        let cut = turned.cut.or_else(|| after.left.clone().map(CutReason::Failed));
        let (session, given_up) = (turned.session, GivenUp::of(then));
        Ok(DevelopResult {
            report,
            session,
            usage,
            after,
            salvaged,
            session_lost,
            model,
            given_up,
            raised,
            cut,
            base,
            unfolded,
        })
    }

    fn options<S: State, N: NodeId>(options: NodeOptions<S, N, C>) -> NodeOptions<S, N, C> {
        options.asks::<AgentQuestion>().asks::<SessionRefused>().asks::<BudgetReached>().asks::<BranchMoved>()
    }
}

impl DeveloperJob {
    /// Puts the commits that people made beneath the work.
    async fn arrive<C: Agents>(&mut self, arrival: &Arrival, ctx: &Ctx<C>) -> Result<(), NodeError> {
        self.notes.add(arrival.notices.clone());
        if let Some(reset) = self.reset.take() {
            self.reset = Some(arrival.carry(ctx, "reset/commits", &self.folder, &reset).await?);
        }
        self.base = arrival.base.clone();
        Ok(())
    }
}

impl DevelopResult {
    /// Returns the result if a person ended the run before any work, because its branch was moved.
    fn aborted_run() -> Self {
        Self {
            report: Err("the run was ended".into()),
            session: None,
            usage: Usage::default(),
            after: Traces::default(),
            salvaged: None,
            session_lost: false,
            model: None,
            given_up: Some(GivenUp::Abort),
            raised: NewLimits::default(),
            cut: None,
            base: None,
            unfolded: None,
        }
    }
}

/// The result of the turns of an attempt.
struct AttemptOutcome {
    turned: TurnResult<WorkReport>,
    session_lost: bool,
    then: NextStep,
}

/// Takes turns until the work is submitted; questions in between are asked of a person.
async fn run_turns<C: Agents>(
    job: &mut DeveloperJob,
    salvaged: Option<&str>,
    ctx: &Ctx<C>,
) -> Result<AttemptOutcome, NodeError> {
    let mut worked = take_first_turn(job, salvaged, ctx).await?;
    let mut answers = String::new();
    for nth in 1..=QUESTIONS {
        let turned = &worked.turned;
        let report = match &turned.answer {
            AgentAnswer::Given(report) if turned.tampered.is_empty() && report.status != WorkStatus::Done => report,
            _ => break,
        };
        let question = AgentQuestion {
            task: job.brief.id.clone(),
            title: job.brief.title.clone(),
            question: report.question.clone().unwrap_or_default(),
            summary: report.summary.clone(),
        };
        if job.together.is_some() {
            store(&job.folder, None, ctx).await?;
        }
        let AgentReply::Reply { text } = ctx.interrupt(question.clone())?;
        answers.push_str(&format!("\nAsked \"{}\", a person answered: {text}", question.question));
        let (usage, raised, session_lost) = (turned.usage, turned.raised, worked.session_lost);
        worked = take_reply_turn(job, salvaged, (nth, &text, &answers), worked.turned.session, ctx).await?;
        worked.turned = worked.turned.with_previous((usage, raised));
        worked.session_lost |= session_lost;
    }
    Ok(worked)
}

/// Takes the turn with a person's answer: in the same session, or with the full prompt if that is lost.
async fn take_reply_turn<C: Agents>(
    job: &mut DeveloperJob,
    salvaged: Option<&str>,
    (nth, answer, answers): (u32, &str, &str),
    session: Option<SessionRef>,
    ctx: &Ctx<C>,
) -> Result<AttemptOutcome, NodeError> {
    let had_session = session.is_some();
    let mut feedback = job.feedback.clone();
    feedback.note = format!("{}{answers}", feedback.note).trim_start().to_owned();
    let anew = Prompt::developer(&job.brief, &feedback, salvaged);
    let mut before = (Usage::default(), NewLimits::default());
    if let Some(session) = session {
        let turn = turn(job, format!("reply/{nth}"), Prompt::reply(answer), Session::Resume(session));
        let (turned, then) = take_turn(job, turn, &anew, ctx).await?;
        if !matches!(turned.answer, AgentAnswer::SessionLost) || !turned.tampered.is_empty() {
            return Ok(AttemptOutcome { turned, session_lost: false, then });
        }
        before = (turned.usage, turned.raised);
    }
    let turn = turn(job, format!("reply/{nth}/fresh"), anew.clone(), Session::New);
    let (turned, then) = take_turn(job, turn, &anew, ctx).await?;
    Ok(AttemptOutcome { turned: turned.with_previous(before), session_lost: had_session, then })
}

/// Takes the first turn of an attempt: in the previous session, or with the full prompt.
async fn take_first_turn<C: Agents>(
    job: &mut DeveloperJob,
    salvaged: Option<&str>,
    ctx: &Ctx<C>,
) -> Result<AttemptOutcome, NodeError> {
    let anew = Prompt::developer(&job.brief, &job.feedback, salvaged);
    let fresh = |job: &DeveloperJob, key: &str| turn(job, key.into(), anew.clone(), Session::New);
    let from = job.from.clone();
    let ended = from.as_ref().and_then(|from| from.session.clone());
    let Some(session) = ended.or_else(|| job.session.clone()) else {
        let turn = Turn { from, ..fresh(job, "work") };
        let (turned, then) = take_turn(job, turn, &anew, ctx).await?;
        return Ok(AttemptOutcome { turned, session_lost: false, then });
    };
    let prompt = match &job.session {
        Some(_) => Prompt::retry(&job.brief, &job.feedback, salvaged),
        None => anew.clone(), // the session was cut short before it came to anything
    };
    let resumed = Turn { from, ..turn(job, "work".into(), prompt, Session::Resume(session)) };
    let (turned, then) = take_turn(job, resumed, &anew, ctx).await?;
    match turned.answer {
        AgentAnswer::SessionLost if turned.tampered.is_empty() => {
            let before = (turned.usage, turned.raised);
            let turn = fresh(job, "work/fresh");
            let (turned, then) = take_turn(job, turn, &anew, ctx).await?;
            Ok(AttemptOutcome { turned: turned.with_previous(before), session_lost: true, then })
        }
        _ => Ok(AttemptOutcome { turned, session_lost: false, then }),
    }
}

/// Takes a turn. If the server refuses its session, a person is asked; a new session gets the full prompt `anew` and
/// the changes so far.
async fn take_turn<C: Agents>(
    job: &mut DeveloperJob,
    taken: Turn,
    anew: &Prompt,
    ctx: &Ctx<C>,
) -> Result<(TurnResult<WorkReport>, NextStep), NodeError> {
    let question = SessionRefused { title: job.brief.title.clone(), ..SessionRefused::default() };
    let shown = &*job;
    let fresh = |key: String| async move { continuation_turn(shown, key, anew, ctx).await };
    let DecidedTurn { turned, model, then, .. } =
        taken.take_or_ask::<WorkReport, C, _, _>(ctx, question, fresh).await?;
    if let Some(model) = model {
        job.agent.model = Some(model);
    }
    Ok((turned, then))
}

/// Returns the turn that continues the work of an abandoned session.
async fn continuation_turn<C: Agents>(
    job: &DeveloperJob,
    key: String,
    anew: &Prompt,
    ctx: &Ctx<C>,
) -> Result<Turn, NodeError> {
    let tree = tree_now(ctx, &format!("{key}/files"), &job.folder).await?;
    if tree == job.base.tree {
        return Ok(turn(job, key, anew.clone(), Session::New));
    }
    let between = [&job.base.tree, &tree];
    let changes = diff(ctx, &format!("{key}/so far"), &job.folder, &job.agent.long_diffs(), between).await?;
    let mut turn = turn(job, key, anew.followed_by(&Prompt::so_far(&changes)), Session::New);
    turn.files.extend(changes.file());
    Ok(turn)
}

fn turn(job: &DeveloperJob, key: String, prompt: Prompt, session: Session) -> Turn {
    Turn {
        session,
        access: job.access.clone(),
        task: job.brief.id.clone(),
        attempt: job.attempt,
        at: Some(job.base.clone()),
        together: job.together.clone(),
        ends_with_budget: job.ends_with_budget,
        transcript: job.transcript.clone(),
        about: (&job.brief).into(),
        files: job.brief.plan_file.iter().cloned().collect(),
        notes: job.notes.clone(),
        ..Turn::new::<WorkReport>(key, job.agent.clone(), prompt, &job.folder)
    }
}
