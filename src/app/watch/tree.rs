//! A run as a tree that moves: supersteps with their tasks, marks and elapsed time. What has ended scrolls away; what runs is
//! drawn anew.

use std::sync::Arc;
use std::time::Instant;

use crate::app::print::{say, width};
use crate::app::text::{clean, said};
use crate::graph::{Event, EventKind, EventTask};

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const GREEN: &str = "32";
const RED: &str = "31";
const YELLOW: &str = "33";
const DIM: &str = "2";

/// How many running tasks are drawn at most.
const SHOWN: usize = 12;

pub(crate) struct Tree {
    colours: bool,
    tasks: Vec<Running>,
    /// The superstep whose line was said last.
    said: Option<i64>,
    /// How many lines stand below the cursor's home, to be drawn over.
    drawn: usize,
    began: Instant,
}

/// A task that runs.
struct Running {
    depth: usize,
    step: i64,
    node: String,
    path: Arc<[String]>,
    began: Instant,
    says: Option<Says>,
}

/// What a task said last.
struct Says {
    line: String,
    /// Whether it is a text, for people: then it stays when the task has ended.
    stays: bool,
}

impl Tree {
    pub(crate) fn new(thread: &str, colours: bool) -> Self {
        let tree = Self { colours, tasks: vec![], said: None, drawn: 0, began: Instant::now() };
        say(&format!("{}\n", tree.paint(DIM, &format!("thread {}", clean(thread)))));
        tree
    }

    pub(crate) fn tell(&mut self, event: &Event) {
        match &event.kind {
            EventKind::TaskStart { node, task, .. } => {
                let (depth, path) = (event.namespace.len(), Arc::clone(&task.path));
                let (began, node) = (Instant::now(), node.to_string());
                self.tasks.push(Running { depth, step: event.step, node, path, began, says: None });
                self.draw(false);
            }
            EventKind::TaskEnd { node, task, error, questions, .. } => {
                let task = self.find(task).map(|at| self.tasks.remove(at));
                self.ended(event, node, task, error.as_deref(), questions.len());
            }
            EventKind::Custom { task, value, .. } => {
                let at = self.find(task);
                if let Some(task) = at.and_then(|at| self.tasks.get_mut(at)) {
                    let line = said(value, 0).lines().next().unwrap_or_default().to_owned();
                    task.says = Some(Says { line, stays: value.is_string() });
                }
            }
            EventKind::Values { .. } | EventKind::Update { .. } | EventKind::Interrupt { .. } => {}
            EventKind::Message { .. } | EventKind::Answered { .. } | EventKind::Checkpoint(_) | EventKind::Stored => {}
        }
    }

    fn find(&self, task: &EventTask) -> Option<usize> {
        self.tasks.iter().position(|running| running.path == task.path)
    }

    fn ended(&mut self, event: &Event, node: &str, task: Option<Running>, error: Option<&str>, questions: usize) {
        let took = task.as_ref().map(|task| seconds(task.began)).unwrap_or_default();
        let said = task.and_then(|task| task.says).filter(|says| says.stays);
        let (mark, colour, words) = match (error, questions) {
            (Some(error), _) => ("✗", RED, format!(" failed: {}", clean(error.lines().next().unwrap_or_default()))),
            (None, 0) => ("✓", GREEN, said.map(|says| format!(" {}", says.line)).unwrap_or_default()),
            (None, _) => ("?", YELLOW, " asks".into()),
        };
        let line = self.line(event.namespace.len(), event.step, &self.paint(colour, mark), node, &words, &took);
        self.said = Some(event.step);
        self.show(&format!("{line}\n"), false);
    }

    /// `  3 ✓ write  0.1s`, the superstep's number only where it changes.
    fn line(&self, depth: usize, step: i64, mark: &str, node: &str, words: &str, took: &str) -> String {
        let number = if self.said == Some(step) || depth > 0 { String::new() } else { step.to_string() };
        let room = width().saturating_sub(depth * 2 + node.chars().count() + took.len() + 14);
        let words: String = words.chars().take(room).collect();
        let indent = "  ".repeat(depth);
        format!("{number:>4} {indent}{mark} {}{words}  {}", clean(node), self.paint(DIM, took))
    }

    /// Draws what runs.
    pub(crate) fn draw(&mut self, cancelled: bool) {
        self.show("", cancelled);
    }

    /// Says lines that stay, and draws what runs under them, all at once so that nothing flickers.
    fn show(&mut self, lines: &str, cancelled: bool) {
        let running = self.running(cancelled);
        let above = self.erased();
        self.drawn = running.lines().count();
        if !above.is_empty() || !lines.is_empty() || !running.is_empty() {
            say(&format!("{above}{lines}{running}"));
        }
    }

    fn running(&self, cancelled: bool) -> String {
        let tick = self.began.elapsed().as_millis() as usize / 100;
        let mark = self.paint(YELLOW, SPINNER[tick % SPINNER.len()]);
        let mut text = String::new();
        for task in self.tasks.iter().take(SHOWN) {
            let says = task.says.as_ref().map(|says| format!(" {}", says.line)).unwrap_or_default();
            let line = self.line(task.depth, task.step, &mark, &task.node, &says, &seconds(task.began));
            text.push_str(&format!("{line}\n"));
        }
        let more = self.tasks.len().saturating_sub(SHOWN);
        if more > 0 {
            text.push_str(&format!("       and {more} more\n"));
        }
        if cancelled {
            text.push_str("     cancelling; Ctrl-C again ends at once\n");
        }
        text
    }

    /// What takes away that which was drawn.
    fn erased(&mut self) -> String {
        match std::mem::take(&mut self.drawn) {
            0 => String::new(),
            lines => format!("\x1b[{lines}A\x1b[J"),
        }
    }

    /// Leaves nothing that moves.
    pub(crate) fn end(&mut self) {
        self.tasks.clear();
        let above = self.erased();
        say(&format!("{above}\n"));
    }

    fn paint(&self, colour: &str, text: &str) -> String {
        if self.colours { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

fn seconds(began: Instant) -> String {
    format!("{:.1}s", began.elapsed().as_secs_f64())
}
