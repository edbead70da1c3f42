//! The command line of libtest, as far as a custom harness must support it; other arguments are ignored.

use std::num::NonZero;
use std::thread::available_parallelism;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Args {
    pub(crate) list: bool,
    /// With `list`: prints only the names, as cargo-nextest reads them.
    pub(crate) terse: bool,
    pub(crate) quiet: bool,
    /// Run ignored tests only: there are none.
    pub(crate) ignored: bool,
    pub(crate) help: bool,
    exact: bool,
    filters: Vec<String>,
    skips: Vec<String>,
    pub(crate) threads: usize,
}

/// Options of libtest that take a value.
const WITH_VALUE: [&str; 7] = ["--format", "--skip", "--test-threads", "--color", "--logfile", "--shuffle-seed", "-Z"];

impl Args {
    pub(crate) fn parse(args: impl IntoIterator<Item = String>) -> Self {
        let mut parsed = Self::default();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            match arg.split_once('=') {
                Some((option, value)) if option.starts_with("--") => parsed.value(option, value),
                _ if takes_value(&arg) => parsed.value(&arg, &args.next().unwrap_or_default()),
                _ => parsed.flag(arg),
            }
        }
        parsed
    }

    fn value(&mut self, option: &str, value: &str) {
        match option {
            "--format" => self.terse = value == "terse",
            "--skip" => self.skips.push(value.to_owned()),
            "--test-threads" => self.threads = value.parse().unwrap_or(self.threads).max(1),
            _ => {}
        }
    }

    fn flag(&mut self, arg: String) {
        match arg.as_str() {
            "--list" => self.list = true,
            "--exact" => self.exact = true,
            "--ignored" => self.ignored = true,
            "--help" | "-h" => self.help = true,
            "--quiet" | "-q" => self.quiet = true,
            option if option.starts_with('-') => {}
            _ => self.filters.push(arg),
        }
    }

    pub(crate) fn selects(&self, name: &str) -> bool {
        let fits = |filter: &String| if self.exact { name == filter } else { name.contains(filter.as_str()) };
        !self.ignored && (self.filters.is_empty() || self.filters.iter().any(fits)) && !self.skips.iter().any(fits)
    }
}

impl Default for Args {
    fn default() -> Self {
        Self {
            list: false,
            terse: false,
            quiet: false,
            ignored: false,
            help: false,
            exact: false,
            filters: Vec::new(),
            skips: Vec::new(),
            threads: available_parallelism().map_or(1, NonZero::get),
        }
    }
}

fn takes_value(arg: &str) -> bool {
    WITH_VALUE.contains(&arg)
}
