//! The names, units and explanations of the numbers of runs.

use super::numbers::{GraphNumbers, RunMetrics};
use super::page::{Metric, Page};
use super::usage::tokens_by_kind;

/// The names of the labels of a graph.
type Labels<'a> = &'a [(&'a str, &'a str)];

/// A number of each graph.
struct RunMetric {
    name: &'static str,
    help: &'static str,
    kind: &'static str,
    write: fn(&mut Metric<'_>, Labels<'_>, &GraphNumbers),
}

const METRICS: [RunMetric; 11] = [
    RunMetric {
        name: "superstep_threads_running",
        help: "Threads that this process runs now.",
        kind: "gauge",
        write: |metric, labels, numbers| metric.number(labels, numbers.running),
    },
    RunMetric {
        name: "superstep_claims_total",
        help: "Threads that this process has taken, each time counted.",
        kind: "counter",
        write: |metric, labels, numbers| metric.number(labels, numbers.claims),
    },
    RunMetric {
        name: "superstep_turns_total",
        help: "Runs that ended, by the status of the thread afterwards.",
        kind: "counter",
        write: |metric, labels, numbers| {
            let write =
                |(status, count): (&&str, &u64)| metric.number(&[labels, &[("status", status)]].concat(), count);
            numbers.turns.iter().for_each(write);
        },
    },
    RunMetric {
        name: "superstep_supersteps_total",
        help: "Supersteps of these runs, without those of subgraphs.",
        kind: "counter",
        write: |metric, labels, numbers| metric.number(labels, numbers.supersteps.count()),
    },
    RunMetric {
        name: "superstep_superstep_seconds",
        help: "Time of a superstep, from the checkpoint before it to its own.",
        kind: "histogram",
        write: |metric, labels, numbers| metric.histogram(labels, &numbers.supersteps),
    },
    RunMetric {
        name: "superstep_leases_lost_total",
        help: "Runs that stopped because their lease was lost.",
        kind: "counter",
        write: |metric, labels, numbers| metric.number(labels, numbers.lost_leases),
    },
    RunMetric {
        name: "superstep_store_outages_total",
        help: "Runs that stopped because the store could not be reached for as long as their lease lasted.",
        kind: "counter",
        write: |metric, labels, numbers| metric.number(labels, numbers.outages),
    },
    RunMetric {
        name: "superstep_due_delay_seconds",
        help: "Time from when a thread could go on until this process took it.",
        kind: "histogram",
        write: |metric, labels, numbers| metric.histogram(labels, &numbers.delays),
    },
    RunMetric {
        name: "superstep_commit_seconds",
        help: "Time from the end of a task until its results are stored.",
        kind: "histogram",
        write: |metric, labels, numbers| metric.histogram(labels, &numbers.commits),
    },
    RunMetric {
        name: "superstep_tokens_total",
        help: "Tokens of models, as the messages of runs report them.",
        kind: "counter",
        write: |metric, labels, numbers| {
            for (name, usage) in &numbers.usage.0 {
                for (kind, tokens) in tokens_by_kind(usage) {
                    let own = [("role", &*name.role), ("model", &*name.model), ("kind", kind)];
                    metric.number(&[labels, &own].concat(), tokens);
                }
            }
        },
    },
    RunMetric {
        name: "superstep_cost_dollars_total",
        help: "Cost of models, as the messages of runs report it.",
        kind: "counter",
        write: |metric, labels, numbers| {
            for (name, usage) in &numbers.usage.0 {
                let own = [("role", &*name.role), ("model", &*name.model)];
                metric.number(&[labels, &own].concat(), usage.cost as f64 / 1e6);
            }
        },
    },
];

impl RunMetrics {
    /// Returns the numbers as they are now, for Prometheus.
    pub fn page(&self) -> Page {
        let (graphs, mut page) = (self.numbers(), Page::default());
        for RunMetric { name, help, kind, write } in METRICS {
            let mut metric = page.metric(name, kind, help);
            graphs.iter().for_each(|(graph, numbers)| write(&mut metric, &[("graph", graph)], numbers));
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use superstep::graph::StatusKind;

    #[test]
    fn each_metric_has_a_line_for_each_graph() {
        let metrics = RunMetrics::new(&["a".into(), "b".into()]);
        let meter = metrics.begin("b", Some(std::time::SystemTime::UNIX_EPOCH));
        metrics.end("b", StatusKind::Waiting);
        let page = metrics.page();
        drop(meter);
        let (page, after) = (page.text(), metrics.page());
        for line in [
            "# TYPE superstep_threads_running gauge\nsuperstep_threads_running{graph=\"a\"} 0\nsuperstep_threads_running{graph=\"b\"} 1\n",
            "superstep_turns_total{graph=\"a\",status=\"failed\"} 0\n",
            "superstep_turns_total{graph=\"b\",status=\"waiting\"} 1\n",
            "superstep_due_delay_seconds_bucket{graph=\"b\",le=\"7200\"} 0\n",
            "superstep_due_delay_seconds_bucket{graph=\"b\",le=\"+Inf\"} 1\n",
            "superstep_commit_seconds_bucket{graph=\"a\",le=\"0.0025\"} 0\n",
            "superstep_superstep_seconds_bucket{graph=\"a\",le=\"0.01\"} 0\n",
            "superstep_commit_seconds_count{graph=\"b\"} 0\n",
        ] {
            assert!(page.contains(line), "{line}{page}");
        }
        assert!(after.text().contains("superstep_threads_running{graph=\"b\"} 0\n"), "{}", after.text());
        assert!(METRICS.iter().all(|metric| page.contains(&format!("# HELP {} ", metric.name))));
        let guide = include_str!("../../docs/guide/operations.md");
        assert!(METRICS.iter().all(|metric| guide.contains(&format!("`{}`", metric.name))), "the guide lists each");
    }
}
