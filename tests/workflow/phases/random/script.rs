//! Everything that varies between runs of random plans, and the changes to files. Knows neither graph nor git.

use std::collections::BTreeMap;

use superstep::nodes::AfterHalt;
use superstep_workflows::{OnExhausted, OnSubtaskFailure, RetrySession};

/// The files of a tree with their text. Each line of `list.txt` that agents change is an entry of its own, `list.txt/3`.
pub(super) type Files = BTreeMap<String, String>;

/// A plan, the behaviour of its agents, the profile, and the answers of people.
#[derive(Clone, Debug)]
pub(super) struct Script {
    /// The tasks, in the order of the plan.
    pub(super) tasks: Vec<TaskScript>,
    /// The number of attempts at each phase that its review rejects.
    pub(super) rejections: Vec<u32>,
    pub(super) settings: Settings,
    /// The answers to halts; later ones are `abort`.
    pub(super) answers: Vec<AfterHalt>,
    /// The indexes of the approved tasks; `None` for all.
    pub(super) approved: Option<Vec<usize>>,
    pub(super) cut: Option<Cut>,
}

/// The keys of the profile.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) max_parallel: u32,
    pub(super) max_phase_attempts: u32,
    /// Number of turns of a developer that are judged.
    pub(super) max_turns: u32,
    pub(super) on_failure: OnSubtaskFailure,
    pub(super) on_exhausted: OnExhausted,
    pub(super) retry_session: RetrySession,
    pub(super) strict_files: bool,
    pub(super) subtask_review: bool,
    /// Set if the run has more than one thread of the operating system.
    pub(super) is_threaded: bool,
}

/// The place at which the run is cut; it resumes after that, with the same result.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cut {
    /// The write to the store that fails, from 1.
    Write(u64),
    /// The write that is stored although it fails.
    Acknowledgement(u64),
    /// The turn of an agent in which the future of the run is dropped, from 1.
    Turn(usize),
}

#[derive(Clone, Debug)]
pub(super) struct TaskScript {
    /// The indexes of the tasks that it depends on.
    pub(super) needs: Vec<usize>,
    /// The files that it declares besides its own; `None` if it declares none at all.
    pub(super) declares: Option<Vec<&'static str>>,
    /// Set if the plan says that it changes nothing.
    pub(super) changes_nothing: bool,
    /// The turns of its runs: the first run of each attempt at the phase, then the one on the integrated work. Later
    /// runs pass.
    pub(super) runs: Vec<Vec<Turn>>,
}

/// A turn of a developer, and the review of the subtask after it.
#[derive(Clone, Debug, Default)]
pub(super) struct Turn {
    pub(super) work: Work,
    /// Set if the developer asks a person before the work is done.
    pub(super) asks: bool,
    /// Set if the review of the subtask rejects it.
    pub(super) is_rejected: bool,
    /// Pause of the developer at the start, in milliseconds: siblings may fail meanwhile.
    pub(super) pause: u64,
}

/// The change that a turn makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Work {
    /// The task's own file.
    #[default]
    Part,
    /// The same, and a file for which the task's own command fails.
    Broken,
    Nothing,
    /// The same as `Part`, and a file that others change as well.
    Shared,
    /// The same as `Part`, and a line of a file in which others change other lines.
    Line(u8),
    /// The same as `Part`, and a file that no task declares.
    Extra,
    /// The same as `Part`, and a file for which the command of another task fails.
    Against(usize),
    /// The same as `Part`; then the agent fails.
    Dies,
}

/// The run of a subtask: its task, the phase from 1, the attempt at it, and whether it runs once more on the integrated work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run {
    pub(super) task: String,
    pub(super) phase: u32,
    pub(super) attempt: u32,
    pub(super) is_second: bool,
}

impl Run {
    /// Returns the name of its kept work, which with `-` for `/` is also that of its worktree's folder.
    pub(super) fn name(&self) -> String {
        let second = if self.is_second { "-2" } else { "" };
        format!("phase-{}/attempt-{}/task-{}{second}", self.phase, self.attempt, self.task)
    }
}

const IDS: [&str; 8] = ["1", "2", "2.1", "3a", "3b", "10", "4", "5b"];

/// The lines of `list.txt` that agents change.
pub(super) const LINES: u8 = 4;

pub(super) fn id(at: usize) -> String {
    IDS[at].to_owned()
}

