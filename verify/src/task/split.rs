//! Splits of a task: validates what a model proposed and creates the child tasks; without a model, one child for each group of errors with a
//! likely common cause.

use std::collections::BTreeSet;

use superstep_base::gather;

use super::id::SpecId;
use super::proposal::{ProposedChild, SplitProposal};
use super::spec::{NextTask, Origin, Relationships, TaskSpec};
use crate::findings::{Cluster, Finding, Fingerprint, clusters_at_most};

/// The maximum number of a child agent's turns.
const CHILD_ATTEMPTS: u32 = 2;

/// The minimum length of an abbreviated fingerprint.
const MIN_PREFIX: usize = 8;

/// The context in which a task is split.
#[derive(Clone, Copy, Debug)]
pub struct SplitContext<'s> {
    /// The task.
    pub parent: &'s TaskSpec,
    /// The [hashes](TaskSpec::hash) of its ancestors.
    pub lineage: &'s [String],
    /// The errors that children must cover.
    pub repeated: &'s [Fingerprint],
    /// The attempt after which the task is split.
    pub attempt: u32,
    /// The reason for the split.
    pub reason: &'s str,
}

/// One reason why a split is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SplitProblem {
    /// There are no children.
    #[error("the split has no children")]
    Empty,
    /// There are too many children.
    #[error("the split has {children} children; at most {most} are allowed")]
    TooMany {
        /// The number of children.
        children: usize,
        /// The maximum.
        most: u32,
    },
    /// A child has no title or no goal.
    #[error("child {child} has no {part}")]
    Blank {
        /// The number of the child, from 1.
        child: usize,
        /// The missing part.
        part: &'static str,
    },
    /// No child covers an error.
    #[error("no child covers the error {}", fingerprint.short())]
    Uncovered {
        /// The error.
        fingerprint: Fingerprint,
    },
    /// A child is as large as its parent.
    #[error(
        "child {child} (`{title}`) is not smaller than its parent: give it fewer acceptance criteria than {criteria}, or no more \
         of them and a goal of fewer than {length} characters"
    )]
    NotSmaller {
        /// The number of the child, from 1.
        child: usize,
        /// Its title.
        title: String,
        /// The number of the parent's acceptance criteria.
        criteria: usize,
        /// The length of the parent's goal, in characters.
        length: usize,
    },
    /// A child is the same task as one of its ancestors.
    #[error("child {child} (`{title}`) is the same task as one above it: it has the same goal and the same criteria")]
    Ancestor {
        /// The number of the child, from 1.
        child: usize,
        /// Its title.
        title: String,
    },
    /// A child covers all errors that its parent was created for.
    #[error("child {child} (`{title}`) is to remove all errors for which its parent was split off: nothing is divided")]
    Undivided {
        /// The number of the child, from 1.
        child: usize,
        /// Its title.
        title: String,
    },
    /// Two children are the same task.
    #[error("children {first} and {second} are the same task")]
    Twins {
        /// The number of the first, from 1.
        first: usize,
        /// The number of the second.
        second: usize,
    },
}

impl TaskSpec {
    /// Returns `true` if this task has fewer acceptance criteria than the other, or the same number and a shorter goal.
    #[must_use]
    pub fn is_smaller_than(&self, other: &Self) -> bool {
        let (own, others) = (self.acceptance.len(), other.acceptance.len());
        own < others || own == others && length(self.goal()) < length(other.goal())
    }
}

/// Returns the length of a text in characters, with whitespace collapsed.
fn length(text: &str) -> usize {
    let words = text.split_whitespace().map(|word| word.chars().count() + 1);
    words.sum::<usize>().saturating_sub(1)
}

