//! An independent implementation of the workflow's rules, over counts and names of files: the expected end of a run of
//! a script. Knows neither graph nor git nor agent.

use std::collections::{BTreeMap, BTreeSet};

use superstep::nodes::{AfterHalt, AfterMissingReview};
use superstep::plan::CommentSeverity;
use superstep_workflows::task_based::{Mark, RunOutcome};
use superstep_workflows::{OnExhausted, RetrySession};

/// The files of a work tree, with their text.
pub(crate) type Files = BTreeMap<String, String>;

/// Everything that varies between runs.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// The attempts of each task; later ones pass.
    pub(crate) tasks: Vec<Vec<Attempt>>,
    /// The indexes of the approved tasks; `None` for all.
    pub(crate) approved: Option<Vec<usize>>,
    pub(crate) limit: u32,
    pub(crate) on_exhausted: OnExhausted,
    pub(crate) retry_session: RetrySession,
    /// Number of kinds of review.
    pub(crate) kinds: usize,
    pub(crate) final_review: bool,
    /// The answers of a person to halted tasks; later ones are abort.
    pub(crate) halts: Vec<AfterHalt>,
    /// The answers to unreadable reviews; later ones are abort.
    pub(crate) unreadable: Vec<AfterMissingReview>,
    /// Set if the run stops after each superstep, and resumes, with the same result.
    pub(crate) stops: bool,
    /// The commit at which the process dies, from 1, with the same result.
    pub(crate) cut: Option<u64>,
}

/// The actions of agents in one attempt.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attempt {
    pub(crate) work: Work,
    /// The developer's replies, call by call; later ones are `Done`.
    pub(crate) says: Vec<Reply>,
    /// The reviewers' opinions, call by call; later ones approve. `None` is unreadable.
    pub(crate) reviews: Vec<Option<Opinion>>,
}

/// The change of the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Work {
    /// The task's file is written, and nothing breaks.
    #[default]
    Written,
    /// The task's file is written, and the task's command fails from then on.
    Broken,
    /// No change.
    Untouched,
    /// The task's file is restored, and nothing breaks.
    TakenBack,
}

/// A developer's reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Done,
    Blocked,
    NeedsInfo,
    /// An unreadable reply.
    Nothing,
}

/// A reviewer's opinion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opinion {
    pub(crate) approved: bool,
    pub(crate) severity: CommentSeverity,
    /// Severity of its only comment.
    pub(crate) comment: Option<CommentSeverity>,
}

impl Opinion {
    fn passes(self) -> bool {
        let severity = self.severity.max(self.comment.unwrap_or_default());
        self.approved && severity < CommentSeverity::Critical
    }
}

/// The end of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) outcome: Option<RunOutcome>,
    pub(crate) tasks: Vec<Line>,
    /// The task and the attempt of each commit, oldest first.
    pub(crate) commits: Vec<(String, u32)>,
    /// The task and the attempt of all kept work.
    pub(crate) kept: BTreeSet<(String, u32)>,
    /// Numbers of calls of developers and reviewers.
    pub(crate) calls: [usize; 2],
    /// The names of the questions, in order.
    pub(crate) questions: Vec<&'static str>,
    /// The files at the end.
    pub(crate) files: Files,
}

/// The progress of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) mark: Mark,
    pub(crate) attempts: u32,
    pub(crate) reviews: u32,
    pub(crate) committed: bool,
}

/// The number of a task in the plan.
pub(crate) fn id(at: usize) -> String {
    (at + 1).to_string()
}

/// The file of a task.
pub(crate) fn file(id: &str) -> String {
    format!("part-{id}.txt")
}

/// The text that an attempt writes.
pub(crate) fn text(attempt: u32) -> String {
    format!("attempt {attempt}\n")
}

/// While this file exists, the command of each task fails.
pub(crate) const BREAKS: &str = "broken.txt";

impl Script {
    pub(crate) fn attempt(&self, task: &str, attempt: u32) -> Attempt {
        let at = task.parse::<usize>().unwrap() - 1;
        self.tasks[at].get(attempt as usize - 1).cloned().unwrap_or_default()
    }

    /// Returns the expected end, for a repository with these files.
    pub(crate) fn expected_end(&self, files: Files) -> End {
        let mut run = Run {
            script: self,
            base: files.clone(),
            files: files.clone(),
            halts: self.halts.clone().into_iter(),
            unreadable: self.unreadable.clone().into_iter(),
            end: End { questions: vec!["approval"], ..End::default() },
        };
        let outcome = run.tasks();
        if outcome == RunOutcome::Completed && self.final_review && run.files != files {
            run.end.calls[1] += 1;
        }
        End { outcome: Some(outcome), files: run.files, ..run.end }
    }
}

/// A run under way.
struct Run<'s> {
    script: &'s Script,
    /// The files when the task started.
    base: Files,
    files: Files,
    halts: std::vec::IntoIter<AfterHalt>,
    unreadable: std::vec::IntoIter<AfterMissingReview>,
    end: End,
}

/// The result of an attempt.
enum Verdict {
    Passed,
    Failed,
    /// Another attempt would not help.
    Stuck,
    Aborted,
}

