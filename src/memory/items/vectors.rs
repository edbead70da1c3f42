//! Vectors in memory, one after the other, and their order by similarity to another. Pure.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Number of products that are summed side by side: enough for the widest registers.
const LANES: usize = 16;

/// Vectors of length 1, of items by name. A name may have several.
#[derive(Clone, Debug, Default)]
pub(super) struct Vectors {
    /// Numbers in each vector.
    length: usize,
    /// All vectors, `length` numbers each.
    numbers: Vec<f32>,
    /// Name of each vector.
    names: Vec<Arc<str>>,
    /// Positions of the vectors of each name.
    positions: BTreeMap<Arc<str>, Vec<usize>>,
}

impl Vectors {
    /// Returns no vectors, of a length.
    pub(super) fn new(length: usize) -> Self {
        Self { length, ..Self::default() }
    }

    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Replaces the vectors of a name. Those of another length are left out.
    pub(super) fn set(&mut self, name: &str, vectors: &[Vec<f32>]) {
        self.remove(name);
        let name: Arc<str> = name.into();
        for vector in vectors.iter().filter(|vector| vector.len() == self.length) {
            self.positions.entry(Arc::clone(&name)).or_default().push(self.names.len());
            self.names.push(Arc::clone(&name));
            self.numbers.extend(normalize(vector));
        }
    }

    /// Removes the vectors of a name.
    pub(super) fn remove(&mut self, name: &str) {
        let mut positions = self.positions.remove(name).unwrap_or_default();
        positions.sort_unstable();
        positions.into_iter().rev().for_each(|position| self.swap_remove(position));
    }

    /// Removes a vector, and puts the last one in its place.
    fn swap_remove(&mut self, position: usize) {
        let last = self.names.len() - 1;
        if position != last {
            self.numbers.copy_within(last * self.length.., position * self.length);
            let moved = self.positions.get_mut(&self.names[last]);
            moved.into_iter().flatten().filter(|at| **at == last).for_each(|at| *at = position);
        }
        self.names.swap_remove(position);
        self.numbers.truncate(last * self.length);
    }

    /// Returns the names with a prefix, each with the cosine of its most similar vector to `query`, the most similar first.
    pub(super) fn rank(&self, query: &[f32], prefix: &str) -> Vec<(Arc<str>, f32)> {
        if self.length == 0 || query.len() != self.length {
            return vec![];
        }
        let query: Vec<f32> = normalize(query).collect();
        let rows = self.names.iter().zip(self.numbers.chunks_exact(self.length));
        let rows = rows.filter(|(name, _)| name.starts_with(prefix));
        let mut ranked: Vec<(&Arc<str>, f32)> = rows.map(|(name, vector)| (name, dot(&query, vector))).collect();
        ranked.sort_unstable_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(other.0)));
        let mut seen = HashSet::with_capacity(ranked.len());
        let best = ranked.into_iter().filter(|(name, _)| seen.insert(*name));
        best.map(|(name, score)| (Arc::clone(name), score)).collect()
    }
}

/// Returns a vector of length 1 in the same direction; zeros stay zeros.
fn normalize(vector: &[f32]) -> impl Iterator<Item = f32> {
    let length = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    let factor = if length > 0.0 { 1.0 / length } else { 0.0 };
    vector.iter().map(move |number| (f64::from(*number) * factor) as f32)
}

fn dot(one: &[f32], other: &[f32]) -> f32 {
    let (ones, others) = (one.as_chunks::<LANES>(), other.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (one, other) in ones.0.iter().zip(others.0) {
        for lane in 0..LANES {
            sums[lane] += one[lane] * other[lane];
        }
    }
    let rest = ones.1.iter().zip(others.1).map(|(one, other)| one * other).sum::<f32>();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rank_by_definition(model: &BTreeMap<String, Vec<Vec<f32>>>, query: &[f32]) -> Vec<(String, f64)> {
        let size = |vector: &[f32]| vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
        let product =
            |vector: &[f32]| vector.iter().zip(query).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        let cosine = |vector: &Vec<f32>| product(vector) / (size(vector) * size(query));
        let best = |vectors: &Vec<Vec<f32>>| vectors.iter().map(cosine).fold(f64::MIN, f64::max);
        let with_vectors = model.iter().filter(|(_, vectors)| !vectors.is_empty());
        let mut all: Vec<_> = with_vectors.map(|(name, vectors)| (name.clone(), best(vectors))).collect();
        all.sort_by(|one, other| other.1.total_cmp(&one.1));
        all
    }

    fn vector() -> impl Strategy<Value = Vec<f32>> {
        prop::collection::vec((1_i8..100).prop_map(f32::from), 37)
    }

    proptest! {
        #[test]
        fn names_are_ranked_by_their_cosines(
            steps in prop::collection::vec(("[a-d]", prop::collection::vec(vector(), 0..3)), 1..20),
            query in vector(),
        ) {
            let (mut vectors, mut model) = (Vectors::new(37), BTreeMap::new());
            for (name, new) in steps {
                vectors.set(&name, &new);
                model.insert(name, new);
            }
            let ranked = vectors.rank(&query, "");
            let expected = rank_by_definition(&model, &query);
            prop_assert_eq!(ranked.len(), expected.len());
            for ((name, score), (_, best)) in ranked.iter().zip(&expected) {
                let (_, own) = expected.iter().find(|(other, _)| **other == **name).unwrap();
                prop_assert!((f64::from(*score) - own).abs() < 1e-5 && (own - best).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn only_names_with_the_prefix_and_vectors_of_the_length_are_ranked() {
        let mut vectors = Vectors::new(2);
        vectors.set("a/=x", &[vec![1.0, 0.0]]);
        vectors.set("ab/=x", &[vec![1.0, 0.0]]);
        vectors.set("a/=y", &[vec![1.0, 0.0, 0.0]]);
        let ranked = vectors.rank(&[2.0, 0.0], "a/");
        assert_eq!(ranked, [("a/=x".into(), 1.0)]);
        assert!(vectors.rank(&[1.0], "").is_empty());
    }
}
