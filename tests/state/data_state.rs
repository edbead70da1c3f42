//! The effect of writes on each kind of data-defined channel, through the public API.

use rstest::{fixture, rstest};
use serde_json::{Value, json};
use superstep::graph::__private::{Mask, Merge};
use superstep::graph::state::{ApplyError, DataWrite, Kind, SchemaError, Storage};
use superstep::graph::{DataSchema, DataState, State};

const CHANNEL: usize = 0;

/// A state of one channel, driven superstep by superstep.
struct Bench {
    schema: DataSchema,
    state: DataState,
}

impl Bench {
    fn new(kind: Kind) -> Self {
        let schema = DataSchema::new([("x", kind)]).unwrap();
        Self { state: DataState::empty(&schema), schema }
    }

    /// Applies one superstep's writes; returns the channels that were emptied at its end.
    fn step(&mut self, writes: Vec<DataWrite>) -> Result<Vec<usize>, ApplyError> {
        let (mut merge, mut changed) = (Merge::default(), Mask::default());
        for write in writes {
            self.state.apply(&self.schema, write, &mut merge)?;
        }
        self.state.end_step(&self.schema, merge.written(), &mut changed);
        Ok(changed.iter().collect())
    }

    fn write(&mut self, values: Value) -> Result<Vec<usize>, ApplyError> {
        let values = values.as_array().unwrap().iter();
        let writes = values.map(|value| self.schema.write("x", value.clone()).unwrap()).collect();
        self.step(writes)
    }

    fn finish(&mut self) -> Vec<usize> {
        let mut changed = Mask::default();
        self.state.finish(&self.schema, &mut changed);
        changed.iter().collect()
    }

    fn value(&self) -> Value {
        self.state.by_name(&self.schema, "x").cloned().unwrap_or_else(|| json!("unset"))
    }

    /// Applies steps, each a list of writes, and returns the value after each.
    fn after_each(&mut self, steps: Value) -> Value {
        let steps = steps.as_array().unwrap().iter();
        steps.map(|writes| self.write(writes.clone()).map(|_| self.value()).unwrap()).collect()
    }
}

fn refused(kind: Kind, steps: Value) -> String {
    let mut bench = Bench::new(kind);
    let results = steps.as_array().unwrap().iter().map(|writes| bench.write(writes.clone()));
    match results.filter_map(Result::err).next() {
        Some(ApplyError::Refused { channel: CHANNEL, reason }) => reason,
        other => panic!("not refused: {other:?}"),
    }
}

#[rstest]
#[case(Kind::LastValue, json!("unset"))]
#[case(Kind::Append, json!([]))]
#[case(Kind::Add, json!(0))]
#[case(Kind::Concat, json!(""))]
#[case(Kind::Union, json!([]))]
#[case(Kind::Merge, json!({}))]
#[case(Kind::Max, json!(0))]
#[case(Kind::OptMin, json!("unset"))]
#[case(Kind::Messages, json!([]))]
#[case(Kind::Ephemeral { guard: true }, json!("unset"))]
#[case(Kind::Untracked { guard: true }, json!("unset"))]
#[case(Kind::AnyValue, json!("unset"))]
#[case(Kind::Topic { accumulate: false }, json!("unset"))]
#[case(Kind::AfterFinish, json!("unset"))]
#[case(Kind::DeltaAppend, json!([]))]
fn an_unwritten_channel_reads_as_its_default(#[case] kind: Kind, #[case] default: Value) {
    let bench = Bench::new(kind);
    assert_eq!(bench.value(), default);
    assert_eq!(bench.state.is_set(&bench.schema, CHANNEL), default != json!("unset"));
}

