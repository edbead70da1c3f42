//! Exports a thread of a store as one file. Knows the contract and the records; the file's layout is in `file`.

use std::collections::HashSet;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use superstep_base::time::now;

use super::file::{Header, Names, Writer};
use super::structure::{Outline, Size, Structure};
use crate::checkpoint::checkpointer::unknown_thread;
use crate::checkpoint::threads::pages::{self, Pages};
use crate::checkpoint::threads::reach::Reach;
use crate::checkpoint::{
    AboutRecord, CheckpointError, CheckpointId, Checkpointer, Key, Record, Shape, ThreadHead, ThreadId, decode_record,
    is_chunk,
};

/// Options of an export.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ExportOptions {
    secrets: bool,
}

impl ExportOptions {
    /// Returns options that leave out secret channels.
    pub fn new() -> Self {
        Self::default()
    }

    /// Includes secret channels in the file.
    pub fn with_secrets(mut self) -> Self {
        self.secrets = true;
        self
    }
}

/// Contents of an exported file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExportReport {
    /// Number of checkpoints, those of subgraphs included.
    pub checkpoints: usize,
    /// Number of records, checkpoints included.
    pub records: usize,
    /// Bytes of these records, as the engine counts them.
    pub bytes: u64,
    /// Secret channels that were left out.
    pub redacted: Vec<String>,
}

impl fmt::Display for ExportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { checkpoints, records, bytes, redacted } = self;
        write!(f, "{checkpoints} checkpoints exported: {records} records, {bytes} bytes")?;
        if redacted.is_empty() {
            return Ok(());
        }
        write!(
            f,
            "\nleft out: {}; check values outside channels for secrets before you share the file",
            redacted.join(", ")
        )
    }
}

/// Writes a thread, as of one moment, to a file: checkpoints, subgraphs, journals, events, tags. A run may hold it
/// meanwhile. Records are read several times, a few at a time, so that a thread of any size and length needs little
/// memory.
///
/// **Secrets.** Channels marked `#[channel(secret)]` are left out, in every subgraph and in the writes of unfinished
/// tasks too; it is enough that any version of the graph marks the channel. Nothing else is left out: input to workers
/// (sends), questions, answers and the names of those who gave them, arguments and results of effects, recorded events,
/// error texts, metadata. A secret that a node copied there is in the file.
///
/// # Errors
/// [`CheckpointError::UnknownThread`], [`CheckpointError::Damaged`], [`CheckpointError::BadImport`] for a thread
/// without a checkpoint, or if a part of it was removed meanwhile; [`CheckpointError::Io`] if `out` cannot be written;
/// if the store cannot be read.
pub async fn export_thread(
    store: &dyn Checkpointer,
    thread: &ThreadId,
    options: &ExportOptions,
    out: impl Write,
) -> Result<ExportReport, CheckpointError> {
    let Some(head) = store.head(thread).await? else { return Err(unknown_thread(store, thread).await) };
    let Some(newest) = head.checkpoint else {
        return Err(CheckpointError::BadImport { reason: format!("thread `{thread}` has no checkpoint yet") });
    };
    let structure = Structure::load(store, thread, newest).await?;
    // All that was read has a smaller number.
    let head = ThreadHead { next: store.head(thread).await?.map_or(head.next, |now| now.next), ..head };
    let outline = Outline::of(&structure, options.secrets).await?;
    let reach = outline.reach(&structure).await?;
    // First pass: the header, which comes first in the file, states numbers and sizes.
    let mut size = Size::default();
    outline
        .for_each(&structure, |key, bytes| {
            if reach.keeps(key) {
                size.add((key, bytes));
            }
            Ok(())
        })
        .await?;
    // Values are counted too. Entries that a run adds after this count stay out of the file.
    let values = Values::survey(store, thread, (reach, newest)).await?;
    let header = header(thread, head, &structure, (size, &values), (options, outline.secrets()))?;
    let mut file = Writer::begin(&header, out).map_err(write_error)?;
    // Second pass: writes what the first one counted.
    let mut written = Size::default();
    outline
        .for_each(&structure, |key, bytes| {
            if !values.reach.keeps(key) {
                return Ok(());
            }
            written.add((key, bytes));
            file.write_record(key, bytes).map_err(write_error)
        })
        .await?;
    // The header is written already, so a removal since the first pass makes the file invalid.
    if written != size {
        return Err(removed_during_export(thread, "records"));
    }
    // All keys of values are greater than those before, so the file stays in key order.
    values.write(store, thread, &mut file).await?;
    file.end().map_err(write_error)?;
    let Header { checkpoints, records, bytes, redacted, .. } = header;
    Ok(ExportReport { checkpoints, records, bytes, redacted })
}

