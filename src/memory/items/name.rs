//! Names of items as keys of a checkpointer's items, in which a namespace is a prefix that ends at a label. Pure.
//!
//! `["users", "ada"]`, `prefs` is `users/ada/=prefs`: each label ends with `/`, `=` begins the key. Within a label, `%`, `/`, `=` and
//! U+0000 are percent-encoded; within a key, `%` and U+0000 are.

use superstep_base::text::{first_chars, percent_encode};

use super::super::error::StoreError;
use super::super::namespace::{ItemName, Namespace};
use crate::checkpoint::ItemKey;

/// Longest encoded name, in bytes: the index of expiry puts a time before it.
pub(super) const MAX_NAME: usize = ItemKey::MAX_KEY - 32;
/// The character that begins a key.
const KEY: char = '=';
/// The character after [`KEY`]: with it ends the range of a namespace's own items.
const AFTER_KEYS: char = '>';

/// Returns the name of an item as a key.
///
/// # Errors
/// [`StoreError::EmptyNamespace`], [`StoreError::NameTooLong`].
pub(super) fn encode_name(name: &ItemName) -> Result<String, StoreError> {
    name.check()?;
    let mut key = encode_prefix(&name.namespace);
    key.push(KEY);
    key.push_str(&percent_encode(&name.key, |letter| matches!(letter, '%' | '\0')));
    match key.len() > MAX_NAME {
        true => Err(StoreError::NameTooLong { item: shorten(&key), bytes: key.len(), limit: MAX_NAME }),
        false => Ok(key),
    }
}

fn shorten(key: &str) -> String {
    format!("{}…", first_chars(key, 40))
}

/// Returns the beginning of the keys of all items in a namespace and those inside of it.
pub(super) fn encode_prefix(namespace: &Namespace) -> String {
    let mut key = String::new();
    for label in namespace.labels() {
        key.push_str(&percent_encode(label, |letter| matches!(letter, '%' | '/' | KEY | '\0')));
        key.push('/');
    }
    key
}

/// Returns a key after those of all items of a namespace itself, and before none of the others that follow.
pub(super) fn end_of(namespace: &Namespace) -> String {
    let mut key = encode_prefix(namespace);
    key.push(AFTER_KEYS);
    key
}

/// Returns the name that a key encodes; `None` if it is no such key.
pub(super) fn decode_name(key: &str) -> Option<ItemName> {
    let (labels, key) = key.split_once(KEY)?;
    let labels = labels.strip_suffix('/')?.split('/').map(decode).collect::<Option<Vec<String>>>()?;
    Some(ItemName::new(labels, decode(key)?))
}

fn decode(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut decoded = parts.next()?.to_owned();
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        decoded.push(char::from(u8::from_str_radix(code, 16).ok()?));
        decoded.push_str(rest);
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn label() -> impl Strategy<Value = String> {
        prop_oneof!["[ab/=%>*.\u{0}\u{1}é\u{10ffff} -]{0,4}", ".{0,6}"]
    }

    fn namespace() -> impl Strategy<Value = Namespace> {
        prop::collection::vec(label(), 1..4).prop_map(Namespace::from)
    }

    proptest! {
        #[test]
        fn names_are_read_back(namespace in namespace(), key in label()) {
            let name = ItemName::new(namespace, key);
            let encoded = encode_name(&name).unwrap();
            prop_assert!(!encoded.contains('\0'));
            prop_assert_eq!(decode_name(&encoded), Some(name));
        }

        #[test]
        fn a_prefix_ends_at_a_label(prefix in namespace(), namespace in namespace(), key in label()) {
            let encoded = encode_name(&ItemName::new(namespace.clone(), key)).unwrap();
            prop_assert_eq!(encoded.starts_with(&encode_prefix(&prefix)), namespace.starts_with(&prefix));
        }

        #[test]
        fn the_end_of_a_namespace_is_after_its_items_alone(one in namespace(), other in namespace(), key in label()) {
            let (first, end) = (format!("{}=", encode_prefix(&one)), end_of(&one));
            let encoded = encode_name(&ItemName::new(other.clone(), key)).unwrap();
            prop_assert_eq!(first <= encoded && encoded <= end, one == other);
        }
    }

    #[test]
    fn a_long_name_is_refused_with_its_size() {
        let name = ItemName::new(["a"], "k".repeat(MAX_NAME));
        let error = encode_name(&name).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("the name of the item `a/={}…` takes {} bytes, more than {MAX_NAME}", "k".repeat(37), MAX_NAME + 3)
        );
    }
}
