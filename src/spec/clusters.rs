//! A split without a model: a child for each group of errors that likely have one cause.

use super::proposal::{ProposedChild, SplitProposal};
use super::split::{Split, SplitProblem, length};
use super::task::TaskSpec;
use crate::findings::{Cluster, Finding, clusters_at_most};

/// How many errors a goal spells out, and how many characters of each.
const LISTED: usize = 20;
const LONGEST: usize = 300;

impl Split<'_> {
    /// Returns a child for each group of errors that likely have one cause, at most as many as the policy allows.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check): an error that is not among these, a parent than which no child can be smaller.
    pub fn by_errors(&self, errors: &[Finding]) -> Result<Vec<TaskSpec>, Vec<SplitProblem>> {
        let clusters = clusters_at_most(errors, self.parent.policy.max_children as usize);
        let children = clusters.iter().enumerate().map(|(at, cluster)| self.proposed(at + 1, cluster)).collect();
        self.check(&SplitProposal { children, ..SplitProposal::default() })
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

    /// Returns the parent's criteria that the errors are about.
    fn unmet(&self, cluster: &Cluster) -> Vec<String> {
        let is_unmet =
            |criterion: &&String| cluster.messages.iter().any(|message| message.contains(criterion.as_str()));
        self.parent.acceptance.iter().filter(is_unmet).cloned().collect()
    }
}

fn goal(cluster: &Cluster) -> String {
    let message = |message: &String| format!("\n- {}", message.chars().take(LONGEST).collect::<String>());
    let mut goal = "Fix these errors, and change nothing that has nothing to do with them:\n".to_owned();
    goal.extend(cluster.messages.iter().take(LISTED).map(message));
    if cluster.messages.len() > LISTED {
        goal.push_str(&format!("\n- and {} more", cluster.messages.len() - LISTED));
    }
    goal
}

/// Returns a goal of fewer characters than `length`, with a number that tells it from its siblings.
fn short_goal(number: usize, cluster: &Cluster, length: usize) -> String {
    let goal = format!("{number}. Fix {}", cluster.title);
    goal.chars().take(length.saturating_sub(1)).collect()
}
