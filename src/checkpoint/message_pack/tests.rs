//! Values are read as `rmp-serde` and `serde_json` read them.

use std::collections::BTreeMap;
use std::fmt::Debug;

use proptest::prelude::*;
use rmp_serde::decode::Error;
use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::ValueDeserializer;

const LEVELS: usize = 64;

/// Returns what is read, here and by `rmp-serde`.
fn read_both<T: DeserializeOwned + Debug>(bytes: &[u8]) -> (Result<T, Error>, Result<T, Error>) {
    let mut there = rmp_serde::Deserializer::from_read_ref(bytes);
    there.set_max_depth(LEVELS);
    (T::deserialize(&mut ValueDeserializer::new(bytes, LEVELS)), T::deserialize(&mut there))
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Sample {
    small: u8,
    number: i64,
    single: f32,
    double: f64,
    letter: char,
    name: Option<String>,
    list: Vec<u8>,
    bytes: Bytes,
    kinds: BTreeMap<u16, Kind>,
    tuple: (i8, bool, (), u64),
    unit: Unit,
    pair: Pair,
    number_of: Number,
    large: i128,
    larger: u128,
    either: Either,
    tagged: TaggedSample,
    extension: Extension,
    keyed: NumberKeys,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// Its keys are numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct NumberKeys {
    #[serde(flatten)]
    rest: BTreeMap<i64, u8>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Kind {
    Unit,
    Newtype(Option<u32>),
    Tuple(i16, Box<Kind>),
    Struct { inner: Vec<Kind> },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Either {
    Number(i64),
    Text(String),
    Both { number: u8, text: String },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum TaggedSample {
    First { text: String },
    Second { pair: (u8, i8) },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Unit;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pair(u8, f64);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Number(u16);

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename = "_ExtStruct")]
struct Extension((i8, Bytes));

/// Stored as bytes.
#[derive(Clone, Debug)]
struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct BytesVisitor;
        impl Visitor<'_> for BytesVisitor {
            type Value = Bytes;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
        }
        from.deserialize_bytes(BytesVisitor)
    }
}

fn kind() -> impl Strategy<Value = Kind> {
    let leaf = prop_oneof![Just(Kind::Unit), any::<Option<u32>>().prop_map(Kind::Newtype)];
    leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            (any::<i16>(), inner.clone()).prop_map(|(at, inner)| Kind::Tuple(at, Box::new(inner))),
            prop::collection::vec(inner, 0..3).prop_map(|inner| Kind::Struct { inner }),
        ]
    })
}

fn either() -> impl Strategy<Value = Either> {
    prop_oneof![
        any::<i64>().prop_map(Either::Number),
        any::<String>().prop_map(Either::Text),
        any::<(u8, String)>().prop_map(|(number, text)| Either::Both { number, text }),
    ]
}

prop_compose! {
    fn sample()(
        (small, number, single, double, letter) in any::<(u8, i64, f32, f64, char)>(),
        (name, list, bytes, large, larger) in any::<(Option<String>, Vec<u8>, Vec<u8>, i128, u128)>(),
        kinds in prop::collection::btree_map(any::<u16>(), kind(), 0..3),
        (tuple, pair, number_of, text) in any::<((i8, bool, (), u64), (u8, f64), u16, String)>(),
        either in either(),
        second in any::<Option<(u8, i8)>>(),
        (data, keyed) in any::<((i8, Vec<u8>), BTreeMap<i64, u8>)>(),
        rest in prop::collection::btree_map("[A-Z]{0,40}", any::<(String, i64, bool)>(), 0..20),
    ) -> Sample {
        Sample {
            small, number, single, double, letter, name, list, kinds, tuple, large, larger, either,
            bytes: Bytes(bytes),
            unit: Unit,
            pair: Pair(pair.0, pair.1),
            number_of: Number(number_of),
            tagged: second.map_or(TaggedSample::First { text }, |pair| TaggedSample::Second { pair }),
            extension: Extension((data.0, Bytes(data.1))),
            keyed: NumberKeys { rest: keyed },
            rest: rest.into_iter().map(|(key, value)| (key, json!(value))).collect(),
        }
    }
}

