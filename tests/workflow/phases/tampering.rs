//! Hooks and configuration that change while a phase is integrated or reviewed: a person is asked, and git runs no
//! planted program.

use std::path::{Path, PathBuf};

use rstest::rstest;

use crate::agent::approved;
use crate::phases::stage::{Cast, Stage, done, halt, phased, plan, profile, verified};
use crate::repository::write;
use crate::scene::retry;

/// Two siblings.
fn two() -> String {
    plan(&[("1", "none"), ("2", "none")])
}

/// A script that plants hooks, filters and a monitor, which create the file `owned`; it creates `planted`, once.
fn script(stage: &Stage, place: &Path) -> String {
    let (git, owned) = (stage.path().join(".git"), place.join("owned"));
    let (git, touch) = (git.display(), format!("touch {}", owned.display()));
    let hooks = ["pre-commit", "post-checkout", "reference-transaction", "post-index-change"].map(|name| {
        let file = format!("{git}/hooks/{name}");
        format!("printf '#!/bin/sh\\n{touch}\\n' > {file}; chmod +x {file}; ")
    });
    let keys = ["core.fsmonitor", "filter.evil.clean", "filter.evil.smudge"];
    let settings = keys.map(|key| format!("git config --file {git}/config {key} '{touch}'; "));
    let attributes = format!("mkdir -p {git}/info; echo '* filter=evil' > {git}/info/attributes; ");
    let (hooks, settings) = (hooks.concat(), settings.concat());
    let planted = place.join("planted");
    format!(
        "#!/bin/sh\ntest -e {0} && exit 0\ntouch {0}; mkdir -p {git}/hooks; {hooks}{settings}{attributes}\n",
        planted.display()
    )
}

fn plant(place: &Path) -> PathBuf {
    place.join("plant.sh")
}

/// Writes the script.
fn prepared(stage: &Stage, place: &Path) {
    write(place, "plant.sh", &script(stage, place));
    crate::program::make_executable(plant(place));
}

/// Fixes it, as a person would.
fn fix(stage: &Stage, config: &[u8]) {
    std::fs::write(stage.path().join(".git/config"), config).unwrap();
    std::fs::remove_dir_all(stage.path().join(".git/hooks")).unwrap();
    std::fs::remove_file(stage.path().join(".git/info/attributes")).unwrap();
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Culprit {
    Setup,
    Check,
    Reviewer,
}

#[rstest]
#[case::setup(Culprit::Setup, Some("1"), "hooks or configuration: ")]
#[case::check(Culprit::Check, Some("1"), "a check changed git's hooks or configuration: ")]
#[case::reviewer(Culprit::Reviewer, None, "a reviewer changed git's hooks or configuration: ")]
#[tokio::test]
async fn programs_planted_during_an_integration_halt_the_phase_and_never_run(
    #[case] culprit: Culprit,
    #[case] subtask: Option<&str>,
    #[case] reason: &str,
) {
    let place = tempfile::tempdir().unwrap();
    let script = plant(place.path());
    let cast = Cast::new(move |call| {
        let script = script.clone();
        async move {
            if call.is_developer() {
                return Ok(call.part());
            }
            if culprit == Culprit::Reviewer {
                assert!(std::process::Command::new(script).status().unwrap().success());
            }
            Ok(approved())
        }
    });
    let stage = Stage::new(&cast);
    prepared(&stage, place.path());
    let config = std::fs::read(stage.path().join(".git/config")).unwrap();
    let command = format!("case $PWD in *-integration) {};; esac", plant(place.path()).display());
    let (plan, profile) = match culprit {
        Culprit::Setup => (two(), phased(|phased| phased.worktree.setup = vec![command])),
        Culprit::Check => (verified(&two(), "1", &command), profile()),
        Culprit::Reviewer => (two(), profile()),
    };
    let halted = halt(&stage.run(&plan, profile).await);
    assert!(halted.reason.contains(reason), "{}", halted.reason);
    assert_eq!(halted.phase.clone().unwrap().subtask.as_deref(), subtask);
    assert!(!place.path().join("owned").exists(), "nothing that was planted runs");
    let expected = ["1", "2"].map(|id| format!("refs/superstep/clock/phase-1/attempt-1/task-{id}"));
    assert_eq!(halted.salvage.references().collect::<Vec<_>>(), expected);
    fix(&stage, &config);
    stage.tidy();
    done(stage.halted(retry(1, "")).await);
    assert_eq!(stage.files("superstep/clock"), "part-1.txt part-2.txt");
    assert!(!place.path().join("owned").exists());
    stage.tidy();
    stage.agrees().await;
}