#[rstest]
#[case::last_value_keeps_null(Kind::LastValue, json!([[1], [], [null]]), json!([1, 1, null]))]
#[case::last_value_unwraps(Kind::LastValue, json!([[{"$overwrite": 1}]]), json!([1]))]
#[case::append(Kind::Append, json!([[[1], [2, 3]], [], [[4]]]), json!([[1, 2, 3], [1, 2, 3], [1, 2, 3, 4]]))]
#[case::delta_append(Kind::DeltaAppend, json!([[[1], [2]], [[3]]]), json!([[1, 2], [1, 2, 3]]))]
#[case::add(Kind::Add, json!([[1, 2], [-5]]), json!([3, -2]))]
#[case::add_floats(Kind::Add, json!([[1], [0.5], [1]]), json!([1, 1.5, 2.5]))]
#[case::add_past_i64(Kind::Add, json!([[i64::MAX, 1]]), json!([i64::MAX as u64 + 1]))]
#[case::add_past_u64(Kind::Add, json!([[u64::MAX, u64::MAX]]), json!([u64::MAX as f64 * 2.0]))]
#[case::add_past_the_least(Kind::Add, json!([[i64::MIN, i64::MIN]]), json!([i64::MIN as f64 * 2.0]))]
#[case::concat(Kind::Concat, json!([["a", "b"], ["c"]]), json!(["ab", "abc"]))]
#[case::union(Kind::Union, json!([[[3, 1], [2, 1]], [[1]]]), json!([[1, 2, 3], [1, 2, 3]]))]
#[case::union_by_type(
    Kind::Union,
    json!([[["b", 2, 1.5, true, null, "a", 10, -0.5, false, 1]]]),
    json!([[null, false, true, -0.5, 1.5, 1, 2, 10, "a", "b"]])
)]
#[case::merge(Kind::Merge, json!([[{"a": {"x": 1}}, {"b": 2}], [{"a": {"y": 1}}]]),
    json!([{"a": {"x": 1}, "b": 2}, {"a": {"y": 1}, "b": 2}]))]
#[case::max_starts_at_0(Kind::Max, json!([[-5], [3, 7, 5], [6.5], [7.5]]), json!([0, 7, 7, 7.5]))]
#[case::max_keeps_the_first_of_equals(Kind::Max, json!([[1], [1.0]]), json!([1, 1]))]
#[case::opt_min(Kind::OptMin, json!([[7], [9, 3], [4]]), json!([7, 3, 3]))]
#[case::opt_min_of_strings(Kind::OptMin, json!([["b"], ["a"], ["c"]]), json!(["b", "a", "a"]))]
#[case::ephemeral(Kind::Ephemeral { guard: true }, json!([[1], []]), json!([1, "unset"]))]
#[case::ephemeral_open(Kind::Ephemeral { guard: false }, json!([[1, 2], []]), json!([2, "unset"]))]
#[case::untracked(Kind::Untracked { guard: true }, json!([[1], []]), json!([1, 1]))]
#[case::untracked_open(Kind::Untracked { guard: false }, json!([[1, 2], []]), json!([2, 2]))]
#[case::any_value(Kind::AnyValue, json!([[1, 2], [], [3]]), json!([2, "unset", 3]))]
#[case::topic(Kind::Topic { accumulate: false }, json!([[1, [2, [3]]], [4], [], [[]]]),
    json!([[1, 2, [3]], [4], "unset", "unset"]))]
#[case::topic_kept(Kind::Topic { accumulate: true }, json!([[1], [], [[2, 3], 4]]), json!([[1], [1], [1, 2, 3, 4]]))]
fn writes_meet_the_value_by_the_rule_of_the_kind(#[case] kind: Kind, #[case] steps: Value, #[case] after: Value) {
    assert_eq!(Bench::new(kind).after_each(steps), after);
}

