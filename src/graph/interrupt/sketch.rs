//! Describes the JSON of a type for a person, by running its `Deserialize` on made-up values. Knows no graph.

use std::cell::{Cell, RefCell};
use std::fmt::{self, Display};

use serde::de::value::{StrDeserializer, U32Deserializer};
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

/// Depth limit: recursive types have no end.
const MAX_DEPTH: usize = 4;
/// Limit of described enum variants.
const MAX_VARIANTS: usize = 12;

/// Returns a description of the type's JSON: `true or false`, `text`, `{"text": text, "score": number}`.
pub(crate) fn sketch<T: DeserializeOwned>() -> String {
    let variants = Cell::new(1);
    let mut descriptions = vec![];
    while descriptions.len() < variants.get().min(MAX_VARIANTS) {
        let text = RefCell::new(String::new());
        // Fails if no made-up value is accepted; the description so far is kept.
        let _ = T::deserialize(Probe { text: &text, depth: 0, variant: descriptions.len(), variants: &variants });
        descriptions.push(text.into_inner());
    }
    let text = descriptions.join(" or ");
    if text.is_empty() { "any JSON".into() } else { text }
}

/// A deserializer that returns made-up values and describes the requests.
#[derive(Clone, Copy)]
struct Probe<'a> {
    text: &'a RefCell<String>,
    depth: usize,
    /// Index of the variant to describe, if the type is an enum.
    variant: usize,
    /// Number of its variants.
    variants: &'a Cell<usize>,
}

#[derive(Debug)]
struct ProbeError;

impl Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no example value of this type is available")
    }
}

impl std::error::Error for ProbeError {}

impl de::Error for ProbeError {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}

impl Probe<'_> {
    fn note(&self, description: &str) {
        self.text.borrow_mut().push_str(description);
    }

    fn descend(&self) -> Result<Self, ProbeError> {
        if self.depth >= MAX_DEPTH { Err(self.stop()) } else { Ok(Self { depth: self.depth + 1, ..*self }) }
    }

    fn stop(&self) -> ProbeError {
        self.note("..");
        ProbeError
    }
}

macro_rules! scalars {
    ($($method:ident $description:literal $visit:ident($($value:expr)?);)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
            self.note($description);
            visitor.$visit($($value)?)
        }
    )*};
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = ProbeError;

    scalars! {
        deserialize_bool "true or false" visit_bool(false);
        deserialize_i8 "number" visit_i8(1);
        deserialize_i16 "number" visit_i16(1);
        deserialize_i32 "number" visit_i32(1);
        deserialize_i64 "number" visit_i64(1);
        deserialize_u8 "number" visit_u8(1);
        deserialize_u16 "number" visit_u16(1);
        deserialize_u32 "number" visit_u32(1);
        deserialize_u64 "number" visit_u64(1);
        deserialize_f32 "number" visit_f32(1.0);
        deserialize_f64 "number" visit_f64(1.0);
        deserialize_char "character" visit_char('a');
        deserialize_str "text" visit_borrowed_str("a");
        deserialize_string "text" visit_borrowed_str("a");
        deserialize_bytes "bytes" visit_borrowed_bytes(b"a");
        deserialize_byte_buf "bytes" visit_borrowed_bytes(b"a");
        deserialize_unit "null" visit_unit();
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        self.note("any JSON");
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        let value = visitor.visit_some(self)?;
        self.note(" or null");
        Ok(value)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ProbeError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ProbeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        self.items(1, "[", ", ..]", visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, ProbeError> {
        self.items(len, "[", "]", visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        self.items(len, "[", "]", visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        self.note("{text: ");
        let value = visitor.visit_map(Fields { probe: self.descend()?, names: &["a"], at: 0, named: false })?;
        self.note(", ..}");
        Ok(value)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        self.note("{");
        let value = visitor.visit_map(Fields { probe: self.descend()?, names, at: 0, named: true })?;
        self.note("}");
        Ok(value)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        if self.depth == 0 {
            self.variants.set(variants.len());
            let name = variants.get(self.variant).copied().unwrap_or_default();
            return visitor.visit_enum(Variant { probe: self.descend()?, name: Some(name) });
        }
        let named: Vec<String> = variants.iter().map(|variant| format!("\"{variant}\"")).collect();
        self.note(&named.join(" or "));
        let unused = RefCell::new(String::new());
        let probe = Probe { text: &unused, variant: 0, ..self.descend()? };
        visitor.visit_enum(Variant { probe, name: None })
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        visitor.visit_borrowed_str("a")
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProbeError> {
        visitor.visit_unit()
    }
}

impl Probe<'_> {
    fn items<'de, V: Visitor<'de>>(
        self,
        left: usize,
        open: &str,
        close: &str,
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        self.note(open);
        let value = visitor.visit_seq(Items { probe: self.descend()?, left, is_first: true })?;
        self.note(close);
        Ok(value)
    }
}

struct Items<'a> {
    probe: Probe<'a>,
    left: usize,
    is_first: bool,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = ProbeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ProbeError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        if !std::mem::take(&mut self.is_first) {
            self.probe.note(", ");
        }
        seed.deserialize(self.probe).map(Some)
    }
}

struct Fields<'a> {
    probe: Probe<'a>,
    names: &'static [&'static str],
    at: usize,
    /// Set if the names are the type's own.
    named: bool,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = ProbeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ProbeError> {
        let Some(name) = self.names.get(self.at) else { return Ok(None) };
        if self.named {
            let comma = if self.at == 0 { "" } else { ", " };
            self.probe.note(&format!("{comma}\"{name}\": "));
        }
        self.at += 1;
        let key: StrDeserializer<'_, ProbeError> = (*name).into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, ProbeError> {
        seed.deserialize(self.probe)
    }
}

