//! The header of a stored value: codec, schema version, type name.

use bincode::Options;

use super::channel::Codec;

pub(crate) const MESSAGE_PACK: u8 = 1;
pub(crate) const BINCODE: u8 = 2;

/// The type name of an answer that was given as JSON because the question's type was unknown.
pub(crate) const JSON: &str = "json";

pub(crate) fn options() -> impl Options {
    bincode::DefaultOptions::new()
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredValue<'a> {
    pub codec: Codec,
    pub version: u32,
    pub type_name: &'a str,
    pub body: &'a [u8],
}

impl<'a> StoredValue<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Result<Self, String> {
        let short = || "the stored value is cut short".to_owned();
        let (&codec, rest) = bytes.split_first().ok_or_else(short)?;
        let (version, rest) = rest.split_first_chunk().ok_or_else(short)?;
        let (&name, rest) = rest.split_first().ok_or_else(short)?;
        let (name, body) = rest.split_at_checked(name.into()).ok_or_else(short)?;
        let codec = if codec == BINCODE { Codec::Bincode } else { Codec::MessagePack };
        let type_name = std::str::from_utf8(name).map_err(|_| "the name of its type is damaged".to_owned())?;
        Ok(Self { codec, version: u32::from_le_bytes(*version), type_name, body })
    }
}
