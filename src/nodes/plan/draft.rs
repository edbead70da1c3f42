//! A plan before its execution: the nodes that have an agent write it, parse it, and ask a person about it; and its file,
//! which a person may change at any time. The plan to use is asked for, never guessed. Must not know what follows.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use superstep_base::moved::present_path;

use super::phase::forget_integration;
use crate::drivers::{NewLimits, Session, SessionRef, Usage};
use crate::graph::node::{NodeOptions, WithOptions};
use crate::graph::{Ctx, Node, NodeError, NodeId, State};
use crate::nodes::agent::{AgentAnswer, AgentSpec, Agents, DecidedTurn, NextStep, Turn, TurnResult};
use crate::nodes::ask::{ApprovePlan, BudgetReached, PlanChanged, PlanChoice, SessionRefused};
use crate::nodes::git::{Folder, tampering_message};
use crate::nodes::job::{Context, Job, MakeUpdate, ReadJob, job, node};
use crate::nodes::prompts::Prompt;
use crate::plan::{Decision, Issue, Plan, PlanError, PlanProposal};

job! {
    /// A plan to be written.
    #[derive(Clone, Debug)]
    pub struct ArchitectJob {
        /// The agent that writes it.
        agent: AgentSpec,
        /// The folder that the plan is about.
        directory: PathBuf,
        /// The issue that the plan is for.
        issue: Issue,
        ..
        /// The previous plan.
        former: Option<String>,
        /// Problems of the plan before, and remarks on it.
        issues: Vec<String>,
        /// The session of the previous plan.
        session: Option<SessionRef>,
    }
}

/// Result of writing a plan.
#[derive(Clone, Debug)]
pub struct ArchitectResult {
    /// The submitted plan; none if it is missing or unreadable.
    pub proposal: Option<PlanProposal>,
    /// The plan as markdown, or the problems for its author.
    pub markdown: Result<String, Vec<String>>,
    /// The session, to resume.
    pub session: Option<SessionRef>,
    /// The usage of the turns.
    pub usage: Usage,
    /// Model that a person chose because the server refused the session; none: no person was asked, or none was chosen.
    pub model: Option<String>,
    /// The limits of the run that a person set.
    pub raised: NewLimits,
    /// True if a person ended the run instead.
    pub is_aborted: bool,
}

/// Returns a node that has an agent read the folder and write a plan: `job` reads the issue from the state, `done`
/// creates the update from the plan or its problems.
pub fn architect<S: State, N: NodeId, C: Agents>(
    job: impl ReadJob<S, ArchitectJob>,
    done: impl MakeUpdate<S, ArchitectResult>,
) -> WithOptions<impl Node<S, N, C>, S, N, C> {
    node(job, done)
}

impl<C: Agents> Job<C> for ArchitectJob {
    type Output = ArchitectResult;

    async fn perform(self, ctx: &Ctx<C>) -> Result<ArchitectResult, NodeError> {
        let ArchitectJob { agent, directory, issue, former, issues, session } = self;
        let prompt = Prompt::architect(&issue, former.as_deref(), &issues);
        let folder = Folder { directory, apart: vec![] };
        let turn = Turn {
            session: session.map_or(Session::New, Session::Resume),
            ..Turn::new::<PlanProposal>("plan", agent, prompt, &folder)
        };
        let (mut turned, mut model) = take(turn.clone(), ctx).await?;
        if matches!(turned.answer, AgentAnswer::SessionLost) && turned.tampered.is_empty() {
            let before = (turned.usage, turned.raised);
            let mut fresh = Turn { key: "plan/fresh".into(), session: Session::New, ..turn.clone() };
            fresh.agent.model = model.clone().or(fresh.agent.model);
            let (again, chosen) = take(fresh, ctx).await?;
            (turned, model) = (again.with_previous(before), chosen.or(model));
        }
        if !turned.tampered.is_empty() {
            check_untampered(&folder, &turn.key, ctx).await?;
        }
        let proposal = match turned.answer {
            AgentAnswer::Given(proposal) => Ok(proposal),
            AgentAnswer::Unusable(why) => Err(vec![format!("the architect handed over no plan: {why}")]),
            AgentAnswer::SessionLost => Err(vec!["the architect lost a session that had just begun".to_owned()]),
        };
        let rendered = |proposal: &PlanProposal| proposal.render().map_err(|error| vec![error.to_string()]);
        let markdown = proposal.as_ref().map_err(Clone::clone).and_then(rendered);
        let TurnResult { session, usage, raised, is_aborted, .. } = turned;
        Ok(ArchitectResult { markdown, proposal: proposal.ok(), session, usage, model, raised, is_aborted })
    }