#[rstest]
#[case(Kind::LastValue, json!([1, 1]))]
#[case(Kind::Ephemeral { guard: true }, json!([1, 2]))]
#[case(Kind::Untracked { guard: true }, json!([1, 2]))]
#[case::two_overwrites(Kind::Append, json!([{"$overwrite": []}, [1], {"$overwrite": []}]))]
#[case::two_topic_overwrites(Kind::Topic { accumulate: true }, json!([{"$overwrite": []}, {"$overwrite": []}]))]
fn some_writes_cannot_share_a_superstep(#[case] kind: Kind, #[case] writes: Value) {
    assert_eq!(Bench::new(kind).write(writes), Err(ApplyError::Concurrent { channel: CHANNEL }));
}

#[rstest]
#[case::between_writes(Kind::Append, json!([[[1]], [[2], {"$overwrite": [9]}, [3]], [[4]]]), json!([[1], [9], [9, 4]]))]
#[case::long_key(Kind::Append, json!([[[1]], [{"__overwrite__": []}]]), json!([[1], []]))]
#[case::survivor_of_json(Kind::Add, json!([[1], [{"type": "__overwrite__", "value": 5}]]), json!([1, 5]))]
#[case::below_the_start(Kind::Max, json!([[{"$overwrite": -3}], [-5]]), json!([-3, -3]))]
#[case::before_the_first_write(Kind::OptMin, json!([[{"$overwrite": 5}, 1], [9]]), json!([5, 5]))]
#[case::sorts(Kind::Union, json!([[{"$overwrite": [2, 1, 2]}]]), json!([[1, 2]]))]
#[case::topic(Kind::Topic { accumulate: true }, json!([[1], [2, {"$overwrite": [7]}, 3], [8]]), json!([[1], [7], [7, 8]]))]
#[case::emptied_topic(Kind::Topic { accumulate: true }, json!([[1], [{"$overwrite": []}]]), json!([[1], "unset"]))]
#[case::two_keys_are_a_value(Kind::Merge, json!([[{"$overwrite": 1, "a": 2}]]), json!([{"$overwrite": 1, "a": 2}]))]
fn an_overwrite_wins_over_the_other_writes_of_its_superstep(
    #[case] kind: Kind,
    #[case] steps: Value,
    #[case] after: Value,
) {
    assert_eq!(Bench::new(kind).after_each(steps), after);
}

#[rstest]
#[case(Kind::Append, json!([["a"]]), "takes a list, not a string")]
#[case(Kind::DeltaAppend, json!([[{}]]), "takes a list, not an object")]
#[case(Kind::Add, json!([["a"]]), "takes a number, not a string")]
#[case(Kind::Add, json!([[f64::MAX, f64::MAX]]), "the sum is too great for a number")]
#[case(Kind::Concat, json!([[null]]), "takes a string, not null")]
#[case(Kind::Union, json!([[1]]), "takes a list, not a number")]
#[case(Kind::Union, json!([[[1, [2]]]]), "takes a list of simple values, one is a list")]
#[case(Kind::Merge, json!([[[]]]), "takes an object, not a list")]
#[case(Kind::Max, json!([[true]]), "takes a number, not a boolean")]
#[case(Kind::OptMin, json!([[null]]), "takes a number or a string, not null")]
#[case(Kind::OptMin, json!([[1], ["a"]]), "cannot compare a string with a number")]
#[case(Kind::Append, json!([[{"$overwrite": 1}]]), "takes a list, not a number")]
#[case(Kind::Topic { accumulate: false }, json!([[{"$overwrite": 1}]]), "takes a list, not a number")]
#[case(Kind::Messages, json!([["hi"]]), "takes a message or a list of messages, not a string")]
#[case(Kind::Messages, json!([[{"id": 1}]]), "takes messages whose `id` is a string")]
#[case(Kind::Messages, json!([[{"$remove": 1}]]), "takes the id of a message as `$remove`")]
#[case(Kind::Messages, json!([[{"$remove_all": 1}]]), "takes nothing but `true` as `$remove_all`")]
#[case(Kind::Messages, json!([[{"$remove": "a"}]]), "no entry has the id `a`, so it cannot be removed")]
#[case(Kind::Messages, json!([[{"$overwrite": [{"$remove": "a"}]}]]), "cannot remove messages while all are replaced")]
fn a_write_of_the_wrong_type_is_refused(#[case] kind: Kind, #[case] steps: Value, #[case] reason: &str) {
    assert_eq!(refused(kind, steps), reason);
}

