//! The value of a record in a commit. Knows how engine records are encoded; must not know what is in them.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::codec::encode_record;
use super::error::CheckpointError;

/// Value of a record in a [`Commit`](super::Commit). Its bytes are made when a store asks for them, so that a store that keeps
/// values in memory need not encode them.
#[derive(Clone)]
pub struct Row(Value);

#[derive(Clone)]
enum Value {
    Bytes(Vec<u8>),
    Record(Arc<dyn Encode>),
}

/// An engine record that is encoded on demand.
trait Encode: Send + Sync {
    fn encode(&self) -> Result<Vec<u8>, CheckpointError>;
}

impl<T: Serialize + Send + Sync> Encode for T {
    fn encode(&self) -> Result<Vec<u8>, CheckpointError> {
        encode_record(self)
    }
}

/// Makes an engine record.
struct Maker<F>(F);

impl<T: Serialize, F: Fn() -> T + Send + Sync> Encode for Maker<F> {
    fn encode(&self) -> Result<Vec<u8>, CheckpointError> {
        encode_record(&(self.0)())
    }
}

impl Row {
    /// Returns a row whose bytes are those of [`encode_record`]. The record's type must be one that can always be encoded: a
    /// store that keeps the value as it is finds an error only when somebody reads it.
    pub fn record(record: impl Serialize + Send + Sync + 'static) -> Self {
        Self(Value::Record(Arc::new(record)))
    }

    /// Returns a row whose record is made together with its bytes: for a large record, most of which is empty.
    pub(crate) fn made_by<T: Serialize>(make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        Self(Value::Record(Arc::new(Maker(make))))
    }

    /// Returns the bytes; makes them if the row does not have them.
    ///
    /// # Errors
    /// [`CheckpointError::Codec`] if the record cannot be encoded.
    pub fn to_bytes(&self) -> Result<Cow<'_, [u8]>, CheckpointError> {
        match &self.0 {
            Value::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
            Value::Record(record) => record.encode().map(Cow::Owned),
        }
    }

    /// Returns the bytes; makes them if the row does not have them, and keeps them for the next time.
    ///
    /// # Errors
    /// As [`to_bytes`](Self::to_bytes).
    pub(crate) fn make_bytes(&mut self) -> Result<&[u8], CheckpointError> {
        if let Value::Record(record) = &self.0 {
            self.0 = Value::Bytes(record.encode()?);
        }
        Ok(if let Value::Bytes(bytes) = &self.0 { bytes } else { &[] })
    }

    /// Returns the bytes; makes them if the row does not have them.
    ///
    /// # Errors
    /// As [`to_bytes`](Self::to_bytes).
    pub fn into_bytes(self) -> Result<Vec<u8>, CheckpointError> {
        match self.0 {
            Value::Bytes(bytes) => Ok(bytes),
            Value::Record(record) => record.encode(),
        }
    }

    /// Returns the number of bytes; `None` before they are made.
    pub fn size(&self) -> Option<usize> {
        match &self.0 {
            Value::Bytes(bytes) => Some(bytes.len()),
            Value::Record(_) => None,
        }
    }
}

impl From<Vec<u8>> for Row {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Value::Bytes(bytes))
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.size() {
            Some(bytes) => write!(f, "Row({bytes} B)"),
            None => f.write_str("Row(record)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cannot be encoded: the number of its elements is not known before.
    struct Endless;

    impl Serialize for Endless {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str("").and(Err(serde::ser::Error::custom("endless")))
        }
    }

    #[test]
    fn bytes_are_made_on_demand() {
        let row = Row::record("on demand");
        assert_eq!((row.size(), format!("{row:?}")), (None, "Row(record)".to_owned()));
        let bytes = encode_record(&"on demand").unwrap();
        assert_eq!(row.to_bytes().unwrap(), bytes);
        assert_eq!(row.into_bytes().unwrap(), bytes);
        let mut made_once = Row::made_by(|| "on demand");
        assert_eq!((made_once.to_bytes().unwrap().as_ref(), made_once.size()), (&bytes[..], None));
        assert_eq!(made_once.make_bytes().unwrap(), bytes);
        assert_eq!(made_once.size(), Some(bytes.len()));
        assert_eq!(made_once.make_bytes().unwrap(), bytes);
        let made = Row::from(bytes.clone());
        assert_eq!((made.size(), format!("{made:?}")), (Some(bytes.len()), format!("Row({} B)", bytes.len())));
    }

    #[test]
    fn a_record_that_cannot_be_encoded_is_an_error_when_bytes_are_asked_for() {
        assert!(matches!(Row::record(Endless).to_bytes(), Err(CheckpointError::Codec { .. })));
        assert!(matches!(Row::record(Endless).into_bytes(), Err(CheckpointError::Codec { .. })));
    }
}