    fn options<S: State, N: NodeId>(options: NodeOptions<S, N, C>) -> NodeOptions<S, N, C> {
        options.asks::<SessionRefused>().asks::<BudgetReached>()
    }
}

/// Takes a turn. If the server refuses its session, a person is asked.
async fn take<C: Agents>(turn: Turn, ctx: &Ctx<C>) -> Result<(TurnResult<PlanProposal>, Option<String>), NodeError> {
    let question = SessionRefused::default();
    let anew = Turn { session: Session::New, ..turn.clone() };
    let fresh = |key: String| {
        let anew = Turn { key, ..anew.clone() };
        async { Ok(anew) }
    };
    let DecidedTurn { mut turned, model, then, .. } =
        turn.take_or_ask::<PlanProposal, C, _, _>(ctx, question, fresh).await?;
    turned.is_aborted |= then == NextStep::Abort;
    Ok((turned, model))
}

/// Fails while git's hooks and configuration differ from those before the turn; the next attempt checks again, after a
/// person has restored them.
async fn check_untampered<C: Agents>(folder: &Folder, key: &str, ctx: &Ctx<C>) -> Result<(), NodeError> {
    let before = folder.guard(ctx, key).await?;
    let look = |_| async {
        match folder.differs(ctx, &before).await?.as_slice() {
            [] => Ok(()),
            changed => Err(NodeError::permanent(tampering_message("the architect", changed))),
        }
    };
    ctx.effect(format!("{key}/untampered"), &before.digest(), look).await
}

/// Result of parsing a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanReviewed {
    /// Its goal.
    pub goal: Option<String>,
    /// The number of its tasks; none if it cannot be executed.
    pub total_tasks: Option<u32>,
    /// Files that it mentions as code.
    pub key_files: Vec<String>,
    /// Its problems.
    pub problems: Vec<String>,
    /// Warnings: things that its author probably did not mean.
    pub warnings: Vec<String>,
}

impl PlanReviewed {
    /// Parses a plan.
    pub fn of(markdown: &str) -> Self {
        match Plan::parse(markdown) {
            Ok(plan) => Self {
                goal: plan.goal().map(str::to_owned),
                total_tasks: u32::try_from(plan.task_count()).ok(),
                key_files: named_files(markdown),
                problems: vec![],
                warnings: plan.warnings().iter().chain(&plan.phases().warnings).map(ToString::to_string).collect(),
            },
            Err(PlanError::Invalid { problems }) => {
                let message = |problem: &crate::plan::PlanProblem| format!("{problem} (help: {})", problem.help());
                Self { problems: problems.iter().map(message).collect(), ..Self::default() }
            }
            Err(error) => Self { problems: vec![error.to_string()], ..Self::default() },
        }
    }
}

/// Returns a node that parses a plan: `markdown` reads it from the state, `done` creates the update from the result. A
/// missing plan is a problem.
pub fn plan_validator<S: State, N: NodeId, C: Context>(
    markdown: impl Fn(&S) -> Option<String> + Send + Sync + 'static,
    done: impl MakeUpdate<S, PlanReviewed>,
) -> WithOptions<impl Node<S, N, C>, S, N, C> {
    node(move |state: &S| Ok::<_, NodeError>(ParseJob(markdown(state).unwrap_or_default())), done)
}

/// A plan to parse.
struct ParseJob(String);

impl<C: Context> Job<C> for ParseJob {
    type Output = PlanReviewed;

    async fn perform(self, _: &Ctx<C>) -> Result<PlanReviewed, NodeError> {
        Ok(PlanReviewed::of(&self.0))
    }
}

/// The number of files that are named.
const FILES: usize = 50;

/// Returns the words that are written as code and look like the path of a file, each once.
fn named_files(markdown: &str) -> Vec<String> {
    let mut files: Vec<String> = vec![];
    for code in markdown.split('`').skip(1).step_by(2) {
        let is_new = || !files.iter().any(|known| known == code);
        if looks_like_a_file(code) && is_new() && files.len() < FILES {
            files.push(code.to_owned());
        }
    }
    files
}