#[rstest]
#[case::one_or_many(json!([{"id": "a"}, [{"id": "b"}, {"id": "c"}]]), json!([{"id": "a"}, {"id": "b"}, {"id": "c"}]))]
#[case::replaces_in_place(json!([[{"id": "a"}, {"id": "b"}], {"id": "a", "content": 2}]),
    json!([{"id": "a", "content": 2}, {"id": "b"}]))]
#[case::removes(json!([[{"id": "a"}, {"id": "b"}], {"$remove": "a"}]), json!([{"id": "b"}]))]
#[case::brings_back_in_place(json!([[{"id": "a"}, {"id": "b"}], [{"$remove": "a"}, {"id": "a", "content": 2}]]),
    json!([{"id": "a", "content": 2}, {"id": "b"}]))]
#[case::appends_when_back_later(json!([[{"id": "a"}, {"id": "b"}], {"$remove": "a"}, {"id": "a"}]),
    json!([{"id": "b"}, {"id": "a"}]))]
#[case::removes_all_before(json!([{"id": "a"}, [{"id": "b"}, {"$remove_all": true}, {"id": "c"}]]), json!([{"id": "c"}]))]
#[case::overwrites(json!([{"id": "a"}, {"$overwrite": [{"id": "b"}]}]), json!([{"id": "b"}]))]
fn messages_are_merged_by_id(#[case] writes: Value, #[case] after: Value) {
    let mut bench = Bench::new(Kind::Messages);
    bench.write(writes).unwrap();
    assert_eq!(bench.value(), after);
}

#[test]
fn messages_without_an_id_are_given_the_same_one_each_time() {
    let run = || {
        let mut bench = Bench::new(Kind::Messages);
        bench.write(json!([{"content": "hi"}, [{"content": "hi"}, {"id": null, "content": "hi"}]])).unwrap();
        bench.value()
    };
    let ids: Vec<Value> = run().as_array().unwrap().iter().map(|message| message["id"].clone()).collect();
    assert!(ids.len() == 3 && ids[0] != ids[1] && ids[1] != ids[2] && ids.iter().all(Value::is_string), "{ids:?}");
    assert_eq!(run(), run());
}

#[test]
fn an_id_that_is_used_is_not_given_again() {
    let mut bench = Bench::new(Kind::Messages);
    bench.write(json!([[{"content": "hi"}, {"content": "hi"}]])).unwrap();
    let first = bench.value()[0]["id"].clone();
    bench.write(json!([{"$remove": first}, {"content": "hi"}])).unwrap();
    assert_eq!(bench.value().as_array().unwrap().len(), 2, "{}", bench.value());
}

#[rstest]
#[case(Kind::Ephemeral { guard: true }, vec![CHANNEL])]
#[case(Kind::AnyValue, vec![CHANNEL])]
#[case(Kind::Topic { accumulate: false }, vec![CHANNEL])]
#[case(Kind::Topic { accumulate: true }, vec![])]
#[case(Kind::Untracked { guard: true }, vec![])]
#[case(Kind::LastValue, vec![])]
fn emptying_a_channel_is_a_change_once(#[case] kind: Kind, #[case] emptied: Vec<usize>) {
    let mut bench = Bench::new(kind);
    let steps = [json!([1]), json!([]), json!([])];
    assert_eq!(steps.map(|writes| bench.write(writes).unwrap()), [vec![], emptied, vec![]]);
}

