//! The differences between a recorded superstep and today's: writes, routes, states, next tasks. Pure.

use serde_json::{Value, json};

use crate::checkpoint::Slot;
use crate::graph::build::Table;
use crate::graph::context::Difference;
use crate::graph::error::RunError;
use crate::graph::records::START_NODE;
use crate::graph::state::{AnyState, AnyWrite, Canon, Stored, value};
use crate::graph::superstep::task::planned;
use crate::graph::superstep::{Finished, Packet, Position};

const SECRET: &str = "(secret)";

/// Compares two results of a task; routes only if `routed`. `unsaved`: channels whose recorded values are not stored.
pub(crate) fn results(
    table: &Table,
    recorded: &Finished,
    now: &Finished,
    lost: &[usize],
    routed: bool,
) -> Result<Option<Difference>, RunError> {
    let found = writes(table, &recorded.writes.0, &now.writes.0, lost)?;
    if found.is_some() || !routed {
        return Ok(found);
    }
    routes(table, recorded, now)
}

pub(crate) fn routes(table: &Table, recorded: &Finished, now: &Finished) -> Result<Option<Difference>, RunError> {
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
        !lost.contains(&at) && table.schema.channels()[at].stored() != Stored::Never
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
        let [was, is] = [recorded, now].map(|write| table.schema.canon_write(write));
        let what = || format!("write to `{}`", table.channel(at));
        if let Some(difference) = values(table, at, what, &was?, &is?) {
            return Ok(Some(difference));
        }
    }
    Ok(None)
}

fn values(
    table: &Table,
    channel: usize,
    what: impl Fn() -> String,
    recorded: &Canon,
    now: &Canon,
) -> Option<Difference> {
    if recorded == now {
        return None;
    }
    if table.schema.channels()[channel].is_secret() {
        return Some(Difference::new(what(), SECRET, SECRET));
    }
    Some(Difference::new(what(), recorded.json(), now.json()))
}

pub(crate) fn targets(table: &Table, recorded: &Finished, now: &Finished) -> Option<Difference> {
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
    let (was, is) = (form(recorded)?, form(now)?);
    if was == is {
        return Ok(None);
    }
    let json = |sends: Vec<(u32, Canon)>| -> Value {
        sends.into_iter().map(|(node, payload)| json!({ &*table.row(node).name: payload.json() })).collect()
    };
    Ok(Some(Difference::new(what, json(was), json(is))))
}

/// Returns the first channel whose value differs. Channels kept as logs are left out: their entries were compared as
/// writes. So is a secret without a recorded value, which an export may have dropped.
pub(crate) fn states(table: &Table, recorded: &Position, now: &Position) -> Result<Option<Difference>, RunError> {
    for (at, channel) in table.schema.channels().iter().enumerate() {
        let was_left_out = channel.is_secret() && recorded.channels.slots.get(at) == Some(&Slot::Absent);
        if was_left_out || !matches!(channel.stored(), Stored::Value | Stored::Full) {
            continue;
        }
        let form = |pos: &Position| match table.schema.is_set(&pos.state, at) {
            true => table.schema.canon_channel(&pos.state, at).map(Some),
            false => Ok(None),
        };
        let (was, is) = (form(recorded)?, form(now)?);
        if was != is {
            let what = || format!("channel `{}`", channel.name());
            let [was, is] = [was, is].map(|value| value.unwrap_or(Canon::Nil));
            return Ok(Some(
                values(table, at, what, &was, &is).unwrap_or_else(|| Difference::new(what(), "set", "empty")),
            ));
        }
    }
    Ok(None)
}

pub(crate) fn changed_channels(table: &Table, recorded: &AnyState, now: &AnyState) -> Result<Vec<String>, RunError> {
    let mut names = vec![];
    for (at, channel) in table.schema.channels().iter().enumerate() {
        let form = |state: &AnyState| match table.schema.is_set(state, at) {
            true => table.schema.canon_channel(state, at).map(Some),
            false => Ok(None),
        };
        if channel.stored() != Stored::Never && form(recorded)? != form(now)? {
            names.push(format!("`{}`", channel.name()));
        }
    }
    Ok(names)
}

pub(crate) fn next(table: &Table, recorded: &Position, now: &Position) -> Result<Option<Difference>, RunError> {
    let names = |pos: &Position| -> Vec<Value> {
        let tasks = planned(table, pos).into_iter().filter(|task| task.node != START_NODE && task.is_edge());
        tasks.map(|task| (*table.row(task.node).name).into()).collect()
    };
    let (was, is) = (names(recorded), names(now));
    if was != is {
        return Ok(Some(Difference::new("next superstep", was, is)));
    }
    sends(table, "next superstep", &recorded.control.sends, &now.control.sends)
}