fn looks_like_a_file(code: &str) -> bool {
    let is_plain = code.len() <= 200 && code.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
    let path = Path::new(code);
    let has_name = |part: Option<&std::ffi::OsStr>| part.is_some_and(|part| !part.is_empty());
    is_plain && !code.ends_with('.') && !path.is_absolute() && has_name(path.extension()) && has_name(path.file_stem())
}

job! {
    /// A plan to approve.
    #[derive(Clone, Debug)]
    pub struct ApprovalJob {
        /// The question.
        question: ApprovePlan,
        ..
        /// The file of the plan, if it has one: a person may have changed it meanwhile.
        file: Option<PlanFile>,
        /// The folder below which the file is written first, so that a person can read and edit the plan there; none: it
        /// exists.
        draft: Option<PathBuf>,
        /// Decision without asking a person.
        decided: Option<Decision>,
        /// Private reference that earlier versions used for the integration, which is removed with today's if the plan is
        /// rejected, and the work tree of the run.
        reference: Option<(String, Folder)>,
    }
}

/// A person's decision on a plan.
#[derive(Clone, Debug)]
pub struct ApprovalResult {
    /// The decision.
    pub decision: Decision,
    /// The plan in the file at the last question, if it differs.
    pub adopted: Option<AdoptedPlan>,
}

impl From<ApprovePlan> for ApprovalJob {
    fn from(question: ApprovePlan) -> Self {
        Self { question, file: None, draft: None, decided: None, reference: None }
    }
}

/// Returns a node that interrupts the run with a question about a plan, and resumes with the [`Decision`] that answers
/// it: `ask` creates the question from the state, `decided` the update from the answer. An invalid decision becomes a
/// problem of the question, which is asked again; so is a changed plan file that is adopted. Answer it with
/// `thread.resume::<ApprovePlan>(Decision::approve())`.
///
/// The node fails if `ask` fails.
pub fn human_approval<S: State, N: NodeId, C: Context, J: Into<ApprovalJob>>(
    ask: impl ReadJob<S, J>,
    decided: impl MakeUpdate<S, ApprovalResult>,
) -> WithOptions<impl Node<S, N, C>, S, N, C> {
    node(move |state: &S| ask(state).map(Into::into), decided)
}

impl<C: Context> Job<C> for ApprovalJob {
    type Output = ApprovalResult;

    async fn perform(mut self, ctx: &Ctx<C>) -> Result<ApprovalResult, NodeError> {
        let reference = self.reference.take();
        let approved = ask_for_approval(self, ctx).await?;
        if let (Decision::Reject { .. }, Some((reference, repository))) = (&approved.decision, &reference) {
            forget_integration(reference, repository, ctx).await?;
        }
        Ok(approved)
    }

    fn options<S: State, N: NodeId>(options: NodeOptions<S, N, C>) -> NodeOptions<S, N, C> {
        options.asks::<ApprovePlan>().asks::<PlanChanged>()
    }
}

async fn ask_for_approval<C: Context>(job: ApprovalJob, ctx: &Ctx<C>) -> Result<ApprovalResult, NodeError> {
    let ApprovalJob { mut question, mut file, draft, decided, .. } = job;
    if let Some(decision) = decided {
        return Ok(ApprovalResult { decision, adopted: None });
    }
    if let Some((file, root)) = file.as_ref().zip(draft) {
        file.write(ctx, &root).await?;
    }
    let mut adopted = None;
    let of_plan =
        file.as_ref().and_then(|file| Plan::parse(file.plan.as_str()).ok()).map(|plan| ApprovePlan::of(&plan));
    let of_plan = of_plan.map(|question| question.warnings).unwrap_or_default();
    let others: Vec<String> = question.warnings.iter().filter(|warning| !of_plan.contains(warning)).cloned().collect();
    for round in 0.. {
        let decision = decide(ctx, &question)?;
        let asked = file.as_mut().filter(|_| matches!(decision, Decision::Approve { .. }));
        let Some(file) = asked else { return Ok(ApprovalResult { decision, adopted }) };
        let changed = file.ask_if_changed(ctx, &format!("plan file/{round}")).await?;
        let Some(FileChange { hash, adopted: plan }) = changed else { return Ok(ApprovalResult { decision, adopted }) };
        file.hash = hash;
        let kept = plan.is_none();
        if let Some(plan) = plan {
            question = ApprovePlan { path: question.path, ..ApprovePlan::of(&plan) };
            question.warnings.extend(others.iter().cloned());
            file.plan = plan.markdown().to_owned();
        }
        adopted = Some(AdoptedPlan { hash: file.hash.clone(), plan: file.plan.clone() });
        if kept {
            return Ok(ApprovalResult { decision, adopted });
        }
    }
    Err(NodeError::permanent("the plan's file changes without end"))
}

