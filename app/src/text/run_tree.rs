//! Display of a run as a live tree: supersteps with their tasks, marks, elapsed times, and actions of agents. Ended
//! tasks scroll away; running ones are redrawn. Returns text and prints none.

use std::collections::HashMap;

use serde_json::Value;

use super::lists::{columns_of, display_width};
use super::progress::{EventView, RunningTask, Tasks, WorkTotals, time};
use super::{clean, format_output, workflow_event};

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const GREEN: &str = "32";
const RED: &str = "31";
const YELLOW: &str = "33";
const DIM: &str = "2";

/// The maximum number of running tasks that are drawn.
const SHOWN: usize = 12;
/// Columns below which numbers are shortened.
const NARROW: usize = 80;

pub(crate) struct RunTree {
    colours: bool,
    width: usize,
    tasks: Tasks,
    /// The last output of tasks, and whether it is a text for people, which stays when the task has ended.
    says: HashMap<String, (String, bool)>,
    /// Superstep of the last written line.
    last_step: Option<i64>,
    /// The number of lines below the cursor's home, to be drawn over.
    drawn: usize,
    now: u64,
    /// Lines above the running tasks.
    board: Vec<String>,
    /// Lines of the terminal.
    height: usize,
    work: WorkTotals,
}

impl RunTree {
    pub(crate) fn new(colours: bool, cost: u64) -> Self {
        let (tasks, says, board) = (Tasks::default(), HashMap::new(), vec![]);
        Self {
            colours,
            width: 80,
            tasks,
            says,
            last_step: None,
            drawn: 0,
            now: 0,
            board,
            height: usize::MAX,
            work: WorkTotals::after(cost),
        }
    }

    /// Sets the size of the terminal.
    pub(crate) fn widen(&mut self, width: usize, height: usize) {
        (self.width, self.height) = (width, height);
    }

    /// Sets the lines above the running tasks.
    pub(crate) fn post(&mut self, board: Vec<String>) {
        self.board = board;
    }

    /// Returns the text for an event.
    pub(crate) fn on_event(&mut self, event: &Value) -> String {
        let seen = EventView::of(event);
        self.now = self.now.max(seen.at);
        match seen.kind {
            "start" => {
                self.tasks.end(&seen); // of an attempt before, if there was one
                self.tasks.of(&seen);
                self.show("", false)
            }
            "end" | "failed" | "asked" => self.end_task(&seen),
            "custom" => {
                let line = format_output(&event["value"], 0).lines().next().unwrap_or_default().to_owned();
                let stays = event["value"].is_string() || workflow_event(&event["value"], 0).is_some();
                self.says.insert(seen.path.clone(), (line, stays));
                String::new()
            }
            "message" => {
                self.tasks.of(&seen).agent.apply(&event["value"]);
                let lines = self.work.on_message(&event["value"]);
                if lines.is_empty() { String::new() } else { self.show(&indent(&lines), false) }
            }
            _ => String::new(),
        }
    }

    fn end_task(&mut self, seen: &EventView<'_>) -> String {
        let task = self.tasks.end(seen);
        if seen.kind == "end" && seen.is_machinery() {
            return self.show("", false);
        }
        let text = self.says.remove(&seen.path).filter(|(_, stays)| *stays).map(|(line, _)| line);
        let (mark, colour, words) = match seen.kind {
            "failed" => {
                let why = seen.error().and_then(|error| error.lines().next()).unwrap_or_default();
                ("✗", RED, format!("failed: {}", clean(why)))
            }
            "asked" => ("?", YELLOW, "asks".into()),
            _ => (
                "✓",
                GREEN,
                text.or_else(|| seen.dropped_channels()).map(|text| clean(&text).into_owned()).unwrap_or_default(),
            ),
        };
        let task = task.unwrap_or_else(|| Tasks::default().of(seen).clone());
        let line = self.line(&task, &self.paint(colour, mark), &words, seen.at);
        self.last_step = Some(seen.step);
        self.show(&format!("{line}\n"), false)
    }

    /// Formats a task as a line: `   3 ✓ developer  task 1, attempt 2  edit src/lib.rs  12.3s  3.1k tokens  $0.0110`.
    /// The superstep's number is shown where it changes; the words are cut to fit.
    fn line(&self, task: &RunningTask, mark: &str, words: &str, now: u64) -> String {
        let is_narrow = self.width < NARROW;
        let number =
            if self.last_step == Some(task.step) || task.depth > 0 { String::new() } else { task.step.to_string() };
        let (indent, node) = ("  ".repeat(task.depth), clean(&task.node));
        let place = task.place(is_narrow).map(|place| format!("  {}", clean(&place))).unwrap_or_default();
        let mut numbers = vec![time(now.saturating_sub(task.began))];
        numbers.extend(task.agent.usage_parts(is_narrow));
        let numbers = numbers.join("  ");
        let taken = [indent.as_str(), &node, &place, &numbers].iter().map(|part| display_width(part)).sum::<usize>();
        let words = truncate(words, self.width.saturating_sub(taken + 12)); // the number, the mark, the spaces, a column to spare
        let words = if words.is_empty() { words } else { format!("  {words}") };
        format!("{number:>4} {indent}{mark} {node}{place}{words}  {}", self.paint(DIM, &numbers))
    }

