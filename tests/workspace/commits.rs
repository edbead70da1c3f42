//! Commits: exactly a tree, hooks, trailers, exactly once.

use std::time::Duration;

use rstest::rstest;
use superstep::workspace::{CommitKey, CommitRequest, CommitResult, Workspace, WorkspaceError};

use crate::repo::{Repo, key, request, request_now};

#[tokio::test]
async fn a_commit_holds_exactly_the_tree_and_names_its_task() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    repo.write("a.txt", "changed\n").write("new.txt", "new\n").remove("src/b.txt");
    let request = request_now(&workspace).await;
    repo.write("later.txt", "after the snapshot");
    let committed = workspace.commit(&request).await.unwrap();

    let made = committed.commit().unwrap();
    assert!(matches!(committed, CommitResult::Now(_)));
    assert_eq!((&made.commit, &made.tree), (&repo.tip(), &request.tree));
    insta::assert_snapshot!(repo.git(&["log", "-1", "--format=%an <%ae>%n%B"]), @r"
    A Person <person@example.org>
    feat(X): complete task 2.1

    Superstep-Thread: t 1
    Superstep-Task: 2.1
    Superstep-Attempt: 1
    ");
    assert_eq!(repo.git(&["log", "-1", "--format=%(trailers:key=Superstep-Task,valueonly)"]), "2.1");
    assert_eq!(repo.git(&["rev-parse", "HEAD~1"]), request.parent.unwrap().to_string());
}

#[rstest]
#[case::lines_like_a_patch("subject\n\nbody\n---\nmore", "\n\nSuperstep")]
#[case::comments("subject\n\n# kept\n", "# kept\n\nSuperstep")]
#[case::trailers("subject\n\nReviewed-by: A <a@b>", "<a@b>\nSuperstep")]
#[tokio::test]
async fn a_message_is_kept_as_it_is(#[case] message: &str, #[case] expected: &str) {
    let repo = Repo::new();
    let workspace = repo.open().await;
    repo.write("a.txt", "changed\n");
    let request = CommitRequest { message: message.into(), ..request_now(&workspace).await };
    let made = workspace.commit(&request).await.unwrap();
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(message.contains(expected), "{message}");
    assert_eq!(workspace.find_commit(&key(1), None).await.unwrap().as_ref(), made.commit());
}

#[tokio::test]
async fn a_commit_is_made_once() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    repo.write("a.txt", "changed\n");
    let request = request_now(&workspace).await;
    let first = workspace.commit(&request).await.unwrap();
    // The state after a crash: the caller does not know of the commit, and the index is old.
    repo.git(&["read-tree", "HEAD~1"]);
    let second = workspace.commit(&request).await.unwrap();
    assert!(matches!(&second, CommitResult::Before(made) if Some(made) == first.commit()));
    assert_eq!((repo.count(), repo.status().as_str()), (2, ""));

    assert_eq!(workspace.find_commit(&key(1), request.parent.as_ref()).await.unwrap().as_ref(), first.commit());
    assert_eq!(workspace.find_commit(&key(2), None).await.unwrap(), None);
    assert_eq!(workspace.find_commit(&key(1), Some(&repo.tip())).await.unwrap(), None, "it is not newer than itself");
    assert_eq!(workspace.commits(None).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_commit_that_a_killed_run_still_makes_is_found() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    repo.write("a.txt", "changed\n");
    // Plays the git of the killed run: it commits while our hook runs.
    let trailers = "Superstep-Thread: t 1\nSuperstep-Task: 2.1\nSuperstep-Attempt: 1";
    let other = format!("git commit -q --no-verify -am 'x\n\n{trailers}'");
    repo.hook("pre-commit", &format!("unset GIT_INDEX_FILE; {other}"));
    let committed = workspace.commit(&request_now(&workspace).await).await.unwrap();
    assert!(matches!(&committed, CommitResult::Before(made) if made.commit == repo.tip()), "{committed:?}");
    assert_eq!((repo.count(), repo.status().as_str()), (2, ""));
}

