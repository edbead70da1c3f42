//! The rules of the workflow once more, over counts and names of files: what a run of a script must come to. Knows neither graph
//! nor git nor agent.

use std::collections::{BTreeMap, BTreeSet};

use superstep::nodes::{AfterHalt, WithoutReview};
use superstep::plan::Severity;
use superstep::workflows::task_based::{Mark, RunOutcome};
use superstep::workflows::{OnExhausted, RetrySession};

/// The files of a work tree, with their text.
pub(crate) type Files = BTreeMap<String, String>;

/// Everything that may differ between runs.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// What happens to each task at each attempt; after that, attempts are good.
    pub(crate) tasks: Vec<Vec<Attempt>>,
    /// The indexes of those that are approved; none: all.
    pub(crate) approved: Option<Vec<usize>>,
    pub(crate) limit: u32,
    pub(crate) on_exhausted: OnExhausted,
    pub(crate) retry_session: RetrySession,
    /// How many kinds of review there are.
    pub(crate) kinds: usize,
    pub(crate) final_review: bool,
    /// What a person says to halted tasks; after that, they abort.
    pub(crate) halts: Vec<AfterHalt>,
    /// And to reviews that cannot be read; after that, they abort.
    pub(crate) unreadable: Vec<WithoutReview>,
    /// Whether the run stops after each superstep, and goes on. Nothing else comes of it.
    pub(crate) stops: bool,
    /// The commit at which the process dies, from 1. Nothing else comes of that either.
    pub(crate) cut: Option<u64>,
}

/// What agents do at one attempt.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attempt {
    pub(crate) work: Work,
    /// What the developer says, call by call; after that, that it is done.
    pub(crate) says: Vec<Says>,
    /// What reviewers say, call by call; after that, yes. None: nothing that can be read.
    pub(crate) reviews: Vec<Option<Said>>,
}

/// What becomes of the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Work {
    /// The task's file is written anew, and nothing breaks.
    #[default]
    Written,
    /// It is written, and the task's command fails from then on.
    Broken,
    /// They stay.
    Untouched,
    /// The task's file is as the task found it, and nothing breaks.
    TakenBack,
}

/// What a developer says in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    Done,
    Blocked,
    NeedsInfo,
    /// Nothing that can be read.
    Nothing,
}

/// What a reviewer says in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) approved: bool,
    pub(crate) severity: Severity,
    /// How grave its only comment is.
    pub(crate) comment: Option<Severity>,
}

impl Said {
    fn passes(self) -> bool {
        let gravest = self.severity.max(self.comment.unwrap_or_default());
        self.approved && gravest < Severity::Critical
    }
}

/// What a run comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) outcome: Option<RunOutcome>,
    pub(crate) tasks: Vec<Line>,
    /// The task and the attempt of each commit, oldest first.
    pub(crate) commits: Vec<(String, u32)>,
    /// The same of all work that is kept apart.
    pub(crate) kept: BTreeSet<(String, u32)>,
    /// How often developers and reviewers were called.
    pub(crate) calls: [usize; 2],
    /// The names of the questions, in order.
    pub(crate) questions: Vec<&'static str>,
    /// The files at the end.
    pub(crate) files: Files,
}

/// Where a task stands.
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

/// What an attempt writes.
pub(crate) fn text(attempt: u32) -> String {
    format!("attempt {attempt}\n")
}

/// While it is there, the command of each task fails.
pub(crate) const BREAKS: &str = "broken.txt";

impl Script {
    pub(crate) fn attempt(&self, task: &str, attempt: u32) -> Attempt {
        let at = task.parse::<usize>().unwrap() - 1;
        self.tasks[at].get(attempt as usize - 1).cloned().unwrap_or_default()
    }

    /// What it comes to, by the rules; the repository begins with these files.
    pub(crate) fn ends(&self, files: Files) -> End {
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
    /// The files when the task began.
    base: Files,
    files: Files,
    halts: std::vec::IntoIter<AfterHalt>,
    unreadable: std::vec::IntoIter<WithoutReview>,
    end: End,
}

/// What an attempt came to.
enum Verdict {
    Passed,
    Failed,
    /// Trying again is no use.
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

    /// Until the task is closed, or the run ends.
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

    /// What becomes of a halted task.
    fn decision(&mut self) -> Result<AfterHalt, RunOutcome> {
        match self.script.on_exhausted {
            OnExhausted::Skip => return Ok(AfterHalt::Skip),
            OnExhausted::Fail => return Err(RunOutcome::Failed),
            OnExhausted::Halt => {}
        }
        loop {
            self.end.questions.push("halted");
            match self.halts.next().unwrap_or(AfterHalt::Abort) {
                AfterHalt::Retry { attempts: 0, .. } => {} // asked again
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

    fn develop(&mut self, says: Vec<Says>) {
        let mut says = says.into_iter().chain(std::iter::repeat(Says::Done));
        loop {
            let said = asked(&mut says, &mut self.end.calls[0], |said| *said != Says::Nothing);
            match said {
                Some(Says::Blocked | Says::NeedsInfo) => self.end.questions.push("question"),
                Some(Says::Done | Says::Nothing) | None => return,
            }
        }
    }

    fn review(&mut self, said: Vec<Option<Said>>) -> Verdict {
        let yes = Said { approved: true, severity: Severity::None, comment: None };
        let mut said = said.into_iter().chain(std::iter::repeat(Some(yes)));
        let mut passes = true;
        for _ in 0..self.script.kinds {
            let review = loop {
                let first = asked(&mut said, &mut self.end.calls[1], Option::is_some).flatten();
                let review = first.or_else(|| asked(&mut said, &mut self.end.calls[1], Option::is_some).flatten());
                if review.is_some() {
                    break review;
                }
                self.end.questions.push("review_unavailable");
                match self.unreadable.next().unwrap_or(WithoutReview::Abort) {
                    WithoutReview::Retry => {}
                    WithoutReview::Accept => break None,
                    WithoutReview::Abort => return Verdict::Aborted,
                }
            };
            passes &= review.is_none_or(Said::passes);
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

/// What is said in a turn: once more if it cannot be read, and then never mind.
fn asked<T>(mut said: impl Iterator<Item = T>, calls: &mut usize, can_be_read: impl Fn(&T) -> bool) -> Option<T> {
    said.by_ref().take(2).inspect(|_| *calls += 1).find(can_be_read)
}