proptest! {
    #[test]
    fn values_are_read_as_they_were_written(sample in sample(), as_map: bool) {
        let mut bytes = if as_map { rmp_serde::to_vec_named(&sample) } else { rmp_serde::to_vec(&sample) }.unwrap();
        bytes.push(0xc1); // what follows is not read
        let (here, there) = read_both::<Sample>(&bytes);
        prop_assert_eq!(here.is_ok(), as_map || there.is_ok());
        if let (Ok(here), Ok(there)) = (here, there) {
            prop_assert_eq!(format!("{here:?}"), format!("{there:?}"));
            prop_assert_eq!(format!("{here:?}"), format!("{sample:?}"));
        }
        let (here, there) = read_both::<Value>(&bytes);
        prop_assert_eq!(format!("{:?}", here.ok()), format!("{:?}", there.ok()));
    }

    #[test]
    fn damaged_values_are_read_as_by_rmp_serde(sample in sample(), changes: Vec<(prop::sample::Index, u8)>) {
        let mut bytes = rmp_serde::to_vec_named(&sample).unwrap();
        let length = bytes.len();
        changes.iter().for_each(|(at, byte)| bytes[at.index(length)] = *byte);
        let (here, there) = read_both::<Sample>(&bytes);
        if let Ok(there) = there {
            prop_assert_eq!(format!("{:?}", here.unwrap()), format!("{there:?}"));
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct JsonSample {
    numbers: BTreeMap<i32, u8>,
    flags: BTreeMap<bool, Number>,
    names: BTreeMap<Option<char>, Kind>,
    large: BTreeMap<u128, i128>,
    address: std::net::IpAddr,
    either: Either,
    tagged: TaggedSample,
    pair: Pair,
    unit: Unit,
    #[serde(default)]
    note: Option<Option<String>>,
}

fn json_sample() -> impl Strategy<Value = Value> {
    let parts = any::<(BTreeMap<i32, u8>, BTreeMap<bool, u16>, std::net::IpAddr, String, (u8, f64), (u8, i8))>();
    (parts, kind(), either()).prop_map(|((numbers, flags, address, text, pair, second), kind, either)| {
        json!({
            "numbers": numbers, "flags": flags, "names": { "a": kind }, "large": { u128::MAX.to_string(): pair.0 }, "address": address, "either": either,
            "tagged": { "kind": "First", "text": text, "pair": second }, "pair": pair, "unit": null,
        })
    })
}

/// Returns what is read from JSON, here and by `serde_json`.
fn read_json_both<T: DeserializeOwned + Debug>(json: Value) -> (Option<String>, Option<String>) {
    let bytes = rmp_serde::to_vec(&json).unwrap();
    let here = T::deserialize(&mut ValueDeserializer::new(&bytes, LEVELS).with_json());
    (
        here.ok().map(|here| format!("{here:?}")),
        serde_json::from_value::<T>(json).ok().map(|there| format!("{there:?}")),
    )
}

proptest! {
    #[test]
    fn json_is_read_as_by_serde_json(json in json_sample(), other in json_sample(), at in 0..8_usize, from in 0..8_usize) {
        let (here, there) = read_json_both::<JsonSample>(json.clone());
        prop_assert!(here.is_some());
        prop_assert_eq!(here, there);
        // A field that has the value of another one.
        let field = |at: usize| json.as_object().unwrap().keys().nth(at).unwrap().clone();
        let mut mixed = json.clone();
        mixed[field(at)] = other[field(from)].clone();
        let (here, there) = read_json_both::<JsonSample>(mixed);
        prop_assert_eq!(here, there);
        let (here, there) = read_json_both::<Kind>(other["names"]["a"].clone());
        prop_assert_eq!(here, there);
        let (here, there) = read_json_both::<BTreeMap<u8, Value>>(other);
        prop_assert_eq!(here, there);
    }
}

#[rstest::rstest]
#[case::index_of_a_variant(json!(0))]
#[case::variant_in_a_list(json!(["Unit"]))]
#[case::fields_in_a_list(json!({ "Struct": [[]] }))]
#[case::two_variants(json!({ "Unit": null, "Newtype": 1 }))]
#[case::nothing(json!(null))]
fn json_of_another_form_is_refused(#[case] kind: Value) {
    assert_eq!(read_json_both::<Kind>(kind), (None, None));
}

#[test]
fn forms_of_message_pack_are_refused_in_json() {
    assert_eq!(read_json_both::<Unit>(json!([])), (None, None));
    assert_eq!(read_json_both::<TaggedSample>(json!({ "kind": 0, "text": "" })), (None, None));
}

#[rstest::rstest]
#[case::nothing(&[], "IO error while reading marker: unexpected end of file")]
#[case::cut_text(&[0xa3, b'a'], "IO error while reading data: unexpected end of file")]
#[case::huge_text(&[0xdb, 0xff, 0xff, 0xff, 0xff], "IO error while reading data: unexpected end of file")]
#[case::huge_list(&[0xdd, 0xff, 0xff, 0xff, 0xff], "IO error while reading marker: unexpected end of file")]
#[case::never_used(&[0xc1], "the byte 0xc1 begins no value")]
#[case::deep(&[0x91; 2_000], "depth limit exceeded")]
fn damage_is_an_error(#[case] bytes: &[u8], #[case] reason: &str) {
    assert_eq!(read_both::<Value>(bytes).0.unwrap_err().to_string(), reason);
}

#[test]
fn another_type_is_an_error() {
    let read = |value: Value| read_both::<Kind>(&rmp_serde::to_vec_named(&value).unwrap()).0.unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            read(json!({ "Newtype": "two" })),
            read(json!({ "Tuple": [1] })),
            read(json!({ "Struct": 1 })),
            read(json!({ "Unit": 1 })),
            read(json!("Newtype")),
            read(json!("Other")),
            read(json!({})),
            read(json!(1.5)),
            read(json!({ "Tuple": [1, "Unit", 2] })),
        ]
        .join("\n"),
        @r#"
    invalid type: string "two", expected u32
    invalid length 1, expected tuple variant Kind::Tuple with 2 elements
    invalid type: integer `1`, expected struct variant Kind::Struct
    invalid type: integer `1`, expected unit variant
    invalid type: unit variant, expected newtype variant
    unknown variant `Other`, expected one of `Unit`, `Newtype`, `Tuple`, `Struct`
    invalid length 0, expected one variant
    invalid type: floating point `1.5`, expected variant identifier
    invalid length 3, expected 2 items
    "#
    );
}

#[test]
fn variants_within_each_other_are_limited() {
    let bytes = b"\x81\xa7Newtype".repeat(5_000);
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "never made")]
    enum Endless {
        Newtype(Box<Endless>),
    }
    let read = Endless::deserialize(&mut ValueDeserializer::new(&bytes, LEVELS));
    assert_eq!(read.unwrap_err().to_string(), "depth limit exceeded");
}
