//! Checks a user's value without its type: well-formed MessagePack of limited depth. Builds nothing, does not recurse,
//! and trusts no length. Pure.

const MESSAGE_PACK: u8 = 1;
const BINCODE: u8 = 2;
/// Length of the header before a value's type name: codec, schema version, length of the name.
const HEAD: usize = 6;

/// Checks a stored value.
///
/// # Errors
/// The reason why it is invalid.
pub(super) fn check_msgpack(value: &[u8], depth: usize) -> Result<(), String> {
    let (head, rest) = value.split_at_checked(HEAD).ok_or("it is cut short")?;
    let body = rest.get(usize::from(head[HEAD - 1])..).ok_or("it is cut short")?;
    match head[0] {
        MESSAGE_PACK => message_pack(body, depth),
        BINCODE => Ok(()), // numbers and vectors of numbers: flat, and decoded with a limit
        codec => Err(format!("its codec {codec} is unknown")),
    }
}

fn message_pack(mut rest: &[u8], depth: usize) -> Result<(), String> {
    // Number of values still to come on each level.
    let mut open: Vec<u64> = vec![1];
    while let Some(left) = open.last_mut() {
        if *left == 0 {
            open.pop();
            continue;
        }
        *left -= 1;
        let (inside, skip) = next(&mut rest)?;
        rest = usize::try_from(skip).ok().and_then(|skip| rest.get(skip..)).ok_or("it is cut short")?;
        if inside == 0 {
            continue;
        }
        if inside > rest.len() as u64 {
            return Err("it claims more than it has".into());
        }
        if open.len() > depth {
            return Err(format!("it nests deeper than the limit of {depth}"));
        }
        open.push(inside);
    }
    if rest.is_empty() { Ok(()) } else { Err("it continues after its end".into()) }
}

/// Takes the header of a value: the number of values inside, and of bytes that precede them.
fn next(rest: &mut &[u8]) -> Result<(u64, u64), String> {
    let marker = number(rest, 1)?;
    let few = |marker: u64, mask: u64| marker & mask;
    Ok(match marker {
        0x00..=0x7f | 0xe0..=0xff | 0xc0 | 0xc2 | 0xc3 => (0, 0),
        0x80..=0x8f => (2 * few(marker, 0x0f), 0),
        0x90..=0x9f => (few(marker, 0x0f), 0),
        0xa0..=0xbf => (0, few(marker, 0x1f)),
        0xc4 | 0xd9 => (0, number(rest, 1)?),
        0xc5 | 0xda => (0, number(rest, 2)?),
        0xc6 | 0xdb => (0, number(rest, 4)?),
        0xc7 => (0, 1 + number(rest, 1)?),
        0xc8 => (0, 1 + number(rest, 2)?),
        0xc9 => (0, 1 + number(rest, 4)?),
        0xcc | 0xd0 => (0, 1),
        0xcd | 0xd1 => (0, 2),
        0xca | 0xce | 0xd2 => (0, 4),
        0xcb | 0xcf | 0xd3 => (0, 8),
        0xd4..=0xd8 => (0, 1 + (1 << (marker - 0xd4))),
        0xdc => (number(rest, 2)?, 0),
        0xdd => (number(rest, 4)?, 0),
        0xde => (2 * number(rest, 2)?, 0),
        0xdf => (2 * number(rest, 4)?, 0),
        _ => return Err("it is not a value".into()),
    })
}

/// Takes a big-endian number of `bytes` bytes.
fn number(rest: &mut &[u8], bytes: usize) -> Result<u64, String> {
    let (taken, left) = rest.split_at_checked(bytes).ok_or("it is cut short")?;
    *rest = left;
    Ok(taken.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stored(body: &[u8]) -> Vec<u8> {
        [&[MESSAGE_PACK, 1, 0, 0, 0, 1, b'T'], body].concat()
    }

    #[rstest::rstest]
    #[case::nothing(&[], "it is cut short")]
    #[case::huge_list(&[0xdd, 0xff, 0xff, 0xff, 0xff], "it claims more than it has")]
    #[case::huge_text(&[0xdb, 0xff, 0xff, 0xff, 0xff], "it is cut short")]
    #[case::two_values(&[1, 2], "it continues after its end")]
    #[case::never_used(&[0xc1], "it is not a value")]
    #[case::deep(&[0x91; 40], "it nests deeper than the limit of 32")]
    fn what_is_no_value_is_refused(#[case] body: &[u8], #[case] reason: &str) {
        assert_eq!(check_msgpack(&stored(body), 32).unwrap_err(), reason);
    }

    proptest! {
        #[test]
        fn what_is_written_passes(text: String, list: Vec<(u64, Option<i32>, f64)>, map: std::collections::BTreeMap<String, Vec<u8>>) {
            let value = rmp_serde::to_vec_named(&(text, list, map)).unwrap();
            prop_assert_eq!(check_msgpack(&stored(&value), 16), Ok(()));
        }

        #[test]
        fn random_bytes_never_panic(bytes: Vec<u8>) {
            let _ = check_msgpack(&bytes, 16);
            let _ = check_msgpack(&stored(&bytes), 16);
        }
    }
}