#[test]
fn a_value_for_after_the_finish_is_readable_only_then() {
    let mut bench = Bench::new(Kind::AfterFinish);
    assert_eq!(bench.finish(), Vec::<usize>::new());
    bench.write(json!([1, 2])).unwrap();
    assert_eq!((bench.value(), bench.state.write_of(&bench.schema, CHANNEL)), (json!("unset"), None));
    assert_eq!((bench.finish(), bench.value()), (vec![CHANNEL], json!(2)));
    assert_eq!((bench.finish(), bench.write(json!([])), bench.value()), (vec![], Ok(vec![]), json!(2)));
    bench.write(json!([3])).unwrap();
    assert_eq!(bench.value(), json!("unset"));
}

/// One codec: encodes and decodes a state, as a checkpoint does.
type Recode = fn(&DataSchema, &DataState) -> DataState;

fn through_json(schema: &DataSchema, state: &DataState) -> DataState {
    let bytes = state.encode_channel(schema, CHANNEL, serde_json::value::Serializer).unwrap();
    let mut copy = DataState::empty(schema);
    copy.decode_channel(schema, CHANNEL, bytes).unwrap();
    copy
}

fn through_message_pack(schema: &DataSchema, state: &DataState) -> DataState {
    let mut bytes = vec![];
    state.encode_channel(schema, CHANNEL, &mut rmp_serde::Serializer::new(&mut bytes).with_struct_map()).unwrap();
    let mut copy = DataState::empty(schema);
    copy.decode_channel(schema, CHANNEL, &mut rmp_serde::Deserializer::new(bytes.as_slice())).unwrap();
    copy
}

#[rstest]
#[case(Kind::LastValue, json!({"a": [1, null, 1.5, 1.0, -3, u64::MAX, "ü"]}))]
#[case(Kind::LastValue, json!(null))]
#[case(Kind::Append, json!([1, {}]))]
#[case(Kind::Add, json!(7))]
#[case(Kind::Add, json!(1.0))]
#[case(Kind::Concat, json!("text"))]
#[case(Kind::Union, json!([1, 2]))]
#[case(Kind::Merge, json!({"a": 1}))]
#[case(Kind::Max, json!(7))]
#[case(Kind::OptMin, json!(7))]
#[case(Kind::Messages, json!([{"id": "a", "content": "hi"}]))]
#[case(Kind::Ephemeral { guard: true }, json!([1]))]
#[case(Kind::Untracked { guard: true }, json!(1))]
#[case(Kind::AnyValue, json!("last"))]
#[case(Kind::Topic { accumulate: true }, json!([1, 2]))]
#[case(Kind::AfterFinish, json!([1, true]))]
#[case(Kind::DeltaAppend, json!([1]))]
fn a_value_and_its_writes_survive_encoding(
    #[case] kind: Kind,
    #[case] value: Value,
    #[values(through_json, through_message_pack)] recode: Recode,
) {
    let mut bench = Bench::new(kind);
    bench.write(json!([value])).unwrap();
    assert_eq!(recode(&bench.schema, &bench.state), bench.state);
    bench.finish();
    assert_eq!((bench.value(), recode(&bench.schema, &bench.state)), (value, bench.state.clone()));

    let write = bench.state.write_of(&bench.schema, CHANNEL).unwrap();
    let bytes = DataState::encode_write(&bench.schema, &write, serde_json::value::Serializer).unwrap();
    let again = DataState::decode_write(&bench.schema, CHANNEL, DataState::overwrites(&write), bytes).unwrap();
    assert_eq!(again, write);
    let mut copy = Bench::new(kind);
    copy.step(vec![again]).unwrap();
    copy.finish();
    assert_eq!(copy.value(), bench.value());
}

#[rstest]
#[case(Kind::LastValue)]
#[case(Kind::Ephemeral { guard: true })]
#[case(Kind::AnyValue)]
fn the_bytes_of_a_write_are_those_of_the_value(#[case] kind: Kind) {
    let mut bench = Bench::new(kind);
    assert_eq!(DataState::channels(&bench.schema)[CHANNEL].storage(), Storage::Value);
    let write = bench.schema.write("x", json!({"a": 1})).unwrap();
    let bytes = DataState::encode_write(&bench.schema, &write, serde_json::value::Serializer).unwrap();
    bench.state.decode_channel(&bench.schema, CHANNEL, bytes).unwrap();
    assert_eq!(bench.value(), *write.value());
}

