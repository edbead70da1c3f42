//! Fingerprint of a graph version. Knows the names only.

use superstep_base::Fnv;

use super::record::Shape;

impl Shape {
    /// Returns a number that identifies this version of the graph: FNV-1a over the names, the same on every machine and
    /// in every release.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Fnv::new();
        let mut mix = |bytes: &[u8]| {
            hash.mix(bytes);
            hash.mix(&[0xff]);
        };
        for channel in &self.channels {
            mix(channel.name.as_bytes());
            mix(channel.type_name.as_bytes());
            mix(&channel.version.to_le_bytes());
            mix(&[u8::from(channel.secret), u8::from(channel.logged)]);
            mix(channel.rule.as_bytes());
        }
        mix(&self.version.to_le_bytes());
        self.past.iter().for_each(|words| mix(words.as_bytes()));
        self.nodes.iter().for_each(|node| mix(node.as_bytes()));
        for (sources, target) in &self.joins {
            sources.iter().chain([target]).for_each(|node| mix(&node.to_le_bytes()));
        }
        hash.finish()
    }
}
