//! A thread of a store as one file. Knows the contract and the records; the file's layout is in `file`.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;

use super::file::{Header, Names, write};
use super::redact::redact;
use crate::checkpoint::threads::anatomy::Anatomy;
use crate::checkpoint::threads::capture::Captured;
use crate::checkpoint::threads::reach::Reach;
use crate::checkpoint::time::now;
use crate::checkpoint::{CheckpointError, Checkpointer, Head, Record, Shape, ThreadId};

/// How a thread is exported.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ExportOptions {
    secrets: bool,
}

impl ExportOptions {
    /// Returns the options that leave secret channels out.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the file hold secret channels too.
    pub fn with_secrets(mut self) -> Self {
        self.secrets = true;
        self
    }
}

/// What an exported file holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// How many checkpoints, those of subgraphs included.
    pub checkpoints: usize,
    /// How many records, checkpoints included.
    pub records: usize,
    /// The bytes of these records, as the engine counts them.
    pub bytes: u64,
    /// Secret channels that were left out.
    pub redacted: Vec<String>,
}

impl fmt::Display for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { checkpoints, records, bytes, redacted } = self;
        write!(f, "{checkpoints} checkpoints exported: {records} records, {bytes} bytes")?;
        if redacted.is_empty() {
            return Ok(());
        }
        write!(
            f,
            "\nleft out: {}; look for secrets in what is no channel before you pass the file on",
            redacted.join(", ")
        )
    }
}

/// Writes a thread, as it is at one moment, as one file: checkpoints, subgraphs, journals, events, tags. A run may hold it
/// meanwhile; the thread is in memory meanwhile.
///
/// **What the file may give away.** Channels marked `#[channel(secret)]` are left out, in every subgraph and in the writes of
/// unfinished tasks too; a channel that any version of the graph calls secret counts. Nothing else is: input to workers
/// (sends), questions, answers and who gave them, arguments and results of effects, recorded events, texts of errors,
/// metadata. A secret that a node copied there is in the file.
///
/// # Errors
/// [`CheckpointError::UnknownThread`], [`CheckpointError::Damaged`], [`CheckpointError::BadImport`] for a thread that has no
/// checkpoint yet; [`CheckpointError::Io`] if `out` cannot be written; if the store cannot be read.
pub async fn export_thread(
    store: &dyn Checkpointer,
    thread: &ThreadId,
    options: &ExportOptions,
    mut out: impl Write,
) -> Result<Exported, CheckpointError> {
    let Captured { head, mut records } = Captured::read(store, thread).await?;
    let Some(newest) = head.checkpoint else {
        return Err(CheckpointError::BadImport { reason: format!("thread `{thread}` has no checkpoint yet") });
    };
    let mut anatomy = anatomy(thread, &records)?;
    let redacted = if options.secrets { vec![] } else { redact(&anatomy, &mut records)? };
    if !redacted.is_empty() {
        anatomy = self::anatomy(thread, &records)?;
    }
    keep_reached(&anatomy, &mut records);
    let header = header(thread, Head { checkpoint: Some(newest), ..head }, &anatomy, &records, options, redacted);
    write(&header, &records, &mut out).map_err(|error| CheckpointError::Io {
        what: "write the exported thread".into(),
        path: PathBuf::from("the given file"),
        reason: error.to_string(),
    })?;
    let Header { checkpoints, records, bytes, redacted, .. } = header;
    Ok(Exported { checkpoints, records, bytes, redacted })
}

fn anatomy(thread: &ThreadId, records: &[Record]) -> Result<Anatomy, CheckpointError> {
    Anatomy::of(thread, records.iter().map(|(key, bytes)| (key, bytes.as_slice())))
}

/// Drops what no checkpoint refers to: what is left of secret channels, and what failed attempts left.
fn keep_reached(anatomy: &Anatomy, records: &mut Vec<Record>) {
    let roots = anatomy.roots().map(|(id, _)| id).chain(anatomy.tags.values().map(|tag| tag.checkpoint));
    let reach = Reach::from(anatomy, roots);
    records.retain(|(key, _)| reach.keeps(key));
}

fn header(
    thread: &ThreadId,
    head: Head,
    anatomy: &Anatomy,
    records: &[Record],
    options: &ExportOptions,
    redacted: Vec<String>,
) -> Header {
    Header {
        thread: thread.to_string(),
        graph: anatomy.about.as_ref().map(|about| about.graph.clone()),
        exported_at: now(),
        release: env!("CARGO_PKG_VERSION").into(),
        head: head.checkpoint.unwrap_or_default().0,
        next: head.next,
        checkpoints: records.iter().filter(|(key, _)| is_checkpoint(key)).count(),
        records: records.len(),
        bytes: records.iter().map(|(_, bytes)| bytes.len() as u64).sum(),
        shapes: anatomy.shapes.iter().map(|(fingerprint, shape)| names(*fingerprint, shape)).collect(),
        secrets: options.secrets,
        redacted,
    }
}

fn is_checkpoint(key: &crate::checkpoint::Key) -> bool {
    matches!(key, crate::checkpoint::Key::Checkpoint(_) | crate::checkpoint::Key::Nested(_))
}

fn names(fingerprint: u64, shape: &Shape) -> Names {
    Names {
        fingerprint: format!("{fingerprint:016x}"),
        channels: shape.channels.iter().map(|channel| channel.name.clone()).collect(),
        nodes: shape.nodes.clone(),
    }
}