fn removed_during_export(thread: &ThreadId, what: &str) -> CheckpointError {
    let reason = format!("{what} of thread `{thread}` were removed while it was exported; export it again");
    CheckpointError::BadImport { reason }
}

fn write_error(error: io::Error) -> CheckpointError {
    CheckpointError::io("write the exported thread", Path::new("the given file"), error)
}

/// Values that the checkpoints of a thread refer to, as counted in the first pass.
struct Values {
    reach: Reach,
    records: usize,
    bytes: u64,
    /// Newest checkpoint of the root graph: a run adds journal entries and events after it.
    newest: CheckpointId,
    /// Keys of the journal entries and events after it that were counted.
    late: HashSet<Key>,
    /// Signals: a run may receive them meanwhile.
    signals: Vec<Record>,
}

impl Values {
    async fn survey(
        store: &dyn Checkpointer,
        thread: &ThreadId,
        (reach, newest): (Reach, CheckpointId),
    ) -> Result<Self, CheckpointError> {
        let mut values = Self { reach, records: 0, bytes: 0, newest, late: HashSet::new(), signals: vec![] };
        let mut pages = Pages::of(store, thread, pages::values());
        while let Some(page) = pages.next().await? {
            for (key, bytes) in page {
                values.count(key, bytes);
            }
        }
        Ok(values)
    }

    fn count(&mut self, key: Key, bytes: Vec<u8>) {
        if !self.is_exported(&key) {
            return;
        }
        self.records += 1;
        self.bytes += bytes.len() as u64;
        match key {
            Key::Signal { .. } => self.signals.push((key, bytes)),
            _ if self.is_late(&key) => _ = self.late.insert(key),
            _ => {}
        }
    }

    /// Writes exactly the counted values.
    async fn write(
        &self,
        store: &dyn Checkpointer,
        thread: &ThreadId,
        file: &mut Writer<impl Write>,
    ) -> Result<(), CheckpointError> {
        let (mut pages, mut written) = (Pages::of(store, thread, pages::values()), 0);
        while let Some(page) = pages.next().await? {
            for (key, bytes) in page.iter().filter(|(key, _)| self.is_counted(key)) {
                file.write_record(key, bytes).map_err(write_error)?;
                written += 1;
            }
        }
        for (key, bytes) in &self.signals {
            file.write_record(key, bytes).map_err(write_error)?; // their keys are the last
            written += 1;
        }
        if written == self.records {
            return Ok(());
        }
        Err(removed_during_export(thread, "values"))
    }

    fn is_counted(&self, key: &Key) -> bool {
        match key {
            Key::Signal { .. } => false,
            _ if self.is_late(key) => self.late.contains(key),
            _ => self.is_exported(key),
        }
    }

    fn is_late(&self, key: &Key) -> bool {
        match key {
            Key::Effect { checkpoint, .. } | Key::Event { checkpoint, .. } => *checkpoint >= self.newest,
            _ => false,
        }
    }

    /// Chunks stay behind: they repeat what is in the file.
    fn is_exported(&self, key: &Key) -> bool {
        !is_chunk(key) && self.reach.keeps(key)
    }
}

fn header(
    thread: &ThreadId,
    head: ThreadHead,
    structure: &Structure<'_>,
    (size, values): (Size, &Values),
    (options, redacted): (&ExportOptions, Vec<String>),
) -> Result<Header, CheckpointError> {
    let about = structure.record(&Key::About).map(|bytes| decode_record::<AboutRecord>(thread, Key::About, bytes));
    Ok(Header {
        thread: thread.to_string(),
        graph: about.transpose()?.map(|about| about.graph),
        exported_at: now(),
        release: env!("CARGO_PKG_VERSION").into(),
        head: head.checkpoint.unwrap_or_default().0,
        next: head.next,
        checkpoints: size.checkpoints,
        records: size.records + values.records,
        bytes: size.bytes + values.bytes,
        shapes: structure.shapes.iter().map(|(fingerprint, shape)| names(*fingerprint, shape)).collect(),
        secrets: options.secrets,
        redacted,
    })
}

fn names(fingerprint: u64, shape: &Shape) -> Names {
    Names {
        fingerprint: format!("{fingerprint:016x}"),
        channels: shape.channels.iter().map(|channel| channel.name.clone()).collect(),
        nodes: shape.nodes.clone(),
    }
}