#[tokio::test]
async fn without_changes_nothing_is_committed() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    assert_eq!(workspace.commit(&request_now(&workspace).await).await.unwrap(), CommitResult::Nothing);
    let unborn = Repo::unborn();
    let workspace = unborn.open().await;
    assert_eq!(workspace.commit(&request_now(&workspace).await).await.unwrap(), CommitResult::Nothing);
    assert_eq!(repo.count(), 1);
}

#[tokio::test]
async fn a_commit_can_be_the_first_of_a_repository() {
    let repo = Repo::unborn();
    let workspace = repo.open().await;
    let branch = workspace.own_branch("superstep/t", None).await.unwrap();
    assert_eq!((branch.is_new, &branch.commit), (true, &None));
    repo.write("a.txt", "a");
    workspace.commit(&request_now(&workspace).await).await.unwrap();
    assert_eq!(repo.git(&["branch", "--format=%(refname:short)"]), "superstep/t");
    assert_eq!((repo.count(), repo.status().as_str()), (1, ""));
}

// --- hooks ---

const FORMATS: &str = "grep -q '^  ' a.txt && sed -i 's/^ *//' a.txt";

#[rstest]
#[case::and_refuses(&format!("{FORMATS} && exit 1; exit 0"))]
#[case::and_accepts(&format!("{FORMATS}; exit 0"))]
#[case::and_stages(&format!("{FORMATS}; git add a.txt"))]
#[case::and_stages_and_refuses(&format!("{FORMATS} && git add a.txt && exit 1; exit 0"))]
#[tokio::test]
async fn changes_by_a_formatting_hook_are_in_the_commit(#[case] hook: &str) {
    let repo = Repo::new();
    let workspace = repo.open().await;
    repo.hook("pre-commit", hook).write("a.txt", "  badly\n  indented\n").write("new.txt", "new");
    let request = request_now(&workspace).await;
    let committed = workspace.commit(&request).await.unwrap();
    let made = committed.commit().unwrap();
    assert_ne!(made.tree, request.tree);
    assert_eq!(repo.content(&made.tree, "a.txt"), "badly\nindented");
    assert_eq!((repo.count(), repo.status().as_str()), (2, ""));
    assert!(workspace.find_commit(&key(1), None).await.unwrap().is_some());
}

#[rstest]
#[case::before("pre-commit")]
#[case::message("commit-msg")]
#[tokio::test]
async fn a_rejection_by_a_hook_is_reported_and_nothing_is_committed(#[case] hook: &str) {
    let repo = Repo::new();
    let workspace = repo.open().await;
    repo.hook(hook, "yes noise | head -c 100000; echo no tabs allowed >&2; exit 7").write("a.txt", "changed\n");
    repo.git(&["add", "a.txt"]);
    let (status, request) = (repo.status(), request_now(&workspace).await);
    let error = workspace.commit(&request).await.unwrap_err();
    let WorkspaceError::HookRefused { hook: named, output } = &error else { panic!("{error}") };
    assert_eq!(named.as_deref(), Some(hook));
    assert!(output.ends_with("no tabs allowed") && output.len() <= 8 * 1024, "{}", output.len());
    assert_eq!((repo.count(), repo.status()), (1, status));

    repo.hook(hook, "exit 0");
    assert!(matches!(workspace.commit(&request).await.unwrap(), CommitResult::Now(_)));
}

#[tokio::test]
async fn a_hook_that_reformats_and_rejects_runs_twice_only() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    repo.hook("pre-commit", "echo x >> a.txt; echo run >> ../runs; exit 1").write("a.txt", "changed\n");
    let error = workspace.commit(&request_now(&workspace).await).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::HookRefused { .. }));
    assert_eq!(std::fs::read_to_string(repo.beside("runs")).unwrap(), "run\nrun\n");
}