impl Run<'_> {
    fn tasks(&mut self) -> RunOutcome {
        let is_approved = |at: usize| self.script.approved.as_ref().is_none_or(|approved| approved.contains(&at));
        let mark = |at| if is_approved(at) { Mark::Pending } else { Mark::Skipped };
        self.end.tasks = (0..self.script.tasks.len()).map(|at| Line { mark: mark(at), ..Line::default() }).collect();
        for at in 0..self.script.tasks.len() {
            if self.end.tasks[at].mark == Mark::Skipped {
                continue;
            }
            if let Some(ended) = self.task(at) {
                return ended;
            }
            self.base = self.files.clone();
        }
        RunOutcome::Completed
    }

    /// Runs a task until it is closed, or the run ends.
    fn task(&mut self, at: usize) -> Option<RunOutcome> {
        let (mut allowed, mut judged, mut empty) = (self.script.limit, 0, 0);
        loop {
            let verdict = self.attempt(at, &mut judged, &mut empty);
            match verdict {
                Verdict::Passed => break self.commit(at),
                Verdict::Failed if judged < allowed => continue,
                Verdict::Failed | Verdict::Stuck | Verdict::Aborted => {}
            }
            self.end.tasks[at].mark = Mark::Halted;
            self.keep(at);
            if matches!(verdict, Verdict::Aborted) {
                return Some(RunOutcome::Cancelled);
            }
            match self.decision() {
                Ok(AfterHalt::Retry { attempts, .. }) => (allowed, empty) = (judged + attempts, 0),
                Ok(AfterHalt::Accept) => break self.commit(at),
                Ok(AfterHalt::Skip) => {
                    self.files = self.base.clone();
                    self.end.tasks[at].mark = Mark::Skipped;
                    break;
                }
                Ok(AfterHalt::Abort | AfterHalt::EditPlan { .. }) => return Some(RunOutcome::Cancelled),
                Err(ended) => return Some(ended),
            }
        }
        None
    }

    /// Returns the decision on a halted task.
    fn decision(&mut self) -> Result<AfterHalt, RunOutcome> {
        match self.script.on_exhausted {
            OnExhausted::Skip => return Ok(AfterHalt::Skip),
            OnExhausted::Fail => return Err(RunOutcome::Failed),
            OnExhausted::Halt => {}
        }
        loop {
            self.end.questions.push("halted");
            match self.halts.next().unwrap_or(AfterHalt::Abort) {
                AfterHalt::Retry { attempts: 0, .. } => {} // requested again
                decision => return Ok(decision),
            }
        }
    }

    fn attempt(&mut self, at: usize, judged: &mut u32, empty: &mut u32) -> Verdict {
        if self.end.tasks[at].attempts > 0 {
            self.keep(at);
            if self.script.retry_session == RetrySession::FreshReset {
                self.files = self.base.clone();
            }
        }
        self.end.tasks[at].attempts += 1;
        self.end.tasks[at].mark = Mark::Running;
        let attempt = self.script.attempt(&id(at), self.end.tasks[at].attempts);
        self.work(at, attempt.work);
        self.develop(attempt.says);
        let is_empty = self.files == self.base;
        *empty = if is_empty { *empty + 1 } else { 0 };
        if is_empty || self.files.contains_key(BREAKS) {
            *judged += 1;
            return if *empty >= 2 { Verdict::Stuck } else { Verdict::Failed };
        }
        *judged += 1;
        self.end.tasks[at].reviews += 1;
        self.review(attempt.reviews)
    }

    fn work(&mut self, at: usize, work: Work) {
        let (name, attempt) = (file(&id(at)), self.end.tasks[at].attempts);
        match work {
            Work::Written | Work::Broken => drop(self.files.insert(name, text(attempt))),
            Work::TakenBack => drop(self.files.remove(&name)),
            Work::Untouched => return,
        }
        match work {
            Work::Broken => drop(self.files.insert(BREAKS.into(), text(attempt))),
            _ => drop(self.files.remove(BREAKS)),
        }
    }

    fn develop(&mut self, says: Vec<Reply>) {
        let mut says = says.into_iter().chain(std::iter::repeat(Reply::Done));
        loop {
            let reply = readable(&mut says, &mut self.end.calls[0], |reply| *reply != Reply::Nothing);
            match reply {
                Some(Reply::Blocked | Reply::NeedsInfo) => self.end.questions.push("question"),
                Some(Reply::Done | Reply::Nothing) | None => return,
            }
        }
    }

    fn review(&mut self, given: Vec<Option<Opinion>>) -> Verdict {
        let yes = Opinion { approved: true, severity: CommentSeverity::None, comment: None };
        let mut given = given.into_iter().chain(std::iter::repeat(Some(yes)));
        let mut passes = true;
        for _ in 0..self.script.kinds {
            let review = loop {
                let first = readable(&mut given, &mut self.end.calls[1], Option::is_some).flatten();
                let review = first.or_else(|| readable(&mut given, &mut self.end.calls[1], Option::is_some).flatten());
                if review.is_some() {
                    break review;
                }
                self.end.questions.push("review_unavailable");
                match self.unreadable.next().unwrap_or(AfterMissingReview::Abort) {
                    AfterMissingReview::Retry => {}
                    AfterMissingReview::Accept => break None,
                    AfterMissingReview::Abort => return Verdict::Aborted,
                }
            };
            passes &= review.is_none_or(Opinion::passes);
        }
        if passes { Verdict::Passed } else { Verdict::Failed }
    }

    fn keep(&mut self, at: usize) {
        if self.files != self.base {
            self.end.kept.insert((id(at), self.end.tasks[at].attempts));
        }
    }

    fn commit(&mut self, at: usize) {
        let line = &mut self.end.tasks[at];
        line.mark = Mark::Done;
        if self.files != self.base {
            line.committed = true;
            self.end.commits.push((id(at), line.attempts));
        }
    }
}

/// Returns the readable reply of a turn: after an unreadable one it is requested once more, then given up.
fn readable<T>(mut all: impl Iterator<Item = T>, calls: &mut usize, can_be_read: impl Fn(&T) -> bool) -> Option<T> {
    all.by_ref().take(2).inspect(|_| *calls += 1).find(can_be_read)
}
