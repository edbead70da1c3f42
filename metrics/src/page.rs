//! [`Page`]: the text of numbers in the format of Prometheus (version 0.0.4). Must not know what they mean.

use std::fmt::{Display, Write};

use super::histogram::Histogram;

/// The type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A text of numbers.
#[derive(Clone, Debug, Default)]
pub struct Page(String);

impl Page {
    /// Starts a metric; `kind` is `counter`, `gauge` or `histogram`. The name says its unit.
    pub fn metric(&mut self, name: &'static str, kind: &str, help: &str) -> Metric<'_> {
        _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        Metric { text: &mut self.0, name }
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// The lines of a metric.
#[derive(Debug)]
pub struct Metric<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl Metric<'_> {
    /// Adds a number with its labels.
    pub fn number(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.line("", labels, value);
    }

    pub(super) fn histogram(&mut self, labels: &[(&str, &str)], histogram: &Histogram) {
        for (bound, count) in histogram.buckets() {
            self.line("_bucket", &[labels, &[("le", &bound.to_string())]].concat(), count);
        }
        self.line("_bucket", &[labels, &[("le", "+Inf")]].concat(), histogram.count());
        self.line("_sum", labels, histogram.seconds());
        self.line("_count", labels, histogram.count());
    }

    fn line(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        _ = writeln!(self.text, "{}{suffix}{labels} {value}", self.name);
    }
}

/// Escapes the value of a label.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_labels_are_escaped() {
        let mut page = Page::default();
        let mut metric = page.metric("queue_length", "gauge", "Runs that wait.");
        metric.number(&[], 1);
        metric.number(&[("graph", "a\"b\\c\nd"), ("status", "x")], 0.5);
        let expected = "# HELP queue_length Runs that wait.\n# TYPE queue_length gauge\nqueue_length 1\n\
            queue_length{graph=\"a\\\"b\\\\c\\nd\",status=\"x\"} 0.5\n";
        assert_eq!(page.text(), expected);
    }
}
