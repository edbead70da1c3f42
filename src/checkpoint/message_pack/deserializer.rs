//! The deserializer: reads tokens and gives them to visitors.

use std::str::FromStr;

use rmp_serde::MSGPACK_EXT_STRUCT_NAME;
use rmp_serde::decode::Error;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::token::{Extension, Items, Token, Unread};

/// Reads values from bytes, nested to a limited depth.
pub(crate) struct ValueDeserializer<'de> {
    unread: Unread<'de>,
    /// A token to return before those that are unread.
    ahead: Option<Token<'de>>,
    /// The number of lists, maps and variants that may still be entered.
    levels: usize,
    /// Set if the bytes hold JSON: types that are text there are text here, and so are all keys.
    is_json: bool,
    /// Set while a key of JSON is read, which may be a number as text.
    is_key: bool,
}

impl<'de> ValueDeserializer<'de> {
    /// Returns a reader of bytes; `levels` is the number of lists, maps and variants that may be within each other.
    pub(crate) fn new(bytes: &'de [u8], levels: usize) -> Self {
        Self { unread: Unread(bytes), ahead: None, levels, is_json: false, is_key: false }
    }

    /// Returns a reader that accepts what JSON has for a type, as the value was JSON.
    pub(crate) fn with_json(self) -> Self {
        Self { is_json: true, ..self }
    }

    /// Notes that a key is read from now on.
    fn begin_key(&mut self) {
        self.is_key = self.is_json;
    }

    fn token(&mut self) -> Result<Token<'de>, Error> {
        match self.ahead.take() {
            Some(token) => Ok(token),
            None => self.unread.token(),
        }
    }

    fn enter(&mut self) -> Result<(), Error> {
        self.levels = self.levels.checked_sub(1).ok_or(Error::DepthLimitExceeded)?;
        Ok(())
    }

    fn visit_list<V: Visitor<'de>>(&mut self, items: Items<'de>, visitor: V) -> Result<V::Value, Error> {
        self.enter()?;
        let mut access = Access { from: &mut *self, items };
        let read = visitor.visit_seq(&mut access)?;
        access.end()?;
        self.levels += 1;
        Ok(read)
    }

    fn visit_map<V: Visitor<'de>>(&mut self, length: u32, visitor: V) -> Result<V::Value, Error> {
        self.enter()?;
        let mut access = Access { from: &mut *self, items: Items::values(length) };
        let read = visitor.visit_map(&mut access)?;
        access.end()?;
        self.levels += 1;
        Ok(read)
    }

    /// Reads a value other than a list or a map.
    fn visit_scalar<V: Visitor<'de>>(token: Token<'de>, visitor: V) -> Result<V::Value, Error> {
        match token {
            Token::Nil => visitor.visit_unit(),
            Token::Bool(value) => visitor.visit_bool(value),
            Token::Unsigned(value) => visitor.visit_u64(value),
            Token::Signed(value) => visitor.visit_i64(value),
            Token::Single(value) => visitor.visit_f32(value),
            Token::Double(value) => visitor.visit_f64(value),
            Token::Text(text) => visitor.visit_borrowed_str(text),
            Token::Bytes(bytes) => visitor.visit_borrowed_bytes(bytes),
            Token::List(_) | Token::Map(_) | Token::Extension(_) | Token::ExtensionList(_) => {
                Err(token.mismatch(&visitor))
            }
        }
    }

    /// Reads a number or a truth value. A key of JSON holds it as text.
    fn visit_number<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        if self.is_key {
            self.ahead = Some(self.token()?.scalar_of_key());
        }
        self.deserialize_any(visitor)
    }

    /// Reads a value that a list or a map is expected for. Bytes are a list of numbers.
    fn visit_contents<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        match self.token()? {
            Token::Map(length) => self.visit_map(length, visitor),
            token => match token.items() {
                Some(items) => self.visit_list(items, visitor),
                None => Err(token.mismatch(&visitor)),
            },
        }
    }

    /// Reads the fields of a variant, which in JSON have names.
    fn visit_fields<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        match self.token()? {
            token @ Token::List(_) if self.is_json => Err(token.mismatch(&visitor)),
            token => {
                self.ahead = Some(token);
                self.visit_contents(visitor)
            }
        }
    }

    /// Returns the number that a key of JSON holds as text.
    fn parse_key<T: FromStr>(&self, key: Token<'_>) -> Option<T> {
        match key {
            Token::Text(text) if self.is_key => text.parse().ok(),
            _ => None,
        }
    }

    /// Enters the value of a variant; returns false if the variant has none.
    fn begin_variant(&mut self) -> Result<bool, Error> {
        match self.token()? {
            Token::Map(1) => self.enter().map(|()| true),
            Token::Map(length) => Err(Error::invalid_length(length as usize, &"one variant")),
            token => {
                self.ahead = Some(token);
                Ok(false)
            }
        }
    }
}

