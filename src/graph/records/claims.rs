//! Which present channel each stored channel belongs to. Pure: knows names only.

use crate::checkpoint::{ChannelShape, LogRange, log_name};
use crate::graph::state::Channel;

/// A stored channel: what it was, and the log that its entries are in.
#[derive(Clone, Debug)]
pub(crate) struct StoredChannel {
    pub channel: ChannelShape,
    pub log: String,
}

impl StoredChannel {
    /// Returns the log that holds entries of the channel: its own, or that of an enclosing graph.
    pub(crate) fn log_with(&self, range: &LogRange) -> String {
        let enclosing = range.log.as_deref().map(|namespace| log_name(namespace, &self.channel.name));
        enclosing.unwrap_or_else(|| self.log.clone())
    }
}

/// The present counterpart of a stored channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It is the present channel of this index.
    Channel(u32),
    /// Nobody claims it: it is carried along, at this place.
    Carried(u32),
    /// It is gone for good.
    Dropped,
}

/// A channel claims what is stored under its name, else what is stored under the newest of its former names.
pub(crate) fn claims(stood: &[StoredChannel], known: &[Channel], removed: &[&str]) -> Vec<Claim> {
    let mut claims: Vec<Option<Claim>> = vec![None; stood.len()];
    let named = |name: &str| stood.iter().position(|stood| stood.channel.name == name);
    for (at, channel) in (0u32..).zip(known) {
        let mut names = std::iter::once(channel.name()).chain(channel.former_names());
        if let Some(found) = names.find_map(named) {
            claims[found].get_or_insert(Claim::Channel(at));
        }
    }
    let mut carried = 0u32..;
    let mut rest = |stood: &StoredChannel| {
        let is_gone = removed.contains(&stood.channel.name.as_str()) || stood.channel.rule == "untracked";
        if is_gone { None } else { carried.next() }.map_or(Claim::Dropped, Claim::Carried)
    };
    claims.into_iter().zip(stood).map(|(claim, stood)| claim.unwrap_or_else(|| rest(stood))).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::graph::state::channel::Stored;

    fn stored_channel(name: &str, rule: &str) -> StoredChannel {
        let channel = ChannelShape { name: name.into(), rule: rule.into(), ..ChannelShape::default() };
        StoredChannel { channel, log: name.into() }
    }

    fn known(names: &[&str]) -> Vec<Channel> {
        let channel = |name: &&str| match name.split_once('<') {
            Some((name, was)) => Channel::named(name, "T", Stored::Value).formerly(was),
            None => Channel::named(*name, "T", Stored::Value),
        };
        names.iter().map(channel).collect()
    }

    #[rstest]
    #[case::by_name(&["a", "b"], &["b", "a"], &[], &[Claim::Channel(1), Claim::Channel(0)])]
    #[case::unclaimed(&["a", "b", "c"], &["b"], &[], &[Claim::Carried(0), Claim::Channel(0), Claim::Carried(1)])]
    #[case::renamed(&["a", "b"], &["b", "c<a"], &[], &[Claim::Channel(1), Claim::Channel(0)])]
    #[case::its_own_name_first(&["a", "c"], &["c<a"], &[], &[Claim::Carried(0), Claim::Channel(0)])]
    #[case::removed(&["a", "b"], &["b"], &["a"], &[Claim::Dropped, Claim::Channel(0)])]
    fn a_stored_channel_belongs_to_the_one_with_its_name(
        #[case] names: &[&str],
        #[case] channels: &[&str],
        #[case] removed: &[&str],
        #[case] expected: &[Claim],
    ) {
        let stored: Vec<StoredChannel> = names.iter().map(|name| stored_channel(name, "last_value")).collect();
        assert_eq!(claims(&stored, &known(channels), removed), expected);
    }

    #[test]
    fn what_no_checkpoint_keeps_is_not_carried() {
        assert_eq!(claims(&[stored_channel("a", "untracked")], &[], &[]), [Claim::Dropped]);
    }
}