#[rstest]
#[case::keeps("sed -i '1s/^/[ABC] /' \"$1\"")]
#[case::adds("printf 'Change-Id: I123\\n' >> \"$1\"")]
#[case::drops("echo 'rewritten' > \"$1\"")]
#[tokio::test]
async fn trailers_survive_a_hook_that_rewrites_the_message(#[case] script: &str) {
    let repo = Repo::new();
    let workspace = repo.open().await;
    repo.hook("commit-msg", script).write("a.txt", "changed\n");
    let request = request_now(&workspace).await;
    let committed = workspace.commit(&request).await.unwrap();
    assert_eq!(workspace.find_commit(&key(1), None).await.unwrap().as_ref(), committed.commit());
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(["[ABC] feat", "Change-Id: I123", "rewritten"].iter().any(|word| message.contains(word)), "{message}");
    assert_eq!(repo.count(), 2);
}

#[tokio::test]
async fn a_hook_that_reverts_everything_leaves_no_empty_commit() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    repo.hook("pre-commit", "git checkout HEAD -- a.txt").write("a.txt", "changed\n");
    assert_eq!(workspace.commit(&request_now(&workspace).await).await.unwrap(), CommitResult::Nothing);
    assert_eq!((repo.count(), repo.status().as_str()), (1, ""));
}

#[tokio::test]
async fn a_hook_gets_no_keys_and_has_no_terminal_and_its_time_is_limited() {
    let repo = Repo::new();
    let options = repo.options().env("WANTED", "yes").commit_limit(Duration::from_millis(400));
    let workspace = Workspace::open_with(repo.root(), options).await.unwrap();
    repo.hook("pre-commit", "env > ../env; [ -t 0 ] && exit 1; exit 0").write("a.txt", "changed\n");
    workspace.commit(&request_now(&workspace).await).await.unwrap();
    let env = std::fs::read_to_string(repo.beside("env")).unwrap();
    assert!(env.contains("WANTED=yes") && env.contains("GIT_TERMINAL_PROMPT=0"), "{env}");
    assert!(!env.contains("CARGO_PKG_NAME") && !env.contains("GIT_WORK_TREE"), "{env}");

    repo.hook("pre-commit", "sleep 60").write("a.txt", "changed again\n");
    let request = CommitRequest { key: key(2), ..request_now(&workspace).await };
    let error = workspace.commit(&request).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::TimedOut { .. }), "{error}");
    assert_eq!(repo.count(), 2);
    let help = error.help().unwrap();
    assert!(help.contains("git config superstep.commitTimeout"), "{help}");
    if cfg!(target_os = "linux") {
        assert!(error.to_string().contains("; it waited for `/bin/sh .git/hooks/pre-commit`"), "{error}");
    }
}

#[tokio::test]
async fn time_limits_of_git_are_settings_of_its_configuration() {
    let repo = Repo::new();
    repo.git(&["config", "superstep.commitTimeout", "1s"]);
    repo.git(&["config", "superstep.timeout", "3m"]);
    repo.hook("pre-commit", "sleep 60").write("a.txt", "changed\n");
    let workspace = repo.open().await;
    let error = workspace.commit(&request_now(&workspace).await).await.unwrap_err();
    assert!(error.to_string().contains("did not end within 1 s"), "{error}");
}

#[rstest]
#[case::none("", "", false)]
#[case::samples("hooks/pre-commit.sample", "", false)]
#[case::one("hooks/post-commit", "", true)]
#[case::elsewhere("", "core.hooksPath=.husky", true)]
#[case::nowhere("", "core.hooksPath=/dev/null", false)]
#[case::configured("", "hook.lint.event=pre-commit", true)]
#[tokio::test]
async fn hooks_are_known_before_they_run(#[case] file: &str, #[case] setting: &str, #[case] expected: bool) {
    let repo = Repo::new();
    let workspace = repo.open().await;
    assert!(!workspace.has_hooks().await.unwrap());
    if !file.is_empty() {
        repo.write(&format!(".git/{file}"), "#!/bin/sh\n");
    }
    if let Some((key, value)) = setting.split_once('=') {
        repo.write(".git/included", "").git(&["config", "--file", ".git/included", key, value]);
        repo.git(&["config", "includeIf.onbranch:main.path", "included"]);
    }
    assert_eq!(workspace.has_hooks().await.unwrap(), expected);
}

