//! The differences between a recorded superstep and today's: writes, routes, states, next tasks. Channels that are never
//! saved have several possible values: a run starts with their defaults and may have started at any checkpoint; writes of
//! replayed bodies are known, those of other tasks are not. Pure.

use serde_json::{Value, json};

use crate::checkpoint::Slot;
use crate::graph::build::Table;
use crate::graph::context::Difference;
use crate::graph::error::RunError;
use crate::graph::records::START_NODE;
use crate::graph::state::{AnySchema, AnyState, AnyWrite, Canon, Codec, Mask, Merge, Storage, ValueError, value};
use crate::graph::superstep::task::planned_tasks;
use crate::graph::superstep::{FinishedResult, Packet, Position};

const SECRET: &str = "(secret)";
/// Maximum number of stored bytes of a list of numbers that a difference shows.
const SHOWN: usize = 64 << 10;

/// Compares two results of a task; routes only if `routed`. `unsaved`: channels whose recorded values are not stored.
pub(crate) fn results(
    table: &Table,
    recorded: &FinishedResult,
    now: &FinishedResult,
    lost: &[usize],
    routed: bool,
) -> Result<Option<Difference>, RunError> {
    let found = writes(table, &recorded.writes.0, &now.writes.0, lost)?;
    if found.is_some() || !routed {
        return Ok(found);
    }
    routes(table, recorded, now)
}

pub(crate) fn routes(
    table: &Table,
    recorded: &FinishedResult,
    now: &FinishedResult,
) -> Result<Option<Difference>, RunError> {
    match targets(table, recorded, now) {
        None => sends(table, "sends", &recorded.routing.sends, &now.routing.sends),
        found => Ok(found),
    }
}

/// Returns the first difference between writes. If other channels were written, the difference lists their names.
pub(crate) fn writes(
    table: &Table,
    recorded: &[AnyWrite],
    now: &[AnyWrite],
    lost: &[usize],
) -> Result<Option<Difference>, RunError> {
    let saved = |write: &&AnyWrite| {
        let at = write.channel();
        !lost.contains(&at) && table.schema.channels()[at].storage() != Storage::Never
    };
    let recorded: Vec<&AnyWrite> = recorded.iter().filter(saved).collect();
    let now: Vec<&AnyWrite> = now.iter().filter(saved).collect();
    let place = |write: &&AnyWrite| (write.channel(), write.overwrites());
    if !recorded.iter().map(place).eq(now.iter().map(place)) {
        let names = |writes: &[&AnyWrite]| -> Vec<Value> {
            writes.iter().map(|write| table.channel(write.channel()).into()).collect()
        };
        let same = names(&recorded) == names(&now);
        let what = if same { "writes that overwrite" } else { "channels written" };
        let shown = |writes: &[&AnyWrite]| match same {
            true => writes.iter().map(|write| write.overwrites().into()).collect(),
            false => names(writes),
        };
        return Ok(Some(Difference::new(what, shown(&recorded), shown(&now))));
    }
    for (recorded, now) in recorded.iter().zip(now) {
        let at = now.channel();
        let what = || format!("write to `{}`", table.channel(at));
        let [was, is] = [recorded, now].map(|write| table.schema.encode_write(write));
        let form = |write: &AnyWrite| table.schema.canon_write(write);
        if let Some(difference) = values(table, at, what, (was, is), || Ok([form(recorded)?, form(now)?]))? {
            return Ok(Some(difference));
        }
    }
    Ok(None)
}

/// A value as it is stored; an error if it cannot be.
type EncodeResult = Result<Vec<u8>, ValueError>;

/// Compares two values of a channel: as bytes, and only if these differ in their canonical `forms`, which take many times
/// as much memory.
fn values(
    table: &Table,
    channel: usize,
    what: impl Fn() -> String,
    encoded: (EncodeResult, EncodeResult),
    forms: impl FnOnce() -> Result<[Canon; 2], ValueError>,
) -> Result<Option<Difference>, RunError> {
    let channel = &table.schema.channels()[channel];
    if let (Ok(was), Ok(is)) = &encoded {
        if was == is {
            return Ok(None);
        }
        // Numbers, and lists of them, have one encoding.
        if channel.value_codec() == Codec::Bincode && was.len().max(is.len()) > SHOWN && !channel.is_secret() {
            return Ok(Some(Difference::new(what(), describe_bytes(was, is), describe_bytes(is, was))));
        }
    }
    drop(encoded);
    let [was, is] = forms()?;
    if was == is {
        return Ok(None);
    }
    if channel.is_secret() {
        return Ok(Some(Difference::new(what(), SECRET, SECRET)));
    }
    Ok(Some(Difference::new(what(), was.json(), is.json())))
}

