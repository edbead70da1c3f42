//! What is looked at before a run begins.

use rstest::rstest;
use superstep::workflows::Profile;
use superstep::workflows::task_based::{Start, StartError};
use superstep::workspace::WorkspaceError;

use crate::repository::Repository;

/// Begins with an issue `CLK-7` in a repository.
async fn begin(repository: &Repository, branch: Option<&str>) -> Result<(), StartError> {
    let issue = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(issue.path(), "---\nid: CLK-7\n---\n# A clock\n").unwrap();
    let driver = "cli:codex".parse().unwrap();
    let profile = Profile { working_dir: repository.path(), driver, ..crate::scene::profile() };
    let branch = branch.map(str::to_owned);
    let start = Start { issue: Some(issue.path().to_owned()), profile, branch, ..Start::default() };
    start.input().await.map(drop)
}

#[rstest]
#[case::the_one_in_use(Some("main"))]
#[case::another_at_the_same_commit(Some("other"))]
#[case::of_the_issue_with_work(None)]
#[tokio::test]
async fn a_branch_of_somebody_is_refused(#[case] branch: Option<&str>) {
    let repository = Repository::new();
    repository.git(&["branch", "other"]);
    repository.git(&["branch", "superstep/CLK-7"]);
    repository.git(&["commit", "-q", "--allow-empty", "-m", "more"]);
    repository.git(&["branch", "-f", "other"]);
    let error = begin(&repository, branch).await.unwrap_err();
    assert!(matches!(error, StartError::Workspace(WorkspaceError::BranchTaken { .. })), "{error:?}");
    assert!(!error.is_usage() && error.help().is_some());
}

#[tokio::test]
async fn a_new_branch_and_one_of_the_issue_without_work_are_not() {
    let repository = Repository::new();
    begin(&repository, Some("fresh/one")).await.unwrap();
    begin(&repository, None).await.unwrap();
    repository.git(&["switch", "-q", "-c", "superstep/CLK-7"]);
    begin(&repository, None).await.unwrap();
}

#[tokio::test]
async fn a_name_that_is_none_is_told_before_anything_runs() {
    let error = begin(&Repository::new(), Some("a b")).await.unwrap_err();
    assert!(matches!(error, StartError::Workspace(WorkspaceError::BadBranch { .. })) && error.is_usage(), "{error:?}");
}
