//! One line of the table.

use std::fmt;

use super::measure::{Spread, Timing};

/// A figure: the measurement, the limit measured beside it, and the target of the design.
#[derive(Clone, Debug)]
#[must_use]
pub(crate) struct Figure {
    workload: &'static str,
    what: String,
    ours: Spread,
    unit: &'static str,
    beside: String,
    limit: Option<f64>,
    target: &'static str,
}

impl Figure {
    pub(crate) fn new(workload: &'static str, what: impl Into<String>, ours: Spread, unit: &'static str) -> Self {
        Self { workload, what: what.into(), ours, unit, beside: String::new(), limit: None, target: "" }
    }

    /// CPU microseconds, and the wall time.
    pub(crate) fn cpu(workload: &'static str, what: impl Into<String>, timing: Timing) -> Self {
        Self::new(workload, what, timing.cpu, "us cpu").beside(format!("wall {}", Number(timing.wall.median)))
    }

    /// Wall microseconds, and the CPU time.
    pub(crate) fn wall(workload: &'static str, what: impl Into<String>, timing: Timing) -> Self {
        Self::new(workload, what, timing.wall, "us wall").beside(format!("cpu {}", Number(timing.cpu.median)))
    }

    pub(crate) fn beside(mut self, beside: impl Into<String>) -> Self {
        self.beside = beside.into();
        self
    }

    pub(crate) fn limit(mut self, limit: Spread) -> Self {
        self.limit = Some(limit.median);
        self
    }

    pub(crate) fn target(mut self, target: &'static str) -> Self {
        self.target = target;
        self
    }

    pub(crate) fn heading() -> String {
        row(["", "workload and parameter", "ours", "least..most", "unit", "beside", "limit", "ratio", "target"])
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workload, what, ours, unit, beside, limit, target } = self;
        let range = format!("{}..{}", Number(ours.least), Number(ours.most));
        let range = if ours.least < ours.most { range } else { String::new() };
        let ratio = limit.map(|limit| format!("{}x", Number(ours.median / limit))).unwrap_or_default();
        let limit = limit.map(|limit| Number(limit).to_string()).unwrap_or_default();
        let ours = Number(ours.median).to_string();
        f.write_str(&row([workload, what, &ours, &range, unit, beside, &limit, &ratio, target]))
    }
}

fn row(cells: [&str; 9]) -> String {
    let [workload, what, ours, range, unit, beside, limit, ratio, target] = cells;
    let line =
        format!("{workload:<8}{what:<74}{ours:>9} {range:>17} {unit:<11}{beside:<17}{limit:>9} {ratio:>8}  {target}");
    line.trim_end().to_owned()
}

/// A number, displayed with three significant digits or its whole integer part.
struct Number(f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = match self.0.abs() {
            0.0 => 0,
            value if value < 1.0 => 3,
            value if value < 10.0 => 2,
            value if value < 100.0 => 1,
            _ => 0,
        };
        write!(f, "{:.digits$}", self.0)
    }
}