/// Describes a value that is too large to be shown.
fn describe_bytes(value: &[u8], other: &[u8]) -> String {
    let same = value.iter().zip(other).take_while(|(one, other)| one == other).count();
    format!("{} bytes as stored, others from byte {same} on", value.len())
}

pub(crate) fn targets(table: &Table, recorded: &FinishedResult, now: &FinishedResult) -> Option<Difference> {
    if recorded.routing.targets == now.routing.targets {
        return None;
    }
    let names =
        |targets: &[u32]| -> Vec<Value> { targets.iter().map(|&node| (*table.row(node).name).into()).collect() };
    let name = |targets: &[u32]| match names(targets) {
        names if names.is_empty() => vec!["END".into()],
        names => names,
    };
    Some(Difference::new("route", name(&recorded.routing.targets), name(&now.routing.targets)))
}

fn sends(
    table: &Table,
    what: &str,
    recorded: &[(u32, Packet)],
    now: &[(u32, Packet)],
) -> Result<Option<Difference>, RunError> {
    let form = |sends: &[(u32, Packet)]| -> Result<Vec<(u32, Canon)>, RunError> {
        sends.iter().map(|(node, packet)| Ok((*node, value::canon(&packet.payload.encode()?)?))).collect()
    };
    let bytes = |sends: &[(u32, Packet)]| -> Result<Vec<(u32, Vec<u8>)>, RunError> {
        sends.iter().map(|(node, packet)| Ok((*node, packet.payload.encode()?))).collect()
    };
    if bytes(recorded)? == bytes(now)? {
        return Ok(None);
    }
    let (was, is) = (form(recorded)?, form(now)?);
    if was == is {
        return Ok(None);
    }
    let json = |sends: Vec<(u32, Canon)>| -> Value {
        sends.into_iter().map(|(node, payload)| json!({ &*table.row(node).name: payload.json() })).collect()
    };
    Ok(Some(Difference::new(what, json(was), json(is))))
}

/// Returns the first channel whose value differs, apart from those that are the `same` for sure. Channels kept as logs are left out: their entries were compared as
/// writes. So is a secret without a recorded value, which an export may have dropped.
pub(crate) fn states(
    table: &Table,
    recorded: &Position,
    now: &Position,
    same: impl Fn(usize) -> bool,
) -> Result<Option<Difference>, RunError> {
    for (at, channel) in table.schema.channels().iter().enumerate() {
        let was_left_out = channel.is_secret() && recorded.channels.slots.get(at) == Some(&Slot::Absent);
        if was_left_out || same(at) || !matches!(channel.storage(), Storage::Value | Storage::Full) {
            continue;
        }
        if let Some(difference) = channels(table, at, &recorded.state, &now.state)? {
            return Ok(Some(difference));
        }
    }
    Ok(None)
}

/// Compares a channel of two states.
fn channels(table: &Table, at: usize, recorded: &AnyState, now: &AnyState) -> Result<Option<Difference>, RunError> {
    let what = || format!("channel `{}`", table.channel(at));
    let schema = &table.schema;
    let form = |state: &AnyState| schema.canon_channel(state, at);
    match (schema.is_set(recorded, at), schema.is_set(now, at)) {
        (false, false) => Ok(None),
        (true, true) => {
            let encoded = (schema.encode_channel(recorded, at), schema.encode_channel(now, at));
            values(table, at, what, encoded, || Ok([form(recorded)?, form(now)?]))
        }
        (is_set, _) => {
            let value = form(if is_set { recorded } else { now })?;
            Ok(Some(match value {
                Canon::Nil if is_set => Difference::new(what(), "set", "empty"),
                Canon::Nil => Difference::new(what(), "empty", "set"),
                _ if schema.channels()[at].is_secret() => Difference::new(what(), SECRET, SECRET),
                value if is_set => Difference::new(what(), value.json(), Value::Null),
                value => Difference::new(what(), Value::Null, value.json()),
            }))
        }
    }
}

pub(crate) fn changed_channels(table: &Table, recorded: &AnyState, now: &AnyState) -> Result<Vec<String>, RunError> {
    let mut names = vec![];
    for (at, channel) in table.schema.channels().iter().enumerate() {
        if channel.storage() != Storage::Never && channels(table, at, recorded, now)?.is_some() {
            names.push(format!("`{}`", channel.name()));
        }
    }
    Ok(names)
}