struct Variant<'a> {
    probe: Probe<'a>,
    /// Its name, if it is to be described.
    name: Option<&'static str>,
}

impl Variant<'_> {
    fn describe<T>(&self, content: impl FnOnce() -> Result<T, ProbeError>) -> Result<T, ProbeError> {
        let Some(name) = self.name else { return content() };
        self.probe.note(&format!("{{\"{name}\": "));
        let value = content()?;
        self.probe.note("}");
        Ok(value)
    }
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = ProbeError;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), ProbeError> {
        let index: U32Deserializer<ProbeError> =
            u32::try_from(self.probe.variant).unwrap_or_default().into_deserializer();
        Ok((seed.deserialize(index)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = ProbeError;

    fn unit_variant(self) -> Result<(), ProbeError> {
        self.name.iter().for_each(|name| self.probe.note(&format!("\"{name}\"")));
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ProbeError> {
        self.describe(|| seed.deserialize(self.probe))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, ProbeError> {
        self.describe(|| self.probe.deserialize_tuple(len, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ProbeError> {
        self.describe(|| self.probe.deserialize_struct("", names, visitor))
    }
}

#[cfg(test)]
#[allow(dead_code, reason = "the types are only looked at")]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize)]
    enum Verdict {
        Approve,
        Reject,
    }

    #[derive(Deserialize)]
    struct Decision {
        verdict: Verdict,
        feedback: String,
        by: Option<u32>,
        marks: Vec<bool>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        Ship,
        Drop { why: String },
        Again(u8, bool),
        Wait(Verdict),
    }

    #[derive(Deserialize)]
    struct Tree {
        children: Vec<Tree>,
    }

    #[test]
    fn types_are_described_in_words() {
        assert_eq!(sketch::<bool>(), "true or false");
        assert_eq!(sketch::<serde_json::Value>(), "any JSON");
        assert_eq!(sketch::<(u8, String)>(), "[number, text]");
        assert_eq!(sketch::<std::collections::BTreeMap<String, f64>>(), "{text: number, ..}");
        assert_eq!(
            sketch::<Decision>(),
            r#"{"verdict": "Approve" or "Reject", "feedback": text, "by": number or null, "marks": [true or false, ..]}"#
        );
    }

    #[test]
    fn each_variant_is_described_with_its_content() {
        let start = r#""ship" or {"drop": {"why": text}} or {"again": [number, true or false]}"#;
        assert_eq!(sketch::<Word>(), format!(r#"{start} or {{"wait": "Approve" or "Reject"}}"#));
    }

    #[test]
    fn a_type_without_end_is_cut() {
        assert!(sketch::<Tree>().ends_with(".."), "{}", sketch::<Tree>());
    }
}
