//! Splits: the tasks of children, refused proposals with their reasons, and proposals made without a model.

use proptest::prelude::*;
use rstest::rstest;
use superstep::findings::{Finding, Fingerprint, Severity};
use superstep::spec::{Policy, ProposedChild, SplitContext, SplitProblem, SplitProposal, TaskSpec};

use crate::attempts::finding;

const GOAL: &str = "Orders can be cancelled until they are shipped, and every customer is told by mail.";

fn parent() -> TaskSpec {
    let mut parent = TaskSpec::new("task-1".parse().unwrap(), "Cancel orders", GOAL);
    parent.acceptance = vec!["Cancelling works".to_owned(), "A mail is sent".to_owned()];
    parent.policy = Policy { max_attempts: 4, max_depth: 2, max_children: 2, ..Policy::default() };
    parent
}

fn errors() -> Vec<Fingerprint> {
    ["a", "b"].map(|letter| Fingerprint::from(letter.repeat(32))).into()
}

fn child(title: &str, criteria: usize, covers: &[&str]) -> ProposedChild {
    ProposedChild {
        title: title.to_owned(),
        goal: format!("{title}, as short as that."),
        acceptance: (0..criteria).map(|number| format!("criterion {number}")).collect(),
        covers_fingerprints: covers.iter().map(ToString::to_string).collect(),
        ..ProposedChild::default()
    }
}

fn check(parent: &TaskSpec, lineage: &[String], children: Vec<ProposedChild>) -> Result<Vec<TaskSpec>, String> {
    let proposal = SplitProposal { children, ..SplitProposal::default() };
    split(parent, lineage, &errors(), |split| split.check(&proposal))
}