    /// Returns the running tasks as a drawing.
    pub(crate) fn draw(&mut self, now: u64, cancelled: bool) -> String {
        self.now = self.now.max(now);
        self.show("", cancelled)
    }

    /// Returns lines that stay, and the running tasks below them, as one write without flicker.
    fn show(&mut self, lines: &str, cancelled: bool) -> String {
        let running = self.running(cancelled);
        let above = self.erase();
        self.drawn = running.lines().count();
        format!("{above}{lines}{running}")
    }

    fn running(&self, cancelled: bool) -> String {
        let tick = usize::try_from(self.now / 100).unwrap_or_default();
        let mark = self.paint(YELLOW, SPINNER[tick % SPINNER.len()]);
        let mut text = self.board_lines();
        for task in self.tasks.0.iter().take(SHOWN) {
            let last = || self.says.get(&task.path).map(|(line, _)| line.clone());
            let words = task.agent.action.as_ref().map(|action| clean(action).into_owned()).or_else(last);
            text.push_str(&self.line(task, &mark, &words.unwrap_or_default(), self.now));
            text.push('\n');
        }
        let more = self.tasks.0.len().saturating_sub(SHOWN);
        if more > 0 {
            text.push_str(&format!("       and {more} more\n"));
        }
        if cancelled {
            text.push_str("     cancelling; Ctrl-C again ends at once\n");
        }
        text
    }

    /// Returns the board as far as it fits the terminal: drawn lines must not scroll away.
    fn board_lines(&self) -> String {
        let room = self.height.saturating_sub(self.tasks.0.len().min(SHOWN) + 4);
        let cut_off = self.board.len().saturating_sub(room);
        let lines = self.board.iter().take(self.board.len() - cut_off);
        let mut text: String =
            lines.map(|line| truncate(&format!("     {}", clean(line)), self.width.saturating_sub(1)) + "\n").collect();
        if cut_off > 0 {
            text.push_str(&format!("     and {cut_off} more lines\n"));
        }
        text
    }

    /// Returns the control sequence that erases the last drawing.
    pub(crate) fn erase(&mut self) -> String {
        match std::mem::take(&mut self.drawn) {
            0 => String::new(),
            lines => format!("\x1b[{lines}A\x1b[J"),
        }
    }

    /// Erases everything that is redrawn.
    pub(crate) fn end(&mut self) -> String {
        self.tasks.0.clear();
        self.board.clear();
        format!("{}\n", self.erase())
    }

    pub(crate) fn paint(&self, colour: &str, text: &str) -> String {
        if self.colours { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Dims a line.
    pub(crate) fn dim(&self, text: &str) -> String {
        self.paint(DIM, text)
    }
}

/// Indents lines as those of tasks are.
fn indent(lines: &[String]) -> String {
    lines.iter().map(|line| format!("     {line}\n")).collect()
}

/// Cuts a text to so many columns, with `…` where it was cut.
fn truncate(text: &str, room: usize) -> String {
    if display_width(text) <= room {
        return text.to_owned();
    }
    let mut left = room.saturating_sub(1);
    let fits = |c: &char| {
        let fits = columns_of(*c) <= left;
        left = left.saturating_sub(columns_of(*c));
        fits
    };
    let kept: String = text.chars().take_while(fits).collect();
    if kept.is_empty() { kept } else { kept + "…" }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Renders a developer at work on a terminal of so many columns.
    fn shown(width: usize) -> String {
        let mut tree = RunTree::new(false, 0);
        tree.widen(width, 24);
        let event = |kind: &str, at: u64, value: Value| json!({"kind": kind, "step": 4, "node": "developer", "path": ["developer:7-2"], "at": at, "value": value});
        tree.on_event(&event("start", 1_000, Value::Null));
        tree.on_event(&event("message", 1_000, json!({"turn": {"role": "developer", "task": "1", "attempt": 2}})));
        tree.on_event(&event("message", 2_000, json!({"usage": {"input": 3_000, "output": 100, "cost": 11_000}})));
        let command = "cargo test --workspace --all-features -- --test-threads 1 tides_of_a_long_day";
        tree.on_event(&event(
            "message",
            3_000,
            json!({"tool_call": {"name": "shell", "arguments": {"command": command}}}),
        ));
        let running = tree.draw(76_000, false);
        let done = tree.on_event(&event("end", 80_000, Value::Null));
        [running, done].concat().replace("\x1b[1A\x1b[J", "")
    }

    #[rstest::rstest]
    #[case(100)]
    #[case(60)]
    #[case(30)]
    fn a_line_fits_the_terminal(#[case] width: usize) {
        let text = shown(width);
        if width > 40 {
            assert!(text.lines().all(|line| display_width(line) < width), "{text}");
            assert!(text.contains("$ cargo test"), "{text}");
        }
        assert!(text.contains("✓ developer"), "{text}");
    }

    #[test]
    fn an_agent_has_a_line_that_lives() {
        insta::assert_snapshot!(shown(100) + &shown(60), @r#"
        4 ⠋ developer  task 1, attempt 2  $ cargo test --workspace --all-f…  1m15s  3.1k tokens  $0.0110
        4 ✓ developer  task 1, attempt 2  1m19s  3.1k tokens  $0.0110
        4 ⠋ developer  1#2  $ cargo test -…  1m15s  3.1k  $0.011
        4 ✓ developer  1#2  1m19s  3.1k  $0.011
        "#);
    }
}
