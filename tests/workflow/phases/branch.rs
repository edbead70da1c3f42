//! The run's branch and the user's checkout: when they move, and what they never contain.

use std::path::Path;
use std::sync::{Arc, Mutex};

use superstep_workflows::Profile;
use superstep_workflows::task_based::RunOutcome;

use crate::agent::{Agent, approved, part, work};
use crate::phases::scene::{Phases, done, git_in, plan, profile, task, three_phases};
use crate::repository::{Repository, write};

/// Returns what an agent sees of the user's checkout and branches, from its worktree.
fn seen(folder: &Path) -> [String; 3] {
    let checkout = git_in(folder, &["worktree", "list", "--porcelain"]);
    let checkout = checkout.lines().next().unwrap().trim_start_matches("worktree ").to_owned();
    let files = std::fs::read_dir(&checkout).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<_> = files.filter(|name| !name.starts_with('.')).collect();
    files.sort();
    let refs = git_in(folder, &["for-each-ref", "--format=%(refname:short)", "--contains=HEAD~0", "refs/heads"]);
    let subjects = git_in(folder, &["log", "--format=%s", "superstep/clock"]);
    [files.join(" "), refs, subjects.lines().next().unwrap_or_default().to_owned()]
}

#[tokio::test]
async fn nothing_unapproved_is_on_a_branch_or_in_the_checkout() {
    let log = Arc::new(Mutex::new(vec![]));
    let sink = Arc::clone(&log);
    let agent = Agent::new(move |call, folder, _| {
        sink.lock().unwrap().push((call.task.clone(), seen(folder)));
        Ok(if call.role == "developer" { part(folder, &call.task) } else { approved() })
    });
    let scene = Phases::new(agent);
    let two = plan(&[task("1", "none", ""), task("2", "none", ""), task("3", "1, 2", "")]);
    scene.run(&two, Profile { max_task_review_iterations: 1, ..profile() }).await.finished().unwrap();
    let files = ["README.md", "README.md part-1.txt part-2.txt"];
    for (task, [checkout, holding, tip]) in log.lock().unwrap().iter() {
        let (expected, subject) = match task.as_str() {
            "3" | "phase-2" => (files[1], done("2")),
            _ => (files[0], "begin".to_owned()),
        };
        assert_eq!((checkout.as_str(), tip), (expected, &subject), "{task}");
        let branches = if task == "phase-1" || task == "phase-2" { "" } else { "superstep/clock" };
        assert_eq!(holding.replace("main\n", ""), branches, "{task}: HEAD is on the branch only before the work");
    }
    assert_eq!(log.lock().unwrap().len(), 5);
    scene.is_over().await;
}

#[tokio::test]
async fn the_branch_waits_for_a_conflicting_file_of_the_user() {
    let repository = Repository::new();
    let path = repository.path();
    let scene = Phases::with(
        repository,
        Agent::crew(
            move |call, folder, _| {
                if call.task == "1" {
                    write(&path, "README.md", "# Mine\n");
                }
                write(folder, "README.md", &format!("# Clock of {}\n", call.task));
                work()
            },
            |_, _| approved(),
        ),
    );
    let chain = plan(&[task("1", "none", ""), task("2", "1", "")]);
    let failed = scene.try_run(&chain, profile()).await.unwrap_err();
    assert!(format!("{failed}{failed:?}").contains("README.md"), "{failed:?}");
    assert_eq!((scene.commits(), scene.file("README.md").as_deref()), (vec![], Some("# Mine\n")));
    scene.thread.retry().await.unwrap_err();
    assert_eq!(scene.commits(), Vec::<String>::new());
    scene.write("README.md", "# Clock\n");
    let state = scene.thread.retry().await.unwrap().finished().unwrap();
    assert_eq!((state.result.outcome, scene.commits()), (Some(RunOutcome::Completed), ["1", "2"].map(done).to_vec()));
    assert_eq!(scene.agent.count("developer"), 2);
    scene.is_over().await;
}

#[tokio::test]
async fn other_changes_of_the_user_stay_and_are_in_no_commit() {
    let scene = Phases::new(Agent::willing());
    scene.write("README.md", "# Mine\n");
    scene.write("notes.txt", "mine\n");
    scene.git(&["add", "notes.txt"]);
    let input = scene.input(&three_phases(), profile()).allow_dirty(true);
    scene.thread.invoke(input).await.unwrap();
    let state = scene.approve().await.unwrap().finished().unwrap();
    assert_eq!((state.result.outcome, scene.commits().len()), (Some(RunOutcome::Completed), 5));
    assert_eq!(scene.git(&["status", "--porcelain"]), "M README.md\nA  notes.txt");
    assert_eq!(scene.at("superstep/clock", "README.md").as_deref(), Some("# Clock\n"));
    scene.is_tidy().await;
}
