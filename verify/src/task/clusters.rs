//! A split without a model: one child for each group of errors with a likely common cause.

use super::proposal::{ProposedChild, SplitProposal};
use super::spec::TaskSpec;
use super::split::{Split, SplitProblem, length};
use crate::findings::{Cluster, Finding, Fingerprint, clusters_at_most};

/// The maximum number of errors in a goal, and the maximum length of each in characters.
const MAX_MESSAGES: usize = 20;
const MAX_MESSAGE: usize = 300;

impl Split<'_> {
    /// Returns a child for each group of errors with a likely common cause, at most as many as the policy allows.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check): a repeated error that is not in `errors`, a parent too small for smaller children.
    pub fn by_errors(&self, errors: &[Finding]) -> Result<Vec<TaskSpec>, Vec<SplitProblem>> {
        let clusters = divided(errors, self.parent.policy.max_children as usize);
        let children = clusters.iter().enumerate().map(|(at, cluster)| self.proposed(at + 1, cluster)).collect();
        let children = self.check(&SplitProposal { children, ..SplitProposal::default() })?;
        let problems = self.undivided(&children);
        if problems.is_empty() { Ok(children) } else { Err(problems) }
    }

    fn proposed(&self, number: usize, cluster: &Cluster) -> ProposedChild {
        let acceptance = self.unmet(cluster);
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
    fn unmet(&self, cluster: &Cluster) -> Vec<String> {
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

/// Returns a goal shorter than `length` characters, if possible; the number makes it unique among its siblings.
fn short_goal(number: usize, cluster: &Cluster, length: usize) -> String {
    let first = cluster.fingerprints.first().map(Fingerprint::short).unwrap_or_default();
    let goals = [
        format!("{number}. Fix {}", cluster.title),
        format!("{number}. Fix {}", cluster.files.join(", ")),
        format!("{number}. Fix {first}"),
    ];
    let fits = |goal: &&String| !goal.ends_with("Fix ") && super::split::length(goal) < length;
    goals.iter().find(fits).unwrap_or(&goals[0]).clone()
}

/// Returns the errors in groups. A single group is divided by file, or else into its errors: a child that has to remove
/// all of them would not be smaller than its parent.
fn divided(errors: &[Finding], most: usize) -> Vec<Cluster> {
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
