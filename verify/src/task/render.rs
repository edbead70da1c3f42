//! Renders a task as Markdown, and the template of a new task.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_norway::{Mapping, Value};

use super::id::SpecId;
use super::patch::VerifierPatch;
use super::policy::Policy;
use super::spec::{AgentOptions, Constraint, GitOptions, Origin, Relationships, TaskSpec};

/// The serialized front matter.
#[derive(Serialize)]
struct Front<'s> {
    id: &'s SpecId,
    title: &'s str,
    #[serde(skip_serializing_if = "Option::is_none")]
    constraints: Option<Constraints>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    acceptance: &'s [String],
    policy: &'s Policy,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    verifier_overrides: &'s BTreeMap<String, VerifierPatch>,
    #[serde(skip_serializing_if = "is_default")]
    relationships: Relationships,
    #[serde(skip_serializing_if = "is_default")]
    do_agent: AgentOptions,
    #[serde(skip_serializing_if = "is_default")]
    git: GitOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'s Origin>,
}

/// The serialized constraints.
#[derive(Serialize)]
#[serde(untagged)]
enum Constraints {
    List(Vec<String>),
    Map(Mapping),
}

impl TaskSpec {
    /// Returns the task as Markdown with front matter, which [`parse`](Self::parse) reads back as the same task.
    #[must_use]
    pub fn render(&self) -> String {
        let mut relationships = self.relationships.clone();
        let front = Front {
            id: &self.id,
            title: &self.title,
            constraints: constraints(&self.constraints),
            acceptance: &self.acceptance,
            policy: &self.policy,
            verifier_overrides: &self.verifier_overrides,
            origin: relationships.origin.take().and(self.relationships.origin.as_ref()),
            relationships,
            do_agent: self.do_agent.clone(),
            git: self.git.clone(),
        };
        let front = serde_norway::to_string(&front).unwrap_or_default();
        format!("---\n{front}---\n\n{}\n", self.description)
    }

    /// Returns the text of a new task file: required keys, and every other key with its default as a comment.
    #[must_use]
    pub fn template(id: &SpecId) -> String {
        TEMPLATE.replace("{id}", id.as_str())
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Returns constraints as a map if all have names, otherwise as a list.
fn constraints(all: &[Constraint]) -> Option<Constraints> {
    let named = || all.iter().map(|constraint| Some((constraint.name.as_deref()?, constraint.text.as_str())));
    match named().collect::<Option<Vec<_>>>() {
        _ if all.is_empty() => None,
        None => Some(Constraints::List(all.iter().map(sentence).collect())),
        Some(named) => Some(Constraints::Map(mapping(&named))),
    }
}

/// Returns a map from each name to its texts.
fn mapping(named: &[(&str, &str)]) -> Mapping {
    let texts =
        |name: &str| named.iter().filter(|(other, _)| *other == name).map(|(_, text)| *text).collect::<Vec<_>>();
    let value = |name: &str| match texts(name).as_slice() {
        [text] => Value::from(*text),
        texts => Value::from(texts.to_vec()),
    };
    named.iter().map(|(name, _)| (Value::from(*name), value(name))).collect()
}

fn sentence(constraint: &Constraint) -> String {
    match &constraint.name {
        Some(name) => format!("{name}: {}", constraint.text),
        None => constraint.text.clone(),
    }
}

const TEMPLATE: &str = "\
---
id: {id}
title: What is to be done, in one line
acceptance:                        # what must be true at the end, and can be seen in the files
  - The first criterion
constraints:                       # what the work must respect: a list, or a map such as `language: Rust`
  - Change no public name

# The keys below have their defaults.
# policy:
#   max_attempts: 3                # turns of the agent, the first included; at most 10
#   max_depth: 3                   # at this depth a task is not split any more; at most 5
#   split_on_repeat_errors: 2      # split when an error was seen in so many attempts; at most 5
#   warn_triggers_retry: false     # warnings are worth another attempt
#   max_children: 5                # of one split; at most 10
#   parallel_children: 1           # at the same time; at most 10
# verifier_overrides:              # by id: parts of an entry of verifiers.yml
#   test:
#     config:
#       timeout_sec: 120           # at most 600
# relationships:
#   parent_id: an-id               # default: none, as for the next three
#   parent_snapshot: the parent in a few words
#   next_ids: [an-id]
#   next_tasks:
#     - What comes next
# do_agent:                        # default: as the profile says
#   allowed_tools: [read, write]
#   permission_mode: acceptEdits   # default, acceptEdits, plan, bypassPermissions
#   max_turns: 100                 # requests to the model in one attempt
#   driver: api
#   model: a-model
# git:
#   branch: a-branch               # default: as the profile says
#   commit_on_success: true        # one commit when the task is done
#   attempts: refs                 # commits of attempts: refs, branch
---

What is to be done, and why, in as many words as it takes.
";