#[tokio::test]
async fn a_hook_configured_in_the_environment_runs() {
    let repo = Repo::new();
    repo.write("../hooks/commit-msg", "#!/bin/sh\necho hooked >> \"$1\"\n");
    crate::program::make_executable(repo.beside("hooks/commit-msg"));
    let folder = repo.beside("hooks");
    let options = repo.options().env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "core.hooksPath");
    let workspace = Workspace::open_with(repo.root(), options.env("GIT_CONFIG_VALUE_0", folder)).await.unwrap();
    repo.write("a.txt", "changed\n");
    workspace.commit(&request_now(&workspace).await).await.unwrap();
    assert!(repo.git(&["log", "-1", "--format=%B"]).contains("hooked"));
}

/// The program plays a person who installs a hook during a commit.
#[tokio::test]
async fn a_hook_installed_during_a_commit_runs_at_the_next_one() {
    let repo = Repo::new();
    let hook = "mkdir -p .git/hooks; printf '#!/bin/sh\necho x >> a.txt; exit 1' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit";
    repo.write("../git", format!("#!/bin/sh\ncase \"$*\" in *' commit '*) {hook};; esac\nexec git \"$@\"\n"));
    crate::program::make_executable(repo.beside("git"));
    let options = repo.options().program(repo.beside("git"));
    let workspace = Workspace::open_with(repo.root(), options).await.unwrap();
    repo.write("a.txt", "changed\n").write("b.txt", "mine\n");
    repo.git(&["add", "b.txt"]);
    let request = request_now(&workspace).await;
    let committed = workspace.commit(&request).await.unwrap();
    assert_eq!(committed.commit().unwrap().tree, request.tree);
    assert_eq!((repo.count(), repo.status().as_str(), repo.read("a.txt").as_str()), (2, "", "changed\n"));

    repo.write("a.txt", "changed again\n");
    let request = CommitRequest { key: key(2), ..request_now(&workspace).await };
    let error = workspace.commit(&request).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::HookRefused { .. }), "{error}");
}

// --- identity and keys ---

#[tokio::test]
async fn a_commit_without_an_identity_is_refused_with_help() {
    let repo = Repo::new();
    repo.git(&["config", "--global", "--unset", "user.name"]);
    repo.git(&["config", "--global", "--unset", "user.email"]);
    repo.git(&["config", "user.useConfigOnly", "true"]);
    let workspace = repo.open().await;
    assert!(matches!(workspace.ensure_identity().await, Err(WorkspaceError::IdentityMissing { .. })));
    repo.write("a.txt", "changed\n");
    let error = workspace.commit(&request_now(&workspace).await).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::IdentityMissing { .. }), "{error}");
    insta::assert_snapshot!(error, @"git has no commit author: no email was given and auto-detection is disabled");
    assert!(error.help().unwrap().contains("user.name"));
}

#[tokio::test]
async fn commits_are_signed_as_the_user_configured() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    let sign = "#!/bin/sh\ncat > /dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\necho '-----BEGIN PGP SIGNATURE-----'\necho made up\n";
    repo.write("../gpg", format!("{sign}echo '-----END PGP SIGNATURE-----'\n"));
    crate::program::make_executable(repo.beside("gpg"));
    repo.git(&["config", "commit.gpgSign", "true"]);
    repo.git(&["config", "gpg.program", repo.beside("gpg").to_str().unwrap()]);
    repo.write("a.txt", "changed\n");
    workspace.commit(&request_now(&workspace).await).await.unwrap();
    assert!(repo.git(&["cat-file", "commit", "HEAD"]).contains("gpgsig -----BEGIN PGP SIGNATURE-----"));

    repo.write("../gpg", "#!/bin/sh\necho no secret key >&2\nexit 2\n").write("a.txt", "changed again\n");
    let request = CommitRequest { key: key(2), ..request_now(&workspace).await };
    let error = workspace.commit(&request).await.unwrap_err();
    assert!(matches!(&error, WorkspaceError::SigningFailed { output } if output.contains("no secret key")), "{error}");
}