pub(super) fn index(id: &str) -> usize {
    IDS.iter().position(|known| *known == id).unwrap()
}

/// The files of the repository before the run.
pub(super) fn begin() -> Files {
    let lines = (0..LINES).map(|line| (format!("list.txt/{line}"), "free".to_owned()));
    let readme = ("README.md".to_owned(), "# Clock\n".to_owned());
    lines.chain([readme]).collect()
}

/// Returns the text of `list.txt`: lines that agents change, far enough apart to be merged.
pub(super) fn list(files: &Files) -> String {
    let line = |at: u8| format!("{}\n-\n-\n-\n-\n", files[&format!("list.txt/{at}")]);
    (0..LINES).map(line).collect()
}

/// The entries of a text of `list.txt`.
pub(super) fn lines(text: &str) -> Files {
    let changed = text.lines().filter(|line| *line != "-").enumerate();
    changed.map(|(at, line)| (format!("list.txt/{at}"), line.to_owned())).collect()
}

impl Script {
    /// Returns the turn of a run, counted from 0.
    pub(super) fn turn(&self, run: &Run, turn: usize) -> Turn {
        let nth = 2 * (run.attempt as usize - 1) + usize::from(run.is_second);
        let turns = self.tasks[index(&run.task)].runs.get(nth);
        turns.and_then(|turns| turns.get(turn)).cloned().unwrap_or_default()
    }

    /// Returns true if the review rejects a phase, both counted from 1.
    pub(super) fn rejects(&self, phase: u32, attempt: u32) -> bool {
        self.rejections.get(phase as usize - 1).is_some_and(|rejections| attempt <= *rejections)
    }

    /// Returns the commands of a task: each fails if a file exists.
    pub(super) fn forbidden(&self, at: usize) -> Vec<String> {
        vec![format!("broken-{}.txt", id(at)), format!("no-{}.txt", id(at))]
    }

    /// Returns the files that a task declares; `None` if it declares none.
    pub(super) fn declared(&self, at: usize) -> Option<Vec<String>> {
        let task = id(at);
        let besides = self.tasks[at].declares.as_ref()?.iter().map(|file| (*file).to_owned());
        Some([format!("part-{task}.txt"), format!("broken-{task}.txt")].into_iter().chain(besides).collect())
    }

    pub(super) fn plan(&self) -> String {
        let tasks = (0..self.tasks.len()).map(|at| self.section(at)).collect::<String>();
        format!("# Clock\n\n**Goal:** A clock.\n\n{tasks}")
    }

    fn section(&self, at: usize) -> String {
        let (task, name) = (&self.tasks[at], id(at));
        let needs: Vec<String> = task.needs.iter().map(|need| id(*need)).collect();
        let mut lines = vec![format!("### Task {name}: Part {name}"), format!("Write part {name}.")];
        match needs.as_slice() {
            [] if at % 2 == 1 => {} // the same as `none`, for the first task has the line
            [] => lines.push("**Depends on:** none".to_owned()),
            needs => lines.push(format!("**Depends on:** {}", needs.join(", "))),
        }
        if let Some(declared) = self.declared(at) {
            lines.push(format!("**Files:** `{}`", declared.join("`, `")));
        }
        lines.extend(self.forbidden(at).iter().map(|file| format!("**Verify:** `test ! -e {file}`")));
        if task.changes_nothing {
            lines.push("**Changes:** nothing".to_owned());
        }
        lines.join("\n\n") + "\n\n"
    }
}

impl Work {
    /// Makes the change of a turn of a run.
    pub(super) fn apply(self, run: &Run, turn: usize, files: &mut Files) {
        if self == Self::Nothing {
            return;
        }
        let (task, text) = (&run.task, format!("{} turn {turn}\n", run.name()));
        files.remove(&format!("broken-{task}.txt"));
        let besides = match self {
            Self::Part | Self::Nothing | Self::Dies => None,
            Self::Broken => Some((format!("broken-{task}.txt"), text.clone())),
            Self::Shared => Some(("shared.txt".to_owned(), text.clone())),
            Self::Line(line) => Some((format!("list.txt/{line}"), text.trim().to_owned())),
            Self::Extra => Some((format!("extra-{task}.txt"), text.clone())),
            Self::Against(other) => Some((format!("no-{}.txt", id(other)), text.clone())),
        };
        files.insert(format!("part-{task}.txt"), text);
        files.extend(besides);
    }
}