fn split(
    parent: &TaskSpec,
    lineage: &[String],
    repeated: &[Fingerprint],
    make: impl Fn(SplitContext<'_>) -> Result<Vec<TaskSpec>, Vec<SplitProblem>>,
) -> Result<Vec<TaskSpec>, String> {
    let split = SplitContext { parent, lineage, repeated, attempt: 2, reason: "seen twice" };
    make(split).map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_child_is_a_task_with_an_origin() {
    let children =
        check(&parent(), &[], vec![child("One", 1, &["aaaaaaaa"]), child("Two", 1, &[&"b".repeat(32)])]).unwrap();
    insta::assert_snapshot!(children[0].render(), @"
    ---
    id: task-1.1
    title: One
    acceptance:
    - criterion 0
    policy:
      max_attempts: 2
      max_depth: 2
      split_on_repeat_errors: 2
      warn_triggers_retry: false
      max_children: 2
      parallel_children: 1
    relationships:
      parent_id: task-1
      parent_snapshot: |-
        Cancel orders

        Orders can be cancelled until they are shipped, and every customer is told by mail.
      next_ids:
      - task-1.2
      next_tasks:
      - id: task-1.2
        title: Two
    origin:
      parent_id: task-1
      fingerprint:
      - aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
      attempt: 2
      reason: seen twice
    ---

    One, as short as that.
    ");
    assert_eq!(TaskSpec::parse(&children[1].render(), "child.md").unwrap(), children[1]);
}

#[rstest]
#[case::none(vec![])]
#[case::too_many(vec![child("One", 1, &["aaaaaaaa"]), child("Two", 1, &["bbbbbbbb"]), child("Three", 1, &[])])]
#[case::uncovered(vec![child("One", 1, &["aaaaaaaa"])])]
#[case::too_short_a_name(vec![child("One", 1, &["aaaaaaaa", "b"])])]
fn a_split_must_cover_each_error_with_few_children(#[case] children: Vec<ProposedChild>) {
    let error = check(&parent(), &[], children.clone()).unwrap_err();
    let expected = match children.len() {
        0 => "the split has no children\nno child covers the error aaaaaaaa\nno child covers the error bbbbbbbb",
        3 => "the split has 3 children; at most 2 are allowed",
        _ => "no child covers the error bbbbbbbb",
    };
    assert_eq!(error, expected);
}

#[rstest]
#[case::fewer_criteria(1, GOAL, true)]
#[case::a_shorter_goal(2, "Short.", true)]
#[case::the_same_goal(2, GOAL, false)]
#[case::a_longer_goal_and_fewer_criteria(
    1,
    "long, long, long, long, long, long, long, long, long, long, long, long, long",
    true
)]
#[case::more_criteria_and_a_shorter_goal(3, "Short.", false)]
fn smaller_means_fewer_criteria_or_a_shorter_goal(
    #[case] criteria: usize,
    #[case] goal: &str,
    #[case] is_smaller: bool,
) {
    let child = ProposedChild { goal: goal.to_owned(), ..child("One", criteria, &["aaaaaaaa", "bbbbbbbb"]) };
    let checked = check(&parent(), &[], vec![child]);
    assert_eq!(checked.is_ok(), is_smaller, "{checked:?}");
    let error = "child 1 (`One`) is not smaller than its parent: give it fewer acceptance criteria than 2, or no more of them and a \
                 goal of fewer than 83 characters";
    assert!(is_smaller || checked.unwrap_err() == error);
}

#[test]
fn a_child_must_differ_from_its_ancestors() {
    let covers = ["aaaaaaaa", "bbbbbbbb"];
    let again = ProposedChild {
        goal: GOAL.to_uppercase(),
        acceptance: vec!["a mail is sent".to_owned(), "Cancelling  works".to_owned()],
        ..child("Again", 0, &covers)
    };
    let error = check(&parent(), &[], vec![again]).unwrap_err();
    assert_eq!(error, "child 1 (`Again`) is the same task as one above it: it has the same goal and the same criteria");
    let one = child("One", 1, &covers);
    let grandparent = check(&parent(), &[], vec![one.clone()]).unwrap()[0].hash();
    assert!(check(&parent(), &[grandparent], vec![one]).unwrap_err().contains("the same task as one above it"));
}

#[test]
fn children_must_differ_and_not_be_empty() {
    let covers = ["aaaaaaaa", "bbbbbbbb"];
    let blank = ProposedChild { goal: " ".to_owned(), title: "\n".to_owned(), ..child("", 0, &covers) };
    assert_eq!(check(&parent(), &[], vec![blank]).unwrap_err(), "child 1 has no title\nchild 1 has no goal");
    let twins = vec![child("One", 1, &covers), child("One", 1, &[])];
    assert_eq!(check(&parent(), &[], twins).unwrap_err(), "children 1 and 2 are the same task");
}

fn error(letter: &str, message: &str) -> Finding {
    let found = Finding { message: message.to_owned(), ..finding(Severity::Error, letter) };
    found.at(format!("src/{letter}.rs"), 3)
}

#[test]
fn without_a_model_each_group_of_errors_is_a_child() {
    let found = [error("a", "mismatched types"), error("b", "not met: A mail is sent")];
    let children = split(&parent(), &[], &errors(), |split| split.by_errors(&found)).unwrap();
    let text: Vec<String> = children
        .iter()
        .map(|child| format!("{}: {}\n{}\n{:?}", child.id, child.title, child.goal(), child.acceptance))
        .collect();
    insta::assert_snapshot!(text.join("\n\n"), @r#"
    task-1.1: Fix src/a.rs: mismatched types
    Fix these errors, and change nothing that has nothing to do with them:

    - mismatched types
    []

    task-1.2: Fix src/b.rs: not met: A mail is sent
    Fix these errors, and change nothing that has nothing to do with them:

    - not met: A mail is sent
    ["A mail is sent"]
    "#);
    assert_eq!(children[0].relationships.origin.as_ref().unwrap().files, ["src/a.rs"]);
}

#[test]
fn more_groups_than_children_are_merged() {
    let found = [error("a", "one"), error("b", "two"), error("c", "three")];
    let repeated: Vec<Fingerprint> = found.iter().map(|error| error.fingerprint.clone()).collect();
    let children = split(&parent(), &[], &repeated, |split| split.by_errors(&found)).unwrap();
    assert_eq!(children.len(), 2);
}

proptest! {
    /// Children made from errors get smaller at every depth, or are refused.
    #[test]
    fn splits_without_a_model_terminate(
        goal in "[a-z ]{1,200}", criteria in 0_usize..4, messages in prop::collection::vec("[a-z ]{0,30}", 1..4),
    ) {
        let mut task = TaskSpec::new("t".parse().unwrap(), "T", goal.trim());
        task.acceptance = (0..criteria).map(|number| format!("criterion {number}")).collect();
        let found: Vec<Finding> = ["a", "b", "c"].iter().zip(&messages).map(|(letter, text)| error(letter, text)).collect();
        let repeated: Vec<Fingerprint> = found.iter().map(|error| error.fingerprint.clone()).collect();
        let mut lineage = Vec::new();
        for _ in 0..300 {
            let Ok(children) = split(&task, &lineage, &repeated, |split| split.by_errors(&found)) else { return Ok(()) };
            prop_assert!(children.iter().all(|child| child.is_smaller_than(&task) && !lineage.contains(&child.hash())));
            lineage.push(task.hash());
            task = children.into_iter().next().unwrap();
            task.id = "t".parse().unwrap();
        }
        prop_assert!(false, "300 levels");
    }
}