// --- HEAD elsewhere ---

#[tokio::test]
async fn a_commit_is_made_on_its_parent_or_not_at_all() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    repo.write("a.txt", "changed\n");
    let request = request_now(&workspace).await;
    repo.git(&["switch", "--quiet", "-c", "other"]);
    let error = workspace.commit(&request).await.unwrap_err();
    assert!(matches!(&error, WorkspaceError::HeadElsewhere { found, .. } if found.contains("`other`")), "{error}");
    repo.git(&["switch", "--quiet", "main"]);
    repo.git(&["commit", "--quiet", "-am", "theirs"]);
    let error = workspace.commit(&request).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::HeadElsewhere { .. }), "{error}");
}

// --- the user's own changes ---

#[tokio::test]
async fn the_users_changes_are_in_no_commit_and_stay() {
    let repo = Repo::new();
    let ten: String = (0..10).map(|nth| format!("line {nth}\n")).collect();
    repo.write("both.txt", &ten).commit_all("ten");
    repo.write("a.txt", "my own\n").write("mine.txt", "mine").write("both.txt", ten.replace("line 0", "my 0"));
    repo.git(&["add", "mine.txt"]);
    let workspace = repo.open().await;
    workspace.own_branch("superstep/t", None).await.unwrap();

    for (attempt, last) in [(1, "task 9"), (2, "task 9, better")] {
        let base = workspace.snapshot().await.unwrap().tree;
        repo.write("both.txt", repo.read("both.txt").replace("line 9", "task 9").replace("task 9", last));
        repo.write(&format!("task{attempt}.txt"), "task");
        let now = workspace.snapshot().await.unwrap().tree;
        let tree = workspace.onto_head(&base, &now).await.unwrap();
        let request = CommitRequest { key: key(attempt), ..request(&workspace, &tree).await };
        workspace.commit(&request).await.unwrap();
        assert_eq!(workspace.snapshot().await.unwrap().tree, now);
    }
    assert_eq!(repo.files("HEAD"), ["a.txt", "both.txt", "src/b.txt", "task1.txt", "task2.txt"]);
    assert_eq!(repo.git(&["show", "HEAD:both.txt"]), ten.trim_end().replace("line 9", "task 9, better"));
    assert_eq!(repo.git(&["show", "HEAD:a.txt"]), "one\ntwo\nthree");
    assert_eq!(repo.status(), " M a.txt\n M both.txt\n?? mine.txt");
}

#[tokio::test]
async fn a_task_that_changes_the_same_lines_as_the_user_is_a_conflict() {
    let repo = Repo::new();
    repo.write("a.txt", "my own\n");
    let workspace = repo.open().await;
    let base = workspace.snapshot().await.unwrap().tree;
    repo.write("a.txt", "my own, bettered\n");
    let now = workspace.snapshot().await.unwrap().tree;
    let error = workspace.onto_head(&base, &now).await.unwrap_err();
    insta::assert_snapshot!(error, @"changes of both sides conflict in `a.txt`");
}

#[tokio::test]
async fn a_commit_is_found_by_the_trailer_of_any_id() {
    let repo = Repo::new();
    let workspace = repo.open().await;
    for (nth, thread) in ["a:b", " x\n", "100%", "Größe #1", ""].into_iter().enumerate() {
        repo.write("a.txt", format!("{nth}\n"));
        let key = CommitKey { thread: thread.into(), task: "# 1".into(), phase: None, attempt: 3 };
        let request = CommitRequest { key: key.clone(), ..request_now(&workspace).await };
        let made = workspace.commit(&request).await.unwrap();
        assert_eq!(workspace.find_commit(&key, None).await.unwrap().as_ref(), made.commit(), "{thread:?}");
    }
}
