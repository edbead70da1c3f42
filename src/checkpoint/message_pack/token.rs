//! The parts of MessagePack: a value, or the start of one that contains others.

use std::io::ErrorKind;

use rmp_serde::decode::Error;
use serde::de::{Error as _, Expected, Unexpected};

/// A value, or the start of one that contains others.
#[derive(Clone, Copy)]
pub(super) enum Token<'de> {
    Nil,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Single(f32),
    Double(f64),
    Text(&'de str),
    Bytes(&'de [u8]),
    List(u32),
    Map(u32),
    Extension(Extension<'de>),
    /// The same, seen as a list of its type and its bytes.
    ExtensionList(Extension<'de>),
}

/// The type and the bytes of an extension.
#[derive(Clone, Copy)]
pub(super) struct Extension<'de>(pub i8, pub &'de [u8]);

/// The items of a list that are still to be read.
pub(super) enum Items<'de> {
    /// Values, or the entries of a map.
    Values {
        left: u32,
        all: u32,
    },
    Numbers(&'de [u8]),
    Extension(Option<i8>, Option<&'de [u8]>),
}

impl Items<'_> {
    pub(super) fn values(length: u32) -> Self {
        Items::Values { left: length, all: length }
    }

    /// Returns the number of items that are still to be read.
    pub(super) fn count(&self) -> usize {
        match self {
            Items::Values { left, .. } => *left as usize,
            Items::Numbers(bytes) => bytes.len(),
            Items::Extension(kind, bytes) => usize::from(kind.is_some()) + usize::from(bytes.is_some()),
        }
    }
}

/// Bytes that have not been read.
pub(super) struct Unread<'de>(pub &'de [u8]);

impl<'de> Unread<'de> {
    /// Takes a token.
    ///
    /// # Errors
    /// If the bytes end before it, or do not begin with one.
    pub(super) fn token(&mut self) -> Result<Token<'de>, Error> {
        let marker = u8::from_be_bytes(self.take().map_err(|cut| Error::InvalidMarkerRead(cut.into()))?);
        Ok(match marker {
            0x00..=0x7f => Token::Unsigned(marker.into()),
            0xe0..=0xff => Token::Signed(i8::from_be_bytes([marker]).into()),
            0x80..=0x8f => Token::Map((marker & 0x0f).into()),
            0x90..=0x9f => Token::List((marker & 0x0f).into()),
            0xa0..=0xbf => self.text((marker & 0x1f).into())?,
            0xc0 => Token::Nil,
            0xc2 | 0xc3 => Token::Bool(marker == 0xc3),
            0xc4..=0xc6 => Token::Bytes(self.sized(marker - 0xc4)?),
            0xc7..=0xc9 => {
                let length = self.length(marker - 0xc7)?;
                self.extension(length)?
            }
            0xca => Token::Single(f32::from_be_bytes(self.data()?)),
            0xcb => Token::Double(f64::from_be_bytes(self.data()?)),
            0xcc => Token::Unsigned(u8::from_be_bytes(self.data()?).into()),
            0xcd => Token::Unsigned(u16::from_be_bytes(self.data()?).into()),
            0xce => Token::Unsigned(u32::from_be_bytes(self.data()?).into()),
            0xcf => Token::Unsigned(u64::from_be_bytes(self.data()?)),
            0xd0 => Token::Signed(i8::from_be_bytes(self.data()?).into()),
            0xd1 => Token::Signed(i16::from_be_bytes(self.data()?).into()),
            0xd2 => Token::Signed(i32::from_be_bytes(self.data()?).into()),
            0xd3 => Token::Signed(i64::from_be_bytes(self.data()?)),
            0xd4..=0xd8 => self.extension(1 << (marker - 0xd4))?,
            0xd9..=0xdb => {
                let length = self.length(marker - 0xd9)?;
                self.text(length)?
            }
            0xdc | 0xdd => Token::List(self.length(marker - 0xdb)?),
            0xde | 0xdf => Token::Map(self.length(marker - 0xdd)?),
            0xc1 => return Err(Error::Syntax("the byte 0xc1 begins no value".into())),
        })
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], ErrorKind> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(ErrorKind::UnexpectedEof)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn data<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        self.take().map_err(|cut| Error::InvalidDataRead(cut.into()))
    }

    /// Takes a length of 1, 2 or 4 bytes.
    fn length(&mut self, power: u8) -> Result<u32, Error> {
        Ok(match power {
            0 => u8::from_be_bytes(self.data()?).into(),
            1 => u16::from_be_bytes(self.data()?).into(),
            _ => u32::from_be_bytes(self.data()?),
        })
    }

    fn bytes(&mut self, length: u32) -> Result<&'de [u8], Error> {
        let parts = usize::try_from(length).ok().and_then(|length| self.0.split_at_checked(length));
        let (taken, rest) = parts.ok_or_else(|| Error::InvalidDataRead(ErrorKind::UnexpectedEof.into()))?;
        self.0 = rest;
        Ok(taken)
    }

    fn sized(&mut self, power: u8) -> Result<&'de [u8], Error> {
        let length = self.length(power)?;
        self.bytes(length)
    }

    /// Takes a text; one that is not UTF-8 is bytes.
    fn text(&mut self, length: u32) -> Result<Token<'de>, Error> {
        let bytes = self.bytes(length)?;
        Ok(std::str::from_utf8(bytes).map_or(Token::Bytes(bytes), Token::Text))
    }

    fn extension(&mut self, length: u32) -> Result<Token<'de>, Error> {
        let kind = i8::from_be_bytes(self.data()?);
        Ok(Token::Extension(Extension(kind, self.bytes(length)?)))
    }
}

