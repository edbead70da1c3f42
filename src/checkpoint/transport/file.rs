//! File format of one thread: header, records, end. Knows the layout and its checksums; must not know what a record
//! means.
//!
//! Layout: magic (8 bytes), format (2, least byte first), length of the header (4), header (JSON), crc32c of all that; one
//! envelope for each record, in the order of keys, numbered from 0; "END\n", crc32c of everything before.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::checkpoint::envelope::{Envelope, Flaw, name_of, split_name};
use crate::checkpoint::{CheckpointError, Key, Record, ThreadId};

/// Starts like a PNG, so that a transfer in text mode is detected.
const MAGIC: [u8; 8] = *b"\x89SSX\r\n\x1a\n";
const FORMAT: u16 = 1;
/// Number of bytes needed to recognize a file.
pub(super) const START: u64 = 10;
const END: &[u8] = b"END\n";
/// Maximum size of a header in bytes.
const HEADER: usize = 4 << 20;

/// Header of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    /// Name of the thread in the original store.
    pub(super) thread: String,
    pub(super) graph: Option<String>,
    /// Time of the export, in milliseconds since 1970.
    pub(super) exported_at: u64,
    /// Release that wrote it.
    pub(super) release: String,
    /// Newest checkpoint.
    pub(super) head: u64,
    /// First unused checkpoint number.
    pub(super) next: u64,
    pub(super) checkpoints: usize,
    pub(super) records: usize,
    /// Bytes of the records, as the engine counts them.
    pub(super) bytes: u64,
    /// Versions of the graph that made it.
    pub(super) shapes: Vec<Names>,
    /// Set if secret channels are included.
    pub(super) secrets: bool,
    /// Channels that were left out.
    pub(super) redacted: Vec<String>,
}

/// Names of one version of the graph, for people who inspect the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Names {
    pub(super) fingerprint: String,
    pub(super) channels: Vec<String>,
    pub(super) nodes: Vec<String>,
}

/// Writes a file, one record at a time.
pub(super) struct Writer<W> {
    out: ChecksumWriter<W>,
    thread: ThreadId,
    /// Number of records written.
    written: u64,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    pub(super) fn begin(header: &Header, out: W) -> io::Result<Self> {
        let text = serde_json::to_vec(header)?;
        let mut out = ChecksumWriter { out, crc: 0 };
        out.write_all(&MAGIC)?;
        out.write_all(&FORMAT.to_le_bytes())?;
        out.write_all(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes())?;
        out.write_all(&text)?;
        out.write_all(&out.crc.to_le_bytes())?;
        Ok(Self { out, thread: header.thread.as_str().into(), written: 0 })
    }

    /// Writes the next record; they must be in key order.
    pub(super) fn write_record(&mut self, key: &Key, payload: &[u8]) -> io::Result<()> {
        let name = name_of(&self.thread, key);
        self.out.write_all(&Envelope { name: &name, part: 0, parts: 1, commit: self.written, payload }.seal())?;
        self.written += 1;
        Ok(())
    }

    pub(super) fn end(mut self) -> io::Result<()> {
        self.out.write_all(END)?;
        self.out.write_all(&self.out.crc.to_le_bytes())?;
        self.out.out.flush()
    }
}

#[cfg(test)]
pub(super) fn write(header: &Header, records: &[Record], out: &mut dyn Write) -> io::Result<()> {
    let mut writer = Writer::begin(header, out)?;
    records.iter().try_for_each(|(key, payload)| writer.write_record(key, payload))?;
    writer.end()
}

struct ChecksumWriter<W> {
    out: W,
    crc: u32,
}

impl<W: Write> ChecksumWriter<W> {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc = crc32c::crc32c_append(self.crc, bytes);
        self.out.write_all(bytes)
    }
}

/// Reads a file; the keys of its records are in order and unique.
///
/// # Errors
/// [`CheckpointError::BadImport`], or [`CheckpointError::Format`] if a later release wrote it.
pub(super) fn parse_file(bytes: &[u8], max_records: usize) -> Result<(Header, Vec<Record>), CheckpointError> {
    let rest = check_start(bytes)?;
    let (length, rest) = rest.split_first_chunk().ok_or_else(truncation_error)?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > HEADER {
        return Err(bad_import("its header is too long"));
    }
    let (text, rest) = rest.split_at_checked(length).ok_or_else(truncation_error)?;
    let (crc, rest) = rest.split_first_chunk().ok_or_else(truncation_error)?;
    let before = &bytes[..bytes.len() - rest.len() - crc.len()];
    if crc32c::crc32c(before).to_le_bytes() != *crc {
        return Err(bad_import("the checksum of its header does not match"));
    }
    let header: Header =
        serde_json::from_slice(text).map_err(|_| bad_import("its header is not that of an exported thread"))?;
    let (body, crc) = rest.split_last_chunk::<4>().ok_or_else(truncation_error)?;
    let body = body.strip_suffix(END).ok_or_else(|| bad_import("its end is missing"))?;
    if crc32c::crc32c(&bytes[..bytes.len() - crc.len()]).to_le_bytes() != *crc {
        return Err(bad_import("its checksum does not match"));
    }
    if header.records > max_records {
        return Err(bad_import(format!("it has {} records, more than the limit of {max_records}", header.records)));
    }
    let records = parse_records(&header, body)?;
    Ok((header, records))
}

/// Checks the magic and the format; returns the rest.
pub(super) fn check_start(bytes: &[u8]) -> Result<&[u8], CheckpointError> {
    let rest =
        bytes.strip_prefix(&MAGIC).ok_or_else(|| bad_import("the file does not start like an exported thread"))?;
    let (format, rest) = rest.split_first_chunk().ok_or_else(truncation_error)?;
    check_format(u16::from_le_bytes(*format))?;
    Ok(rest)
}

fn parse_records(header: &Header, mut rest: &[u8]) -> Result<Vec<Record>, CheckpointError> {
    let thread = ThreadId::from(header.thread.as_str());
    let mut records: Vec<Record> = vec![];
    while !rest.is_empty() {
        let row = Envelope::decode_prefix(rest).map_err(envelope_error)?;
        let key = split_name(row.name).filter(|(owner, _)| *owner == thread).map(|(_, key)| key);
        let key = key.ok_or_else(|| bad_import("a record belongs to another thread"))?;
        if (row.part, row.parts, row.commit) != (0, 1, records.len() as u64) || records.len() == header.records {
            return Err(bad_import("its records are not numbered as they should be"));
        }
        if records.last().is_some_and(|(before, _)| *before >= key) {
            return Err(bad_import(format!("{key} is out of order or duplicated")));
        }
        rest = &rest[row.length()..];
        records.push((key, row.payload.to_vec()));
    }
    if records.len() == header.records { Ok(records) } else { Err(bad_import("records are missing")) }
}

fn check_format(found: u16) -> Result<(), CheckpointError> {
    match found {
        FORMAT => Ok(()),
        0 => Err(bad_import("it has format 0")),
        found => Err(CheckpointError::Format { what: "the exported thread".into(), found, known: FORMAT }),
    }
}

fn envelope_error(flaw: Flaw) -> CheckpointError {
    match flaw {
        Flaw::Damaged(reason) => bad_import(format!("a record cannot be read: {reason}")),
        Flaw::Newer(found) => {
            CheckpointError::Format { what: "a record of the exported thread".into(), found: found.into(), known: 1 }
        }
    }
}

fn truncation_error() -> CheckpointError {
    bad_import("it is cut short")
}

pub(super) fn bad_import(reason: impl Into<String>) -> CheckpointError {
    CheckpointError::BadImport { reason: reason.into() }
}
