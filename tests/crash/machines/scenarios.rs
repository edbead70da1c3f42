//! What is done to teams, and what is expected of them.

use std::path::Path;
use std::process::Command;

use crate::machines::fleet::Environments;
use crate::machines::graphs::VERSION;
use crate::machines::judge::Verdict;
use crate::machines::team::{Disturbance, Team};

/// The number of disturbances of each team.
fn times() -> usize {
    number("SUPERSTEP_KILLS").unwrap_or(8)
}

fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok()?.parse().ok()
}

fn seed() -> u64 {
    number("SUPERSTEP_SEED").unwrap_or(1) as u64
}

/// Runs a team, prints what was counted, and expects that nothing was lost or doubled.
async fn check(name: &str, team: Team, ways: &[Disturbance], times: usize) {
    let verdict = team.run(ways, times).await;
    let Verdict { disturbances, effects, executions, late, lost, doubled } = &verdict;
    println!(
        "{name}: {disturbances} disturbances, {} effects, {executions} executions, {late} late, {} lost, {} doubled",
        effects.len(),
        lost.len(),
        doubled.len()
    );
    assert!(lost.is_empty() && doubled.is_empty(), "lost: {lost:#?}, doubled: {doubled:#?}");
    assert!(effects.len() > 3 * times, "only {} effects", effects.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_that_are_killed_or_asked_to_end() {
    let Some(team) = Team::start(seed(), false, vec![]).await else { return };
    check("killed workers", team, &[Disturbance::Kill, Disturbance::Kill, Disturbance::End], times()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_that_are_frozen_past_their_lease() {
    let Some(team) = Team::start(seed() + 1, false, vec![]).await else { return };
    check("frozen workers", team, &[Disturbance::Freeze], times()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_or_frozen() {
    let Some(team) = Team::start(seed() + 2, false, vec![]).await else { return };
    check(
        "killed servers",
        team,
        &[Disturbance::KillServer, Disturbance::KillServer, Disturbance::FreezeServer],
        times(),
    )
    .await;
}

/// Returns the environments of a worker with the right time, and of two whose clocks are an hour off.
fn wrong_clocks(folder: &Path) -> Environments {
    let (source, library) = (
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/crash/machines/clock.c"),
        folder.join("clock.so").display().to_string(),
    );
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o", &library, source]).status().unwrap();
    assert!(built.success());
    let shifted = |seconds: &str| {
        vec![("LD_PRELOAD".to_owned(), library.clone()), ("CLOCK_SHIFT".to_owned(), seconds.to_owned())]
    };
    vec![vec![], shifted("3600"), shifted("-3600")]
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clocks_that_are_an_hour_off() {
    let folder = tempfile::tempdir().unwrap();
    let Some(team) = Team::start(seed() + 4, false, wrong_clocks(folder.path())).await else { return };
    check("wrong clocks", team, &[Disturbance::Kill], times()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_of_two_versions() {
    let newer = vec![(VERSION.to_owned(), "1".to_owned())];
    let Some(team) = Team::start(seed() + 5, false, vec![vec![], newer]).await else { return };
    check("two versions", team, &[Disturbance::Kill, Disturbance::End], times()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_at_once() {
    let Some(team) = Team::start(seed() + 6, true, vec![]).await else { return };
    let workers = [Disturbance::Kill, Disturbance::Kill, Disturbance::End, Disturbance::Freeze];
    let server = [Disturbance::KillServer, Disturbance::FreezeServer];
    check("everything at once", team, &[workers.as_slice(), &server].concat(), times()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_cut() {
    let Some(team) = Team::start(seed() + 3, true, vec![]).await else { return };
    check("cut connections", team, &[Disturbance::Wait], 2 * times()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restate_and_its_workers_that_are_killed() {
    let Some(team) = Team::start_with_restate(seed() + 4).await else { return };
    let ways = [Disturbance::Kill, Disturbance::KillRestate, Disturbance::End, Disturbance::KillServer];
    check("killed with Restate", team, &ways, times()).await;
}