impl SplitContext<'_> {
    /// Returns the children of a proposal as tasks.
    ///
    /// # Errors
    ///
    /// Every [`SplitProblem`]: an error that no child covers, a child that is not smaller than its parent or equal to
    /// an ancestor, too many children.
    pub fn check(&self, proposal: &SplitProposal) -> Result<Vec<TaskSpec>, Vec<SplitProblem>> {
        let children = self.children(&proposal.children);
        let mut problems = self.problems_of_all(&children);
        problems.extend(children.iter().enumerate().flat_map(|(at, child)| self.problems_of(at + 1, child)));
        problems.extend(find_twins(&children));
        if problems.is_empty() { Ok(children) } else { Err(problems) }
    }

    fn problems_of_all(&self, children: &[TaskSpec]) -> Vec<SplitProblem> {
        let most = self.parent.policy.max_children;
        let covered: BTreeSet<&Fingerprint> = gather(children.iter().flat_map(covered_errors));
        let uncovered = self.repeated.iter().filter(|error| !covered.contains(error));
        let empty = children.is_empty().then_some(SplitProblem::Empty);
        let many = (children.len() > most as usize).then_some(SplitProblem::TooMany { children: children.len(), most });
        let uncovered = uncovered.map(|fingerprint| SplitProblem::Uncovered { fingerprint: fingerprint.clone() });
        empty.into_iter().chain(many).chain(uncovered).collect()
    }

    fn problems_of(&self, child: usize, spec: &TaskSpec) -> Vec<SplitProblem> {
        let parts = [("title", &spec.title), ("goal", &spec.description)];
        let blank = parts.into_iter().filter(|(_, text)| text.is_empty());
        let mut problems: Vec<_> = blank.map(|(part, _)| SplitProblem::Blank { child, part }).collect();
        let hash = spec.hash();
        if hash == self.parent.hash() || self.lineage.contains(&hash) {
            problems.push(SplitProblem::Ancestor { child, title: spec.title.clone() });
        } else if !spec.is_smaller_than(self.parent) {
            let (title, length) = (spec.title.clone(), length(self.parent.goal()));
            problems.push(SplitProblem::NotSmaller { child, title, criteria: self.parent.acceptance.len(), length });
        }
        problems
    }

    /// Returns a problem for each child that covers all errors that its parent was created for.
    fn undivided_children(&self, children: &[TaskSpec]) -> Vec<SplitProblem> {
        let all: BTreeSet<&Fingerprint> = gather(covered_errors(self.parent).iter());
        let is_undivided = |child: &TaskSpec| !all.is_empty() && all.is_subset(&gather(covered_errors(child).iter()));
        let problem = |(child, spec): (usize, &TaskSpec)| {
            is_undivided(spec).then(|| SplitProblem::Undivided { child, title: spec.title.clone() })
        };
        (1..).zip(children).filter_map(problem).collect()
    }

    fn children(&self, proposed: &[ProposedChild]) -> Vec<TaskSpec> {
        let child =
            |(at, child): (usize, &ProposedChild)| self.child(at, child, proposed.get(at + 1..).unwrap_or_default());
        proposed.iter().enumerate().map(child).collect()
    }

    /// Creates the child at an index of a proposal; `later` are the ones after it.
    fn child(&self, at: usize, child: &ProposedChild, later: &[ProposedChild]) -> TaskSpec {
        let id = self.parent.id.child(at + 1);
        let mut policy = self.parent.policy.clone();
        policy.max_attempts = CHILD_ATTEMPTS;
        TaskSpec {
            acceptance: clean_all(&child.acceptance),
            constraints: self.parent.constraints.clone(),
            policy,
            verifier_overrides: self.parent.verifier_overrides.clone(),
            relationships: self.relationships(at, child, later),
            do_agent: self.parent.do_agent.clone(),
            git: self.parent.git.clone(),
            ..TaskSpec::new(id, one_line(&child.title), clean(&child.goal))
        }
    }

    fn relationships(&self, at: usize, child: &ProposedChild, later: &[ProposedChild]) -> Relationships {
        let ids: Vec<SpecId> = (1..=later.len()).map(|step| self.parent.id.child(at + 1 + step)).collect();
        let next = |(id, later): (&SpecId, &ProposedChild)| NextTask {
            id: Some(id.to_string()),
            title: one_line(&later.title),
            description: String::new(),
        };
        Relationships {
            parent_id: Some(self.parent.id.to_string()),
            parent_snapshot: Some(clean(&format!("{}\n\n{}", self.parent.title, self.parent.description))),
            next_ids: ids.iter().map(SpecId::to_string).collect(),
            next_tasks: ids.iter().zip(later).filter(|(_, later)| !later.title.trim().is_empty()).map(next).collect(),
            origin: Some(self.origin(child)),
        }
    }

    fn origin(&self, child: &ProposedChild) -> Origin {
        Origin {
            parent_id: self.parent.id.clone(),
            fingerprints: self.repeated.iter().filter(|error| names(child, error)).cloned().collect(),
            attempt: self.attempt,
            reason: clean(self.reason),
            files: clean_all(&child.files),
            findings: vec![],
        }
    }
}

/// Returns `true` if the proposed child covers the error.
fn names(child: &ProposedChild, error: &Fingerprint) -> bool {
    let is_name = |name: &&str| name.len() >= MIN_PREFIX && error.as_str().starts_with(*name);
    child.covers_fingerprints.iter().map(|name| name.trim().trim_end_matches('…')).any(|name| is_name(&name))
}

fn covered_errors(child: &TaskSpec) -> &[Fingerprint] {
    child.relationships.origin.as_ref().map_or(&[], |origin| &origin.fingerprints)
}

