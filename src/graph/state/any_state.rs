//! [`AnyState`] as a [`State`]: what a graph is over whose state's type is not known. Every operation is the schema's own.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::any::{AnySchema, AnyState, AnyWrite};
use super::channel::Channel;
use super::channels::State;
use super::json_schema::SchemaWriter;
use super::mask::Mask;
use super::merge::{ApplyError, Merge};

/// Serializes a value that is JSON already, or the error of making it.
fn serialize<E: Serializer>(json: Result<Value, serde_json::Error>, out: E) -> Result<E::Ok, E::Error> {
    json.map_err(serde::ser::Error::custom)?.serialize(out)
}

impl State for AnyState {
    type Schema = AnySchema;
    type Write = AnyWrite;

    fn channels(schema: &AnySchema) -> &[Channel] {
        schema.channels()
    }

    fn empty(schema: &AnySchema) -> Self {
        schema.empty()
    }

    fn apply(&mut self, schema: &AnySchema, write: AnyWrite, merge: &mut Merge) -> Result<(), ApplyError> {
        schema.apply(self, write, merge)
    }

    fn end_step(&mut self, schema: &AnySchema, written: &Mask, changed: &mut Mask) {
        schema.end_step(self, written, changed);
    }

    fn finish(&mut self, schema: &AnySchema, changed: &mut Mask) {
        schema.finish(self, changed);
    }

    fn is_set(&self, schema: &AnySchema, channel: usize) -> bool {
        schema.is_set(self, channel)
    }

    fn is_kept(&self, schema: &AnySchema, channel: usize) -> bool {
        schema.is_kept(self, channel)
    }

    fn channel_of(write: &AnyWrite) -> usize {
        write.channel()
    }

    fn overwrites(write: &AnyWrite) -> bool {
        write.overwrites()
    }

    fn write_of(&self, schema: &AnySchema, channel: usize) -> Option<AnyWrite> {
        schema.write_of(self, channel)
    }

    fn encode_write<E: Serializer>(schema: &AnySchema, write: &AnyWrite, out: E) -> Result<E::Ok, E::Error> {
        serialize(schema.write_json(write), out)
    }

    fn decode_write<'de, D: Deserializer<'de>>(
        schema: &AnySchema,
        channel: usize,
        overwrite: bool,
        from: D,
    ) -> Result<AnyWrite, D::Error> {
        schema.write_of_json(channel, overwrite, Value::deserialize(from)?).map_err(D::Error::custom)
    }

    fn encode_channel<E: Serializer>(&self, schema: &AnySchema, channel: usize, out: E) -> Result<E::Ok, E::Error> {
        serialize(schema.channel_json(self, channel), out)
    }

    fn decode_channel<'de, D: Deserializer<'de>>(
        &mut self,
        schema: &AnySchema,
        channel: usize,
        from: D,
    ) -> Result<(), D::Error> {
        schema.set_json(self, channel, Value::deserialize(from)?).map_err(D::Error::custom)
    }

    fn channel_schema(schema: &AnySchema, channel: usize, to: &mut SchemaWriter) -> Option<Value> {
        schema.channel_schema(channel, to)
    }

    fn removed(schema: &AnySchema) -> Vec<&str> {
        schema.removed_channels()
    }
}
