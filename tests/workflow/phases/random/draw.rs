//! Random plans, agents, profiles and answers.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use superstep::nodes::AfterHalt;
use superstep_workflows::{OnExhausted, OnSubtaskFailure, RetrySession};

use super::script::{Cut, LINES, Script, Settings, TaskScript, Turn, Work};
use crate::scene::retry;

/// Draws whole runs.
pub(super) fn scripts() -> impl Strategy<Value = Script> {
    let tasks = (3_usize..=8).prop_flat_map(tasks);
    let around = (prop::collection::vec(0_u32..=2, 0..3), settings(), prop::collection::vec(answer(), 2..9), cut());
    (tasks, around).prop_map(|((tasks, approved), (rejections, settings, answers, cut))| Script {
        tasks,
        rejections,
        settings: plain(settings),
        answers,
        approved,
        cut,
    })
}

/// Siblings finish first where no question is asked: cancelled ones show only in questions.
fn plain(settings: Settings) -> Settings {
    match settings.on_exhausted {
        OnExhausted::Halt => settings,
        OnExhausted::Skip | OnExhausted::Fail => Settings { on_failure: OnSubtaskFailure::FinishSiblings, ..settings },
    }
}

type Tasks = (Vec<TaskScript>, Option<Vec<usize>>);

fn tasks(count: usize) -> impl Strategy<Value = Tasks> {
    let as_written: Vec<usize> = (0..count).collect();
    let order = prop_oneof![3 => Just(as_written.clone()), 1 => Just(as_written.clone()).prop_shuffle()];
    let approved = prop_oneof![9 => Just(None), 1 => subsequence(as_written, 1..=count).prop_map(Some)];
    let needs = prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 0..3), count);
    let tasks = prop::collection::vec(task(count), count);
    (order, needs, tasks, approved).prop_map(|(order, needs, mut tasks, approved)| {
        for (place, at) in order.iter().enumerate().filter(|(place, _)| *place > 0) {
            let mut before: Vec<usize> = needs[place].iter().map(|need| order[need.index(place)]).collect();
            before.sort_unstable();
            before.dedup();
            tasks[*at].needs = before;
        }
        (tasks, approved)
    })
}

fn task(count: usize) -> impl Strategy<Value = TaskScript> {
    let besides = subsequence(vec!["shared.txt", "list.txt"], 0..=2);
    let declares = prop_oneof![3 => Just(None), 2 => besides.prop_map(Some)];
    let turns = prop::collection::vec(turn(count), 0..3);
    let runs = prop::collection::vec(turns, 0..5);
    let nothing = prop::bool::weighted(0.1);
    (declares, nothing, runs).prop_map(|(declares, changes_nothing, runs)| TaskScript {
        needs: vec![],
        declares,
        changes_nothing,
        runs,
    })
}

fn turn(count: usize) -> impl Strategy<Value = Turn> {
    let work = prop_oneof![
        4 => Just(Work::Part),
        2 => Just(Work::Shared),
        3 => (0..LINES).prop_map(Work::Line),
        3 => Just(Work::Broken),
        2 => (0..count).prop_map(Work::Against),
        2 => Just(Work::Dies),
        2 => select(vec![Work::Nothing, Work::Extra]),
    ];
    let pause = prop_oneof![2 => Just(0_u64), 1 => 1_u64..20, 1 => 50_u64..300];
    (work, prop::bool::weighted(0.1), prop::bool::weighted(0.2), pause)
        .prop_map(|(work, asks, is_rejected, pause)| Turn { work, asks, is_rejected, pause })
}

fn settings() -> impl Strategy<Value = Settings> {
    let exhausted =
        prop_oneof![8 => Just(OnExhausted::Halt), 1 => Just(OnExhausted::Skip), 1 => Just(OnExhausted::Fail)];
    let failure = select(vec![OnSubtaskFailure::Halt, OnSubtaskFailure::FinishSiblings]);
    let sessions = select(vec![RetrySession::Resume, RetrySession::Fresh, RetrySession::FreshReset]);
    let flags = (prop::bool::weighted(0.3), prop::bool::weighted(0.3), any::<bool>());
    ((1_u32..=8, 1_u32..=3, 1_u32..=3), (exhausted, failure, sessions), flags).prop_map(
        |((max_parallel, max_phase_attempts, max_turns), (on_exhausted, on_failure, retry_session), flags)| {
            let (strict_files, subtask_review, is_threaded) = flags;
            Settings {
                max_parallel,
                max_phase_attempts,
                max_turns,
                on_failure,
                on_exhausted,
                retry_session,
                strict_files,
                subtask_review,
                is_threaded,
            }
        },
    )
}

fn answer() -> impl Strategy<Value = AfterHalt> {
    let again = (1_u32..3).prop_map(|attempts| retry(attempts, "Mind the gap."));
    prop_oneof![4 => again, 3 => Just(AfterHalt::Accept), 3 => Just(AfterHalt::Skip), 1 => Just(AfterHalt::Abort)]
}

fn cut() -> impl Strategy<Value = Option<Cut>> {
    prop_oneof![
        2 => Just(None),
        1 => (1_u64..250).prop_map(|at| Some(Cut::Write(at))),
        1 => (1_u64..250).prop_map(|at| Some(Cut::Acknowledgement(at))),
        1 => (1_usize..20).prop_map(|at| Some(Cut::Turn(at))),
    ]
}
