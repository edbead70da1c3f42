//! The command line. Accepts the arguments that cargo and nextest pass to a test harness.

use std::path::PathBuf;

/// The effort of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    Full,
    Quick,
    /// Only checks that it runs.
    Tiny,
}

#[derive(Debug)]
pub(crate) struct Args {
    pub(crate) effort: Effort,
    pub(crate) list: bool,
    /// The folder of the stores, whose file system is measured.
    pub(crate) dir: PathBuf,
    filters: Vec<String>,
    ignored: bool,
}

impl Args {
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Self {
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let mut args = Self { effort: Effort::Tiny, list: false, dir, filters: vec![], ignored: false };
        let (mut test, mut quick) = (false, false);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--bench" => args.effort = Effort::Full,
                "--test" => test = true,
                "--quick" => quick = true,
                "--list" => args.list = true,
                "--ignored" => args.ignored = true,
                "--dir" => args.dir = words.next().map(PathBuf::from).unwrap_or(args.dir),
                "--format" | "--color" | "--test-threads" | "--skip" => drop(words.next()),
                option if option.starts_with('-') => {}
                name => args.filters.push(name.to_owned()),
            }
        }
        match (test, quick, args.effort) {
            (true, ..) => args.effort = Effort::Tiny,
            (false, true, Effort::Full) => args.effort = Effort::Quick,
            _ => {}
        }
        args
    }

    /// `W2` selects `W2-memory` and `W2-durable`, but `W1` does not select `W10`.
    pub(crate) fn selects(&self, name: &str) -> bool {
        let fits = |filter: &String| name == filter || name.split('-').next() == Some(filter);
        !self.ignored && (self.filters.is_empty() || self.filters.iter().any(fits))
    }

    /// Returns the command that repeats this run.
    pub(crate) fn line(&self, program: &str) -> String {
        let effort = match self.effort {
            Effort::Full => None,
            Effort::Quick => Some("--quick"),
            Effort::Tiny => Some("--test"),
        };
        let words = self.filters.iter().map(String::as_str).chain(effort);
        let words: String = words.map(|word| format!(" {word}")).collect();
        let line = format!("cargo bench --bench {program} --{words}");
        line.trim_end_matches(" --").to_owned()
    }
}
