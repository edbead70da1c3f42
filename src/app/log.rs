//! Log of runs on standard error. Knows `tracing`, must not know a graph; the only file that names
//! `tracing_subscriber`.

use std::io::{Result, Write};

use clap::ValueEnum;
use tracing::Level as Loudness;
use tracing_subscriber::fmt::format::FmtSpan;

use super::print::note;
use super::text::clean;

/// Least severe level that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// What ended a run
    Error,
    /// What went wrong, attempts that are made again too
    Warn,
    /// When runs, supersteps and tasks begin and end, and what is asked
    Info,
}

/// Starts logging, unless the program has a `tracing` subscriber of its own.
pub(crate) fn start(level: Level) {
    let loudness = match level {
        Level::Error => Loudness::ERROR,
        Level::Warn => Loudness::WARN,
        Level::Info => Loudness::INFO,
    };
    let subscriber = tracing_subscriber::fmt().with_max_level(loudness).with_target(false).with_ansi(false);
    let subscriber = subscriber.with_span_events(FmtSpan::NEW | FmtSpan::CLOSE).with_writer(|| Lines).finish();
    _ = tracing::subscriber::set_global_default(subscriber);
}

/// Writer that escapes control characters: error messages of nodes may contain any.
struct Lines;

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> Result<usize> {
        note(&format!("{}\n", clean(String::from_utf8_lossy(line).trim_end())));
        Ok(line.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}
