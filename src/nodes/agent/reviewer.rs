//! The node that has the work on a task reviewed. Knows diffs and reviews, must not know what follows from them.

use std::path::PathBuf;

use super::agents::{AgentSpec, Agents};
use super::developer::GivenUp;
use super::turn::{AgentAnswer, CutReason, DecidedTurn, Turn};
use crate::drivers::{NewLimits, Usage};
use crate::graph::node::{NodeOptions, WithOptions};
use crate::graph::{Ctx, Node, NodeError, NodeId, State};
use crate::nodes::ask::{AfterMissingReview, BudgetReached, ReviewUnavailable, SessionRefused};
use crate::nodes::git::{Folder, diff};
use crate::nodes::job::{Job, MakeUpdate, ReadJob, job, node};
use crate::nodes::prompts::{Brief, Prompt, PromptDiff, ReviewedWork};
use crate::nodes::siblings::Siblings;
use crate::plan::{Comment, CommentSeverity, Review};
use crate::workspace::TreeId;

/// The number of reviews before a person is asked.
const TRIES: u32 = 2;

job! {
    /// Work to review.
    #[derive(Clone, Debug)]
    pub struct ReviewerJob {
        /// The agent that judges.
        agent: AgentSpec,
        /// The folder of the work.
        folder: Folder,
        /// The task.
        brief: Brief,
        /// The files at the start of the task.
        base: TreeId,
        /// The files now.
        tree: TreeId,
        ..
        /// The attempt, from 1.
        attempt: u32 = 1,
        /// Kinds of review, each a turn: `general`, `security`.
        kinds: Vec<String> = vec!["general".into()],
        /// The files at the last review.
        last_reviewed: Option<TreeId>,
        /// The results of the checks, a line each.
        checks: Vec<String>,
        /// Open comments.
        open: Vec<Comment>,
        /// The group of parallel tasks that it belongs to; none: it works alone.
        together: Option<Siblings>,
    }
}

/// Result of a review.
#[derive(Clone, Debug)]
pub struct ReviewResult {
    /// The verdict.
    pub verdict: ReviewVerdict,
    /// The usage of the turns.
    pub usage: Usage,
    /// Model that a person chose because the server refused a session; none: no person was asked, or none was chosen.
    pub model: Option<String>,
    /// The limits of the run that a person set.
    pub raised: NewLimits,
}

/// The result of a review.
#[derive(Clone, Debug)]
pub enum ReviewVerdict {
    /// The reviews of all reviewers as one.
    Judged(Review),
    /// No review could be read, and a person accepted the work.
    Accepted,
    /// No review could be read, and a person ended the run.
    Aborted,
    /// The server refused the reviewer's session, and a person skipped the task.
    Skipped,
    /// A reviewer changed git's hooks or configuration: the changes.
    Tampered(Vec<String>),
    /// The review was cut short by its group.
    Cut(CutReason),
}

/// Returns a node that has the work on a task reviewed by a read-only agent in a new session: `job` reads the work from
/// the state, `done` creates the update from the review. An unreadable review is requested again; then a person is
/// asked.
pub fn reviewer<S: State, N: NodeId, C: Agents>(
    job: impl ReadJob<S, ReviewerJob>,
    done: impl MakeUpdate<S, ReviewResult>,
) -> WithOptions<impl Node<S, N, C>, S, N, C> {
    node(job, done)
}

impl<C: Agents> Job<C> for ReviewerJob {
    type Output = ReviewResult;

    async fn perform(mut self, ctx: &Ctx<C>) -> Result<ReviewResult, NodeError> {
        let changes = read_changes(&self, ctx).await?;
        let mut used = (Usage::default(), NewLimits::default());
        let mut all: Option<Review> = None;
        let mut said = vec![];
        let before = self.agent.model.clone();
        let mut ended = None;
        for kind in self.kinds.clone() {
            match request_review(&mut self, &kind, &changes, ctx, &mut used).await? {
                ReviewVerdict::Judged(review) => {
                    let kind = if self.kinds.len() > 1 { format!("{kind}: ") } else { String::new() };
                    said.push(kind + &review_text(&review));
                    all = Some(merge_reviews(all, review));
                }
                ReviewVerdict::Accepted => {}
                verdict @ (ReviewVerdict::Aborted
                | ReviewVerdict::Skipped
                | ReviewVerdict::Tampered(_)
                | ReviewVerdict::Cut(_)) => {
                    ended = Some(verdict);
                    break;
                }
            }
        }
        for line in said.into_iter().filter(|_| ended.is_none()) {
            ctx.emit(line).await; // once nothing can be asked any more: a body that asks runs again
        }
        let verdict = ended.unwrap_or_else(|| all.map_or(ReviewVerdict::Accepted, ReviewVerdict::Judged));
        let model = self.agent.model.filter(|model| before.as_ref() != Some(model));
        let (usage, raised) = used;
        Ok(ReviewResult { verdict, usage, model, raised })
    }

    fn options<S: State, N: NodeId>(options: NodeOptions<S, N, C>) -> NodeOptions<S, N, C> {
        options.asks::<ReviewUnavailable>().asks::<SessionRefused>().asks::<BudgetReached>()
    }
}

