//! The text of a runner's numbers, in the format of Prometheus (version 0.0.4). Knows their names, units and explanations.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::histogram::Histogram;
use super::numbers::GraphNumbers;

/// The type of the text.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A number of each graph.
struct Metric {
    name: &'static str,
    help: &'static str,
    kind: &'static str,
    write: fn(&mut Lines<'_>, &GraphNumbers),
}

const METRICS: [Metric; 8] = [
    Metric {
        name: "superstep_threads_running",
        help: "Threads that the runner runs now.",
        kind: "gauge",
        write: |lines, numbers| lines.number("", "", numbers.running),
    },
    Metric {
        name: "superstep_claims_total",
        help: "Threads that the runner has taken, each time counted.",
        kind: "counter",
        write: |lines, numbers| lines.number("", "", numbers.claims),
    },
    Metric {
        name: "superstep_turns_total",
        help: "Runs that ended, by the status of the thread afterwards.",
        kind: "counter",
        write: |lines, numbers| {
            numbers.turns.iter().for_each(|(status, count)| lines.number("", &format!(",status=\"{status}\""), *count));
        },
    },
    Metric {
        name: "superstep_supersteps_total",
        help: "Supersteps of these runs, without those of subgraphs.",
        kind: "counter",
        write: |lines, numbers| lines.number("", "", numbers.supersteps),
    },
    Metric {
        name: "superstep_leases_lost_total",
        help: "Runs that stopped because their lease was lost.",
        kind: "counter",
        write: |lines, numbers| lines.number("", "", numbers.lost_leases),
    },
    Metric {
        name: "superstep_store_outages_total",
        help: "Runs that stopped because the store could not be reached for as long as their lease lasted.",
        kind: "counter",
        write: |lines, numbers| lines.number("", "", numbers.outages),
    },
    Metric {
        name: "superstep_due_delay_seconds",
        help: "Time from when a thread could go on until the runner took it.",
        kind: "histogram",
        write: |lines, numbers| lines.histogram(&numbers.delays),
    },
    Metric {
        name: "superstep_commit_seconds",
        help: "Time from the end of a task until its results are stored.",
        kind: "histogram",
        write: |lines, numbers| lines.histogram(&numbers.commits),
    },
];

/// The lines of a metric of one graph.
struct Lines<'a> {
    text: &'a mut String,
    name: &'static str,
    /// The label of the graph, escaped.
    graph: String,
}

impl Lines<'_> {
    fn number(&mut self, suffix: &str, labels: &str, value: impl std::fmt::Display) {
        let Self { text, name, graph } = self;
        _ = writeln!(text, "{name}{suffix}{{graph=\"{graph}\"{labels}}} {value}");
    }

    fn histogram(&mut self, histogram: &Histogram) {
        for (bound, count) in histogram.buckets() {
            self.number("_bucket", &format!(",le=\"{bound}\""), count);
        }
        self.number("_bucket", ",le=\"+Inf\"", histogram.count());
        self.number("_sum", "", histogram.seconds());
        self.number("_count", "", histogram.count());
    }
}

/// Returns the text of the numbers.
pub(super) fn text(graphs: &BTreeMap<String, GraphNumbers>) -> String {
    let mut text = String::new();
    for Metric { name, help, kind, write } in METRICS {
        _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for (graph, numbers) in graphs {
            write(&mut Lines { text: &mut text, name, graph: escaped(graph) }, numbers);
        }
    }
    text
}

/// Escapes the value of a label.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::super::RunnerMetrics;
    use super::*;
    use superstep::graph::StatusKind;

    #[test]
    fn names_of_graphs_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }

    #[test]
    fn each_metric_has_a_line_for_each_graph() {
        let metrics = RunnerMetrics::new(&["a".into(), "b".into()]);
        let turn = metrics.begin("b", Some(std::time::SystemTime::UNIX_EPOCH));
        metrics.end("b", StatusKind::Waiting);
        let page = text(&metrics.numbers());
        drop(turn);
        let after = text(&metrics.numbers());
        for line in [
            "# TYPE superstep_threads_running gauge\nsuperstep_threads_running{graph=\"a\"} 0\nsuperstep_threads_running{graph=\"b\"} 1\n",
            "superstep_turns_total{graph=\"a\",status=\"failed\"} 0\n",
            "superstep_turns_total{graph=\"b\",status=\"waiting\"} 1\n",
            "superstep_due_delay_seconds_bucket{graph=\"b\",le=\"7200\"} 0\n",
            "superstep_due_delay_seconds_bucket{graph=\"b\",le=\"+Inf\"} 1\n",
            "superstep_commit_seconds_bucket{graph=\"a\",le=\"0.0025\"} 0\n",
            "superstep_commit_seconds_count{graph=\"b\"} 0\n",
        ] {
            assert!(page.contains(line), "{line}{page}");
        }
        assert!(after.contains("superstep_threads_running{graph=\"b\"} 0\n"), "{after}");
        assert!(METRICS.iter().all(|metric| page.contains(&format!("# HELP {} ", metric.name))));
        let guide = include_str!("../../../docs/guide/machines.md");
        assert!(METRICS.iter().all(|metric| guide.contains(&format!("`{}`", metric.name))), "the guide lists each");
    }
}
