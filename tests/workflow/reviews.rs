//! The prompts of reviewers, and the effects of their reviews.

use rstest::rstest;
use serde_json::{Value, json};
use superstep::nodes::{AfterMissingReview, ReviewUnavailable};
use superstep_workflows::Profile;
use superstep_workflows::task_based::RunOutcome;

use crate::agent::{Agent, approved, rejected, work};
use crate::repository::write;
use crate::scene::{Scene, asks, done, plan, profile};

#[tokio::test]
async fn a_reviewer_sees_the_whole_task_and_the_changes_since_its_last_review() {
    let agent = Agent::crew(
        |call, folder, nth| {
            write(folder, &format!("new-{}-{nth}.txt", call.task), &format!("words of {nth}\n"));
            work()
        },
        |call, nth| match (call.attempt, nth) {
            (1, _) => rejected("flimsy"),
            (2, 1) => json!({"approved": false, "severity": "major", "unresolved_ids": ["c1"],
                "comments": [{"issue": "late", "severity": "major"}]}),
            _ => approved(),
        },
    );
    let scene = Scene::new(agent);
    let profile = Profile { max_task_review_iterations: 3, ..profile() };
    let state = scene.run(&plan(2), profile).await.finished().unwrap();
    let calls = scene.agent.calls("reviewer");
    let holds =
        |nth: usize| (0..5).filter(|n| calls[nth].prompt.contains(&format!("words of {n}"))).collect::<Vec<_>>();
    assert_eq!(
        (0..calls.len()).map(holds).collect::<Vec<_>>(),
        [vec![0], vec![0, 1], vec![0, 1, 2], vec![3], vec![3, 4]]
    );
    let twice = |nth: usize, n: usize| calls[nth].prompt.matches(&format!("words of {n}")).count();
    assert_eq!((twice(1, 0), twice(1, 1), twice(2, 0), twice(2, 2)), (1, 2, 1, 2), "the whole, and what is new");
    assert!(
        calls[1].prompt.contains("flimsy") && calls[2].prompt.contains("flimsy") && calls[2].prompt.contains("late")
    );
    assert!(!calls[3].prompt.contains("flimsy") && !calls[3].prompt.contains("Part 1"), "{}", calls[3].prompt);
    assert!(scene.agent.calls("developer")[2].prompt.contains("flimsy"), "what is open stays open");
    assert_eq!((state.run.tasks[0].reviews, state.run.review_iteration), (3, 5));
}

#[tokio::test]
async fn a_reviewer_may_read_the_files_of_long_diffs() {
    let agent = Agent::crew(
        |_, folder, nth| {
            write(folder, &format!("long-{nth}.txt"), &format!("words of {nth}\n").repeat(10_000));
            work()
        },
        |call, _| if call.attempt == 1 { rejected("too long") } else { approved() },
    );
    let scene = Scene::new(agent);
    scene.run(&plan(1), Profile { final_review: true, ..profile() }).await.finished().unwrap();
    let calls = scene.agent.calls("reviewer");
    let count = |nth: usize| calls[nth].files.len();
    assert_eq!((count(0), count(1), count(2)), (1, 2, 1), "the whole, and what is new since the last word");
    for call in &calls {
        assert!(!call.prompt.contains("words of"));
        for file in &call.files {
            assert!(file.is_absolute() && call.prompt.contains(file.to_str().unwrap()), "{}", call.prompt);
            assert!(std::fs::read_to_string(file).unwrap().contains("+words of"));
        }
    }
    assert!(scene.agent.calls("developer").iter().all(|call| call.files.is_empty()));
}

#[rstest]
#[case::minor(json!({"approved": true, "severity": "minor", "comments": [{"issue": "x", "severity": "minor"}]}), 1)]
#[case::major(json!({"approved": true, "severity": "major", "comments": [{"issue": "x", "severity": "major"}]}), 1)]
#[case::critical(json!({"approved": true, "severity": "critical"}), 2)]
#[case::critical_comment(json!({"approved": true, "severity": "none", "comments": [{"issue": "x", "severity": "critical"}]}), 2)]
#[case::rejected(json!({"approved": false, "severity": "none"}), 2)]
#[tokio::test]
async fn a_review_passes_unless_it_rejects_or_found_something_critical(#[case] first: Value, #[case] attempts: usize) {
    let agent = Agent::crew(
        |_, folder, nth| {
            write(folder, &format!("{nth}.txt"), "x\n");
            work()
        },
        move |_, nth| if nth == 0 { first.clone() } else { approved() },
    );
    let scene = Scene::new(agent);
    scene.run(&plan(1), profile()).await.finished().unwrap();
    assert_eq!((scene.agent.count("developer"), scene.commits()), (attempts, vec![done(1)]));
}

#[tokio::test]
async fn each_kind_of_review_has_to_pass() {
    let agent = Agent::crew(
        |_, folder, nth| {
            write(folder, &format!("{nth}.txt"), "x\n");
            work()
        },
        |call, _| match call.attempt {
            1 if call.prompt.contains("security") => rejected("a hole"),
            _ => approved(),
        },
    );
    let scene = Scene::new(agent);
    let profile = Profile { review_types: vec!["general".into(), "security".into()], ..profile() };
    let state = scene.run(&plan(1), profile).await.finished().unwrap();
    assert_eq!((scene.agent.count("developer"), scene.agent.count("reviewer")), (2, 4));
    assert!(scene.agent.calls("developer")[1].prompt.contains("a hole"));
    assert_eq!(state.run.tasks[0].reviews, 2, "one review an attempt, of two kinds");
}

#[rstest]
#[case::accept(AfterMissingReview::Accept, RunOutcome::Completed, 1)]
#[case::abort(AfterMissingReview::Abort, RunOutcome::Cancelled, 0)]
#[case::retry(AfterMissingReview::Retry, RunOutcome::Completed, 1)]
#[tokio::test]
async fn an_unreadable_review_is_neither_approval_nor_rejection(
    #[case] answer: AfterMissingReview,
    #[case] outcome: RunOutcome,
    #[case] commits: usize,
    #[values(json!(null), json!({"verdict": "approved"}))] unreadable: Value,
) {
    let agent = Agent::crew(
        |_, folder, nth| {
            write(folder, &format!("{nth}.txt"), "x\n");
            work()
        },
        move |_, nth| if nth < 4 { unreadable.clone() } else { approved() },
    );
    let scene = Scene::new(agent);
    let stopped = scene.run(&plan(1), profile()).await;
    assert_eq!(asks(&stopped), "review_unavailable");
    assert_eq!((scene.agent.count("developer"), scene.agent.count("reviewer")), (1, 4), "each asked to mend it once");
    let state = scene.thread.resume::<ReviewUnavailable>(answer).await.unwrap().finished().unwrap();
    assert_eq!((state.result.outcome, scene.agent.count("developer")), (Some(outcome), 1));
    assert_eq!(scene.repository.subjects("superstep/clock").len() - 1, commits);
}