/// Requests one kind of review until it can be read or a person decides.
async fn request_review<C: Agents>(
    job: &mut ReviewerJob,
    kind: &str,
    changes: &ReviewChanges,
    ctx: &Ctx<C>,
    (usage, raised): &mut (Usage, NewLimits),
) -> Result<ReviewVerdict, NodeError> {
    for tries in 1.. {
        let key = format!("review/{kind}/{tries}");
        let question = SessionRefused { title: job.brief.title.clone(), ..SessionRefused::default() };
        let shown = &*job;
        let fresh = |key: String| async move { Ok(turn(shown, kind, changes, key)) };
        let first = turn(shown, kind, changes, key);
        let DecidedTurn { turned, model, then, .. } =
            first.take_or_ask::<Review, C, _, _>(ctx, question, fresh).await?;
        // Later reviews of this node use the model that a person chose.
        job.agent.model = model.or(job.agent.model.take());
        // Counts even if the review cannot be used.
        *usage += turned.usage;
        *raised = raised.latest(turned.raised);
        if let Some(cut @ CutReason::Stopped(_)) = turned.cut {
            return Ok(ReviewVerdict::Cut(cut));
        }
        // Takes precedence over every end but a stop of the group.
        if !turned.tampered.is_empty() {
            return Ok(ReviewVerdict::Tampered(turned.tampered));
        }
        if let Some(cut) = turned.cut {
            return Ok(ReviewVerdict::Cut(cut));
        }
        match GivenUp::of(then) {
            Some(GivenUp::Skip) => return Ok(ReviewVerdict::Skipped),
            Some(GivenUp::Abort) => return Ok(ReviewVerdict::Aborted),
            None => {}
        }
        let reason = match turned.answer {
            AgentAnswer::Given(review) => return Ok(ReviewVerdict::Judged(review)),
            AgentAnswer::Unusable(reason) => reason,
            AgentAnswer::SessionLost => "its session was lost".into(),
        };
        // Another new session first; after every second unreadable review a person decides.
        if tries % TRIES != 0 {
            continue;
        }
        let Brief { id, title, .. } = job.brief.clone();
        match ctx.interrupt(ReviewUnavailable { task: id, title, reason, tries })? {
            AfterMissingReview::Retry => {}
            AfterMissingReview::Accept => return Ok(ReviewVerdict::Accepted),
            AfterMissingReview::Abort => return Ok(ReviewVerdict::Aborted),
        }
    }
    Ok(ReviewVerdict::Aborted)
}

fn turn(job: &ReviewerJob, kind: &str, changes: &ReviewChanges, key: String) -> Turn {
    let work = ReviewedWork {
        kind,
        diff: &changes.all,
        delta: changes.delta.as_deref().unwrap_or_default(),
        checks: &job.checks,
        earlier: &job.open,
    };
    Turn {
        task: job.brief.id.clone(),
        phase: job.brief.judged_phase(),
        attempt: job.attempt,
        files: changes.files.clone(),
        together: job.together.clone(),
        about: (&job.brief).into(),
        ..Turn::new::<Review>(key, job.agent.clone(), Prompt::reviewer(&job.brief, &work), &job.folder)
    }
}

/// Formats a review as a line: the verdict, its severity, the most severe comment.
fn review_text(review: &Review) -> String {
    let verdict = if review.passes() { "approved" } else { "rejected" };
    let gravest = review.highest_severity();
    let severity = if gravest == CommentSeverity::None { String::new() } else { format!(" ({gravest})") };
    let Some(first) = review.comments.iter().rev().max_by_key(|comment| comment.severity) else {
        return format!("{verdict}{severity}");
    };
    let place = match (&first.file, first.line) {
        (Some(file), Some(line)) => format!("{file}:{line}: "),
        (Some(file), None) => format!("{file}: "),
        (None, _) => String::new(),
    };
    let issue = first.issue.trim().lines().next().unwrap_or_default();
    let more = match review.comments.len() {
        0 | 1 => String::new(),
        all => format!(" (and {} more)", all - 1),
    };
    format!("{verdict}{severity}: {place}{issue}{more}")
}

/// Merges two reviews: the result passes if both do.
fn merge_reviews(first: Option<Review>, second: Review) -> Review {
    let Some(mut all) = first else { return second };
    all.approved &= second.passes();
    all.severity = all.severity.max(second.highest_severity());
    all.comments.extend(second.comments);
    all.resolved_ids.extend(second.resolved_ids);
    all.unresolved_ids.extend(second.unresolved_ids);
    all
}

/// The changes that a reviewer is shown.
struct ReviewChanges {
    all: PromptDiff,
    delta: Option<String>,
    /// The files that hold them if they are long.
    files: Vec<PathBuf>,
}

async fn read_changes<C: Agents>(job: &ReviewerJob, ctx: &Ctx<C>) -> Result<ReviewChanges, NodeError> {
    let all = diff(ctx, "diff", &job.folder, &job.agent.long_diffs(), [&job.base, &job.tree]).await?;
    let before = job.last_reviewed.as_ref().filter(|before| **before != job.base && **before != job.tree);
    let delta = match before {
        Some(before) => Some(diff(ctx, "delta", &job.folder, &job.agent.long_diffs(), [before, &job.tree]).await?),
        None => None,
    };
    let files = [Some(&all), delta.as_ref()].into_iter().flatten().filter_map(PromptDiff::file).collect();
    let delta = delta.map(|delta| match delta {
        PromptDiff::Text(text) => text,
        PromptDiff::File { path, .. } => format!("(in the file {path})"),
    });
    Ok(ReviewChanges { all, delta, files })
}