#[rstest]
#[case(Kind::Append, json!(1), "takes a list, not a number")]
#[case(Kind::OptMin, json!(null), "takes a number or a string, not null")]
fn a_stored_value_of_another_kind_is_not_read(#[case] kind: Kind, #[case] stored: Value, #[case] reason: &str) {
    let mut bench = Bench::new(kind);
    let error = bench.state.decode_channel(&bench.schema, CHANNEL, stored).unwrap_err();
    assert_eq!(error.to_string(), reason);
}

#[test]
fn a_channel_without_a_value_has_nothing_to_encode() {
    let bench = Bench::new(Kind::LastValue);
    let error = bench.state.encode_channel(&bench.schema, CHANNEL, serde_json::value::Serializer).unwrap_err();
    assert_eq!(error.to_string(), "channel `x` has no value");
}

#[fixture]
fn schema() -> DataSchema {
    DataSchema::new([("topic", Kind::LastValue), ("notes", Kind::Append), ("key", Kind::LastValue)]).unwrap()
}

#[rstest]
fn names_become_indexes_once(schema: DataSchema) {
    let channels = ["topic", "notes", "nothing"].map(|name| schema.channel(name));
    assert_eq!((channels, schema.kind(1)), ([Some(0), Some(1), None], Kind::Append));
    let table = DataState::channels(&schema).iter().map(|channel| (channel.name(), channel.type_name()));
    assert_eq!(table.collect::<Vec<_>>(), [("topic", "last_value"), ("notes", "append"), ("key", "last_value")]);
}

#[test]
fn a_schema_takes_each_name_once() {
    let error = DataSchema::new([("a", Kind::Append), ("a", Kind::Add)]).unwrap_err();
    assert_eq!(error, SchemaError::Twice { channel: "a".into() });
    assert_eq!(
        format!("{error}\n help: {}", error.help()),
        "two channels are named `a`\n help: remove one `a`, or give it another name"
    );
}

#[rstest]
fn an_update_writes_the_keys_that_are_channels(schema: DataSchema) {
    let update = json!({"topic": "tides", "notes": {"$overwrite": ["moon"]}, "nothing": 1});
    let writes = schema.writes(update.as_object().unwrap());
    let mut targets: Vec<_> =
        writes.0.iter().map(|write| (DataState::channel_of(write), DataState::overwrites(write))).collect();
    targets.sort_unstable();
    assert_eq!(targets, [(0, false), (1, true)]);
    let (mut state, mut merge) = (DataState::empty(&schema), Merge::default());
    for write in writes.0 {
        state.apply(&schema, write, &mut merge).unwrap();
    }
    assert_eq!(state.to_json(&schema), json!({"topic": "tides", "notes": ["moon"]}));
}

#[rstest]
fn a_secret_is_not_printed(schema: DataSchema) {
    let schema = schema.secret("key").unwrap();
    assert_eq!(schema.clone().secret("kee").unwrap_err(), SchemaError::Unknown { channel: "kee".into() });
    assert!(DataState::channels(&schema)[2].is_secret());
    let write = schema.write("key", json!("hush")).unwrap();
    let mut state = DataState::empty(&schema);
    state.apply(&schema, write.clone(), &mut Merge::default()).unwrap();
    assert_eq!(format!("{state:?}"), "DataState {1, 2}");
    assert_eq!((state.to_json(&schema), state.by_name(&schema, "key")), (json!({"notes": []}), Some(&json!("hush"))));
    assert_eq!(format!("{write:?}"), "DataWrite { channel: 2, overwrites: false, .. }");
}
