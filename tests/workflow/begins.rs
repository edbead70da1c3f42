//! Checks before a run starts.

use rstest::rstest;
use superstep::workspace::WorkspaceError;
use superstep_workflows::Profile;
use superstep_workflows::task_based::{RunStart, StartError};

use crate::repository::Repository;

/// Starts a run for an issue `CLK-7` in a repository.
async fn start(repository: &Repository, branch: Option<&str>) -> Result<(), StartError> {
    let issue = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(issue.path(), "---\nid: CLK-7\n---\n# A clock\n").unwrap();
    let driver = "cli:codex".parse().unwrap();
    let profile = Profile { working_dir: repository.path(), driver, ..crate::scene::profile() };
    let branch = branch.map(str::to_owned);
    let start = RunStart { issue: Some(issue.path().to_owned()), profile, branch, ..RunStart::default() };
    start.input().await.map(drop)
}

#[rstest]
#[case::the_one_in_use(Some("main"))]
#[case::another_at_the_same_commit(Some("other"))]
#[case::of_the_issue_with_work(None)]
#[tokio::test]
async fn another_users_branch_is_refused(#[case] branch: Option<&str>) {
    let repository = Repository::new();
    repository.git(&["branch", "other"]);
    repository.git(&["branch", "superstep/CLK-7"]);
    repository.git(&["commit", "-q", "--allow-empty", "-m", "more"]);
    repository.git(&["branch", "-f", "other"]);
    let error = start(&repository, branch).await.unwrap_err();
    assert!(matches!(error, StartError::Workspace(WorkspaceError::BranchTaken { .. })), "{error:?}");
    assert!(!error.is_usage() && error.help().is_some());
}

#[tokio::test]
async fn a_new_branch_and_an_unused_branch_of_the_issue_are_accepted() {
    let repository = Repository::new();
    start(&repository, Some("fresh/one")).await.unwrap();
    start(&repository, None).await.unwrap();
    repository.git(&["switch", "-q", "-c", "superstep/CLK-7"]);
    start(&repository, None).await.unwrap();
}

#[tokio::test]
async fn an_invalid_branch_name_is_refused_before_anything_runs() {
    let error = start(&Repository::new(), Some("a b")).await.unwrap_err();
    assert!(matches!(error, StartError::Workspace(WorkspaceError::BadBranch { .. })) && error.is_usage(), "{error:?}");
}
