//! Serializers of ids and sources of checkpoints.

use serde::Serializer;

use crate::checkpoint::{CheckpointId, Source, ThreadId};

pub(crate) fn text<E: Serializer>(thread: &ThreadId, out: E) -> Result<E::Ok, E::Error> {
    out.serialize_str(thread.as_str())
}

pub(crate) fn number<E: Serializer>(checkpoint: &CheckpointId, out: E) -> Result<E::Ok, E::Error> {
    out.serialize_u64(checkpoint.0)
}

pub(crate) fn word<E: Serializer>(source: &Source, out: E) -> Result<E::Ok, E::Error> {
    out.serialize_str(source.as_str())
}