pub(crate) fn next(table: &Table, recorded: &Position, now: &Position) -> Result<Option<Difference>, RunError> {
    let names = |pos: &Position| -> Vec<Value> {
        let tasks = planned_tasks(table, pos).into_iter().filter(|task| task.node != START_NODE && task.is_edge());
        tasks.map(|task| (*table.row(task.node).name).into()).collect()
    };
    let (was, is) = (names(recorded), names(now));
    if was != is {
        return Ok(Some(Difference::new("next superstep", was, is)));
    }
    sends(table, "next superstep", &recorded.control.sends, &now.control.sends)
}

/// Limit of value combinations; beyond it values count as unknown.
const MAX_COMBINATIONS: usize = 8;

/// The values that unsaved channels may have at a superstep.
pub(crate) struct UnsavedValues {
    /// For each combination the writes that lead to it from the defaults. The first is the defaults.
    possible: Vec<Vec<AnyWrite>>,
    /// Channels that may have a value in none of the combinations.
    unknown: Mask,
}

impl UnsavedValues {
    /// Returns the defaults, which every run starts with.
    pub(crate) fn defaults() -> Self {
        Self { possible: vec![vec![]], unknown: Mask::default() }
    }

    /// Returns a set in which every unsaved channel is unknown.
    pub(crate) fn all_unknown(schema: &AnySchema) -> Self {
        Self { unknown: unsaved_channels(schema).collect(), ..Self::defaults() }
    }

    /// Returns two combinations: the defaults, and the values in this state.
    pub(crate) fn of(schema: &AnySchema, state: &AnyState) -> Self {
        let mut all = Self::defaults();
        all.add(schema, state);
        all
    }

    /// True if a reader of these channels may have seen a value that cannot be reproduced.
    pub(crate) fn is_unknown(&self, reads: Option<&Mask>) -> bool {
        reads.map_or(!self.unknown.is_empty(), |reads| reads.intersects(&self.unknown))
    }

    pub(crate) fn names(&self, schema: &AnySchema) -> String {
        let channels = schema.channels();
        self.unknown.iter().map(|at| format!("`{}`", channels[at].name())).collect::<Vec<_>>().join(" and ")
    }

    pub(crate) fn reason(&self, schema: &AnySchema) -> &'static str {
        let never = unsaved_channels(schema).any(|at| self.unknown.contains(at));
        if never { "never saved" } else { "left out of the export" }
    }

    /// Returns the states that a task may have started with; `saved` holds the saved channels.
    pub(crate) fn states(&self, schema: &AnySchema, saved: &AnyState, reads: Option<&Mask>) -> Vec<AnyState> {
        let is_read = |at: usize| reads.is_none_or(|reads| reads.contains(at));
        if !unsaved_channels(schema).any(is_read) {
            return vec![saved.clone()];
        }
        self.possible.iter().filter_map(|writes| with(schema, saved, writes)).collect()
    }

    /// Applies the tasks' writes to these channels. `unknown`: channels written with unknown values.
    pub(crate) fn advance(&mut self, schema: &AnySchema, saved: &AnyState, writes: &[AnyWrite], unknown: Mask) {
        let changes = !writes.is_empty();
        let before = if changes { std::mem::replace(&mut self.possible, vec![vec![]]) } else { vec![] };
        for values in before {
            let state = with(schema, saved, &values).and_then(|state| with(schema, &state, writes));
            match state {
                Some(state) => self.add(schema, &state),
                None => self.unknown.extend(writes.iter().map(AnyWrite::channel)),
            }
        }
        self.unknown.extend(unknown.iter());
    }

    fn add(&mut self, schema: &AnySchema, state: &AnyState) {
        let writes: Vec<AnyWrite> = unsaved_channels(schema).filter_map(|at| schema.write_of(state, at)).collect();
        if self.possible.len() == MAX_COMBINATIONS {
            self.unknown.extend(writes.iter().map(AnyWrite::channel));
            return;
        }
        let canon = |writes: &[AnyWrite]| -> Option<Vec<Canon>> {
            writes.iter().map(|write| schema.canon_write(write).ok()).collect()
        };
        let new = canon(&writes);
        let is_known = new.is_some() && self.possible.iter().any(|known| canon(known) == new);
        if !is_known {
            self.possible.push(writes);
        }
    }
}

pub(crate) fn unsaved_channels(schema: &AnySchema) -> impl Iterator<Item = usize> + '_ {
    let channels = schema.channels().iter().enumerate();
    channels.filter(|(_, channel)| channel.storage() == Storage::Never).map(|(at, _)| at)
}

/// Returns the state after writes; `None` if a reducer rejects them.
fn with(schema: &AnySchema, state: &AnyState, writes: &[AnyWrite]) -> Option<AnyState> {
    let (mut state, mut merge) = (state.clone(), Merge::default());
    for write in writes {
        schema.apply(&mut state, write.clone(), &mut merge).ok()?;
    }
    Some(state)
}
