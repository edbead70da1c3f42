//! The engine's events in the runner's shapes.

use serde_json::{Value, json};
use superstep::graph::stream::CheckpointView;
use superstep::graph::{self, EventKind};

use crate::build::World;
use crate::outcome::{self, Event, Snapshot, TaskView};
use crate::script::Mode;
use crate::states::{CaseNames, CaseState};
use crate::views;

pub(crate) fn engine_modes(modes: &[Mode]) -> Vec<graph::Mode> {
    let one = |mode: &Mode| match mode {
        Mode::Values => graph::Mode::Values,
        Mode::Updates => graph::Mode::Updates,
        Mode::Custom => graph::Mode::Custom,
        Mode::Tasks => graph::Mode::Tasks,
        Mode::Checkpoints => graph::Mode::Checkpoints,
        Mode::Debug => graph::Mode::Debug,
    };
    modes.iter().map(one).collect()
}

/// Adds the parts of an event that the modes show.
pub(crate) fn translate<S: CaseState>(event: &graph::Event, world: &World, modes: &[Mode], out: &mut Vec<Event>) {
    let names = CaseNames::of::<S>(world);
    let nodes: Vec<String> = event.nodes().map(str::to_owned).collect();
    let ns = &*world.shown(&nodes);
    let wants = |mode| modes.contains(&mode);
    let node = event.node().unwrap_or_default();
    match &event.kind {
        EventKind::Values { values, questions } => {
            if wants(Mode::Values) {
                let mut shown = Event::new(ns, Mode::Values, names.state(&nodes, values.json()));
                if !questions.is_empty() {
                    shown.interrupts = Some(views::questions(questions));
                }
                out.push(shown);
            }
        }
        EventKind::Update { writes, cached } => {
            if wants(Mode::Updates) {
                let mut shown = Event::new(ns, Mode::Updates, json!({ node: views::update(names, &nodes, writes) }));
                shown.cached = *cached;
                out.push(shown);
            }
        }
        EventKind::Answered { .. } | EventKind::Journal { .. } | EventKind::Stored => {}
        EventKind::Interrupt { questions } => {
            if wants(Mode::Updates) {
                out.push(Event::of_interrupts(ns, views::questions(questions)));
            }
        }
        EventKind::Custom { value } | EventKind::Message { value, .. } => {
            if wants(Mode::Custom) {
                out.push(Event::new(ns, Mode::Custom, value.clone()));
            }
        }
        EventKind::TaskStart { input, sent, remaining_steps } => {
            let mut input = if *sent { input.json() } else { names.state(&nodes, input.json()) };
            if let (Value::Object(values), false) = (&mut input, *sent) {
                world.add_computed(&nodes, node, *remaining_steps, values);
            }
            let data = outcome::task_start(node, &input);
            both(ns, event.step, modes, Mode::Tasks, "task", data, out);
        }
        EventKind::TaskEnd { error, writes, questions, .. } => {
            let questions = views::questions(questions);
            let data = outcome::task_result(node, error.is_some(), &views::result(names, &nodes, writes), &questions);
            both(ns, event.step, modes, Mode::Tasks, "task_result", data, out);
        }
        EventKind::Checkpoint(view) => {
            let data = outcome::checkpoint(&checkpoint(names, &nodes, view));
            both(ns, event.step, modes, Mode::Checkpoints, "checkpoint", data, out);
        }
    }
}

fn both(ns: &[String], step: i64, modes: &[Mode], mode: Mode, kind: &str, data: Value, out: &mut Vec<Event>) {
    if modes.contains(&mode) {
        out.push(Event::new(ns, mode, data.clone()));
    }
    if modes.contains(&Mode::Debug) {
        out.push(Event::new(ns, Mode::Debug, outcome::debug(kind, step, data)));
    }
}

fn checkpoint(names: CaseNames<'_>, at: &[String], view: &CheckpointView) -> Snapshot {
    let task = |task: &graph::stream::TaskView| TaskView {
        name: task.name.clone(),
        interrupts: views::questions(&task.questions),
        error: task.error.is_some(),
        result: task
            .result
            .as_ref()
            .map(|writes| views::result(names, at, writes))
            .filter(|result| result.as_object().is_none_or(|o| !o.is_empty())),
        has_state: false,
        state: None,
    };
    Snapshot {
        values: names.state(at, view.values.json()),
        next: view.next.clone(),
        tasks: view.tasks.iter().map(task).collect(),
        interrupts: vec![],
        step: Some(view.step),
        source: Some(views::source(view.source).to_owned()),
        has_parent: view.has_parent,
    }
}