macro_rules! numbers {
    ($($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.visit_number(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for &mut ValueDeserializer<'de> {
    type Error = Error;

    fn is_human_readable(&self) -> bool {
        self.is_json
    }

    numbers! {
        deserialize_bool deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_f32 deserialize_f64
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.token()? {
            Token::Map(length) => self.visit_map(length, visitor),
            Token::List(length) => self.visit_list(Items::values(length), visitor),
            Token::Extension(extension) => {
                self.ahead = Some(Token::ExtensionList(extension));
                visitor.visit_newtype_struct(self)
            }
            Token::ExtensionList(Extension(kind, bytes)) => {
                self.visit_list(Items::Extension(Some(kind), Some(bytes)), visitor)
            }
            token => ValueDeserializer::visit_scalar(token, visitor),
        }
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit ignored_any
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let token = self.token()?;
        let value = match self.parse_key(token) {
            Some(value) => value,
            None => token.integer(&visitor)?,
        };
        visitor.visit_i128(value)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let token = self.token()?;
        let value = match self.parse_key(token) {
            Some(value) => value,
            None => token.integer(&visitor)?.cast_unsigned(),
        };
        visitor.visit_u128(value)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.token()? {
            Token::Nil => visitor.visit_none(),
            token => {
                self.ahead = Some(token);
                visitor.visit_some(self)
            }
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Error> {
        match self.token()? {
            Token::Nil => visitor.visit_unit(),
            // `rmp-serde` writes an empty list.
            Token::List(0) if !self.is_json => visitor.visit_unit(),
            token => Err(token.mismatch(&visitor)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        if name == MSGPACK_EXT_STRUCT_NAME && !self.is_json {
            self.ahead = match self.token()? {
                Token::Extension(extension) => Some(Token::ExtensionList(extension)),
                token => return Err(token.mismatch(&visitor)),
            };
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.visit_contents(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Error> {
        self.visit_contents(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.visit_contents(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.visit_contents(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.visit_contents(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let has_value = self.begin_variant()?;
        let read = visitor.visit_enum(Variant { from: &mut *self, has_value })?;
        self.levels += usize::from(has_value);
        Ok(read)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.token()? {
            Token::Text(text) => visitor.visit_borrowed_str(text),
            // A number would be the index of a variant.
            token if self.is_json => Err(token.mismatch(&visitor)),
            token => ValueDeserializer::visit_scalar(token, visitor),
        }
    }
}

/// Gives a visitor the items of a list or the entries of a map.
struct Access<'a, 'de> {
    from: &'a mut ValueDeserializer<'de>,
    items: Items<'de>,
}

impl Access<'_, '_> {
    /// Begins an item; returns false after the last.
    fn begin_item(&mut self) -> bool {
        let token = match &mut self.items {
            Items::Values { left, .. } => {
                let next = left.checked_sub(1);
                *left = next.unwrap_or_default();
                return next.is_some();
            }
            Items::Numbers(bytes) => bytes.split_off_first().map(|byte| Token::Unsigned((*byte).into())),
            Items::Extension(kind, bytes) => {
                let kind = kind.take().map(|kind| Token::Signed(kind.into()));
                kind.or_else(|| bytes.take().map(Token::Bytes))
            }
        };
        self.from.ahead = token;
        token.is_some()
    }

    /// Checks that the visitor has read all items.
    fn end(self) -> Result<(), Error> {
        match self.items {
            Items::Values { left, all } if left > 0 => {
                Err(Error::invalid_length(all as usize, &format!("{} items", all - left).as_str()))
            }
            Items::Values { .. } => Ok(()),
            Items::Numbers(_) | Items::Extension(..) => {
                self.from.ahead = None;
                Ok(())
            }
        }
    }
}

impl<'de> SeqAccess<'de> for Access<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if self.begin_item() { seed.deserialize(&mut *self.from).map(Some) } else { Ok(None) }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.count())
    }
}

impl<'de> MapAccess<'de> for Access<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        if !self.begin_item() {
            return Ok(None);
        }
        self.from.begin_key();
        let key = seed.deserialize(&mut *self.from)?;
        self.from.is_key = false;
        Ok(Some(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(&mut *self.from)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.count())
    }
}

/// Gives a visitor a variant.
struct Variant<'a, 'de> {
    from: &'a mut ValueDeserializer<'de>,
    has_value: bool,
}

impl<'a, 'de> Variant<'a, 'de> {
    fn value(self, expected: &str) -> Result<&'a mut ValueDeserializer<'de>, Error> {
        if self.has_value { Ok(self.from) } else { Err(Error::invalid_type(Unexpected::UnitVariant, &expected)) }
    }
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        Ok((seed.deserialize(&mut *self.from)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        if !self.has_value {
            return Ok(());
        }
        match self.from.token()? {
            Token::Nil => Ok(()),
            token => Err(token.mismatch(&"unit variant")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.value("newtype variant")?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Error> {
        self.value("tuple variant")?.visit_contents(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _fields: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.value("struct variant")?.visit_fields(visitor)
    }
}