/// Asks until the decision is valid.
fn decide<C>(ctx: &Ctx<C>, question: &ApprovePlan) -> Result<Decision, NodeError> {
    let mut asked = question.clone();
    loop {
        let decision = ctx.interrupt(asked)?;
        let Some(problem) = question.refuses(&decision) else { return Ok(decision) };
        asked = question.clone();
        asked.problems.push(problem);
    }
}

/// A plan's file, as it was when the plan was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFile {
    /// Its path.
    pub path: PathBuf,
    /// Hash of the text that was read, or that was seen later and not adopted.
    pub hash: String,
    /// The plan in use.
    pub plan: String,
}

/// A plan to use from now on, and the file's hash at that decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdoptedPlan {
    /// The hash of the file's text.
    pub hash: String,
    /// The plan.
    pub plan: String,
}

/// A changed file, and the decision on it.
pub(super) struct FileChange {
    pub hash: String,
    /// The plan, if it was adopted.
    pub adopted: Option<Plan>,
}

impl PlanFile {
    /// Writes the plan below a folder.
    pub(in crate::nodes) async fn write<C: Context>(&self, ctx: &Ctx<C>, root: &Path) -> Result<(), NodeError> {
        let write = |_| async { write(root, &self.path, &self.plan).map_err(NodeError::permanent) };
        ctx.effect("draft", self, write).await
    }

    /// Asks which plan to use, if the file has changed. A missing file has not, nor one with the same plan.
    pub(super) async fn ask_if_changed<C: Context>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
    ) -> Result<Option<FileChange>, NodeError> {
        let read = |_| async { Ok::<_, NodeError>(superstep_base::files::text(&present_path(&self.path)).ok()) };
        let text: Option<String> = ctx.effect(key, &self.path, read).await?;
        let is_changed = |text: &String| crate::plan::hash(text) != self.hash && *text != self.plan;
        let Some(text) = text.filter(is_changed) else { return Ok(None) };
        let hash = crate::plan::hash(&text);
        let parsed = Plan::parse(text.as_str());
        let mut question = self.question(parsed.as_ref().ok());
        loop {
            let problem = match (ctx.interrupt(question.clone())?, &parsed) {
                (PlanChoice::Keep, _) => return Ok(Some(FileChange { hash, adopted: None })),
                (PlanChoice::Adopt, Ok(plan)) => return Ok(Some(FileChange { hash, adopted: Some(plan.clone()) })),
                (PlanChoice::Adopt, Err(error)) => Some(error.to_string()),
                (PlanChoice::Diff, _) => None,
            };
            question = PlanChanged { problem, diff: Some(differences(&self.plan, &text)), ..question };
        }
    }

    fn question(&self, plan: Option<&Plan>) -> PlanChanged {
        let commands = |task: crate::plan::Task<'_>| {
            let commands = task.verify.iter().map(|command| format!("{}: {command}", task.id));
            commands.collect::<Vec<_>>()
        };
        PlanChanged {
            path: self.path.display().to_string(),
            diff: None,
            problem: None,
            verify: plan.map(|plan| plan.tasks().flat_map(commands).collect()).unwrap_or_default(),
        }
    }
}

/// Writes a plan below a folder, without following links.
pub(super) fn write(root: &Path, path: &Path, text: &str) -> Result<(), String> {
    let (root, path) = (&present_path(root), &present_path(path));
    let message = |error: String| format!("{}: the plan cannot be written: {error}", path.display());
    let mut folders = path.ancestors().skip(1).take_while(|folder| *folder != root.as_path());
    if let Some(link) = folders.find(|folder| folder.is_symlink()) {
        return Err(message(format!("{} is a link", link.display())));
    }
    superstep_base::files::replace(path, text.as_bytes()).map_err(|error| message(error.to_string()))
}

fn differences(before: &str, now: &str) -> String {
    similar::TextDiff::from_lines(before, now).unified_diff().header("the plan that holds", "the file").to_string()
}
