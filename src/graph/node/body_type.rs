//! The type of a body, which keys its cached results. Knows no cache.

use std::any::{TypeId, type_name};
use std::hash::{Hash, Hasher};

/// The type of a node's or worker's body, and whether the type alone says what it does.
#[derive(Clone, Copy, Debug)]
pub struct BodyType {
    pub(crate) name: &'static str,
    /// Tells apart what the name does not: two closures of one function. The same in each run of a program.
    pub(crate) hash: u64,
    /// Set if the body holds values, such as the captures of a closure.
    pub(crate) holds_values: bool,
}

impl BodyType {
    /// Returns the type of a body that is so large.
    pub(crate) fn of<T: ?Sized + 'static>(size: usize) -> Self {
        let mut hasher = std::hash::DefaultHasher::new();
        TypeId::of::<T>().hash(&mut hasher);
        Self { name: type_name::<T>(), hash: hasher.finish(), holds_values: size > 0 }
    }
}
