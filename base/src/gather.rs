//! Collecting into ordered maps and sets without the code that their `collect` brings.
//!
//! Small because it is one function.

/// Returns a collection of these items, inserted one after the other. If a key comes twice, its last value counts.
///
/// `collect` into an ordered map or set sorts the items first, with a sort that is compiled again for each kind of iterator: three
/// thousand lines for LLVM each time. Code that inserts exists anyway. Long lists that are sorted are collected sooner by `collect`.
#[doc(hidden)]
pub fn gather<C: Default + Extend<I::Item>, I: IntoIterator>(items: I) -> C {
    let mut all = C::default();
    all.extend(items);
    all
}