fn find_twins(children: &[TaskSpec]) -> Vec<SplitProblem> {
    let hashes: Vec<String> = children.iter().map(TaskSpec::hash).collect();
    let twin = |second: usize| {
        let first = hashes.iter().take(second).position(|hash| Some(hash) == hashes.get(second))?;
        Some(SplitProblem::Twins { first: first + 1, second: second + 1 })
    };
    (0..hashes.len()).filter_map(twin).collect()
}

/// Returns a text on one line, without control characters.
fn one_line(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a text without null characters and surrounding whitespace.
fn clean(text: &str) -> String {
    text.replace('\0', "").trim().to_owned()
}

fn clean_all(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| clean(text)).filter(|text| !text.is_empty()).collect()
}

/// The maximum number of errors in a goal, and the maximum length of each in characters.
const MAX_MESSAGES: usize = 20;
const MAX_MESSAGE: usize = 300;

impl SplitContext<'_> {
    /// Returns a child for each group of errors with a likely common cause, at most as many as the policy allows.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check): a repeated error that is not in `errors`, a parent too small for smaller children.
    pub fn by_errors(&self, errors: &[Finding]) -> Result<Vec<TaskSpec>, Vec<SplitProblem>> {
        let clusters = divide(errors, self.parent.policy.max_children as usize);
        let children = clusters.iter().enumerate().map(|(at, cluster)| self.propose_child(at + 1, cluster)).collect();
        let children = self.check(&SplitProposal { children, ..SplitProposal::default() })?;
        let problems = self.undivided_children(&children);
        if problems.is_empty() { Ok(children) } else { Err(problems) }
    }

    fn propose_child(&self, number: usize, cluster: &Cluster) -> ProposedChild {
        let acceptance = self.unmet_criteria(cluster);
        let is_fewer = acceptance.len() < self.parent.acceptance.len();
        let goal = if is_fewer { goal(cluster) } else { short_goal(number, cluster, length(self.parent.goal())) };
        ProposedChild {
            title: format!("Fix {}", cluster.title),
            goal,
            acceptance,
            files: cluster.files.clone(),
            covers_fingerprints: cluster.fingerprints.iter().map(ToString::to_string).collect(),
        }
    }

    /// Returns the parent's criteria that the error messages mention.
    fn unmet_criteria(&self, cluster: &Cluster) -> Vec<String> {
        let is_unmet =
            |criterion: &&String| cluster.messages.iter().any(|message| message.contains(criterion.as_str()));
        self.parent.acceptance.iter().filter(is_unmet).cloned().collect()
    }
}

fn goal(cluster: &Cluster) -> String {
    let message = |message: &String| format!("\n- {}", message.chars().take(MAX_MESSAGE).collect::<String>());
    let mut goal = "Fix these errors, and change nothing that has nothing to do with them:\n".to_owned();
    goal.extend(cluster.messages.iter().take(MAX_MESSAGES).map(message));
    if cluster.messages.len() > MAX_MESSAGES {
        goal.push_str(&format!("\n- and {} more", cluster.messages.len() - MAX_MESSAGES));
    }
    goal
}

/// Returns a goal shorter than `limit` characters, if possible; the number makes it unique among its siblings.
fn short_goal(number: usize, cluster: &Cluster, limit: usize) -> String {
    let first = cluster.fingerprints.first().map(Fingerprint::short).unwrap_or_default();
    let goals = [
        format!("{number}. Fix {}", cluster.title),
        format!("{number}. Fix {}", cluster.files.join(", ")),
        format!("{number}. Fix {first}"),
    ];
    let fits = |goal: &&String| !goal.ends_with("Fix ") && length(goal) < limit;
    goals.iter().find(fits).unwrap_or(&goals[0]).clone()
}

/// Returns the errors in groups. A single group is divided by file, or else into its errors: a child that has to remove
/// all of them would not be smaller than its parent.
fn divide(errors: &[Finding], most: usize) -> Vec<Cluster> {
    let clusters = clusters_at_most(errors, most);
    if clusters.len() != 1 || most < 2 {
        return clusters;
    }
    let by_file = groups(errors, |finding| finding.evidence.file.clone().unwrap_or_default());
    let groups = if by_file.len() > 1 { by_file } else { groups(errors, |finding| finding.fingerprint.to_string()) };
    let size = groups.len().div_ceil(most).max(1);
    groups.chunks(size).flat_map(|chunk| clusters_at_most(&chunk.concat(), 1)).collect()
}

/// Groups errors by a key, in the order of the first occurrence of each key.
fn groups(errors: &[Finding], key: impl Fn(&Finding) -> String) -> Vec<Vec<Finding>> {
    let mut groups: Vec<(String, Vec<Finding>)> = vec![];
    for error in errors {
        let key = key(error);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(error.clone()),
            None => groups.push((key, vec![error.clone()])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}
