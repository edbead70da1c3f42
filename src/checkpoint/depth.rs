//! Depth limit: a serializer wrapped around another one that fails before a value outgrows the stack.
//!
//! Knows serde only. Must not know what is in the value, or how it is used.

use std::cell::Cell;

use serde::ser::{
    Error, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
    SerializeTupleVariant,
};
use serde::{Serialize, Serializer};

/// Value whose lists, maps and structs may nest `levels` deep; sets `exceeded` if they nest deeper.
pub(super) struct DepthLimited<'a, T: ?Sized> {
    pub value: &'a T,
    pub levels: usize,
    pub exceeded: &'a Cell<bool>,
}

impl<T: Serialize + ?Sized> Serialize for DepthLimited<'_, T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(LimitedSerializer { out, levels: self.levels, exceeded: self.exceeded })
    }
}

/// Serializer, or the state of a list, map or struct in progress, with the number of levels left inside.
struct LimitedSerializer<'a, S> {
    out: S,
    levels: usize,
    exceeded: &'a Cell<bool>,
}

impl<'a, S> LimitedSerializer<'a, S> {
    fn of<'v, T: ?Sized>(&self, value: &'v T) -> DepthLimited<'v, T>
    where
        'a: 'v,
    {
        DepthLimited { value, levels: self.levels, exceeded: self.exceeded }
    }

    /// Enters a list, map or struct.
    fn down<C, E: Error>(self, open: impl FnOnce(S) -> Result<C, E>) -> Result<LimitedSerializer<'a, C>, E> {
        let Some(levels) = self.levels.checked_sub(1) else {
            self.exceeded.set(true);
            return Err(E::custom("nests too deeply"));
        };
        Ok(LimitedSerializer { out: open(self.out)?, levels, exceeded: self.exceeded })
    }
}

macro_rules! plain {
    ($($name:ident($ty:ty)),*) => {
        $(fn $name(self, value: $ty) -> Result<S::Ok, S::Error> {
            self.out.$name(value)
        })*
    };
}

impl<'a, S: Serializer> Serializer for LimitedSerializer<'a, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = LimitedSerializer<'a, S::SerializeSeq>;
    type SerializeTuple = LimitedSerializer<'a, S::SerializeTuple>;
    type SerializeTupleStruct = LimitedSerializer<'a, S::SerializeTupleStruct>;
    type SerializeTupleVariant = LimitedSerializer<'a, S::SerializeTupleVariant>;
    type SerializeMap = LimitedSerializer<'a, S::SerializeMap>;
    type SerializeStruct = LimitedSerializer<'a, S::SerializeStruct>;
    type SerializeStructVariant = LimitedSerializer<'a, S::SerializeStructVariant>;

    plain!(serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64));
    plain!(serialize_i128(i128), serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64));
    plain!(serialize_u128(u128), serialize_f32(f32), serialize_f64(f64), serialize_char(char), serialize_str(&str));
    plain!(serialize_bytes(&[u8]), serialize_unit_struct(&'static str));

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.out.serialize_none()
    }

    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.out.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        let value = self.of(value);
        self.out.serialize_some(&value)
    }

    fn serialize_unit_variant(self, name: &'static str, at: u32, variant: &'static str) -> Result<S::Ok, S::Error> {
        self.out.serialize_unit_variant(name, at, variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<S::Ok, S::Error> {
        let value = self.of(value);
        self.out.serialize_newtype_struct(name, &value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        at: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let inside = self.down(|out| Ok::<_, S::Error>(out))?;
        let value = inside.of(value);
        inside.out.serialize_newtype_variant(name, at, variant, &value)
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        self.down(|out| out.serialize_seq(len))
    }

    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, S::Error> {
        self.down(|out| out.serialize_tuple(len))
    }

    fn serialize_tuple_struct(self, name: &'static str, len: usize) -> Result<Self::SerializeTupleStruct, S::Error> {
        self.down(|out| out.serialize_tuple_struct(name, len))
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        at: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        self.down(|out| out.serialize_tuple_variant(name, at, variant, len))
    }

    fn serialize_map(self, len: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        self.down(|out| out.serialize_map(len))
    }

    fn serialize_struct(self, name: &'static str, len: usize) -> Result<Self::SerializeStruct, S::Error> {
        self.down(|out| out.serialize_struct(name, len))
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        at: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        self.down(|out| out.serialize_struct_variant(name, at, variant, len))
    }

    fn is_human_readable(&self) -> bool {
        self.out.is_human_readable()
    }
}

macro_rules! inside {
    ($($of:ident: $($name:ident($($key:ident)?)),*;)*) => {
        $(impl<C: $of> $of for LimitedSerializer<'_, C> {
            type Ok = C::Ok;
            type Error = C::Error;

            $(fn $name<T: Serialize + ?Sized>(&mut self, $($key: &'static str,)? value: &T) -> Result<(), C::Error> {
                let value = self.of(value);
                self.out.$name($($key,)? &value)
            })*

            fn end(self) -> Result<C::Ok, C::Error> {
                self.out.end()
            }
        })*
    };
}

inside! {
    SerializeSeq: serialize_element();
    SerializeTuple: serialize_element();
    SerializeTupleStruct: serialize_field();
    SerializeTupleVariant: serialize_field();
    SerializeMap: serialize_key(), serialize_value();
    SerializeStruct: serialize_field(key);
    SerializeStructVariant: serialize_field(key);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Serialize;

    use super::*;

    #[derive(Serialize)]
    enum Odd {
        Unit,
        New(u8),
        Tuple(u8, Option<char>),
        Struct { inner: Box<Odd> },
    }

    #[derive(Serialize)]
    struct Newtype(());

    fn shallow<T: Serialize>(value: &T, levels: usize) -> (Result<Vec<u8>, rmp_serde::encode::Error>, bool) {
        let exceeded = Cell::new(false);
        let bytes = rmp_serde::to_vec_named(&DepthLimited { value, levels, exceeded: &exceeded });
        (bytes, exceeded.get())
    }

    #[test]
    fn siblings_do_not_add_up() {
        let value = vec![vec![1.5_f64; 3]; 50];
        assert!(!shallow(&value, 2).1);
        assert!(shallow(&value, 1).1 && shallow(&value, 1).0.is_err());
    }

    #[test]
    fn every_kind_of_value_is_written_as_without_a_limit() {
        let odd = [Odd::Unit, Odd::New(1), Odd::Tuple(2, Some('c')), Odd::Struct { inner: Box::new(Odd::New(3)) }];
        let map = BTreeMap::from([(1, ("x".repeat(300), i64::MIN, u128::MAX, -1_i128, None::<u8>, true, 0.5_f32))]);
        let value = (odd, map, Newtype(()), (), serde_json::json!({ "a": [null, 1, -1, 0.5, { "b": "c" }] }));
        let (bytes, exceeded) = shallow(&value, 8);
        assert_eq!((bytes.unwrap(), exceeded), (rmp_serde::to_vec_named(&value).unwrap(), false));
    }

    #[test]
    fn each_level_of_an_enum_counts() {
        let value = (0..9).fold(Odd::Unit, |inner, _| Odd::Struct { inner: Box::new(inner) });
        assert!(!shallow(&value, 9).1);
        assert!(shallow(&value, 8).1);
    }
}
