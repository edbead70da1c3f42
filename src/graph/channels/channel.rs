//! What is known of a channel: its name, how it is kept, how its values become bytes. Data only.

use std::borrow::Cow;

/// How a channel is kept in a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// One writer per superstep: the write *is* the value, so its bytes serve both records.
    Value,
    /// Reduced: the value is encoded after the reduce.
    Full,
    /// Reduced by appending: kept as the list of its writes for ever.
    Log,
    /// Reduced, and kept as a value and the writes since; a new value is stored when the writes outgrow it.
    Delta,
    /// Never saved: a resumed run starts with the default.
    Never,
}

/// How values of a channel become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Named MessagePack: survives added, removed and reordered fields.
    MessagePack,
    /// bincode: for numbers, byte strings and vectors of them.
    Bincode,
}

/// One channel of a state: data only.
#[derive(Clone, Debug)]
pub struct Channel {
    name: Cow<'static, str>,
    type_name: Cow<'static, str>,
    stored: Stored,
    codec: Codec,
    version: u32,
    secret: bool,
}

impl Channel {
    /// Returns a channel with a name that is known at compile time.
    pub const fn fixed(name: &'static str, type_name: &'static str, stored: Stored) -> Self {
        let (name, type_name) = (Cow::Borrowed(name), Cow::Borrowed(type_name));
        Self { name, type_name, stored, codec: Codec::MessagePack, version: 1, secret: false }
    }

    /// Returns a channel with a name that is known at run time.
    pub fn named(name: impl Into<String>, type_name: impl Into<String>, stored: Stored) -> Self {
        let (name, type_name) = (Cow::Owned(name.into()), Cow::Owned(type_name.into()));
        Self { name, type_name, stored, codec: Codec::MessagePack, version: 1, secret: false }
    }

    /// Marks the channel as never to be printed or exported.
    #[must_use]
    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// Sets the codec of the channel's values.
    #[must_use]
    pub const fn codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    /// Sets the schema version that every stored value carries; 1 unless set.
    #[must_use]
    pub const fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// Returns the channel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the value's type.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// Returns how the channel is kept.
    pub fn stored(&self) -> Stored {
        self.stored
    }

    /// Returns how values become bytes.
    pub fn value_codec(&self) -> Codec {
        self.codec
    }

    /// Returns the schema version of the values.
    pub fn schema_version(&self) -> u32 {
        self.version
    }

    /// Returns whether the channel is never printed or exported.
    pub fn is_secret(&self) -> bool {
        self.secret
    }

    /// The words of a type or a reducer of the user's, unless they may hold a secret.
    pub(crate) fn told(&self, reason: String) -> String {
        if self.secret { "why is not told, as the channel is secret".into() } else { reason }
    }
}