impl<'de> Token<'de> {
    /// Returns the items of a value that may be seen as a list.
    pub(super) fn items(self) -> Option<Items<'de>> {
        match self {
            Token::List(length) => Some(Items::values(length)),
            Token::Bytes(bytes) => Some(Items::Numbers(bytes)),
            Token::ExtensionList(Extension(kind, bytes)) => Some(Items::Extension(Some(kind), Some(bytes))),
            _ => None,
        }
    }

    /// Returns the number or the truth value that a key of JSON holds as text.
    pub(super) fn scalar_of_key(self) -> Self {
        let Token::Text(text) = self else { return self };
        match text {
            "true" => return Token::Bool(true),
            "false" => return Token::Bool(false),
            _ => {}
        }
        let Ok(number) = text.parse::<serde_json::Number>() else { return self };
        let double = || number.as_f64().map_or(self, Token::Double);
        let signed = || number.as_i64().map_or_else(double, Token::Signed);
        number.as_u64().map_or_else(signed, Token::Unsigned)
    }

    /// Returns the error of a value of another type.
    #[cold]
    pub(super) fn mismatch(self, expected: &dyn Expected) -> Error {
        let found = match self {
            Token::Nil => Unexpected::Unit,
            Token::Bool(value) => Unexpected::Bool(value),
            Token::Unsigned(value) => Unexpected::Unsigned(value),
            Token::Signed(value) => Unexpected::Signed(value),
            Token::Single(value) => Unexpected::Float(value.into()),
            Token::Double(value) => Unexpected::Float(value),
            Token::Text(text) => Unexpected::Str(text),
            Token::Bytes(bytes) => Unexpected::Bytes(bytes),
            Token::List(_) | Token::ExtensionList(_) => Unexpected::Seq,
            Token::Map(_) => Unexpected::Map,
            Token::Extension(_) => Unexpected::NewtypeStruct,
        };
        Error::invalid_type(found, expected)
    }

    /// Returns a number of up to 128 bits, which is stored as bytes if it is large.
    pub(super) fn integer(self, expected: &dyn Expected) -> Result<i128, Error> {
        match self {
            Token::Unsigned(value) => Ok(value.into()),
            Token::Signed(value) => Ok(value.into()),
            Token::Bytes(bytes) => match bytes.try_into() {
                Ok(bytes) => Ok(i128::from_be_bytes(bytes)),
                Err(_) => Err(Error::LengthMismatch(size_of::<i128>() as u32)),
            },
            token => Err(token.mismatch(expected)),
        }
    }
}
