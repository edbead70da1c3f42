//! Times as programs write them.

use crate::checkpoint::time::date;
pub(crate) use crate::checkpoint::time::{millis, now};

/// Returns a time in milliseconds since 1970 by RFC 3339: `2026-01-31T09:30:00.250Z`.
pub(crate) fn rfc3339(millis: u64) -> String {
    let (seconds, rest) = (millis / 1000, millis % 1000);
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{rest:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(0, "1970-01-01T00:00:00.000Z")]
    #[case(951_782_399_999, "2000-02-28T23:59:59.999Z")]
    #[case(1_798_761_599_250, "2026-12-31T23:59:59.250Z")]
    fn times_are_written_by_the_standard(#[case] millis: u64, #[case] text: &str) {
        assert_eq!(rfc3339(millis), text);
    }
}
